// SPDX-License-Identifier: GPL-2.0

//! Operations on the top instance only.
//!
//! C headers: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h),
//! [`include/linux/trace_printk.h`](srctree/include/linux/trace_printk.h).

#[cfg(CONFIG_TRACER_SNAPSHOT)]
use super::super::raw;
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// Enables or disables events in the top instance, as [`InstanceRef::set_event`] does. Sleeps:
/// takes `event_mutex`.
///
/// # Errors
///
/// As for [`InstanceRef::set_event`]; `ENODEV` if the top instance does not exist.
///
/// [`InstanceRef::set_event`]: super::InstanceRef::set_event
pub fn set_event(system: Option<&CStr>, event: Option<&CStr>, on: bool) -> Result {
    // SAFETY: The names are strings, which C only compares, or null.
    to_result(unsafe {
        bindings::trace_set_clr_event(
            system.map_or(core::ptr::null(), |name| name.as_char_ptr()),
            event.map_or(core::ptr::null(), |name| name.as_char_ptr()),
            on.into(),
        )
    })
}

/// Enables the buffers of the top instance again after [`tracing_off`], as the file `tracing_on`
/// does. Any context.
pub fn tracing_on() {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::tracing_on() };
}

/// Disables the buffers of the top instance, which keep their records and refuse new ones. Any
/// context.
///
/// Code that writes records continues, and is refused.
pub fn tracing_off() {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::tracing_off() };
}

/// Returns `true` if the top instance accepts records. A hint: it can change at any time.
pub fn is_on() -> bool {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::tracing_is_on() != 0 }
}

/// Takes a snapshot of the top instance by swapping its buffers with those that the file
/// `snapshot` shows. Any context; in an NMI it takes none, but writes a message to the trace.
///
/// Buffers to swap with must have been allocated: [`alloc_snapshot`] allocates them, as writing to
/// that file does. Without them tracing is turned off, so that nothing of it is lost.
#[cfg(CONFIG_TRACER_SNAPSHOT)]
pub fn snapshot() {
    // SAFETY: The function has no safety requirements.
    unsafe { bindings::tracing_snapshot() };
}

/// Allocates the buffers that [`snapshot`] swaps, if they do not exist, without taking a snapshot.
/// Sleeps.
///
/// # Errors
///
/// `ENOMEM`; C warns then.
#[cfg(CONFIG_TRACER_SNAPSHOT)]
pub fn alloc_snapshot() -> Result {
    // SAFETY: The function only requires a context that can sleep.
    to_result(unsafe { raw::tracing_alloc_snapshot() })
}

/// Takes a [snapshot], after allocating the buffers if they do not exist. Sleeps. Without memory
/// no snapshot is taken, and C warns.
#[cfg(CONFIG_TRACER_SNAPSHOT)]
pub fn snapshot_alloc() {
    // SAFETY: The function only requires a context that can sleep.
    unsafe { bindings::tracing_snapshot_alloc() };
}
