// SPDX-License-Identifier: GPL-2.0

//! Sorting the rows of a snapshot.
//!
//! Rows that are equal in all sort criteria have the order of the C implementation, so that a
//! script gets the lines that it got from C. It results from the steps by which C sorts:
//!
//! 1. All rows are sorted by the bytes of their keys.
//! 2. They are sorted by the first criterion with `sort()`, a heap sort that is not stable.
//! 3. Each run of rows that are equal in it is sorted by the second criterion in the same way.
//!
//! The result of `sort()` depends on the order in which the rows were only if some are equal. So
//! the first step is left out if no two rows have the same number as their first criterion, and
//! instead of the heap sort the rows are merged, which is faster.
//!
//! The numbers compared are copies, which do not change.
//!
//! C header: [`include/linux/sort.h`](srctree/include/linux/sort.h)

use core::cmp::Ordering;
use kernel::prelude::*;

use super::{
    element::ElementLayout,
    words::cut, //
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
    /// The number that it is sorted by.
    number: u64,
    row: u32,
    /// It is the first of a run: it differs from the entry in front of it.
    first: bool,
}

/// The values that rows are sorted by.
#[derive(Clone, Copy)]
enum Values {
    /// Numbers.
    Numbers { word: usize, signed: bool },
    /// Strings of so many words.
    Strings { word: usize, words: usize },
    /// None: all rows are equal.
    Equal,
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
        let mut criteria = by
            .iter()
            .filter_map(|by| Some((Values::new(layout, by.value)?, by.descending)))
            .peekable();

        if let Some((Values::Numbers { word, signed }, descending)) = criteria.peek() {
            let flip = flip(*signed, *descending);

            if !self.merge_runs(*word, |number| number ^ flip) {
                return;
            }
            self.join_runs();
        }
        for word in 0..key_words {
            // The order of the bytes.
            if !self.merge_runs(word, u64::to_be) {
                break;
            }
        }
        self.join_runs();
        for (values, descending) in criteria {
            if !self.heap_runs(values, descending) {
                break;
            }
        }
    }

    /// Joins all entries to one run.
    fn join_runs(&mut self) {
        for entry in self.entries.iter_mut() {
            entry.first = false;
        }
    }

    /// Sorts each run by `f` of a word of its rows, and returns `true` if equal rows are left.
    /// Their order is undefined.
    fn merge_runs(&mut self, word: usize, f: impl Fn(u64) -> u64) -> bool {
        let mut rest: &mut [Entry] = &mut self.entries;
        let mut ties = false;

        while let Some((run, others)) = split_run(core::mem::take(&mut rest)) {
            rest = others;
            if run.len() < 2 {
                continue;
            }
            set_numbers(run, self.words, self.row_words, word, &f);
            sort_run(run, &mut self.scratch);
            ties |= mark_runs(run, |a, b| a.number == b.number);
        }
        ties
    }

    /// Sorts each run as C does, and returns `true` if equal rows are left.
    fn heap_runs(&mut self, values: Values, descending: bool) -> bool {
        let (words, row_words) = (self.words, self.row_words);
        let mut rest: &mut [Entry] = &mut self.entries;
        let mut ties = false;

        while let Some((run, others)) = split_run(core::mem::take(&mut rest)) {
            rest = others;
            if run.len() < 2 {
                continue;
            }
            ties |= match values {
                Values::Equal => {
                    heap_sort(run, |_, _| Ordering::Equal, true);
                    true
                }
                Values::Numbers { word, signed } => {
                    let flip = flip(signed, descending);

                    set_numbers(run, words, row_words, word, |number| number ^ flip);
                    let number = run.first().map_or(0, |entry| entry.number);
                    let is_flat = run.iter().all(|entry| entry.number == number);

                    heap_sort(run, |a, b| a.number.cmp(&b.number), is_flat);
                    mark_runs(run, |a, b| a.number == b.number)
                }
                Values::Strings { word, words: size } => {
                    let string = |entry: &Entry| {
                        let start = row_words
                            .wrapping_mul(entry.row as usize)
                            .wrapping_add(word);

                        words.get(start..start.wrapping_add(size)).unwrap_or(&[])
                    };
                    let compare = |a: &Entry, b: &Entry| {
                        let order = compare_strings(string(a), string(b));

                        if descending {
                            order.reverse()
                        } else {
                            order
                        }
                    };

                    heap_sort(run, compare, false);
                    mark_runs(run, |a, b| compare(a, b).is_eq())
                }
            };
        }
        ties
    }
}

impl Values {
    /// Returns the values of a criterion, or `None` if the rows do not have them.
    fn new(layout: &ElementLayout, value: SortValue) -> Option<Self> {
        let key_words = layout.parts.key_words;

        Some(match value {
            SortValue::Sum { index, signed } => Self::Numbers {
                word: layout.sum(index)?,
                signed,
            },
            SortValue::Key { word, .. } if word >= key_words => return None,
            SortValue::Key { word, order } => match order {
                KeyOrder::Unsigned => Self::Numbers {
                    word,
                    signed: false,
                },
                KeyOrder::Signed => Self::Numbers { word, signed: true },
                KeyOrder::Str { words } => Self::Strings {
                    word,
                    words: words.min(key_words.wrapping_sub(word)),
                },
                KeyOrder::None => Self::Equal,
            },
        })
    }
}

