// SPDX-License-Identifier: GPL-2.0

//! A copy of all elements of a map, which no longer changes.

use core::mem;
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Relaxed, //
    },
};

use super::{
    element::{
        Element,
        ElementLayout,
        Elements, //
    },
    sort::{
        self,
        SortBy, //
    },
    sums::Fold,
    words::LockWord,
    Map, //
};
use crate::limits::{
    COMM_WORDS,
    STRING_WORDS, //
};

/// Number of attempts to copy an element whose variables change all the time. A copy takes less
/// than the hits that change them.
const COPY_RETRIES: u32 = 1 << 12;

/// A copy of the elements of a map.
pub(crate) struct Snapshot {
    layout: ElementLayout,
    /// The first string of the map that is here.
    first_string: usize,
    /// The words of the elements, one element after the other.
    words: KVVec<u64>,
    /// The rows, in the order in which they are shown.
    order: KVVec<u32>,
}

/// Number of elements that [`Room`] has place to note twice.
const NOTED_TWICE: usize = 64;

/// Memory for a copy, which is allocated before the map is locked against being wiped.
struct Room {
    layout: ElementLayout,
    /// Number of elements whose copies fit.
    count: usize,
    words: KVVec<u64>,
    /// The elements that are to be copied.
    noted: KVVec<u32>,
}

impl Room {
    /// Allocates room for the copies of `count` elements. May sleep.
    fn new(elements: &Elements, count: usize) -> Result<Self> {
        let layout = elements.layout.of_copy()?;
        let size = layout.words.checked_mul(count).ok_or(ENOMEM)?;

        Ok(Self {
            words: KVVec::zeroed(size, GFP_KERNEL)?,
            noted: KVVec::with_capacity(count.saturating_add(NOTED_TWICE), GFP_KERNEL)?,
            count,
            layout,
        })
    }

    /// Notes which elements are to be copied, in place of those noted before. Returns `false` if
    /// the copies of all of them do not fit.
    fn note(&mut self, elements: impl Iterator<Item = u32>) -> bool {
        self.noted.clear();
        for index in elements {
            if self.noted.push_within_capacity(index).is_err() {
                return false;
            }
        }
        self.noted.len() <= self.count
    }

    /// Notes elements as [`Room::note`] does; those that are in `elements` twice, as they change
    /// their keys concurrently, are noted once.
    fn note_once(&mut self, elements: impl Iterator<Item = u32>) -> bool {
        self.noted.clear();
        for index in elements {
            if self.noted.push_within_capacity(index).is_err() {
                self.deduplicate();
                if self.noted.push_within_capacity(index).is_err() {
                    return false;
                }
            }
        }
        self.deduplicate();
        self.noted.len() <= self.count
    }

    fn deduplicate(&mut self) {
        let mut last = None;

        self.noted.sort_unstable();
        self.noted
            .retain(|index| last.replace(*index) != Some(*index));
    }
}

