// SPDX-License-Identifier: GPL-2.0

//! Switching an event: writing its state to all bits that follow it.
//!
//! A switch visits the sites that the event has when it begins, each once, and for each site the
//! address spaces that exist when it begins. It does not visit later ones:
//!
//! - A registration writes its word itself, after its site is known to the event.
//! - An address space that gets a copy of a shared set writes all its words if the switch has not
//!   met all of the originals ([`EnablerSet::copy_for`](super::enabler::EnablerSet::copy_for)).
//! - A child that is forked while a switch is in progress writes all its words
//!   ([`EnablerSet::share`](super::enabler::EnablerSet::share)).
//!
//! So a process that keeps registering, or forking, cannot prolong a switch. Neither can many
//! processes that are busy: all of them together are waited for [`PAUSES`] times.

use super::{
    enabler::Site,
    event::UserEvent,
    mm::MmState, //
};
use kernel::{
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    trace::event_mutex::Held,
};

/// The number of the next address space; 64 bits do not run out.
static NEXT_ID: Atomic<u64> = Atomic::new(1);

/// A switch is in progress. Written under `event_mutex`.
static IN_PROGRESS: Atomic<bool> = Atomic::new(false);

/// The number of times a switch waits for the locks of processes, in all.
const PAUSES: u32 = 100;

/// The time that it waits each time.
const PAUSE: Delta = Delta::from_micros(100);

/// Returns a number that is larger than all that were returned before.
///
/// Fully ordered: a caller that gets a number larger than that of a [`Switch`] sees that the switch
/// is in progress, or has ended.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Full)
}

/// Returns `true` if a switch is in progress. Pairs with the end of a switch: otherwise everything
/// that switches have done before is visible.
pub(super) fn in_progress() -> bool {
    IN_PROGRESS.load(Acquire)
}

/// A switch in progress.
pub(crate) struct Switch {
    /// Address spaces with a smaller number were there when it began.
    before: u64,
    /// The number of times it may still wait.
    pauses: u32,
}

impl Switch {
    /// Writes the state of `event` to all bits that follow it. What cannot be written at once is
    /// left to work items.
    pub(super) fn run(event: &UserEvent, _held: Held<'_>) {
        IN_PROGRESS.store(true, Relaxed);
        let mut switch = Self {
            before: next_id(),
            pauses: PAUSES,
        };
        let mut seen: Option<Arc<Site>> = None;

        event.sites().lock().begin();
        loop {
            let next = {
                let mut sites = event.sites().lock();

                if let Some(site) = &seen {
                    sites.seen(site);
                }
                sites.next()
            };
            let Some(site) = next else {
                break;
            };

            site.set().for_each_mm(switch.before, |mm| {
                MmState::sync(mm, &site, &mut switch);
            });
            seen = Some(site);
        }
    }

    /// Waits a little, if the switch may still wait. Returns `false` if it may not.
    pub(super) fn pause(&mut self) -> bool {
        if !self.may_pause() {
            return false;
        }
        self.pauses -= 1;
        fsleep(PAUSE);
        true
    }

    /// Returns `true` if the switch may still wait.
    pub(super) fn may_pause(&self) -> bool {
        self.pauses > 0
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        IN_PROGRESS.store(false, Release);
    }
}
