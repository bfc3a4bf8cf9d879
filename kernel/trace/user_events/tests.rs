// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what is a function of bytes: the texts, the layout of records, the arithmetic of
//! enable bits, the table.

mod defs;
mod layout;
mod parse;
mod signature;
mod table;
mod text;
mod validate;

use kernel::prelude::*;

/// Tells which row of a table a failed assertion is about.
fn row(what: &str, ok: bool) -> bool {
    if !ok {
        pr_err!("failed: [{}]\n", what);
    }
    ok
}