impl Snapshot {
    /// Copies the elements of a map that is not being wiped, each of them with `copy`, which is
    /// passed its index. An element for which that returns `false` is left out.
    ///
    /// An element that is published concurrently may be in it or not. All others are. `order` has
    /// the indices of the elements: the indices are collected before the copies are allocated, and
    /// only once, as a new element must not get the room of an old one.
    fn new(
        elements: &Elements,
        room: Room,
        copy: impl Fn(u32, Element<'_>, &ElementLayout, &mut [u64]) -> bool,
    ) -> Self {
        let Room {
            layout,
            mut words,
            noted: mut order,
            ..
        } = room;
        let copies = words.chunks_exact_mut(layout.words.max(1));

        let mut copies = (0..).zip(copies);

        order.retain(|index| {
            let (Some((row, to)), Some(element)) = (copies.next(), elements.get(*index)) else {
                return false;
            };

            copy(mem::replace(index, row), element, &layout, to)
        });
        Self {
            layout,
            first_string: elements.layout.parts.first_shown,
            words,
            order,
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns a row, in the order of [`Snapshot::sort`].
    pub(crate) fn row(&self, at: usize) -> Option<Row<'_>> {
        self.order.get(at).and_then(|row| self.row_at(*row))
    }

    /// Returns all rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.order.iter().filter_map(|row| self.row_at(*row))
    }

    /// Sorts the rows by the first of `by`, equal rows by the second, and so on, and finally by
    /// the words of their keys.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the rows then stay as they were.
    pub(crate) fn sort(&mut self, by: &[SortBy]) -> Result {
        sort::sort(&self.layout, &self.words, &mut self.order, by)
    }

    /// Returns the numbers of all rows, sorted as by [`Snapshot::sort`].
    pub(crate) fn sorted_by(&self, by: &[SortBy]) -> Result<KVVec<u32>> {
        let mut order = KVVec::with_capacity(self.order.len(), GFP_KERNEL)?;

        for row in self.order.iter() {
            order.push(*row, GFP_KERNEL)?;
        }
        sort::sort(&self.layout, &self.words, &mut order, by)?;
        Ok(order)
    }

    /// Replaces the words that hits have changed by the numbers to show. The hit count, which
    /// precedes them, is neither in `folds` nor changed.
    pub(crate) fn show_folds(&mut self, folds: &[Fold]) {
        self.show(folds, Fold::shown);
    }

    /// Replaces the words of extremes by the numbers to show. An average stays a sum.
    pub(crate) fn show_extremes(&mut self, folds: &[Fold]) {
        self.show(folds, |fold, word, hits| {
            if fold.is_extreme() {
                fold.shown(word, hits)
            } else {
                word
            }
        });
    }

    fn show(&mut self, folds: &[Fold], shown: impl Fn(Fold, u64, u64) -> u64) {
        if folds.iter().all(|fold| *fold == Fold::Sum) {
            return;
        }

        let sums = self.layout.sums;

        for row in self.words.chunks_exact_mut(self.layout.words.max(1)) {
            let Some([hits, sums @ ..]) = row.get_mut(sums..) else {
                return;
            };

            for (sum, fold) in sums.iter_mut().zip(folds) {
                *sum = shown(*fold, *sum, *hits);
            }
        }
    }

    /// Returns the row of a number.
    pub(crate) fn row_at(&self, row: u32) -> Option<Row<'_>> {
        let start = self.layout.words.wrapping_mul(row as usize);

        Some(Row {
            layout: &self.layout,
            first_string: self.first_string,
            words: self
                .words
                .get(start..start.wrapping_add(self.layout.words))?,
        })
    }
}

impl Map {
    /// Copies all elements that have a key. May sleep.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.copy(None)
    }

    /// Copies all elements that have a key as [`Map::snapshot`] does, and sets the numbers that
    /// are added up in them to zero: their hit counts, and the sums that are no extremes by
    /// `folds`. Each hit is in one such copy.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; nothing was exchanged then.
    pub(crate) fn take(&self, folds: &[Fold]) -> Result<Snapshot> {
        self.copy(Some(folds))
    }

    /// Copies all elements. If `taken` describes the sums, they are taken.
    fn copy(&self, taken: Option<&[Fold]>) -> Result<Snapshot> {
        let take = |element: Element<'_>, layout: &ElementLayout, copy: &mut [u64]| {
            if let Some(folds) = taken {
                element.take(folds, copy.get_mut(layout.sums..).unwrap_or_default());
            }
        };
        // Nothing is allocated while a wipe has to wait. Elements that are published during the
        // allocation have some room.
        let most = self.elements.slab.count() as usize;
        let count = self.len();
        let mut room = Room::new(
            &self.elements,
            count.saturating_add(count / 8 + 64).min(most),
        )?;
        let mut guard = self.copying.lock();

        while !self.note_all(&mut room) {
            drop(guard);
            room = Room::new(&self.elements, most)?;
            guard = self.copying.lock();
        }
        if let Some(reuse) = &self.reuse {
            return Ok(Snapshot::new(
                &self.elements,
                room,
                |index, element, layout, copy| {
                    let _pin = reuse.pin(index);
                    let is_there = self.copy_live(reuse, index, element, layout, copy);

                    if is_there {
                        take(element, layout, copy);
                    }
                    is_there
                },
            ));
        }
        Ok(Snapshot::new(
            &self.elements,
            room,
            |index, element, layout, copy| {
                copy_element(element, layout, copy);
                take(element, layout, copy);
                if let (Some(spread), Some(hits)) = (&self.spread, copy.get_mut(layout.sums)) {
                    spread.add_to(hits, index, element, taken.is_some());
                }
                true
            },
        ))
    }

    /// Notes all elements that have a key. Returns `false` if they do not fit, which room for all
    /// elements of the map precludes.
    fn note_all(&self, room: &mut Room) -> bool {
        match &self.reuse {
            Some(reuse) => room.note_once(reuse.buckets.elements()),
            None => room.note(self.table.published()),
        }
    }
}

