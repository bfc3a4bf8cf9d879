// SPDX-License-Identifier: GPL-2.0

//! A vector that only grows and that is read without a lock while it does.
//!
//! The elements are in chunks, each twice as large as the one before it. A chunk is never moved or
//! freed while the vector lives, so nothing is copied when the vector grows, a reference to an
//! element stays good, and readers need neither a lock nor RCU: chunks and elements are
//! [`SetOnce`]s.

use kernel::{
    prelude::*,
    sync::SetOnce, //
};

/// Elements in the first chunk.
const FIRST: usize = 4;
/// Number of chunks: enough for more elements than the possible trace events.
const CHUNKS: usize = 15;

/// A vector that only grows.
pub(crate) struct AppendVec<T> {
    chunks: [SetOnce<KVVec<SetOnce<T>>>; CHUNKS],
}

/// Returns the chunk of index `i`, and the offset in it.
#[inline]
const fn position(i: usize) -> (usize, usize) {
    let n = i / FIRST + 1;
    let chunk = n.ilog2() as usize;

    (chunk, i - FIRST * ((1 << chunk) - 1))
}

impl<T> AppendVec<T> {
    /// Creates an empty vector, without memory of its own.
    pub(crate) const fn new() -> Self {
        Self {
            chunks: [const { SetOnce::new() }; CHUNKS],
        }
    }

    /// Returns the element at `i`, if it has been set. Any context.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<&T> {
        let (chunk, at) = position(i);

        self.chunks.get(chunk)?.as_ref()?.get(at)?.as_ref()
    }

    /// Allocates memory for the element at `i`. May sleep.
    ///
    /// # Locking
    ///
    /// The caller excludes concurrent calls of this function and of [`AppendVec::set`]. Readers
    /// need no lock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENOSPC` behind the last index there can be.
    pub(crate) fn reserve(&self, i: usize) -> Result {
        let (chunk, _) = position(i);
        let slot = self.chunks.get(chunk).ok_or(ENOSPC)?;

        if slot.as_ref().is_some() {
            return Ok(());
        }

        let len = FIRST << chunk;
        let mut elements = KVVec::with_capacity(len, GFP_KERNEL_ACCOUNT)?;
        for _ in 0..len {
            elements.push(SetOnce::new(), GFP_KERNEL_ACCOUNT)?;
        }
        // The slot was free, and no other thread populates it.
        slot.populate(elements);
        Ok(())
    }

    /// Sets the element at `i`, for which memory was [reserved](AppendVec::reserve), or returns
    /// `false` if it is set already. Locking is as there.
    pub(crate) fn set(&self, i: usize, value: T) -> bool {
        let (chunk, at) = position(i);

        self.chunks
            .get(chunk)
            .and_then(SetOnce::as_ref)
            .and_then(|elements| elements.get(at))
            .is_some_and(|element| element.populate(value))
    }
}

#[cfg(CONFIG_USER_EVENTS_RUST_KUNIT_TEST)]
#[kunit_tests(user_events_append_vec)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_dense() {
        let mut expect = (0, 0);

        for i in 0..100_000 {
            assert_eq!(position(i), expect);
            expect.1 += 1;
            if expect.1 == FIRST << expect.0 {
                expect = (expect.0 + 1, 0);
            }
        }
        // A trace event type has 16 bits.
        assert!(position(usize::from(u16::MAX)).0 < CHUNKS);
    }

    #[test]
    fn grows_and_keeps() -> Result {
        let v = AppendVec::new();

        for i in 0..1000usize {
            assert!(v.get(i).is_none());
            v.reserve(i)?;
            assert!(v.set(i, i * 3));
            assert!(!v.set(i, 0));
        }
        let first = v.get(0).ok_or(ENOENT)?;
        v.reserve(5000)?;
        assert!(core::ptr::eq(first, v.get(0).ok_or(ENOENT)?));
        assert!((0..1000).all(|i| v.get(i) == Some(&(i * 3))));
        assert!(v.get(1000).is_none());
        assert!(v.get(usize::MAX).is_none());
        assert_eq!(v.reserve(usize::MAX / 8).err(), Some(ENOSPC));
        Ok(())
    }
}
