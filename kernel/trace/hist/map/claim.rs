// SPDX-License-Identifier: GPL-2.0

//! Claiming an element for a new key, in a map without reuse.
//!
//! No lock is taken, and nothing is waited for: see [`Map`].

use kernel::sync::atomic::Atomic;

use super::{
    element::Comm,
    table::Slot,
    Map, //
};

impl Map {
    /// Claims an element as [`Map::claim`] does, for a key of one word.
    #[cold]
    #[inline(never)]
    pub(super) fn claim_u64(
        &self,
        key: u64,
        hash: u64,
        at: usize,
        comm: impl FnOnce(&mut Comm),
    ) -> Option<&[Atomic<u64>]> {
        self.claim(&[key], hash, at, comm)
    }

    /// Claims an element for a key whose search ended at the free slot `at`, and returns its words.
    #[cold]
    #[inline(never)]
    pub(super) fn claim(
        &self,
        key: &[u64],
        hash: u64,
        mut at: usize,
        comm: impl FnOnce(&mut Comm),
    ) -> Option<&[Atomic<u64>]> {
        let mut comm = Some(comm);
        let mut prepared = None;

        let words = loop {
            let slot = self.table.load(at);

            if !slot.is_free() {
                // Another CPU was faster, maybe with the same key.
                let other = slot
                    .index_if(hash)
                    .and_then(|i| self.elements.slab.element(i));

                match other {
                    Some(words) if self.elements.with(words).has_key(key) => break Some(words),
                    _ => at = self.table.after(at),
                }
                continue;
            }

            let (index, words) = match prepared {
                Some(element) => element,
                None => {
                    let Some(element) = self.elements.prepare(key, &mut comm) else {
                        break None;
                    };

                    prepared = Some(element);
                    element
                }
            };

            if self.table.publish(at, Slot::new(index, hash)) {
                prepared = None;
                break Some(words);
            }
        };

        if let Some((index, _)) = prepared {
            self.elements.slab.free(index);
        }
        match words {
            Some(_) => self.hits.add(1),
            None => self.drops.add(1),
        }
        words
    }
}
