// SPDX-License-Identifier: GPL-2.0

//! How keys are shown.

use kernel::{
    prelude::*,
    trace::symbol, //
};

use crate::{
    field::Flags,
    out::Out,
    update::eval::bucket_below, //
};

/// How a key is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Number { signed: bool },
    Hex,
    Symbol { offset: bool },
    ExecName { signed: bool },
    Syscall { signed: bool },
    Stack,
    Log2,
    Buckets { width: u64, signed: bool },
    Text,
}

impl Format {
    /// How a key with these flags is shown: the first that applies.
    pub(crate) fn new(flags: Flags, signed: bool, buckets: u64) -> Self {
        if flags.any(Flags::HEX) {
            Self::Hex
        } else if flags.any(Flags::SYM) {
            Self::Symbol { offset: false }
        } else if flags.any(Flags::SYM_OFFSET) {
            Self::Symbol { offset: true }
        } else if flags.any(Flags::EXECNAME) {
            Self::ExecName { signed }
        } else if flags.any(Flags::SYSCALL) {
            Self::Syscall { signed }
        } else if flags.any(Flags::STACKTRACE) {
            Self::Stack
        } else if flags.any(Flags::LOG2) {
            Self::Log2
        } else if flags.any(Flags::BUCKET) {
            Self::Buckets {
                width: buckets,
                signed,
            }
        } else if flags.any(Flags::STRING) {
            Self::Text
        } else {
            Self::Number { signed }
        }
    }
}

/// A key of all rows.
pub(crate) struct Column {
    pub(crate) name: KVec<u8>,
    pub(crate) format: Format,
    /// Where it is in the key of a row, in words.
    pub(crate) word: usize,
    pub(crate) words: usize,
}

impl Column {
    /// Writes the key; `comm` is the name of the task that had the first hit.
    pub(crate) fn write(&self, out: &mut Out, key: &[u64], comm: &[u8]) {
        let words = key
            .get(self.word..self.word.saturating_add(self.words))
            .unwrap_or(&[]);
        let n = words.first().copied().unwrap_or(0);

        out.put(&self.name);
        match self.format {
            Format::Number { signed } => {
                out.put(b": ");
                number(out, n, signed, 10);
            }
            Format::Hex => {
                out.put(b": ");
                out.hex(n, 0);
            }
            Format::Symbol { offset } => {
                out.put(b": [");
                out.hex(if symbol::address_allowed() { n } else { 0 }, 0);
                out.put(b"] ");
                write_symbol(out, n, offset, if offset { 55 } else { 45 });
            }
            Format::ExecName { signed } => {
                out.put(b": ");
                out.left(until_nul(comm), 16);
                out.put(b"[");
                number(out, n, signed, 10);
                out.put(b"]");
            }
            Format::Syscall { signed } => {
                let name = symbol::syscall_name(n);

                out.put(b": ");
                out.left(name.map_or(b"unknown_syscall", CStr::to_bytes), 30);
                out.put(b"[");
                number(out, n, signed, 3);
                out.put(b"]");
            }
            Format::Stack => {
                out.put(b":\n");
                write_stack(out, words);
            }
            Format::Log2 => {
                let start = out.len();

                out.put(b": ~ 2^");
                out.unsigned(n, 0);
                out.spaces(start.wrapping_add(8).saturating_sub(out.len()));
            }
            Format::Buckets { width, signed } => {
                out.put(b": ~ ");
                bucket(out, n, width, signed);
            }
            Format::Text => {
                out.put(b": ");
                out.left(until_nul(words.as_bytes()), 50);
            }
        }
    }
}

/// Writes all keys of a row.
pub(crate) fn write_keys(out: &mut Out, columns: &[Column], key: &[u64], comm: &[u8]) {
    let mut lines = false;

    out.put(b"{ ");
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.put(b", ");
        }
        column.write(out, key, comm);
        lines |= column.format == Format::Stack;
    }
    if !lines {
        out.put(b" ");
    }
    out.put(b"}");
}

/// Writes a number, signed if its field is.
pub(crate) fn number(out: &mut Out, n: u64, signed: bool, width: usize) {
    if signed {
        // CAST: The value was sign-extended to 64 bits.
        out.signed(n as i64, width);
    } else {
        out.unsigned(n, width);
    }
}

/// Writes the bounds of the bucket that begins at `n`, which need not fit in 64 bits with a sign.
fn bucket(out: &mut Out, n: u64, width: u64, signed: bool) {
    // CAST: The value was sign-extended to 64 bits.
    if signed && (n as i64) < 0 {
        let (start, end) = bucket_below((n as i64).unsigned_abs(), width);

        out.put(b"-");
        out.unsigned(start, 0);
        out.put(b"--");
        out.unsigned(end, 0);
    } else {
        out.unsigned(n, 0);
        out.put(b"-");
        out.unsigned(n.wrapping_add(width).wrapping_sub(1), 0);
    }
}

/// Writes return addresses, one a line, up to the first that is zero.
pub(crate) fn write_stack(out: &mut Out, addresses: &[u64]) {
    for address in addresses.iter().take_while(|address| **address != 0) {
        out.spaces(9);
        write_symbol(out, *address, true, 0);
        out.put(b"\n");
    }
}

fn write_symbol(out: &mut Out, address: u64, offset: bool, width: usize) {
    let mut name = symbol::Name::new();
    // C does not fill up numbers.
    let width = if cfg!(CONFIG_KALLSYMS) { width } else { 0 };

    // CAST: Addresses are words.
    out.left(name.lookup(address as usize, offset), width);
}

/// The bytes before the first NUL.
pub(crate) fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or(&[])
}
