// SPDX-License-Identifier: GPL-2.0

//! Switching an event: writing its state to all bits that follow it.
//!
//! A switch visits the sites that the event has when it begins, each once, and for each site the
//! address spaces that exist when it begins. It does not visit later ones:
//!
//! - A registration writes its word itself, after its site is known to the event.
//! - An address space that gets a copy of a shared set writes all its words if the switch has not
//!   met all of the originals
//!   ([`EnablerSet::copy_for`](super::enabler::EnablerSet::copy_for)).
//! - A child that is forked while a switch is in progress writes all its words
//!   ([`EnablerSet::share`](super::enabler::EnablerSet::share)).
//!
//! So a process that keeps registering, or forking, cannot prolong a switch. Neither can many
//! processes that are busy: all of them together are waited for [`PATIENCE`] at most.
//!
//! A child shares the set of its parent, so the words of a set are bits times processes, while a
//! process pays for the sum of both only. After [`MAX_SHARED`] visits of such words, the rest is
//! left to the work items of the processes, so that a switch takes time for the sum as well.
//!
//! A page that is shared since a fork has to be copied before its word can be written, which a work
//! item does. At its end a switch waits for such copies, too, so that after it the word is right.

use super::{
    enabler::{
        Site,
        Users, //
    },
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
        Arc,
        SetOnce, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
    trace::event_mutex::Held,
};

/// The number of the next address space; 64 bits do not run out.
static NEXT_ID: Atomic<u64> = Atomic::new(1);

/// A switch is in progress. Written under `event_mutex`.
static IN_PROGRESS: Atomic<bool> = Atomic::new(false);

/// The time that a switch waits for processes, in all.
const PATIENCE: Delta = Delta::from_millis(10);

/// One part in so many of the time that passes is added again to what is left of it. One write to a
/// file can make a switch of each event.
const REGAIN: i64 = 8;

/// The rest of it in ns, at the end of the last switch. Written under `event_mutex`.
static LEFT: Atomic<i64> = Atomic::new(PATIENCE.as_nanos());

/// That end, in ns after [`FIRST`].
static ENDED: Atomic<i64> = Atomic::new(0);

/// The beginning of the first switch.
static FIRST: SetOnce<Instant<Monotonic>> = SetOnce::new();

/// The time that it waits each time, at least: on a busy machine it may become more.
const PAUSE: Delta = Delta::from_micros(100);

/// Maximum number of address spaces whose copies a switch waits for.
const MAX_COPYING: usize = 64;

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

/// Returns the time in ns since the first switch.
fn clock() -> i64 {
    FIRST.populate(Instant::now());
    FIRST.as_ref().map_or(0, |first| first.elapsed().as_nanos())
}

/// Returns how long a switch that begins now may wait.
fn patience() -> Delta {
    let passed = clock().saturating_sub(ENDED.load(Relaxed));

    Delta::from_nanos(regained(LEFT.load(Relaxed), passed))
}

/// Returns what is left of [`PATIENCE`] some time after so much was left, both in ns.
pub(super) fn regained(left: i64, passed: i64) -> i64 {
    left.max(0)
        .saturating_add(passed.max(0) / REGAIN)
        .min(PATIENCE.as_nanos())
}

/// Keeps what a switch that ends now has not used.
fn keep(patience: Delta) {
    LEFT.store(patience.as_nanos(), Relaxed);
    ENDED.store(clock(), Relaxed);
}

/// The time in which [`in_progress()`] returns `true`.
struct Progress;

impl Progress {
    fn begin() -> Self {
        IN_PROGRESS.store(true, Relaxed);
        Self
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        IN_PROGRESS.store(false, Release);
    }
}

/// Maximum number of words that a switch visits in address spaces that share a set with one that it
/// has visited before.
const MAX_SHARED: usize = 1 << 16;

