// SPDX-License-Identifier: GPL-2.0

//! The elements of a map: what one consists of, and where its key, its sums and the name of its
//! task are.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

use super::{
    key_arena::{
        self,
        KeyArena,
        KeySpan, //
    },
    slab::Slab, //
};
use crate::limits::{
    COMM_LEN,
    COMM_WORDS,
    STRING_WORDS,
    VARS_MAX, //
};

/// The name of a task.
pub(crate) type Comm = [u8; COMM_LEN];

/// Size of the substitute for a long key in an element: its size, and its place with the size of
/// that.
const LONG_KEY_WORDS: usize = 2;

/// The parts of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Size of the key.
    pub(crate) key_words: usize,
    /// Number of sums, the hit count included.
    pub(crate) n_sums: usize,
    /// Number of variables, those whose value is a string included.
    pub(crate) n_vars: usize,
    /// Number of strings and stacks that variables have.
    pub(crate) string_slots: usize,
    /// The first of them that is shown: a copy of the map has this one and the following ones.
    pub(crate) first_shown: usize,
    /// The name of the task that had the first hit is kept.
    pub(crate) comm: bool,
}

/// The offsets of the parts of an element, in words.
///
/// The first part is the key, or its location; the optional parts follow in this order.
#[derive(Clone, Copy)]
pub(super) struct ElementLayout {
    /// The parts.
    pub(super) parts: Layout,
    /// Keys are elsewhere: see [`key_arena`].
    pub(super) long_keys: bool,
    pub(super) sums: usize,
    /// The lock of the variables, or [`NO_LOCK`]. They are the next words.
    pub(super) lock: usize,
    pub(super) vars: usize,
    pub(super) strings: usize,
    pub(super) comm: usize,
    /// Size of an element.
    pub(super) words: usize,
}

/// In place of the offset of a lock, which no element is large enough for.
const NO_LOCK: usize = usize::MAX;

impl ElementLayout {
    /// Computes the layout, or returns `EINVAL` for one that no element can have. Elements can
    /// have a lock without variables.
    pub(super) fn new(layout: Layout, locked: bool) -> Result<Self> {
        Self::with_keys(layout, key_arena::are_long(layout.key_words), locked)
    }

    /// Returns the layout of a copy, which begins with the whole key, however long it is, and has
    /// only the strings that are shown.
    pub(super) fn of_copy(&self) -> Result<Self> {
        let Layout {
            string_slots,
            first_shown,
            ..
        } = self.parts;
        let layout = Layout {
            string_slots: string_slots.saturating_sub(first_shown),
            first_shown: 0,
            ..self.parts
        };

        Self::with_keys(layout, false, self.lock().is_some())
    }

    fn with_keys(layout: Layout, long_keys: bool, locked: bool) -> Result<Self> {
        let Layout {
            key_words,
            n_sums,
            n_vars,
            string_slots,
            comm,
            ..
        } = layout;

        // The first word links elements that are free.
        if key_words == 0 || n_vars > VARS_MAX {
            return Err(EINVAL);
        }

        let mut words = if long_keys { LONG_KEY_WORDS } else { key_words };
        let mut place = |n: usize| {
            let at = words;

            words = words.checked_add(n).ok_or(EINVAL)?;
            Ok::<usize, Error>(at)
        };
        let locked = locked || n_vars > 0 || string_slots > 0;

        Ok(Self {
            parts: layout,
            long_keys,
            sums: place(n_sums)?,
            lock: if locked { place(1)? } else { NO_LOCK },
            vars: place(n_vars)?,
            strings: place(string_slots.checked_mul(STRING_WORDS).ok_or(EINVAL)?)?,
            comm: place(if comm { COMM_WORDS } else { 0 })?,
            words,
        })
    }

    /// Returns the offset of the lock.
    pub(super) fn lock(&self) -> Option<usize> {
        (self.lock != NO_LOCK).then_some(self.lock)
    }

    /// Returns the offset of a string.
    #[inline]
    pub(super) fn string(&self, slot: usize) -> Option<usize> {
        if slot >= self.parts.string_slots {
            return None;
        }
        Some(self.strings.wrapping_add(slot.wrapping_mul(STRING_WORDS)))
    }

    /// Returns the offset of a variable.
    #[inline]
    pub(super) fn var(&self, var: usize) -> Option<usize> {
        (var < self.parts.n_vars).then_some(self.vars.wrapping_add(var))
    }

    /// Returns the offset of a sum.
    #[inline]
    pub(super) fn sum(&self, sum: usize) -> Option<usize> {
        (sum < self.parts.n_sums).then_some(self.sums.wrapping_add(sum))
    }
}

