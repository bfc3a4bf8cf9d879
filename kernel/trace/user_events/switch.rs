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
//! processes that are busy: all of them together are waited for a limited time ([`Patience`]).
//!
//! A child shares the set of its parent, so the words of a set are bits times processes, while a
//! process pays for the sum of both only. After [`MAX_SHARED`] visits of such words, the rest is
//! left to the work items of the processes, so that a switch takes time for the sum as well.
//!
//! A page that is shared since a fork has to be copied before its word can be written, which a work
//! item does. At its end a switch waits for such copies, too, so that after it the word is right.

use super::{
    enabler::{
        Followed,
        Site,
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
    trace::event_mutex::Held, //
};

/// Maximum number of address spaces whose copies a switch waits for.
const MAX_COPYING: usize = 64;

/// Maximum number of words that a switch visits in address spaces that share a set with one that it
/// has visited before.
const MAX_SHARED: usize = 1 << 16;

/// A switch in progress.
pub(crate) struct Switch<E: Followed> {
    /// Address spaces with a smaller number were there when it began.
    before: u64,
    /// The time that it may still wait.
    patience: Patience,
    /// Number of words of [`MAX_SHARED`] that have been visited.
    shared: usize,
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
            shared: 0,
            copying: [const { None }; MAX_COPYING],
        };

        switch.visit(event);
        drop(progress);
        switch.wait_for_copies();
        switch.patience.keep();
    }

    /// Visits all sites of `event`.
    ///
    /// Those of one set usually follow each other. The address spaces that use it are fetched once
    /// for them: what joins later writes all its words, see
    /// [`EnablerSet::share`](super::enabler::EnablerSet::share).
    fn visit(&mut self, event: &E) {
        let mut seen: Option<Arc<Site<E>>> = None;
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
            let is_same = |seen: &Arc<Site<E>>| Arc::ptr_eq(seen.set(), site.set());

            if !are_all || !seen.as_ref().is_some_and(is_same) {
                site.set().users(&mut users, 0, self.before);
            }
            if self.shared >= MAX_SHARED && users.len() > 1 {
                site.set().defer(self.before);
                are_all = self.visit_users(&site, &mut users, |mm, _| MmState::write_all_later(mm));
            } else {
                are_all = self.visit_users(&site, &mut users, |mm, switch| {
                    if MmState::sync(mm, &site, &mut switch.patience) {
                        switch.copies(mm);
                    }
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
        site: &Site<E>,
        users: &mut Users<E>,
        f: impl Fn(&Arc<MmState<E>>, &mut Self),
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
