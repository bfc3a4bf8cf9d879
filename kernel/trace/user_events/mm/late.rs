// SPDX-License-Identifier: GPL-2.0

//! The words that a switch writes, at once or later.
//!
//! A switch writes a word if it gets the locks of the process within a short time and the page of
//! the word is present. Otherwise it defers the word, or all words, to the work item of the
//! process, which waits for these locks and faults the pages in.
//!
//! # States
//!
//! The task of the work item is in [`MmState::resync`] and in [`Inner`]:
//!
//! | State | `forking` | `resync` | `pending` | `working` | Work item |
//! | --- | --- | --- | --- | --- | --- |
//! | idle | no | no | empty | no | not queued |
//! | listed | no | no | 1 to [`MAX_PENDING`] | either | queued |
//! | all | no | yes | any | either | queued |
//! | writing | no | no | empty | yes | running |
//! | forking | yes | either | empty | no | not queued, or returns at once |
//!
//! ```text
//!                    list()                      take_late()
//!          idle ----------------> listed ------------------------> writing
//!            |                      | too many, or no memory         |  |
//!            | write_all_later()    v                                |  |
//!            +-------------------> all ---------- take_late() -------+  |
//!            ^                      ^                                   |
//!            |                      +---- list(), write_all_later() ----+
//!            +------------------------ take_late(), nothing left -------+
//!
//!   forking ---- forked() ----> idle, or all if `resync` is set
//! ```
//!
//! The work item does not change the state of an address space that is forking; `forked()` queues
//! it again. `list()` and `write_all_later()` add to what is deferred in any other state. Listed,
//! all and writing end in `take_late()`, or with the address space.
//!
//! All of the state changes under the lock of the [`MmState`], except that a switch that does not
//! get that lock sets `resync` without it.
//!
//! # Waiting
//!
//! The work item may wait for as long as it takes to bring a page in, so it is on a queue of its
//! own ([`faults`]). The words that need not be waited for are written first. If there is no memory
//! for a page, it tries again after [`MEMORY_WAIT`]. Until then it does not use the address space,
//! which may be what takes the memory.
//!
//! A page that is present, but shared since a fork, needs a copy and nothing from elsewhere. So the
//! switch waits at its end until the work item has written such words.

