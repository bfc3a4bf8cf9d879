// SPDX-License-Identifier: GPL-2.0

//! Registering and unregistering enable bits.
//!
//! The task that does so writes the word itself, under the lock of the [`MmState`]. A set that
//! other address spaces use as well is replaced by a copy first.

use super::{
    super::{
        defs::EnableBit,
        enabler::{
            Change,
            Enabler,
            EnablerSet,
            Followed, //
        }, //
    },
    write,
    MmInner,
    MmState, //
};
use kernel::{
    mm::MmWithUser,
    prelude::*,
    sync::Arc, //
};

impl<E: Followed> MmState<E> {
    /// Returns `true` if the bit is registered already.
    pub(crate) fn contains(&self, bit: &EnableBit) -> bool {
        let inner = self.inner.lock();

        inner.set.as_ref().is_some_and(|set| set.contains(bit))
    }

    /// Registers the bit to follow `event`, and writes its present state. `mm` is that of this
    /// state.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE` if the bit is registered already, `EFAULT` if the word cannot be written,
    /// `ENOMEM`, `EINTR` if the task is killed while its page is faulted in.
    pub(crate) fn enable(
        this: &Arc<Self>,
        mm: &MmWithUser,
        bit: &EnableBit,
        event: E::Use,
    ) -> Result {
        loop {
            let added = Some((bit, &event));
            let mut change = Change::new(this.set()?, this, added, GFP_KERNEL_ACCOUNT)?;

            if Self::enable_present(this, mm, bit, &event, &mut change)? {
                return Ok(());
            }
            let is_done = Self::with_page(mm, bit, |page| {
                let mut inner = this.inner.lock();
                let Some(set) = Self::own_set(this, &mut inner, &mut change) else {
                    return Ok(false);
                };

                if set.contains(bit) {
                    return Err(EADDRINUSE);
                }
                change.insert();
                // A switch of the event finds the bit from here on. If it does not get the lock, it
                // leaves the word to the work item, which waits for it.
                write(page, bit, event.is_on()).inspect_err(|_| drop(set.remove(bit.key())))?;
                Ok(true)
            })??;

            if is_done {
                return Ok(());
            }
        }
    }

    /// Registers a bit as [`MmState::enable`] does, if its page is present and anonymous: that is
    /// faster than pinning the page. Returns `false` if the bit is not registered: the page is not,
    /// or the change has to be prepared again.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE`.
    fn enable_present(
        this: &Arc<Self>,
        mm: &MmWithUser,
        bit: &EnableBit,
        event: &E::Use,
        change: &mut Change<'_, E>,
    ) -> Result<bool> {
        let (addr, nr) = bit.target();
        let guard = mm.mmap_read_lock();
        let mut inner = this.inner.lock();
        let Some(set) = Self::own_set(this, &mut inner, change) else {
            return Ok(false);
        };

        if set.contains(bit) {
            return Err(EADDRINUSE);
        }
        // Before the bit is in the set, as most that fail do so here.
        let was_on = event.is_on();
        if !guard.set_bit_nofault(addr, nr, was_on) {
            return Ok(false);
        }
        change.insert();
        // As in `enable()`: the event may have been switched before that.
        let is_on = event.is_on();
        if is_on != was_on && !guard.set_bit_nofault(addr, nr, is_on) {
            // The page was taken away just now. The bit stays registered, as after a switch that
            // does not get the lock: `change` has no other one to add.
            Self::write_all_later(this);
        }
        Ok(true)
    }

    /// Unregisters a bit that [`MmState::enable`] has registered, and clears it. Lack of memory is
    /// no reason to fail, as the program may use that of the word for something else.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the bit is not registered. `EFAULT` if the word cannot be written: the bit is no
    /// longer followed all the same. `EINTR` if the task was killed and gets no memory: the bit
    /// stays.
    pub(crate) fn disable(this: &Arc<Self>, mm: &MmWithUser, addr: usize, bit: u8) -> Result {
        Self::disable_bit(this, mm, &this.find(addr, bit)?)
    }

