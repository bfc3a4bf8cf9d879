// SPDX-License-Identifier: GPL-2.0

//! Sorting the rows of a snapshot.
//!
//! What the rows are sorted by is a sequence of 64-bit numbers, made such that their order as
//! unsigned numbers is the one that is wanted. All rows are sorted by the first of them. In what
//! follows, those of each run of equal rows are sorted by the next one, until no row has an equal,
//! or there are no more numbers. As the words of the keys come last, the order is total.
//!
//! Large runs are sorted byte by byte, from the lowest one up, skipping those in which all rows of
//! the run agree; small ones by insertion. Nothing here is recursive, compares what may change, or
//! depends on the order that the rows had.

use kernel::prelude::*;

use super::layout::Shape;

/// How a key is ordered.
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

/// What rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortValue {
    /// A sum.
    Sum { index: usize, signed: bool },
    /// A key that begins at a word of the whole key.
    Key { word: usize, order: KeyOrder },
}

/// What rows are sorted by, and in which direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SortBy {
    pub(crate) value: SortValue,
    pub(crate) descending: bool,
}

/// Runs of at most so many rows are sorted by insertion.
const FEW: usize = 32;

/// A row, while it is sorted.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// What it is sorted by at the moment.
    number: u64,
    row: u32,
    /// It is the first of a run: it differs from the entry in front of it.
    first: bool,
}

/// How many rows have each value of a byte, and later where the next one goes.
type Counts = [u32; 256];

/// What a level of the sort takes from a row.
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
    counts: KBox<Counts>,
}

/// Sorts `order`, which has the numbers of the rows in `words`.
pub(super) fn sort(shape: &Shape, words: &[u64], order: &mut [u32], by: &[SortBy]) -> Result {
    if order.len() < 2 {
        return Ok(());
    }

    let mut sorter = Sorter::new(shape, words, order)?;

    sorter.sort(shape, by);
    for (to, entry) in order.iter_mut().zip(&sorter.entries) {
        *to = entry.row;
    }
    Ok(())
}

impl<'a> Sorter<'a> {
    fn new(shape: &Shape, words: &'a [u64], order: &[u32]) -> Result<Self> {
        let mut entries = KVVec::with_capacity(order.len(), GFP_KERNEL)?;

        for row in order {
            entries.push(
                Entry {
                    row: *row,
                    ..Default::default()
                },
                GFP_KERNEL,
            )?;
        }
        Ok(Self {
            words,
            row_words: shape.words,
            scratch: KVVec::from_elem(Entry::default(), order.len(), GFP_KERNEL)?,
            entries,
            counts: KBox::new([0; 256], GFP_KERNEL)?,
        })
    }

    /// Sorts the entries.
    fn sort(&mut self, shape: &Shape, by: &[SortBy]) {
        let key_words = shape.layout.key_words;

        for by in by {
            let (word, part) = match by.value {
                SortValue::Sum { index, signed } => match shape.sum(index) {
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

    /// Sorts each run by a part of its rows, and tells whether there are equal rows left.
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
            sort_run(run, &mut self.scratch, &mut self.counts);
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
                let ended = words
                    .get(at.wrapping_sub(before)..at)
                    .is_some_and(|words| words.iter().any(|word| nul_at(*word) < u64::BITS));

                if ended {
                    0
                } else {
                    // In the order of the bytes, without what follows the NUL.
                    let bytes = word.to_be();
                    bytes & !u64::MAX.checked_shr(nul_at(word)).unwrap_or(0)
                }
            }
        }
    }
}

/// How many bits of the bytes of a word are in front of the first zero byte: 64 if there is none.
#[inline]
fn nul_at(word: u64) -> u32 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

    let bytes = word.to_be();
    // The highest bit of each byte that is zero.
    let zeroes = !((bytes & LOW).wrapping_add(LOW) | bytes | LOW);

    zeroes.leading_zeros()
}

/// Marks the entries of a sorted run that differ from the one in front of them, the first one
/// included, and tells whether there is another one.
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

/// Sorts a run by its numbers, and keeps the order of equal ones.
fn sort_run(run: &mut [Entry], scratch: &mut [Entry], counts: &mut Counts) {
    if run.is_sorted_by_key(|entry| entry.number) {
        return;
    }
    if run.len() <= FEW {
        return sort_few(run);
    }

    let (all, any) = run.iter().fold((u64::MAX, 0), |(all, any), entry| {
        (all & entry.number, any | entry.number)
    });
    let different = all ^ any;

    let Some(scratch) = scratch.get_mut(..run.len()) else {
        return sort_few(run);
    };
    let (mut from, mut to) = (&mut *run, scratch);
    let mut moved = false;

    for shift in (0..u64::BITS).step_by(8) {
        if different.wrapping_shr(shift) & 0xff == 0 {
            continue;
        }
        sort_byte(from, to, counts, shift);
        (from, to) = (to, from);
        moved = !moved;
    }
    if moved {
        // `to` is the run, and `from` has its entries.
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    }
}

/// Puts entries into the order of a byte of their numbers.
fn sort_byte(from: &[Entry], to: &mut [Entry], counts: &mut Counts, shift: u32) {
    let byte = |entry: &Entry| usize::from(entry.number.wrapping_shr(shift) as u8);

    counts.fill(0);
    for entry in from {
        let count = &mut counts[byte(entry)];

        *count = count.wrapping_add(1);
    }

    let mut next = 0u32;
    for count in counts.iter_mut() {
        let n = *count;

        *count = next;
        next = next.wrapping_add(n);
    }

    for entry in from {
        let place = &mut counts[byte(entry)];

        if let Some(to) = to.get_mut(*place as usize) {
            *to = *entry;
        }
        *place = place.wrapping_add(1);
    }
}

/// Sorts a few entries by insertion.
fn sort_few(run: &mut [Entry]) {
    for sorted in 1..run.len() {
        for at in (0..sorted).rev() {
            let Some([left, right]) = run.get_mut(at..at.wrapping_add(2)) else {
                break;
            };

            if left.number <= right.number {
                break;
            }
            core::mem::swap(left, right);
        }
    }
}
