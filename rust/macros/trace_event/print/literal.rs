// SPDX-License-Identifier: GPL-2.0

//! Literals of Rust as they are written in C.

use syn::{
    Error,
    LitStr,
    Result, //
};

use super::{
    plain,
    Piece, //
};

/// Returns a string as it is written in C.
pub(super) fn quoted(literal: &LitStr) -> Result<Piece> {
    let mut text = String::from("\"");

    for c in literal.value().chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => {
                return Err(Error::new(
                    literal.span(),
                    "the only control characters allowed are `\\t` and `\\n`",
                ))
            }
            c => text.push(c),
        }
    }
    text.push('"');
    Ok(plain(text))
}

/// Returns a string as it is written in C, or an error for characters that tools print with a
/// backslash.
pub(super) fn quoted_plain(literal: &LitStr) -> Result<Piece> {
    if literal.value().contains(['"', '\\', '\t', '\n']) {
        return Err(Error::new(
            literal.span(),
            "tools would print a backslash for this character",
        ));
    }
    quoted(literal)
}

/// Returns a text that is already C, or an error if it is not one line of ASCII.
pub(super) fn given(literal: &LitStr) -> Result<String> {
    let text = literal.value();

    if text.is_empty() || !text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return Err(Error::new(
            literal.span(),
            "a text in C is one line of ASCII characters",
        ));
    }
    Ok(text)
}

/// Returns a number of Rust as it is written in C.
pub(super) fn c_number(text: &str, suffix: &str) -> String {
    let digits = text.strip_suffix(suffix).unwrap_or(text).replace('_', "");

    if let Some(binary) = digits.strip_prefix("0b") {
        u128::from_str_radix(binary, 2).map_or(digits.clone(), |value| format!("{value:#x}"))
    } else if let Some(octal) = digits.strip_prefix("0o") {
        format!("0{octal}")
    } else {
        digits
    }
}
