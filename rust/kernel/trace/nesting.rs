// SPDX-License-Identifier: GPL-2.0

//! The nesting of operations that write records, per CPU.
//!
//! The ring buffer refuses to be entered again from the same context; but not by the functions of C
//! for synthetic events, which count on not being called by what they call. It has six levels for
//! these, of which the last one refuses what is nested deeper. That alone would do for one buffer;
//! but each instance has a buffer of its own, and triggers that are called without a record, as
//! those of events that are off, are not in the ring buffer at all. Code that is built on these
//! counts here, so that neither the levels it holds nor its recursion exhausts the stack, and that
//! levels are left for others.
//!
//! The hits of histograms are not counted: they end where their scratch memory does. So records and
//! hits that are counted, histograms, and interrupts can be more together than the ring buffer has
//! levels. Then it refuses a record, as it does if it is full.

use super::raw;
use crate::types::NotThreadSafe;

/// The kind of nesting that is counted.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum NestingKind {
    /// Synthetic events that kernel code generates.
    #[cfg_attr(not(CONFIG_SYNTH_EVENTS), expect(dead_code))]
    Records,
    /// Triggers that are hit.
    Hits,
}

/// Returns the largest nesting that is permitted on a CPU.
///
/// Three records leave half of the levels of the ring buffer for what the events cause and for
/// interrupts. Hits are one in each context that can be interrupted, or as many of which one causes
/// the next.
const fn most(what: NestingKind) -> u32 {
    match what {
        NestingKind::Records => 3,
        NestingKind::Hits => 4,
    }
}

/// One of those that are nested on this CPU.
///
/// # Invariants
///
/// It was counted on this CPU, and preemption has been off since.
pub(super) struct NestingGuard {
    what: NestingKind,
    _not_sent: NotThreadSafe,
}

impl NestingGuard {
    /// Enters one level. Returns `None` if the nesting is too deep. Any context.
    ///
    /// # Safety
    ///
    /// Preemption must be off, and stay so until this is dropped.
    #[inline]
    pub(super) unsafe fn enter(what: NestingKind) -> Option<Self> {
        // CAST: The variants are small numbers.
        //
        // SAFETY: By the safety requirements, preemption is off.
        if !unsafe { raw::trace_nesting_enter(what as u32, most(what)) } {
            return None;
        }
        // INVARIANT: Just counted; the rest is a safety requirement.
        Some(Self {
            what,
            _not_sent: NotThreadSafe,
        })
    }
}

impl Drop for NestingGuard {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant it was counted on this CPU.
        unsafe { raw::trace_nesting_leave(self.what as u32) };
    }
}
