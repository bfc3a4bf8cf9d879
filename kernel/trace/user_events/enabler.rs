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
//! change then gets a copy of its own.
//!
//! All memory that a change needs is allocated before any lock is taken ([`Change`]): an allocation
//! may have to wait, for a cgroup above its limit for seconds.
//!
//! # Locking
//!
//! The lock of a set is inside that of an address space ([`super::mm::MmState`]). The lock of the
//! sites of an event is a spinlock, and nothing is taken inside it. No memory is allocated under
//! any of them, and no reference is dropped under the last one that could be the last one.
//!
//! The holder of the lock of an address space that uses a set may change the enablers of the set,
//! if the set has no other user.
//!
//! A pass over many bits or address spaces takes the locks of sets and sites for a limited number
//! of them at a time. With `CONFIG_PREEMPT_RT` these locks are handed to who waits longest: if many
//! tasks that leave a set took its lock for each single bit, each would wait for all others each
//! time.

mod site;

pub(crate) use site::{
    Site,
    Sites, //
};

use self::site::Pair;
use super::{
    defs::EnableBit,
    event::EventUse,
    mm::MmState,
    seed, switch,
    table::{
        OpenTable,
        Slots, //
    },
};
use kernel::{
    alloc::Flags,
    list::ListArc,
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
    warn_on, //
};

/// A set with more bits than this is not taken apart by the task that exits.
const FEW: usize = 8;

/// Number of slots of a set that are looked at each time its lock is taken.
const SLOTS_AT_A_TIME: usize = 256;

/// The same for a pass that only needs the keys, which are on the stack.
const KEYS_AT_A_TIME: usize = 64;

/// Number of address spaces that a switch fetches each time it takes the lock of a set.
const USERS_AT_A_TIME: usize = 16;

/// Some of the address spaces that use a set, by ascending number. It is filled again for each set:
/// most have one user.
pub(crate) struct Users {
    /// The first places are in use, so many of them.
    places: [Option<Arc<MmState>>; USERS_AT_A_TIME],
    len: usize,
}

impl Users {
    pub(crate) const fn new() -> Self {
        Self {
            places: [const { None }; USERS_AT_A_TIME],
            len: 0,
        }
    }

    fn clear(&mut self) {
        for place in self.places.iter_mut().take(self.len) {
            *place = None;
        }
        self.len = 0;
    }

    /// Returns `false` if it is full then.
    fn push(&mut self, mm: Arc<MmState>) -> bool {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = Some(mm);
            self.len += 1;
        }
        self.len < USERS_AT_A_TIME
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<MmState>> {
        self.places.iter().take(self.len).flatten()
    }

    /// Returns the last one of a full array: the set may have others.
    pub(crate) fn last_if_full(&self) -> Option<&MmState> {
        self.places.last()?.as_deref()
    }
}

/// The enable bits of one address space, or of several that were forked from it.
#[pin_data]
pub(crate) struct EnablerSet {
    #[pin]
    inner: Mutex<Inner>,
    /// The last switch that has left all words of all its address spaces to their work items, by
    /// its number.
    deferred: Atomic<u64>,
}

struct Inner {
    enablers: OpenTable<Arc<Site>>,
    /// The address spaces that use the set, by number.
    mms: RBTree<u64, Arc<MmState>>,
    users: usize,
    /// Number of times that a bit was added or removed, or the table got another size: then a pass
    /// over its slots may have missed some.
    changes: u64,
}

impl Inner {
    fn is_shared(&self) -> bool {
        self.users > 1
    }
}

/// A place in the list of the address spaces of a set.
pub(crate) type Place = RBTreeNode<u64, Arc<MmState>>;

/// The memory for a change of the bits of an address space, allocated before any lock is taken.
///
/// It is for the set that the address space had at that time. If it has another one when the locks
/// are taken, or if that has changed, the change has to be prepared again.
///
/// It is dropped without a lock. That ends the use of a set that was replaced by a copy, which
/// frees all its sites if no other address space uses it any more.
pub(crate) struct Change<'a> {
    set: Arc<EnablerSet>,
    mm: &'a Arc<MmState>,
    /// `set` was replaced.
    is_replaced: bool,
    /// As in [`Inner`].
    changes: u64,
    /// If others use the set as well.
    copy: Option<SetCopy>,
    /// Larger slots for the table of the set, if it is full.
    slots: Option<Slots<Arc<Site>>>,
    /// A new bit.
    site: Option<ListArc<Site>>,
}

/// A set for one address space, with room for the bits of another set.
struct SetCopy {
    set: Arc<EnablerSet>,
    sites: KVVec<Pair>,
}

