// SPDX-License-Identifier: GPL-2.0

//! The runs of the work items of an address space, which write the words that [`late`](super::late)
//! has for them.

use super::{
    super::{
        defs::EnableBit,
        enabler::{
            Enabler,
            Followed, //
        },
        faults, //
    },
    keys::Keys,
    late::{
        LateWords,
        Pass, //
    },
    write,
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
    sync::Arc,
    workqueue::WorkItem, //
};

/// Maximum number of pages that a run has faulted in. In a memory cgroup at its limit each may take
/// a while; after the first one that gets no memory a run tries no other.
const MAX_PAGES: usize = 64;

/// The outcome of a try to write a word for a work item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// The word is written, or no longer follows the event.
    Written,
    /// A later run can write it without waiting: a lock or memory is not available at the moment,
    /// or this run has done enough.
    NotNow,
    /// Its page has to be waited for, for a time that may depend on user space, or no page can be
    /// written there.
    Absent,
}

/// The work of a run of the first work item.
pub(super) struct Run {
    /// Number of pages that it may still have faulted in or copied.
    pages: usize,
    /// No later run tries the words again that are refused.
    is_last: bool,
    /// A lock or memory was not available for a word.
    pub(super) is_refused: bool,
    /// It was memory.
    pub(super) needs_memory: bool,
    /// The words that have to be waited for.
    pub(super) absent: Keys,
    /// These are too many to be listed: all words have to be waited for.
    pub(super) all_absent: bool,
}

impl Run {
    pub(super) fn new(is_last: bool) -> Self {
        Self {
            pages: MAX_PAGES,
            is_last,
            is_refused: false,
            needs_memory: false,
            absent: Keys::new(),
            all_absent: false,
        }
    }

    /// Ends the faults of the run, as a lock or memory is not available.
    fn refuse(&mut self) -> Tried {
        self.pages = 0;
        self.is_refused = true;
        Tried::NotNow
    }

    /// Ends the faults of the run, as memory is not available.
    fn refuse_without_memory(&mut self) -> Tried {
        self.needs_memory = true;
        self.refuse()
    }

    /// Returns `true` if a later run has to try a word again. Lists the word if it has to be waited
    /// for.
    fn is_left(&mut self, key: u64, tried: Tried) -> bool {
        match tried {
            Tried::Written => false,
            Tried::NotNow if !(self.is_last && self.is_refused) => true,
            _ => {
                self.all_absent |= !self.absent.add(key);
                false
            }
        }
    }
}

impl<E: Followed> MmState<E> {
    /// Writes the words that need not be waited for. Returns those that a later run can write, and
    /// adds the others to `run`.
    ///
    /// A pass ends before the first word that is left. It uses the address space for one word at a
    /// time: a set may have many words, and the memory of a process that exits would not be freed
    /// before the last one.
    fn write_ready(this: &Arc<Self>, late: LateWords<E>, run: &mut Run) -> LateWords<E> {
        let LateWords { mut listed, pass } = late;

        if let Some(mm) = this.user() {
            listed.retain(|key| {
                let tried = Self::try_listed(this, &mm, key, run);

                run.is_left(key, tried)
            });
        }
        let pass = pass.and_then(|Pass { set, from }| {
            let next = set.pass(from, |enabler| {
                let tried = Self::try_enabler(this, enabler, run)?;

                Ok(!run.is_left(enabler.key(), tried))
            });
            let next = match next {
                Ok(next) => next,
                // The set changes, and the list of its words got no memory.
                Err(e) if e == ENOMEM => {
                    run.refuse_without_memory();
                    Some(from)
                }
                // Nothing is to be written now.
                Err(_) => None,
            };

            next.map(|from| Pass { set, from })
        });

        LateWords { listed, pass }
    }

    /// Writes words, waiting for pages and locks. Those that are listed are removed from the list
    /// when they are written.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the address space has lost its last user. `ENOMEM` if a page cannot be allocated.
    fn write_late(this: &Arc<Self>, late: &mut LateWords<E>) -> Result {
        let user = || this.user().ok_or(ESRCH);
        let mut run = Run::new(false);
        let mut is_left = false;

        // The fault of another word's page may never end.
        let mm = user()?;
        late.listed
            .retain(|key| Self::try_listed(this, &mm, key, &mut run) != Tried::Written);
        drop(mm);
        if let Some(Pass { set, .. }) = &late.pass {
            set.for_each_enabler(|enabler| {
                let tried = Self::try_enabler(this, enabler, &mut run)?;

                // Too many absent ones are not tried.
                run.is_left(enabler.key(), tried);
                is_left |= tried != Tried::Written;
                Ok(())
            })?;
        }

        if !late.listed.is_empty() {
            let mm = user()?;
            let mut result = Ok(());

            late.listed.retain(|key| {
                if result.is_ok() {
                    result = Self::write_absent(this, &mm, key);
                }
                result.is_err()
            });
            result?;
        }
        match &late.pass {
            Some(Pass { set, .. }) if is_left => set.for_each_enabler(|enabler| {
                let mm = user()?;

                Self::write_absent(this, &mm, enabler.key())
            }),
            _ => Ok(()),
        }
    }

