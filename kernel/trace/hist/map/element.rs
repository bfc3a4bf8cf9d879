// SPDX-License-Identifier: GPL-2.0

//! An element of a map.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::context::COMM_LEN, //
};

use super::{
    keys::{
        self,
        Keys, //
    },
    layout::{
        Shape,
        LONG_KEY_WORDS,
        STRING_WORDS, //
    },
    Map, //
};
use crate::WORD;

/// The name of a task.
pub(crate) type Comm = [u8; COMM_LEN];

/// Its size in words.
pub(super) const COMM_WORDS: usize = COMM_LEN / WORD;

/// An element of a map.
///
/// Its key does not change until the map is wiped; its sums are atomic. Variables are in
/// [`vars`](super::vars).
#[derive(Clone, Copy)]
pub(crate) struct Element<'m> {
    map: &'m Map,
    /// Its words. There are as many as the shape says.
    words: &'m [Atomic<u64>],
}

impl<'m> Element<'m> {
    #[inline]
    pub(super) fn new(map: &'m Map, words: &'m [Atomic<u64>]) -> Self {
        Self { map, words }
    }

    #[inline]
    pub(super) fn shape(&self) -> &'m Shape {
        &self.map.shape
    }

    /// A word, counted from the first one.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Option<&'m Atomic<u64>> {
        self.words.get(at)
    }

    /// Some words, counted likewise; no words if not all of them exist.
    #[inline]
    pub(super) fn words(&self, at: usize, count: usize) -> &'m [Atomic<u64>] {
        self.words_at(at, count).unwrap_or(&[])
    }

    /// The same, but `None` if not all of them exist.
    #[inline(always)]
    pub(super) fn words_at(&self, at: usize, count: usize) -> Option<&'m [Atomic<u64>]> {
        self.words.get(at..)?.get(..count)
    }

    /// Counts a hit, and adds to the other sums what `values` gives.
    #[inline(always)]
    pub(crate) fn count(&self, values: impl ExactSizeIterator<Item = u64>) {
        if values.len() == 0 {
            return self.add(0, 1);
        }
        let sums = self.words_at(self.shape().sums, self.shape().layout.n_sums);

        if let Some((hits, sums)) = sums.and_then(<[_]>::split_first) {
            hits.add(1, Relaxed);
            for (sum, value) in sums.iter().zip(values) {
                sum.add(value, Relaxed);
            }
        }
    }

    /// Adds to a sum, modulo 2^64.
    #[inline]
    pub(crate) fn add(&self, sum: usize, n: u64) {
        if let Some(word) = self.sum_word(sum) {
            word.add(n, Relaxed);
        }
    }

    /// Copies the key, as much as there is room for.
    pub(crate) fn copy_key(&self, key: &mut [u64]) {
        for (to, from) in key.iter_mut().zip(self.key()) {
            *to = from.load(Relaxed);
        }
    }

    /// All words that a copy has, except for the key: those before the strings, and those from the
    /// first string on that is shown.
    pub(super) fn copied(&self) -> impl Iterator<Item = &'m Atomic<u64>> {
        let shape = self.shape();
        let skipped = shape.layout.first_shown.wrapping_mul(STRING_WORDS);
        let shown = shape.strings.saturating_add(skipped);
        let before = self.words.get(shape.sums..shape.strings).unwrap_or(&[]);
        let behind = self.words.get(shown..).unwrap_or(&[]);

        [before, behind].into_iter().flatten()
    }

    /// The name of the task that had the first hit, if the layout has it.
    pub(crate) fn comm(&self) -> Comm {
        let mut words = [0u64; COMM_WORDS];

        for (to, from) in words.iter_mut().zip(self.comm_words()) {
            *to = from.load(Relaxed);
        }
        Comm::read_from_bytes(words.as_bytes()).unwrap_or_default()
    }

    #[inline]
    fn sum_word(&self, sum: usize) -> Option<&'m Atomic<u64>> {
        self.word(self.shape().sum(sum)?)
    }

    /// The words of the key; of a long one without the zeroes at its end.
    #[inline]
    fn key(&self) -> &'m [Atomic<u64>] {
        match &self.map.keys {
            Some(keys) => self.long_key(keys),
            None => self.words(0, self.shape().layout.key_words),
        }
    }

    #[inline]
    fn long_key(&self, keys: &'m Keys) -> &'m [Atomic<u64>] {
        let Some([len, place]) = self.long_key_place() else {
            return &[];
        };

        // CAST: A `usize` has 32 bits at least.
        keys.get(
            KeySpan(place.load(Relaxed)).start(),
            len.load(Relaxed) as usize,
        )
    }

    #[inline]
    fn long_key_place(&self) -> Option<&'m [Atomic<u64>; LONG_KEY_WORDS]> {
        self.words.first_chunk()
    }

    fn comm_words(&self) -> &'m [Atomic<u64>] {
        if self.shape().layout.comm {
            self.words(self.shape().comm, COMM_WORDS)
        } else {
            &[]
        }
    }

    /// Whether this is the key, of a map with keys of one word.
    #[inline]
    pub(super) fn is_word(&self, key: u64) -> bool {
        self.word(0).is_some_and(|word| word.load(Relaxed) == key)
    }

    /// Whether this is the key, which has as many words as all keys of the map.
    #[inline]
    pub(super) fn has_key(&self, key: &[u64]) -> bool {
        if keys::are_long(key.len()) {
            return self.has_long_key(key);
        }
        let Some(words) = self.words_at(0, key.len()) else {
            return false;
        };

        if key.len() < 4 {
            return words.iter().zip(key).all(|(w, k)| w.load(Relaxed) == *k);
        }
        same_words(words, key)
    }

    /// Not inlined, as short keys are to be compared quickly.
    #[inline(never)]
    fn has_long_key(&self, key: &[u64]) -> bool {
        let Some(keys) = &self.map.keys else {
            return false;
        };
        let words = self.long_key(keys);

        // Where the element's key ends, the other one has to have zeroes only.
        key.split_at_checked(words.len())
            .is_some_and(|(key, rest)| same_words(words, key) && all_zero(rest))
    }

    /// Sets the key of the element `index`, which is being prepared. Fails if there is no room for
    /// it.
    pub(super) fn set_key(&self, index: u32, key: &[u64]) -> Option<()> {
        let mut key = key;

        if let Some(keys) = &self.map.keys {
            key = keys::trimmed(key);
            self.make_room(keys, index, key.len())?;
        }
        for (word, key) in self.key().iter().zip(key) {
            word.store(*key, Relaxed);
        }
        Some(())
    }

    /// Finds room for a long key. An element that was given back may have some still.
    fn make_room(&self, keys: &Keys, index: u32, needed: usize) -> Option<()> {
        let [len, place] = self.long_key_place()?;

        if KeySpan(place.load(Relaxed)).room() < needed {
            let (start, room) = keys.take(index, needed)?;

            place.store(KeySpan::new(start, room).0, Relaxed);
        }
        // CAST: A `u64` is as large as a `usize` at least.
        len.store(needed as u64, Relaxed);
        Some(())
    }

    /// Sets the name of the task of an element that is being prepared.
    pub(super) fn set_comm(&self, comm: &Comm) {
        let words = <[u64; COMM_WORDS]>::read_from_bytes(comm).unwrap_or_default();

        for (to, from) in self.comm_words().iter().zip(words) {
            to.store(from, Relaxed);
        }
    }
}

