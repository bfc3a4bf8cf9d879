// SPDX-License-Identifier: GPL-2.0

//! Enabled addresses: which bit of which word follows which event.
//!
//! There are two ways to come to an enabled address. A process has an [`EnablerSet`], keyed by
//! address and bit: for registering and unregistering. An event has its [`Sites`]: for switching
//! it, without a look at any other event's addresses.
//!
//! A fork shares the set of the parent instead of copying it, so a set has a list of the address
//! spaces that use it, and a set with more than one does not change any more. An address space that
//! wants a change then gets a copy of its own ([`EnablerSet::copy_for`]).
//!
//! # Locking
//!
//! The lock of a set is inside that of an address space ([`super::mm::MmState`]) and outside that
//! of the sites of an event. Only who holds the lock of an address space that uses a set may change
//! the set's enablers, and only if there is no other user.
//!
//! # Order
//!
//! Sets and address spaces are numbered as they come, and both are visited by ascending number.
//! So who switches an event meets every copy of a set that is made meanwhile, and every child that
//! is forked meanwhile after its parent.

use super::{
    defs::EnableBit,
    event::{
        EventUse,
        UserEvent, //
    },
    mm::MmState,
    seed,
    table::OpenTable, //
};
use kernel::{
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

/// The number of the next set or address space; 64 bits do not run out.
static NEXT_ID: Atomic<u64> = Atomic::new(1);

/// A number that is larger than all that were given before.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Relaxed)
}

/// The events that addresses follow, by [`EnableBit::key`].
type Enablers = OpenTable<u64, EventUse>;

/// Enabled addresses, of one address space or of several that were forked from it.
#[pin_data]
pub(crate) struct EnablerSet {
    id: u64,
    #[pin]
    inner: Mutex<Inner>,
}

struct Inner {
    enablers: Enablers,
    /// Who uses the set, by number.
    mms: RBTree<u64, Arc<MmState>>,
    users: usize,
}

impl EnablerSet {
    /// A set without addresses whose one user is `mm`.
    pub(crate) fn new(mm: &Arc<MmState>) -> Result<Arc<Self>> {
        Self::with(OpenTable::with_seed(seed()), mm)
    }

