// SPDX-License-Identifier: GPL-2.0

//! Numbers in text.
//!
//! Those that are read are what `kstrtouint` takes, but without a newline at the end: inside of a
//! field white space only separates.
//!
//! C header: [`include/linux/kstrtox.h`](srctree/include/linux/kstrtox.h)

use kernel::prelude::*;

/// What a number is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Hexadecimal after `0x`, octal after another `0`, else decimal.
    Auto,
    /// Decimal, also after a `0`.
    Decimal,
}

/// Reads an unsigned number.
///
/// There may be one `+` in front of it, and nothing else.
///
/// # Errors
///
/// `EINVAL` for what is no number, `ERANGE` for one that does not fit.
pub(crate) fn parse_u32(text: &[u8], base: Base) -> Result<u32> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (radix, digits) = split_radix(text, base);

    if digits.is_empty() {
        return Err(EINVAL);
    }

    let mut value = Some(0u32);
    for digit in digits {
        let digit = value_of(*digit).filter(|d| *d < radix).ok_or(EINVAL)?;
        value = value
            .and_then(|v| v.checked_mul(radix))
            .and_then(|v| v.checked_add(digit));
    }

    value.ok_or(ERANGE)
}

/// A number in hexadecimal, in the shortest way.
pub(crate) fn hex(mut value: u64, buffer: &mut [u8; 16]) -> &[u8] {
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

/// The radix of a number without its sign, and its digits.
fn split_radix(text: &[u8], base: Base) -> (u32, &[u8]) {
    if base == Base::Decimal {
        return (10, text);
    }

    match text {
        // Without a digit behind it the `0` is a number and the `x` is not part of it.
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, digits)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    }
}

/// The value of a digit in any radix.
fn value_of(digit: u8) -> Option<u32> {
    let value = match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        b'a'..=b'f' => digit.wrapping_sub(b'a').wrapping_add(10),
        b'A'..=b'F' => digit.wrapping_sub(b'A').wrapping_add(10),
        _ => return None,
    };

    Some(u32::from(value))
}
