// SPDX-License-Identifier: GPL-2.0

//! Kprobe event.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_kprobe_event",
    authors: ["Rust for Linux Contributors"],
    description: "Kprobe event",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
