// SPDX-License-Identifier: GPL-2.0

//! The commands `enable_hist` and `disable_hist`.

use super::UNLINKED;
use crate::{
    bindings,
    container_of,
    prelude::*,
    str::as_char_ptr_in_const_context,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::raw,
    types::Opaque, //
};

const HIST: u32 = bindings::event_trigger_type_ETT_EVENT_HIST;
const SWITCH: u32 = bindings::event_trigger_type_ETT_HIST_ENABLE;

/// A command that resumes or pauses the triggers of a command of
/// [`CommandKind::Hist`](super::CommandKind::Hist), for a static.
///
/// `enable_hist:SYSTEM:EVENT[:COUNT] [if FILTER]` does so with all of them that the event it names
/// has in the instance. Everything except the hit is as C has it for `enable_event`. Like a
/// [`CommandOps`](super::CommandOps) it is a `struct event_command` in C, to be registered there.
///
/// # Invariants
///
/// Each field except the list entry, which is C's, never changes.
#[repr(transparent)]
pub struct Switch(Opaque<bindings::event_command>);

// SAFETY: C locks the list entry, and nothing else is changed.
unsafe impl Sync for Switch {}

impl Switch {
    /// Creates the command `enable_hist`.
    pub const fn enable_hist() -> Self {
        Self::new(c"enable_hist")
    }

    /// Creates the command `disable_hist`.
    pub const fn disable_hist() -> Self {
        Self::new(c"disable_hist")
    }

    // C knows which of the two a trigger is of by the name.
    const fn new(name: &'static CStr) -> Self {
        Self(Opaque::new(bindings::event_command {
            list: UNLINKED,
            name: as_char_ptr_in_const_context(name).cast_mut(),
            trigger_type: SWITCH,
            flags: 0,
            parse: Some(bindings::event_enable_trigger_parse),
            reg: Some(bindings::event_enable_register_trigger),
            unreg: Some(bindings::event_enable_unregister_trigger),
            unreg_all: Some(remove_all),
            set_filter: Some(bindings::set_trigger_filter),
            trigger: Some(hit),
            count_func: Some(bindings::event_trigger_count),
            init: Some(bindings::event_trigger_init),
            free: Some(bindings::event_enable_trigger_free),
            print: Some(bindings::event_enable_trigger_print),
        }))
    }
}

/// Changes the triggers of the event that is named.
///
/// # Safety
///
/// `data` must be that of a trigger which C has created for a [`Switch`] and which is not freed
/// concurrently. This CPU must be in a section that events and triggers are kept for.
unsafe extern "C" fn hit(
    data: *mut bindings::event_trigger_data,
    _buffer: *mut bindings::trace_buffer,
    _record: *mut c_void,
    _event: *mut bindings::ring_buffer_event,
) {
    // SAFETY: C has set the private data before the trigger was attached; it does not change, and
    // is freed after a wait for hits. Only then the reference to the event of the file, which
    // cannot be removed before, is dropped. The files of an instance are freed after a wait for
    // hits, too.
    let (file, paused) = unsafe {
        let switch = (*data).private_data.cast::<bindings::enable_trigger_data>();
        ((*switch).file, !(*switch).enable)
    };
    // SAFETY: The file is valid, as said. Its list is an RCU list.
    let head = unsafe { &raw mut (*file).triggers };
    // SAFETY: The entries of the list, and the head, are valid as long as the section lasts. C
    // stores the links with `rcu_assign_pointer()`; the loads are relaxed as `rcu_dereference()`
    // is: what is read through the pointer depends on it by address.
    let next = |entry: *mut bindings::list_head| unsafe {
        Atomic::<*mut bindings::list_head>::from_ptr(&raw mut (*entry).next).load(Relaxed)
    };
    let mut entry = next(head);

    // Not by `interop::list`, as the list changes concurrently.
    while entry != head {
        // SAFETY: All entries are of triggers.
        let trigger = unsafe { container_of!(entry, bindings::event_trigger_data, list) };

        // SAFETY: The trigger is valid as long as the section lasts, and it was complete when it
        // was added to the list. `paused` is accessed in one piece by all.
        unsafe {
            if (*(*trigger).cmd_ops).trigger_type == HIST {
                Atomic::<bool>::from_ptr(&raw mut (*trigger).paused).store(paused, Relaxed);
            }
        }
        entry = next(entry);
    }
}

/// Removes the triggers of both commands from a file that was opened with `O_TRUNC`.
///
/// # Safety
///
/// `file` must be valid, and `event_mutex` be held.
unsafe extern "C" fn remove_all(file: *mut bindings::trace_event_file) {
    // SAFETY: By the safety requirements, `file` is valid and `event_mutex` is held, so the list
    // does not change.
    let (head, mut entry) = unsafe {
        let head = &raw mut (*file).triggers;
        (head, (*head).next)
    };

    // Not by `interop::list`, as removed entries leave the list during the iteration.
    while entry != head {
        // SAFETY: All entries are of triggers.
        let trigger = unsafe { container_of!(entry, bindings::event_trigger_data, list) };

        // SAFETY: The trigger is in the list, so it is valid. If it is one of a `Switch` it is C's,
        // which frees it when it is taken from the list, and was told of no other.
        unsafe {
            entry = (*entry).next;
            if (*(*trigger).cmd_ops).trigger_type == SWITCH {
                bindings::list_del_rcu(&raw mut (*trigger).list);
                raw::trace_event_trigger_enable_disable(file, 0);
                raw::update_cond_flag(file);
                raw::event_enable_trigger_free(trigger);
            }
        }
    }
}
