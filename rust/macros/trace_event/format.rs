// SPDX-License-Identifier: GPL-2.0

//! The conversions in a format of `printk()`.

use syn::{
    Error,
    LitStr,
    Result, //
};

/// The kind of value that a conversion takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    Int,
    Long,
    LongLong,
    Str,
    /// An address, as a value.
    Address,
    /// The address of as many bytes.
    Bytes(usize),
    /// The address of a socket address.
    SocketAddress,
}

/// A conversion, as it is written and what it takes.
pub(super) struct Conversion {
    pub(super) text: String,
    pub(super) takes: Takes,
}

/// Splits a format into its conversions.
pub(super) fn conversions(format: &LitStr) -> Result<Vec<Conversion>> {
    let value = format.value();
    let error = |message: String| Error::new(format.span(), message);
    let mut out = Vec::new();
    let mut rest = value.as_str();

    if value.contains(['\0', '\n']) {
        return Err(error("a print format is one line".into()));
    }
    while let Some(at) = rest.find('%') {
        let from = &rest[at..];
        rest = &from[1..];
        if let Some(next) = rest.strip_prefix('%') {
            rest = next;
            continue;
        }
        rest = rest.trim_start_matches(['-', '+', ' ', '#', '0']);
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some(next) = rest.strip_prefix('.') {
            rest = next.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        if let Some(next) = rest.strip_prefix('*') {
            return Err(error(if next.starts_with('p') {
                "`%*p` is not supported: use `hex(field)`, or a `bitmask` field".into()
            } else {
                "`*` is not supported: write the width".into()
            }));
        }
        let (len, next) = ["hh", "h", "ll", "l", "z"]
            .into_iter()
            .find_map(|len| rest.strip_prefix(len).map(|next| (len, next)))
            .unwrap_or(("", rest));
        rest = next;

        let conversion = rest.chars().next();
        rest = rest.get(1..).unwrap_or_default();
        let takes = match (conversion, len) {
            (Some('d' | 'i' | 'u' | 'x' | 'X' | 'o'), "" | "h" | "hh") => Takes::Int,
            (Some('d' | 'i' | 'u' | 'x' | 'X' | 'o'), "l" | "z") => Takes::Long,
            (Some('d' | 'i' | 'u' | 'x' | 'X' | 'o'), "ll") => Takes::LongLong,
            (Some('c'), "") => Takes::Int,
            (Some('s'), "") => Takes::Str,
            (Some('p'), "") => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                let (kind, next) = pointer(&rest[..end]).ok_or_else(|| {
                    error(format!(
                        "`%p{}` is not supported in a print format",
                        &rest[..end]
                    ))
                })?;
                rest = &rest[next..];
                kind
            }
            _ => {
                let end = from.len() - rest.len();
                return Err(error(format!("`{}` is no conversion", &from[..end])));
            }
        };
        out.push(Conversion {
            text: from[..from.len() - rest.len()].into(),
            takes,
        });
    }
    Ok(out)
}

/// Returns the kind of value that `%p` followed by some of these letters takes, and the number of
/// these letters.
fn pointer(letters: &str) -> Option<(Takes, usize)> {
    // The longest ones first. `printk()` accepts letters after these.
    const KINDS: &[(&str, Takes)] = &[
        ("I6c", Takes::Bytes(16)),
        ("I6", Takes::Bytes(16)),
        ("i6", Takes::Bytes(16)),
        ("I4", Takes::Bytes(4)),
        ("i4", Takes::Bytes(4)),
        ("MR", Takes::Bytes(6)),
        ("MF", Takes::Bytes(6)),
        ("M", Takes::Bytes(6)),
        ("mR", Takes::Bytes(6)),
        ("m", Takes::Bytes(6)),
        ("U", Takes::Bytes(16)),
        ("Ub", Takes::Bytes(16)),
        ("UB", Takes::Bytes(16)),
        ("Ul", Takes::Bytes(16)),
        ("UL", Takes::Bytes(16)),
        ("S", Takes::Address),
        ("s", Takes::Address),
        ("x", Takes::Address),
        ("K", Takes::Address),
    ];

    if letters.is_empty() {
        return Some((Takes::Address, 0));
    }
    if let Some(flags) = letters.strip_prefix("IS").or(letters.strip_prefix("iS")) {
        let known = flags.chars().all(|c| matches!(c, 'p' | 'f' | 's' | 'c'));

        return known.then_some((Takes::SocketAddress, letters.len()));
    }
    KINDS
        .iter()
        .find(|(text, _)| letters == *text)
        .map(|(text, takes)| (*takes, text.len()))
}
