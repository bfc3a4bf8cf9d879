// SPDX-License-Identifier: GPL-2.0

//! Commands that are registered and unregistered at run time.

use super::{
    super::event_mutex,
    Command,
    CommandOps, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::raw, //
};

/// A command that trigger files understand, until this is dropped.
///
/// The triggers that it has created stay, and keep its module; only new ones cannot be created, and
/// these not be removed by a line. So a module drops this when it is unloaded, which it cannot be
/// as long as such triggers exist.
///
/// The drop sleeps: it takes `event_mutex`, which must not be held, and so waits for a line that is
/// being executed.
///
/// # Invariants
///
/// `command` is registered.
#[must_use = "the command is unregistered if this is dropped"]
pub struct Registration {
    command: *mut bindings::event_command,
}

// SAFETY: It can be unregistered by any thread.
unsafe impl Send for Registration {}
// SAFETY: A shared reference has no methods.
unsafe impl Sync for Registration {}

impl<T: Command> CommandOps<T> {
    /// Registers the command, which trigger files accept from then on. Sleeps: takes
    /// `event_mutex`.
    ///
    /// # Errors
    ///
    /// `EBUSY` if a command has this name.
    pub fn register(&'static self) -> Result<Registration> {
        // SAFETY: It is complete, and there as long as the code of the module that it is in. That
        // drops what is returned before it is unloaded: a module must not leak it.
        unsafe { register(self.as_raw()) }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Opening a trigger file walks the list of commands with this lock held.
        let _guard = event_mutex::lock();

        // SAFETY: By the type invariant it is registered; names are unique, so it is the one that
        // is found by its own.
        unsafe { raw::unregister_event_command(self.command) };
    }
}

/// Registers a command.
///
/// # Safety
///
/// `command` must be complete, and stay until what is returned is dropped.
unsafe fn register(command: *mut bindings::event_command) -> Result<Registration> {
    let _guard = event_mutex::lock();

    // SAFETY: By the safety requirements, `command` is complete, and valid until the returned value
    // is dropped.
    to_result(unsafe { raw::register_event_command(command) })?;
    // INVARIANT: Just registered.
    Ok(Registration { command })
}