impl<'a> Change<'a> {
    /// Prepares a change of `set`, which is that of `mm`: adding a bit, or removing one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        set: Arc<EnablerSet>,
        mm: &'a Arc<MmState>,
        added: Option<(&EnableBit, &EventUse)>,
        flags: Flags,
    ) -> Result<Self> {
        let additional = usize::from(added.is_some());
        let (changes, growth, is_shared) = {
            let inner = set.inner.lock();

            (
                inner.changes,
                inner.enablers.growth(additional)?,
                inner.is_shared(),
            )
        };
        let (copy, slots) = match growth {
            _ if is_shared => (Some(set.copy_for(mm, additional, flags)?), None),
            Some(count) => (None, Some(Slots::new(count, flags)?)),
            None => (None, None),
        };
        let of = copy.as_ref().map_or(&set, |copy| &copy.set);
        let site = match added {
            Some((bit, event)) => Some(Site::new(of, bit.key(), event.clone(), flags)?),
            None => None,
        };

        Ok(Self {
            changes,
            copy,
            slots,
            site,
            set,
            mm,
            is_replaced: false,
        })
    }

    /// Returns a set that only this address space has, with room for the new bit. `set` is the
    /// present one. The second value is `true` if the set was replaced and a switch in progress
    /// does not visit all sites of the new one although it has not visited their originals yet.
    ///
    /// Returns `None` if the change has to be prepared again. The caller holds the lock of the
    /// address space.
    pub(crate) fn begin(&mut self, set: &Arc<EnablerSet>) -> Option<(Arc<EnablerSet>, bool)> {
        let is_current = {
            let inner = set.inner.lock();

            Arc::ptr_eq(set, &self.set)
                && inner.changes == self.changes
                && inner.is_shared() == self.copy.is_some()
        };

        if !is_current {
            return None;
        }
        if let Some(slots) = self.slots.take() {
            let mut inner = set.inner.lock();

            inner.changes += 1;
            self.slots = Some(inner.enablers.resize(slots));
        }
        let Some(mut copy) = self.copy.take() else {
            return Some((set.clone(), false));
        };

        copy.set.insert_all(&mut copy.sites);
        self.is_replaced = true;
        Some((copy.set, Site::link_copies(copy.sites)))
    }

    /// Adds the new bit to the set that [`Change::begin`] has returned. The caller has checked that
    /// it is not there.
    ///
    /// A switch of the event that begins after this finds the bit.
    pub(crate) fn insert(&mut self) {
        if let Some(site) = self.site.take() {
            let set = site.set().clone();

            set.add(site);
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self.is_replaced {
            EnablerSet::leave(&self.set, self.mm);
        }
    }
}

impl EnablerSet {
    /// Creates a set without bits whose one user is `mm`.
    pub(crate) fn new(mm: &Arc<MmState>, flags: Flags) -> Result<Arc<Self>> {
        let mut mms = RBTree::new();
        mms.try_create_and_insert(mm.id(), mm.clone(), flags)?;

        Arc::pin_init(
            pin_init!(Self {
                inner <- new_mutex!(
                    Inner {
                        enablers: OpenTable::with_seed(seed()),
                        mms,
                        users: 1,
                        changes: 0,
                    },
                    "EnablerSet::inner"
                ),
                deferred: Atomic::new(0),
            }),
            flags,
        )
    }

