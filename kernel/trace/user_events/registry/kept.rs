// SPDX-License-Identifier: GPL-2.0

//! The list of the events that only lines of `set_user_event` keep, and the reverted lines of an
//! event that is used again.
//!
//! The lock of the list is a spinlock that nothing is taken inside of; it may be taken under that
//! of the registry.

use super::super::{
    event::{
        UserEvent,
        KEPT, //
    },
    patterns::{
        self,
        PendingLines, //
    }, //
};
use kernel::{
    list::{
        List,
        ListArc, //
    },
    sync::{
        atomic::Atomic,
        Arc, //
    },
    trace::event_mutex, //
};

/// Maximum number of kept events, `kernel.user_events_kept_max`.
pub(super) static MAX: Atomic<u32> = Atomic::new(4096);

/// The kept events, the oldest first. One that is used again stays here until it is looked at.
pub(super) struct Kept {
    events: List<UserEvent, KEPT>,
    count: u32,
}

impl Kept {
    /// Creates an empty list of events.
    pub(super) const fn new() -> Self {
        Self {
            events: List::new(),
            count: 0,
        }
    }

    /// Adds an event, or moves it to the end.
    pub(super) fn push(&mut self, event: Arc<UserEvent>) {
        // The reference that is dropped here is not the last one.
        self.remove(&event);
        if let Some(event) = ListArc::try_from_arc_or_drop(event) {
            self.events.push_back(event);
            self.count += 1;
        }
    }

    /// Removes an event, if it is listed.
    pub(super) fn remove(&mut self, event: &UserEvent) {
        // SAFETY: No other list has this id: the registry, which has this one, is a singleton.
        if unsafe { self.events.remove(event) }.is_some() {
            self.count -= 1;
        }
    }

    /// Returns the number of events.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Removes and returns the oldest event.
    pub(super) fn pop(&mut self) -> Option<Arc<UserEvent>> {
        let event = self.events.pop_front()?;

        self.count -= 1;
        Some(event.into_arc())
    }
}

/// Applies the lines again that were reverted for an event which is used again.
///
/// Takes `event_mutex`.
pub(super) fn restore_now(event: &UserEvent) {
    if event.is_reverted() {
        let pending = restore(event, &mut event_mutex::lock());

        patterns::finish(event, pending);
    }
}

/// Applies the lines again as [`restore_now`] does, with `event_mutex` held. The returned lines
/// are to be finished without it.
pub(super) fn restore(event: &UserEvent, guard: &mut event_mutex::Guard) -> PendingLines {
    if !event.is_reverted() {
        return PendingLines::new();
    }
    event.set_reverted(false);
    patterns::apply(event, guard)
}
