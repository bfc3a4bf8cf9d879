// SPDX-License-Identifier: GPL-2.0

//! The parts of an event that C knows: adding them to C, and removing them.
//!
//! The memory that C allocates for that, and the credentials, are not charged to the
//! memory cgroup of the task: `event_mutex` is held, so all of tracing would wait for a cgroup at
//! its limit.
//!
//! C source: [`kernel/trace/trace_events.c`](srctree/kernel/trace/trace_events.c).

use crate::{
    bindings,
    cred::scoped::with_root_fsuid,
    error::to_result,
    memcg::Unaccounted,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::{
        builtin::field::List,
        event_mutex::Held,
        tracepoint::Tracepoint, //
    },
    types::{
        Opaque,
        ScopeGuard, //
    },
};

/// The parts of an event that C refers to, in one allocation that does not move.
///
/// It has no room that is not needed: events may be many.
#[pin_data]
pub(super) struct Core {
    pub(super) tracepoint: Tracepoint,
    pub(super) call: Opaque<bindings::trace_event_call>,
    pub(super) dynamic: Opaque<bindings::dyn_event>,
    /// The fields, and the strings of the definition: name, note and print format.
    #[pin]
    pub(super) fields: List,
}

/// Returns `true` if event probes or triggers refer to an event.
///
/// # Safety
///
/// `call` must be initialised.
pub(super) unsafe fn is_busy(call: *mut bindings::trace_event_call) -> bool {
    // SAFETY: By the safety requirements, the call is valid.
    unsafe { bindings::trace_event_dyn_busy(call) }
}

/// Registers an event with C.
///
/// # Safety
///
/// `core` must be linked and not registered, and stay valid until it is removed again if this
/// succeeds.
pub(super) unsafe fn add(core: &Core, held: Held<'_>) -> Result {
    let call = core.call.get();
    let dynamic = core.dynamic.get();
    let _unaccounted = Unaccounted::new();

    // First, as it is what can be taken back without the fields: the list is not being walked.
    //
    // SAFETY: The operations of `dynamic` are set, it is in no list, and `event_mutex` is held.
    to_result(unsafe { bindings::dyn_event_add(dynamic, call) })?;
    // SAFETY: It was just added, and `event_mutex` is held.
    let undo = ScopeGuard::new(|| unsafe { bindings::dyn_event_remove(dynamic) });

    // SAFETY: By the safety requirements, the call is linked, with all print functions,
    // and with a type of 0, which asks for a new one.
    if unsafe { bindings::register_trace_event(&raw mut (*call).event) } == 0 {
        return Err(ENODEV);
    }

    // The process that creates an event need not be allowed to create files in tracefs.
    //
    // SAFETY: By the safety requirements, the call is linked.
    let added = with_root_fsuid(|| unsafe { add_call(core, held) });
    let error = match added.and_then(|added| added) {
        Ok(true) => {
            undo.dismiss();
            return Ok(());
        }
        // C has unregistered it with the call.
        Ok(false) => ENOMEM,
        Err(e) => {
            // SAFETY: It was just registered.
            unsafe { bindings::unregister_trace_event(&raw mut (*call).event) };
            e
        }
    };

    // SAFETY: C no longer knows the call.
    unsafe { clear_type(call) };
    Err(error)
}

/// Adds the call of an event to all instances. Returns `false` if an instance had no memory for
/// it; the call is then removed again, and its type unregistered.
///
/// # Safety
///
/// As for [`add`].
unsafe fn add_call(core: &Core, _held: Held<'_>) -> Result<bool> {
    let call = core.call.get();

    // SAFETY: By the safety requirements, the call is linked, and `event_mutex` is held.
    to_result(unsafe { bindings::trace_add_event_call(call) })?;
    // SAFETY: It was just added, and `event_mutex` is held.
    if unsafe { bindings::trace_event_has_files(call) } {
        return Ok(true);
    }

    // SAFETY: As above.
    let removed = unsafe { bindings::trace_remove_event_call(call) };

    // An event that is in use stays, but this one is not enabled: that takes `event_mutex`.
    Ok(removed != 0)
}

/// Unregisters an event from C.
///
/// # Safety
///
/// `core` must be registered.
pub(super) unsafe fn remove(core: &Core, _held: Held<'_>) -> Result {
    let call = core.call.get();
    let _unaccounted = Unaccounted::new();

    // SAFETY: By the safety requirements, the call is registered, and `event_mutex` is held.
    with_root_fsuid(|| to_result(unsafe { bindings::trace_remove_event_call(call) }))??;

    // SAFETY: By the safety requirements, it is registered, so it is in the list, and `event_mutex`
    // is held.
    unsafe { bindings::dyn_event_remove(core.dynamic.get()) };
    // SAFETY: C no longer knows the call.
    unsafe { clear_type(call) };

    Ok(())
}

/// Clears the type, so that the next registration assigns a new one.
///
/// # Safety
///
/// `call` must be valid, not registered, and `event_mutex` held.
unsafe fn clear_type(call: *mut bindings::trace_event_call) {
    // SAFETY: By the safety requirements, the call is valid; `type_id` may read at the same
    // time, so this is one store.
    unsafe { Atomic::<c_int>::from_ptr(&raw mut (*call).event.type_) }.store(0, Relaxed);
}
