// SPDX-License-Identifier: GPL-2.0

//! The options of the kernel that the models are compiled with.

fn main() {
    println!("cargo::rustc-cfg=CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST");
}
