// SPDX-License-Identifier: GPL-2.0

//! The columns of keys and values.

use kernel::{
    kallsyms::{
        may_show_addresses,
        SymbolName, //
    },
    prelude::*,
    trace::builtin::syscall, //
};

use crate::{
    command::expr::Modifier,
    histogram::Histogram,
    hit::eval::{
        bucket_below,
        part_end, //
    },
    program::{
        KeyKind,
        KeyPlace, //
    },
    spec::field::Field,
    text_buf::TextBuf, //
};

/// The format of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyFormat {
    Number { signed: bool },
    Hex,
    Symbol { offset: bool },
    ExecName { signed: bool },
    Syscall { signed: bool },
    Stack,
    Log2,
    Parts { bits: u32, signed: bool },
    Buckets { width: u64, signed: bool },
    Text,
}

impl KeyFormat {
    /// Returns the format of a key of this kind, with this modifier.
    pub(crate) fn new(modifier: Modifier, kind: KeyKind) -> Self {
        let signed = kind.is_signed();

        match (modifier, kind) {
            (Modifier::Hex, _) => Self::Hex,
            (Modifier::Sym, _) => Self::Symbol { offset: false },
            (Modifier::SymOffset, _) => Self::Symbol { offset: true },
            (Modifier::ExecName, _) => Self::ExecName { signed },
            (Modifier::Syscall, _) => Self::Syscall { signed },
            (_, KeyKind::Stack) => Self::Stack,
            (Modifier::Log2, _) => Self::Log2,
            (Modifier::Log2Parts(bits), _) => Self::Parts { bits, signed },
            (Modifier::Buckets(width), _) => Self::Buckets { width, signed },
            (_, KeyKind::String) => Self::Text,
            (_, KeyKind::Number { signed }) => Self::Number { signed },
        }
    }
}

/// A key of all rows.
pub(crate) struct KeyColumn {
    pub(crate) name: TextBuf,
    pub(crate) format: KeyFormat,
    pub(crate) place: KeyPlace,
}

impl KeyColumn {
    /// Returns the words of this key in a whole key.
    pub(super) fn words<'k>(&self, key: &'k [u64]) -> &'k [u64] {
        let KeyPlace { word, words, .. } = self.place;

        key.get(word..word.saturating_add(words)).unwrap_or(&[])
    }

    /// Writes the key; `comm` is the name of the task that had the first hit.
    pub(crate) fn write(&self, out: &mut TextBuf, key: &[u64], comm: &[u8]) {
        let words = self.words(key);
        let n = words.first().copied().unwrap_or(0);

        out.append(&self.name);
        match self.format {
            KeyFormat::Number { signed } => {
                out.put(b": ");
                number(out, n, signed, 10);
            }
            KeyFormat::Hex => {
                out.put(b": ");
                out.hex(n, 0);
            }
            KeyFormat::Symbol { offset } => {
                out.put(b": [");
                out.hex(if may_show_addresses() { n } else { 0 }, 0);
                out.put(b"] ");
                write_symbol(out, n, offset, if offset { 55 } else { 45 });
            }
            KeyFormat::ExecName { signed } => {
                out.put(b": ");
                out.left(until_nul(comm), 16);
                out.put(b"[");
                number(out, n, signed, 10);
                out.put(b"]");
            }
            KeyFormat::Syscall { signed } => {
                let name = syscall::name(n);

                out.put(b": ");
                out.left(name.map_or(b"unknown_syscall", CStr::to_bytes), 30);
                out.put(b"[");
                number(out, n, signed, 3);
                out.put(b"]");
            }
            KeyFormat::Stack => {
                out.put(b":\n");
                write_stack(out, words);
            }
            KeyFormat::Log2 => {
                let start = out.len();

                out.put(b": ~ 2^");
                out.unsigned(n, 0);
                out.spaces(start.wrapping_add(8).saturating_sub(out.len()));
            }
            KeyFormat::Parts { bits, signed } => {
                out.put(b": ~ ");
                number(out, n, signed, 0);
                out.put(b"-");
                number(out, part_end(n, bits, signed), signed, 0);
            }
            KeyFormat::Buckets { width, signed } => {
                out.put(b": ~ ");
                bucket(out, n, width, signed, b"-");
            }
            KeyFormat::Text => {
                out.put(b": ");
                out.left(until_nul(words.as_bytes()), 50);
            }
        }
    }
}

/// Writes all keys of a row.
pub(crate) fn write_keys<'c>(
    out: &mut TextBuf,
    columns: impl IntoIterator<Item = &'c KeyColumn>,
    key: &[u64],
    comm: &[u8],
) {
    let mut lines = false;

    out.put(b"{ ");
    for (i, column) in columns.into_iter().enumerate() {
        if i > 0 {
            out.put(b", ");
        }
        column.write(out, key, comm);
        lines |= column.format == KeyFormat::Stack;
    }
    out.put(if lines { b"}".as_slice() } else { b" }" });
}

/// Writes a number, signed if its field is.
pub(crate) fn number(out: &mut TextBuf, n: u64, signed: bool, width: usize) {
    if signed {
        // CAST: The value was sign-extended to 64 bits.
        out.signed(n as i64, width);
    } else {
        out.unsigned(n, width);
    }
}

