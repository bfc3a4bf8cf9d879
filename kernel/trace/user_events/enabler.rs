// SPDX-License-Identifier: GPL-2.0

//! Enable bits: the event that each bit follows.
//!
//! A bit is an [`Enabler`]. It is in two containers. A process has an [`EnablerSet`], a hash table
//! by address and bit: for registering and unregistering. An event has an [`Enablers`] list: for
//! switching it without looking at the bits of other events.
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
//! enablers of an event is a spinlock, and nothing is taken inside it. No memory is allocated under
//! any of them, and no reference is dropped under the last one that could be the last one.
//!
//! The holder of the lock of an address space that uses a set may change the enablers of the set,
//! if the set has no other user.
//!
//! A pass over many bits or address spaces takes the locks of sets and enablers for a limited
//! number of them at a time. With `CONFIG_PREEMPT_RT` these locks are handed to the task that waits
//! longest: if many tasks that leave a set took its lock for each single bit, each would wait for
//! all others each time.

mod change;
mod defer;
mod pass;

pub(crate) use self::change::Change;

use super::{
    defs::EnableBit,
    mm::MmState,
    progress, seed,
    visit_list::{
        Member,
        Side,
        VisitList, //
    },
};
use core::ops::Deref;
use kernel::{
    alloc::Flags,
    hash_table::{
        Entry,
        OpenTable,
        Slots, //
    },
    impl_has_work,
    list::{
        impl_list_arc_safe,
        impl_list_item,
        ListArc,
        ListLinks, //
    },
    new_mutex,
    new_work,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    str::BStr,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex,
        SpinLock, //
    },
    warn_on,
    workqueue::Work, //
};

/// Number of address spaces that a switch fetches each time it takes the lock of a set.
const USERS_AT_A_TIME: usize = 16;

/// Number of enablers that join or leave an event each time the lock of its enablers is taken.
const ENABLERS_AT_A_TIME: usize = 32;

/// Something that is on or off, and that enable bits follow.
///
/// # Safety
///
/// A `Use` and its clones always dereference to the same object, and `enablers()` of an object
/// always returns the same list.
pub(crate) unsafe trait Followed: Send + Sync + Sized + 'static {
    /// A reference that a bit holds, as long as it is registered.
    type Use: Deref<Target = Self> + Clone + Send + Sync;

    /// Returns the bits that follow the event.
    fn enablers(&self) -> &SpinLock<Enablers<Self>>;

    /// Returns `true` if the event is on, so that the bits are to be set.
    fn is_on(&self) -> bool;

    /// Returns the name, for messages.
    fn name(&self) -> &BStr;
}

/// The enablers of an event.
pub(crate) type Enablers<E> = VisitList<Enabler<E>>;

/// An enable bit: the set that it is in, its key there, and the event that it follows. In C it is
/// `struct user_event_enabler`.
#[pin_data]
pub(crate) struct Enabler<E: Followed> {
    /// [`EnableBit::key`].
    key: u64,
    event: E::Use,
    set: Arc<EnablerSet<E>>,
    side: Side,
    /// The bit is registered. Changes under the lock of the address space.
    live: Atomic<bool>,
    /// In the list of the event.
    #[pin]
    links: ListLinks,
}

impl_list_arc_safe! {
    impl{E: Followed} ListArcSafe<0> for Enabler<E> { untracked; }
}

impl_list_item! {
    impl{E: Followed} ListItem<0> for Enabler<E> { using ListLinks { self.links }; }
}

impl<E: Followed> Member for Enabler<E> {
    fn side(&self) -> &Side {
        &self.side
    }
}

impl<E: Followed> Entry for Enabler<E> {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl<E: Followed> Enabler<E> {
    fn new(
        set: &Arc<EnablerSet<E>>,
        key: u64,
        event: E::Use,
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

    /// Returns the [`EnableBit::key`] of the bit.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Returns the event that the bit follows.
    pub(crate) fn event(&self) -> &E::Use {
        &self.event
    }

    /// Returns the set that the bit is in.
    pub(crate) fn set(&self) -> &Arc<EnablerSet<E>> {
        &self.set
    }

    /// Returns `true` if the bit is registered. The caller holds the lock of an address space that
    /// uses the set.
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Relaxed)
    }

    /// Adds the enabler to its event. A switch that has begun does not see it.
    fn link(enabler: ListArc<Self>) {
        let this = enabler.clone_arc();

        this.event.enablers().lock().insert(enabler);
    }

