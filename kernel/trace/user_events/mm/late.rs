// SPDX-License-Identifier: GPL-2.0

//! The words that a switch writes, at once or later.
//!
//! A switch writes a word if it gets the locks of the process within a short time and the page of
//! the word is present. Otherwise it defers the word, or all words, to the work items of the
//! process. The first one writes the words that need not be waited for. If any are left, the second
//! one waits for the locks of the process and faults the pages in.
//!
//! # States
//!
//! The task of the first work item is in [`MmState::resync`] and in [`MmInner`]:
//!
//! | State | `forking` | `resync` | `pending` | Is one of `workers` | Work item |
//! | --- | --- | --- | --- | --- | --- |
//! | idle | no | no | empty | no | not queued |
//! | listed | no | no | 1 to 64 keys | no, or still | queued |
//! | all | no | yes | any | no, or still | queued |
//! | writing | no | no | empty | yes | running |
//! | forking | yes | either | empty | no | not queued, or returns at once |
//!
//! ```text
//!                    list()                      take_late()
//!          idle ----------------> listed ------------------------> writing
//!            |                     |  ^                             |  |  |
//!            |        too many, or |  +----------- list() ----------+  |  |
//!            |        no memory    v                                   |  |
//!            +-------------------> all <------- write_all_later() -----+  |
//!            ^ write_all_later()    |                                     |
//!            |                      +----------- take_late() -> writing   |
//!            |                                                            |
//!            +----------- take_late(), nothing left; wait_for() ----------+
//!
//!   forking ---- forked() ----> idle, or all if `resync` is set
//! ```
//!
//! The work item does not change the state of an address space that is forking; `forked()` queues
//! it again. `list()` and `write_all_later()` add to what is deferred in any other state. Listed,
//! all and writing end in `take_late()` or `wait_for()`, or with the address space.
//!
//! The second work item has a task of the same form, without the forking state:
//!
//! | State | `all_absent` | `absent` | Is one of `workers` | Work item |
//! | --- | --- | --- | --- | --- |
//! | idle | no | empty | no | not queued |
//! | listed | no | 1 to 64 keys | no, or still | queued, or running |
//! | all | yes | any | no, or still | queued, or running |
//! | waiting | no | empty | yes | running |
//!
//! ```text
//!   idle -- wait_for() --> listed, or all -- take_absent() --> waiting -- take_absent() --> idle
//!                                 ^                               |
//!                                 +-- no memory; wait_for() ------+
//! ```
//!
//! `wait_for()` moves what the first work item has taken and not written to the second one. What
//! that waits for does not matter to the first one, which still writes the words that become ready,
//! and so do switches.
//!
//! Both may run at a time, so `workers` is up to 2. Each writes a word under the lock, with the
//! state that the event has at that moment.
//!
//! All of the state changes under the lock of the [`MmState`], except that a switch that does not
//! get that lock, and the work item of a set ([`EnablerSet::defer`]), set `resync` without it.
//!
//! # Waiting
//!
//! The second work item may wait for as long as it takes to bring a page in, so it is on another
//! queue than the first one ([`faults`]), and only so many of a group of users wait at a time. The
//! first one waits for no lock that a process can hold for long, and has a page faulted in if that
//! depends on nothing in user space. If no page can be allocated, the second one tries again
//! after [`MEMORY_WAIT`]. Until then it does not use the address space, which may be what takes the
//! memory.
//!
//! A page that is present, but shared since a fork, needs a copy and nothing from elsewhere. So the
//! switch waits at its end until the work items have written such words.

