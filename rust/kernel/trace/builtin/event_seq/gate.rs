// SPDX-License-Identifier: GPL-2.0

//! A gate that keeps wake-ups back for a time, and remembers them.
//!
//! It is closed after a report, and opened by a timer. A hit that finds it open wakes the pollers;
//! one that finds it closed leaves that to the opening. A hit and an opening at the same time may
//! both wake them, but one of them does.
//!
//! # Locking
//!
//! None is needed for a [hit](Gate::hit) and for the [opening](Gate::open). Those who
//! [look](Gate::look) and [close](Gate::close) exclude each other.

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

/// A gate for the wake-ups of the pollers of a file.
pub(super) struct Gate {
    /// Hits do not wake the pollers.
    closed: Atomic<bool>,
    /// A hit was noted since the last look.
    hit: Atomic<bool>,
}

impl Gate {
    /// A gate that is open.
    pub(super) const fn new() -> Self {
        Self {
            closed: Atomic::new(false),
            hit: Atomic::new(false),
        }
    }

    /// Takes note of a hit. Returns `true` if the pollers have to be woken. Any context.
    pub(super) fn hit(&self) -> bool {
        self.hit.store(true, Relaxed);
        // Pairs with the barrier in `open`: the gate is seen to be open, or the hit is seen there.
        smp_mb(Full);
        !self.closed.load(Relaxed)
    }

    /// Opens it. Returns `true` if the pollers have to be woken, for hits while it was closed.
    pub(super) fn open(&self) -> bool {
        self.closed.store(false, Relaxed);
        // Pairs with the barrier in `hit`.
        smp_mb(Full);
        self.hit.load(Relaxed)
    }

    /// Forgets the hits until now, which will be seen in the count.
    ///
    /// No hit must be noted during this, and each that comes later and is not seen in the count.
    pub(super) fn look(&self) {
        self.hit.store(false, Relaxed);
    }

    /// Closes it. [`open`](Self::open) must be called after this.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }
}
