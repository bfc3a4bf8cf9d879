// SPDX-License-Identifier: GPL-2.0

//! Sequence counts.
//!
//! C header: [`include/linux/seqlock.h`](srctree/include/linux/seqlock.h)

use crate::{
    processor::cpu_relax,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        barrier::{
            smp_mb,
            Read,
            Write, //
        },
    },
};

/// A count of the writes to data that readers copy without a lock, as `seqcount_t` in C.
///
/// The data consists of [`Atomic`]s, which can be accessed with [`Relaxed`]: a reader may copy them
/// while they are written, and copies them again then.
///
/// # Examples
///
/// ```
/// use kernel::sync::{
///     atomic::{
///         Atomic,
///         Relaxed, //
///     },
///     SeqCount, //
/// };
///
/// struct Range {
///     count: SeqCount,
///     start: Atomic<u64>,
///     end: Atomic<u64>,
/// }
///
/// let range = Range {
///     count: SeqCount::new(),
///     start: Atomic::new(0),
///     end: Atomic::new(0),
/// };
///
/// range.count.write(|| {
///     range.start.store(3, Relaxed);
///     range.end.store(5, Relaxed);
/// });
///
/// let copy = range
///     .count
///     .read(|| (range.start.load(Relaxed), range.end.load(Relaxed)));
///
/// assert_eq!(copy, (3, 5));
/// ```
pub struct SeqCount(Atomic<u32>);

impl SeqCount {
    /// Creates the count of data that was not written yet.
    #[expect(
        clippy::new_without_default,
        reason = "what it counts is not a part of it"
    )]
    pub const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Calls `f`, which writes the data.
    ///
    /// # Locking
    ///
    /// The caller excludes concurrent calls for the same data. Readers wait until `f` has returned,
    /// so it must not be preempted, or interrupted by code that reads.
    #[inline]
    pub fn write<R>(&self, f: impl FnOnce() -> R) -> R {
        let count = self.0.load(Relaxed);

        self.0.store(count.wrapping_add(1), Relaxed);
        // Pairs with the barrier in `read`: a reader of what `f` writes sees that it is written.
        smp_mb(Write);
        let result = f();
        // Pairs with the first load in `read`.
        self.0.store(count.wrapping_add(2), Release);
        result
    }

    /// Returns a copy of the data that no write has changed. `f`, which copies the data, is called
    /// again after a concurrent write.
    #[inline]
    pub fn read<R>(&self, mut f: impl FnMut() -> R) -> R {
        loop {
            // Pairs with the last store in `write`: what was written is seen.
            let count = self.0.load(Acquire);

            if count % 2 == 0 {
                let copy = f();

                // Pairs with the barrier in `write`.
                smp_mb(Read);
                if self.0.load(Relaxed) == count {
                    return copy;
                }
            }
            cpu_relax();
        }
    }
}
