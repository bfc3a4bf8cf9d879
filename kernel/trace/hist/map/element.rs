// SPDX-License-Identifier: GPL-2.0

//! An element of a map.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

use super::layout::Shape;

/// The name of a task.
pub(crate) type Comm = [u8; 16];

/// Its size in words.
pub(super) const COMM_WORDS: usize = size_of::<Comm>() / size_of::<u64>();

/// An element of a map.
///
/// Its key does not change as long as the map is not wiped, its sums are atomic. What variables
/// need is in [`vars`](super::vars).
#[derive(Clone, Copy)]
pub(crate) struct Element<'m> {
    pub(super) shape: &'m Shape,
    pub(super) words: &'m [Atomic<u64>],
}

impl<'m> Element<'m> {
    #[inline]
    pub(super) fn new(shape: &'m Shape, words: &'m [Atomic<u64>]) -> Self {
        Self { shape, words }
    }

    /// Adds to a sum, modulo 2^64.
    #[inline]
    pub(crate) fn add(&self, sum: usize, n: u64) {
        if let Some(word) = self.sum_word(sum) {
            word.add(n, Relaxed);
        }
    }

    /// A sum.
    #[inline]
    pub(crate) fn sum(&self, sum: usize) -> u64 {
        self.sum_word(sum).map_or(0, |word| word.load(Relaxed))
    }

    /// A word of the key.
    #[inline]
    pub(crate) fn key_word(&self, word: usize) -> u64 {
        if word >= self.shape.layout.key_words {
            return 0;
        }
        self.words.get(word).map_or(0, |word| word.load(Relaxed))
    }

    /// Copies the key, as much as there is room for.
    pub(crate) fn copy_key(&self, key: &mut [u64]) {
        for (to, from) in key.iter_mut().zip(self.key()) {
            *to = from.load(Relaxed);
        }
    }

    /// The name of the task that had the first hit, if the layout has it.
    pub(crate) fn comm(&self) -> Comm {
        let mut comm = Comm::default();

        for (bytes, word) in comm.chunks_mut(size_of::<u64>()).zip(self.comm_words()) {
            for (to, from) in bytes.iter_mut().zip(word.load(Relaxed).to_ne_bytes()) {
                *to = from;
            }
        }
        comm
    }

    #[inline]
    fn sum_word(&self, sum: usize) -> Option<&'m Atomic<u64>> {
        self.words.get(self.shape.sum(sum)?)
    }

    #[inline]
    fn key(&self) -> impl Iterator<Item = &'m Atomic<u64>> {
        self.words.iter().take(self.shape.layout.key_words)
    }

    fn comm_words(&self) -> &'m [Atomic<u64>] {
        if self.shape.layout.comm {
            self.words.get(self.shape.comm..).unwrap_or(&[])
        } else {
            &[]
        }
    }

    /// Whether the element has this key, which has as many words as all keys have.
    #[inline]
    pub(super) fn has_key(&self, key: &[u64]) -> bool {
        self.words
            .iter()
            .zip(key)
            .all(|(word, key)| word.load(Relaxed) == *key)
    }

    /// Sets the key of an element that is being prepared.
    pub(super) fn set_key(&self, key: &[u64]) {
        for (word, key) in self.key().zip(key) {
            word.store(*key, Relaxed);
        }
    }

    /// Sets the name of the task of an element that is being prepared.
    pub(super) fn set_comm(&self, comm: &Comm) {
        for (word, bytes) in self.comm_words().iter().zip(comm.chunks(size_of::<u64>())) {
            let mut value = [0; size_of::<u64>()];

            for (to, from) in value.iter_mut().zip(bytes) {
                *to = *from;
            }
            word.store(u64::from_ne_bytes(value), Relaxed);
        }
    }
}
