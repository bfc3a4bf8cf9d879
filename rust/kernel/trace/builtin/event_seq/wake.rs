// SPDX-License-Identifier: GPL-2.0

//! The wake-up of the pollers of the files of events after a hit.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

#[cfg(CONFIG_JUMP_LABEL)]
use crate::jump_label::arch_static_branch;
#[cfg(not(CONFIG_JUMP_LABEL))]
use crate::sync::atomic::Relaxed;
use crate::{
    bindings,
    sync::atomic::{
        Acquire,
        Atomic,
        Release, //
    },
    types::Opaque, //
};

/// Static key: on once a file of an event has been polled.
///
/// # Invariants
///
/// `key` is only changed by the C functions for static keys.
#[doc(hidden)]
#[repr(transparent)]
pub struct PollKey {
    key: Opaque<bindings::static_key>,
}

// SAFETY: By the type invariant C synchronises all changes.
unsafe impl Sync for PollKey {}

// INVARIANT: Zeroes are a key that is off.
static POLLED: PollKey = PollKey {
    key: Opaque::zeroed(),
};

/// All hits that have not seen [`POLLED`] on are over.
static ALL_LOOK: Atomic<bool> = Atomic::new(false);

/// Enables the check for pollers in hits. Sleeps.
pub(super) fn look_for_pollers() {
    // Pairs with the store below: hits are waited for.
    if ALL_LOOK.load(Acquire) {
        return;
    }
    // SAFETY: By the type invariant it is a static key, and `POLLED` is one that C knows.
    unsafe { bindings::static_key_enable(POLLED.key.get()) };
    // A hit that has just passed the key was counted in the same section with preemption disabled,
    // so the count is seen from here on. Later ones see the key.
    //
    // SAFETY: The function only requires a context that can sleep.
    unsafe { bindings::synchronize_rcu() };
    ALL_LOOK.store(true, Release);
}

/// Wakes the pollers of all files of events after a hit.
///
/// It must follow the counting of the hit. The memory barrier in between pairs with the one of a
/// poller, between adding itself to the queue and reading the count. If no file has been polled
/// yet, this is a single no-op.
///
/// # Context
///
/// Any that a trigger is hit in. The counting must be in the same section with preemption disabled.
#[inline(always)]
pub fn wake_pollers() {
    #[cfg(CONFIG_JUMP_LABEL)]
    // SAFETY: `POLLED` is a static key, which C finds by the address in the jump table.
    let polled = unsafe { arch_static_branch!(POLLED, PollKey, key, false) };
    // SAFETY: By the type invariant it is a static key, whose counter C accesses with atomic
    // operations only.
    #[cfg(not(CONFIG_JUMP_LABEL))]
    let polled = unsafe { Atomic::<i32>::from_ptr(&raw mut (*POLLED.key.get()).enabled.counter) }
        .load(Relaxed)
        != 0;

    if polled {
        wake();
    }
}

#[cold]
#[inline(never)]
fn wake() {
    // SAFETY: The function has no safety requirements.
    unsafe {
        if !bindings::hist_poll_idle() {
            bindings::hist_poll_wakeup();
        }
    }
}

/// Adds the poller to the queue that hits wake.
///
/// # Safety
///
/// `file` must be open, and `wait` null or valid.
pub(super) unsafe fn wait_for_hits(file: *mut bindings::file, wait: *mut bindings::poll_table) {
    // SAFETY: By the safety requirements, `file` is open, and `wait` is null or valid.
    unsafe { bindings::hist_poll_wait(file, wait) };
}
