// SPDX-License-Identifier: GPL-2.0

//! The entry points for C, the file that C creates, and the pointer of an address space to its
//! state.
//!
//! The `user_events` pointer of an `mm_struct` is null or an [`Arc`] of an [`MmState`] that belongs
//! to the `mm_struct`. It is set once, by a task that runs in the address space or by its fork, and
//! cleared after the last user of the address space has exited. So a user of the address space can
//! read the state without a lock.
//!
//! C header: [`include/linux/user_events.h`](srctree/include/linux/user_events.h)

use super::{
    event::UserEvent,
    mm::MmState,
    patterns::{
        self,
        SetUserEvent, //
    },
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
    trace::{
        builtin::instance_file::Operations,
        instance::InstanceId, //
    },
};

/// The file `set_user_event` of each instance.
#[no_mangle]
static set_user_event_fops: Operations<SetUserEvent<UserEvent>> = Operations::new();

/// The pointer of `mm`.
fn slot(mm: &Mm) -> &Atomic<*mut bindings::user_event_mm> {
    // SAFETY: `mm` is a valid `mm_struct`, and so is the pointer to its field.
    let field = unsafe { &raw mut (*mm.as_raw()).__bindgen_anon_1.user_events };

    // SAFETY: The field is aligned and lives as long as `mm`. `mm_init` has written it before the
    // `mm_struct` was shared; since then only this module writes it, and C only tests it for null.
    unsafe { Atomic::from_ptr(field) }
}

/// The state of the address space, if a process in it has registered anything.
pub(crate) fn state(mm: &MmWithUser) -> Option<Arc<MmState>> {
    let ptr = slot(mm).load(Acquire);

    if ptr.is_null() {
        return None;
    }
    // SAFETY: It came from `Arc::into_raw` in `install`, and is taken back in `user_event_mm_exit`
    // only, which does not run while `mm` has a user.
    Some(unsafe { ArcBorrow::<'_, MmState>::from_raw(ptr.cast()) }.into())
}

/// Returns the state of the address space, and creates it if necessary.
pub(crate) fn state_or_new(mm: &MmWithUser) -> Result<Arc<MmState>> {
    if let Some(state) = state(mm) {
        return Ok(state);
    }

    let mm_ref: &Mm = mm;
    let new = MmState::new(ARef::from(mm_ref))?;
    if !install(mm, new.clone()) {
        // Another thread was faster. The set knows its address space: they have to be parted.
        MmState::exit(new);
    }
    state(mm).ok_or(ESRCH)
}

/// Attaches the state to the address space; returns `false` if it has one.
fn install(mm: &Mm, state: Arc<MmState>) -> bool {
    let ptr = Arc::into_raw(state).cast_mut().cast();

    match slot(mm).cmpxchg(core::ptr::null_mut(), ptr, Full) {
        Ok(_) => true,
        Err(_) => {
            // SAFETY: It comes from `Arc::into_raw`, and was not stored.
            drop(unsafe { Arc::<MmState>::from_raw(ptr.cast()) });
            false
        }
    }
}

/// Starts the subsystem, at the fs level of the initcalls.
///
/// # Safety
///
/// None: it is unsafe because C functions are.
#[export]
unsafe extern "C" fn user_events_rust_init() -> c_int {
    kernel::error::from_result(|| super::init::init().map(|()| 0))
}

/// The address space `oldmm` is about to be copied to `mm`.
///
/// Returns 0, or `-ENOMEM`: then there is no fork.
///
/// # Safety
///
/// Both are valid, `oldmm` has a user for the time of the call, and `mm`, whose `user_events` is
/// null, is not shared yet.
#[export]
unsafe extern "C" fn user_event_mm_dup(
    mm: *mut bindings::mm_struct,
    oldmm: *mut bindings::mm_struct,
) -> c_int {
    // SAFETY: Both are valid and have a user: `oldmm` by the caller's promise, `mm` is new.
    let (mm, oldmm) = unsafe { (MmWithUser::from_raw(mm), MmWithUser::from_raw(oldmm)) };
    let Some(parent) = state(oldmm) else {
        return 0;
    };

    kernel::error::from_result(|| {
        let mm_ref: &Mm = mm;
        let child = MmState::fork(&parent, ARef::from(mm_ref))?;

        install(mm, child);
        Ok(0)
    })
}

/// The pages of the parent have been copied to `mm`.
///
/// # Safety
///
/// `mm` is valid and has a user for the time of the call.
#[export]
unsafe extern "C" fn user_event_mm_forked(mm: *mut bindings::mm_struct) {
    // SAFETY: By the caller's promise.
    let mm = unsafe { MmWithUser::from_raw(mm) };

    if let Some(state) = state(mm) {
        MmState::forked(&state);
    }
}

/// Called after the last user of `mm` has exited.
///
/// # Safety
///
/// `mm` is valid, and has no user now or later.
#[export]
unsafe extern "C" fn user_event_mm_exit(mm: *mut bindings::mm_struct) {
    // SAFETY: `mm` is valid by the caller's promise.
    let mm = unsafe { Mm::from_raw(mm) };
    let ptr = slot(mm).xchg(core::ptr::null_mut(), Full);

    if !ptr.is_null() {
        // SAFETY: It came from `Arc::into_raw` in `install`, and no other code can take it now.
        let state = unsafe { Arc::<MmState>::from_raw(ptr.cast()) };

        MmState::exit(state);
    }
}

/// An instance is being removed.
///
/// # Safety
///
/// `event_mutex` is held. `tr` is only compared.
#[export]
unsafe extern "C" fn user_events_del_instance(tr: *mut bindings::trace_array) {
    patterns::forget(InstanceId::of_address(tr));
}
