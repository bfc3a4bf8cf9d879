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
//! into a [`Layout`]: they follow each other without gaps behind the common header of a record.
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

/// Names that the control files of the directory of a system have.
const CONTROL_FILES: [&[u8]; 2] = [b"enable", b"filter"];

/// Splits a description into the name of an event and its fields.
///
/// # Errors
///
/// `EINVAL` for a colon in the name: flags would follow it, and there are none.
pub(crate) fn split(description: &[u8]) -> Result<(&[u8], Option<&[u8]>)> {
    let mut parts = description.splitn(2, |b| *b == b' ');
    let name = parts.next().unwrap_or_default();

    if name.contains(&b':') {
        return Err(EINVAL);
    }
    Ok((name, parts.next()))
}

/// Checks that a name can be that of a directory in tracefs, and that it can be found again.
///
/// It has up to 255 characters, with the suffix that an event of several formats (`multi`) gets.
/// They are letters and digits (of ASCII), underscores, dots and minus signs; the first one is not
/// a dot or a minus sign. An event without suffix must not hide a file of its system.
///
/// # Errors
///
/// `EINVAL`.
pub(crate) fn check_name(name: &[u8], multi: bool) -> Result {
    let (max, hides) = if multi {
        (NAME_MAX.saturating_sub(MULTI_SUFFIX_MAX), false)
    } else {
        (NAME_MAX, CONTROL_FILES.contains(&name))
    };
    let (first, others) = name.split_first().ok_or(EINVAL)?;

    if name.len() <= max && is_word(*first) && others.iter().all(|b| is_name(*b)) && !hides {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// Letter, digit or underscore.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// What the name of an event is made of.
fn is_name(b: u8) -> bool {
    is_word(b) || b == b'.' || b == b'-'
}

/// White space of ASCII. `isspace()` of C, which some places there use, takes 0xa0 for it as well:
/// see the row `ascii-blanks` of `Documentation/trace/rust/deviations.rst`.
pub(super) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}
