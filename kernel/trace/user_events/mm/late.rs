// SPDX-License-Identifier: GPL-2.0

//! The words that a switch writes, at once or later.
//!
//! A switch writes a word if it gets the locks of the process within a short time and the page of
//! the word is present. Otherwise it defers the word, or all words, to the work items of the
//! process, whose runs are in [`run`](super::run). The first one writes the words that need not be
//! waited for. Those that it cannot write at the moment it tries again. If others are left, the
//! second one waits for the locks of the process and faults the pages in. A third one queues these
//! two again after a delay.
//!
//! # States
//!
//! The task of the first work item is in [`MmState::resync`] and in [`MmInner`]:
//!
//! | State | `forking` | `resync` | `pending`, `rest` | `writing` | Work item |
//! | --- | --- | --- | --- | --- | --- |
//! | idle | no | no | none | no | not queued |
//! | listed | no | no | some | no, or still | queued, or the third one is |
//! | all | no | yes | any | no, or still | queued, or the third one is |
//! | writing | no | no | none | yes | running |
//! | forking | yes | either | none | no | not queued, or returns at once |
//!
//! ```text
//!                    list()                      take_late()
//!          idle ----------------> listed ------------------------> writing
//!            |                     |  ^                             |  |  |
//!            |        too many, or |  +---- list(); put_back() -----+  |  |
//!            |        no memory    v                                   |  |
//!            +-------------------> all <------- write_all_later() -----+  |
//!            ^ write_all_later()    |                                     |
//!            |                      +----------- take_late() -> writing   |
//!            |                                                            |
//!            +------------------- put_back(), nothing left ---------------+
//!
//!   forking ---- forked() ----> idle, or all if `resync` is set
//! ```
//!
//! The work item does not change the state of an address space that is forking; `forked()` queues
//! it again. `list()` and `write_all_later()` add to what is deferred in any other state. Listed,
//! all and writing end in `put_back()`, or with the address space.
//!
//! The second work item has a task of the same form, without the forking state:
//!
//! | State | `all_absent` | `absent` | `waiting` | Work item |
//! | --- | --- | --- | --- | --- |
//! | idle | no | empty | no | not queued |
//! | listed | no | 1 to 64 keys | no, or still | queued, or running, or the third one is queued |
//! | all | yes | any | no, or still | as above |
//! | waiting | no | empty | yes | running |
//!
//! ```text
//!   idle -- put_back() --> listed, or all -- take_absent() --> waiting -- waited() --> idle
//!                                 ^                               |
//!                                 +-- no memory; put_back() ------+
//! ```
//!
//! `put_back()` moves what the first work item has taken and cannot write to the second one. What
//! that waits for does not matter to the first one, which still writes the words that become ready,
//! and so do switches.
//!
//! Both may run at a time. Each writes a word under the lock, with the state that the event has at
//! that moment. So a word that is deferred twice, or to both, is right after the last write.
//!
//! All of the state changes under the lock of the [`MmState`], except that a switch that does not
//! get that lock, and the work item of a set ([`EnablerSet::defer`]), set `resync` without it.
//!
//! # No word is lost
//!
//! A run takes its task under the lock, and returns what it has not written in the same way.
//! Between both, `writing` or `waiting` tells a fork that words may be copied as they are, and a
//! change of the set that a pass over the old one may be in progress. A `rest` tells the same. Its
//! slot is one of the present set: a change of the set drops it, and sets `resync`.
//!
//! With both a `rest` and `resync`, runs end that pass first. Then `put_back()` queues the work
//! item again, for all words.
//!
//! Each function that defers words to a work item queues it after that, or the third one. If it is
//! queued already, or is the third one and waits for its timer, the run is still to begin, and
//! takes them: a work item is no longer queued when its function is called. The third one queues
//! the first one after each delay, and the second one if words are listed for that.
//!
//! Only a user of the address space queues the second work item. So none is queued after `close()`
//! has taken it off its queue.
//!
//! # Waiting
//!
//! The second work item may wait for as long as it takes to bring a page in, so it is on another
//! queue than the first one ([`faults`]), and only so many of a group of users wait at a time. The
//! first one waits for no lock that a process can hold for long, and has a page faulted in if that
//! depends on nothing in user space.
//!
//! A word that fails for the moment takes none of these places: `mmap_lock` is taken, many others
//! copy a page, or an allocation fails. The run ends there, and the third work item queues the
//! first one again after 1, 2, 4 ... 256 ms ([`MAX_TRIES`]), or each time after
//! [`MEMORY_DELAY_MS`]. A run that has done enough, in pages or in slots of the set, queues itself
//! for the rest. Words that still fail after all tries are
//! left to the second work item. It may be the only one that can write them: a lock that threads of
//! the process take all the time is handed to a task that waits for it, and others that copy a page
//! may be stuck themselves.
//!
//! If the second work item gets no memory for a page, it leaves its place and tries again after
//! [`MEMORY_DELAY_MS`], too. Until then neither uses the address space, which may be what takes the
//! memory.
//!
//! A page that is present, but shared since a fork, needs a copy and nothing from elsewhere. So the
//! switch waits at its end until the work items have written such words.