/// The elements of a map, used and unused ones.
pub(super) struct Elements {
    pub(super) layout: ElementLayout,
    pub(super) slab: Slab,
    /// The keys, if they are long.
    keys: Option<KeyArena>,
}

impl Elements {
    /// Allocates `count` elements, which have a lock if they have variables or are to be `locked`.
    /// Long keys take up to `small` words as in a small map.
    pub(super) fn new(count: u32, layout: Layout, small: usize, locked: bool) -> Result<Self> {
        let layout = ElementLayout::new(layout, locked)?;
        let keys = layout
            .long_keys
            .then(|| KeyArena::new(count, layout.parts.key_words, small))
            .transpose()?;

        Ok(Self {
            slab: Slab::new(count, layout.words)?,
            keys,
            layout,
        })
    }

    /// Returns the size of what [`Elements::new`] allocates, and of what long keys can take later,
    /// in bytes.
    pub(super) fn size_of(count: u32, layout: Layout, small: usize, locked: bool) -> Result<usize> {
        let layout = ElementLayout::new(layout, locked)?;
        let keys = if layout.long_keys {
            KeyArena::size_of(count, layout.parts.key_words, small)?
        } else {
            0
        };

        Ok(Slab::size_of(count, layout.words)?.saturating_add(keys))
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        let keys = self.keys.as_ref().map_or(0, KeyArena::size);

        self.slab.size().saturating_add(keys)
    }

    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<Element<'_>> {
        self.slab.element(index).map(|words| self.with(words))
    }

    /// Returns the element that has these words.
    #[inline(always)]
    pub(super) fn with<'m>(&'m self, words: &'m [Atomic<u64>]) -> Element<'m> {
        Element {
            elements: self,
            words,
        }
    }

    /// Takes an element, and fills it in so that it can be published.
    pub(super) fn prepare(
        &self,
        key: &[u64],
        comm: &mut Option<impl FnOnce(&mut Comm)>,
    ) -> Option<(u32, &[Atomic<u64>])> {
        // A full arena is not written to, so that CPUs do not contend for it. An element that was
        // freed may have room for the key.
        let is_full = self
            .keys
            .as_ref()
            .is_some_and(|keys| !keys.has_room(key_arena::trimmed(key).len()));
        let index = if is_full {
            self.slab.take_freed()?
        } else {
            self.slab.take()?
        };
        let words = self.slab.element(index)?;

        if self.fill(self.with(words), index, key, comm).is_none() {
            self.slab.free(index);
            return None;
        }
        Some((index, words))
    }

    /// Fills an element in, or returns `None` if the key does not fit.
    #[inline]
    pub(super) fn fill(
        &self,
        element: Element<'_>,
        index: u32,
        key: &[u64],
        comm: &mut Option<impl FnOnce(&mut Comm)>,
    ) -> Option<()> {
        element.set_key(index, key)?;
        if let (true, Some(comm)) = (self.layout.parts.comm, comm.take()) {
            let mut name = Comm::default();

            comm(&mut name);
            element.set_comm(&name);
        }
        Some(())
    }

    /// Frees all elements, and zeroes them. None may be in use.
    pub(super) fn wipe(&self) {
        self.slab.wipe();
        if let Some(keys) = &self.keys {
            keys.wipe();
        }
    }
}

/// An element of a map.
///
/// Its key does not change until the map is wiped; its sums are atomic. Variables are in
/// [`vars`](super::vars).
#[derive(Clone, Copy)]
pub(crate) struct Element<'m> {
    elements: &'m Elements,
    /// Its words. The layout says how many.
    words: &'m [Atomic<u64>],
}

