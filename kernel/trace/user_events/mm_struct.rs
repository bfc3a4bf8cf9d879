// SPDX-License-Identifier: GPL-2.0

//! The state of an address space, from its `mm_struct`.
//!
//! The `mm_struct` owns a reference of the [`MmState`] from the first registration, or from the
//! fork, until its last user has exited. exec replaces the `mm_struct`.

use super::{
    event::UserEvent,
    mm::MmState,
    reaper, //
};
use kernel::{
    mm::{
        user_events::UserEventsSlot,
        Mm,
        MmWithUser, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

// SAFETY: This is the only `UserEventsSlot`, as user_events is the only user of the field. C
// initialises the field in `user_events_mm_init()`, and otherwise only compares it with null.
static STATES: UserEventsSlot<MmState<UserEvent>> = unsafe { UserEventsSlot::new() };

/// Returns the state of the address space, if a process in it has registered anything.
pub(crate) fn state(mm: &MmWithUser) -> Option<Arc<MmState<UserEvent>>> {
    STATES.get(mm)
}

/// Returns the state of the address space, and creates it if necessary.
pub(crate) fn state_or_new(mm: &MmWithUser) -> Result<Arc<MmState<UserEvent>>> {
    if let Some(state) = state(mm) {
        return Ok(state);
    }

    let mm_ref: &Mm = mm;

    install(mm, MmState::new(ARef::from(mm_ref))?);
    state(mm).ok_or(ESRCH)
}

/// Attaches the state to the address space. If another thread was faster, that state remains.
pub(crate) fn install(mm: &MmWithUser, state: Arc<MmState<UserEvent>>) {
    if let Err(state) = STATES.set(mm, state) {
        // The set of the state knows its address space: they have to be parted.
        reaper::release(state);
    }
}

/// Detaches the state from the address space, if it has one.
///
/// # Safety
///
/// `mm` must have no user now or later.
pub(crate) unsafe fn take(mm: &Mm) -> Option<Arc<MmState<UserEvent>>> {
    // SAFETY: By the safety requirements, `mm` has no user now or later.
    unsafe { STATES.take(mm) }
}
