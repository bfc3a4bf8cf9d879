// SPDX-License-Identifier: GPL-2.0

//! Enable bits: the event that each bit follows.
//!
//! A bit is a [`Site`]. It is in two containers. A process has an [`EnablerSet`], a hash table by
//! address and bit: for registering and unregistering. An event has a [`Sites`] list: for switching
//! it without looking at the bits of other events.
//!
//! Adding and removing a bit take the same time however many other bits the process and the event
//! have. The end of a process takes time for its own bits only.
//!
//! A fork shares the set of the parent instead of copying it, so a set has a list of the address
//! spaces that use it, and a set with more than one does not change. An address space that wants a
//! change then gets a copy of its own ([`EnablerSet::copy_for`]).
//!
//! # Locking
//!
//! The lock of a set is inside that of an address space ([`super::mm::MmState`]). The lock of the
//! sites of an event is a spinlock, and nothing is taken inside it. No memory is allocated under
//! either, and no reference is dropped under the latter that could be the last one.
//!
//! The holder of the lock of an address space that uses a set may change the enablers of the set,
//! if the set has no other user.

use super::{
    defs::EnableBit,
    event::EventUse,
    mm::MmState,
    seed, switch,
    table::{
        Entry,
        OpenTable,
        Slots, //
    },
    visit_list::{
        Member,
        Side,
        VisitList, //
    },
};
use kernel::{
    list::{
        impl_list_arc_safe,
        impl_list_item,
        ListArc,
        ListLinks, //
    },
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
};

/// A set with more bits than this is not taken apart by the task that exits.
const FEW: usize = 8;

/// The sites of an event.
pub(crate) type Sites = VisitList<Site>;

