// SPDX-License-Identifier: GPL-2.0

//! The hash of keys.
//!
//! Keys come from user space, so the hash depends on two secret numbers of each map: without them
//! one cannot predict which keys collide. Words are mixed by multiplication to 128 bits, the halves
//! of which are combined.
//!
//! This is the multiply-and-fold of wyhash, not a cryptographic hash: it only has to make
//! collisions unpredictable.

/// The secrets of a map.
pub(super) struct Seed {
    start: u64,
    /// Odd, so that no bit of a word gets lost.
    factor: u64,
}

impl Seed {
    pub(super) fn new() -> Self {
        Self::from_numbers(kernel::random::get_u64(), kernel::random::get_u64())
    }

    pub(super) fn from_numbers(start: u64, factor: u64) -> Self {
        Self {
            start,
            factor: factor | 1,
        }
    }

    /// The hash of a key of one word: the same as [`Seed::hash`] gives.
    #[inline]
    pub(super) fn hash_word(&self, word: u64) -> u64 {
        mix(self.start ^ word, self.factor)
    }

    /// The hash of a key.
    #[inline]
    pub(super) fn hash(&self, words: &[u64]) -> u64 {
        let mut hash = self.start;
        let mut rest = words;

        while let [first, second, others @ ..] = rest {
            // The sum cannot be chosen such that a factor is zero: `hash` is not known.
            hash = mix(
                hash ^ first,
                self.factor.wrapping_add(*second) ^ hash.rotate_left(32),
            );
            rest = others;
        }
        match rest.first() {
            Some(last) => mix(hash ^ last, self.factor),
            None => hash,
        }
    }
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));

    // CAST: The two halves.
    (product as u64) ^ ((product >> 64) as u64)
}
