// SPDX-License-Identifier: GPL-2.0

//! How values are shown.

use kernel::prelude::*;

use super::key::number;
use crate::{
    field::Flags,
    out::Out, //
};

/// Columns of a bar.
const BAR_WIDTH: usize = 20;

/// How a value is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Number { signed: bool },
    Hex,
    Percent,
    Graph,
}

impl Format {
    pub(crate) fn new(flags: Flags, signed: bool) -> Self {
        if flags.any(Flags::PERCENT) {
            Self::Percent
        } else if flags.any(Flags::GRAPH) {
            Self::Graph
        } else if flags.any(Flags::HEX) {
            Self::Hex
        } else {
            Self::Number { signed }
        }
    }

    /// Whether the other rows matter.
    pub(crate) fn needs_stat(self) -> bool {
        matches!(self, Self::Percent | Self::Graph)
    }
}

/// A value of all rows.
pub(crate) struct Column {
    pub(crate) name: KVec<u8>,
    pub(crate) format: Format,
    /// Which sum of the row it is.
    pub(crate) sum: usize,
    /// The largest, and the sum of all rows.
    pub(crate) max: u64,
    pub(crate) total: u64,
}

impl Column {
    /// Takes the value of a row into account.
    pub(crate) fn count(&mut self, value: u64) {
        self.max = self.max.max(value);
        self.total = self.total.wrapping_add(value);
    }

    pub(crate) fn write(&self, out: &mut Out, value: u64) {
        out.put(b" ");
        out.put(&self.name);
        match self.format {
            Format::Number { signed } => {
                out.put(b": ");
                number(out, value, signed, 10);
            }
            Format::Hex => {
                out.put(b": ");
                out.hex(value, 10);
            }
            Format::Percent => match hundredths(value, self.total) {
                Some(n) => {
                    out.put(b" (%): ");
                    out.unsigned(n / 100, 3);
                    out.put(if n % 100 < 10 { b".0" } else { b"." });
                    out.unsigned(n % 100, 0);
                }
                None => out.put(b" (%):[ERROR]"),
            },
            Format::Graph => {
                out.put(b": ");
                match hundredths(value, self.max) {
                    Some(n) => {
                        // CAST: Not more than the width.
                        let bar = (n.saturating_mul(BAR_WIDTH as u64) / 10_000)
                            .min(BAR_WIDTH as u64) as usize;

                        for _ in 0..bar {
                            out.put(b"#");
                        }
                        out.spaces(BAR_WIDTH.saturating_sub(bar));
                    }
                    None => {
                        out.spaces(BAR_WIDTH.saturating_sub(b"[ERROR]".len()));
                        out.put(b"[ERROR]");
                    }
                }
            }
        }
    }
}

/// How many hundredths of a percent `value` is of `total`; `None` if it is part of nothing.
///
/// They have 32 bits, as in C, where all ones are an error. Shares of something are smaller.
pub(crate) fn hundredths(value: u64, total: u64) -> Option<u64> {
    let scaled = if value < u64::MAX / 10_000 {
        value.wrapping_mul(10_000).checked_div(total)
    } else {
        value.checked_div(total / 10_000)
    };

    match scaled.map(|n| n & u64::from(u32::MAX)) {
        Some(n) => (n != u64::from(u32::MAX)).then_some(n),
        None if value == 0 => Some(0),
        None => None,
    }
}
