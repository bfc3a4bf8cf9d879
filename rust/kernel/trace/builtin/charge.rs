// SPDX-License-Identifier: GPL-2.0

//! Charges of memory cgroups with `event_mutex` held.
//!
//! All of tracing would wait with a task that waits for its memory cgroup with `event_mutex` held,
//! and any program can be in such a cgroup. So what is allocated then is
//! [unaccounted](Unaccounted), and charged without waiting. If that is refused, the size is kept,
//! so that the caller can wait for as much when it has unlocked `event_mutex`.

use crate::{
    memcg::{
        self,
        Charge,
        Unaccounted, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::event_mutex::Held, //
};

/// Size of the charge that was refused last, see [`take_missing`].
///
/// Only written inside of an [`Unaccounted`] section.
static MISSING: Atomic<usize> = Atomic::new(0);

/// Charges the memory cgroup of the current task, see [`Charge::new`].
///
/// # Errors
///
/// `ENOMEM` if the cgroup has no room.
pub fn charge(bytes: usize) -> Result<Charge> {
    Charge::new(bytes).inspect_err(|_| {
        if memcg::is_unaccounted() {
            MISSING.store(bytes, Relaxed);
        }
    })
}

/// Returns the size in bytes of the last [`charge`] that was refused, in a section that began with
/// `event_mutex` held, since the last call, or 0.
pub fn take_missing(_section: &Unaccounted, _held: Held<'_>) -> usize {
    let missing = MISSING.load(Relaxed);

    MISSING.store(0, Relaxed);
    missing
}