use super::{
    super::{
        defs::EnableBit,
        enabler::{
            Enabler,
            EnablerSet,
            Followed, //
        },
        faults,
        patience::Patience, //
    },
    keys::Keys,
    write,
    MmInner,
    MmState,
    NOW,
    WAIT, //
};
use kernel::{
    mm::{
        MmWithUser,
        MmapReadGuard, //
    },
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::{
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
    workqueue::WorkItem,
};

/// The number of times a switch tries to get the locks of a process. After that it leaves the word
/// to the work item.
const LOCK_TRIES: u32 = 5;

/// Maximum number of pages that the first work item has faulted in. In a memory cgroup at its limit
/// each may take a while; after the first one that fails it tries no other.
const MAX_PAGES: usize = 64;

/// The delay before the work item retries a failed allocation.
const MEMORY_WAIT: Delta = Delta::from_millis(500);

/// The words that a work item writes now.
enum LateWords<E: Followed> {
    /// Those with these keys.
    Listed(Keys),
    /// All of the set that the address space has.
    All(Arc<EnablerSet<E>>),
}

/// The outcome of a try to write a word for a switch.
enum Outcome {
    /// The word is written, or no longer follows the event.
    Done,
    /// The work item writes the word later.
    Deferred,
    /// As `Deferred`; the page of the word is present, but has to be copied first.
    Copying,
    /// A lock is held by others.
    Busy,
}

impl<E: Followed> MmInner<E> {
    /// Counts a work item, which has taken these words, as one of `workers`. Returns `None` if
    /// these are none.
    fn take(&mut self, all: bool, listed: Keys) -> Option<LateWords<E>> {
        if !all && listed.is_empty() {
            return None;
        }
        self.workers += 1;
        match &self.set {
            // Those on the list are among them.
            Some(set) if all => Some(LateWords::All(set.clone())),
            _ => Some(LateWords::Listed(listed)),
        }
    }

    /// Lists words to be waited for by the next run of the second work item.
    fn list_absent(&mut self, late: &LateWords<E>) {
        let is_listed = match late {
            LateWords::Listed(keys) => keys.iter().all(|key| self.absent.add(*key)),
            LateWords::All(_) => false,
        };

        self.all_absent |= !is_listed;
    }
}

impl<E: Followed> MmState<E> {
    /// Writes the state of its event to the bit of `enabler`, if it is still registered here.
    ///
    /// Words that cannot be written at once are written later. Waits a little for the locks of the
    /// process, if `patience` is left. Returns `true` if the work item copies the page of the word,
    /// which the switch should wait for at its end.
    pub(crate) fn sync(
        this: &Arc<Self>,
        enabler: &Arc<Enabler<E>>,
        patience: &mut Patience,
    ) -> bool {
        // All words will be written anyway. The work item reads the status of the event after it
        // has reset the flag; the switch has stored the status before it took its number, which is
        // fully ordered.
        if this.resync.load(Relaxed) {
            return false;
        }
        let Some(mm) = this.user() else {
            return false;
        };

        for left in (0..LOCK_TRIES).rev() {
            let last = left == 0 || !patience.is_left();

            match Self::try_sync(this, &mm, enabler, last) {
                Outcome::Done | Outcome::Deferred => return false,
                Outcome::Copying => return true,
                Outcome::Busy => (),
            }
            // All words will be written anyway.
            if this.resync.load(Relaxed) || last || !patience.pause() {
                break;
            }
        }
        Self::write_all_later(this);
        false
    }

    /// Tries [`MmState::sync`] once. On the `last` try, contention of `mmap_lock` defers the word.
    fn try_sync(
        this: &Arc<Self>,
        mm: &MmWithUser,
        enabler: &Arc<Enabler<E>>,
        last: bool,
    ) -> Outcome {
        let Some(mut inner) = this.inner.try_lock() else {
            return Outcome::Busy;
        };

        if inner.forking {
            this.resync.store(true, Release);
            return Outcome::Deferred;
        }
        // If it has got a set of its own since, that took care of all words.
        let is_here = inner
            .set
            .as_ref()
            .is_some_and(|set| Arc::ptr_eq(set, enabler.set()));

        if !is_here || !enabler.is_live() {
            return Outcome::Done;
        }
        let outcome = match mm.mmap_read_trylock() {
            Some(guard) if write_now(&guard, enabler) => Outcome::Done,
            Some(guard) if state(&guard, enabler).is_some() => Outcome::Copying,
            // One word is waited for, not each of them.
            None if !last && !inner.is_working() && inner.pending.is_empty() => Outcome::Busy,
            _ => Outcome::Deferred,
        };

        if matches!(outcome, Outcome::Deferred | Outcome::Copying) {
            Self::list(this, &mut inner, enabler.key());
            Self::queue(this);
        }
        outcome
    }

    /// Returns `true` until the work items have written all that is deferred, and while others hold
    /// the lock.
    pub(crate) fn is_writing(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else {
            return true;
        };

        inner.set.is_some() && (self.resync.load(Relaxed) || inner.is_behind())
    }

    /// Queues the first work item to write all words, in a run that begins after this.
    pub(crate) fn write_all_later(this: &Arc<Self>) {
        this.resync.store(true, Release);
        Self::queue(this);
    }

    /// Queues the first work item. If it is queued already, that run looks at the list.
    pub(super) fn queue(this: &Arc<Self>) {
        let _ = faults::queue().enqueue::<_, NOW>(this.clone());
    }

    /// Lists a word to be written by the next run of the first work item.
    fn list(this: &Arc<Self>, inner: &mut MmInner<E>, key: u64) {
        if !this.resync.load(Relaxed) && !inner.pending.add(key) {
            this.resync.store(true, Release);
        }
    }

    /// Takes the words that the first work item is to write now.
    ///
    /// The work item is one of `workers` if it gets some, until it calls this `again`, or
    /// [`MmState::wait_for`].
    fn take_late(&self, again: bool) -> Option<LateWords<E>> {
        let mut inner = self.inner.lock();

        inner.workers = inner.workers.saturating_sub(u32::from(again));
        // `forked()` queues the work item.
        if inner.forking {
            return None;
        }
        let all = self.resync.xchg(false, Full);
        let listed = core::mem::replace(&mut inner.pending, Keys::new());

        inner.take(all, listed)
    }

    /// Takes the words that the second work item is to wait for now. As for `take_late()`, but it
    /// always calls this again.
    fn take_absent(&self, again: bool) -> Option<LateWords<E>> {
        let mut inner = self.inner.lock();

        inner.workers = inner.workers.saturating_sub(u32::from(again));
        let all = core::mem::replace(&mut inner.all_absent, false);
        let listed = core::mem::replace(&mut inner.absent, Keys::new());

        inner.take(all, listed)
    }

    /// Leaves words to the second work item. The caller has got them by [`MmState::take_late`].
    fn wait_for(this: &Arc<Self>, late: LateWords<E>) {
        {
            let mut inner = this.inner.lock();

            inner.workers = inner.workers.saturating_sub(1);
            inner.list_absent(&late);
        }
        // If it is queued already, that run takes them.
        let _ = this.waits_on.enqueue::<_, WAIT>(this.clone());
    }

    /// Writes the words that need not be waited for. Returns the others.
    ///
    /// For all words, the address space is used for one at a time: a set may have many words, and
    /// the memory of a process that exits would not be freed before the last one.
    fn write_ready(this: &Arc<Self>, late: LateWords<E>) -> Option<LateWords<E>> {
        let mut pages = MAX_PAGES;

        match late {
            LateWords::Listed(mut keys) => {
                let mm = this.user()?;

                keys.retain(|key| {
                    !Self::try_write(&mm, key, &mut pages, |guard| {
                        Self::write_present(this, guard, key)
                    })
                });
                (!keys.is_empty()).then_some(LateWords::Listed(keys))
            }
            LateWords::All(set) => {
                let mut is_absent = false;
                let result = set.for_each_enabler(|enabler| {
                    let mm = this.user().ok_or(ESRCH)?;

                    is_absent |= !Self::try_write(&mm, enabler.key(), &mut pages, |guard| {
                        Self::write_enabler(this, guard, enabler)
                    });
                    Ok(())
                });

                // Without memory the pass has ended early.
                (is_absent || result.is_err()).then_some(LateWords::All(set))
            }
        }
    }

    /// Writes words, waiting for pages and locks.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the address space has lost its last user. `ENOMEM` if a page cannot be allocated.
    /// The remaining words are listed again.
    fn write_late(this: &Arc<Self>, late: LateWords<E>) -> Result {
        // The fault of another word's page may never end.
        let Some(mut late) = Self::write_ready(this, late) else {
            return Ok(());
        };
        let user = || this.user().ok_or(ESRCH);
        let result = match &mut late {
            LateWords::Listed(keys) => user().and_then(|mm| {
                let mut result = Ok(());

                keys.retain(|key| {
                    if result.is_ok() {
                        result = Self::write_absent(this, &mm, key);
                    }
                    result.is_err()
                });
                result
            }),
            LateWords::All(set) => set.for_each_enabler(|enabler| {
                let mm = user()?;

                Self::write_absent(this, &mm, enabler.key())
            }),
        };

        result.inspect_err(|_| this.inner.lock().list_absent(&late))
    }

    /// Writes the word with this key by `write`, if `mmap_lock` is free. If that returns `false`,
    /// faults the page in, as far as that waits for nothing in user space and `pages` are left to
    /// be, and tries again.
    fn try_write(
        mm: &MmWithUser,
        key: u64,
        pages: &mut usize,
        write: impl Fn(&MmapReadGuard<'_>) -> bool,
    ) -> bool {
        let (addr, nr) = EnableBit::from_key(key).target();
        let Some(guard) = mm.mmap_read_trylock() else {
            return false;
        };

        if write(&guard) {
            return true;
        }
        if *pages == 0 {
            return false;
        }
        let is_there = guard.fault_in_nowait(addr)
            || (guard.test_bit_nofault(addr, nr).is_some()
                && faults::try_copy(|| guard.copy_nowait(addr)));

        *pages = if is_there { *pages - 1 } else { 0 };
        is_there && write(&guard)
    }

    /// Writes the word of an enabler as [`MmState::write_present`] does, without the lock of the
    /// set.
    ///
    /// If the address space has another set by now, all words of that are written after this.
    fn write_enabler(
        this: &Arc<Self>,
        guard: &MmapReadGuard<'_>,
        enabler: &Arc<Enabler<E>>,
    ) -> bool {
        let inner = this.inner.lock();
        let is_here = inner
            .set
            .as_ref()
            .is_some_and(|set| Arc::ptr_eq(set, enabler.set()));

        !is_here || !enabler.is_live() || is_right(guard, enabler) || write_now(guard, enabler)
    }

    /// Writes the state of its event to the bit with this key, or returns `false` if its page
    /// would have to be waited for.
    ///
    /// A bit that has that state already is not written: a child that writes all its words keeps
    /// sharing their pages with its parent.
    fn write_present(this: &Arc<Self>, guard: &MmapReadGuard<'_>, key: u64) -> bool {
        let inner = this.inner.lock();
        // Dropped without the lock.
        let enabler = inner.set.as_ref().and_then(|set| set.get(key));
        let is_done = enabler
            .as_ref()
            .is_none_or(|enabler| is_right(guard, enabler) || write_now(guard, enabler));

        drop(inner);
        is_done
    }

    /// Writes the state of its event to the bit with this key, after waiting for its page.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if the page cannot be allocated.
    fn write_absent(this: &Arc<Self>, mm: &MmWithUser, key: u64) -> Result {
        // The page may be present, and only the `mmap_lock` was taken: it is not copied for
        // nothing.
        if Self::write_present(this, &mm.mmap_read_lock(), key) {
            return Ok(());
        }
        let bit = EnableBit::from_key(key);
        let written = Self::with_page(mm, &bit, |page| {
            let inner = this.inner.lock();

            // Dropped without the lock.
            let enabler = inner.set.as_ref().and_then(|set| set.get(key));
            let result = match &enabler {
                Some(enabler) => write(page, &bit, enabler.event().is_on()),
                None => Ok(()),
            };

            drop(inner);
            drop(enabler);
            result
        });

        match written {
            Ok(_) => return Ok(()),
            // The next time some may be left.
            Err(e) if e == ENOMEM => return Err(e),
            Err(_) => (),
        }

        let set = this.inner.lock().set.clone();
        if let Some(enabler) = set.and_then(|set| set.get(key)) {
            // Switching the event again tries again. A process can provoke this as it likes.
            if faults::may_warn() {
                pr_warn!(
                    "Fault for mm: {:p} @ 0x{:x} event: {}\n",
                    this.mm.as_raw(),
                    bit.addr(),
                    enabler.event().name()
                );
            }
        }
        Ok(())
    }
}

impl<E: Followed> WorkItem<NOW> for MmState<E> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let mut again = false;

        while this.user().is_some() {
            let Some(late) = this.take_late(again) else {
                return;
            };

            if let Some(late) = Self::write_ready(&this, late) {
                Self::wait_for(&this, late);
                return;
            }
            again = true;
        }
    }
}

