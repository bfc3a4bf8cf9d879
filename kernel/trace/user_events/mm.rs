// SPDX-License-Identifier: GPL-2.0

//! The user events state of an address space.
//!
//! The [`MmState`] of a process is created when it first registers an event and hangs off its
//! `mm_struct` ([`super::mm_struct`]), so that all its threads have the same one. It is released
//! with the last user of the `mm_struct`: at exit, or at exec, where the process gets a new one.
//!
//! # States
//!
//! | State | Entered by | Set of enable bits | Words |
//! | --- | --- | --- | --- |
//! | forking | [`MmState::fork`] | that of the parent | none is written |
//! | open | [`MmState::new`], [`MmState::forked`] | its own, or a shared one | are written |
//! | closed | [`MmState::close`] | as before | none is listed or written |
//! | left | [`MmState::leave`] | none | as before |
//!
//! ```text
//!   new() ----------------+
//!                         v
//!   fork() -> forking -> open -> closed -> left
//!                 |                 ^
//!                 +-----------------+  the fork has failed
//! ```
//!
//! An address space is closed after its last user has exited, or before another thread can use it.
//! From then on the work items find no user and no word. The reaper may leave the set later
//! ([`super::reaper`]); until then a switch still finds its enablers, and skips them.
//!
//! In the states forking and open, an address space also has what is still to be written: the tasks
//! of its work items, whose states are in [`late`].
//!
//! # Limits
//!
//! No process can keep a switch, a work item or the other processes busy for long. What exceeds a
//! limit is left to the next line:
//!
//! | Limit | What it limits |
//! | --- | --- |
//! | [`Patience`](super::patience::Patience) | Waiting of all switches, visits of shared words |
//! | `LOCK_TRIES` ([`late`]) | Waiting of a switch for one address space |
//! | `MAX_PENDING` ([`keys`]) | Listed words of each work item; with more it writes all words |
//! | `MAX_PAGES` ([`run`]) | Pages that a run of the first work item has faulted in or copied |
//! | `SLOTS_OF_A_PART` ([`EnablerSet::pass`]) | Slots of the set that such a run passes over |
//! | `MAX_TRIES` ([`late`]) | Delays of the first work item |
//! | The queues ([`faults`]) | Address spaces whose work items run, copy and wait at a time |
//! | [`MAX_ATTEMPTS`] | Page faults for one word |
//!
//! A switch that may visit no further words of shared sets leaves a whole set to a work item of it
//! ([`EnablerSet::defer`]), which has each address space write all its words
//! ([`MmState::write_all_later`]).
//!
//! # Writing a word
//!
//! A word is written through its page, pinned without faulting, under the lock of the
//! [`MmState`]. So writes of different threads are one after the other, each writes what the
//! event's state is at that moment, and none happens once an address has been taken out. That lock
//! is never held while memory is allocated, except for the list of late words, without waiting.
//!
//! A task that registers or unregisters a bit writes the word itself ([`bits`]). The words that a
//! switch writes, at once or later, are in [`late`], and the runs of the work items in [`run`].
//!
//! # Fork
//!
//! The child joins the set of its parent while both address spaces are locked for the copy of the
//! pages. Bits are added and removed, and words are written, with `mmap_lock` held for reading, so
//! what the child gets of the set and of the memory is from the same moment. A switch in progress,
//! or a word of the parent that is still to be written then, has the child write all its words
//! afterwards ([`MmState::forked`]).
//!
//! Words in memory that the child does not get (`MADV_WIPEONFORK`) are stale in the child until the
//! next switch.

mod bits;
mod keys;
mod late;
mod run;

use self::keys::Keys;
use super::{
    defs::EnableBit,
    enabler::{
        EnablerSet,
        Followed,
        Mark, //
    },
    faults,
    progress::next_id, //
};
use kernel::{
    impl_has_delayed_work, impl_has_work,
    list::{
        impl_list_arc_safe,
        impl_list_item,
        AtomicTracker,
        ListLinks,
        TryNewListArc, //
    },
    mm::{
        gup::PinnedPage,
        Mm,
        MmWithUser,
        MmWithUserAsync, //
    },
    new_delayed_work, new_mutex, new_work,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed,
            Release, //
        },
        Arc,
        Mutex, //
    },
    workqueue::{
        self,
        DelayedWork,
        Queue,
        Work, //
    },
};