use super::{
    super::{
        enabler::{
            Enabler,
            EnablerSet,
            Followed,
            Mark, //
        },
        faults,
        patience::Patience, //
    },
    keys::Keys,
    run::{
        state,
        write_now,
        Run, //
    },
    MmInner,
    MmState,
    NOW,
    RETRY,
    WAIT, //
};
use kernel::{
    mm::MmWithUser,
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
        msecs_to_jiffies,
        Msecs, //
    },
    workqueue::{
        self,
        WorkItem, //
    },
};

/// The number of times a switch tries to get the locks of a process. After that it leaves the word
/// to the work item.
const LOCK_TRIES: u32 = 5;

/// Number of times that the first work item is delayed, each time twice as long as before, while
/// words fail for the moment only. After that the second one waits for such words.
const MAX_TRIES: u32 = 9;

/// The first delay of the first work item.
const FIRST_DELAY_MS: Msecs = 1;

/// The delay of a work item after a failed allocation.
const MEMORY_DELAY_MS: Msecs = 500;

/// Words that a work item writes in one run.
pub(super) struct LateWords<E: Followed> {
    /// Those with these keys.
    pub(super) listed: Keys,
    /// Those that a pass over the set of the address space meets.
    pub(super) pass: Option<Pass<E>>,
}

/// A pass over the words of a set.
pub(super) struct Pass<E: Followed> {
    pub(super) set: Arc<EnablerSet<E>>,
    /// The slot at which it begins, or continues.
    pub(super) from: Mark,
}