    /// Removes the enabler from its event.
    fn unlink(&self) {
        self.live.store(false, Relaxed);
        let mut enablers = self.event.enablers().lock();
        // SAFETY: An enabler is only ever added to the list of its event, in `link()` and
        // `link_copies()`. By the contract of `Followed` this is that list.
        let this = unsafe { enablers.remove(self) };

        drop(enablers);
        drop(this);
    }

    /// Removes enablers from their events. The caller has a reference to each.
    fn unlink_all<'a>(all: impl Iterator<Item = &'a Arc<Self>>) {
        let mut rest = all.peekable();

        while let Some(first) = rest.next() {
            let mut enablers = first.event.enablers().lock();
            let mut next = Some(first);
            let mut count = 0;

            while let Some(enabler) = next {
                enabler.live.store(false, Relaxed);
                // It is not the last reference that is dropped here.
                // SAFETY: As in `unlink()`.
                drop(unsafe { enablers.remove(enabler) });

                count += 1;
                next = rest.next_if(|next| count < ENABLERS_AT_A_TIME && first.is_beside(next));
            }
        }
    }

    /// Returns `true` if two enablers follow the same event.
    fn is_beside(&self, other: &Self) -> bool {
        core::ptr::eq(&*self.event, &*other.event)
    }
}

/// Some of the address spaces that use a set, by ascending number. It is filled again for each set:
/// most have one user.
pub(crate) struct Users<E: Followed> {
    /// The first places are in use, so many of them.
    places: [Option<Arc<MmState<E>>>; USERS_AT_A_TIME],
    len: usize,
}

impl<E: Followed> Users<E> {
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

    /// Adds an address space, and returns `false` if the array is full then.
    fn push(&mut self, mm: Arc<MmState<E>>) -> bool {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = Some(mm);
            self.len += 1;
        }
        self.len < USERS_AT_A_TIME
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<MmState<E>>> {
        self.places.iter().take(self.len).flatten()
    }

    /// Returns the last address space of a full array, for which the set may have others.
    pub(crate) fn last_if_full(&self) -> Option<&MmState<E>> {
        self.places.last()?.as_deref()
    }
}

/// The enable bits of one address space, or of several that were forked from it.
#[pin_data]
pub(crate) struct EnablerSet<E: Followed> {
    #[pin]
    inner: Mutex<SetInner<E>>,
    /// The last switch that has left all words of all its address spaces to their work items, by
    /// its number.
    deferred: Atomic<u64>,
    /// Tells these address spaces.
    #[pin]
    work: Work<EnablerSet<E>>,
}

impl_has_work! {
    impl{E: Followed} HasWork<Self> for EnablerSet<E> { self.work }
}

struct SetInner<E: Followed> {
    enablers: OpenTable<Arc<Enabler<E>>>,
    /// The address spaces that use the set, by number.
    mms: RBTree<u64, Arc<MmState<E>>>,
    users: usize,
    /// Number of times that a bit was added or removed, or the table got another size: then a pass
    /// over its slots may have missed some.
    changes: u64,
    /// [`EnablerSet::deferred`], until all address spaces have been told. Otherwise 0.
    untold: u64,
}

impl<E: Followed> SetInner<E> {
    fn is_shared(&self) -> bool {
        self.users > 1
    }
}

/// A slot of a set, at which a pass over all of them continues.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    /// [`SetInner::changes`] when the pass began.
    changes: Option<u64>,
    at: usize,
}

impl Mark {
    /// The beginning of a pass.
    pub(crate) const BEGIN: Self = Self {
        changes: None,
        at: 0,
    };
}

/// A place in the list of the address spaces of a set.
pub(crate) type Place<E> = RBTreeNode<u64, Arc<MmState<E>>>;

impl<E: Followed> EnablerSet<E> {
    /// Creates a set without bits whose one user is `mm`.
    pub(crate) fn new(mm: &Arc<MmState<E>>, flags: Flags) -> Result<Arc<Self>> {
        let mut mms = RBTree::new();
        mms.try_create_and_insert(mm.id(), mm.clone(), flags)?;

        Arc::pin_init(
            pin_init!(Self {
                inner <- new_mutex!(
                    SetInner {
                        enablers: OpenTable::with_seed(seed()),
                        mms,
                        users: 1,
                        changes: 0,
                        untold: 0,
                    },
                    "EnablerSet::inner"
                ),
                deferred: Atomic::new(0),
                work <- new_work!("EnablerSet::work"),
            }),
            flags,
        )
    }

