// SPDX-License-Identifier: GPL-2.0

//! Registrations, and the removal of what is in their way: events that only lines of
//! `set_user_event` keep, and events without a use.
//!
//! No process uses an event that only lines keep, and nothing listens to it but what lines have
//! enabled or added: it stays so that its records can be read. It is removed, and the lines are
//! reverted for it before, if it is in the way:
//!
//! - of other fields for its name,
//! - of another event, if `kernel.user_events_max` events exist,
//! - of later ones that are kept, if their number exceeds `kernel.user_events_kept_max`: the oldest
//!   are removed;
//!
//! and if it was created for a registration that has failed.
//!
//! # Steps
//!
//! 1. The lines are reverted for the event, which stays in the registry.
//! 2. Readers may still have listeners of these lines: they are waited for, for a grace period.
//! 3. The event is removed, unless it is used by then. Otherwise the lines are applied again.
//!
//! A registration that finds the event in between applies the lines again before it returns, so
//! that it does not return without its listeners.
//!
//! # Locking
//!
//! The first and the last step happen with `event_mutex` held, the second does not: users of
//! `user_events_data` can cause as many of them as they like.

use super::{
    super::{
        event::{
            EventUse,
            UserEvent, //
        },
        listens,
        parse,
        patterns::{
            self,
            Reverted, //
        },
        unused::{
            self,
            Unused, //
        }, //
    },
    kept,
    Order,
    RegisterFlags,
    Registry, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc, //
    },
    trace::event_mutex, //
};

/// Maximum number of attempts of a registration. After the first one, each follows the removal of
/// an event that was in the way, whose name or room other tasks may take before. A registration
/// that has lost them so often fails with the error of its last attempt.
const MAX_REGISTRATIONS: u32 = 8;

/// Maximum number of kept events that are looked at to find one that can be removed. The others
/// move to the end of the list.
const SEARCH_KEPT: u32 = 64;

/// Maximum number of events without users that are looked at, if all events are searched for one
/// that can be removed. Each time the search begins at the first event.
const SEARCH_ALL: usize = 8;

/// Maximum number of events whose lines are reverted with `event_mutex` held once. They are waited
/// for together.
const REVERTED_AT_A_TIME: usize = 16;

/// Maximum number of unused events that a registration looks at for the work item.
const REAPED_AT_A_TIME: usize = 16;

impl Registry {
    /// Returns the event that `command` describes, and creates it if necessary.
    ///
    /// An event that shall be persistent is not yet: the caller sets it persistent when all else
    /// has succeeded.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what cannot be parsed, `EPERM` for a persistent event without `CAP_PERFMON`,
    /// `EADDRINUSE` if the name is taken by other fields, `EMFILE` if too many events exist,
    /// `ENODEV` if the trace event types have run out, `ENOMEM`.
    ///
    /// An event that conflicts is removed, if only lines of `set_user_event` keep it, or if it has
    /// lost its last use and the work item has not visited it yet.
    ///
    /// Sleeps; takes `event_mutex` if the event has to be created.
    pub(crate) fn find_or_create(&self, command: &[u8], wanted: RegisterFlags) -> Result<EventUse> {
        let mut attempts = MAX_REGISTRATIONS;

        loop {
            let result = self.find_or_make(command, wanted);

            attempts -= 1;
            match result {
                Err(e) if attempts > 0 && self.make_way(command, e)? => (),
                result => return result,
            }
        }
    }

    /// Drops the use of a registration that has failed. An event that was created for it is
    /// removed at once, so that the caller waits for that and cannot fill the registry.
    pub(crate) fn abandon(&self, used: EventUse) {
        let event = used.event();

        drop(used);
        if patterns::exist() && !event.has_users() && !event.is_confirmed() {
            self.remove_kept(&event, false);
        }
    }

    /// Removes an event that is in the way of a registration which has failed with `e`. Returns
    /// `true` if another attempt may succeed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn make_way(&self, command: &[u8], e: Error) -> Result<bool> {
        if e == EMFILE && self.reap_some() {
            return Ok(true);
        }
        if !patterns::exist() {
            return Ok(false);
        }
        if e == EADDRINUSE {
            return self.replace(command);
        }
        if e != EMFILE {
            return Ok(false);
        }
        let oldest = {
            let mut guard = event_mutex::lock();

            self.revert_oldest(0, &mut guard)
                .or_else(|| self.revert_any(&mut guard))
        };
        let Some((event, lines)) = oldest else {
            return Ok(false);
        };