/// Copies an element to words of this layout.
fn copy_element(element: Element<'_>, layout: &ElementLayout, copy: &mut [u64]) {
    let Some((key, rest)) = copy.split_at_mut_checked(layout.sums) else {
        return;
    };
    let mut copy_words = || {
        let mut words = rest.iter_mut().zip(element.copied());

        // Pairs with the counting in `Element::fold`.
        if let Some((hits, from)) = words.next() {
            *hits = from.load(Acquire);
        }
        for (to, from) in words {
            *to = from.load(Relaxed);
        }
    };

    element.copy_key(key);
    let Some(lock) = layout.lock() else {
        return copy_words();
    };

    let word = (0..COPY_RETRIES).find_map(|_| {
        element.read(|vars| {
            copy_words();
            vars.lock_word()
        })
    });
    if word.is_none() {
        copy_words();
    }

    // If variables do not belong together, none of them is set.
    if let Some(copy) = copy.get_mut(lock) {
        *copy = word.map_or(0, |word| word.0);
    }
}

/// Copies an element that may be reused for another key at the same time. Returns `false` if it is
/// unused, or written to all the time.
pub(super) fn copy_in_use(element: Element<'_>, layout: &ElementLayout, copy: &mut [u64]) -> bool {
    let Some(lock) = layout.lock() else {
        return false;
    };

    for _ in 0..COPY_RETRIES {
        if element.in_use().is_none() {
            return false;
        }
        let word = element.read(|vars| {
            copy.fill(0);
            element.copy_key(copy.get_mut(..layout.sums).unwrap_or_default());
            for (to, from) in copy.iter_mut().skip(layout.sums).zip(element.copied()) {
                *to = from.load(Relaxed);
            }
            vars.lock_word()
        });

        if let (Some(word), Some(to)) = (word, copy.get_mut(lock)) {
            *to = word.0;
            return true;
        }
    }
    false
}

/// Accessors of the unit tests.
#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
impl Snapshot {
    /// Returns the size of the copies, in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// The copy of an element.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    layout: &'a ElementLayout,
    first_string: usize,
    words: &'a [u64],
}

impl<'a> Row<'a> {
    /// Returns the key.
    pub(crate) fn key(&self) -> &'a [u64] {
        self.part(0, self.layout.parts.key_words)
    }

    /// Returns a sum.
    pub(crate) fn sum(&self, sum: usize) -> u64 {
        self.word(self.layout.sum(sum))
    }

    /// Returns `true` if the row has no hit, and nothing was added to the sums that are no
    /// extremes by `folds`.
    pub(crate) fn is_unused(&self, folds: &[Fold]) -> bool {
        let mut sums = folds.iter().enumerate();

        self.sum(0) == 0
            && sums.all(|(i, fold)| fold.is_extreme() || self.sum(i.wrapping_add(1)) == 0)
    }

    /// Returns a variable, if it is set.
    pub(crate) fn var(&self, var: usize) -> Option<u64> {
        let at = self.layout.var(var)?;

        LockWord(self.word(self.layout.lock()))
            .is_marked(var)
            .then(|| self.word(Some(at)))
    }

    /// Returns a string or a stack, if it is one that is shown.
    pub(crate) fn string(&self, slot: usize) -> &'a [u64] {
        let slot = slot.checked_sub(self.first_string);

        match slot.and_then(|slot| self.layout.string(slot)) {
            Some(start) => self.part(start, STRING_WORDS),
            None => &[],
        }
    }

    /// Returns the name of the task that had the first hit, as 16 bytes, or none.
    pub(crate) fn comm(&self) -> &'a [u8] {
        if self.layout.parts.comm {
            self.part(self.layout.comm, COMM_WORDS).as_bytes()
        } else {
            &[]
        }
    }

    fn word(&self, at: Option<usize>) -> u64 {
        at.and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }

    fn part(&self, start: usize, len: usize) -> &'a [u64] {
        self.words
            .get(start..start.wrapping_add(len))
            .unwrap_or(&[])
    }
}
