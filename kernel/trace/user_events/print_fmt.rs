// SPDX-License-Identifier: GPL-2.0

//! Texts that show the fields of an event: the print format and the declaration.
//!
//! The print format is for tools, which find it in the `format` file and do with it what a kernel
//! would have done with `printk`. The kernel itself prints user events by their fields.
//!
//! All pieces are UTF-8 without what would have to be quoted: parsing has checked that.

use super::{
    parse::Layout,
    types::{
        conversion,
        string_macro, //
    }, //
};
use kernel::{
    fmt::{
        self,
        Display,
        Write as _, //
    },
    prelude::*,
};

/// An upper bound of the text of a field in a print format, besides twice its name: `a=%llu `, `,
/// __get_rel_str(a)`.
const FIELD_OVERHEAD: usize = 24;

/// Returns the print format, such as `"a=%d b=%s", REC->a, __get_str(b)`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn text(layout: &Layout<'_>) -> Result<KVec<u8>> {
    let len = layout.fields.iter().fold(b"\"\"".len(), |len, field| {
        len.saturating_add(field.name.len().saturating_mul(2))
            .saturating_add(FIELD_OVERHEAD)
    });
    let mut text = FormatBuf(KVec::with_capacity(len, GFP_KERNEL)?);

    text.byte(b'"')?;
    for (i, field) in layout.fields.iter().enumerate() {
        if i != 0 {
            text.byte(b' ')?;
        }
        text.put(field.name)?;
        text.byte(b'=')?;
        text.put(conversion(field.ty).as_bytes())?;
    }
    text.byte(b'"')?;

    for field in &layout.fields {
        match string_macro(field.ty) {
            Some(name) => {
                text.put(b", ")?;
                text.put(name.as_bytes())?;
                text.byte(b'(')?;
                text.put(field.name)?;
                text.byte(b')')?;
            }
            None => {
                text.put(b", REC->")?;
                text.put(field.name)?;
            }
        }
    }
    Ok(text.0)
}

/// A text that is being built.
struct FormatBuf(KVec<u8>);

impl FormatBuf {
    fn byte(&mut self, byte: u8) -> Result {
        Ok(self.0.push(byte, GFP_KERNEL)?)
    }

    fn put(&mut self, bytes: &[u8]) -> Result {
        Ok(self.0.extend_from_slice(bytes, GFP_KERNEL)?)
    }
}

/// Shows a [signature](super::canonical_fields) as after the name of the event in `dynamic_events`:
/// a blank and the fields, or nothing if the event has no fields.
pub(crate) struct Declaration<'a>(pub(crate) &'a CStr);

impl Display for Declaration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_char(' ')?;
        // All fields are.
        f.write_str(core::str::from_utf8(self.0.to_bytes()).unwrap_or_default())
    }
}
