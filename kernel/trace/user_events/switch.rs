// SPDX-License-Identifier: GPL-2.0

//! Switching an event: writing its state to all bits that follow it.
//!
//! A switch visits the enablers that the event has when it begins, each once, and for each enabler
//! the address spaces that exist when it begins. It does not visit later ones:
//!
//! - A registration writes its word itself, after its enabler is known to the event.
//! - An address space that gets a copy of a shared set writes all its words if the switch has not
//!   met all of the originals
//!   ([`EnablerSet::copy_for`](super::enabler::EnablerSet::copy_for)).
//! - A child that is forked while a switch is in progress writes all its words
//!   ([`EnablerSet::share`](super::enabler::EnablerSet::share)).
//!
//! So a process that keeps registering, or forking, cannot prolong a switch. Neither can many
//! processes that are busy: all of them together are waited for a limited time ([`Patience`]).
//!
//! A child shares the set of its parent, so the words of a set are bits times processes, while a
//! process pays for the sum of both only. All switches together visit a limited number of such
//! words ([`Patience`]). After that a switch visits no more sets with several processes, but leaves
//! each to a work item of the set, which tells the processes to write all their words
//! ([`EnablerSet::defer`]). So switches take time for the sum as well, one or many.
//!
//! A page that is shared since a fork has to be copied before its word can be written, which a work
//! item does. At its end a switch waits for such copies, too, so that after it the word is right.

use super::{
    enabler::{
        Enabler,
        EnablerSet,
        Followed,
        Users, //
    },
    mm::MmState,
    patience::Patience,
    progress::{
        next_id,
        Progress, //
    }, //
};
use kernel::{
    sync::Arc,
    time::Instant,
    trace::event_mutex::Held, //
};

/// Maximum number of address spaces whose copies a switch waits for.
const MAX_COPYING: usize = 64;

/// A switch in progress.
pub(crate) struct Switch<E: Followed> {
    /// Address spaces with a smaller number existed when it began.
    before: u64,
    /// The time that it may still wait, and the shared words that it may still visit.
    patience: Patience,
    /// Address spaces that are copying pages of words that it could not write.
    copying: [Option<Arc<MmState<E>>>; MAX_COPYING],
}

impl<E: Followed> Switch<E> {
    /// Writes the state of `event` to all bits that follow it. A word that cannot be written at
    /// once is left to a work item.
    pub(super) fn run(event: &E, _held: Held<'_>) {
        let progress = Progress::begin();
        let mut switch = Self {
            before: next_id(),
            patience: Patience::begin(),
            copying: [const { None }; MAX_COPYING],
        };

        switch.visit(event);
        drop(progress);
        switch.wait_for_copies();
        switch.patience.keep();
    }

    /// Visits all enablers of `event`.
    ///
    /// Those of one set usually follow each other. The address spaces that use it are fetched once
    /// for them: what joins later writes all its words, see
    /// [`EnablerSet::share`](super::enabler::EnablerSet::share).
    fn visit(&mut self, event: &E) {
        let mut seen: Option<Arc<Enabler<E>>> = None;
        // Those of the set of `seen`, if it has no others.
        let mut users = Users::new();
        let mut are_all = false;

        event.enablers().lock().begin();
        loop {
            let next = {
                let mut enablers = event.enablers().lock();

                if let Some(enabler) = &seen {
                    enablers.seen(enabler);
                }
                enablers.next()
            };
            let Some(enabler) = next else {
                break;
            };
            if enabler.set().is_deferred(self.before) {
                seen = Some(enabler);
                continue;
            }
            let is_same = |seen: &Arc<Enabler<E>>| Arc::ptr_eq(seen.set(), enabler.set());

            if !are_all || !seen.as_ref().is_some_and(is_same) {
                enabler.set().users(&mut users, 0, self.before);
            }
            if users.len() > 1 && !self.patience.may_visit_shared() {
                EnablerSet::defer(enabler.set(), self.before);
            } else {
                are_all = self.visit_users(&enabler, &mut users);
            }
            seen = Some(enabler);
        }
    }

    /// Visits `enabler` in the address spaces that use its set, of which `users` are the first.
    /// Returns `true` if these are all.
    fn visit_users(&mut self, enabler: &Arc<Enabler<E>>, users: &mut Users<E>) -> bool {
        let begin = (users.len() > 1).then(Instant::now);
        let mut are_all = true;
        let mut count = 0usize;

        loop {
            for mm in users.iter() {
                if MmState::sync(mm, enabler, &mut self.patience) {
                    self.copies(mm);
                }
            }
            count = count.saturating_add(users.len());
            let Some(next) = users.last_if_full().map(|last| last.id() + 1) else {
                break;
            };

            are_all = false;
            enabler.set().users(users, next, self.before);
        }
        if let Some(begin) = begin {
            // The first of them does not count.
            self.patience.visited_shared(count.saturating_sub(1), begin);
        }
        are_all
    }

    /// Adds `mm` to the address spaces that the switch waits for at its end: its work item copies
    /// the page of a word and writes it. [`MAX_COPYING`] can be added; others are not waited for.
    fn copies(&mut self, mm: &Arc<MmState<E>>) {
        let place = self
            .copying
            .iter_mut()
            .find(|place| place.as_ref().is_none_or(|other| Arc::ptr_eq(other, mm)));

        if let Some(place) = place {
            *place = Some(mm.clone());
        }
    }

    /// Waits for the address spaces that are copying pages, as long as the switch may wait.
    fn wait_for_copies(&mut self) {
        for mm in core::mem::replace(&mut self.copying, [const { None }; MAX_COPYING])
            .iter()
            .flatten()
        {
            while mm.is_writing() && self.patience.pause() {}
        }
    }
}
