// SPDX-License-Identifier: GPL-2.0

//! Hit counts with a part for each CPU.
//!
//! In a map that only counts, CPUs that hit the same key would wait for each other's cache line. So
//! most hits are counted in an array of the CPU that they are on, with the index of the element.
//! The word of the hit count in the element is added to that: it has the first hit of a key, and
//! is lowered by what was [taken](super::Map::take), as only the CPU itself can change its part.

use kernel::{
    percpu::Counters,
    sync::atomic::Relaxed, //
};

use super::element::Element;

/// The parts of the hit counts of all elements.
pub(super) struct Spread {
    counts: Counters,
}

impl Spread {
    /// Allocates the parts of `count` hit counts. `None` if they are too many, or if there is no
    /// memory for them: without them hits are counted in the elements.
    pub(super) fn new(count: u32) -> Option<Self> {
        // CAST: A `usize` has 32 bits at least.
        let counts = Counters::new(count as usize).ok()?;

        Some(Self { counts })
    }

    /// Size in bytes.
    pub(super) fn size(&self) -> usize {
        self.counts.size()
    }

    /// Counts a hit of an element. No memory barrier.
    #[inline(always)]
    pub(super) fn count(&self, index: u32) {
        // CAST: As above.
        self.counts.add(index as usize, 1);
    }

    /// Adds the parts of an element to the copy of its hit count; if it is `taken`, has them left
    /// out of later copies.
    pub(super) fn add_to(&self, copy: &mut u64, index: u32, element: Element<'_>, taken: bool) {
        // CAST: As above.
        let count = self.counts.sum(index as usize);

        *copy = copy.wrapping_add(count);
        if let (true, Some((hits, _))) = (taken, element.sums()) {
            hits.add(0u64.wrapping_sub(count), Relaxed);
        }
    }

    /// Sets all parts to 0. No hit may be counted meanwhile.
    pub(super) fn wipe(&self) {
        self.counts.reset();
    }
}
