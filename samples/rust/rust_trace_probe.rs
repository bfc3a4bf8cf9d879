// SPDX-License-Identifier: GPL-2.0

//! Probe on a tracepoint.

use kernel::prelude::*;

module! {
    type: Sample,
    name: "rust_trace_probe",
    authors: ["Rust for Linux Contributors"],
    description: "Probe on a tracepoint",
    license: "GPL",
}

struct Sample;

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Sample)
    }
}
