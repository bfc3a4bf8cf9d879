// SPDX-License-Identifier: GPL-2.0

//! The grammar of one field.

use super::{
    super::{
        num::{
            parse_u32,
            Base, //
        },
        types::{
            Type,
            WORDS, //
        }, //
    },
    all_chars,
    is_space,
    is_visible, //
};
use kernel::prelude::*;

/// Names of the fields that all events have.
const COMMON: [&[u8]; 4] = [
    b"common_type",
    b"common_flags",
    b"common_preempt_count",
    b"common_pid",
];

/// A field as it is written, and what it means.
pub(super) struct Field<'a> {
    /// Text of the type.
    pub(super) text: &'a [u8],
    /// The type.
    pub(super) ty: Type,
    /// Name of the field.
    pub(super) name: &'a [u8],
    /// Size in bytes, not 0.
    pub(super) size: u32,
}

impl<'a> Field<'a> {
    /// Parses a field, the text between two semicolons. Returns `None` if it is empty.
    ///
    /// Its parts are separated by exactly one blank each; white space before the first part does
    /// not matter.
    ///
    /// # Errors
    ///
    /// `EINVAL`.
    pub(super) fn parse(text: &'a [u8]) -> Result<Option<Self>> {
        let Some(start) = text.iter().position(|b| !is_space(*b)) else {
            return Ok(None);
        };
        let (text, rest) = split_type(text.get(start..).unwrap_or_default()).ok_or(EINVAL)?;
        let ty = Type::of(text)?;

        let mut parts = rest.split(|b| *b == b' ');
        let name = parts.next().unwrap_or_default();
        let size = match (ty.size(), parts.next(), parts.next()) {
            (Some(size), None, None) => size,
            (None, Some(size), None) => parse_u32(size, Base::Decimal).map_err(|_| EINVAL)?,
            _ => return Err(EINVAL),
        };

        if size == 0 || !is_type(text) || !is_field_name(name) {
            return Err(EINVAL);
        }

        Ok(Some(Self {
            text,
            ty,
            name,
            size,
        }))
    }
}

/// Splits the type, which must be complete, from the rest after a blank.
fn split_type(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let words = WORDS
        .iter()
        .find(|words| text.starts_with(words))
        .map_or(0, |words| words.len());
    let word = text.get(words..)?.iter().position(|b| *b == b' ')?;
    let end = words.checked_add(word)?;

    if word == 0 {
        return None;
    }
    Some((text.get(..end)?, text.get(end.checked_add(1)?..)?))
}

/// Returns `true` if `name` is a valid name of a field.
///
/// It becomes part of the print format and of the `format` file, and is looked up by the text of
/// filters and triggers. Bytes that would end or change these texts are not accepted, nor is the
/// name of another field. `char *p` has always meant a field `*p`.
fn is_field_name(name: &[u8]) -> bool {
    let harmless =
        |c| is_visible(c) && !matches!(c, '"' | '\'' | '%' | '\\' | ',' | '(' | ')' | '[' | ']');

    !name.is_empty() && all_chars(name, harmless) && !COMMON.contains(&name)
}

/// Returns `true` if all characters of a type are permitted.
fn is_type(text: &[u8]) -> bool {
    all_chars(text, |c| is_visible(c) || c == ' ')
}
