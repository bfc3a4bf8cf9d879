// SPDX-License-Identifier: GPL-2.0

//! The table of slots, which says where the element of a key is.
//!
//! A slot is free, or has the index of an element and a part of the hash of its key. It is set
//! once, by a compare-and-exchange, and does not change until the map is wiped.
//!
//! Keys are read from user space, so the hash depends on two secret numbers of each map: without
//! them one cannot predict which keys collide. It is the multiply-and-fold of wyhash, not a
//! cryptographic hash: words are multiplied to 128 bits, the halves of which are combined.
//!
//! The reasons for what is inlined are those of [`map`](super).

use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

use super::{
    key_arena,
    slab, //
};
use crate::limits::MAP_BITS_MAX;

/// Bits of a slot that are the index of an element, plus one; the others are the lowest of the
/// hash.
const INDEX_BITS: u32 = MAP_BITS_MAX + 1;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// The contents of a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    #[inline]
    pub(super) fn new(index: u32, hash: u64) -> Self {
        Self(Self::tag(hash) | (index.wrapping_add(1) & INDEX_MASK))
    }

    #[inline]
    fn tag(hash: u64) -> u32 {
        // CAST: The low bits are wanted, the high ones have chosen the slot.
        (hash as u32) << INDEX_BITS
    }

    #[inline]
    pub(super) fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Returns the element, if its key may have this hash.
    #[inline]
    pub(super) fn index_if(self, hash: u64) -> Option<u32> {
        let number = self.0 ^ Self::tag(hash);

        // The rest is the number of the element if the tags are equal. It is not 0: the slot is not
        // free.
        (number <= INDEX_MASK).then_some(number.wrapping_sub(1))
    }

    /// Returns the element of a slot that is not free.
    fn index(self) -> Option<u32> {
        (self.0 & INDEX_MASK).checked_sub(1)
    }
}

/// The slots.
pub(super) struct Table {
    slots: KVVec<Atomic<u32>>,
    /// Takes a hash to the index of a slot.
    shift: u32,
}

impl Table {
    /// Allocates a table of `2^bits` free slots.
    pub(super) fn new(bits: u32) -> Result<Self> {
        Ok(Self {
            slots: slab::zeroed(1 << bits)?,
            shift: u64::BITS.wrapping_sub(bits),
        })
    }

    /// Returns the size of a table of `2^bits` slots, in bytes.
    pub(super) const fn size_of(bits: u32) -> usize {
        size_of::<u32>() << bits
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Returns the slot at which the search for a key of this hash begins.
    #[inline]
    pub(super) fn start(&self, hash: u64) -> usize {
        // CAST: The slots are fewer than a `usize` can count.
        hash.wrapping_shr(self.shift) as usize
    }

    /// Returns the slot after this one.
    #[inline]
    pub(super) fn after(&self, at: usize) -> usize {
        let next = at.wrapping_add(1);

        if next < self.slots.len() {
            next
        } else {
            0
        }
    }

    #[inline]
    pub(super) fn load(&self, at: usize) -> Slot {
        // Pairs with the compare-and-exchange in `publish`: a reader that sees an element sees its
        // key.
        Slot(self.slots.get(at).map_or(0, |slot| slot.load(Acquire)))
    }

    /// Publishes an element in a slot, if that is free.
    pub(super) fn publish(&self, at: usize, slot: Slot) -> bool {
        // Pairs with the loads: the key was written before.
        self.slots
            .get(at)
            .is_some_and(|place| place.cmpxchg(0, slot.0, Release).is_ok())
    }

    /// Returns the elements that have been published.
    pub(super) fn published(&self) -> impl Iterator<Item = u32> + '_ {
        // The same pairing as in `load`.
        self.slots
            .iter()
            .filter_map(|slot| Slot(slot.load(Acquire)).index())
    }

    /// Frees all slots. The table must not be in use.
    pub(super) fn wipe(&self) {
        for slot in self.slots.iter() {
            slot.store(0, Relaxed);
        }
    }
}

/// The hash of keys: the secrets of a map.
pub(super) struct Seed {
    start: u64,
    /// Odd, so that no bit of a word gets lost.
    factor: u64,
}

impl Seed {
    pub(super) fn new() -> Self {
        Self::from_numbers(kernel::random::get_u64(), kernel::random::get_u64())
    }

    pub(super) fn from_numbers(start: u64, factor: u64) -> Self {
        Self {
            start,
            factor: factor | 1,
        }
    }

    /// Returns the hash of a key of one word, as [`Seed::hash`] does.
    #[inline]
    pub(super) fn hash_word(&self, word: u64) -> u64 {
        mix(self.start ^ word, self.factor)
    }

    /// Returns the hash of a key.
    #[inline(always)]
    pub(super) fn hash(&self, words: &[u64]) -> u64 {
        match *words {
            [word] => self.hash_word(word),
            [first, second] => self.mix_two(self.start, first, second),
            _ => self.hash_many(words),
        }
    }

    /// Returns the hash of a key of any size.
    #[inline(never)]
    fn hash_many(&self, words: &[u64]) -> u64 {
        if key_arena::are_long(words.len()) {
            self.hash_trimmed(key_arena::trimmed(words))
        } else {
            self.hash_trimmed(words)
        }
    }

    /// Returns the hash of a key; of a long one, which is given without the zeroes at its end.
    #[inline]
    pub(super) fn hash_trimmed(&self, words: &[u64]) -> u64 {
        let mut hash = self.start;
        let mut rest = words;

        while let [first, second, others @ ..] = rest {
            hash = self.mix_two(hash, *first, *second);
            rest = others;
        }
        match rest.first() {
            Some(last) => mix(hash ^ last, self.factor),
            None => hash,
        }
    }

    /// Adds two words to a hash.
    #[inline(always)]
    fn mix_two(&self, hash: u64, first: u64, second: u64) -> u64 {
        // The sum cannot be chosen such that a factor is zero: `hash` is not known.
        mix(
            hash ^ first,
            self.factor.wrapping_add(second) ^ hash.rotate_left(32),
        )
    }
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));

    // CAST: The two halves.
    (product as u64) ^ ((product >> 64) as u64)
}
