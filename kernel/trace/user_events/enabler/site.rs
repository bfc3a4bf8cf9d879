// SPDX-License-Identifier: GPL-2.0

//! One enable bit, in the list of its event.
//!
//! The list of an event is locked for a limited number of sites at a time, see
//! [`enabler`](super).

use super::{
    super::{
        event::EventUse,
        table::Entry,
        visit_list::{
            Member,
            Side,
            VisitList, //
        },
    },
    EnablerSet, //
};
use kernel::{
    alloc::Flags,
    list::{
        impl_list_arc_safe,
        impl_list_item,
        ListArc,
        ListLinks, //
    },
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

/// Number of sites that join or leave an event each time the lock of its sites is taken.
const SITES_AT_A_TIME: usize = 32;

/// The sites of an event.
pub(crate) type Sites = VisitList<Site>;

/// An enable bit: the set that it is in, its key there, and the event that it follows.
#[pin_data]
pub(crate) struct Site {
    /// [`EnableBit::key`](super::super::defs::EnableBit::key).
    key: u64,
    event: EventUse,
    set: Arc<EnablerSet>,
    side: Side,
    /// The bit is registered. Changes under the lock of the address space.
    live: Atomic<bool>,
    /// In the list of the event.
    #[pin]
    links: ListLinks,
}

// As large as an object of the slab cache that it comes from, with the reference count.
#[cfg(CONFIG_64BIT)]
static_assert!(size_of::<Site>() <= 64 - 8);

impl_list_arc_safe! {
    impl ListArcSafe<0> for Site { untracked; }
}

impl_list_item! {
    impl ListItem<0> for Site { using ListLinks { self.links }; }
}

impl Member for Site {
    fn side(&self) -> &Side {
        &self.side
    }
}

impl Entry for Arc<Site> {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl Site {
    pub(super) fn new(
        set: &Arc<EnablerSet>,
        key: u64,
        event: EventUse,
        flags: Flags,
    ) -> Result<ListArc<Self>> {
        let set = set.clone();

        ListArc::pin_init(
            try_pin_init!(Self {
                key,
                event,
                set,
                side: Side::new(),
                live: Atomic::new(true),
                links <- ListLinks::new(),
            }? Error),
            flags,
        )
    }

    /// [`EnableBit::key`](super::super::defs::EnableBit::key) of the bit.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// The event that the bit follows.
    pub(crate) fn event(&self) -> &EventUse {
        &self.event
    }

    /// The set that the bit is in.
    pub(crate) fn set(&self) -> &Arc<EnablerSet> {
        &self.set
    }

    /// Returns `true` if the bit is registered. The caller holds the lock of an address space that
    /// uses the set.
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Relaxed)
    }

    /// Adds the site to its event. A switch that has begun does not see it.
    pub(super) fn link(site: ListArc<Self>) {
        let this = site.clone_arc();

        this.event.sites().lock().insert(site);
    }

    /// Adds sites to their events, each a copy of the second one of its pair.
    ///
    /// Returns `true` if a switch still has to see one of the originals.
    pub(super) fn link_copies(mut pairs: KVVec<Pair>) -> bool {
        let mut is_missed = false;
        let mut rest = &mut pairs[..];

        while let Some((_, origin)) = rest.first() {
            let event = origin.event.clone();
            let count = count_of(rest.iter().map(|(_, origin)| &**origin));
            let (some, others) = rest.split_at_mut_checked(count).unwrap_or_default();
            let mut sites = event.sites().lock();

            for (site, origin) in some {
                if let Some(site) = site.take() {
                    sites.insert(site);
                }
                is_missed |= sites.is_ahead(origin);
            }
            drop(sites);
            rest = others;
        }
        is_missed
    }

    /// Removes the site from its event.
    pub(super) fn unlink(&self) {
        self.live.store(false, Relaxed);
        let mut sites = self.event.sites().lock();
        // SAFETY: A site is only ever added to the list of its event, in `link()` and
        // `link_copies()`.
        let this = unsafe { sites.remove(self) };

        drop(sites);
        drop(this);
    }

    /// Removes sites from their events. The caller has a reference to each.
    pub(super) fn unlink_all<'a>(all: impl Iterator<Item = &'a Arc<Self>>) {
        let mut rest = all.peekable();

        while let Some(first) = rest.next() {
            let mut sites = first.event.sites().lock();
            let mut next = Some(first);
            let mut count = 0;

            while let Some(site) = next {
                site.live.store(false, Relaxed);
                // It is not the last reference that is dropped here.
                // SAFETY: As in `unlink()`.
                drop(unsafe { sites.remove(site) });

                count += 1;
                next = rest.next_if(|next| count < SITES_AT_A_TIME && first.is_beside(next));
            }
        }
    }

    /// Returns `true` if two sites follow the same event.
    fn is_beside(&self, other: &Self) -> bool {
        core::ptr::eq(&*self.event, &*other.event)
    }
}

/// A site that is not in the list of its event yet, and the one that it is a copy of.
pub(super) type Pair = (Option<ListArc<Site>>, Arc<Site>);

/// Returns how many of the next sites follow the event of the first one, as far as they are taken
/// together.
fn count_of<'a>(sites: impl Iterator<Item = &'a Site> + Clone) -> usize {
    let first = sites.clone().next();

    sites
        .take(SITES_AT_A_TIME)
        .take_while(|site| first.is_some_and(|first| first.is_beside(site)))
        .count()
}
