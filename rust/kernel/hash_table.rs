// SPDX-License-Identifier: GPL-2.0

//! Hash tables with open addressing.
//!
//! Entries are in one array whose size is a power of two, each in the first free slot from the one
//! that its hash names. At least a quarter of the slots is free, so a search ends soon. A removed
//! entry leaves no mark: the entries after it move up.
//!
//! Memory is allocated apart from the table: [`OpenTable::growth`] tells how many slots are needed,
//! [`Slots`] are allocated without any lock, and [`OpenTable::resize`] moves the entries there. So
//! a lock that protects a table is never held across an allocation. After that
//! [`OpenTable::insert_within_capacity`] cannot fail. A table that has become nearly empty shrinks
//! in the same way ([`OpenTable::surplus`]).
//!
//! Hashes depend on a seed. User space that does not know it cannot choose keys that collide.
//!
//! The table has no lock; it is for the data inside of one.
//!
//! # Examples
//!
//! ```
//! use kernel::hash_table::{
//!     OpenTable,
//!     Slots, //
//! };
//!
//! let mut table = OpenTable::with_seed(kernel::random::get_u64());
//!
//! if let Some(count) = table.growth(1)? {
//!     drop(table.resize(Slots::new(count, GFP_KERNEL)?));
//! }
//! assert!(table.insert_within_capacity((7u64, "seven")).is_none());
//! assert_eq!(table.get(7), Some(&(7, "seven")));
//! assert_eq!(table.remove(7), Some((7, "seven")));
//! # Ok::<(), Error>(())
//! ```

use crate::{
    alloc::Flags,
    prelude::*,
    sync::Arc, //
};
use core::num::NonZeroU16;

#[cfg(CONFIG_RUST_HASH_TABLE_KUNIT_TEST)]
mod tests;

/// Slots of the smallest table that has any.
const MIN_SLOTS: usize = 8;

/// A table with fewer slots does not shrink.
const SHRINK_SLOTS: usize = 4 * MIN_SLOTS;

/// A table is nearly empty if fewer than one of so many slots is in use.
const SHRINK_SHARE: usize = 8;

/// The numbers that entries are found by.
pub trait Key: Copy + Eq {
    /// Returns the key as a number.
    fn bits(self) -> u64;
}

impl Key for u64 {
    fn bits(self) -> u64 {
        self
    }
}

impl Key for NonZeroU16 {
    fn bits(self) -> u64 {
        u64::from(self.get())
    }
}

/// An entry of a table. The key is a part of it and never changes.
///
/// A slot has the size of an entry if the entry has a bit pattern to spare.
pub trait Entry {
    /// The type of the key.
    type Key: Key;

    /// Returns the key.
    fn key(&self) -> Self::Key;
}

impl<T: Entry> Entry for Arc<T> {
    type Key = T::Key;

    fn key(&self) -> T::Key {
        (**self).key()
    }
}

impl<K: Key, V> Entry for (K, V) {
    type Key = K;

    fn key(&self) -> K {
        self.0
    }
}

/// Memory for the entries of a table, with all slots free.
///
/// # Invariants
///
/// It has no slots, or a power of two of them that is at least `MIN_SLOTS`. None is in use.
pub struct Slots<E>(KVVec<Option<E>>);

impl<E> Slots<E> {
    /// Allocates `count` slots, or the next larger number that a table can have.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(count: usize, flags: Flags) -> Result<Self> {
        let count = count
            .max(MIN_SLOTS)
            .checked_next_power_of_two()
            .ok_or(ENOMEM)?;
        let mut slots = KVVec::with_capacity(count, flags)?;

        for _ in 0..count {
            slots.push_within_capacity(None)?;
        }
        // INVARIANT: It is a power of two, and `MIN_SLOTS` is one.
        Ok(Self(slots))
    }

    /// Returns the number of slots.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A hash table of entries.
///
/// # Invariants
///
/// - `slots` has no elements, or a power of two of them that is at least `MIN_SLOTS`.
/// - `len` slots are in use, at most three quarters of all.
/// - From the home slot of an entry to its own all slots are in use.
pub struct OpenTable<E> {
    slots: KVVec<Option<E>>,
    len: usize,
    seed: u64,
}

impl<E: Entry> OpenTable<E> {
    /// Creates an empty table, without memory.
    pub const fn with_seed(seed: u64) -> Self {
        // INVARIANT: No slots, no entries.
        Self {
            slots: KVVec::new(),
            len: 0,
            seed,
        }
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Returns the number of entries that fit without more memory.
    pub fn capacity(&self) -> usize {
        limit(self.slots.len())
    }

    /// Returns the entry of `key`.
    pub fn get(&self, key: E::Key) -> Option<&E> {
        let at = self.find(key)?;

        self.slots.get(at)?.as_ref()
    }

    /// Returns `true` if the table has an entry of `key`.
    pub fn contains(&self, key: E::Key) -> bool {
        self.find(key).is_some()
    }

    /// Returns all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &E> + Clone {
        self.slots.iter().flatten()
    }

    /// Returns the number of slots, for a pass over them with [`OpenTable::slot`].
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the entry in slot number `at`, if it is in use.
    pub fn slot(&self, at: usize) -> Option<&E> {
        self.slots.get(at)?.as_ref()
    }

    /// Returns the number of slots that the table needs before `additional` more entries fit, or
    /// `None` if it has as many.
    ///
    /// The number at least doubles, so the cost of growing is a constant for each entry.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there cannot be as many.
    pub fn growth(&self, additional: usize) -> Result<Option<usize>> {
        let needed = self.len.checked_add(additional).ok_or(ENOMEM)?;

        if needed <= self.capacity() {
            return Ok(None);
        }
        slots_for(needed).map(Some)
    }

