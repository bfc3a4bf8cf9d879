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

/// Memory for elements of a vector, which is not in it yet.
pub(crate) struct Chunk<T> {
    number: usize,
    elements: KVVec<SetOnce<T>>,
}

impl<T> Chunk<T> {
    /// Allocates memory for the element at `i` and some others. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENOSPC` after the last possible index.
    pub(crate) fn of(i: usize) -> Result<Self> {
        let (number, _) = position(i);

        if number >= CHUNKS {
            return Err(ENOSPC);
        }

        let len = FIRST << number;
        let mut elements = KVVec::with_capacity(len, GFP_KERNEL_ACCOUNT)?;

        for _ in 0..len {
            elements.push_within_capacity(SetOnce::new())?;
        }
        Ok(Self { number, elements })
    }
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

    /// Returns `true` if the vector has memory for the element at `i`. Otherwise a [`Chunk`] for it
    /// is to be [added](AppendVec::add).
    pub(crate) fn has_room(&self, i: usize) -> bool {
        let (chunk, _) = position(i);

        self.chunks
            .get(chunk)
            .is_some_and(|slot| slot.as_ref().is_some())
    }

    /// Adds a chunk, unless the vector has that one already. It is returned then, to be freed.
    ///
    /// # Locking
    ///
    /// The caller excludes concurrent calls of this function and of [`AppendVec::set`]. Readers
    /// need no lock.
    pub(crate) fn add(&self, chunk: Chunk<T>) -> Option<Chunk<T>> {
        match self.chunks.get(chunk.number) {
            Some(slot) if slot.as_ref().is_none() => {
                // The slot was free, and no other thread populates it.
                slot.populate(chunk.elements);
                None
            }
            _ => Some(chunk),
        }
    }

    /// Sets the element at `i`, for which the vector has memory; `false` if it is set already.
    /// Locking is as for [`AppendVec::add`].
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

    fn reserve<T>(v: &AppendVec<T>, i: usize) -> Result {
        if !v.has_room(i) && v.add(Chunk::of(i)?).is_some() {
            return Err(EEXIST);
        }
        Ok(())
    }

    #[test]
    fn grows_and_keeps() -> Result {
        let v = AppendVec::new();

        for i in 0..1000usize {
            assert!(v.get(i).is_none());
            reserve(&v, i)?;
            assert!(v.has_room(i));
            assert!(v.set(i, i * 3));
            assert!(!v.set(i, 0));
        }
        let first = v.get(0).ok_or(ENOENT)?;
        reserve(&v, 5000)?;
        // Another thread was faster.
        assert!(v.add(Chunk::of(5000)?).is_some());
        assert!(core::ptr::eq(first, v.get(0).ok_or(ENOENT)?));
        assert!((0..1000).all(|i| v.get(i) == Some(&(i * 3))));
        assert!(v.get(1000).is_none());
        assert!(v.get(usize::MAX).is_none());
        assert!(!v.has_room(usize::MAX / 8));
        assert!(!v.set(usize::MAX / 8, 0));
        assert_eq!(reserve(&v, usize::MAX / 8).err(), Some(ENOSPC));
        Ok(())
    }
}
