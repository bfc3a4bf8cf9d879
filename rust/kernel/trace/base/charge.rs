// SPDX-License-Identifier: GPL-2.0

//! Memory that is needed with `event_mutex` held.
//!
//! All of tracing would wait with a task that waits for memory with `event_mutex` held: for reclaim
//! in its memory cgroup, for the OOM killer there, or until it is no longer above `memory.high`.
//! Any program can be in such a cgroup. So nothing is charged in a [section], except by [`charge`],
//! which does not wait. If that is refused, its size is kept, and the caller can [`wait`] for as
//! much after it has unlocked `event_mutex`, and try again.
//!
//! The command of a line for a `trigger` file runs in a section: C locks `event_mutex` before it
//! looks for the command, and what a line needs is only known when its fields have been found. So
//! memory for it cannot be allocated, nor be charged, without the mutex. The writer of the file
//! waits when it has failed.
//!
//! [section]: begin

use crate::{
    memcg::{
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

/// Size of what was refused last, see [`take_missing`]. Read and reset with `event_mutex` held.
static MISSING: Atomic<usize> = Atomic::new(0);

/// Begins a section without charges, and forgets what was refused before.
#[inline(never)]
pub fn begin(_held: Held<'_>) -> Unaccounted {
    MISSING.store(0, Relaxed);
    Unaccounted::new()
}

/// Charges the memory cgroup of the current task, see [`Charge::new`].
///
/// # Errors
///
/// `ENOMEM` if the cgroup has no room.
pub fn charge(bytes: usize) -> Result<Charge> {
    Charge::new(bytes).inspect_err(|_| refused(bytes))
}

/// Notes that so much memory was refused.
pub fn refused(bytes: usize) {
    MISSING.store(bytes, Relaxed);
}

/// Returns `true` if something was refused since the last section has begun.
#[inline]
pub fn is_missing(_held: Held<'_>) -> bool {
    MISSING.load(Relaxed) != 0
}

/// Returns the size in bytes of what was refused last, since the last section has begun or since
/// the last call, or 0.
pub fn take_missing(_held: Held<'_>) -> usize {
    let missing = MISSING.load(Relaxed);

    MISSING.store(0, Relaxed);
    missing
}

/// Waits for so much memory. This only reclaims memory: it is charged when it is allocated.
///
/// # Context
///
/// Process context, without `event_mutex`.
///
/// # Errors
///
/// `ENOMEM` if less memory is free, or the cgroup has no room for it.
pub fn wait(missing: usize) -> Result {
    // First in the cgroup, without calling the OOM killer for it.
    let _charge = Charge::new(missing)?;

    drop(KVVec::<u8>::with_capacity(
        missing,
        GFP_KERNEL | __GFP_NOWARN,
    )?);
    Ok(())
}
