// SPDX-License-Identifier: GPL-2.0

//! Numbers in a command: what `kstrtoull` takes.
//!
//! C header: [`include/linux/kstrtox.h`](srctree/include/linux/kstrtox.h)

use kernel::prelude::*;

/// Reads a number: hexadecimal after `0x`, octal after another `0`, else decimal.
///
/// There may be one `+` in front of it and one newline behind it.
///
/// # Errors
///
/// `ERANGE` if the digits in front are too large a number, else `EINVAL` for what is no number.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (radix, text) = split_radix(text);
    let n_digits = text
        .iter()
        .position(|byte| digit(*byte, radix).is_none())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(n_digits).ok_or(EINVAL)?;
    let value = digits.iter().try_fold(0u64, |value, byte| {
        value
            .checked_mul(radix.into())?
            .checked_add(digit(*byte, radix)?.into())
    });

    let value = value.ok_or(ERANGE)?;
    if digits.is_empty() || !matches!(rest, b"" | b"\n") {
        return Err(EINVAL);
    }
    Ok(value)
}

/// The radix of a number, and its digits.
fn split_radix(text: &[u8]) -> (u32, &[u8]) {
    match text {
        // Without a digit behind it the `0` is a number and the `x` is not part of it.
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, digits)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    }
}

/// The value of a digit.
fn digit(byte: u8, radix: u32) -> Option<u32> {
    char::from(byte).to_digit(radix)
}
