// SPDX-License-Identifier: GPL-2.0

//! The same events in C and in Rust.

use kernel::prelude::*;

module! {
    type: EventTest,
    name: "rust_event_test",
    authors: ["Rust for Linux Contributors"],
    description: "The same events in C and in Rust",
    license: "GPL",
}

struct EventTest;

impl kernel::Module for EventTest {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(EventTest)
    }
}
