// SPDX-License-Identifier: GPL-2.0

//! The hit count and the sums of an element: combinations of values besides their sum, and hit
//! counts with a part for each CPU.
//!
//! # Extremes
//!
//! The words of an element are zero before the first hit, and when the map is wiped. So extremes
//! are kept as a rank, of which the largest is wanted: 0 is less than or equal to the rank of any
//! number.
//!
//! # Parts of CPUs
//!
//! In a map that only counts, CPUs that hit the same key would wait for each other's cache line. So
//! most hits are counted in an array of the CPU that they are on, with the index of the element.
//! The word of the hit count in the element is added to that: it has the first hit of a key, and
//! is lowered by what was [taken](super::Map::take), as only the CPU itself can change its part.
//!
//! The reasons for what is inlined are those of [`map`](super).

use kernel::{
    percpu::Counters,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

use super::element::Element;

/// The highest bit: with it the other way round, signed numbers have the order of unsigned ones.
const SIGN: u64 = 1 << 63;

/// The combination of the values of all hits of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fold {
    /// They are added, modulo 2^64.
    Sum,
    /// The least of them is kept.
    Min { signed: bool },
    /// The largest of them is kept.
    Max { signed: bool },
    /// They are added; what is shown is that divided by the number of hits.
    Avg { signed: bool },
}

impl Fold {
    /// Returns `true` if the smallest or the largest value is kept.
    pub(crate) fn is_extreme(self) -> bool {
        matches!(self, Self::Min { .. } | Self::Max { .. })
    }

    /// Returns the rank of a value, the largest of which is kept, or `None` if values are added.
    #[inline]
    pub(crate) fn rank(self, value: u64) -> Option<u64> {
        match self {
            Self::Sum | Self::Avg { .. } => None,
            Self::Min { signed } => Some(!ordered(value, signed)),
            Self::Max { signed } => Some(ordered(value, signed)),
        }
    }

    /// Returns the number to show for the word of an element that has this many hits. It is 0 if
    /// the element never had a hit, and for an extreme of rank 0 after its hits have been taken.
    pub(crate) fn shown(self, word: u64, hits: u64) -> u64 {
        match self {
            Self::Sum => word,
            // No other word tells an element without hits from one whose hits have been taken.
            _ if hits == 0 && word == 0 => 0,
            Self::Min { signed } => ordered(!word, signed),
            Self::Max { signed } => ordered(word, signed),
            Self::Avg { signed } => average(word, hits, signed),
        }
    }
}

/// Converts between a number and the unsigned number that has the same place in the order.
#[inline]
fn ordered(n: u64, signed: bool) -> u64 {
    if signed {
        n ^ SIGN
    } else {
        n
    }
}

/// Returns the quotient of a sum and the number of hits, without its fraction.
fn average(sum: u64, hits: u64, signed: bool) -> u64 {
    let divide = |sum: u64| sum.checked_div(hits).unwrap_or(0);

    // CAST: The values that were added are extended to 64 bits.
    match sum as i64 {
        negative if signed && negative < 0 => divide(negative.unsigned_abs()).wrapping_neg(),
        _ => divide(sum),
    }
}

/// Replaces a rank by a larger one.
///
/// This is repeated only if another hit has raised it at the same time.
#[inline]
fn raise(word: &Atomic<u64>, rank: u64) {
    let mut kept = word.load(Relaxed);

    while kept < rank {
        match word.cmpxchg(kept, rank, Relaxed) {
            Ok(_) => return,
            Err(current) => kept = current,
        }
    }
}

impl Element<'_> {
    /// Copies the hit count and the sums, and zeroes those that are added to. `folds` describes
    /// each sum except the hit count.
    pub(super) fn take(&self, folds: &[Fold], copy: &mut [u64]) {
        let words = self.words(self.layout().sums, self.layout().parts.n_sums);
        let folds = Iterator::chain([Fold::Sum].into_iter(), folds.iter().copied());

        for ((to, word), fold) in copy.iter_mut().zip(words).zip(folds) {
            *to = if fold.is_extreme() {
                word.load(Relaxed)
            } else {
                // Pairs with the counting in `fold`, if it is the hit count: extremes are written
                // after it.
                word.xchg(0, Acquire)
            };
        }
    }

    /// Counts a hit with these values, and combines each of them with those of earlier hits.
    ///
    /// Histograms without extremes just add to the [sums](Element::sums).
    #[inline]
    pub(crate) fn fold(&self, folds: &[Fold], values: impl Iterator<Item = u64>) {
        if let Some((hits, sums)) = self.sums() {
            for ((sum, fold), value) in sums.iter().zip(folds).zip(values) {
                match fold.rank(value) {
                    Some(rank) => raise(sum, rank),
                    None => sum.add(value, Relaxed),
                }
            }
            // Pairs with the first load of `copy_element`: a copy in which this hit is counted has
            // its extremes.
            hits.fetch_add(1, Release);
        }
    }
}

/// The parts of the hit counts of all elements.
pub(super) struct Spread {
    counts: Counters,
}

impl Spread {
    /// Allocates the parts of `count` hit counts. Returns `None` if they are too many, or without
    /// memory: hits are then counted in the elements.
    pub(super) fn new(count: u32) -> Option<Self> {
        // CAST: A `usize` has 32 bits at least.
        let counts = Counters::new(count as usize).ok()?;

        Some(Self { counts })
    }

    /// Returns the size of the parts of `count` hit counts, in bytes; 0 if they are too many.
    pub(super) fn size_of(count: u32) -> usize {
        // CAST: As above.
        Counters::size_of(count as usize)
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        self.counts.size()
    }

    /// Counts a hit of an element, without a memory barrier.
    #[inline(always)]
    pub(super) fn count(&self, index: u32) {
        // CAST: As above.
        self.counts.add(index as usize, 1);
    }

    /// Adds the parts of an element to the copy of its hit count. If it is `taken`, later copies
    /// leave them out.
    pub(super) fn add_to(&self, copy: &mut u64, index: u32, element: Element<'_>, taken: bool) {
        // CAST: As above.
        let count = self.counts.sum(index as usize);

        *copy = copy.wrapping_add(count);
        if let (true, Some((hits, _))) = (taken, element.sums()) {
            hits.add(0u64.wrapping_sub(count), Relaxed);
        }
    }

    /// Sets all parts to 0. No hit may be counted at the same time.
    pub(super) fn wipe(&self) {
        self.counts.reset();
    }
}
