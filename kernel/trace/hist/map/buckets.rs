// SPDX-License-Identifier: GPL-2.0

//! The elements that have a key, in a map whose elements can be used again.
//!
//! A key belongs to one bucket, which its hash chooses. A bucket is one word with the numbers of up
//! to three elements, the newest first, and a version. Each change is one compare-and-exchange of
//! the whole word, so it fails if the bucket has changed since it was searched: a key that was not
//! found is still absent when it is added. The map has twice as many buckets as elements.

use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

use super::slab;
use crate::limits::MAP_BITS_MAX;

/// Most elements of a bucket.
pub(super) const ENTRIES: usize = 3;

/// Size of an entry, which is the index of an element plus one, or 0.
const ENTRY_BITS: u32 = MAP_BITS_MAX + 1;
const ENTRY_MASK: u64 = (1 << ENTRY_BITS) - 1;

/// The version is below the entries.
const VERSION_BITS: u32 = u64::BITS - ENTRY_BITS * ENTRIES as u32;
const VERSION_MASK: u64 = (1 << VERSION_BITS) - 1;

/// The contents of a bucket. The entries above the last one are zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket(u64);

impl Bucket {
    /// Returns the elements, the newest first.
    #[inline(always)]
    pub(super) fn entries(self) -> impl Iterator<Item = u32> {
        let mut rest = self.packed();

        core::iter::from_fn(move || {
            // CAST: An entry has fewer than 32 bits.
            let index = ((rest & ENTRY_MASK) as u32).checked_sub(1)?;

            rest >>= ENTRY_BITS;
            Some(index)
        })
    }

    /// Returns the packed entries, the first of which is the lowest.
    #[inline(always)]
    fn packed(self) -> u64 {
        self.0 >> VERSION_BITS
    }

    /// Returns `true` for a bucket without elements.
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.packed() == 0
    }

    /// Returns the oldest element, and the bucket without it, in fewer steps than
    /// [`Bucket::entry`] and [`Bucket::without`].
    #[inline(always)]
    pub(super) fn without_oldest(self) -> Option<(u32, Self)> {
        let entries = self.packed();

        // Mostly it is the only one.
        if entries <= ENTRY_MASK {
            // CAST: An entry has fewer than 32 bits.
            return Some(((entries as u32).checked_sub(1)?, self.next(0)));
        }
        let is_third = u32::from(entries.wrapping_shr(2 * ENTRY_BITS) != 0);
        let shift = ENTRY_BITS.wrapping_shl(is_third);
        // Nothing is above it.
        let oldest = entries.wrapping_shr(shift);
        let rest = self.next(entries ^ oldest.wrapping_shl(shift));

        // CAST: As above.
        Some(((oldest as u32).checked_sub(1)?, rest))
    }

    /// Returns the element at a position.
    #[inline]
    pub(super) fn entry(self, at: usize) -> Option<u32> {
        // CAST: The position is small, and an entry has fewer than 32 bits.
        let shift = ENTRY_BITS.wrapping_mul(at as u32);

        ((self.packed().wrapping_shr(shift) & ENTRY_MASK) as u32).checked_sub(1)
    }

    /// Returns `true` for a bucket without room for an element.
    #[inline]
    pub(super) fn is_full(self) -> bool {
        self.packed() >> (ENTRY_BITS * (ENTRIES as u32 - 1)) != 0
    }

    /// Returns `true` for a bucket that has this element.
    fn has(self, index: u32) -> bool {
        self.entries().any(|entry| entry == index)
    }

    /// Returns the bucket without the element at a position.
    pub(super) fn without(self, at: usize) -> Self {
        // CAST: As above.
        let newer = 1u64.wrapping_shl(ENTRY_BITS.wrapping_mul(at as u32));
        let newer = newer.wrapping_sub(1);
        let entries = self.packed();

        self.next((entries & newer) | ((entries >> ENTRY_BITS) & !newer))
    }

    /// Returns the bucket with a further element, for which it must have room.
    #[inline(always)]
    pub(super) fn with(self, index: u32) -> Self {
        self.next((self.packed() << ENTRY_BITS) | u64::from(index.wrapping_add(1)))
    }

    /// Returns a bucket of these entries, with the next version.
    #[inline(always)]
    fn next(self, entries: u64) -> Self {
        Self((entries << VERSION_BITS) | (self.0.wrapping_add(1) & VERSION_MASK))
    }
}

