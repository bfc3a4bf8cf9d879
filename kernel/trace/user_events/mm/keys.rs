// SPDX-License-Identifier: GPL-2.0

//! Short lists of words.

use kernel::prelude::*;

/// Maximum number of words that are listed for a work item. With more of them it writes all words.
const MAX_PENDING: usize = 64;

/// The keys of words, at most [`MAX_PENDING`].
pub(crate) struct Keys(KVVec<u64>);

impl Keys {
    /// Returns an empty list.
    pub(crate) const fn new() -> Self {
        Self(KVVec::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &u64> {
        self.0.iter()
    }

    /// Adds a key, without waiting for memory. Returns `false` if it does not fit.
    pub(crate) fn add(&mut self, key: u64) -> bool {
        self.0.contains(&key)
            || (self.0.len() < MAX_PENDING && self.0.push(key, GFP_NOWAIT).is_ok())
    }

    /// Removes the keys for which `pred` is false.
    pub(crate) fn retain(&mut self, mut pred: impl FnMut(u64) -> bool) {
        self.0.retain(|key| pred(*key));
    }
}