/// Maximum number of page faults for one write: a process that keeps unmapping the page must not
/// keep the kernel busy.
const MAX_ATTEMPTS: usize = 10;

/// The id of the work item that writes what need not be waited for.
const NOW: u64 = 0;

/// The id of the work item that waits for pages.
const WAIT: u64 = 1;

/// The id of the work item that has words tried again.
const RETRY: u64 = 2;

/// The user events state of an address space.
#[pin_data]
pub(crate) struct MmState<E: Followed> {
    id: u64,
    mm: ARef<Mm>,
    #[pin]
    inner: Mutex<MmInner<E>>,
    /// All words have to be written: too many are pending, or allocating their list has failed.
    resync: Atomic<bool>,
    /// Writes what is pending and need not be waited for.
    #[pin]
    work: Work<MmState<E>, NOW>,
    /// Writes what is absent, and waits for it.
    #[pin]
    wait: Work<MmState<E>, WAIT>,
    /// Queues the others again, after a delay.
    #[pin]
    retry: DelayedWork<MmState<E>, RETRY>,
    /// The queue of `wait`.
    waits_on: &'static Queue,
    /// In the list of the reaper.
    #[pin]
    links: ListLinks,
    #[pin]
    tracker: AtomicTracker,
}

struct MmInner<E: Followed> {
    /// The enabled addresses; `None` once the address space has exited.
    set: Option<Arc<EnablerSet<E>>>,
    /// The words that the first work item is to write.
    pending: Keys,
    /// The words that the second one is to wait for.
    absent: Keys,
    /// All words have to be waited for, as `resync`.
    all_absent: bool,
    /// The words from this slot of the set on are to be written by the first work item, whose pass
    /// over them was cut.
    rest: Option<Mark>,
    /// Number of times that the first work item was delayed, as no word could be written.
    tries: u32,
    /// The first work item is writing words.
    writing: bool,
    /// The second one is writing words, or waits for them.
    waiting: bool,
    /// A child whose pages are not copied yet.
    forking: bool,
}

impl<E: Followed> MmInner<E> {
    /// Returns `true` if a work item is writing words, or has passed over a part of the set.
    fn is_working(&self) -> bool {
        self.writing || self.waiting || self.rest.is_some()
    }

    /// Returns `true` if the first work item is still to write words, besides those of `resync`.
    fn is_trying(&self) -> bool {
        self.writing || self.rest.is_some() || !self.pending.is_empty()
    }

    /// Returns `true` if words are listed that the second work item is to wait for.
    fn is_absent(&self) -> bool {
        self.all_absent || !self.absent.is_empty()
    }

    /// Returns `true` if words are still to be written, besides those of `resync`.
    fn is_behind(&self) -> bool {
        self.is_working() || !self.pending.is_empty() || self.all_absent || !self.absent.is_empty()
    }
}

impl_has_work! {
    impl{E: Followed} HasWork<Self, NOW> for MmState<E> { self.work }
    impl{E: Followed} HasWork<Self, WAIT> for MmState<E> { self.wait }
}

impl_has_delayed_work! {
    impl{E: Followed} HasDelayedWork<Self, RETRY> for MmState<E> { self.retry }
}

impl_list_arc_safe! {
    impl{E: Followed} ListArcSafe<0> for MmState<E> { tracked_by tracker: AtomicTracker; }
}

impl_list_item! {
    impl{E: Followed} ListItem<0> for MmState<E> { using ListLinks { self.links }; }
}

impl<E: Followed> MmState<E> {
    /// Creates the state of an address space without addresses, which belongs to the user of the
    /// current task.
    pub(crate) fn new(mm: ARef<Mm>) -> Result<Arc<Self>> {
        let state = Self::without_set(mm, faults::waiting(), false)?;
        let set = EnablerSet::new(&state, GFP_KERNEL_ACCOUNT)?;

        state.inner.lock().set = Some(set);
        Ok(state)
    }