        // If it is used again by now, the next attempt finds another one.
        self.remove_oldest(event, &lines);
        Ok(true)
    }

    /// Processes some unused events in place of the work item, with which tasks that create events
    /// compete for `event_mutex`. Returns `true` if one was removed.
    fn reap_some(&self) -> bool {
        let Some(unused) = unused::get() else {
            return false;
        };
        let mut is_any = false;
        let mut is_to_be_swept = false;

        for _ in 0..REAPED_AT_A_TIME {
            let Some(event) = unused.next_doomed().or_else(|| unused.next()) else {
                break;
            };

            let looked_at = event.clone_arc();

            is_to_be_swept |= self.look_at(unused, event);
            is_any |= !looked_at.trace().is_registered();
        }
        if is_to_be_swept {
            Unused::sweep_later(unused);
        }
        is_any
    }

    /// Removes the event of a single format that has the name in a command, if it has no users and
    /// the fields in the command are valid. Returns `true` if it is removed.
    fn replace(&self, command: &[u8]) -> Result<bool> {
        let (name, args) = parse::split(command)?;
        let Some(event) = self.events.lock().event(&Order { name, fields: None }) else {
            // It was removed just now.
            return Ok(true);
        };

        if event.has_users() || event.is_persistent() {
            return Ok(false);
        }
        match parse::fields(args) {
            Ok(_) => Ok(self.remove_kept(&event, true)),
            Err(e) if e == ENOMEM => Err(e),
            // The event would be removed, and the registration fail nevertheless.
            Err(_) => Ok(false),
        }
    }

    /// Returns `true` if an event without users is to be removed, as no registration of it was
    /// ever successful. Otherwise lists it as kept, if lines keep it.
    pub(super) fn is_discarded(
        &self,
        event: &Arc<UserEvent>,
        guard: &mut event_mutex::Guard,
    ) -> bool {
        let is_registered = event.trace().is_registered();

        if event.has_users() || event.is_persistent() || event.is_reverted() || !is_registered {
            return false;
        }
        if !event.is_confirmed() {
            return true;
        }
        if patterns::listeners_of_lines(&**event, guard) == Some(event.uses()) {
            self.kept.lock().push(event.clone());
        }
        false
    }

    /// Removes the oldest kept events above the limit.
    ///
    /// The lines are reverted for several of them first, so that one grace period is enough for all
    /// of these. Ends when no further event is above the limit or can be removed now.
    pub(super) fn trim_kept(&self) {
        loop {
            let mut reverted = [const { None }; REVERTED_AT_A_TIME];
            {
                let mut guard = event_mutex::lock();

                for place in &mut reverted {
                    *place = self.revert_oldest(kept::MAX.load(Relaxed), &mut guard);
                    if place.is_none() {
                        break;
                    }
                }
            }
            let mut is_any = false;

            for (event, lines) in reverted.into_iter().flatten() {
                is_any |= self.remove_oldest(event, &lines);
            }
            if !is_any {
                return;
            }
        }
    }

    /// Reverts the lines for the oldest event that can be removed, if more than `limit` are kept.
    ///
    /// Events that are used again are still listed; they are not kept, and leave the list here.
    fn revert_oldest(
        &self,
        limit: u32,
        guard: &mut event_mutex::Guard,
    ) -> Option<(Arc<UserEvent>, Reverted)> {
        for _ in 0..SEARCH_KEPT {
            let event = {
                let mut kept = self.kept.lock();

                // The events that have left the list so far may have been the surplus.
                if kept.count() <= limit {
                    return None;
                }
                kept.pop()?
            };

            if let Some(lines) = self.revert(&event, true, guard) {
                return Some((event, lines));
            }
            self.keep_again(event);
        }
        None
    }

    /// Reverts the lines for the first event, in the order of names, that can be removed: the work
    /// item may not have listed those that have just lost their users.
    fn revert_any(&self, guard: &mut event_mutex::Guard) -> Option<(Arc<UserEvent>, Reverted)> {
        for at in 0..SEARCH_ALL {
            let event = self
                .events
                .lock()
                .iter()
                .filter(|event| !event.has_users() && !event.is_persistent())
                .nth(at)
                .cloned()?;

            if let Some(lines) = self.revert(&event, true, guard) {
                return Some((event, lines));
            }
        }
        None
    }

    /// Removes an event for which the lines have been reverted, or lists it as kept again.
    fn remove_oldest(&self, event: Arc<UserEvent>, lines: &Reverted) -> bool {
        // If several are removed, this is for all of them.
        event.trace().wait_for_readers();

        let mut guard = event_mutex::lock();
        let is_removed = self.remove_reverted(&event, lines, &mut guard);

        if !is_removed {
            self.keep_again(event);
        }
        is_removed
    }

    /// Lists an event as kept again, if it has no users. An event that is used again is listed
    /// after that.
    fn keep_again(&self, event: Arc<UserEvent>) {
        if !event.has_users() && !event.is_persistent() && event.trace().is_registered() {
            self.kept.lock().push(event);
        }
    }

    /// Removes an event if only lines keep it. With `tell`, the lines count it as removed.
    ///
    /// Waits for a grace period. Takes `event_mutex`.
    pub(super) fn remove_kept(&self, event: &Arc<UserEvent>, tell: bool) -> bool {
        let reverted = self.revert(event, tell, &mut event_mutex::lock());
        let Some(lines) = reverted else {
            return false;
        };

        event.trace().wait_for_readers();

        let mut guard = event_mutex::lock();
        let is_removed = self.remove_reverted(event, &lines, &mut guard);

        // The work item may have looked at it concurrently, and not have noted it.
        if !is_removed && event.is_confirmed() {
            self.keep_again(event.clone());
        }
        is_removed
    }

    /// Reverts the lines for an event if only they keep it. With `tell`, returns those that count
    /// it as removed when it is; none if another task has reverted them for the same reason.
    ///
    /// Returns `None` if it is used, or if a histogram of a line refuses to be removed, as others
    /// refer to its variables. Then the lines are applied again.
    fn revert(
        &self,
        event: &Arc<UserEvent>,
        tell: bool,
        guard: &mut event_mutex::Guard,
    ) -> Option<Reverted> {
        let listeners = patterns::listeners_of_lines(&**event, guard)?;

        {
            let _events = self.events.lock();

            // Uses are taken under this lock or from another use, listeners under `event_mutex`. So
            // if the listeners are all uses no other exists, and a task that takes one after this
            // sees what is set here. The uses first: an event becomes persistent while it has one.
            if event.uses() != listeners
                || event.is_persistent()
                // It was registered by others since.
                || (!tell && event.is_confirmed())
                || event.trace().is_referenced()
                || listens::to(event.trace()) & !listens::FTRACE != 0
            {
                return None;
            }
            if event.is_reverted() {
                return Some(Reverted::new());
            }
            event.set_reverted(true);
        }
        let lines = patterns::revert_all(&**event, guard);

        // A task that has found it since applies the lines itself.
        if event.is_used() && !event.has_users() {
            kept::restore(event, guard).give_up(event.trace().name());
            return None;
        }
        Some(if tell { lines } else { Reverted::new() })
    }

    /// Removes an event for which these lines have been reverted. Returns `false` if it cannot be.
    fn remove_reverted(
        &self,
        event: &Arc<UserEvent>,
        lines: &Reverted,
        guard: &mut event_mutex::Guard,
    ) -> bool {
        let node = {
            let mut events = self.events.lock();

            // It may be used again, or another trigger refer to one of a line since.
            if event.is_used() || event.is_persistent() || event.trace().is_referenced() {
                None
            } else {
                match events.remove(event) {
                    Some(node) => Some(node),
                    // Another task has.
                    None => return true,
                }
            }
        };

        if let Some(node) = node {
            if event.trace().unregister(guard.held()).is_ok() {
                lines.count_removed(event.trace().name());
                self.gone(event);
                return true;
            }
            // Memory has run out.
            self.events.lock().insert(node);
        }
        // A task that has found it applies the lines itself, and is charged for them.
        if !event.has_users() {
            kept::restore(event, guard).give_up(event.trace().name());
        }
        // The work item has left it to this task, and the file may have lost its last line.
        if !event.is_used() && !event.is_persistent() {
            unused::reap_later(event.clone());
        }
        false
    }
}
