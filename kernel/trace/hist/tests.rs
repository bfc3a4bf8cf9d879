// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what is a function of bytes and numbers, and of the map.

mod action;
mod clauses;
mod columns;
mod eval;
mod expr;
mod map;
mod matching;
mod program;
mod quantiles;
mod span;

use kernel::{
    prelude::*,
    str::BStr, //
};

/// Returns `true` if the text is this one, otherwise prints both.
fn same(text: &[u8], is: &[u8]) -> bool {
    let ok = text == is;

    if !ok {
        pr_err!(
            "failed: [{}] is not [{}]\n",
            BStr::from_bytes(text),
            BStr::from_bytes(is)
        );
    }
    ok
}