    fn with(enablers: Enablers, mm: &Arc<MmState>) -> Result<Arc<Self>> {
        let mut mms = RBTree::new();
        mms.try_create_and_insert(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;

        Arc::pin_init(
            pin_init!(Self {
                id: next_id(),
                inner <- new_mutex!(
                    Inner {
                        enablers,
                        mms,
                        users: 1,
                    },
                    "EnablerSet::inner"
                ),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Its place in the order of visits.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether more than one address space uses it, so that it must not change.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.lock().users > 1
    }

    /// Whether the bit is in use, whatever the width of its word.
    pub(crate) fn contains(&self, bit: &EnableBit) -> bool {
        let inner = self.inner.lock();

        bit.keys().iter().any(|key| inner.enablers.contains(*key))
    }

    /// The bit as it was registered, with the width of its word.
    pub(crate) fn find(&self, addr: usize, bit: u8) -> Option<EnableBit> {
        let inner = self.inner.lock();

        EnableBit::both_widths(addr, bit).find(|bit| inner.enablers.contains(bit.key()))
    }

    /// Whether the bit with this key follows `event`.
    pub(crate) fn follows(&self, key: u64, event: &UserEvent) -> bool {
        self.inner
            .lock()
            .enablers
            .get(key)
            .is_some_and(|followed| followed.is_of(event))
    }

    /// The event that the bit with this key follows.
    pub(crate) fn event(&self, key: u64) -> Option<EventUse> {
        self.inner.lock().enablers.get(key).cloned()
    }

    /// The keys of all bits, for a pass over them without the lock.
    pub(crate) fn keys(&self) -> Result<KVVec<u64>> {
        let inner = self.inner.lock();
        let mut keys = KVVec::with_capacity(inner.enablers.len(), GFP_KERNEL)?;

        for (key, _) in inner.enablers.iter() {
            keys.push(key, GFP_KERNEL)?;
        }
        Ok(keys)
    }

    /// Adds an address. The caller has checked that it is not there, and that the set may change.
    ///
    /// From here on whoever switches the event finds the address.
    pub(crate) fn insert(this: &Arc<Self>, key: u64, event: EventUse) -> Result {
        let mut inner = this.inner.lock();
        let site = Site {
            set: this.clone(),
            key,
        };

        inner.enablers.reserve(1)?;
        event.sites().lock().insert(site)?;
        // There is room for it, and no such entry that it would replace.
        inner.enablers.insert_within_capacity(key, event);
        Ok(())
    }

    /// Takes an address out and returns the use of its event.
    pub(crate) fn remove(&self, key: u64) -> Option<EventUse> {
        let mut inner = self.inner.lock();
        let event = inner.enablers.remove(key)?;

        let site = event.sites().lock().remove((self.id, key));
        drop(inner);
        // May be the last but one reference of this set; the caller has another one.
        drop(site);
        Some(event)
    }

    /// Lets `mm` use the set as well.
    pub(crate) fn share(&self, mm: &Arc<MmState>) -> Result {
        let node = RBTreeNode::new(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;
        let mut inner = self.inner.lock();

        inner.mms.insert(node);
        inner.users += 1;
        Ok(())
    }

    /// A set of its own for `mm`, which is left as it is until [`EnablerSet::leave`].
    ///
    /// The sites of the copy are known to the events when this returns, so that no switch is lost
    /// whichever of the two sets `mm` is found in.
    pub(crate) fn copy_for(&self, mm: &Arc<MmState>) -> Result<Arc<Self>> {
        let enablers = self.inner.lock().enablers.try_clone()?;
        let copy = Self::with(enablers, mm)?;
        let mut done = 0;

        let inner = copy.inner.lock();
        let result: Result = inner.enablers.iter().try_for_each(|(key, event)| {
            event.sites().lock().insert(Site {
                set: copy.clone(),
                key,
            })?;
            done += 1;
            Ok(())
        });
        drop(inner);
        if let Err(e) = result {
            copy.forget_sites(done);
            return Err(e);
        }
        Ok(copy)
    }

    /// Takes the first `count` enablers' sites away from their events.
    fn forget_sites(&self, count: usize) {
        let mut inner = self.inner.lock();

        // No reference of the set goes under its own lock: the caller holds one.
        for (key, event) in inner.enablers.iter().take(count) {
            drop(event.sites().lock().remove((self.id, key)));
        }
        inner.mms = RBTree::new();
        inner.users = 0;
    }

    /// `mm` does not use the set any more. The last user takes its addresses along.
    pub(crate) fn leave(this: Arc<Self>, mm: &MmState) {
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

        for (_, event) in enablers.iter() {
            // All of them at once, the first time that an event comes up.
            event.sites().lock().remove_set(this.id);
        }
        // The uses of the events go here, without a lock.
        drop(enablers);
        drop(state);
    }

    /// Calls `f` with every address space that uses the set, by ascending number, without a lock.
    ///
    /// One that comes meanwhile is visited, since its number is larger than those before.
    pub(crate) fn for_each_mm(this: &Arc<Self>, mut f: impl FnMut(&Arc<MmState>)) {
        let mut next = 0;

        loop {
            let mm = {
                let inner = this.inner.lock();
                let Some(cursor) = inner.mms.cursor_lower_bound(&next) else {
                    break;
                };
                cursor.current().1.clone()
            };

            f(&mm);
            next = mm.id() + 1;
        }
    }
}

/// Where an enabled address of an event is: in which set, under which key.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) set: Arc<EnablerSet>,
    pub(crate) key: u64,
}

/// The order in which the sites of an event are visited.
pub(crate) type Position = (u64, u64);

impl Site {
    /// Its place in the order of visits.
    pub(crate) fn position(&self) -> Position {
        (self.set.id(), self.key)
    }
}

/// The enabled addresses of one event, by position. Most events have one, which needs no memory
/// besides the event's own.
pub(crate) enum Sites {
    /// None or one.
    Few(Option<Site>),
    /// Sorted.
    Many(KVVec<Site>),
}

impl Sites {
    /// No addresses.
    pub(crate) const fn new() -> Self {
        Self::Few(None)
    }

    fn as_slice(&self) -> &[Site] {
        match self {
            Self::Few(site) => site.as_slice(),
            Self::Many(sites) => sites,
        }
    }

    /// The first site behind `position`, or the first of all.
    pub(crate) fn after(&self, position: Option<Position>) -> Option<Site> {
        let sites = self.as_slice();
        let at = match position {
            Some(position) => sites.partition_point(|site| site.position() <= position),
            None => 0,
        };

        sites.get(at).cloned()
    }

    /// Adds a site. A new set sorts behind all others, so this is at the end as a rule.
    fn insert(&mut self, site: Site) -> Result {
        match self {
            Self::Few(slot @ None) => *slot = Some(site),
            Self::Few(slot @ Some(_)) => {
                let mut sites = KVVec::with_capacity(2, GFP_KERNEL_ACCOUNT)?;
                if let Some(first) = slot.take() {
                    sites.push(first, GFP_KERNEL_ACCOUNT)?;
                }
                *self = Self::Many(sites);
                return self.insert(site);
            }
            Self::Many(sites) => {
                let at = sites.partition_point(|other| other.position() < site.position());

                sites.reserve(1, GFP_KERNEL_ACCOUNT)?;
                sites.insert_within_capacity(at, site).map_err(|_| ENOMEM)?;
            }
        }
        Ok(())
    }

    /// Takes all sites of a set out. Who calls this has a reference of the set.
    fn remove_set(&mut self, set: u64) {
        match self {
            Self::Few(slot) => drop(slot.take_if(|site| site.set.id() == set)),
            Self::Many(sites) => {
                let at = sites.partition_point(|site| site.set.id() < set);

                if sites.get(at).is_some_and(|site| site.set.id() == set) {
                    sites.retain(|site| site.set.id() != set);
                }
                if sites.is_empty() {
                    *self = Self::new();
                }
            }
        }
    }

    /// Takes a site out.
    fn remove(&mut self, position: Position) -> Option<Site> {
        match self {
            Self::Few(slot) => slot.take_if(|site| site.position() == position),
            Self::Many(sites) => {
                let at = sites.binary_search_by_key(&position, Site::position).ok()?;
                let site = sites.remove(at).ok();

                if sites.is_empty() {
                    *self = Self::new();
                }
                site
            }
        }
    }
}
