// SPDX-License-Identifier: GPL-2.0

//! The switch in progress, and the order of switches and address spaces.
//!
//! Switches and address spaces have numbers from one counter, so a switch can tell the address
//! spaces that existed when it began from later ones. `event_mutex` serializes switches.

use kernel::sync::atomic::{
    Acquire,
    Atomic,
    Full,
    Relaxed,
    Release, //
};

/// The number of the next switch or address space; 64 bits do not run out.
static NEXT_ID: Atomic<u64> = Atomic::new(1);

/// A switch is in progress. Written under `event_mutex`.
static IN_PROGRESS: Atomic<bool> = Atomic::new(false);

/// Returns a number that is larger than all that were returned before.
///
/// Fully ordered: a caller that gets a number larger than that of a
/// [`Switch`](super::switch::Switch) sees that the switch is in progress, or has ended.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Full)
}

/// Returns `true` if a switch is in progress. Otherwise everything that switches have done before
/// is visible, as this pairs with the end of a switch.
pub(super) fn in_progress() -> bool {
    IN_PROGRESS.load(Acquire)
}

/// The time in which [`in_progress()`] returns `true`.
pub(super) struct Progress(());

impl Progress {
    /// Begins a switch. The caller holds `event_mutex`.
    pub(super) fn begin() -> Self {
        IN_PROGRESS.store(true, Relaxed);
        Self(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        IN_PROGRESS.store(false, Release);
    }
}
