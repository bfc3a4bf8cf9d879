// SPDX-License-Identifier: GPL-2.0

//! Event trigger.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_event_trigger",
    authors: ["Rust for Linux Contributors"],
    description: "Event trigger",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