use super::{
    super::{
        defs::EnableBit,
        enabler::{
            EnablerSet,
            Followed,
            Site, //
        },
        faults,
        patience::Patience, //
    },
    write,
    Inner,
    MmState, //
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

/// Maximum number of words that are listed for the work item. With more of them it writes all
/// words.
pub(super) const MAX_PENDING: usize = 64;

/// The number of times a switch tries to get the locks of a process. After that it leaves the word
/// to the work item.
const LOCK_TRIES: u32 = 5;

/// The delay before the work item retries a failed allocation.
const MEMORY_WAIT: Delta = Delta::from_millis(500);

/// The words that the work item writes now.
enum Late<E: Followed> {
    /// Those with these keys.
    Listed(KVVec<u64>),
    /// All of the set that the address space has.
    All(Arc<EnablerSet<E>>),
}

/// The outcome of a try to write a word for a switch.
enum Outcome {
    /// The word is written, or does not follow the event any more.
    Done,
    /// The work item writes the word later.
    Deferred,
    /// As `Deferred`; the page of the word is there, but has to be copied first.
    Copying,
    /// A lock is held by others.
    Busy,
}

impl<E: Followed> MmState<E> {
    /// Writes the state of its event to the bit of `site`, if it is still registered here.
    ///
    /// Words that cannot be written at once are written later. Waits a little for the locks of the
    /// process, if `patience` is left. Returns `true` if the work item copies the page of the word,
    /// which the switch should wait for at its end.
    pub(crate) fn sync(this: &Arc<Self>, site: &Arc<Site<E>>, patience: &mut Patience) -> bool {
        // All words are going to be written anyway. The work item reads the status of the event
        // after it has reset the flag; the switch has stored the status before it took its number,
        // which is fully ordered.
        if this.resync.load(Relaxed) {
            return false;
        }
        let Some(mm) = this.user() else {
            return false;
        };

        for left in (0..LOCK_TRIES).rev() {
            let last = left == 0 || !patience.is_left();

            match Self::try_sync(this, &mm, site, last) {
                Outcome::Done | Outcome::Deferred => return false,
                Outcome::Copying => return true,
                Outcome::Busy => (),
            }
            // All words are going to be written anyway.
            if this.resync.load(Relaxed) || last || !patience.pause() {
                break;
            }
        }
        Self::write_all_later(this);
        false
    }

    /// Tries [`MmState::sync`] once. On the `last` try, contention of `mmap_lock` defers the word.
    fn try_sync(this: &Arc<Self>, mm: &MmWithUser, site: &Arc<Site<E>>, last: bool) -> Outcome {
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
            .is_some_and(|set| Arc::ptr_eq(set, site.set()));

        if !is_here || !site.is_live() {
            return Outcome::Done;
        }
        let outcome = match mm.mmap_read_trylock() {
            Some(guard) if write_now(&guard, site) => Outcome::Done,
            Some(guard) if state(&guard, site).is_some() => Outcome::Copying,
            // One word is waited for, not each of them.
            None if !last && !inner.working && inner.pending.is_empty() => Outcome::Busy,
            _ => Outcome::Deferred,
        };

        if matches!(outcome, Outcome::Deferred | Outcome::Copying) {
            Self::list(this, &mut inner, site.key());
            Self::queue(this);
        }
        outcome
    }

    /// Returns `true` until the work item has written all that is deferred, and while others hold
    /// the lock.
    pub(crate) fn is_writing(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else {
            return true;
        };

        inner.set.is_some()
            && (self.resync.load(Relaxed) || inner.working || !inner.pending.is_empty())
    }

    /// Queues the work item to write all words, in a run that begins after this.
    pub(crate) fn write_all_later(this: &Arc<Self>) {
        this.resync.store(true, Release);
        Self::queue(this);
    }

    /// Queues the work item. If it is queued already, that run looks at the list.
    pub(super) fn queue(this: &Arc<Self>) {
        let _ = faults::queue().enqueue(this.clone());
    }

    /// Lists a word to be written by the next run of the work item.
    fn list(this: &Arc<Self>, inner: &mut Inner<E>, key: u64) {
        if !this.resync.load(Relaxed)
            && !inner.pending.contains(&key)
            && (inner.pending.len() >= MAX_PENDING || inner.pending.push(key, GFP_NOWAIT).is_err())
        {
            this.resync.store(true, Release);
        }
    }

    /// Takes the words that are to be written now.
    ///
    /// The caller calls this again even if none is left, which resets `working`.
    fn take_late(&self) -> Option<Late<E>> {
        let mut listed = KVVec::new();
        let mut inner = self.inner.lock();

        // `forked()` queues the work item.
        if inner.forking {
            return None;
        }
        let all = self.resync.xchg(false, Full);

        core::mem::swap(&mut inner.pending, &mut listed);
        inner.working = all || !listed.is_empty();
        if !inner.working {
            return None;
        }
        match &inner.set {
            // Those on the list are among them.
            Some(set) if all => Some(Late::All(set.clone())),
            _ => Some(Late::Listed(listed)),
        }
    }

    /// Writes the words of a list, waiting for pages and locks.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there is no memory for a page. What is left is listed again.
    fn write_listed(this: &Arc<Self>, mm: &MmWithUser, mut late: KVVec<u64>) -> Result {
        // The page of another word may never come.
        late.retain(|key| !Self::try_present(this, mm, *key));

        for (at, key) in late.iter().enumerate() {
            let Err(e) = Self::write_absent(this, mm, *key) else {
                continue;
            };
            let mut inner = this.inner.lock();

            for key in late.iter().skip(at) {
                Self::list(this, &mut inner, *key);
            }
            return Err(e);
        }
        Ok(())
    }

    /// Writes all words of a set, waiting for pages and locks.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there is no memory for a page. All words are written again then.
    fn write_all(this: &Arc<Self>, mm: &MmWithUser, set: &EnablerSet<E>) -> Result {
        let mut is_absent = false;
        // As in `write_listed()`.
        let mut result = set.for_each_key(|key| {
            is_absent |= !Self::try_present(this, mm, key);
            Ok(())
        });

        if result.is_ok() && is_absent {
            result = set.for_each_key(|key| Self::write_absent(this, mm, key));
        }
        result.inspect_err(|_| this.resync.store(true, Release))
    }

    /// Writes a word as [`MmState::write_present`] does, if `mmap_lock` is free.
    fn try_present(this: &Arc<Self>, mm: &MmWithUser, key: u64) -> bool {
        mm.mmap_read_trylock()
            .is_some_and(|guard| Self::write_present(this, &guard, key))
    }

    /// Writes the state of its event to the bit with this key, or returns `false` if its page
    /// would have to be waited for.
    ///
    /// A bit that has that state already is not written: a child that writes all its words keeps
    /// sharing their pages with its parent.
    fn write_present(this: &Arc<Self>, guard: &MmapReadGuard<'_>, key: u64) -> bool {
        let inner = this.inner.lock();
        // Dropped without the lock.
        let site = inner.set.as_ref().and_then(|set| set.get(key));
        let is_done = site
            .as_ref()
            .is_none_or(|site| is_right(guard, site) || write_now(guard, site));

        drop(inner);
        is_done
    }

    /// Writes the state of its event to the bit with this key, after waiting for its page.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there is no memory for the page.
    fn write_absent(this: &Arc<Self>, mm: &MmWithUser, key: u64) -> Result {
        // The page may be there, and only the `mmap_lock` was not: it is not copied for nothing.
        if Self::write_present(this, &mm.mmap_read_lock(), key) {
            return Ok(());
        }
        let bit = EnableBit::from_key(key);
        let written = Self::with_page(mm, &bit, |page| {
            let inner = this.inner.lock();

            // Dropped without the lock.
            let site = inner.set.as_ref().and_then(|set| set.get(key));
            let result = match &site {
                Some(site) => write(page, &bit, site.event().is_on()),
                None => Ok(()),
            };

            drop(inner);
            drop(site);
            result
        });

        match written {
            Ok(_) => return Ok(()),
            // There may be some the next time.
            Err(e) if e == ENOMEM => return Err(e),
            Err(_) => (),
        }

        let set = this.inner.lock().set.clone();
        if let Some(site) = set.and_then(|set| set.get(key)) {
            // Switching the event again tries again. A process can provoke this as it likes.
            if faults::may_warn() {
                pr_warn!(
                    "Fault for mm: {:p} @ 0x{:x} event: {}\n",
                    this.mm.as_raw(),
                    bit.addr(),
                    site.event().name()
                );
            }
        }
        Ok(())
    }
}

impl<E: Followed> WorkItem for MmState<E> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        loop {
            let Some(mm) = this.user() else {
                return;
            };
            let result = match this.take_late() {
                Some(Late::Listed(keys)) => Self::write_listed(&this, &mm, keys),
                Some(Late::All(set)) => Self::write_all(&this, &mm, &set),
                None => return,
            };

            // Memory is not waited for as a user of the address space, which may be what takes it.
            drop(mm);
            if result.is_err() {
                fsleep(MEMORY_WAIT);
            }
        }
    }
}

/// Returns the state of the bit of `site`, if that is known without a page fault.
fn state<E: Followed>(guard: &MmapReadGuard<'_>, site: &Site<E>) -> Option<bool> {
    let (addr, nr) = EnableBit::from_key(site.key()).target();

    guard.test_bit_nofault(addr, nr)
}

/// Returns `true` if the bit of `site` is known to have the state of its event.
fn is_right<E: Followed>(guard: &MmapReadGuard<'_>, site: &Site<E>) -> bool {
    state(guard, site) == Some(site.event().is_on())
}

/// Writes the state of its event to the bit of `site`, if that is possible without waiting for its
/// page or the lock of it.
fn write_now<E: Followed>(guard: &MmapReadGuard<'_>, site: &Site<E>) -> bool {
    let bit = EnableBit::from_key(site.key());
    let (addr, nr) = bit.target();
    let on = site.event().is_on();

    guard.set_bit_nofault(addr, nr, on)
        || guard
            .pin_page_nofault(addr)
            .is_some_and(|mut page| page.try_set_bit(addr % PAGE_SIZE, nr, on).is_ok())
}
