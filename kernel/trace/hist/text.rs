// SPDX-License-Identifier: GPL-2.0

//! Pieces of a command, which know their column.
//!
//! An error is shown with a caret under the text that is wrong, so text that is taken from a
//! command is kept together with its column.

use kernel::{
    prelude::*,
    str::CString,
    trace::dynevent::is_space, //
};

/// A piece of a command.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Piece<'a> {
    /// The text `text`, which begins in column `at` of the command as it is logged.
    pub(crate) const fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.text
    }

    /// The column that it begins in.
    pub(crate) const fn at(self) -> usize {
        self.at
    }

    pub(crate) const fn len(self) -> usize {
        self.text.len()
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is this text.
    pub(crate) fn is(self, text: &[u8]) -> bool {
        self.text == text
    }

    /// What is left from `n` bytes on; nothing if there are fewer.
    pub(crate) fn from(self, n: usize) -> Self {
        let n = n.min(self.text.len());

        Self {
            text: self.text.get(n..).unwrap_or(&[]),
            at: self.at.wrapping_add(n),
        }
    }

    /// The first `n` bytes, or all if there are fewer.
    pub(crate) fn to(self, n: usize) -> Self {
        Self {
            text: self.text.get(..n).unwrap_or(self.text),
            at: self.at,
        }
    }

    /// Where the first `byte` is.
    pub(crate) fn find(self, byte: u8) -> Option<usize> {
        self.text.iter().position(|&b| b == byte)
    }

    /// Where the last `byte` is.
    pub(crate) fn rfind(self, byte: u8) -> Option<usize> {
        self.text.iter().rposition(|&b| b == byte)
    }

    /// What is before the first `byte`, and what is behind it, if there is one.
    pub(crate) fn split(self, byte: u8) -> (Self, Option<Self>) {
        match self.find(byte) {
            Some(n) => (self.to(n), Some(self.from(n.wrapping_add(1)))),
            None => (self, None),
        }
    }

    /// What is behind `prefix`, if it begins so.
    pub(crate) fn strip_prefix(self, prefix: &[u8]) -> Option<Self> {
        self.text
            .starts_with(prefix)
            .then(|| self.from(prefix.len()))
    }

    /// Without white space at both ends.
    pub(crate) fn trim(self) -> Self {
        let start = self.text.iter().position(|b| !is_space(*b));
        let Some(start) = start else {
            return self.from(self.text.len());
        };
        let end = self.text.iter().rposition(|b| !is_space(*b));

        self.to(end.map_or(0, |n| n.wrapping_add(1))).from(start)
    }

    /// The pieces between the `byte`s; always at least one, which may be empty.
    pub(crate) fn pieces(self, byte: u8) -> impl Iterator<Item = Piece<'a>> {
        let mut rest = Some(self);

        core::iter::from_fn(move || {
            let (piece, behind) = rest?.split(byte);
            rest = behind;
            Some(piece)
        })
    }

    /// A copy as a C string.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is a NUL in it.
    pub(crate) fn to_c_string(self) -> Result<CString> {
        c_string(self.text)
    }
}

/// A C string of these bytes.
pub(crate) fn c_string(text: &[u8]) -> Result<CString> {
    joined(&[text])
}

/// A C string of these texts, one after the other.
pub(crate) fn joined(texts: &[&[u8]]) -> Result<CString> {
    let size = texts
        .iter()
        .fold(1, |size: usize, text| size.saturating_add(text.len()));
    let mut all = KVec::with_capacity(size, GFP_KERNEL)?;

    for text in texts {
        all.extend_from_slice(text, GFP_KERNEL)?;
    }
    all.push(0, GFP_KERNEL)?;
    CString::from_vec_with_nul(all)
}
