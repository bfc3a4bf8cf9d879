// SPDX-License-Identifier: GPL-2.0

//! Texts that are concatenated at compile time.
//!
//! The types and the print format of an event are C strings in which the values of constants have
//! to appear: the length of an array, the number of a flag. A macro does not know the spelling of a
//! constant, so it leaves pieces, and the compiler assembles the string.

use super::names::NamedValue;
use crate::ffi::c_char;
use core::cell::UnsafeCell;

/// A part of a text.
#[derive(Clone, Copy)]
pub enum Piece {
    /// As it is.
    Text(&'static str),
    /// A number, in decimal.
    Num(i128),
    /// The entries of a table, as C has them in a print format.
    Names(&'static [NamedValue]),
}

/// Returns the decimal digits of a number, starting with the last one, and their number including
/// the sign.
const fn digits(value: i128) -> ([u8; 40], usize) {
    let mut buf = [0; 40];
    // A division of 128 bits would be a function that the kernel does not have.
    assert!(value.unsigned_abs() <= u64::MAX as u128);
    let mut rest = value.unsigned_abs() as u64;
    let mut len = 0;

    loop {
        buf[len] = b'0' + (rest % 10) as u8;
        len += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        buf[len] = b'-';
        len += 1;
    }
    (buf, len)
}

/// Between the parts of a table's entry, and between entries.
const OPEN: &str = "{ ";
const COMMA: &str = ", ";
const QUOTE: &str = "\"";
const CLOSE: &str = " }";

/// Returns the size of a table in a print format.
const fn names_size(entries: &[NamedValue]) -> usize {
    let (mut size, mut i) = (0, 0);

    while i < entries.len() {
        if i > 0 {
            size += COMMA.len();
        }
        size += OPEN.len() + digits(entries[i].value).1 + COMMA.len();
        size += QUOTE.len() * 2 + entries[i].label.len() + CLOSE.len();
        i += 1;
    }
    size
}

/// A text of which the start is written.
struct Writer<const N: usize> {
    text: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    const fn text(&mut self, part: &str) {
        let part = part.as_bytes();
        let mut i = 0;

        while i < part.len() {
            assert!(part[i] != 0, "a NUL in a text of an event");
            self.text[self.at] = part[i];
            self.at += 1;
            i += 1;
        }
    }

    const fn number(&mut self, value: i128) {
        let (digits, mut len) = digits(value);

        while len > 0 {
            len -= 1;
            self.text[self.at] = digits[len];
            self.at += 1;
        }
    }

    const fn names(&mut self, entries: &[NamedValue]) {
        let mut i = 0;

        while i < entries.len() {
            if i > 0 {
                self.text(COMMA);
            }
            self.text(OPEN);
            self.number(entries[i].value);
            self.text(COMMA);
            self.text(QUOTE);
            self.text(entries[i].label);
            self.text(QUOTE);
            self.text(CLOSE);
            i += 1;
        }
    }
}

/// Returns the size of a text with its NUL.
pub const fn size(pieces: &[Piece]) -> usize {
    let mut size = 1;
    let mut i = 0;

    while i < pieces.len() {
        size += match pieces[i] {
            Piece::Text(text) => text.len(),
            Piece::Num(value) => digits(value).1,
            Piece::Names(entries) => names_size(entries),
        };
        i += 1;
    }
    size
}

/// A string for C of `N` bytes with its NUL.
///
/// C replaces the names of enumerators in a print format in place, so it is not constant.
///
/// # Invariants
///
/// The last byte is NUL.
#[repr(transparent)]
pub struct Text<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: Rust code never reads or writes it after its creation.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Text<N> {
    /// Concatenates the pieces. `N` must be their [`size`].
    pub const fn new(pieces: &[Piece]) -> Self {
        let mut writer = Writer {
            text: [0; N],
            at: 0,
        };
        let mut i = 0;

        while i < pieces.len() {
            match pieces[i] {
                Piece::Text(text) => writer.text(text),
                Piece::Num(value) => writer.number(value),
                Piece::Names(entries) => writer.names(entries),
            }
            i += 1;
        }
        assert!(writer.at + 1 == N);

        // INVARIANT: The array has one byte more than was written.
        Self(UnsafeCell::new(writer.text))
    }

    /// Returns the string.
    pub const fn as_char_ptr(&'static self) -> *const c_char {
        self.0.get().cast_const().cast()
    }
}
