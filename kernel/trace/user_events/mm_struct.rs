// SPDX-License-Identifier: GPL-2.0

//! The pointer of an `mm_struct` to the state of its address space.
//!
//! The `user_events` pointer of an `mm_struct` is null or an [`Arc`] of an [`MmState`] that belongs
//! to the `mm_struct`. It is set once, by a task that runs in the address space or by its fork, and
//! cleared after the last user of the address space has exited. So a user of the address space can
//! read the state without a lock.

use super::{
    event::UserEvent,
    mm::MmState,
    reaper, //
};
use kernel::{
    bindings,
    mm::{
        Mm,
        MmWithUser, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Full, //
        },
        Arc,
        ArcBorrow, //
    },
};

/// Returns the pointer of `mm`.
fn slot(mm: &Mm) -> &Atomic<*mut bindings::user_event_mm> {
    // SAFETY: `mm` is a valid `mm_struct`, and so is the pointer to its field.
    let field = unsafe { &raw mut (*mm.as_raw()).__bindgen_anon_1.user_events };

    // SAFETY: The field is aligned and lives as long as `mm`. `mm_init` has written it before the
    // `mm_struct` was shared; since then only this module writes it, and C only tests it for null.
    unsafe { Atomic::from_ptr(field) }
}

/// Returns the state of the address space, if a process in it has registered anything.
pub(crate) fn state(mm: &MmWithUser) -> Option<Arc<MmState<UserEvent>>> {
    let ptr = slot(mm).load(Acquire);

    if ptr.is_null() {
        return None;
    }
    // SAFETY: It came from `Arc::into_raw` in `install`, and is taken back in `take` only, which is
    // not called while `mm` has a user.
    Some(unsafe { ArcBorrow::<'_, MmState<UserEvent>>::from_raw(ptr.cast()) }.into())
}

/// Returns the state of the address space, and creates it if necessary.
pub(crate) fn state_or_new(mm: &MmWithUser) -> Result<Arc<MmState<UserEvent>>> {
    if let Some(state) = state(mm) {
        return Ok(state);
    }

    let mm_ref: &Mm = mm;
    let new = MmState::new(ARef::from(mm_ref))?;
    if !install(mm, new.clone()) {
        // Another thread was faster. The set knows its address space: they have to be parted.
        reaper::release(new);
    }
    state(mm).ok_or(ESRCH)
}

/// Attaches the state to the address space, or returns `false` if it has one.
pub(crate) fn install(mm: &Mm, state: Arc<MmState<UserEvent>>) -> bool {
    let ptr = Arc::into_raw(state).cast_mut().cast();

    match slot(mm).cmpxchg(core::ptr::null_mut(), ptr, Full) {
        Ok(_) => true,
        Err(_) => {
            // SAFETY: It comes from `Arc::into_raw`, and was not stored.
            drop(unsafe { Arc::<MmState<UserEvent>>::from_raw(ptr.cast()) });
            false
        }
    }
}

/// Detaches the state from the address space, if it has one.
///
/// # Safety
///
/// `mm` must have no user now or later.
pub(crate) unsafe fn take(mm: &Mm) -> Option<Arc<MmState<UserEvent>>> {
    let ptr = slot(mm).xchg(core::ptr::null_mut(), Full);

    if ptr.is_null() {
        return None;
    }
    // SAFETY: It came from `Arc::into_raw` in `install`, and no other code can take it now.
    Some(unsafe { Arc::<MmState<UserEvent>>::from_raw(ptr.cast()) })
}
