// SPDX-License-Identifier: GPL-2.0

//! Numbers in the text of an event.
//!
//! They are what `kstrtouint` takes, but without a newline at the end: inside of a field white
//! space only separates.

use kernel::{
    prelude::*,
    str::kstrtox, //
};

pub(crate) use kernel::str::kstrtox::{
    hex,
    Base, //
};

/// Parses an unsigned number.
///
/// One `+` may precede it, and nothing else.
///
/// # Errors
///
/// `EINVAL` for what is no number, `ERANGE` for one that does not fit.
pub(crate) fn parse_u32(text: &[u8], base: Base) -> Result<u32> {
    let (value, rest) = kstrtox::parse_u64(text, base)?;

    if !rest.is_empty() {
        return Err(EINVAL);
    }
    u32::try_from(value).map_err(|_| ERANGE)
}
