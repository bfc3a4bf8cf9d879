// SPDX-License-Identifier: GPL-2.0

//! Trace event declared in Rust.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_trace_event",
    authors: ["Rust for Linux Contributors"],
    description: "Trace event declared in Rust",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