/// A switch in progress.
pub(crate) struct Switch {
    /// Address spaces with a smaller number were there when it began.
    before: u64,
    /// The time that it may still wait.
    patience: Delta,
    /// Number of words of [`MAX_SHARED`] that have been visited.
    shared: usize,
    /// Address spaces that are copying pages of words that it could not write.
    copying: [Option<Arc<MmState>>; MAX_COPYING],
}

impl Switch {
    /// Writes the state of `event` to all bits that follow it. What cannot be written at once is
    /// left to work items.
    pub(super) fn run(event: &UserEvent, _held: Held<'_>) {
        let progress = Progress::begin();
        let mut switch = Self {
            before: next_id(),
            patience: patience(),
            shared: 0,
            copying: [const { None }; MAX_COPYING],
        };

        switch.visit(event);
        drop(progress);
        switch.wait_for_copies();
        keep(switch.patience);
    }

    /// Visits all sites of `event`.
    ///
    /// Those of one set usually follow each other. The address spaces that use it are fetched once
    /// for them: what joins later writes all its words, see
    /// [`EnablerSet::share`](super::enabler::EnablerSet::share).
    fn visit(&mut self, event: &UserEvent) {
        let mut seen: Option<Arc<Site>> = None;
        // Those of the set of `seen`, if there are no others.
        let mut users = Users::new();
        let mut are_all = false;

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
            if site.set().is_deferred(self.before) {
                seen = Some(site);
                continue;
            }
            let is_same = |seen: &Arc<Site>| Arc::ptr_eq(seen.set(), site.set());

            if !are_all || !seen.as_ref().is_some_and(is_same) {
                site.set().users(&mut users, 0, self.before);
            }
            if self.shared >= MAX_SHARED && users.len() > 1 {
                site.set().defer(self.before);
                are_all = self.visit_users(&site, &mut users, |mm, _| MmState::write_all_later(mm));
            } else {
                are_all = self.visit_users(&site, &mut users, |mm, switch| {
                    MmState::sync(mm, &site, switch);
                    switch.shared += 1;
                });
                // The first of them does not count.
                self.shared = self.shared.saturating_sub(1);
            }
            seen = Some(site);
        }
    }

    /// Calls `f` with the address spaces that use the set of `site`, of which `users` are the
    /// first. Returns `true` if these are all.
    fn visit_users(
        &mut self,
        site: &Site,
        users: &mut Users,
        f: impl Fn(&Arc<MmState>, &mut Self),
    ) -> bool {
        let mut are_all = true;

        loop {
            for mm in users.iter() {
                f(mm, self);
            }
            let Some(next) = users.last_if_full().map(|last| last.id() + 1) else {
                return are_all;
            };

            are_all = false;
            site.set().users(users, next, self.before);
        }
    }

    /// Waits a little, if the switch may still wait. Returns `false` if it may not.
    pub(super) fn pause(&mut self) -> bool {
        if !self.may_pause() {
            return false;
        }
        let begin = Instant::<Monotonic>::now();

        fsleep(PAUSE);
        self.patience -= begin.elapsed();
        true
    }

    /// Returns `true` if the switch may still wait.
    pub(super) fn may_pause(&self) -> bool {
        self.patience > Delta::ZERO
    }

    /// Has the switch wait at its end for the work item of `mm`, which copies the page of a word
    /// and writes it. There is room for [`MAX_COPYING`] of them; others are not waited for.
    pub(super) fn copies(&mut self, mm: &Arc<MmState>) {
        let place = self
            .copying
            .iter_mut()
            .find(|place| place.as_ref().is_none_or(|other| Arc::ptr_eq(other, mm)));

        if let Some(place) = place {
            *place = Some(mm.clone());
        }
    }

    /// Waits for the address spaces that are copying pages, if it may still wait.
    fn wait_for_copies(&mut self) {
        for mm in core::mem::replace(&mut self.copying, [const { None }; MAX_COPYING])
            .iter()
            .flatten()
        {
            while mm.is_writing() && self.pause() {}
        }
    }
}
