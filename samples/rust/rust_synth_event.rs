// SPDX-License-Identifier: GPL-2.0

//! Synthetic event.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_synth_event",
    authors: ["Rust for Linux Contributors"],
    description: "Synthetic event",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
