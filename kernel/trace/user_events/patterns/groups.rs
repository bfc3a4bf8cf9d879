// SPDX-License-Identifier: GPL-2.0

//! Values in groups.
//!
//! The lines of all instances are in one of these, the lines of an instance in a group. Each event
//! that is created, or loses its last user, has those of each instance looked at: with a pass over
//! all lines for each instance that would take the square of the number of instances.

use core::ops::Range;
use kernel::prelude::*;

/// Values with keys. The values of one key are in the order in which they were added.
///
/// # Invariants
///
/// The keys ascend.
pub(crate) struct Groups<K, V>(KVVec<(K, V)>);

impl<K: Ord + Copy, V> Groups<K, V> {
    /// Returns no values.
    pub(crate) const fn new() -> Self {
        // INVARIANT: No key exists.
        Self(KVVec::new())
    }

    /// Returns the number of all values.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns all values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the values of a key. Takes time for the logarithm of the number of all values.
    pub(crate) fn of(&self, key: K) -> impl Iterator<Item = &V> {
        let group = self.0.get(self.range(key)).unwrap_or_default();

        group.iter().map(|(_, value)| value)
    }

    /// Adds a value to those of its key.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add(&mut self, key: K, value: V) -> Result {
        let at = self.range(key).end;

        self.0.reserve(1, GFP_KERNEL)?;
        // INVARIANT: The keys before are not larger, and those after it are.
        Ok(self.0.insert_within_capacity(at, (key, value))?)
    }

    /// Removes the first value of a key for which `pred` is true.
    pub(crate) fn remove(&mut self, key: K, pred: impl FnMut(&V) -> bool) -> Option<V> {
        let at = self.range(key).start + self.of(key).position(pred)?;

        // INVARIANT: The order of the others stays.
        self.0.remove(at).ok().map(|(_, value)| value)
    }

    /// Returns the places of the values of a key.
    fn range(&self, key: K) -> Range<usize> {
        let start = self.0.partition_point(|(other, _)| *other < key);
        let end = self.0.partition_point(|(other, _)| *other <= key);

        start..end
    }
}