/// The buckets.
pub(super) struct Buckets {
    words: KVVec<Atomic<u64>>,
    /// Takes a hash to the index of a bucket.
    shift: u32,
}

impl Buckets {
    /// Allocates `2^bits` empty buckets.
    pub(super) fn new(bits: u32) -> Result<Self> {
        Ok(Self {
            words: slab::zeroed(1 << bits)?,
            shift: u64::BITS.wrapping_sub(bits),
        })
    }

    /// Returns the size of `2^bits` buckets, in bytes.
    pub(super) const fn size_of(bits: u32) -> usize {
        size_of::<u64>() << bits
    }

    /// Returns the number of buckets.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Returns the bucket of keys with this hash.
    ///
    /// The high bits of the hashes of equidistant keys are a linear sequence. With one factor of a
    /// hundred it takes few values, and buckets do not overflow into others. So two lower parts are
    /// added, whose sequences have other factors.
    #[inline]
    pub(super) fn of(&self, hash: u64) -> usize {
        let spread = hash ^ (hash << 32) ^ (hash << 16);

        // CAST: The buckets are fewer than a `usize` can count.
        spread.wrapping_shr(self.shift) as usize
    }

    /// Returns the bucket of a number. Successive numbers have successive buckets.
    #[inline]
    pub(super) fn nth(&self, n: u32) -> usize {
        // CAST: A `usize` has 32 bits at least.
        n as usize & self.words.len().wrapping_sub(1)
    }

    /// Returns the first bucket with an element, of the `most` from the number `start` on, with
    /// its index and the number of buckets before it.
    #[inline(always)]
    pub(super) fn first_used(&self, start: u32, most: u32) -> Option<(usize, Bucket, u32)> {
        // In registers: about every second bucket is empty.
        let words: &[Atomic<u64>] = &self.words;
        let mask = words.len().wrapping_sub(1);

        for passed in 0..most {
            // CAST: A `usize` has 32 bits at least.
            let at = start.wrapping_add(passed) as usize & mask;
            // As in `load`.
            let bucket = Bucket(words.get(at)?.load(Acquire));

            if !bucket.is_empty() {
                return Some((at, bucket, passed));
            }
        }
        None
    }

    #[inline]
    pub(super) fn load(&self, at: usize) -> Bucket {
        // Pairs with the compare-and-exchange in `change`: a reader that sees an element in the
        // bucket sees that it is in use.
        Bucket(self.words.get(at).map_or(0, |word| word.load(Acquire)))
    }

    /// Replaces the contents of a bucket, if they are still those that were loaded.
    #[inline(always)]
    pub(super) fn change(&self, at: usize, from: Bucket, to: Bucket) -> bool {
        // Pairs with `load`. What the removed element was used for is ordered by its lock.
        self.words
            .get(at)
            .is_some_and(|word| word.cmpxchg(from.0, to.0, Release).is_ok())
    }

    /// Returns `true` if the bucket of a hash has this element.
    pub(super) fn has(&self, hash: u64, index: u32) -> bool {
        self.load(self.of(hash)).has(index)
    }

    /// Returns all elements that have a key, bucket by bucket.
    pub(super) fn elements(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words.len()).flat_map(|at| self.load(at).entries())
    }

    /// Empties all buckets, which must not be in use.
    pub(super) fn wipe(&self) {
        for word in self.words.iter() {
            word.store(0, Relaxed);
        }
    }
}