    /// Tries to write the word with this key.
    fn try_listed(this: &Arc<Self>, mm: &MmWithUser, key: u64, run: &mut Run) -> Tried {
        Self::try_write(mm, key, run, |guard| Self::write_present(this, guard, key))
    }

    /// Tries to write the word of an enabler.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the address space has lost its last user.
    fn try_enabler(this: &Arc<Self>, enabler: &Arc<Enabler<E>>, run: &mut Run) -> Result<Tried> {
        let mm = this.user().ok_or(ESRCH)?;

        Ok(Self::try_write(&mm, enabler.key(), run, |guard| {
            Self::write_enabler(this, guard, enabler)
        }))
    }

    /// Writes the word with this key by `write`, if `mmap_lock` is free. If that returns `false`,
    /// faults the page in, as far as that waits for nothing in user space and `run` may have
    /// another one faulted in, and tries again.
    fn try_write(
        mm: &MmWithUser,
        key: u64,
        run: &mut Run,
        write: impl Fn(&MmapReadGuard<'_>) -> bool,
    ) -> Tried {
        let (addr, nr) = EnableBit::from_key(key).target();
        let Some(guard) = mm.mmap_read_trylock() else {
            return run.refuse();
        };

        if write(&guard) {
            return Tried::Written;
        }
        // If all words are waited for, many pages are absent, and trying each would take long.
        if run.all_absent || !guard.is_writeable(addr) {
            return Tried::Absent;
        }
        if run.pages == 0 {
            return Tried::NotNow;
        }
        match bring_in(&guard, addr, nr) {
            Some(Ok(())) => {
                run.pages -= 1;
                if write(&guard) {
                    Tried::Written
                } else {
                    Tried::Absent
                }
            }
            None => run.refuse(),
            Some(Err(e)) if e == ENOMEM => run.refuse_without_memory(),
            Some(Err(_)) => Tried::Absent,
        }
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
        if this.user().is_none() {
            return;
        }
        // What is listed from here on has queued the work item again.
        if let Some((late, mut run)) = this.take_late() {
            let left = Self::write_ready(&this, late, &mut run);

            Self::put_back(&this, left, run);
        }
    }
}

impl<E: Followed> WorkItem<WAIT> for MmState<E> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        if this.user().is_none() {
            return;
        }
        // As above.
        if let Some(mut late) = this.take_absent() {
            let result = Self::write_late(&this, &mut late);

            Self::waited(&this, late, result);
        }
    }
}

/// Faults the page at `addr` in as writeable, or copies it, without waiting for user space. Returns
/// [`None`] if too many others copy a page.
fn bring_in(guard: &MmapReadGuard<'_>, addr: usize, nr: u32) -> Option<Result> {
    match guard.fault_in_nowait(addr) {
        Err(e) if e != ENOMEM && guard.test_bit_nofault(addr, nr).is_some() => {
            faults::try_copy(|| guard.copy_nowait(addr))
        }
        result => Some(result),
    }
}

/// Returns the state of the bit of `enabler`, if that is known without a page fault.
pub(super) fn state<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> Option<bool> {
    let (addr, nr) = EnableBit::from_key(enabler.key()).target();

    guard.test_bit_nofault(addr, nr)
}

/// Returns `true` if the bit of `enabler` is known to have the state of its event.
fn is_right<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> bool {
    state(guard, enabler) == Some(enabler.event().is_on())
}

/// Writes the state of its event to the bit of `enabler`, if that is possible without waiting for
/// its page or the lock of it.
pub(super) fn write_now<E: Followed>(guard: &MmapReadGuard<'_>, enabler: &Enabler<E>) -> bool {
    let bit = EnableBit::from_key(enabler.key());
    let (addr, nr) = bit.target();
    let on = enabler.event().is_on();

    guard.set_bit_nofault(addr, nr, on)
        || guard
            .pin_page_nofault(addr)
            .is_some_and(|mut page| page.try_set_bit(addr % PAGE_SIZE, nr, on).is_ok())
}
