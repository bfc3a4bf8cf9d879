// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what is a function of bytes: the texts, the layout of records, the arithmetic of
//! enable bits, the list of enablers, the groups of lines and of users.

mod canonical_fields;
mod defs;
mod faults;
mod groups;
mod layout;
mod parse;
mod patience;
mod patterns;
mod text;
mod validate;
mod visit_list;

use kernel::{
    prelude::*,
    str::CString, //
};

/// Returns a C string of these bytes.
fn c_string(mut bytes: KVec<u8>) -> Result<CString> {
    bytes.push(0, GFP_KERNEL)?;
    CString::from_vec_with_nul(bytes)
}

/// Logs which row of a table a failed assertion is about, and returns `ok`.
fn row(what: &str, ok: bool) -> bool {
    if !ok {
        pr_err!("failed: [{}]\n", what);
    }
    ok
}
