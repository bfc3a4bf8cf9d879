// SPDX-License-Identifier: GPL-2.0

//! Spans of a command, which know their column.
//!
//! An error is shown with a caret under the text that is wrong, so text that is taken from a
//! command is kept together with its column.

use kernel::{
    prelude::*,
    str::CString,
    trace::builtin::dynevent::is_space, //
};

use crate::text_buf::c_string;

/// A part of a command, and the column that it begins in.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Span<'a> {
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

    /// Returns `true` if it is this text.
    pub(crate) fn is(self, text: &[u8]) -> bool {
        self.text == text
    }

    /// Returns the text from byte `n` on; nothing if it is shorter.
    pub(crate) fn from(self, n: usize) -> Self {
        let n = n.min(self.text.len());

        Self {
            text: self.text.get(n..).unwrap_or(&[]),
            at: self.at.wrapping_add(n),
        }
    }

    /// Returns the first `n` bytes, or all if it is shorter.
    pub(crate) fn to(self, n: usize) -> Self {
        Self {
            text: self.text.get(..n).unwrap_or(self.text),
            at: self.at,
        }
    }

    /// Returns the position of the first `byte`.
    pub(crate) fn find(self, byte: u8) -> Option<usize> {
        self.text.iter().position(|&b| b == byte)
    }

    /// Returns the position of the last `byte`.
    pub(crate) fn rfind(self, byte: u8) -> Option<usize> {
        self.text.iter().rposition(|&b| b == byte)
    }

    /// Splits the text at the first `byte`. Without one, the second part is `None`.
    pub(crate) fn split(self, byte: u8) -> (Self, Option<Self>) {
        match self.find(byte) {
            Some(n) => (self.to(n), Some(self.from(n.wrapping_add(1)))),
            None => (self, None),
        }
    }

    /// Returns the text after `prefix`, if it begins so.
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

    /// The spans between the `byte`s; always at least one, which may be empty.
    pub(crate) fn spans(self, byte: u8) -> impl Iterator<Item = Span<'a>> {
        let mut rest = Some(self);

        core::iter::from_fn(move || {
            let (span, behind) = rest?.split(byte);
            rest = behind;
            Some(span)
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