/// Returns the bits to flip in numbers for the requested order, if they are then compared as
/// unsigned numbers.
fn flip(signed: bool, descending: bool) -> u64 {
    let sign = if signed { 1 << 63 } else { 0 };

    if descending {
        !sign
    } else {
        sign
    }
}

/// Compares strings up to their NUL, or to their end.
fn compare_strings(a: &[u64], b: &[u64]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let (a, is_last) = cut(a.to_ne_bytes());
        // Without what follows the NUL, and in the order of the bytes.
        let order = a.to_be().cmp(&cut(b.to_ne_bytes()).0.to_be());

        if is_last || order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Splits entries after their first run. Returns `None` if no entries are left.
fn split_run(entries: &mut [Entry]) -> Option<(&mut [Entry], &mut [Entry])> {
    let length = entries
        .iter()
        .skip(1)
        .position(|entry| entry.first)
        .map_or(entries.len(), |n| n.wrapping_add(1));

    entries
        .split_at_mut_checked(length)
        .filter(|(run, _)| !run.is_empty())
}

/// Sets the numbers of the entries of a run to `f` of a word of their rows.
fn set_numbers(
    run: &mut [Entry],
    words: &[u64],
    row_words: usize,
    word: usize,
    f: impl Fn(u64) -> u64,
) {
    for entry in run {
        let start = row_words.wrapping_mul(entry.row as usize);

        entry.number = f(words.get(start.wrapping_add(word)).copied().unwrap_or(0));
    }
}

/// Marks the entries of a sorted run that differ from their predecessor, and the first one.
/// Returns `true` if others are left.
fn mark_runs(run: &mut [Entry], is_equal: impl Fn(&Entry, &Entry) -> bool) -> bool {
    let mut ties = false;
    let mut before = None;

    for entry in run {
        let is_tie = before.is_some_and(|before| is_equal(&before, entry));

        entry.first = !is_tie;
        ties |= is_tie;
        before = Some(*entry);
    }
    ties
}

/// Sorts entries with the comparisons and exchanges of `sort()` in `lib/sort.c`, which decide on
/// the order of equal entries. With `is_flat` all are equal, and none moves in the heap.
fn heap_sort(entries: &mut [Entry], compare: impl Fn(&Entry, &Entry) -> Ordering, is_flat: bool) {
    let compare = |entries: &[Entry], a: usize, b: usize| match (entries.get(a), entries.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    };
    // The entries below `unordered` do not belong to the heap yet, those from `len` on are sorted.
    let mut len = entries.len();
    let mut unordered = len / 2;
    let mut second = 0;

    loop {
        if unordered > 0 {
            // From the larger child of the root to the root itself, after two were taken out.
            unordered = unordered.saturating_sub(1 << second);
        } else if len > 3 {
            // The root is the largest one, and the larger of its children the next.
            len = len.wrapping_sub(1);
            swap(entries, 0, len);
            second = u32::from(compare(entries, 1, 2).is_le());
            unordered = 1 << second;
            len = len.wrapping_sub(1);
            swap(entries, unordered, len);
        } else {
            break;
        }
        if is_flat {
            continue;
        }

        // The path of the larger children, down to a leaf.
        let mut path = unordered;
        loop {
            let left = path.wrapping_mul(2).wrapping_add(1);
            let right = left.wrapping_add(1);

            if right < len {
                path = if compare(entries, left, right).is_gt() {
                    left
                } else {
                    right
                };
                continue;
            }
            if right == len {
                path = left;
            }
            break;
        }
        // Back to where the entry belongs.
        while path != unordered && compare(entries, unordered, path).is_ge() {
            path = parent(path);
        }
        // It moves there, and those of the path move up.
        let place = path;
        while path != unordered {
            path = parent(path);
            swap(entries, path, place);
        }
    }

    len = len.saturating_sub(1);
    swap(entries, 0, len);
    if len == 2 && compare(entries, 0, 1).is_gt() {
        swap(entries, 0, 1);
    }
}

/// Returns the parent of an entry of the heap.
fn parent(at: usize) -> usize {
    at.wrapping_sub(1) / 2
}

/// Exchanges two entries.
fn swap(entries: &mut [Entry], a: usize, b: usize) {
    if a < entries.len() && b < entries.len() {
        entries.swap(a, b);
    }
}

/// Sorts a run by its numbers, by merging sorted parts of it, which are twice as long each time.
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
    let ends = left.last().zip(right.first());

    // Mostly so, as rows in the order of their keys consist of such parts.
    if ends.is_none_or(|(left, right)| left.number <= right.number) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
        return;
    }

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