impl<'m> Element<'m> {
    #[inline]
    pub(super) fn layout(&self) -> &'m ElementLayout {
        &self.elements.layout
    }

    /// Returns the elements that this is one of, and its words.
    #[inline(always)]
    pub(super) fn parts(self) -> (&'m Elements, &'m [Atomic<u64>]) {
        (self.elements, self.words)
    }

    /// Returns the address of the element, which no other element has.
    pub(crate) fn address(&self) -> usize {
        self.words.as_ptr().addr()
    }

    /// Returns a word, counted from the first one.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Option<&'m Atomic<u64>> {
        self.words.get(at)
    }

    /// Returns `count` words from `at` on, or none if not all of them exist.
    #[inline]
    pub(super) fn words(&self, at: usize, count: usize) -> &'m [Atomic<u64>] {
        self.words_at(at, count).unwrap_or(&[])
    }

    /// Returns `count` words from `at` on, or `None` if not all of them exist.
    #[inline(always)]
    pub(super) fn words_at(&self, at: usize, count: usize) -> Option<&'m [Atomic<u64>]> {
        self.words.get(at..)?.get(..count)
    }

    /// Returns all words from `at` on.
    #[inline(always)]
    pub(super) fn words_from(&self, at: usize) -> Option<&'m [Atomic<u64>]> {
        self.words.get(at..)
    }

    /// Returns the hit count, and the other sums.
    #[inline(always)]
    pub(crate) fn sums(&self) -> Option<(&'m Atomic<u64>, &'m [Atomic<u64>])> {
        self.words_at(self.layout().sums, self.layout().parts.n_sums)?
            .split_first()
    }

    /// Adds a hit to the hit count, which is the first sum.
    #[inline(always)]
    pub(crate) fn count(&self) {
        if let Some(hits) = self.word(self.layout().sums) {
            hits.add(1, Relaxed);
        }
    }

    /// Copies the key, or the start of it that fits.
    pub(crate) fn copy_key(&self, key: &mut [u64]) {
        let [start, end] = self.key();

        for (to, from) in key.iter_mut().zip(Iterator::chain(start.iter(), end)) {
            *to = from.load(Relaxed);
        }
    }

    /// Returns all words that a copy has, except for the key: those before the strings, and those
    /// from the first string on that is shown.
    pub(super) fn copied(&self) -> impl Iterator<Item = &'m Atomic<u64>> {
        let layout = self.layout();
        let skipped = layout.parts.first_shown.wrapping_mul(STRING_WORDS);
        let shown = layout.strings.saturating_add(skipped);
        let before = self.words.get(layout.sums..layout.strings).unwrap_or(&[]);
        let behind = self.words.get(shown..).unwrap_or(&[]);

        [before, behind].into_iter().flatten()
    }

    /// Returns the name of the task that had the first hit, if the layout has it.
    pub(crate) fn comm(&self) -> Comm {
        let mut words = [0u64; COMM_WORDS];

        for (to, from) in words.iter_mut().zip(self.comm_words()) {
            *to = from.load(Relaxed);
        }
        Comm::read_from_bytes(words.as_bytes()).unwrap_or_default()
    }

    /// Returns the words of the key, those of a long one without the zeroes at its end. Only a long
    /// one can have a second part.
    #[inline]
    fn key(&self) -> [&'m [Atomic<u64>]; 2] {
        match &self.elements.keys {
            Some(keys) => self.long_key(keys),
            None => [self.words(0, self.layout().parts.key_words), &[]],
        }
    }

    #[inline]
    fn long_key(&self, keys: &'m KeyArena) -> [&'m [Atomic<u64>]; 2] {
        let Some([len, place]) = self.long_key_place() else {
            return [&[], &[]];
        };

        // CAST: A `usize` has 32 bits at least.
        keys.get(KeySpan(place.load(Relaxed)), len.load(Relaxed) as usize)
    }

    #[inline]
    fn long_key_place(&self) -> Option<&'m [Atomic<u64>; LONG_KEY_WORDS]> {
        self.words.first_chunk()
    }

    fn comm_words(&self) -> &'m [Atomic<u64>] {
        if self.layout().parts.comm {
            self.words(self.layout().comm, COMM_WORDS)
        } else {
            &[]
        }
    }

    /// Returns `true` if this is the key, of a map with keys of one word.
    #[inline]
    pub(super) fn is_word(&self, key: u64) -> bool {
        self.word(0).is_some_and(|word| word.load(Relaxed) == key)
    }

    /// Returns `true` if this is the key, which has as many words as all keys of the map.
    #[inline]
    pub(super) fn has_key(&self, key: &[u64]) -> bool {
        if key_arena::are_long(key.len()) {
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

    /// Returns `true` if this is the key, of a map with long keys. Not inlined, as short keys are
    /// to be compared quickly.
    #[inline(never)]
    fn has_long_key(&self, key: &[u64]) -> bool {
        let Some(keys) = &self.elements.keys else {
            return false;
        };
        let [start, end] = self.long_key(keys);

        // After the end of the element's key, the other key must have zeroes only.
        after(start, key)
            .and_then(|rest| after(end, rest))
            .is_some_and(all_zero)
    }

    /// Returns `true` if this is the key, which is long and given without the zeroes at its end.
    #[inline(always)]
    pub(super) fn has_trimmed_key(&self, key: &[u64]) -> bool {
        let (Some(keys), Some([len, place])) = (&self.elements.keys, self.long_key_place()) else {
            return false;
        };

        // CAST: A `u64` is as large as a `usize` at least.
        if len.load(Relaxed) != key.len() as u64 {
            return false;
        }
        let [start, end] = keys.get(KeySpan(place.load(Relaxed)), key.len());

        // Nearly always the first part is the only one.
        if end.is_empty() {
            return start.len() == key.len() && same_words(start, key);
        }
        are_parts(start, end, key)
    }

    /// Sets the key as [`Element::set_key`] does, which is only called for long keys.
    #[inline(always)]
    pub(super) fn set_key_inline(&self, index: u32, key: &[u64]) -> Option<()> {
        if key_arena::are_long(key.len()) {
            return self.set_key(index, key);
        }
        for (at, key) in key.iter().enumerate() {
            self.word(at)?.store(*key, Relaxed);
        }
        Some(())
    }

    /// Sets the key of the element `index`, which is being prepared, or returns `None` if it does
    /// not fit.
    pub(super) fn set_key(&self, index: u32, key: &[u64]) -> Option<()> {
        let mut key = key;

        if let Some(keys) = &self.elements.keys {
            key = key_arena::trimmed(key);
            self.make_room(keys, index, key.len())?;
        }
        let [start, end] = self.key();

        for (word, key) in Iterator::chain(start.iter(), end).zip(key) {
            word.store(*key, Relaxed);
        }
        Some(())
    }

    /// Reserves room for a long key. An element that was freed may have some still.
    fn make_room(&self, keys: &KeyArena, index: u32, needed: usize) -> Option<()> {
        let [len, place] = self.long_key_place()?;
        let span = keys.reserve(KeySpan(place.load(Relaxed)), index, needed)?;

        place.store(span.0, Relaxed);
        // CAST: A `u64` is as large as a `usize` at least.
        len.store(needed as u64, Relaxed);
        Some(())
    }

    /// Zeroes the sums of an element that is being prepared.
    pub(super) fn wipe_sums(&self) {
        let ElementLayout { sums, parts, .. } = self.layout();

        // Nearly always the hit count is the only one.
        if parts.n_sums == 1 {
            if let Some(hits) = self.word(*sums) {
                hits.store(0, Relaxed);
            }
            return;
        }
        for sum in self.words(*sums, parts.n_sums) {
            sum.store(0, Relaxed);
        }
    }

    /// Sets the name of the task of an element that is being prepared.
    pub(super) fn set_comm(&self, comm: &Comm) {
        let words = <[u64; COMM_WORDS]>::read_from_bytes(comm).unwrap_or_default();

        for (to, from) in self.comm_words().iter().zip(words) {
            to.store(from, Relaxed);
        }
    }
}

/// Accessors of the unit tests. Hits change all sums together, readers of the map take a snapshot.
#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
impl Element<'_> {
    fn sum_word(&self, sum: usize) -> Option<&Atomic<u64>> {
        self.word(self.layout().sum(sum)?)
    }

    /// Adds to a sum, modulo 2^64.
    pub(crate) fn add(&self, sum: usize, n: u64) {
        if let Some(word) = self.sum_word(sum) {
            word.add(n, Relaxed);
        }
    }

    /// Returns a sum, or 0 if it does not exist.
    pub(crate) fn sum(&self, sum: usize) -> u64 {
        self.sum_word(sum).map_or(0, |word| word.load(Relaxed))
    }

    /// Returns a word of the key, or 0 after its end.
    pub(crate) fn key_word(&self, word: usize) -> u64 {
        let mut words = self.key().into_iter().flatten();

        words.nth(word).map_or(0, |word| word.load(Relaxed))
    }
}

/// Returns what follows `words` in a key that begins with them.
#[inline]
fn after<'k>(words: &[Atomic<u64>], key: &'k [u64]) -> Option<&'k [u64]> {
    let (start, rest) = key.split_at_checked(words.len())?;

    (words.is_empty() || same_words(words, start)).then_some(rest)
}

/// Returns `true` if two parts are the key.
#[cold]
#[inline(never)]
fn are_parts(start: &[Atomic<u64>], end: &[Atomic<u64>], key: &[u64]) -> bool {
    after(start, key)
        .and_then(|rest| after(end, rest))
        .is_some_and(<[_]>::is_empty)
}

#[inline]
fn all_zero(words: &[u64]) -> bool {
    words.iter().fold(0, |all, word| all | word) == 0
}

/// Returns `true` if the words are the same up to the length of the shorter of the two. Compares
/// four at once while possible.
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
