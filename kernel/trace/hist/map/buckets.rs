// SPDX-License-Identifier: GPL-2.0

//! The elements that have a key, in a map whose elements can be used again.
//!
//! A key belongs to one bucket, which its hash chooses. A bucket is one word with the numbers of up
//! to three elements, the newest first, and a version. Each change is one compare-and-exchange of
//! the whole word, so it fails if the bucket has changed since it was searched: a key that was not
//! found is still not there when it is added. There are twice as many buckets as elements.

use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

use crate::limits::MAP_BITS_MAX;

/// Most elements of a bucket.
pub(super) const ENTRIES: usize = 3;

/// Size of an entry, which is the index of an element plus one, or 0.
const ENTRY_BITS: u32 = MAP_BITS_MAX + 1;
const ENTRY_MASK: u64 = (1 << ENTRY_BITS) - 1;

/// The part of a bucket that has entries. The version is above it.
const ALL_ENTRIES: u64 = (1 << (ENTRY_BITS * ENTRIES as u32)) - 1;
const VERSION: u64 = ALL_ENTRIES + 1;

/// The contents of a bucket. Behind the last entry there are zeroes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket(u64);

impl Bucket {
    /// Returns the element at a position.
    #[inline]
    pub(super) fn entry(self, at: usize) -> Option<u32> {
        // CAST: The position is small, and an entry has fewer than 32 bits.
        let shift = ENTRY_BITS.wrapping_mul(at as u32);
        let entry = self.0 & ALL_ENTRIES;

        ((entry.checked_shr(shift).unwrap_or(0) & ENTRY_MASK) as u32).checked_sub(1)
    }

    /// The elements, the newest first.
    #[inline(always)]
    pub(super) fn entries(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0 & ALL_ENTRIES;

        core::iter::from_fn(move || {
            // CAST: An entry has fewer than 32 bits.
            let index = ((rest & ENTRY_MASK) as u32).checked_sub(1)?;

            rest >>= ENTRY_BITS;
            Some(index)
        })
    }

    /// Returns `true` for a bucket without elements.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 & ALL_ENTRIES == 0
    }

    /// Returns `true` for a bucket without room for an element.
    #[inline]
    pub(super) fn is_full(self) -> bool {
        self.entry(ENTRIES - 1).is_some()
    }

    /// Returns `true` for a bucket that has this element.
    fn has(self, index: u32) -> bool {
        self.entries().any(|entry| entry == index)
    }

    /// The bucket without the element at a position.
    pub(super) fn without(self, at: usize) -> Self {
        // CAST: As above.
        let newer = 1u64.wrapping_shl(ENTRY_BITS.wrapping_mul(at as u32));
        let newer = newer.wrapping_sub(1);
        let older = (self.0 & ALL_ENTRIES) >> ENTRY_BITS;

        self.next((self.0 & newer) | (older & !newer))
    }

    /// The bucket with a further element, for which there must be room.
    pub(super) fn with(self, index: u32) -> Self {
        let entries = (self.0 << ENTRY_BITS) & ALL_ENTRIES;

        self.next(entries | (u64::from(index.wrapping_add(1)) & ENTRY_MASK))
    }

    /// These entries with the next version.
    fn next(self, entries: u64) -> Self {
        Self((self.0 & !ALL_ENTRIES).wrapping_add(VERSION) | entries)
    }
}

/// The buckets.
pub(super) struct Buckets {
    words: KVVec<Atomic<u64>>,
    /// Takes a hash to the index of a bucket.
    shift: u32,
}

impl Buckets {
    /// `2^bits` empty buckets.
    pub(super) fn new(bits: u32) -> Result<Self> {
        Ok(Self {
            words: KVVec::zeroed(1 << bits, GFP_KERNEL_ACCOUNT)?,
            shift: u64::BITS.wrapping_sub(bits),
        })
    }

    /// Number of buckets.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Size in bytes.
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

        // CAST: There are fewer buckets than a `usize` can count.
        spread.wrapping_shr(self.shift) as usize
    }

    /// Returns the bucket of a number, the next of which has the next bucket.
    pub(super) fn nth(&self, n: u32) -> usize {
        // CAST: A `usize` has 32 bits at least.
        n as usize & self.words.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn load(&self, at: usize) -> Bucket {
        // Pairs with the compare-and-exchange in `change`: who sees an element in the bucket sees
        // that it is in use.
        Bucket(self.words.get(at).map_or(0, |word| word.load(Acquire)))
    }

    /// Replaces the contents of a bucket, if they are what was loaded.
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

    /// All elements that have a key, those of one bucket after the other.
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