/// Writes the bounds of the bucket that begins at `n`, and `between` between them. They need not
/// fit in 64 bits with a sign.
pub(crate) fn bucket(out: &mut TextBuf, n: u64, width: u64, signed: bool, between: &[u8]) {
    // CAST: The value was sign-extended to 64 bits.
    if signed && (n as i64) < 0 {
        let (start, end) = bucket_below((n as i64).unsigned_abs(), width);

        out.put(b"-");
        out.unsigned(start, 0);
        out.put(between);
        out.put(b"-");
        out.unsigned(end, 0);
    } else {
        out.unsigned(n, 0);
        out.put(between);
        out.unsigned(n.wrapping_add(width).wrapping_sub(1), 0);
    }
}

/// Writes return addresses, one a line, up to the first that is zero.
pub(crate) fn write_stack(out: &mut TextBuf, addresses: &[u64]) {
    for address in addresses.iter().take_while(|address| **address != 0) {
        out.spaces(9);
        write_symbol(out, *address, true, 0);
        out.put(b"\n");
    }
}

pub(crate) fn write_symbol(out: &mut TextBuf, address: u64, offset: bool, width: usize) {
    let mut name = SymbolName::new();
    // C does not fill up numbers.
    let width = if cfg!(CONFIG_KALLSYMS) { width } else { 0 };

    // CAST: Addresses are words.
    out.left(name.lookup(address as usize, offset), width);
}

/// Returns the bytes before the first NUL.
pub(crate) fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or(&[])
}

/// Columns of a bar.
const BAR_WIDTH: usize = 20;

/// The format of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueFormat {
    Number { signed: bool },
    Hex,
    Percent,
    Graph,
}

impl ValueFormat {
    pub(crate) fn new(modifier: Modifier, signed: bool) -> Self {
        match modifier {
            Modifier::Percent => Self::Percent,
            Modifier::Graph => Self::Graph,
            Modifier::Hex => Self::Hex,
            _ => Self::Number { signed },
        }
    }

    /// Returns `true` if the format depends on the other rows.
    pub(crate) fn needs_stat(self) -> bool {
        matches!(self, Self::Percent | Self::Graph)
    }
}

/// A value of all rows.
pub(crate) struct ValueColumn {
    pub(crate) name: TextBuf,
    pub(crate) format: ValueFormat,
    /// The field is signed, whatever the format shows.
    pub(crate) signed: bool,
    /// Index of the sum in the row.
    pub(crate) sum: usize,
    /// The largest, and the sum of all rows.
    pub(crate) max: u64,
    pub(crate) total: u64,
}

impl ValueColumn {
    /// Adds the value of a row to the statistic.
    pub(crate) fn count(&mut self, value: u64) {
        self.max = self.max.max(value);
        self.total = self.total.wrapping_add(value);
    }

    pub(crate) fn write(&self, out: &mut TextBuf, value: u64) {
        out.put(b" ");
        out.append(&self.name);
        match self.format {
            ValueFormat::Number { signed } => {
                out.put(b": ");
                number(out, value, signed, 10);
            }
            ValueFormat::Hex => {
                out.put(b": ");
                out.hex(value, 10);
            }
            ValueFormat::Percent => match hundredths(value, self.total) {
                Some(n) => {
                    out.put(b" (%): ");
                    out.unsigned(n / 100, 3);
                    out.put(if n % 100 < 10 { b".0" } else { b"." });
                    out.unsigned(n % 100, 0);
                }
                None => out.put(b" (%):[ERROR]"),
            },
            ValueFormat::Graph => {
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

/// Returns the hundredths of a percent that `value` is of `total`, or `None` if `total` is 0.
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

/// Returns the heading of the column of a field.
fn label(hist: &Histogram, field: &Field) -> TextBuf {
    let mut label = TextBuf::new();

    field.write_label(&mut label, &hist.spec.refs);
    label
}

/// Returns the columns of the keys.
pub(super) fn key_columns(hist: &Histogram) -> Result<KVec<KeyColumn>> {
    let mut columns = KVec::new();

    for (key, place) in hist.spec.keys().iter().zip(&hist.program.keys) {
        let mut name = label(hist, key);

        if key.is_stack() && key.source().is_some() {
            name.put(b".stacktrace");
        }
        columns.push(
            KeyColumn {
                name,
                format: KeyFormat::new(key.modifier, place.kind),
                place: *place,
            },
            GFP_KERNEL,
        )?;
    }
    Ok(columns)
}

/// Returns the columns of the values. With `sums`, the column of an average is named as that of
/// its sums.
pub(super) fn value_columns(hist: &Histogram, sums: bool) -> Result<KVec<ValueColumn>> {
    let mut columns = KVec::new();
    let values = hist.spec.vals().iter().filter(|field| field.var.is_none());

    for (sum, field) in values.enumerate() {
        if sum == 0 && hist.spec.no_hitcount {
            continue;
        }
        let mut name = label(hist, field);

        if field.modifier.is_statistic() {
            name.put(b".");
            name.put(match field.modifier {
                Modifier::Avg if sums => b"sum",
                modifier => modifier.word(),
            });
        }
        columns.push(
            ValueColumn {
                name,
                format: ValueFormat::new(field.modifier, field.ty.signed),
                signed: field.ty.signed,
                sum,
                max: 0,
                total: 0,
            },
            GFP_KERNEL,
        )?;
    }
    Ok(columns)
}
