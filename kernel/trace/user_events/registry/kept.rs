// SPDX-License-Identifier: GPL-2.0

//! Events that only lines of `set_user_event` keep.
//!
//! No process uses such an event, and nothing listens to it but what lines have enabled or added:
//! it stays so that its records can be read. It is removed, and the lines are reverted for it
//! before, if it is in the way:
//!
//! - of other fields for its name,
//! - of another event, if there are `kernel.user_events_max`,
//! - of later ones that are kept, if there are more than `kernel.user_events_kept_max`: the oldest
//!   are removed;
//!
//! and if it was created for a registration that has failed.
//!
//! # Locking
//!
//! All of this happens with `event_mutex` held. The lock of [`Kept`] is a spinlock that nothing is
//! taken inside of; it may be taken under that of the registry.

use super::{
    super::{
        event::{
            listens,
            EventUse,
            UserEvent,
            KEPT, //
        },
        parse,
        patterns,
        probe, //
    },
    Order,
    Registry, //
};
use kernel::{
    list::{
        List,
        ListArc, //
    },
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    trace::event_mutex, //
};

/// Maximum number of kept events, `kernel.user_events_kept_max`.
pub(super) static MAX: Atomic<u32> = Atomic::new(4096);

/// Number of attempts of a registration, each after the removal of an event.
pub(super) const TRIES: u32 = 8;

/// Number of kept events that are looked at to find one that can be removed.
const SEARCH: u32 = 64;

/// The same, if all events are searched for it.
const SEARCH_ALL: usize = 8;

/// Maximum number of events that are removed with `event_mutex` held once.
const REMOVE: u32 = 16;

/// The kept events, the oldest first. One that is used again stays here until it is looked at.
pub(crate) struct Kept {
    events: List<UserEvent, KEPT>,
    count: u32,
}

impl Kept {
    /// No events.
    pub(super) const fn new() -> Self {
        Self {
            events: List::new(),
            count: 0,
        }
    }

    /// Adds an event, or moves it to the end.
    fn push(&mut self, event: Arc<UserEvent>) {
        // The reference that is dropped here is not the last one.
        self.remove(&event);
        if let Some(event) = ListArc::try_from_arc_or_drop(event) {
            self.events.push_back(event);
            self.count += 1;
        }
    }

    /// Removes an event, if it is there.
    pub(super) fn remove(&mut self, event: &UserEvent) {
        // SAFETY: There is no other list of this id: the registry, which has this one, is a
        // singleton.
        if unsafe { self.events.remove(event) }.is_some() {
            self.count -= 1;
        }
    }

    fn pop(&mut self) -> Option<Arc<UserEvent>> {
        let event = self.events.pop_front()?;

        self.count -= 1;
        Some(event.into_arc())
    }
}

impl Registry {
    /// Drops the use of a registration that has failed. The event goes at once if it was created
    /// for it: so the caller waits for it, and cannot fill the registry.
    pub(crate) fn abandon(&self, used: EventUse) {
        let event = used.event();

        drop(used);
        if patterns::exist() && !event.has_users() && !event.is_confirmed() {
            self.remove_kept(&event, false, &mut event_mutex::lock());
        }
    }

    /// Removes an event that is in the way of a registration which has failed with `e`. Returns
    /// `true` if it is worth another attempt.
    pub(super) fn make_way(&self, command: &[u8], e: Error) -> bool {
        if !patterns::exist() {
            return false;
        }
        if e == EADDRINUSE {
            return self.replace(command);
        }
        if e != EMFILE {
            return false;
        }
        let mut guard = event_mutex::lock();

        self.remove_oldest(&mut guard) || self.remove_any(&mut guard)
    }

    /// Removes the event of a single format that has the name of a command.
    fn replace(&self, command: &[u8]) -> bool {
        let Ok((name, _)) = parse::split(command) else {
            return false;
        };
        let Some(event) = self.events.lock().event(&Order { name, fields: None }) else {
            // It was removed just now.
            return true;
        };

        !event.has_users()
            && !event.is_persistent()
            && self.remove_kept(&event, true, &mut event_mutex::lock())
    }

    /// Notes that an event has no users, if lines keep it, or removes it, if no registration of it
    /// was ever successful.
    pub(super) fn keep_or_discard(&self, event: &Arc<UserEvent>, guard: &mut event_mutex::Guard) {
        if event.has_users() || event.is_persistent() || !event.trace().is_registered() {
            return;
        }
        if !event.is_confirmed() {
            self.remove_kept(event, false, guard);
            return;
        }
        if patterns::listeners_of_lines(&**event, guard) != Some(event.uses()) {
            return;
        }

        self.kept.lock().push(event.clone());
    }

    /// Removes the oldest kept events above the limit.
    ///
    /// Takes `event_mutex`, and gives others a chance to between a few of them.
    pub(super) fn remove_surplus(&self) {
        while self.kept.lock().count > MAX.load(Relaxed) {
            let mut guard = event_mutex::lock();

            for _ in 0..REMOVE {
                if self.kept.lock().count <= MAX.load(Relaxed) {
                    return;
                }
                // Those that are left cannot be removed now.
                if !self.remove_oldest(&mut guard) {
                    return;
                }
            }
        }
    }

    /// Removes the oldest event that can be. Returns `false` if none can.
    fn remove_oldest(&self, guard: &mut event_mutex::Guard) -> bool {
        for _ in 0..SEARCH {
            let Some(event) = self.kept.lock().pop() else {
                break;
            };

            if self.remove_kept(&event, true, guard) {
                return true;
            }
            // One that is used again is noted again after that.
            if !event.has_users() && !event.is_persistent() && event.trace().is_registered() {
                self.kept.lock().push(event);
            }
        }
        false
    }

    /// Removes the first event, in the order of names, that can be: the work item may not have
    /// noted those that have just lost their users. Returns `false` if none can.
    fn remove_any(&self, guard: &mut event_mutex::Guard) -> bool {
        for at in 0..SEARCH_ALL {
            let event = self
                .events
                .lock()
                .iter()
                .filter(|event| !event.has_users() && !event.is_persistent())
                .nth(at)
                .cloned();
            let Some(event) = event else {
                break;
            };

            if self.remove_kept(&event, true, guard) {
                return true;
            }
        }
        false
    }

    /// Removes an event if only lines keep it. With `tell`, they tell.
    fn remove_kept(
        &self,
        event: &Arc<UserEvent>,
        tell: bool,
        guard: &mut event_mutex::Guard,
    ) -> bool {
        let Some(listeners) = patterns::listeners_of_lines(&**event, guard) else {
            return false;
        };
        let node = {
            let mut events = self.events.lock();

            // Uses are taken under this lock or from another use, listeners under `event_mutex`. So
            // if the listeners are all uses there is no other, and none comes. The uses first: an
            // event is made persistent while it has one.
            if event.uses() != listeners
                || event.is_persistent()
                || event.trace().is_referenced()
                || probe::listeners(event) & !listens::FTRACE != 0
            {
                return false;
            }
            match events.remove(event) {
                Some(node) => node,
                None => return false,
            }
        };

        patterns::revert_all(&**event, tell, guard);
        if event.trace().unregister(guard.held()).is_ok() {
            self.gone(event);
            return true;
        }
        // Another trigger refers to one of a line, or there is no memory.
        patterns::apply(&**event, guard);
        self.events.lock().insert(node);
        false
    }
}
