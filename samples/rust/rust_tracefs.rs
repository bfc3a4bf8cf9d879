// SPDX-License-Identifier: GPL-2.0

//! File in tracefs.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_tracefs",
    authors: ["Rust for Linux Contributors"],
    description: "File in tracefs",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
