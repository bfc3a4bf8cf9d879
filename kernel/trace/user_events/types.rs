// SPDX-License-Identifier: GPL-2.0

//! The types that a field can have.
//!
//! A type is known by its text: the text is what matching compares, what `format` shows, and what
//! tools parse. [`Type::of`] is the one place where the text is interpreted; size, filter, checks
//! and print conversion follow from the result.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h)

use super::{
    defs::MAX_FIELD_ARRAY_SIZE,
    num::{
        parse_u32,
        Base, //
    },
};
use kernel::{
    prelude::*,
    trace::builtin::field::FilterKind, //
};

/// The prefix of a `struct` type; a tag follows, and a size after the name of the field.
pub(super) const STRUCT: &[u8] = b"struct ";

/// The prefix of a location relative to the record.
const DATA_LOC: &[u8] = b"__data_loc ";

/// The prefix of a location relative to its own end.
const REL_LOC: &[u8] = b"__rel_loc ";

/// The prefixes of types of two or three words, which one more word follows. If two begin alike,
/// the longer one is first.
pub(super) const WORDS: [&[u8]; 6] = [
    b"unsigned ",
    STRUCT,
    b"__data_loc unsigned ",
    DATA_LOC,
    b"__rel_loc unsigned ",
    REL_LOC,
];

/// Longest text of an array after its `[`, including the `]`.
const MAX_ARRAY_TEXT: usize = 7;

/// Size of a location word.
const LOC_SIZE: u32 = 4;

/// Print conversion of a string.
const STRING: &str = "%s";

/// Print conversion of all that has none of its own.
const UNKNOWN: &str = "%llu";

/// A type without parameters.
struct Scalar {
    size: u32,
    conversion: &'static str,
}

/// Returns size and conversion of a type without parameters. `long` is not accepted, as its size
/// differs between user space and the kernel.
fn scalar(text: &[u8]) -> Option<Scalar> {
    let (size, conversion) = match text {
        b"s64" => (8, "%lld"),
        b"u64" => (8, "%llu"),
        b"s32" | b"int" => (4, "%d"),
        b"u32" | b"unsigned int" => (4, "%u"),
        b"s16" | b"short" => (2, "%d"),
        b"u16" | b"unsigned short" => (2, "%u"),
        b"s8" | b"char" => (1, "%d"),
        b"u8" | b"unsigned char" => (1, "%u"),
        _ => return None,
    };

    Some(Scalar { size, conversion })
}

/// The base of the offset in a location word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The start of the record, with its common header (`__data_loc`).
    Record,
    /// The end of the location word (`__rel_loc`).
    Word,
}

/// An interpreted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A number, or bytes that are treated as one.
    Scalar {
        /// Size in bytes.
        size: u32,
    },
    /// `char[N]` or `unsigned char[N]`: a string in the record itself.
    Array {
        /// Number of elements, which is the size in bytes.
        len: u32,
    },
    /// The place of data after the fields.
    Location {
        /// The base of the offset.
        origin: Origin,
        /// The data is a string: its last byte has to be NUL.
        string: bool,
    },
    /// `struct <tag>`: opaque bytes, whose number is told with the field.
    Struct,
}

impl Type {
    /// Parses the text of a type.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no such type exists.
    pub(crate) fn of(text: &[u8]) -> Result<Self> {
        if let Some(scalar) = scalar(text) {
            return Ok(Type::Scalar { size: scalar.size });
        }

        if text.starts_with(STRUCT) {
            return Ok(Type::Struct);
        }

        if let Some((origin, data)) = location(text) {
            return Ok(Type::Location {
                origin,
                string: contains(data, b"char"),
            });
        }

        let array = text
            .strip_prefix(b"unsigned ")
            .unwrap_or(text)
            .strip_prefix(b"char[")
            .ok_or(EINVAL)?;

        Ok(Type::Array {
            len: array_len(array)?,
        })
    }

    /// Returns the size of the field in bytes, or `None` for a `struct`, whose size is not in the
    /// type.
    pub(crate) fn size(self) -> Option<u32> {
        match self {
            Type::Scalar { size } => Some(size),
            Type::Array { len } => Some(len),
            Type::Location { .. } => Some(LOC_SIZE),
            Type::Struct => None,
        }
    }

    /// Returns the number of elements to show for an array, or 0 for other types.
    pub(crate) fn len(self) -> u32 {
        match self {
            Type::Array { len } => len,
            _ => 0,
        }
    }

    /// Returns the kind of the field for filters and histograms.
    ///
    /// This follows from the type, not from words that its text happens to contain: a string is
    /// only what has been checked to be one when a record is written.
    pub(crate) fn filter(self) -> FilterKind {
        match self {
            Type::Array { .. } => FilterKind::StaticString,
            Type::Location {
                origin: Origin::Record,
                string: true,
            } => FilterKind::DynString,
            Type::Location {
                origin: Origin::Word,
                string: true,
            } => FilterKind::RelDynString,
            _ => FilterKind::Other,
        }
    }
}

/// Returns the origin of a location, and the type of the data there.
fn location(text: &[u8]) -> Option<(Origin, &[u8])> {
    if let Some(data) = text.strip_prefix(DATA_LOC) {
        Some((Origin::Record, data))
    } else {
        Some((Origin::Word, text.strip_prefix(REL_LOC)?))
    }
}

/// Returns `true` if tracing treats a type as signed: all except those that begin with a `u`.
pub(crate) fn is_signed(text: &[u8]) -> bool {
    text.first() != Some(&b'u')
}

/// Returns the print conversion of a type.
pub(crate) fn conversion(text: &[u8]) -> &'static str {
    match scalar(text) {
        Some(scalar) => scalar.conversion,
        None if contains(text, b"char[") => STRING,
        None => UNKNOWN,
    }
}

/// Returns the macro that locates the string of a field in the print format, if it is not in the
/// field itself.
pub(crate) fn string_macro(text: &[u8]) -> Option<&'static str> {
    match location(text)? {
        (origin, data) if contains(data, b"char") => Some(match origin {
            Origin::Record => "__get_str",
            Origin::Word => "__get_rel_str",
        }),
        _ => None,
    }
}

/// Returns `true` if `needle` is in `text`.
fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len().max(1)).any(|w| w == needle)
}

/// Returns the number of elements from the text after the `[` of an array.
fn array_len(text: &[u8]) -> Result<u32> {
    if text.len() > MAX_ARRAY_TEXT {
        return Err(EINVAL);
    }

    let number = text.strip_suffix(b"]").ok_or(EINVAL)?;

    match parse_u32(number, Base::Auto) {
        Ok(len) if (1..=MAX_FIELD_ARRAY_SIZE).contains(&len) => Ok(len),
        _ => Err(EINVAL),
    }
}
