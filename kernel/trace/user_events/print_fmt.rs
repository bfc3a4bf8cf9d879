// SPDX-License-Identifier: GPL-2.0

//! Texts that show the fields of an event: the print format and the declaration.
//!
//! The print format is for tools, which find it in the `format` file and do with it what a kernel
//! would have done with `printk`. The kernel itself prints user events by their fields.
//!
//! All pieces are ASCII without what would have to be quoted: parsing made sure of it.

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
    str::CString,
    trace::field::FieldDef, //
};

/// The print format: `"a=%d b=%s", REC->a, __get_str(b)`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn text(layout: &Layout) -> Result<CString> {
    CString::try_from_fmt(fmt!("{}", PrintFmt(&layout.fields)))
}

struct PrintFmt<'a>(&'a [FieldDef]);

impl Display for PrintFmt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for (i, field) in self.0.iter().enumerate() {
            if i != 0 {
                f.write_char(' ')?;
            }
            Display::fmt(&*field.name, f)?;
            f.write_char('=')?;
            f.write_str(conversion(field.ty.to_bytes()))?;
        }
        f.write_char('"')?;

        for field in self.0 {
            f.write_str(", ")?;
            match string_macro(field.ty.to_bytes()) {
                Some(name) => {
                    f.write_str(name)?;
                    f.write_char('(')?;
                    Display::fmt(&*field.name, f)?;
                    f.write_char(')')?;
                }
                None => {
                    f.write_str("REC->")?;
                    Display::fmt(&*field.name, f)?;
                }
            }
        }
        Ok(())
    }
}

/// Shows a [signature](super::signature) behind the name of the event, as in `dynamic_events`:
/// a blank and the fields, or nothing if there are none.
pub(crate) struct Declaration<'a>(pub(crate) &'a CStr);

impl Display for Declaration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_char(' ')?;
        Display::fmt(self.0, f)
    }
}
