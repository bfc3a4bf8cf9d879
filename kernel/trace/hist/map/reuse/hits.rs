// SPDX-License-Identifier: GPL-2.0

//! A map with [`Reuse`]: creating it, its hits, looking up, and its counters.
//!
//! A hit and a look-up take no lock and never wait, so they can be in any context.

use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    super::{
        check_bits,
        element::{
            Comm,
            Element,
            ElementLayout,
            Layout, //
        },
        snapshot,
        table::Seed,
        vars::Writer,
        words::VarSet,
        Map, //
    },
    Live,
    Reuse,
    Searched, //
};

impl Map {
    /// Creates a map of `2^bits` elements that can be reused.
    pub(crate) fn with_reuse(bits: u32, layout: Layout) -> Result<Self> {
        check_bits(bits)?;
        Self::with_hash(
            bits,
            layout,
            Seed::new(),
            usize::MAX,
            Some(Reuse::new(bits.wrapping_add(1))?),
        )
    }

    /// Creates a map of elements that can be reused with the given hash, see [`Map::with_seed`].
    #[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
    pub(crate) fn with_reuse_and_seed(
        bits: u32,
        layout: Layout,
        start: u64,
        factor: u64,
    ) -> Result<Self> {
        let seed = Seed::from_numbers(start, factor);

        Self::with_hash(
            bits,
            layout,
            seed,
            usize::MAX,
            Some(Reuse::new(bits.wrapping_add(1))?),
        )
    }

    /// Returns `true` if elements can be reused.
    #[inline]
    pub(crate) fn reuses(&self) -> bool {
        self.reuse.is_some()
    }

    /// Returns the number of keys that have lost their element, and of those that had a variable
    /// which was still to be taken.
    pub(crate) fn reused(&self) -> Option<(u64, u64)> {
        let reuse = self.reuse.as_deref()?;

        Some((reuse.reused.sum(), reuse.lost.sum()))
    }

    /// Counts a variable that was taken for a hit which could not be handled then. Returns `false`
    /// if elements cannot be reused, as such maps do not count that.
    pub(crate) fn count_lost(&self) -> bool {
        match &self.reuse {
            Some(reuse) => {
                reuse.lost.add(1);
                true
            }
            None => false,
        }
    }

    /// Sets the variables that other histograms take. Only elements in which one of them is set
    /// are kept.
    pub(crate) fn keep_for(&self, once: VarSet) {
        if let Some(reuse) = &self.reuse {
            reuse.awaited.store(once.marks(), Relaxed);
        }
    }

    /// Finds or claims the element of a key, counts a hit in it, and calls `store` to store
    /// variables. `store` is passed no [`Writer`] if another hit of the key is writing to them or
    /// has just done so: storing nothing is then as if this hit had stored before.
    ///
    /// If no element exists, or it is taken away again and again, or the map is closed, this is
    /// `None` and counts a drop.
    #[inline(always)]
    pub(crate) fn hit_live(
        &self,
        key: &[u64],
        comm: impl Fn(&mut Comm),
        store: impl FnOnce(Element<'_>, Option<&mut Writer<'_>>),
    ) -> Option<Element<'_>> {
        let reuse = self.reuse.as_deref()?;
        let hash = self.seed.hash(key);

        if !reuse.accepts(key.len()) {
            self.reject();
            return None;
        }

        let at = reuse.buckets.of(hash);
        let bucket = reuse.buckets.load(at);
        let live = reuse.find(&self.elements, bucket, key);

        let locked = match live.map(Live::lock) {
            Some(Ok((element, vars))) if vars.is_some() || reuse.is_unchanged(at, bucket) => {
                Some((element, vars))
            }
            Some(_) => None,
            None => reuse
                .claim_at_once(&self.elements, key, Searched { at, bucket }, &comm)
                .and_then(|words| {
                    let element = self.elements.with(words);

                    Some((element, Some(element.writer_again()?)))
                }),
        };
        let (element, mut vars) = match locked {
            Some(locked) => locked,
            None => {
                let kept = reuse.find_or_claim(&self.elements, key, at, &comm);

                match kept.and_then(|kept| kept.of(&self.elements)) {
                    Some(locked) => locked,
                    None => {
                        self.reject();
                        return None;
                    }
                }
            }
        };

        self.hits.add(1);
        element.count();
        store(element, vars.as_mut());
        Some(element)
    }

    /// Returns the element of a key. It may be reused for another one at any time, so readers of
    /// its variables have to [compare](Element::is_of) the key.
    #[inline(always)]
    pub(crate) fn lookup_live(&self, key: &[u64]) -> Option<Element<'_>> {
        let reuse = self.reuse.as_deref()?;

        if !reuse.accepts(key.len()) {
            return None;
        }
        let bucket = reuse.buckets.load(reuse.buckets.of(self.seed.hash(key)));

        reuse
            .find(&self.elements, bucket, key)
            .map(|live| live.element)
    }

    /// Copies an element that may be reused for another key at the same time. Returns `false` if
    /// it has no key.
    pub(in super::super) fn copy_live(
        &self,
        reuse: &Reuse,
        index: u32,
        element: Element<'_>,
        layout: &ElementLayout,
        copy: &mut [u64],
    ) -> bool {
        snapshot::copy_in_use(element, layout, copy)
            && copy
                .get(..layout.sums)
                .is_some_and(|key| reuse.buckets.has(self.seed.hash(key), index))
    }
}