    /// Returns the number of slots that is enough for twice the entries of a table that is nearly
    /// empty, or `None` if it is not.
    pub fn surplus(&self) -> Option<usize> {
        let slots = self.slots.len();

        if slots < SHRINK_SLOTS || self.len >= slots / SHRINK_SHARE {
            return None;
        }
        slots_for(self.len.saturating_mul(2)).ok()
    }

    /// Moves the entries to `slots`, and returns the memory in which they were, to be freed. If
    /// `slots` has too few for the entries, nothing is moved and `slots` is returned.
    pub fn resize(&mut self, slots: Slots<E>) -> Slots<E> {
        if limit(slots.0.len()) < self.len {
            return slots;
        }

        // INVARIANT: By the invariant of `Slots` their number fits, and none of them is in use.
        let mut resized = Self {
            slots: slots.0,
            len: 0,
            seed: self.seed,
        };

        for slot in self.slots.iter_mut() {
            if let Some(entry) = slot.take() {
                // All keys differ and `resized` has room for as many.
                resized.insert_within_capacity(entry);
            }
        }
        core::mem::swap(self, &mut resized);
        // INVARIANT: They were those of a table, from which all entries were taken.
        Slots(resized.slots)
    }

    /// Moves the entries to `slots` if the table is still nearly empty, and smaller then. Returns
    /// the memory that is not used.
    pub fn shrink(&mut self, slots: Slots<E>) -> Slots<E> {
        if self.surplus().is_none() || slots.0.len() >= self.slots.len() {
            return slots;
        }
        self.resize(slots)
    }

    /// Adds an entry, or replaces the one with the same key. The table must have room for it, see
    /// [`OpenTable::growth`].
    ///
    /// Returns the entry that is not in the table now: the replaced one. Without room it would be
    /// `entry` itself.
    pub fn insert_within_capacity(&mut self, entry: E) -> Option<E> {
        let has_room = self.len < self.capacity();
        let at = self.search(entry.key());

        match at.and_then(|at| self.slots.get_mut(at)) {
            Some(Some(old)) => Some(core::mem::replace(old, entry)),
            Some(slot @ None) if has_room => {
                // INVARIANT: All slots from the home of the key to this one are in use, and at most
                // three quarters of all now.
                *slot = Some(entry);
                self.len = self.len.saturating_add(1);
                None
            }
            _ => Some(entry),
        }
    }

    /// Takes all entries, with the memory that they are in, and leaves an empty table.
    pub fn take(&mut self) -> Self {
        let seed = self.seed;

        core::mem::replace(self, Self::with_seed(seed))
    }

    /// Removes the entry of `key` and returns it.
    pub fn remove(&mut self, key: E::Key) -> Option<E> {
        let mut hole = self.find(key)?;
        let entry = self.slots.get_mut(hole)?.take()?;
        let mask = self.mask();
        let mut at = hole;

        self.len = self.len.saturating_sub(1);

        // INVARIANT: An entry after the hole moves into it unless its home is after the hole, so
        // that no entry has a free slot between its home and itself. A slot is free, the hole at
        // least, so this ends within one round.
        for _ in 0..self.slots.len() {
            at = at.wrapping_add(1) & mask;

            let Some(Some(next)) = self.slots.get(at) else {
                break;
            };
            let home = self.home(next.key());

            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                let moved = self.slots.get_mut(at).and_then(Option::take);

                if let Some(slot) = self.slots.get_mut(hole) {
                    *slot = moved;
                }
                hole = at;
            }
        }

        Some(entry)
    }

    /// Returns the index mask, or 0 without slots.
    fn mask(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// Returns the slot that the search for `key` starts at.
    fn home(&self, key: E::Key) -> usize {
        // CAST: Only the low bits are of interest, as many as the mask has.
        mix(key.bits(), self.seed) as usize & self.mask()
    }

    /// Returns the slot of `key`, if it has one.
    fn find(&self, key: E::Key) -> Option<usize> {
        let at = self.search(key)?;

        self.slots.get(at)?.as_ref()?;
        Some(at)
    }

    /// Returns the slot that the search for `key` ends at: that of its entry, or a free one, after
    /// which by the invariant the entry is not.
    fn search(&self, key: E::Key) -> Option<usize> {
        let mask = self.mask();
        let mut at = self.home(key);

        for _ in 0..self.slots.len() {
            match self.slots.get(at)? {
                Some(entry) if entry.key() != key => at = at.wrapping_add(1) & mask,
                _ => return Some(at),
            }
        }

        None
    }
}

/// Returns the number of entries that `slots` slots may hold, which is three quarters of them.
#[inline]
const fn limit(slots: usize) -> usize {
    slots.saturating_sub(slots / 4)
}

/// Returns the number of slots of the smallest table that may hold `entries`.
#[inline]
fn slots_for(entries: usize) -> Result<usize> {
    let mut slots = MIN_SLOTS;

    while limit(slots) < entries {
        slots = slots.checked_mul(2).ok_or(ENOMEM)?;
    }
    Ok(slots)
}

/// Spreads a key over 64 bits: each bit of the result depends on each bit of the key and the seed.
#[inline]
const fn mix(key: u64, seed: u64) -> u64 {
    const A: u64 = 0xff51_afd7_ed55_8ccd;
    const B: u64 = 0xc4ce_b9fe_1a85_ec53;

    let x = key ^ seed;
    let x = (x ^ (x >> 33)).wrapping_mul(A);
    let x = (x ^ (x >> 33)).wrapping_mul(B ^ (seed << 1));

    x ^ (x >> 33)
}
