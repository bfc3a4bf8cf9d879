// SPDX-License-Identifier: GPL-2.0

//! The text that describes an event.
//!
//! ```text
//! description = name [ " " fields ]
//! fields      = [ field ] *( ";" [ field ] )
//! field       = type " " name                        ; any type but a struct
//!             / "struct " tag " " name " " size      ; size in decimal
//! ```
//!
//! A name is one that can be the name of a directory, see [`check_name`]. The fields are turned
//! into a [`Layout`]: they follow each other without gaps after the common header of a record.
//!
//! Everything here is a function of bytes. The result borrows the texts from the description.

mod field;
mod layout;

pub(crate) use layout::{
    fields,
    Layout, //
};

use super::defs::{
    MULTI_SUFFIX_MAX,
    NAME_MAX, //
};
use kernel::prelude::*;

/// Names that the directory of a system has for other things.
const TAKEN: [&[u8]; 4] = [b".", b"..", b"enable", b"filter"];

/// Splits a description into the name of an event and its fields. Newlines at its end do not count.
///
/// # Errors
///
/// `EINVAL` for a colon in the name: flags would follow it, and none exist.
pub(crate) fn split(description: &[u8]) -> Result<(&[u8], Option<&[u8]>)> {
    let end = description.iter().rposition(|b| *b != b'\n');
    let description = end.and_then(|end| description.get(..=end));
    let mut parts = description.unwrap_or_default().splitn(2, |b| *b == b' ');
    let name = parts.next().unwrap_or_default();

    if name.contains(&b':') {
        return Err(EINVAL);
    }
    Ok((name, parts.next()))
}

/// Checks that a name can be that of a directory in tracefs, and that it can be found again.
///
/// It has up to 255 bytes, with the suffix that an event of several formats (`multi`) gets. They
/// are UTF-8, without slashes, colons, white space and control characters, so every list of events
/// still has one line for each. An event without suffix must not hide a file of its system, or be
/// `.` or `..`.
///
/// # Errors
///
/// `EINVAL`.
pub(crate) fn check_name(name: &[u8], multi: bool) -> Result {
    let (max, is_taken) = if multi {
        (NAME_MAX.saturating_sub(MULTI_SUFFIX_MAX), false)
    } else {
        (NAME_MAX, TAKEN.contains(&name))
    };

    if (1..=max).contains(&name.len()) && all_chars(name, is_name) && !is_taken {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// Returns `true` if `text` is UTF-8 and `pred` returns `true` for all of its characters. Most
/// texts are ASCII, which is not decoded.
fn all_chars(text: &[u8], pred: impl Fn(char) -> bool) -> bool {
    text.iter().all(|b| b.is_ascii() && pred(char::from(*b)))
        || core::str::from_utf8(text).is_ok_and(|text| text.chars().all(pred))
}

/// Returns `true` for characters other than white space and control characters.
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_graphic()
    } else {
        !(c.is_whitespace() || c.is_control())
    }
}

/// Returns `true` if the name of an event may have `c`.
fn is_name(c: char) -> bool {
    is_visible(c) && !matches!(c, '/' | ':')
}

/// Returns `true` for white space of ASCII. `isspace()` of C, which some functions there use,
/// includes 0xa0: see the row `ascii-blanks` of `Documentation/trace/rust/deviations.rst`.
pub(super) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}
