// SPDX-License-Identifier: GPL-2.0

//! Sorting the rows of a snapshot.
//!
//! What the rows are sorted by is a sequence of 64-bit numbers, made such that their order as
//! unsigned numbers is the one that is wanted. All rows are sorted by the first of them. In what
//! follows, those of each run of equal rows are sorted by the next one, until no row has an equal,
//! or there are no more numbers. As the words of the keys come last, the order is total.
//!
//! Nothing here compares what may change, or depends on the order that the rows had.

use kernel::prelude::*;

use super::{
    element::ElementLayout,
    vars::cut, //
};

/// The order of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyOrder {
    /// As an unsigned number.
    Unsigned,
    /// As a signed number.
    Signed,
    /// As a string of so many words, which ends at its first NUL.
    Str { words: usize },
    /// Not at all: such keys are equal.
    None,
}

/// A sort criterion of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortValue {
    /// A sum.
    Sum { index: usize, signed: bool },
    /// A key that begins at a word of the whole key.
    Key { word: usize, order: KeyOrder },
}

/// A sort criterion of rows, and its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SortBy {
    pub(crate) value: SortValue,
    pub(crate) descending: bool,
}

/// A row, while it is sorted.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Its current sort criterion.
    number: u64,
    row: u32,
    /// It is the first of a run: it differs from the entry in front of it.
    first: bool,
}

/// The part of a row that a level of the sort uses.
#[derive(Clone, Copy)]
enum Part {
    Unsigned,
    Signed,
    /// The word of a string that begins so many words before it.
    Str(usize),
}

struct Sorter<'a> {
    /// The words of all rows, and how many each of them has.
    words: &'a [u64],
    row_words: usize,
    entries: KVVec<Entry>,
    scratch: KVVec<Entry>,
}

/// Sorts `order`, which has the numbers of the rows in `words`.
pub(super) fn sort(
    layout: &ElementLayout,
    words: &[u64],
    order: &mut [u32],
    by: &[SortBy],
) -> Result {
    if order.len() < 2 {
        return Ok(());
    }

    let mut entries = KVVec::with_capacity(order.len(), GFP_KERNEL)?;

    for row in order.iter() {
        let entry = Entry {
            row: *row,
            ..Default::default()
        };

        entries.push(entry, GFP_KERNEL)?;
    }

    let mut sorter = Sorter {
        words,
        row_words: layout.words,
        entries,
        scratch: KVVec::from_elem(Entry::default(), order.len(), GFP_KERNEL)?,
    };

    sorter.sort(layout, by);
    for (to, entry) in order.iter_mut().zip(&sorter.entries) {
        *to = entry.row;
    }
    Ok(())
}

impl Sorter<'_> {
    /// Sorts the entries.
    fn sort(&mut self, layout: &ElementLayout, by: &[SortBy]) {
        let key_words = layout.parts.key_words;

        for by in by {
            let (word, part) = match by.value {
                SortValue::Sum { index, signed } => match layout.sum(index) {
                    Some(word) => (word, Part::number(signed)),
                    None => continue,
                },
                SortValue::Key { word, .. } if word >= key_words => continue,
                SortValue::Key { word, order } => match order {
                    KeyOrder::Unsigned => (word, Part::Unsigned),
                    KeyOrder::Signed => (word, Part::Signed),
                    KeyOrder::None => continue,
                    KeyOrder::Str { words } => {
                        for nth in 0..words.min(key_words.wrapping_sub(word)) {
                            let at = word.wrapping_add(nth);

                            if !self.level(at, Part::Str(nth), by.descending) {
                                return;
                            }
                        }
                        continue;
                    }
                },
            };

            if !self.level(word, part, by.descending) {
                return;
            }
        }
        for word in 0..key_words {
            if !self.level(word, Part::Unsigned, false) {
                break;
            }
        }
    }

    /// Sorts each run by a part of its rows, and returns `true` if equal rows are left.
    fn level(&mut self, word: usize, part: Part, descending: bool) -> bool {
        let mut rest: &mut [Entry] = &mut self.entries;
        let mut ties = false;

        while !rest.is_empty() {
            let length = rest
                .iter()
                .skip(1)
                .position(|entry| entry.first)
                .map_or(rest.len(), |n| n.wrapping_add(1));
            let Some((run, others)) = rest.split_at_mut_checked(length) else {
                break;
            };

            rest = others;
            if run.len() < 2 {
                continue;
            }

            for entry in run.iter_mut() {
                let start = self.row_words.wrapping_mul(entry.row as usize);
                let number = part.number_of(self.words, start.wrapping_add(word));

                entry.number = if descending { !number } else { number };
                entry.first = false;
            }
            sort_run(run, &mut self.scratch);
            ties |= mark_runs(run);
        }
        ties
    }
}

impl Part {
    fn number(signed: bool) -> Self {
        if signed {
            Self::Signed
        } else {
            Self::Unsigned
        }
    }

    /// The number that stands for this part of a row.
    #[inline]
    fn number_of(self, words: &[u64], at: usize) -> u64 {
        let word = words.get(at).copied().unwrap_or(0);

        match self {
            Self::Unsigned => word,
            Self::Signed => word ^ (1 << 63),
            Self::Str(before) => {
                let mut words = words.get(at.wrapping_sub(before)..at).unwrap_or(&[]).iter();

                if words.any(|word| cut(word.to_ne_bytes()).1) {
                    return 0;
                }
                // In the order of the bytes, without what follows the NUL.
                cut(word.to_ne_bytes()).0.to_be()
            }
        }
    }
}

/// Marks the entries of a sorted run that differ from their predecessor, the first one included.
/// Returns `true` if others are left.
fn mark_runs(run: &mut [Entry]) -> bool {
    let mut ties = false;
    let mut before = None;

    for entry in run {
        entry.first = before != Some(entry.number);
        ties |= !entry.first;
        before = Some(entry.number);
    }
    ties
}

/// Sorts a run by its numbers: merges sorted parts of it, which are twice as long each time.
fn sort_run(run: &mut [Entry], scratch: &mut [Entry]) {
    if run.is_sorted_by_key(|entry| entry.number) {
        return;
    }

    let Some(scratch) = scratch.get_mut(..run.len()) else {
        return;
    };
    let (mut from, mut to) = (run, scratch);
    let mut in_scratch = false;
    let mut length = 1usize;

    while length < from.len() {
        let both = length.saturating_mul(2);

        for (from, to) in from.chunks(both).zip(to.chunks_mut(both)) {
            merge(from, length, to);
        }
        (from, to) = (to, from);
        in_scratch = !in_scratch;
        length = both;
    }
    if in_scratch {
        to.copy_from_slice(from);
    }
}

/// Merges two sorted parts, of which the first has `length` entries, or all.
fn merge(from: &[Entry], length: usize, to: &mut [Entry]) {
    let (left, right) = from.split_at_checked(length).unwrap_or((from, &[]));
    let (mut left, mut right) = (left.iter(), right.iter());

    for to in to {
        let next = match (left.as_slice().first(), right.as_slice().first()) {
            (Some(a), Some(b)) if b.number < a.number => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };

        if let Some(entry) = next {
            *to = *entry;
        }
    }
}
