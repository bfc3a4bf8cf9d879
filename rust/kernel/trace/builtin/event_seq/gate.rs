// SPDX-License-Identifier: GPL-2.0

//! A gate that keeps wake-ups back for a time, and remembers them.
//!
//! It is closed after a report, and opened by a timer. A hit that finds it open wakes the pollers;
//! one that finds it closed leaves that to the opening, or to a poll that looks at the count before
//! it. So do pollers that are woken, and find it closed by then.
//!
//! # Locking
//!
//! None is needed.

use crate::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    barrier::{
        smp_mb,
        Full, //
    }, //
};

/// No hit was noted since the last look.
const NONE: u32 = 0;
/// One was, and the pollers were woken for it. They may have found the gate closed.
const TOLD: u32 = 1;
/// One was, and the pollers have not been woken for it.
const KEPT: u32 = 2;

/// A gate for the wake-ups of the pollers of a file.
pub(super) struct Gate {
    /// Hits do not wake the pollers.
    closed: Atomic<bool>,
    /// One of the constants.
    noted: Atomic<u32>,
}

impl Gate {
    /// Creates a gate that is open.
    pub(super) const fn new() -> Self {
        Self {
            closed: Atomic::new(false),
            noted: Atomic::new(NONE),
        }
    }

    /// Records a hit. Returns `true` if the pollers have to be woken. Any context.
    pub(super) fn hit(&self) -> bool {
        self.noted.store(KEPT, Relaxed);
        // Pairs with the barrier in `open`: the gate is seen to be open, or the hit is seen there.
        smp_mb(Full);
        if self.closed.load(Relaxed) {
            return false;
        }
        // Or a look has taken it, which also has the pollers woken.
        let _ = self.noted.cmpxchg(KEPT, TOLD, Relaxed);
        true
    }

    /// Opens the gate. Returns `true` if the pollers have to be woken, for hits since the last
    /// look.
    pub(super) fn open(&self) -> bool {
        self.closed.store(false, Relaxed);
        // Pairs with the barrier in `hit`.
        smp_mb(Full);
        self.noted.load(Relaxed) != NONE
    }

    /// Forgets the hits that were noted, before the caller looks at the count. Returns `true` if
    /// the other pollers have to be woken for them, as the opening will not do it.
    pub(super) fn look(&self) -> bool {
        match self.noted.xchg(NONE, Relaxed) {
            KEPT => true,
            noted => noted == TOLD && self.closed.load(Relaxed),
        }
    }

    /// Closes the gate. [`open`](Self::open) must be called after this.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }
}
