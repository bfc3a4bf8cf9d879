// SPDX-License-Identifier: GPL-2.0

//! The functions that C calls at fork, exit, the removal of an instance and the drop of a
//! reference, and the file that C creates. C calls [`init`](super::init) at boot. Rust calls the
//! rate limit in `glue.c`.
//!
//! C header: [`include/linux/user_events.h`](srctree/include/linux/user_events.h)

use super::{
    event::UserEvent,
    mm::MmState,
    mm_struct,
    patterns::{
        self,
        SetUserEvent, //
    },
    reaper,
    unused, //
};
use kernel::{
    bindings,
    mm::{
        Mm,
        MmWithUser, //
    },
    prelude::*,
    sync::aref::ARef,
    trace::{
        builtin::instance_file::FileOperations,
        instance::InstanceId, //
    },
};

/// The file `set_user_event` of each instance.
#[no_mangle]
static set_user_event_fops: FileOperations<SetUserEvent<UserEvent>> = FileOperations::new();

/// Called when the address space `oldmm` is about to be copied to `mm`.
///
/// Returns 0, or `-ENOMEM`: then the fork fails.
///
/// # Safety
///
/// Both must be valid, `oldmm` must have a user for the time of the call, and `mm`, whose
/// `user_events` must be null, must not be shared yet.
#[export]
unsafe extern "C" fn user_event_mm_dup(
    mm: *mut bindings::mm_struct,
    oldmm: *mut bindings::mm_struct,
) -> c_int {
    // SAFETY: Both are valid and have a user: `oldmm` by the safety requirements, `mm` is new.
    let (mm, oldmm) = unsafe { (MmWithUser::from_raw(mm), MmWithUser::from_raw(oldmm)) };
    let Some(parent) = mm_struct::state(oldmm) else {
        return 0;
    };

    kernel::error::from_result(|| {
        let mm_ref: &Mm = mm;
        let child = MmState::fork(&parent, ARef::from(mm_ref))?;

        mm_struct::install(mm, child);
        Ok(0)
    })
}

/// Called after the pages of the parent have been copied to `mm`.
///
/// # Safety
///
/// `mm` must be valid and have a user for the time of the call.
#[export]
unsafe extern "C" fn user_event_mm_forked(mm: *mut bindings::mm_struct) {
    // SAFETY: By the safety requirements, `mm` is valid and has a user.
    let mm = unsafe { MmWithUser::from_raw(mm) };

    if let Some(state) = mm_struct::state(mm) {
        MmState::forked(&state);
    }
}

/// Called after the last user of `mm` has exited.
///
/// # Safety
///
/// `mm` must be valid, and have no user now or later.
#[export]
unsafe extern "C" fn user_event_mm_exit(mm: *mut bindings::mm_struct) {
    // SAFETY: By the safety requirements, `mm` is valid.
    let mm = unsafe { Mm::from_raw(mm) };

    // SAFETY: By the safety requirements, `mm` has no user now or later.
    if let Some(state) = unsafe { mm_struct::take(mm) } {
        reaper::release(state);
    }
}

/// Called when an instance is being removed.
///
/// # Safety
///
/// `event_mutex` must be held. `tr` is only compared.
#[export]
unsafe extern "C" fn user_events_del_instance(tr: *mut bindings::trace_array) {
    patterns::forget(InstanceId::of_address(tr));
}

/// Called after an event has lost the last reference of event probes and triggers.
///
/// # Safety
///
/// Any context except interrupts.
#[export]
unsafe extern "C" fn user_events_unreferenced() {
    unused::unreferenced();
}

unsafe extern "C" {
    /// Returns `true` if the rate limit in `glue.c` permits a message. Any context.
    safe fn user_events_may_warn() -> bool;
}

/// Returns `true` if a message that a process can cause is to be logged now. Any context.
pub(super) fn may_warn() -> bool {
    user_events_may_warn()
}
