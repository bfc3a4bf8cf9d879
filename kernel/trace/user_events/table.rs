// SPDX-License-Identifier: GPL-2.0

//! A hash table with open addressing.
//!
//! Entries are in one array whose size is a power of two, each in the first free slot from the one
//! that its hash names. At least a quarter of the slots is free, so a search ends soon. A removed
//! entry leaves no mark: the entries behind it move up.
//!
//! Memory is only allocated by [`OpenTable::reserve`], which leaves the table as it was if there is
//! none; after it [`OpenTable::insert_within_capacity`] cannot fail.
//!
//! Hashes depend on a seed. If user space does not know it, nobody can choose keys that collide.
//!
//! The table has no lock; it is for the data inside of one.

use core::num::NonZeroU16;
use kernel::prelude::*;

/// Slots of the smallest table that has any.
const MIN_SLOTS: usize = 8;

/// What entries are found by: a number.
///
/// With keys or values that are never zero a slot has the size of an entry.
pub(crate) trait Key: Copy + Eq {
    /// The number.
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

/// An entry.
#[derive(Clone)]
struct Entry<K, V> {
    key: K,
    value: V,
}

// Every file has a slot for each of its events.
static_assert!(size_of::<Option<Entry<NonZeroU16, u16>>>() == 4);

/// A hash table from numbers to `V`.
///
/// # Invariants
///
/// - `slots` has no elements, or a power of two of them that is at least [`MIN_SLOTS`].
/// - `len` slots are in use, at most three quarters of all.
/// - From the home slot of an entry to its own all slots are in use.
pub(crate) struct OpenTable<K, V> {
    slots: KVVec<Option<Entry<K, V>>>,
    len: usize,
    seed: u64,
}

impl<K: Key, V> OpenTable<K, V> {
    /// An empty table, without memory.
    pub(crate) const fn with_seed(seed: u64) -> Self {
        // INVARIANT: No slots, no entries.
        Self {
            slots: KVVec::new(),
            len: 0,
            seed,
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Number of entries that there can be without more memory.
    pub(crate) fn capacity(&self) -> usize {
        limit(self.slots.len())
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let at = self.find(key)?;

        Some(&self.slots.get(at)?.as_ref()?.value)
    }

    /// Whether there is an entry of `key`.
    pub(crate) fn contains(&self, key: K) -> bool {
        self.find(key).is_some()
    }

    /// All entries, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.slots.iter().flatten().map(|e| (e.key, &e.value))
    }

    /// Makes room for `additional` more entries.
    ///
    /// The room at least doubles when it grows, so the cost of growing is a constant for each
    /// entry. The table is not changed on failure.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn reserve(&mut self, additional: usize) -> Result {
        let needed = self.len.checked_add(additional).ok_or(ENOMEM)?;

        if needed <= self.capacity() {
            return Ok(());
        }

        let mut slots = MIN_SLOTS;
        while limit(slots) < needed {
            slots = slots.checked_mul(2).ok_or(ENOMEM)?;
        }

        // INVARIANT: `slots` is a power of two and none is in use.
        let mut grown = Self {
            slots: empty_slots(slots)?,
            len: 0,
            seed: self.seed,
        };

        for slot in self.slots.iter_mut() {
            if let Some(entry) = slot.take() {
                // All keys differ and `grown` has room for more than there are.
                grown.insert_within_capacity(entry.key, entry.value);
            }
        }

        *self = grown;
        Ok(())
    }

    /// Adds an entry, or replaces the value of the one that `key` has. There has to be room for it,
    /// see [`OpenTable::reserve`].
    ///
    /// Returns the value that is not in the table now: that of the older entry. Without room it
    /// would be `value` itself.
    pub(crate) fn insert_within_capacity(&mut self, key: K, value: V) -> Option<V> {
        let has_room = self.len < self.capacity();
        let at = self.search(key);

        match at.and_then(|at| self.slots.get_mut(at)) {
            Some(Some(entry)) => Some(core::mem::replace(&mut entry.value, value)),
            Some(slot @ None) if has_room => {
                // INVARIANT: All slots from the home of the key to this one are in use, and at most
                // three quarters of all now.
                *slot = Some(Entry { key, value });
                self.len = self.len.saturating_add(1);
                None
            }
            _ => Some(value),
        }
    }

    /// Removes the entry of `key` and returns its value.
    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let mut hole = self.find(key)?;
        let entry = self.slots.get_mut(hole)?.take()?;
        let mask = self.mask();
        let mut at = hole;

        self.len = self.len.saturating_sub(1);

        // INVARIANT: An entry behind the hole moves into it unless its home is behind the hole, so
        // that no entry has a free slot between its home and itself. There is a free slot, the hole
        // at least, so this ends within one round.
        for _ in 0..self.slots.len() {
            at = at.wrapping_add(1) & mask;

            let Some(Some(next)) = self.slots.get(at) else {
                break;
            };
            let home = self.home(next.key);

            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                let moved = self.slots.get_mut(at).and_then(Option::take);

                if let Some(slot) = self.slots.get_mut(hole) {
                    *slot = moved;
                }
                hole = at;
            }
        }

        Some(entry.value)
    }

    /// A copy with the same entries and the same room.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn try_clone(&self) -> Result<Self>
    where
        V: Clone,
    {
        let mut slots = KVVec::with_capacity(self.slots.len(), GFP_KERNEL_ACCOUNT)?;

        for slot in self.slots.iter() {
            slots.push_within_capacity(slot.clone())?;
        }

        // INVARIANT: The same entries in the same slots.
        Ok(Self {
            slots,
            len: self.len,
            seed: self.seed,
        })
    }

    /// Index mask; 0 without slots.
    fn mask(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// The slot that the search for `key` starts at.
    fn home(&self, key: K) -> usize {
        // CAST: Only the low bits are of interest, as many as the mask has.
        mix(key.bits(), self.seed) as usize & self.mask()
    }

    /// The slot of `key`, if it has one.
    fn find(&self, key: K) -> Option<usize> {
        let at = self.search(key)?;

        self.slots.get(at)?.as_ref()?;
        Some(at)
    }

    /// The slot that the search for `key` ends at: that of its entry, or a free one, behind which
    /// by the invariant the entry is not.
    fn search(&self, key: K) -> Option<usize> {
        let mask = self.mask();
        let mut at = self.home(key);

        for _ in 0..self.slots.len() {
            match self.slots.get(at)? {
                Some(entry) if entry.key != key => at = at.wrapping_add(1) & mask,
                _ => return Some(at),
            }
        }

        None
    }
}

/// Number of entries that so many slots may hold: three quarters of them.
const fn limit(slots: usize) -> usize {
    slots.saturating_sub(slots / 4)
}

/// So many free slots.
fn empty_slots<T>(count: usize) -> Result<KVVec<Option<T>>> {
    let mut slots = KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT)?;

    for _ in 0..count {
        slots.push_within_capacity(None)?;
    }

    Ok(slots)
}

/// Spreads a key over 64 bits: each bit of the result depends on each bit of the key and the seed.
const fn mix(key: u64, seed: u64) -> u64 {
    const A: u64 = 0xff51_afd7_ed55_8ccd;
    const B: u64 = 0xc4ce_b9fe_1a85_ec53;

    let x = key ^ seed;
    let x = (x ^ (x >> 33)).wrapping_mul(A);
    let x = (x ^ (x >> 33)).wrapping_mul(B ^ (seed << 1));

    x ^ (x >> 33)
}
