// SPDX-License-Identifier: GPL-2.0

//! The map from keys to elements.
//!
//! # Memory
//!
//! All elements are in one array of 64-bit words ([`slab`]), which is allocated when the map is
//! created and is zero until it is used. An element has its key, its sums, and what its [`Layout`]
//! asks for: variables, strings, the name of a task. Only keys that may be long, such as strings of
//! varying length and stacks, are [elsewhere](key_arena), without unused room. A [`table`] of
//! 32-bit slots, twice as many as the elements, finds the element of a key.
//!
//! # Insertion
//!
//! Inserting takes no lock, in any context, NMIs included. If a key is not found, an element for it
//! is prepared, which nothing else can see, and published by one compare-and-exchange of the free
//! slot at which the search ended. So the key of each published element can be read, and no
//! insertion waits. If another insertion was faster, the search continues at that very slot; slots
//! never become free again, so the same key cannot be published twice. An element that was prepared
//! but not published is freed.
//!
//! When no element is left, or no room for a long key, a new key is only looked up, and counted as
//! a drop. This is also so while the last elements are prepared but about to be freed.
//!
//! # Counters
//!
//! Hits and drops are counted per CPU, in a map that only counts also those of each element
//! ([`sums`]). Each insertion is counted as a hit or as a drop. [`Map::count_drop`] counts a drop
//! that the map does not know of: of an event that was not inserted, or that was, but whose
//! variables could not be stored.
//!
//! # Clearing
//!
//! [`Map::clear`] closes the map, waits until no hit can be inside, wipes it, and opens it again.
//! Insertions into a closed map are drops, which are not forgotten when the map is wiped.
//!
//! # Inlining
//!
//! In this folder, the way of a hit to the element of a known key and back is `inline(always)`, as
//! the words of the element and the key are in registers then; new keys and drops, which are rare,
//! are `inline(never)`. By `scripts/bench --config inlined`, in instructions of a hit: 166 -> 148
//! for `hist_update_u32` ([`Map::count_u64`]), 2,035 -> 1,981 for `hist_reuse_trace` (buckets, the
//! cold half of the lock), 2,610 -> 2,062 for `hist_reuse_new` (results in registers).

use kernel::{
    new_mutex,
    percpu::PerCpuCounter,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Mutex, //
    }, //
};

mod buckets;
mod claim;
mod element;
mod key_arena;
mod reuse;
mod slab;
mod snapshot;
mod sort;
mod sums;
mod table;
mod vars;
mod words;

pub(crate) use self::{
    element::{
        Comm,
        Element,
        Layout, //
    },
    key_arena::are_long,
    snapshot::{
        Row,
        Snapshot, //
    },
    sort::{
        KeyOrder,
        SortBy,
        SortValue, //
    },
    sums::Fold,
    vars::{
        Busy,
        Polls,
        Reader,
        Writer, //
    },
    words::{
        cut,
        put_string,
        VarSet, //
    },
};

use self::{
    buckets::Buckets,
    element::Elements,
    reuse::Reuse,
    sums::Spread,
    table::{
        Seed,
        Table, //
    },
};
use crate::limits::{
    MAP_BITS_MAX,
    MAP_BITS_MIN, //
};

/// A map from keys to elements.
pub(crate) struct Map {
    seed: Seed,
    table: Table,
    elements: Elements,
    /// Number of words of a key, or 0 while the map is closed.
    gate: Atomic<u32>,
    hits: PerCpuCounter,
    drops: PerCpuCounter,
    /// Number of drops when the map was closed.
    drops_at_close: Atomic<u64>,
    /// Number of drops before the last wipe, which are not counted.
    drops_before: Atomic<u64>,
    /// Held while the elements are copied or wiped.
    copying: Pin<KBox<Mutex<()>>>,
    /// The hit counts of each CPU, in a map that only counts.
    spread: Option<Spread>,
    /// In place of the table, if elements can be used again.
    reuse: Option<KBox<Reuse>>,
}