impl<E: Followed> WorkItem<WAIT> for MmState<E> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let mut again = false;

        while this.user().is_some() {
            let Some(late) = this.take_absent(again) else {
                return;
            };

            // Memory is not waited for as a user of the address space, which may be what takes it.
            if Self::write_late(&this, late) == Err(ENOMEM) {
                fsleep(MEMORY_WAIT);
            }
            again = true;
        }
    }
}

/// Returns the state of the bit of `enabler`, if that is known without a page fault.
fn state<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> Option<bool> {
    let (addr, nr) = EnableBit::from_key(enabler.key()).target();

    guard.test_bit_nofault(addr, nr)
}

/// Returns `true` if the bit of `enabler` is known to have the state of its event.
fn is_right<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> bool {
    state(guard, enabler) == Some(enabler.event().is_on())
}

/// Writes the state of its event to the bit of `enabler`, if that is possible without waiting for
/// its page or the lock of it.
fn write_now<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> bool {
    let bit = EnableBit::from_key(enabler.key());
    let (addr, nr) = bit.target();
    let on = enabler.event().is_on();

    guard.set_bit_nofault(addr, nr, on)
        || guard
            .pin_page_nofault(addr)
            .is_some_and(|mut page| page.try_set_bit(addr % PAGE_SIZE, nr, on).is_ok())
}