    /// Returns `true` if more than one address space uses the set, so that it must not change.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.lock().is_shared()
    }

    /// Returns the number of bits that `leave()` would remove.
    pub(crate) fn bits_of_last(&self) -> usize {
        let inner = self.inner.lock();

        if inner.is_shared() {
            0
        } else {
            inner.enablers.count()
        }
    }

    /// Returns `true` if the bit is in use, whatever the width of its word.
    pub(crate) fn contains(&self, bit: &EnableBit) -> bool {
        let inner = self.inner.lock();

        bit.keys().iter().any(|key| inner.enablers.contains(*key))
    }

    /// Returns `true` if the set has a bit with this key, and no other address space uses the set.
    pub(crate) fn has_own(&self, key: u64) -> bool {
        let inner = self.inner.lock();

        !inner.is_shared() && inner.enablers.contains(key)
    }

    /// Returns the bit as it was registered, with the width of its word.
    pub(crate) fn find(&self, addr: usize, bit: u8) -> Option<EnableBit> {
        let inner = self.inner.lock();

        EnableBit::both_widths(addr, bit).find(|bit| inner.enablers.contains(bit.key()))
    }

    /// Returns the enabler of the bit with this key.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<Enabler<E>>> {
        self.inner.lock().enablers.get(key).cloned()
    }

    /// Adds an enabler to the set, which has room for it, and to its event. Only the caller may
    /// change the set.
    fn add(&self, enabler: ListArc<Enabler<E>>) {
        let rest = {
            let mut inner = self.inner.lock();

            inner.changes += 1;
            inner.enablers.insert_within_capacity(enabler.clone_arc())
        };

        // An enabler that is in no table could not be removed from its event.
        if !warn_on!(rest.is_some()) {
            Enabler::link(enabler);
        }
    }

    /// Removes a bit and returns its enabler, which is to be dropped without a lock. The second
    /// value is `true` if the table should [shrink](EnablerSet::smaller) then. Only the caller may
    /// change the set.
    pub(crate) fn remove(&self, key: u64) -> Option<(Arc<Enabler<E>>, bool)> {
        let (enabler, is_sparse) = {
            let mut inner = self.inner.lock();
            let enabler = inner.enablers.remove(key)?;

            inner.changes += 1;
            (enabler, inner.enablers.surplus().is_some())
        };

        enabler.unlink();
        Some((enabler, is_sparse))
    }

    /// Allocates memory to shrink a table that has become too large, which is kept if that fails.
    pub(crate) fn smaller(&self) -> Option<Slots<Arc<Enabler<E>>>> {
        let count = self.inner.lock().enablers.surplus()?;

        Slots::new(count, GFP_KERNEL_ACCOUNT).ok()
    }

    /// Moves the table to `slots` if it is still nearly empty, and smaller then. Returns the
    /// memory to be freed without a lock. Only the caller may change the set.
    pub(crate) fn shrink(&self, slots: Slots<Arc<Enabler<E>>>) -> Slots<Arc<Enabler<E>>> {
        let mut inner = self.inner.lock();

        // Entries have moved, and a pass over the slots may have missed some.
        inner.changes += 1;
        inner.enablers.shrink(slots)
    }

    /// Allocates the place of `mm` in a set that it will use.
    pub(crate) fn place(mm: &Arc<MmState<E>>) -> Result<Place<E>> {
        let place = RBTreeNode::new(mm.id(), mm.clone(), GFP_KERNEL_ACCOUNT)?;

        Ok(place)
    }

    /// Lets another address space use the set as well. Returns `true` if a switch is in progress,
    /// which may not meet it, or has left words to work items which may not all know yet.
    pub(crate) fn share(&self, place: Place<E>) -> bool {
        let mut inner = self.inner.lock();

        inner.mms.insert(place);
        inner.users += 1;
        inner.untold != 0 || progress::in_progress()
    }

    /// Ends the use of the set by `mm`. The last user removes the bits. Returns their number.
    pub(crate) fn leave(this: &Arc<Self>, mm: &MmState<E>) -> usize {
        let (state, enablers) = {
            let mut inner = this.inner.lock();
            let Some(state) = inner.mms.remove(&mm.id()) else {
                return 0;
            };

            inner.users -= 1;
            let is_last = inner.users == 0;

            (state, is_last.then(|| inner.enablers.take()))
        };

        let count = enablers.as_ref().map_or(0, OpenTable::count);

        // The uses of the events are dropped here, without a lock.
        if let Some(enablers) = &enablers {
            Enabler::unlink_all(enablers.iter());
        }
        drop(enablers);
        drop(state);
        count
    }

    /// Fills `users` with address spaces that use the set, with numbers from `first` on that are
    /// less than `before`. If room is left, no others exist.
    pub(crate) fn users(&self, users: &mut Users<E>, first: u64, before: u64) {
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
            // All are listed.
            if first == 0 && users.len == inner.users {
                break;
            }
            next = *id + 1;
        }
    }
}
