// SPDX-License-Identifier: GPL-2.0

//! The removal of events that have lost their last use.
//!
//! A work item looks at the events that are listed as [`Unused`], one by one, with `event_mutex`
//! held. An event that only kernel code refers to is looked at again when an event loses its last
//! reference (`unused::unreferenced()`).

use super::{
    super::{
        event::UserEvent,
        unused::{
            Unused,
            REAP,
            SWEEP, //
        }, //
    },
    get,
    Registry, //
};
use kernel::{
    list::ListArc,
    prelude::*,
    sync::Arc,
    trace::event_mutex,
    workqueue::WorkItem, //
};

impl WorkItem<REAP> for Unused {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let Ok(registry) = get() else {
            return;
        };
        let mut is_to_be_swept = false;

        loop {
            let mut events = this.take();

            if events.is_empty() {
                break;
            }
            // Those that listeners keep are noted in the order in which they lost their users.
            while let Some(event) = events.pop_front() {
                if event.is_used() {
                    is_to_be_swept |= registry.look_at(&this, event);
                } else {
                    this.doom(event);
                }
            }
            while let Some(event) = this.next_doomed() {
                is_to_be_swept |= registry.look_at(&this, event);
            }
        }
        registry.trim_kept();
        if is_to_be_swept {
            Self::sweep_later(&this);
        }
    }
}

impl WorkItem<SWEEP> for Unused {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        Self::look_again(&this);
    }
}

impl Registry {
    /// Removes an event that was on the list of unused ones, or lists it as refused. Returns `true`
    /// if it has to be looked at again after a while, as nothing tells when it can be removed.
    pub(super) fn look_at(&self, unused: &Unused, event: ListArc<UserEvent>) -> bool {
        let event = UserEvent::leave_list(event);

        if !self.reap(&event) {
            return false;
        }
        match ListArc::try_from_arc_or_drop(event.clone()) {
            Some(event) => unused.refuse(event),
            // It is on the list again.
            None => return false,
        }
        // A reference that is dropped after this has the list looked at.
        !event.trace().is_referenced()
    }

    /// Removes an event without uses, unless it is used again or is to stay, in which case it is
    /// listed as kept if lines keep it. Returns `true` if tracing does not release it now.
    fn reap(&self, event: &Arc<UserEvent>) -> bool {
        // Not with `event_mutex` held.
        event.trace().wait_for_readers();

        let mut guard = event_mutex::lock();
        let result = self.remove_if(event, guard.held(), |event| {
            // The uses first: an event becomes persistent while it has one.
            if event.is_used() || event.is_persistent() || event.is_reverted() {
                Err(EAGAIN)
            } else if event.is_busy() {
                Err(EBUSY)
            } else {
                Ok(())
            }
        });

        match result {
            Ok(()) => false,
            Err(e) if e == EAGAIN => {
                if self.is_discarded(event, &mut guard) {
                    drop(guard);
                    self.remove_kept(event, false);
                }
                false
            }
            Err(e) if e == ENOENT => false,
            // An event probe or a trigger refers to it.
            Err(e) if e == EBUSY => true,
            Err(_) => {
                pr_warn!("Unable to delete event\n");
                true
            }
        }
    }
}
