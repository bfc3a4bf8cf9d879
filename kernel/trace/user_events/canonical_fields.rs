// SPDX-License-Identifier: GPL-2.0

//! Comparison of the fields of two descriptions.
//!
//! A program that registers an event again may write its fields in another way: with other white
//! space, with or without a semicolon at the end. All ways are brought to one form, the signature,
//! and these are compared:
//!
//! ```text
//! type name; struct tag name size; type name
//! ```
//!
//! This is also how `dynamic_events` shows the fields. The signature of a text that describes no
//! event (with a field that is no field, say) is that of no event.
//!
//! The text is split at white space and after semicolons, with or without a blank; words of a field
//! are joined by one blank. A blank before a semicolon is not removed. Fields without a word do not
//! count, and the number at the end of a struct is written in the shortest way: so the text that an
//! event was created from always means this event.

use super::{
    num::{
        parse_u32,
        Base, //
    },
    parse::is_space, //
};
use kernel::prelude::*;

/// Between two fields.
const SEPARATOR: &[u8] = b"; ";

/// Index of the word of a struct that is its size.
const STRUCT_SIZE: usize = 3;

/// Returns the signature of the fields in a description, which has none without `args`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn of_args(args: Option<&[u8]>) -> Result<KVec<u8>> {
    let args = args.unwrap_or_default();
    // Only a blank after a semicolon is added, and a word precedes each semicolon that is written.
    let max = args.len().saturating_add(args.len() / 2);

    write(KVec::with_capacity(max, GFP_KERNEL)?, [args])
}

/// Returns `true` if the fields in a description have this signature.
///
/// Needs no memory.
pub(crate) fn is_of(signature: &CStr, args: Option<&[u8]>) -> bool {
    compare(signature, args)
}

/// Returns `true` if fields that have been split at white space already have this signature.
///
/// Allocates nothing, so the answer is right even if memory has run out.
pub(crate) fn matches<'a>(signature: &CStr, words: impl IntoIterator<Item = &'a CStr>) -> bool {
    compare(signature, words.into_iter().map(CStr::to_bytes))
}

/// Returns `true` if this is the signature of `texts`.
fn compare<'a>(signature: &CStr, texts: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let compare = Compare {
        rest: Some(signature.to_bytes()),
    };

    match write(compare, texts) {
        Ok(compare) => compare.rest == Some(b""),
        Err(_) => false,
    }
}

/// Writes the signature of `texts` to `sink`. The end of a text separates words like white space.
fn write<'a, S: Sink>(sink: S, texts: impl IntoIterator<Item = &'a [u8]>) -> Result<S> {
    let mut builder = SignatureBuilder {
        sink,
        is_first: true,
        is_struct: false,
        words: 0,
    };

    for text in texts {
        builder.text(text)?;
    }
    Ok(builder.sink)
}

/// The destination of the pieces of a signature.
trait Sink {
    fn put(&mut self, bytes: &[u8]) -> Result;
}

impl Sink for KVec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result {
        Ok(self.extend_from_slice(bytes, GFP_KERNEL)?)
    }
}

/// Compares with another signature.
struct Compare<'a> {
    /// The text that was not compared yet; `None` after a difference.
    rest: Option<&'a [u8]>,
}

impl Sink for Compare<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result {
        self.rest = self.rest.and_then(|rest| rest.strip_prefix(bytes));
        Ok(())
    }
}

/// Builds a signature from words.
struct SignatureBuilder<S> {
    sink: S,
    /// No field has been written yet.
    is_first: bool,
    /// The present field begins with `struct`.
    is_struct: bool,
    /// Words of the present field so far.
    words: usize,
}

impl<S: Sink> SignatureBuilder<S> {
    /// Writes the words and semicolons of a text.
    fn text(&mut self, mut text: &[u8]) -> Result {
        while let Some(end) = text.iter().position(|b| *b == b';' || is_space(*b)) {
            let (word, rest) = text.split_at_checked(end).ok_or(EINVAL)?;
            let (separator, rest) = rest.split_first().ok_or(EINVAL)?;

            if *separator == b';' {
                self.word(word)?;
                self.words = 0;
            } else if !word.is_empty() {
                self.word(word)?;
            }
            text = rest;
        }
        if !text.is_empty() {
            self.word(text)?;
        }
        Ok(())
    }

    /// Writes a word, which is empty for a semicolon without a word.
    fn word(&mut self, word: &[u8]) -> Result {
        if self.words != 0 {
            self.sink.put(b" ")?;
        } else if word.is_empty() {
            return Ok(());
        } else {
            if !self.is_first {
                self.sink.put(SEPARATOR)?;
            }
            self.is_first = false;
            self.is_struct = word == b"struct";
        }

        let is_size = self.is_struct && self.words == STRUCT_SIZE;
        self.words = self.words.saturating_add(1);

        self.sink.put(if is_size { shortest(word) } else { word })
    }
}

/// Returns a decimal number without a leading `+` and zeroes, or any other text unchanged.
fn shortest(text: &[u8]) -> &[u8] {
    if parse_u32(text, Base::Decimal).is_err() {
        return text;
    }

    let digits = text.strip_prefix(b"+").unwrap_or(text);

    match digits.iter().position(|b| *b != b'0') {
        Some(start) => digits.get(start..).unwrap_or_default(),
        None => b"0",
    }
}