    /// Returns `true` if more than one address space uses the set, so that it must not change.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.lock().is_shared()
    }

    /// Notes that the switch with this number writes no further word of the set itself. Only
    /// switches call this and [`EnablerSet::is_deferred`], one at a time.
    pub(crate) fn defer(&self, switch: u64) {
        self.deferred.store(switch, Relaxed);
    }

    /// Returns `true` if the switch with this number writes no further word of the set.
    pub(crate) fn is_deferred(&self, switch: u64) -> bool {
        self.deferred.load(Relaxed) == switch
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

    /// Calls `f` with the keys of all bits that the set has, without the lock.
    ///
    /// A set of several address spaces does not change, so its slots are passed over. That takes no
    /// memory: as many lists as there are address spaces could take more than all of their bits. If
    /// the set changes, it is that of one address space, and the rest is done from a list. If that
    /// is not the one of the caller any more, it has got a set of its own, and passes over that one
    /// after this.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of `f`.
    pub(crate) fn for_each_key(&self, mut f: impl FnMut(u64) -> Result) -> Result {
        let mut keys = [0; KEYS_AT_A_TIME];
        let mut changes = None;
        let mut at = 0;

        loop {
            let mut count = 0;
            {
                let inner = self.inner.lock();

                if *changes.get_or_insert(inner.changes) != inner.changes {
                    break;
                }
                if at >= inner.enablers.slots() {
                    return Ok(());
                }
                for site in (at..at + KEYS_AT_A_TIME).filter_map(|at| inner.enablers.slot(at)) {
                    if let Some(key) = keys.get_mut(count) {
                        *key = site.key();
                        count += 1;
                    }
                }
            }
            at += KEYS_AT_A_TIME;
            keys.iter().take(count).try_for_each(|key| f(*key))?;
        }
        self.keys()?.into_iter().try_for_each(f)
    }

    /// Returns the keys of all bits.
    fn keys(&self) -> Result<KVVec<u64>> {
        loop {
            let len = self.inner.lock().enablers.len();
            // Bits may be registered until the lock is taken again.
            let mut keys = KVVec::with_capacity(len.saturating_add(len / 4), GFP_KERNEL)?;
            let inner = self.inner.lock();

            if inner.enablers.len() > keys.capacity() {
                continue;
            }
            for site in inner.enablers.iter() {
                keys.push_within_capacity(site.key())?;
            }
            return Ok(keys);
        }
    }

    /// Adds a site to the set, which has room for it, and to its event. Only the caller may change
    /// the set.
    fn add(&self, site: ListArc<Site>) {
        let rest = {
            let mut inner = self.inner.lock();

            inner.changes += 1;
            inner.enablers.insert_within_capacity(site.clone_arc())
        };

        // A site that is in no table could not be removed from its event.
        if !warn_on!(rest.is_some()) {
            Site::link(site);
        }
    }

    /// Adds the sites to the set, which has room for them, but not to their events yet. The set has
    /// no user yet.
    fn insert_all(&self, pairs: &mut [Pair]) {
        let mut inner = self.inner.lock();

        for (site, _) in pairs {
            let rest = site
                .as_ref()
                .and_then(|site| inner.enablers.insert_within_capacity(site.clone_arc()));

            // As in `add()`.
            if warn_on!(rest.is_some()) {
                *site = None;
            }
        }
    }

    /// Removes a bit and returns its site, which is to be dropped without a lock. The second value
    /// is `true` if the table should [shrink](EnablerSet::smaller) then. Only the caller may change
    /// the set.
    pub(crate) fn remove(&self, key: u64) -> Option<(Arc<Site>, bool)> {
        let (site, is_sparse) = {
            let mut inner = self.inner.lock();
            let site = inner.enablers.remove(key)?;

            inner.changes += 1;
            (site, inner.enablers.surplus().is_some())
        };

        site.unlink();
        Some((site, is_sparse))
    }

    /// Returns memory for a table that has become too large. It may stay so if there is none.
    pub(crate) fn smaller(&self) -> Option<Slots<Arc<Site>>> {
        let count = self.inner.lock().enablers.surplus()?;

        Slots::new(count, GFP_KERNEL_ACCOUNT).ok()
    }

    /// Moves the table to `slots` if it is still nearly empty, and smaller then. Returns the memory
    /// to be freed without a lock. The caller is the only one who may change the set.
    pub(crate) fn shrink(&self, slots: Slots<Arc<Site>>) -> Slots<Arc<Site>> {
        let mut inner = self.inner.lock();

        // A change that has been prepared may rely on room that is gone now.
        inner.changes += 1;
        inner.enablers.shrink(slots)
    }

    /// Allocates the place of `mm` in a set that it will use.
    pub(crate) fn place(mm: &Arc<MmState>) -> Result<Place> {
        let place = RBTreeNode::new(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;

        Ok(place)
    }

    /// Lets another address space use the set as well. Returns `true` if a switch is in progress,
    /// which may not meet it.
    pub(crate) fn share(&self, place: Place) -> bool {
        let mut inner = self.inner.lock();

        inner.mms.insert(place);
        inner.users += 1;
        switch::in_progress()
    }

    /// Prepares a set for `mm` alone, which uses this one until [`EnablerSet::leave`], with room
    /// for `additional` more bits.
    ///
    /// The caller checks that this one has not changed since.
    fn copy_for(&self, mm: &Arc<MmState>, additional: usize, flags: Flags) -> Result<SetCopy> {
        let (len, slots) = {
            let inner = self.inner.lock();

            (inner.enablers.len(), inner.enablers.slots())
        };
        let set = Self::new(mm, flags)?;
        let mut sites = KVVec::with_capacity(len, flags)?;
        let growth = set
            .inner
            .lock()
            .enablers
            .growth(len.saturating_add(additional))?;

        if let Some(count) = growth {
            let slots = Slots::new(count, flags)?;
            let rest = set.inner.lock().enablers.resize(slots);

            drop(rest);
        }
        for begin in (0..slots).step_by(SLOTS_AT_A_TIME) {
            let inner = self.inner.lock();

            for at in (begin..slots).take(SLOTS_AT_A_TIME) {
                if let Some(origin) = inner.enablers.slot(at) {
                    // Without room for it, the set has changed.
                    let _ = sites.push_within_capacity((None, origin.clone()));
                }
            }
        }
        for (site, origin) in sites.iter_mut() {
            *site = Some(Site::new(
                &set,
                origin.key(),
                origin.event().clone(),
                flags,
            )?);
        }
        Ok(SetCopy { set, sites })
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
        Site::unlink_all(enablers.iter());
        drop(enablers);
        drop(state);
    }

    /// Fetches address spaces that use the set, with numbers from `first` on that are less than
    /// `before`. There are no others if there is room left.
    pub(crate) fn users(&self, users: &mut Users, first: u64, before: u64) {
        let mut next = first;

        // References are not dropped under the lock.
        users.clear();
        let inner = self.inner.lock();

        loop {
            let cursor = inner.mms.cursor_lower_bound(&next);
            let Some((id, mm)) = cursor.as_ref().map(|cursor| cursor.current()) else {
                break;
            };

            if *id >= before || !users.push(mm.clone()) {
                break;
            }
            // All are there.
            if first == 0 && users.len == inner.users {
                break;
            }
            next = *id + 1;
        }
    }
}