/// Checks that a map can have `2^bits` elements.
///
/// # Errors
///
/// `EINVAL` if a map cannot have `2^bits` elements.
fn check_bits(bits: u32) -> Result {
    if (MAP_BITS_MIN..=MAP_BITS_MAX).contains(&bits) {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// The kind of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// That of a histogram that only counts: [spread](Map::spread).
    Spread,
    /// One [with reuse](Map::with_reuse).
    Reuse,
}

impl Map {
    /// Creates a map of `2^bits` elements.
    ///
    /// Not inlined: a map is large, and each step of its creation has it on the stack.
    #[inline(never)]
    pub(crate) fn of_kind(kind: Kind, bits: u32, layout: Layout) -> Result<Self> {
        match kind {
            Kind::Plain => Self::new(bits, layout),
            Kind::Spread => Self::new(bits, layout).map(Self::spread),
            Kind::Reuse => Self::with_reuse(bits, layout),
        }
    }

    /// Returns the largest [size](Map::size) that the map can have: with the memory for long keys
    /// that is allocated later.
    pub(crate) fn size_of(kind: Kind, bits: u32, layout: Layout) -> Result<usize> {
        check_bits(bits)?;

        let count = 1 << bits;
        let index_bits = bits.wrapping_add(1);
        let (small, index) = match kind {
            Kind::Reuse => (usize::MAX, Buckets::size_of(index_bits)),
            _ => (key_arena::SMALL, Table::size_of(index_bits)),
        };
        let elements = Elements::size_of(count, layout, small, kind == Kind::Reuse)?;
        let spread = match kind {
            Kind::Spread => Spread::size_of(count),
            _ => 0,
        };

        Ok(elements.saturating_add(index).saturating_add(spread))
    }

    /// Creates a map of `2^bits` elements.
    pub(crate) fn new(bits: u32, layout: Layout) -> Result<Self> {
        check_bits(bits)?;
        Self::with_hash(bits, layout, Seed::new(), key_arena::SMALL, None)
    }

    /// Creates a map with the given hash, in which long keys are kept as in a large map. It may be
    /// smaller than other maps.
    #[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
    pub(crate) fn with_seed(bits: u32, layout: Layout, start: u64, factor: u64) -> Result<Self> {
        Self::with_hash(bits, layout, Seed::from_numbers(start, factor), 0, None)
    }

    fn with_hash(
        bits: u32,
        layout: Layout,
        seed: Seed,
        small: usize,
        reuse: Option<Reuse>,
    ) -> Result<Self> {
        // The table is of no use then, and the map closed for what needs it.
        let slot_bits = if reuse.is_some() {
            1
        } else {
            bits.wrapping_add(1)
        };
        let map = Self {
            gate: Atomic::new(0),
            seed,
            table: Table::new(slot_bits)?,
            elements: Elements::new(1 << bits, layout, small, reuse.is_some())?,
            hits: PerCpuCounter::new()?,
            drops: PerCpuCounter::new()?,
            drops_at_close: Atomic::new(0),
            drops_before: Atomic::new(0),
            spread: None,
            copying: KBox::pin_init(new_mutex!((), "hist::Map::copying"), GFP_KERNEL)?,
            reuse: reuse
                .map(|reuse| KBox::new(reuse, GFP_KERNEL))
                .transpose()?,
        };

        map.open();
        Ok(map)
    }

    /// Enables hit counts with a part for each CPU, for a histogram that only counts. The map must
    /// be new.
    pub(crate) fn spread(self) -> Self {
        Self {
            spread: Spread::new(self.elements.slab.count()),
            ..self
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.elements.layout.parts
    }

    /// Returns the size of the memory for elements, slots, long keys and hit counts, in bytes.
    pub(crate) fn size(&self) -> usize {
        let index = match &self.reuse {
            Some(reuse) => reuse.buckets.size(),
            None => self.table.size(),
        };

        let spread = self.spread.as_ref().map_or(0, Spread::size);

        self.elements
            .size()
            .saturating_add(index)
            .saturating_add(spread)
    }

    /// Finds or claims the element of a key of one word, and counts a hit.
    ///
    /// If no element is left, keys have another size or the map is closed, this is `None` and
    /// counts a drop. `comm` is only called for a new element, to fill in the name of the task if
    /// the layout asks for it.
    #[inline(always)]
    pub(crate) fn insert_u64(&self, key: u64, comm: impl FnOnce(&mut Comm)) -> Option<Element<'_>> {
        self.hit_u64(key, false, comm)
    }

    /// Finds or claims an element as [`Map::insert_u64`] does, and adds the hit to its hit count
    /// if the histogram `only_counts`: in the part of this CPU, if the map is
    /// [spread](Map::spread).
    #[inline(always)]
    pub(crate) fn hit_u64(
        &self,
        key: u64,
        only_counts: bool,
        comm: impl FnOnce(&mut Comm),
    ) -> Option<Element<'_>> {
        let hash = self.seed.hash_word(key);

        if !self.accepts(1) {
            self.reject();
            return None;
        }
        match self.find(hash, |element| element.is_word(key)) {
            Ok(found) => Some(self.hit_again(found, only_counts)),
            Err(at) => {
                let words = self.claim_u64(key, hash, at, comm)?;

                Some(self.hit_first(words, only_counts))
            }
        }
    }

    /// Counts a hit of a key of one word that has an element already, whose first sum is the hit
    /// count. Otherwise returns `false` without counting.
    ///
    /// This is [`Map::insert_u64`] and `Element::count` in one, for the most frequent case.
    #[inline(always)]
    pub(crate) fn count_u64(&self, key: u64) -> bool {
        let hash = self.seed.hash_word(key);

        if !self.accepts(1) {
            return false;
        }
        let Elements { slab, layout, .. } = &self.elements;

        if let Some(spread) = &self.spread {
            let found = self.find_word(hash, |index| slab.has_first(index, key).then_some(index));

            if let Ok(index) = found {
                self.hits.add(1);
                spread.count(index);
            }
            return found.is_ok();
        }
        let sum = self.find_word(hash, |index| slab.word_if(index, key, layout.sums));

        if let Ok(sum) = sum {
            self.hits.add(1);
            sum.add(1, Relaxed);
        }
        sum.is_ok()
    }

    /// Finds or claims an element as [`Map::hit_u64`] does, for keys of any size.
    #[inline(always)]
    pub(crate) fn hit(
        &self,
        key: &[u64],
        only_counts: bool,
        comm: impl FnOnce(&mut Comm),
    ) -> Option<Element<'_>> {
        let hash = self.seed.hash(key);

        if !self.accepts(key.len()) {
            self.reject();
            return None;
        }
        match self.find(hash, |element| element.has_key(key)) {
            Ok(found) => Some(self.hit_again(found, only_counts)),
            Err(at) => {
                let words = self.claim(key, hash, at, comm)?;

                Some(self.hit_first(words, only_counts))
            }
        }
    }

    /// Finds or claims an element as [`Map::hit`] does, for long keys, whose words from `end` on
    /// are zeroes that may not have been written yet.
    #[inline]
    pub(crate) fn hit_long(
        &self,
        key: &mut [u64],
        end: usize,
        only_counts: bool,
        comm: impl FnOnce(&mut Comm),
    ) -> Option<Element<'_>> {
        if !self.accepts(key.len()) {
            self.reject();
            return None;
        }
        let (start, rest) = key.split_at_mut_checked(end)?;
        let trimmed = key_arena::trimmed(start);
        let hash = self.seed.hash_trimmed(trimmed);

        match self.find(hash, |element| element.has_trimmed_key(trimmed)) {
            Ok(found) => Some(self.hit_again(found, only_counts)),
            Err(at) => {
                rest.fill(0);
                let words = self.claim(key, hash, at, comm)?;

                Some(self.hit_first(words, only_counts))
            }
        }
    }

    /// Counts a hit of an element that was found.
    #[inline(always)]
    fn hit_again<'m>(
        &self,
        (index, element): (u32, Element<'m>),
        only_counts: bool,
    ) -> Element<'m> {
        self.hits.add(1);
        if only_counts {
            match &self.spread {
                Some(spread) => spread.count(index),
                None => element.count(),
            }
        }
        element
    }

    /// Counts the hit that has claimed an element, as far as [`Map::claim`] has not.
    #[inline(always)]
    fn hit_first<'m>(&'m self, words: &'m [Atomic<u64>], only_counts: bool) -> Element<'m> {
        let element = self.elements.with(words);

        if only_counts {
            element.count();
        }
        element
    }

    /// Returns the element of a key, without counting.
    #[inline(always)]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Element<'_>> {
        if !self.accepts(key.len()) {
            return None;
        }
        let found = self.find(self.seed.hash(key), |element| element.has_key(key));

        found.ok().map(|(_, element)| element)
    }

    /// Returns the element of a key as [`Map::lookup`] does, for a key of one word.
    #[inline(always)]
    pub(crate) fn lookup_u64(&self, key: u64) -> Option<Element<'_>> {
        if !self.accepts(1) {
            return None;
        }
        let found = self.find(self.seed.hash_word(key), |element| element.is_word(key));

        found.ok().map(|(_, element)| element)
    }

    /// Counts a drop for a reason outside of the map, after an insertion or in its place.
    #[inline]
    pub(crate) fn count_drop(&self) {
        self.drops.add(1);
    }

    /// Returns the number of insertions that have found or claimed an element.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.sum()
    }

    /// Returns the number of insertions that have found and claimed none.
    pub(crate) fn drops(&self) -> u64 {
        // In this order, so that a wipe in between leaves a number that is too large.
        let before = self.drops_before.load(Relaxed);

        self.drops.sum().saturating_sub(before)
    }

    /// Returns the number of elements that have a key, after a pass over all slots.
    pub(crate) fn len(&self) -> usize {
        match &self.reuse {
            Some(reuse) => reuse.buckets.elements().count(),
            None => self.table.published().count(),
        }
    }

    /// Returns the gate, which is open if the map is.
    fn gate(&self) -> &Atomic<u32> {
        self.reuse.as_ref().map_or(&self.gate, |reuse| &reuse.gate)
    }

    /// Stops hits and lookups from entering; those inside continue.
    pub(crate) fn close(&self) {
        // Each later drop counts after the wipe: it may be of a hit that finds the map closed.
        self.drops_at_close.store(self.drops.sum(), Relaxed);
        self.gate().store(0, Relaxed);
    }

    /// Opens the map for hits and lookups again.
    pub(crate) fn open(&self) {
        // Pairs with the load in `accepts`: an insertion that is accepted sees that the map was
        // wiped.
        //
        // CAST: A key is not that large: its elements would not fit in memory.
        self.gate()
            .store(self.elements.layout.parts.key_words as u32, Release);
    }

    /// Empties the map. `synchronize` must wait for all hits that have begun.
    ///
    /// Until this returns, lookups find nothing, and hits are drops.
    pub(crate) fn clear(&self, synchronize: impl FnOnce()) {
        self.close();
        synchronize();
        self.wipe();
        self.open();
    }

    /// Empties the map.
    ///
    /// It must be closed, and nothing may be inside or have an element: a concurrent insertion
    /// breaks no memory, but may leave an element that is counted wrongly.
    pub(crate) fn wipe(&self) {
        let _guard = self.copying.lock();

        self.table.wipe();
        if let Some(reuse) = &self.reuse {
            reuse.wipe();
        }
        self.elements.wipe();
        if let Some(spread) = &self.spread {
            spread.wipe();
        }
        self.hits.reset();
        self.drops_before
            .store(self.drops_at_close.load(Relaxed), Relaxed);
    }

    /// Returns `true` if the map is open to keys of this size.
    #[inline]
    fn accepts(&self, key_words: usize) -> bool {
        // Pairs with the store in `open`.
        //
        // CAST: A `usize` has 32 bits at least.
        key_words != 0 && self.gate.load(Acquire) as usize == key_words
    }

    /// Counts a drop of an insertion that may not enter.
    ///
    /// The callers return `None` themselves: returned from here, their result would be in memory.
    #[cold]
    #[inline(never)]
    fn reject(&self) {
        self.drops.add(1);
    }

    /// Returns the index of the element with the key that has this hash, and the element, or the
    /// free slot at which the search ended.
    #[inline(always)]
    fn find(
        &self,
        hash: u64,
        is_it: impl Fn(Element<'_>) -> bool,
    ) -> Result<(u32, Element<'_>), usize> {
        self.find_word(hash, |index| {
            let element = self.elements.get(index)?;

            is_it(element).then_some((index, element))
        })
    }

    /// Calls `it` for the elements whose keys have this hash, until it returns a value. Returns
    /// that, or the free slot at which the search ended.
    #[inline(always)]
    fn find_word<T>(&self, hash: u64, it: impl Fn(u32) -> Option<T>) -> Result<T, usize> {
        let mut at = self.table.start(hash);

        // The table has twice as many slots as elements, so one is free.
        loop {
            let slot = self.table.load(at);

            if slot.is_free() {
                return Err(at);
            }
            if let Some(found) = slot.index_if(hash).and_then(&it) {
                return Ok(found);
            }
            at = self.table.after(at);
        }
    }
}