impl<E: Followed> LateWords<E> {
    fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.pass.is_none()
    }
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
    /// Returns `true` if this is the set of the address space.
    fn uses(&self, set: &Arc<EnablerSet<E>>) -> bool {
        self.set.as_ref().is_some_and(|own| Arc::ptr_eq(own, set))
    }

    /// Returns words for a work item: those with the listed keys, and those that a pass meets from
    /// a slot on. Returns `None` if these are none.
    fn words(&self, listed: Keys, from: Option<Mark>) -> Option<LateWords<E>> {
        let pass = self.set.as_ref().zip(from).map(|(set, from)| Pass {
            set: set.clone(),
            from,
        });
        let late = LateWords { listed, pass };

        (!late.is_empty()).then_some(late)
    }

    /// Lists words to be waited for by the next run of the second work item.
    fn list_absent(&mut self, all: bool, listed: &Keys) {
        self.all_absent |= all || !listed.iter().all(|key| self.absent.add(*key));
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
        let is_here = inner.uses(enabler.set());

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

    /// Returns `true` until the first work item has written what it can write, and while others
    /// hold the lock. Words that the second one waits for do not count.
    pub(crate) fn is_writing(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else {
            return true;
        };

        inner.set.is_some() && (self.resync.load(Relaxed) || inner.is_trying())
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

    /// Takes the words that the first work item is to write now, until [`MmState::put_back`].
    pub(super) fn take_late(&self) -> Option<(LateWords<E>, Run)> {
        let mut inner = self.inner.lock();

        // `forked()` queues the work item.
        if inner.forking {
            return None;
        }
        let listed = core::mem::replace(&mut inner.pending, Keys::new());
        let rest = inner.rest.take();
        // A pass ends before the next one begins. If switches follow each other, the words at the
        // end of a large set would not have their turn otherwise.
        let all = rest.is_none() && self.resync.xchg(false, Full);
        let late = if all {
            // Those on the list are among them.
            inner.words(Keys::new(), Some(Mark::BEGIN))
        } else {
            inner.words(listed, rest)
        };

        if late.is_none() {
            inner.tries = 0;
        }
        inner.writing = late.is_some();
        late.map(|late| (late, Run::new(inner.tries >= MAX_TRIES)))
    }

    /// Ends a run of the first work item. Defers the words that it has `left`, and leaves those
    /// that have to be waited for to the second work item.
    pub(super) fn put_back(this: &Arc<Self>, left: LateWords<E>, run: Run) {
        // `close()` takes the second work item off its queue. It is called later, as the address
        // space has a user until the end of this, or was called before.
        let user = this.user();
        let is_left = !left.is_empty();
        let tries = {
            let mut inner = this.inner.lock();

            inner.writing = false;
            if user.is_none() {
                return;
            }
            let rest = if left.listed.iter().all(|key| inner.pending.add(*key)) {
                // If it has another set by now, `resync` is set.
                left.pass
                    .as_ref()
                    .filter(|pass| inner.uses(&pass.set))
                    .map(|pass| pass.from)
            } else {
                Some(Mark::BEGIN)
            };

            inner.rest = rest;
            inner.list_absent(run.all_absent, &run.absent);
            if !is_left || !run.is_refused {
                inner.tries = 0;
            }
            inner.tries
        };

        if run.all_absent || !run.absent.is_empty() {
            Self::wait(this);
        }
        if is_left && run.needs_memory {
            Self::retry(this, MEMORY_DELAY_MS);
        } else if is_left && run.is_refused {
            Self::retry(this, FIRST_DELAY_MS << tries.min(MAX_TRIES));
        } else if is_left || this.resync.load(Relaxed) {
            // `resync` may have been set while a `rest` was left.
            Self::queue(this);
        }
    }

    /// Takes the words that the second work item is to wait for now, until [`MmState::waited`].
    pub(super) fn take_absent(&self) -> Option<LateWords<E>> {
        let mut inner = self.inner.lock();
        let all = core::mem::replace(&mut inner.all_absent, false);
        let listed = core::mem::replace(&mut inner.absent, Keys::new());
        let late = if all {
            // Those on the list are among them.
            inner.words(Keys::new(), Some(Mark::BEGIN))
        } else {
            inner.words(listed, None)
        };

        inner.waiting = late.is_some();
        late
    }

    /// Ends a run of the second work item. After `ENOMEM` the words that are left are waited for
    /// again, later.
    pub(super) fn waited(this: &Arc<Self>, late: LateWords<E>, result: Result) {
        {
            let mut inner = this.inner.lock();

            inner.waiting = false;
            if result != Err(ENOMEM) {
                return;
            }
            inner.list_absent(late.pass.is_some(), &late.listed);
        }
        Self::retry(this, MEMORY_DELAY_MS);
    }

    /// Queues the second work item. If it is queued already, that run takes the words. The caller
    /// has a user of the address space.
    fn wait(this: &Arc<Self>) {
        let _ = this.waits_on.enqueue::<_, WAIT>(this.clone());
    }

    /// Queues the work items again after a delay, or after that of an earlier call.
    fn retry(this: &Arc<Self>, delay_ms: Msecs) {
        let _ = workqueue::system_dfl()
            .enqueue_delayed::<_, RETRY>(this.clone(), msecs_to_jiffies(delay_ms));
    }
}

impl<E: Followed> WorkItem<RETRY> for MmState<E> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        // As in `put_back()`.
        let user = this.user();
        if user.is_none() {
            return;
        }
        let is_absent = {
            let mut inner = this.inner.lock();

            inner.tries = inner.tries.saturating_add(1);
            inner.is_absent()
        };

        Self::queue(&this);
        if is_absent {
            Self::wait(&this);
        }
    }
}
