// SPDX-License-Identifier: GPL-2.0

//! Names the file of the kernel's own `SetOnce`, which is compiled as it is.

use std::{
    env,
    fs,
    path::Path, //
};

fn main() {
    let linux = env::var("MODELS_LINUX").expect("MODELS_LINUX is the folder of the kernel source");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let file = Path::new(&linux).join("rust/kernel/sync/set_once.rs");

    println!("cargo::rustc-cfg=CONFIG_TRACER_SNAPSHOT");
    println!("cargo::rerun-if-env-changed=MODELS_LINUX");
    println!("cargo::rerun-if-changed={}", file.display());
    fs::write(
        Path::new(&out).join("set_once.rs"),
        format!("#[path = {:?}]\nmod set_once;\n", file),
    )
    .expect("OUT_DIR can be written");
}