    /// Unregisters a bit as [`MmState::disable`] does, given the width of its word.
    pub(crate) fn disable_bit(this: &Arc<Self>, mm: &MmWithUser, bit: &EnableBit) -> Result {
        if let Some(removed) = this.disable_present(mm, bit) {
            this.drop_removed(removed);
            return Ok(());
        }
        loop {
            let mut change = Self::prepare_removal(this)?;
            let mut removed = None;
            let result = Self::with_page(mm, bit, |page| {
                let mut inner = this.inner.lock();

                removed = Self::take_out(this, &mut inner, bit, &mut change)?;
                if removed.is_none() {
                    return Ok(());
                }
                // Under the lock still: another thread may register the bit anew after it.
                write(page, bit, false)
            });
            let result = result.unwrap_or_else(|_| {
                // The page cannot be faulted in.
                removed = Self::take_out(this, &mut this.inner.lock(), bit, &mut change)?;
                Err(EFAULT)
            });

            if let Some(removed) = removed {
                this.drop_removed(removed);
                return result;
            }
            if result == Err(ENOENT) {
                return result;
            }
        }
    }

    /// Unregisters a bit as [`MmState::disable_bit`] does, if its page is present and anonymous,
    /// and no other address space uses the set: that needs no memory and no pin. Otherwise nothing
    /// has changed.
    fn disable_present(&self, mm: &MmWithUser, bit: &EnableBit) -> Option<(Arc<Enabler<E>>, bool)> {
        let (addr, nr) = bit.target();
        let guard = mm.mmap_read_lock();
        let inner = self.inner.lock();
        // Only its lock keeps the set from changing, so the bit is in it until it is removed here.
        let set = inner.set.as_ref()?;

        if !set.has_own(bit.key()) || !guard.set_bit_nofault(addr, nr, false) {
            return None;
        }
        set.remove(bit.key())
    }

    /// Drops an enabler that [`EnablerSet::remove`] has returned.
    fn drop_removed(&self, (enabler, is_sparse): (Arc<Enabler<E>>, bool)) {
        drop(enabler);
        if is_sparse {
            self.shrink();
        }
    }

    /// Prepares the removal of a bit, which lack of memory does not keep from succeeding.
    ///
    /// The copy of a shared set may be large, and many tasks of a memory cgroup at its limit may
    /// need one. With `__GFP_NOFAIL` a task that the OOM killer has chosen is charged for all of
    /// its copy, above the limit.
    ///
    /// # Errors
    ///
    /// `EINTR` if the task was killed and gets no memory, `ESRCH` if the address space has exited.
    fn prepare_removal(this: &Arc<Self>) -> Result<Change<'_, E>> {
        let may_fail = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;

        match Change::new(this.set()?, this, None, may_fail) {
            Err(_) if current!().fatal_signal_pending() => Err(EINTR),
            Err(_) => Change::new(this.set()?, this, None, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL),
            change => change,
        }
    }

    /// Frees memory that the set no longer needs.
    fn shrink(&self) {
        let Ok(set) = self.set() else {
            return;
        };
        let Some(slots) = set.smaller() else {
            return;
        };
        let rest = {
            let inner = self.inner.lock();

            // Only then it may change.
            if inner.set.as_ref().is_some_and(|own| Arc::ptr_eq(own, &set)) && !set.is_shared() {
                set.shrink(slots)
            } else {
                slots
            }
        };

        drop(rest);
    }

    fn find(&self, addr: usize, bit: u8) -> Result<EnableBit> {
        let inner = self.inner.lock();

        inner
            .set
            .as_ref()
            .and_then(|set| set.find(addr, bit))
            .ok_or(ENOENT)
    }

    /// Removes a bit from the set, as [`EnablerSet::remove`] does. Returns `None` if the change
    /// has to be prepared again.
    fn take_out(
        this: &Arc<Self>,
        inner: &mut MmInner<E>,
        bit: &EnableBit,
        change: &mut Change<'_, E>,
    ) -> Result<Option<(Arc<Enabler<E>>, bool)>> {
        // Another thread may have been faster.
        if !inner.set.as_ref().is_some_and(|set| set.contains(bit)) {
            return Err(ENOENT);
        }
        let Some(set) = Self::own_set(this, inner, change) else {
            return Ok(None);
        };

        set.remove(bit.key()).ok_or(ENOENT).map(Some)
    }

    /// Returns the set, after replacing a shared one by a copy. Returns `None` if the change has to
    /// be prepared again. The drop of `change` ends the use of the shared one.
    fn own_set(
        this: &Arc<Self>,
        inner: &mut MmInner<E>,
        change: &mut Change<'_, E>,
    ) -> Option<Arc<EnablerSet<E>>> {
        let set = inner.set.clone()?;
        let (own, is_missed) = change.begin(&set)?;

        if !Arc::ptr_eq(&own, &set) {
            inner.set = Some(own.clone());
            // The work item may be passing over the set that is left here, which others change or
            // take apart from now on.
            if is_missed || inner.is_working() {
                inner.rest = None;
                Self::write_all_later(this);
            }
        }
        Some(own)
    }
}