/// Accessors of the unit tests. Readers of the map take a snapshot.
#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
impl Element<'_> {
    /// A sum, or 0 if there is no such sum.
    pub(crate) fn sum(&self, sum: usize) -> u64 {
        self.sum_word(sum).map_or(0, |word| word.load(Relaxed))
    }

    /// A word of the key, or 0 behind its end.
    pub(crate) fn key_word(&self, word: usize) -> u64 {
        self.key().get(word).map_or(0, |word| word.load(Relaxed))
    }
}

/// Where a long key is, and how many words there are for it.
#[derive(Clone, Copy)]
struct KeySpan(u64);

impl KeySpan {
    fn new(start: usize, room: usize) -> Self {
        // CAST: `Keys::new` has seen to it that this is enough.
        Self((start as u64) << 32 | room as u64)
    }

    #[inline]
    fn start(self) -> usize {
        // CAST: The high half.
        (self.0 >> 32) as usize
    }

    fn room(self) -> usize {
        // CAST: The low half.
        self.0 as u32 as usize
    }
}

#[inline]
fn all_zero(words: &[u64]) -> bool {
    words.iter().fold(0, |all, word| all | word) == 0
}

/// Whether the words are the same up to the length of the shorter of the two; compares four at
/// once, as long as there are so many.
#[inline(never)]
fn same_words(words: &[Atomic<u64>], key: &[u64]) -> bool {
    let (fours, key_fours) = (words.chunks_exact(4), key.chunks_exact(4));
    let (rest, key_rest) = (fours.remainder(), key_fours.remainder());

    fours.zip(key_fours).all(|(words, key)| {
        let differences = words.iter().zip(key).map(|(w, k)| w.load(Relaxed) ^ *k);

        differences.fold(0, |all, difference| all | difference) == 0
    }) && rest
        .iter()
        .zip(key_rest)
        .all(|(w, k)| w.load(Relaxed) == *k)
}