    /// Creates the state of the child of `parent`, whose pages have not been copied to `mm` yet.
    /// Both are locked for writing.
    pub(crate) fn fork(parent: &Arc<Self>, mm: ARef<Mm>) -> Result<Arc<Self>> {
        let child = Self::without_set(mm, parent.waits_on, true)?;
        let place = EnablerSet::place(&child)?;
        let (set, behind) = {
            let inner = parent.inner.lock();
            let mut behind = false;

            if let Some(set) = &inner.set {
                behind = set.share(place);
            }
            // A word of the parent that is still to be written may be copied as it is.
            behind |= parent.resync.load(Relaxed) || inner.is_behind();

            (inner.set.clone(), behind)
        };

        child.inner.lock().set = set;
        if behind {
            child.resync.store(true, Release);
        }
        Ok(child)
    }

    fn without_set(mm: ARef<Mm>, waits_on: &'static Queue, forking: bool) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                id: next_id(),
                mm,
                inner <- new_mutex!(
                    MmInner {
                        set: None,
                        pending: Keys::new(),
                        absent: Keys::new(),
                        all_absent: false,
                        rest: None,
                        tries: 0,
                        writing: false,
                        waiting: false,
                        forking,
                    },
                    "MmState::inner"
                ),
                resync: Atomic::new(false),
                work <- new_work!("MmState::work"),
                wait <- new_work!("MmState::wait"),
                retry <- new_delayed_work!("MmState::retry"),
                waits_on,
                links <- ListLinks::new(),
                tracker <- AtomicTracker::new(),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Returns the place of the address space in the order of visits.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Allows the words of a child to be written, after the pages of the parent have been copied.
    pub(crate) fn forked(this: &Arc<Self>) {
        let mut inner = this.inner.lock();

        inner.forking = false;
        // If `resync` is set while the child is forking, the work is queued here.
        if this.resync.load(Relaxed) {
            Self::queue(this);
        }
    }

    /// Drops the words that are still to be written: the address space is exiting. Returns the
    /// number of bits that [`MmState::leave`] removes.
    pub(crate) fn close(this: &Arc<Self>) -> usize {
        // It may be queued for long, and would do nothing then. Nothing queues it again: the others
        // do so as a user of the address space only. `retry` does not last long.
        workqueue::cancel::<_, WAIT>(this);

        let mut inner = this.inner.lock();

        inner.pending = Keys::new();
        inner.absent = Keys::new();
        inner.all_absent = false;
        inner.rest = None;
        inner.set.as_ref().map_or(0, |set| set.bits_of_last())
    }

    /// Leaves the set. The last user of a set removes its bits. Returns their number.
    pub(super) fn leave(&self) -> usize {
        let set = self.inner.lock().set.take();

        set.map_or(0, |set| EnablerSet::leave(&set, self))
    }

    /// Takes a reference to the address space. Dropping it does not tear the address space down in
    /// this context.
    fn user(&self) -> Option<ARef<MmWithUserAsync>> {
        self.mm.mmget_not_zero().map(MmWithUser::into_mmput_async)
    }

    fn set(&self) -> Result<Arc<EnablerSet<E>>> {
        self.inner.lock().set.clone().ok_or(ESRCH)
    }

    /// Calls `f` with the page of the word, after faulting it in if necessary, and returns the
    /// result.
    ///
    /// `f` runs under `mmap_lock` and must not fault.
    ///
    /// # Errors
    ///
    /// `EFAULT` and others if the page cannot be faulted in; `f` has not been called then.
    fn with_page<R>(
        mm: &MmWithUser,
        bit: &EnableBit,
        f: impl FnOnce(&mut PinnedPage) -> R,
    ) -> Result<R> {
        let (addr, _) = bit.target();

        for _ in 0..MAX_ATTEMPTS {
            let mut guard = mm.mmap_read_lock();

            if let Some(mut page) = guard.pin_page_nofault(addr) {
                let result = f(&mut page);

                // The drop of the page may wait for the lock of its folio.
                drop(guard);
                return Ok(result);
            }
            guard.fault_in_writeable(addr)?;
        }
        Err(EFAULT)
    }
}

/// Sets or clears the bit in its page, atomically, as programs that share the word expect it.
fn write(page: &mut PinnedPage, bit: &EnableBit, on: bool) -> Result {
    let (addr, nr) = bit.target();

    page.set_bit(addr % PAGE_SIZE, nr, on)
}
