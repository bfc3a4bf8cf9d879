// SPDX-License-Identifier: GPL-2.0

//! Quantiles of a key that is rounded to parts of powers of two.
//!
//! They are computed when a table is read, from its rows: those of each combination of the other
//! keys, sorted by the rounded one, are a distribution. A quantile is the middle of the part that
//! it is in. With `2^K` parts to a power of two, that differs from the exact one by at most
//! `1/2^(K+1)` of it.

use kernel::prelude::*;

use super::columns::{
    number,
    write_keys,
    KeyColumn, //
};
use crate::{
    command::expr::Modifier,
    histogram::Histogram,
    hit::eval::part_end,
    map::{
        KeyOrder,
        Row,
        Snapshot,
        SortBy,
        SortValue, //
    },
    program::KeyPlace,
    text_buf::TextBuf, //
};

/// The quantiles, in thousandths, and their names.
const QUANTILES: [(u64, &[u8]); N] = [(500, b"p50"), (900, b"p90"), (990, b"p99"), (999, b"p99.9")];

/// Number of quantiles.
pub(crate) const N: usize = 4;

/// The quantiles of one distribution.
struct QuantileLine {
    /// The number of a row that has its other keys.
    row: u32,
    values: [u64; N],
}

/// The quantiles of a table.
pub(crate) struct Quantiles {
    lines: KVVec<QuantileLine>,
    /// Index of the key that they are of.
    key: usize,
    signed: bool,
}

impl Quantiles {
    /// Computes the quantiles of a copy of the map, if the histogram has any.
    pub(crate) fn new(hist: &Histogram, snapshot: &Snapshot) -> Result<Option<Self>> {
        let Some(key) = hist.spec.parts_key().filter(|_| hist.spec.quantiles) else {
            return Ok(None);
        };
        let (field, place) = (hist.spec.keys().get(key), hist.program.keys.get(key));
        // Neither error is reached: the index is that of a key with this modifier, and programs
        // have the keys of the description.
        let (Some(field), Some(place)) = (field, place) else {
            return Err(EINVAL);
        };
        let Modifier::Log2Parts(bits) = field.modifier else {
            return Err(EINVAL);
        };
        let signed = place.kind.is_signed();
        let order = snapshot.sorted_by(&sort_by(hist, place)?)?;
        let key_of = |row: &u32| snapshot.row_at(*row).map_or(&[][..], |row| row.key());
        let mut lines = KVVec::new();

        for rows in order.chunk_by(|a, b| same_but(place.word, key_of(a), key_of(b))) {
            let parts = rows.iter().filter_map(|row| snapshot.row_at(*row));
            let parts = parts.map(|row| (word(&row, place.word), row.sum(0)));

            // Its hits were taken by a reader of hist_raw.
            if parts.clone().all(|(_, hits)| hits == 0) {
                continue;
            }
            if let Some(row) = rows.first() {
                let line = QuantileLine {
                    row: *row,
                    values: quantiles(parts, bits, signed),
                };

                lines.push(line, GFP_KERNEL)?;
            }
        }
        Ok(Some(Self { lines, key, signed }))
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Writes the line `n` of a table with these rows and keys.
    pub(crate) fn write(
        &self,
        out: &mut TextBuf,
        n: usize,
        snapshot: &Snapshot,
        keys: &[KeyColumn],
    ) {
        let (Some(line), Some(column)) = (self.lines.get(n), keys.get(self.key)) else {
            return;
        };
        let own = self.key;
        let others = || {
            let keys = keys.iter().enumerate();

            keys.filter(move |(i, _)| *i != own).map(|(_, key)| key)
        };

        if n == 0 {
            out.put(b"\nQuantiles:\n");
        }
        if others().next().is_some() {
            if let Some(row) = snapshot.row_at(line.row) {
                write_keys(out, others(), row.key(), row.comm());
                out.put(b" ");
            }
        }
        for (i, ((_, name), value)) in QUANTILES.iter().zip(line.values).enumerate() {
            if i > 0 {
                out.put(b"  ");
            }
            out.append(&column.name);
            out.put(b".");
            out.put(name);
            out.put(b": ");
            number(out, value, self.signed, 10);
        }
        out.put(b"\n");
    }
}

fn word(row: &Row<'_>, at: usize) -> u64 {
    row.key().get(at).copied().unwrap_or(0)
}

/// Returns the order that groups the rows of a distribution: by all words of the other keys, then
/// by the key at `place`.
fn sort_by(hist: &Histogram, place: &KeyPlace) -> Result<KVec<SortBy>> {
    let mut by = KVec::new();
    let words = 0..hist.map.layout().key_words;
    let others = words.filter(|word| *word != place.word);
    let others = others.map(|word| (word, KeyOrder::Unsigned));

    for (word, order) in Iterator::chain(others, [(place.word, place.order())]) {
        let value = SortValue::Key { word, order };

        by.push(
            SortBy {
                value,
                descending: false,
            },
            GFP_KERNEL,
        )?;
    }
    Ok(by)
}

/// Returns `true` if two keys differ at most in this word.
fn same_but(word: usize, a: &[u64], b: &[u64]) -> bool {
    let mut words = a.iter().zip(b).enumerate();

    words.all(|(at, (a, b))| at == word || a == b)
}

/// Computes the quantiles of a distribution. `parts` are the lowest number of each part, in
/// ascending order, with its number of hits.
pub(crate) fn quantiles(
    parts: impl Iterator<Item = (u64, u64)> + Clone,
    bits: u32,
    signed: bool,
) -> [u64; N] {
    let total = parts
        .clone()
        .fold(0, |total: u64, (_, hits)| total.saturating_add(hits));

    QUANTILES.map(|(thousandths, _)| {
        let rank = rank(total, thousandths);
        let mut below = 0u64;
        let part = parts.clone().find(|(_, hits)| {
            below = below.saturating_add(*hits);
            below >= rank
        });

        part.map_or(0, |(start, _)| middle(start, part_end(start, bits, signed)))
    })
}

/// Returns the number of `total` numbers that are not above the quantile: its thousandths, rounded
/// up, and one at least.
fn rank(total: u64, thousandths: u64) -> u64 {
    let rest = (total % 1000).wrapping_mul(thousandths).div_ceil(1000);

    (total / 1000)
        .wrapping_mul(thousandths)
        .wrapping_add(rest)
        .max(1)
}

/// Returns the middle of two numbers, the first of which is not above the other.
fn middle(start: u64, end: u64) -> u64 {
    start.wrapping_add(end.wrapping_sub(start) / 2)
}
