// SPDX-License-Identifier: GPL-2.0

//! Scratch memory for each CPU and each level of nesting.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use super::PerCpuArray;
use crate::{
    bindings,
    error::Result,
    types::NotThreadSafe, //
};
use core::{
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
    slice, //
};

/// Number of contexts that can nest on a CPU: a task, a soft interrupt, an interrupt, an NMI.
pub const NESTING: usize = 4;

/// Scratch memory for each CPU and each level of nesting.
///
/// The user of a level has exclusive memory until it leaves the level, with the contents of a
/// previous user. An interrupt in between uses other memory.
///
/// # Examples
///
/// ```
/// use kernel::percpu::ScratchPool;
///
/// let pool = ScratchPool::new(3)?;
///
/// let mut words = pool.enter().ok_or(EBUSY)?;
/// assert_eq!(words.len(), 3);
/// words.fill(7);
///
/// // As an interrupt would.
/// let mut other = pool.enter().ok_or(EBUSY)?;
/// other.fill(8);
///
/// assert!(words.iter().all(|word| *word == 7));
/// # Ok::<(), Error>(())
/// ```
///
/// The number of levels is limited:
///
/// ```
/// use kernel::percpu::{
///     ScratchPool,
///     NESTING, //
/// };
///
/// let pool = ScratchPool::new(1)?;
/// let mut guards = KVec::with_capacity(NESTING, GFP_KERNEL)?;
///
/// for _ in 0..NESTING {
///     guards.push_within_capacity(pool.enter().ok_or(EBUSY)?).map_err(|_| EINVAL)?;
/// }
/// assert!(pool.enter().is_none());
///
/// guards.pop();
/// assert!(pool.enter().is_some());
/// # Ok::<(), Error>(())
/// ```
pub struct ScratchPool {
    /// A bit for each level that is in use.
    used: PerCpuArray<u32>,
    levels: [PerCpuArray<u64>; NESTING],
    words: usize,
}

impl ScratchPool {
    /// Allocates `words` 64-bit words for each CPU and level. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `words` is 0 or more than 4096; `ENOMEM`.
    pub fn new(words: usize) -> Result<Self> {
        Ok(Self {
            used: PerCpuArray::new(1)?,
            levels: [
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
                PerCpuArray::new(words)?,
            ],
            words,
        })
    }

    /// Enters a level, in any context. Preemption is off until the guard is dropped.
    ///
    /// Returns `None` if all levels are in use.
    #[inline]
    pub fn enter(&self) -> Option<ScratchGuard<'_>> {
        let mut level = 0;

        // SAFETY: `used` is a per-CPU pointer to a `u32`, and it has so many levels, which are
        // per-CPU pointers, as an array of which is represented like one of pointers.
        let words = unsafe {
            bindings::percpu_level_enter(
                self.used.as_ptr(),
                self.levels.as_ptr().cast(),
                NESTING as u32, // CAST: It is small.
                &mut level,
            )
        };

        // INVARIANT: The bit of the level was clear and has been set by this call, which has also
        // disabled preemption.
        Some(ScratchGuard {
            pool: self,
            words: NonNull::new(words.cast())?,
            level,
            _not_sent: NotThreadSafe,
        })
    }
}

/// The memory of a level of a [`ScratchPool`], which is in use until this is dropped.
///
/// # Invariants
///
/// - This was created on the CPU that it is used on, on which it keeps preemption disabled.
/// - Of the bits of `pool.used` that this CPU has, that of `level` has been set for this guard
///   alone; `words` is the memory of this CPU that belongs to it.
pub struct ScratchGuard<'a> {
    pool: &'a ScratchPool,
    words: NonNull<u64>,
    level: u32,
    _not_sent: NotThreadSafe,
}

impl Deref for ScratchGuard<'_> {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        // SAFETY: By the type invariants this is memory of `pool.words` initialized words that no
        // other guard refers to, for as long as this guard exists.
        unsafe { slice::from_raw_parts(self.words.as_ptr(), self.pool.words) }
    }
}

impl DerefMut for ScratchGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: As in `deref`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.words.as_ptr(), self.pool.words) }
    }
}

impl Drop for ScratchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: This is a per-CPU pointer to a `u32`. By the type invariants the bit of this CPU
        // belongs to this guard, which has preemption disabled; the memory is no longer used.
        unsafe { bindings::percpu_level_leave(self.pool.used.as_ptr(), self.level) };
    }
}
