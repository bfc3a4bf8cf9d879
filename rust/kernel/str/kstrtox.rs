// SPDX-License-Identifier: GPL-2.0

//! Unsigned numbers as `kstrtoull` reads them, and as `%x` writes them.
//!
//! [`ParseInt`](super::parse_int::ParseInt) takes `0o` and `0b` as well, and a text that is nothing
//! but a number.
//!
//! C header: [`include/linux/kstrtox.h`](srctree/include/linux/kstrtox.h)

use crate::prelude::*;

/// The base of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Hexadecimal after `0x`, octal after another `0`, else decimal.
    Auto,
    /// Decimal, also after a `0`.
    Decimal,
}

/// Parses the number that `text` begins with, and returns it and the text after its last digit.
///
/// One `+` may precede it. What may follow is for the caller to say: `kstrtoull` takes one newline.
///
/// # Errors
///
/// `ERANGE` if the number is too large, `EINVAL` if the text has none.
///
/// # Examples
///
/// ```
/// use kernel::str::kstrtox::{parse_u64, Base};
///
/// assert_eq!(parse_u64(b"0x1f\n", Base::Auto), Ok((31, &b"\n"[..])));
/// assert_eq!(parse_u64(b"+017", Base::Auto), Ok((15, &b""[..])));
/// assert_eq!(parse_u64(b"+017", Base::Decimal), Ok((17, &b""[..])));
/// assert_eq!(parse_u64(b"-1", Base::Auto), Err(EINVAL));
/// assert_eq!(parse_u64(b"18446744073709551616", Base::Auto), Err(ERANGE));
/// ```
pub fn parse_u64(text: &[u8], base: Base) -> Result<(u64, &[u8])> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (radix, text) = match base {
        Base::Auto => split_radix(text),
        Base::Decimal => (10, text),
    };
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

    if digits.is_empty() {
        return Err(EINVAL);
    }
    Ok((value.ok_or(ERANGE)?, rest))
}

/// Returns the radix of a number and its digits, without a prefix of the radix.
fn split_radix(text: &[u8]) -> (u32, &[u8]) {
    match text {
        // Without a digit after it the `0` is a number and the `x` is not part of it.
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, digits)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    }
}

/// Returns the value of a digit, or `None` if it is none of this radix.
fn digit(byte: u8, radix: u32) -> Option<u32> {
    char::from(byte).to_digit(radix)
}

/// Writes the hexadecimal digits of a number to the end of `buffer`, without leading zeroes, and
/// returns them.
///
/// # Examples
///
/// ```
/// use kernel::str::kstrtox::hex;
///
/// assert_eq!(hex(0, &mut [0; 16]), b"0");
/// assert_eq!(hex(0x1f0, &mut [0; 16]), b"1f0");
/// ```
pub fn hex(mut value: u64, buffer: &mut [u8; 16]) -> &[u8] {
    let mut start = 0;

    for (at, digit) in buffer.iter_mut().enumerate().rev() {
        // CAST: These are four bits.
        *digit = match (value & 0xf) as u8 {
            low @ 0..=9 => b'0'.wrapping_add(low),
            high => b'a'.wrapping_add(high.wrapping_sub(10)),
        };
        start = at;
        value >>= 4;
        if value == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}
