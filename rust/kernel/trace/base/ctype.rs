// SPDX-License-Identifier: GPL-2.0

//! Kinds of characters.
//!
//! C header: [`include/linux/ctype.h`](srctree/include/linux/ctype.h).

/// Returns `true` for white space in commands of C. This is the result of `isspace()`, which uses
/// Latin 1 and so includes a space that is not ASCII.
#[inline]
pub const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}