/// An enable bit: the set that it is in, its key there, and the event that it follows.
#[pin_data]
pub(crate) struct Site {
    /// [`EnableBit::key`].
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
    fn new(set: &Arc<EnablerSet>, key: u64, event: EventUse) -> Result<ListArc<Self>> {
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
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// [`EnableBit::key`] of the bit.
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
    ///
    /// Returns `true` if a switch still has to see `origin`, a site of the same event.
    fn link(site: ListArc<Self>, origin: Option<&Self>) -> bool {
        let this = site.clone_arc();
        let mut sites = this.event.sites().lock();

        sites.insert(site);
        origin.is_some_and(|origin| sites.is_ahead(origin))
    }

    /// Removes the site from its event.
    fn unlink(&self) {
        self.live.store(false, Relaxed);
        let mut sites = self.event.sites().lock();
        // SAFETY: A site is only ever added to the list of its event, in `link()`.
        let this = unsafe { sites.remove(self) };

        drop(sites);
        drop(this);
    }
}

/// The enable bits of one address space, or of several that were forked from it.
#[pin_data]
pub(crate) struct EnablerSet {
    #[pin]
    inner: Mutex<Inner>,
}

struct Inner {
    enablers: OpenTable<Arc<Site>>,
    /// The address spaces that use the set, by number.
    mms: RBTree<u64, Arc<MmState>>,
    users: usize,
}

impl EnablerSet {
    /// Creates a set without bits whose one user is `mm`.
    pub(crate) fn new(mm: &Arc<MmState>) -> Result<Arc<Self>> {
        let mut mms = RBTree::new();
        mms.try_create_and_insert(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;

        Arc::pin_init(
            pin_init!(Self {
                inner <- new_mutex!(
                    Inner {
                        enablers: OpenTable::with_seed(seed()),
                        mms,
                        users: 1,
                    },
                    "EnablerSet::inner"
                ),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Returns `true` if more than one address space uses the set, so that it must not change.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.lock().users > 1
    }

    /// Returns `true` if it takes a while to take the set apart, and `leave()` would.
    pub(crate) fn is_slow_to_leave(&self) -> bool {
        let inner = self.inner.lock();

        inner.users == 1 && inner.enablers.len() > FEW
    }

    /// Returns `true` if the bit is in use, whatever the width of its word.
    pub(crate) fn contains(&self, bit: &EnableBit) -> bool {
        let inner = self.inner.lock();

        bit.keys().iter().any(|key| inner.enablers.contains(*key))
    }

    /// Returns the bit as it was registered, with the width of its word.
    pub(crate) fn find(&self, addr: usize, bit: u8) -> Option<EnableBit> {
        let inner = self.inner.lock();

        EnableBit::both_widths(addr, bit).find(|bit| inner.enablers.contains(bit.key()))
    }

    /// Returns the site of the bit with this key.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<Site>> {
        self.inner.lock().enablers.get(key).cloned()
    }

    /// Returns the keys of all bits, for a pass over them without the lock.
    pub(crate) fn keys(&self) -> Result<KVVec<u64>> {
        loop {
            let len = self.inner.lock().enablers.len();
            // Bits may be registered until the lock is taken again.
            let mut keys = KVVec::with_capacity(len.saturating_add(len / 4), GFP_KERNEL)?;
            let inner = self.inner.lock();

            if inner.enablers.len() > keys.capacity() {
                continue;
            }
            for site in inner.enablers.iter() {
                keys.push_within_capacity(site.key)?;
            }
            return Ok(keys);
        }
    }

    /// Adds a bit. The caller has checked that it is not there, and that the set may change.
    ///
    /// A switch of the event that begins after this finds the bit.
    pub(crate) fn insert(this: &Arc<Self>, key: u64, event: EventUse) -> Result {
        let site = Site::new(this, key, event)?;

        this.make_room(1)?;
        this.add(site, None);
        Ok(())
    }

    /// Makes room for more bits. The caller is the only one who may change the set.
    fn make_room(&self, additional: usize) -> Result {
        let growth = self.inner.lock().enablers.growth(additional)?;

        if let Some(count) = growth {
            self.resize(Slots::new(count)?);
        }
        Ok(())
    }

    fn resize(&self, slots: Slots<Arc<Site>>) {
        let rest = self.inner.lock().enablers.resize(slots);

        // Without the lock.
        drop(rest);
    }

    /// Adds a site, for which there is room, to the set and to its event.
    fn add(&self, site: ListArc<Site>, origin: Option<&Site>) -> bool {
        // No such entry is replaced.
        self.inner
            .lock()
            .enablers
            .insert_within_capacity(site.clone_arc());
        Site::link(site, origin)
    }

    /// Removes a bit and returns its site, which is to be dropped without a lock. The caller is the
    /// only one who may change the set.
    pub(crate) fn remove(&self, key: u64) -> Option<Arc<Site>> {
        let (site, surplus) = {
            let mut inner = self.inner.lock();

            (inner.enablers.remove(key)?, inner.enablers.surplus())
        };

        site.unlink();
        // The table may stay as large as it is if there is no memory.
        if let Some(slots) = surplus.and_then(|count| Slots::new(count).ok()) {
            self.resize(slots);
        }
        Some(site)
    }

    /// Lets `mm` use the set as well. Returns `true` if a switch is in progress, which may not meet
    /// `mm`.
    pub(crate) fn share(&self, mm: &Arc<MmState>) -> Result<bool> {
        let node = RBTreeNode::new(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;
        let mut inner = self.inner.lock();

        inner.mms.insert(node);
        inner.users += 1;
        Ok(switch::in_progress())
    }

    /// Creates a set of its own for `mm`, which uses this one until [`EnablerSet::leave`].
    ///
    /// The sites of the copy are known to the events when this returns. The second value is `true`
    /// if a switch in progress does not meet one of them although it has not met its original yet.
    pub(crate) fn copy_for(&self, mm: &Arc<MmState>) -> Result<(Arc<Self>, bool)> {
        let (len, slots) = {
            let inner = self.inner.lock();

            (inner.enablers.len(), inner.enablers.slots())
        };
        let copy = Self::new(mm)?;
        let mut is_missed = false;

        copy.make_room(len)?;
        // The set is shared, so its enablers stay as they are.
        for at in 0..slots {
            let Some(origin) = self.inner.lock().enablers.slot(at).cloned() else {
                continue;
            };

            match Site::new(&copy, origin.key, origin.event.clone()) {
                Ok(site) => is_missed |= copy.add(site, Some(&origin)),
                Err(e) => {
                    Self::leave(&copy, mm);
                    return Err(e);
                }
            }
        }
        Ok((copy, is_missed))
    }

    /// Ends the use of the set by `mm`. The last user removes the bits.
    pub(crate) fn leave(this: &Arc<Self>, mm: &MmState) {
        let (state, enablers) = {
            let mut inner = this.inner.lock();
            let Some(state) = inner.mms.remove(&mm.id()) else {
                return;
            };

            inner.users -= 1;
            let rest = OpenTable::with_seed(0);
            let enablers = if inner.users == 0 {
                core::mem::replace(&mut inner.enablers, rest)
            } else {
                rest
            };
            (state, enablers)
        };

        // The uses of the events are dropped here, without a lock.
        enablers.consume(|site| site.unlink());
        drop(state);
    }

    /// Calls `f` without a lock with the address spaces that use the set and whose number is less
    /// than `before`, by ascending number.
    pub(crate) fn for_each_mm(&self, before: u64, mut f: impl FnMut(&Arc<MmState>)) {
        let mut next = 0;

        loop {
            let (mm, is_last) = {
                let inner = self.inner.lock();
                let Some(cursor) = inner.mms.cursor_lower_bound(&next) else {
                    break;
                };
                let (id, mm) = cursor.current();

                if *id >= before {
                    break;
                }
                (mm.clone(), cursor.peek_next().is_none())
            };

            f(&mm);
            // See `share()` for one that has joined meanwhile.
            if is_last {
                break;
            }
            next = mm.id() + 1;
        }
    }
}
