// SPDX-License-Identifier: GPL-2.0

//! A change of the bits of an address space: adding one, or removing one.
//!
//! All memory is allocated first, without a lock. Then the change is applied under the lock of the
//! address space, if the set is still the one that it was prepared for.

use super::{
    super::{
        defs::EnableBit,
        mm::MmState, //
    },
    Enabler,
    EnablerSet,
    Followed,
    ENABLERS_AT_A_TIME, //
};
use kernel::{
    alloc::Flags,
    hash_table::Slots,
    list::ListArc,
    prelude::*,
    sync::Arc,
    warn_on, //
};

/// Number of slots of a set that are copied each time its lock is taken.
const COPIED_AT_A_TIME: usize = 256;

/// The memory for a change of the bits of an address space, allocated before any lock is taken.
///
/// It is for the set that the address space had at that time. The change has to be prepared again
/// if the address space has another set when the locks are taken, if a set that is to be copied has
/// changed, or if others have taken the room for a new bit. Otherwise several threads can prepare
/// changes at the same time, and apply them one after the other.
///
/// It is dropped without a lock. That ends the use of a set that was replaced by a copy, which
/// frees all its enablers if it was the last use.
pub(crate) struct Change<'a, E: Followed> {
    set: Arc<EnablerSet<E>>,
    mm: &'a Arc<MmState<E>>,
    /// `set` was replaced.
    is_replaced: bool,
    /// `SetInner::changes` of the set at that time.
    changes: u64,
    /// If others used the set as well.
    copy: Option<SetCopy<E>>,
    /// Larger slots for the table of the set, if it is full.
    slots: Option<Slots<Arc<Enabler<E>>>>,
    /// A new bit.
    enabler: Option<ListArc<Enabler<E>>>,
}

/// A set for one address space, with room for the bits of another set.
struct SetCopy<E: Followed> {
    set: Arc<EnablerSet<E>>,
    enablers: KVVec<Pair<E>>,
}

impl<'a, E: Followed> Change<'a, E> {
    /// Prepares a change of `set`, which is that of `mm`, to add or remove a bit.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        set: Arc<EnablerSet<E>>,
        mm: &'a Arc<MmState<E>>,
        added: Option<(&EnableBit, &E::Use)>,
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
        let enabler = match added {
            Some((bit, event)) => Some(Enabler::new(of, bit.key(), event.clone(), flags)?),
            None => None,
        };

        Ok(Self {
            changes,
            copy,
            slots,
            enabler,
            set,
            mm,
            is_replaced: false,
        })
    }

    /// Returns a set that only this address space has, with room for the new bit. `set` is the
    /// present one. The second value is `true` if the set was replaced and a switch in progress
    /// does not visit all enablers of the new one although it has not visited their originals yet.
    ///
    /// Returns `None` if the change has to be prepared again. The caller holds the lock of the
    /// address space.
    pub(crate) fn begin(&mut self, set: &Arc<EnablerSet<E>>) -> Option<(Arc<EnablerSet<E>>, bool)> {
        if !Arc::ptr_eq(set, &self.set) || !self.has_room() {
            return None;
        }
        let Some(mut copy) = self.copy.take() else {
            return Some((set.clone(), false));
        };

        copy.set.insert_all(&mut copy.enablers);
        self.is_replaced = true;
        let is_missed = Enabler::link_copies(copy.enablers);

        // A switch that leaves the set to its work item after this has not seen the originals of
        // the enablers before, and is missed because of that.
        Some((copy.set, set.is_untold() || is_missed))
    }

    /// Returns `true` if the set still suits the change. Moves its table to the larger slots if it
    /// has no room.
    fn has_room(&mut self) -> bool {
        let mut inner = self.set.inner.lock();

        if self.copy.is_some() {
            return inner.changes == self.changes;
        }
        if inner.is_shared() {
            return false;
        }
        let growth = inner.enablers.growth(usize::from(self.enabler.is_some()));
        let wanted = match growth {
            Ok(None) => return true,
            Ok(Some(wanted)) => wanted,
            Err(_) => return false,
        };
        let Some(slots) = self.slots.take_if(|slots| slots.count() >= wanted) else {
            return false;
        };

        inner.changes += 1;
        self.slots = Some(inner.enablers.resize(slots));
        true
    }

    /// Adds the new bit to the set that [`Change::begin`] has returned. The caller has checked
    /// that the set does not contain it.
    ///
    /// A switch of the event that begins after this finds the bit.
    pub(crate) fn insert(&mut self) {
        if let Some(enabler) = self.enabler.take() {
            let set = enabler.set().clone();

            set.add(enabler);
        }
    }
}

