// SPDX-License-Identifier: GPL-2.0

//! Passing over all bits of a set, in parts.

use super::{
    Enabler,
    EnablerSet,
    Followed,
    Mark, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Number of slots of a set that are looked at each time its lock is taken.
const SLOTS_AT_A_TIME: usize = 32;

/// Number of slots of a set that a part of a pass looks at.
const SLOTS_OF_A_PART: usize = 4096;

impl<E: Followed> EnablerSet<E> {
    /// Calls `f` with the enablers of all bits that the set has, without the lock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of `f`.
    pub(crate) fn for_each_enabler(&self, mut f: impl FnMut(&Arc<Enabler<E>>) -> Result) -> Result {
        let mut mark = Some(Mark::BEGIN);

        while let Some(from) = mark {
            mark = self.pass(from, |enabler| f(enabler).map(|()| true))?;
        }
        Ok(())
    }

    /// Calls `f` with the enablers of the next bits of a pass over all that the set has, without
    /// the lock. Ends before a bit for which `f` returns `false`, or after [`SLOTS_OF_A_PART`]
    /// slots, and returns where the pass is to continue, or [`None`] if no bit is left.
    ///
    /// A set of several address spaces does not change, so its slots are passed over. That takes no
    /// memory: as many lists as address spaces could take more than all of their bits. If the set
    /// changes, or has changed since the last part of the pass, it is that of one address space.
    /// Then all bits are passed over once, from a list, also those after one for which `f` returns
    /// `false`: they have their turn even if the set changes all the time. If it is no longer the
    /// set of the caller, that has got a set of its own, and passes over that one after this.
    ///
    /// The lock is taken once for some enablers: all address spaces that use the set may call this
    /// at the same time.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of `f`.
    pub(crate) fn pass(
        &self,
        from: Mark,
        mut f: impl FnMut(&Arc<Enabler<E>>) -> Result<bool>,
    ) -> Result<Option<Mark>> {
        let Mark {
            mut changes,
            mut at,
        } = from;
        let end = at.saturating_add(SLOTS_OF_A_PART);

        loop {
            // Dropped without the lock.
            let mut enablers = [const { None }; SLOTS_AT_A_TIME];
            {
                let inner = self.inner.lock();

                if *changes.get_or_insert(inner.changes) != inner.changes {
                    break;
                }
                if at >= inner.enablers.slots() {
                    return Ok(None);
                }
                if at >= end {
                    return Ok(Some(Mark { changes, at }));
                }
                for (enabler, at) in enablers.iter_mut().zip(at..) {
                    *enabler = inner.enablers.slot(at).cloned();
                }
            }
            for (enabler, at) in enablers.iter().zip(at..) {
                if let Some(enabler) = enabler {
                    if !f(enabler)? {
                        return Ok(Some(Mark { changes, at }));
                    }
                }
            }
            at += SLOTS_AT_A_TIME;
        }

        let mut is_left = false;

        for enabler in self.keys()?.into_iter().filter_map(|key| self.get(key)) {
            is_left |= !f(&enabler)?;
        }
        Ok(is_left.then_some(Mark::BEGIN))
    }

    /// Returns the keys of all bits.
    fn keys(&self) -> Result<KVVec<u64>> {
        loop {
            let len = self.inner.lock().enablers.count();
            // Bits may be registered until the lock is taken again.
            let mut keys = KVVec::with_capacity(len.saturating_add(len / 4), GFP_KERNEL)?;
            let inner = self.inner.lock();

            if inner.enablers.count() > keys.capacity() {
                continue;
            }
            for enabler in inner.enablers.iter() {
                keys.push_within_capacity(enabler.key())?;
            }
            return Ok(keys);
        }
    }
}
