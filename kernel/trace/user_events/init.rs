// SPDX-License-Identifier: GPL-2.0

//! Initialization: the files, the kind of dynamic event and the sysctl.
//!
//! C header: [`include/linux/user_events.h`](srctree/include/linux/user_events.h)

use super::{
    event,
    exports,
    faults,
    file,
    losses,
    patterns,
    reaper,
    registry,
    status,
    unused, //
};
use kernel::prelude::*;

/// Starts the subsystem. Called once by C, at the fs level of the initcalls.
///
/// # Safety
///
/// The function has no requirement: it is unsafe because functions that C calls are.
#[export]
unsafe extern "C" fn user_events_rust_init() -> c_int {
    kernel::error::from_result(|| init().map(|()| 0))
}

/// Creates the files, the event kind and the sysctl.
fn init() -> Result {
    faults::init(exports::may_warn)?;
    reaper::init()?;
    unused::init()?;
    registry::init()?;
    patterns::init()?;

    if let Err(e) = create_files() {
        pr_warn!("could not register with tracefs\n");
        return Err(e);
    }

    if event::KIND.register().is_err() {
        pr_warn!("could not register with dyn_events\n");
    }

    registry::init_sysctl();

    Ok(())
}

/// Creates `user_events_data`, `user_events_status` and `user_events_losses`: all or none.
fn create_files() -> Result {
    let data = file::create()
        .inspect_err(|_| pr_warn!("Could not create tracefs 'user_events_data' entry\n"))?;
    let status = status::create()
        .inspect_err(|_| pr_warn!("Could not create tracefs 'user_events_status' entry\n"))?;
    let losses = losses::create()
        .inspect_err(|_| pr_warn!("Could not create tracefs 'user_events_losses' entry\n"))?;

    // They stay as long as the kernel runs.
    core::mem::forget((data, status, losses));

    Ok(())
}