impl<E: Followed> Drop for Change<'_, E> {
    fn drop(&mut self) {
        if self.is_replaced {
            EnablerSet::leave(&self.set, self.mm);
        }
    }
}

impl<E: Followed> EnablerSet<E> {
    /// Prepares a set for `mm` alone, which uses this one until [`EnablerSet::leave`], with room
    /// for `additional` more bits.
    ///
    /// The caller checks that this one has not changed since.
    fn copy_for(
        &self,
        mm: &Arc<MmState<E>>,
        additional: usize,
        flags: Flags,
    ) -> Result<SetCopy<E>> {
        let (len, slots) = {
            let inner = self.inner.lock();

            (inner.enablers.count(), inner.enablers.slots())
        };
        let set = Self::new(mm, flags)?;
        let mut enablers = KVVec::with_capacity(len, flags)?;
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
        for begin in (0..slots).step_by(COPIED_AT_A_TIME) {
            let inner = self.inner.lock();

            for at in (begin..slots).take(COPIED_AT_A_TIME) {
                if let Some(origin) = inner.enablers.slot(at) {
                    // Without room for it, the set has changed.
                    let _ = enablers.push_within_capacity((None, origin.clone()));
                }
            }
        }
        for (enabler, origin) in enablers.iter_mut() {
            *enabler = Some(Enabler::new(
                &set,
                origin.key(),
                origin.event().clone(),
                flags,
            )?);
        }
        Ok(SetCopy { set, enablers })
    }

    /// Adds the enablers to the set, which has room for them, but not to their events yet. The set
    /// has no user yet.
    fn insert_all(&self, pairs: &mut [Pair<E>]) {
        let mut inner = self.inner.lock();

        for (enabler, _) in pairs {
            let rest = enabler
                .as_ref()
                .and_then(|enabler| inner.enablers.insert_within_capacity(enabler.clone_arc()));

            // As in `add()`.
            if warn_on!(rest.is_some()) {
                *enabler = None;
            }
        }
    }
}

impl<E: Followed> Enabler<E> {
    /// Adds enablers to their events, each as a copy of the second one of its pair.
    ///
    /// Returns `true` if a switch still has to see one of the originals.
    fn link_copies(mut pairs: KVVec<Pair<E>>) -> bool {
        let mut is_missed = false;
        let mut rest = &mut pairs[..];

        while let Some((_, origin)) = rest.first() {
            let event = origin.event.clone();
            let count = count_of(rest.iter().map(|(_, origin)| &**origin));
            let (some, others) = rest.split_at_mut_checked(count).unwrap_or_default();
            let mut enablers = event.enablers().lock();

            for (enabler, origin) in some {
                if let Some(enabler) = enabler.take() {
                    enablers.insert(enabler);
                }
                is_missed |= enablers.is_ahead(origin);
            }
            drop(enablers);
            rest = others;
        }
        is_missed
    }
}

/// An enabler that is not in the list of its event yet, and the one that it is a copy of.
type Pair<E> = (Option<ListArc<Enabler<E>>>, Arc<Enabler<E>>);

/// Returns the number of next enablers that follow the event of the first one, up to
/// [`ENABLERS_AT_A_TIME`].
fn count_of<'a, E: Followed>(enablers: impl Iterator<Item = &'a Enabler<E>> + Clone) -> usize {
    let first = enablers.clone().next();

    enablers
        .take(ENABLERS_AT_A_TIME)
        .take_while(|enabler| first.is_some_and(|first| first.is_beside(enabler)))
        .count()
}
