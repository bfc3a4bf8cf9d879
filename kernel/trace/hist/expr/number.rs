// SPDX-License-Identifier: GPL-2.0

//! Numbers in a command: what `kstrtoull` takes.

use kernel::{
    prelude::*,
    str::kstrtox::{
        self,
        Base, //
    }, //
};

/// Reads a number: hexadecimal after `0x`, octal after another `0`, else decimal.
///
/// There may be one `+` in front of it and one newline behind it.
///
/// # Errors
///
/// `ERANGE` if the digits in front are too large a number, else `EINVAL` for what is no number.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64> {
    match kstrtox::parse_u64(text, Base::Auto)? {
        (value, b"" | b"\n") => Ok(value),
        _ => Err(EINVAL),
    }
}
