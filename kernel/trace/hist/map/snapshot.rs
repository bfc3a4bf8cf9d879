// SPDX-License-Identifier: GPL-2.0

//! A copy of all elements of a map, which does not change any more.

use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    element::{
        Element,
        COMM_WORDS, //
    },
    layout::{
        Shape,
        STRING_WORDS, //
    },
    sort::{
        self,
        SortBy, //
    },
    vars::LockWord,
    Map, //
};

/// How often an element whose variables change all the time is copied again. A copy takes less than
/// the hits that change them.
const ROUNDS: u32 = 1 << 12;

/// A copy of the elements of a map.
pub(crate) struct Snapshot {
    shape: Shape,
    /// The first string of the map that is here.
    first_string: usize,
    /// The words of the elements, one element after the other.
    words: KVVec<u64>,
    /// The rows, in the order in which they are shown.
    order: KVVec<u32>,
}

impl Snapshot {
    /// Copies the elements of a map that is not being wiped.
    ///
    /// An element that is published meanwhile may be in it or not. All others are.
    pub(super) fn new(map: &Map) -> Result<Self> {
        let shape = map.shape.of_copy()?;
        // Which elements there are is found out before there is room for them, and only once: a
        // new one must not get the room of an old one.
        let mut order = KVVec::with_capacity(map.len(), GFP_KERNEL)?;

        for index in map.table.published() {
            order.push(index, GFP_KERNEL)?;
        }
        let size = shape.words.checked_mul(order.len()).ok_or(ENOMEM)?;
        let mut words = KVVec::zeroed(size, GFP_KERNEL)?;
        let copies = words.chunks_exact_mut(shape.words.max(1));

        for ((row, copy), index) in (0..).zip(copies).zip(order.iter_mut()) {
            if let Some(element) = map.element(*index) {
                copy_element(element, &shape, copy);
            }
            *index = row;
        }
        Ok(Self {
            shape,
            first_string: map.shape.layout.first_shown,
            words,
            order,
        })
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// A row, in the order that [`Snapshot::sort`] has made.
    pub(crate) fn row(&self, at: usize) -> Option<Row<'_>> {
        self.order.get(at).and_then(|row| self.row_at(*row))
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.order.iter().filter_map(|row| self.row_at(*row))
    }

    /// Sorts the rows by the first of `by`, those that are equal by the second, and so on, and
    /// finally by the words of their keys.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the rows then stay as they were.
    pub(crate) fn sort(&mut self, by: &[SortBy]) -> Result {
        sort::sort(&self.shape, &self.words, &mut self.order, by)
    }

    fn row_at(&self, row: u32) -> Option<Row<'_>> {
        let start = self.shape.words.wrapping_mul(row as usize);

        Some(Row {
            shape: &self.shape,
            first_string: self.first_string,
            words: self
                .words
                .get(start..start.wrapping_add(self.shape.words))?,
        })
    }
}

/// Copies an element to what has this shape.
fn copy_element(element: Element<'_>, shape: &Shape, copy: &mut [u64]) {
    let Some((key, rest)) = copy.split_at_mut_checked(shape.sums) else {
        return;
    };
    let mut copy_words = || {
        for (to, from) in rest.iter_mut().zip(element.copied()) {
            *to = from.load(Relaxed);
        }
    };

    element.copy_key(key);
    let Some(lock) = shape.lock else {
        return copy_words();
    };

    let word = (0..ROUNDS).find_map(|_| {
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

/// The copy of an element.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    shape: &'a Shape,
    first_string: usize,
    words: &'a [u64],
}

impl<'a> Row<'a> {
    /// The key.
    pub(crate) fn key(&self) -> &'a [u64] {
        self.part(0, self.shape.layout.key_words)
    }

    /// A sum.
    pub(crate) fn sum(&self, sum: usize) -> u64 {
        self.word(self.shape.sum(sum))
    }

    /// A variable, if it is set.
    pub(crate) fn var(&self, var: usize) -> Option<u64> {
        let at = self.shape.var(var)?;

        LockWord(self.word(self.shape.lock))
            .is_marked(var)
            .then(|| self.word(Some(at)))
    }

    /// A string or a stack, if it is one that is shown.
    pub(crate) fn string(&self, slot: usize) -> &'a [u64] {
        let slot = slot.checked_sub(self.first_string);

        match slot.and_then(|slot| self.shape.string(slot)) {
            Some(start) => self.part(start, STRING_WORDS),
            None => &[],
        }
    }

    /// The name of the task that had the first hit: 16 bytes, or none.
    pub(crate) fn comm(&self) -> &'a [u8] {
        if self.shape.layout.comm {
            self.part(self.shape.comm, COMM_WORDS).as_bytes()
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
