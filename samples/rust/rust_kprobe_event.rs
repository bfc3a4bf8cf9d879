// SPDX-License-Identifier: GPL-2.0

//! Kprobe and kretprobe events from kernel code.
//!
//! As `kernel/trace/kprobe_event_gen_test.c` does, this creates an event for the entry of a
//! function and one for its return, and enables both. The function is one that opens files.
//!
//! ```sh
//! modprobe rust_kprobe_event
//! cd /sys/kernel/tracing
//! cat trace               # a record of each for every file that was opened
//! cat kprobe_events
//! rmmod rust_kprobe_event # disables and deletes the events
//! ```

use kernel::{
    prelude::*,
    trace::kprobe::{
        Builder,
        KprobeEvent, //
    },
};

module! {
    type: KprobeSample,
    name: "rust_kprobe_event",
    authors: ["Rust for Linux Contributors"],
    description: "Kprobe and kretprobe events from kernel code",
    license: "GPL",
}

/// The function that is probed.
const FUNCTION: &CStr = c"do_sys_openat2";

/// The events exist as long as the module is loaded: dropping them disables and deletes them.
struct KprobeSample {
    _entered: KprobeEvent,
    _returned: KprobeEvent,
}

impl kernel::Module for KprobeSample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // `$argN` is known where functions take their arguments in registers.
        let entered = Builder::new(c"rust_gen_kprobe", FUNCTION)?
            .field(c"dfd=$arg1:s32")?
            .field(c"filename=+0($arg2):ustring")?
            .create()?;
        let returned = Builder::new_return(c"rust_gen_kretprobe", FUNCTION)?
            .field(c"$retval")?
            .create()?;

        entered.set_enabled(true)?;
        returned.set_enabled(true)?;
        Ok(Self {
            _entered: entered,
            _returned: returned,
        })
    }
}
