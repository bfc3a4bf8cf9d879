// SPDX-License-Identifier: GPL-2.0

//! The contents of words of an element: the lock, sets of variables as the lock has them, and
//! strings, all bytes of which are zeros from the first NUL on.
//!
//! These are values and functions without state, for any context: nothing here touches an element.
//! [`OwnLine`] is where words are that must not share a cache line with others.

use kernel::cpu::CpuId;

use crate::limits::{
    VARS_MAX,
    WORD, //
};

/// Words that new keys change, in cache lines of their own: each hit reads the pointers and sizes
/// next to them.
///
/// 64 bytes are a cache line of x86, arm64 and most others. With larger ones, words share a line
/// that need not.
#[repr(align(64))]
pub(super) struct OwnLine<T>(pub(super) T);

// Each variable has a mark.
kernel::static_assert!(VARS_MAX <= 16);

/// The contents of the word of the lock.
///
/// | Bits | |
/// | --- | --- |
/// | 63..32 | version, which each writer increments |
/// | 31..16 | marks of the variables that are set |
/// | 15..0 | CPU of the writer and a bit that is set, [`UNUSED`], or 0 |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockWord(pub(super) u64);

/// The increment of each writer.
pub(super) const VERSION: u64 = 1 << 32;

/// The position of the marks.
const MARKS: u32 = 16;

/// The owner of an element that has no key, in a map whose elements can be used again.
pub(super) const UNUSED: u16 = 1;

impl LockWord {
    /// Returns `true` if a variable is set.
    #[inline]
    pub(super) fn is_marked(self, var: usize) -> bool {
        self.0 & mark(var) != 0
    }

    /// Returns the number of writes.
    #[inline]
    pub(super) fn version(self) -> u32 {
        // CAST: The high bits.
        (self.0 >> 32) as u32
    }

    /// Returns `true` if a variable of the set `vars` is set.
    #[inline]
    pub(super) fn has_any(self, vars: VarSet) -> bool {
        self.0 & vars.0 != 0
    }

    /// Returns `true` if the element is being written to, or unused.
    #[inline]
    pub(super) fn is_locked(self) -> bool {
        self.owner() != 0
    }

    /// Returns the word without an owner.
    #[inline]
    pub(super) fn unlocked(self) -> Self {
        Self(self.0 ^ u64::from(self.owner()))
    }

    /// Returns the word after one more write.
    #[inline]
    pub(super) fn next(self) -> Self {
        Self(self.0.wrapping_add(VERSION))
    }

    #[inline]
    pub(super) fn owner(self) -> u16 {
        // CAST: The low bits.
        self.0 as u16
    }

    /// Returns the owner that identifies this CPU.
    ///
    /// If preemption is on, the task may move to another CPU. Then it may fail where it could have
    /// waited.
    #[inline]
    pub(super) fn this_cpu() -> u16 {
        // CAST: If a kernel had more CPUs than fit in, those with the same number would fail too
        // early.
        (CpuId::current().as_u32() as u16) | 1 << 15
    }
}

/// Returns the mark of a variable below [`VARS_MAX`].
#[inline]
pub(super) fn mark(var: usize) -> u64 {
    if var < VARS_MAX {
        // CAST: It is small.
        1u64.wrapping_shl(MARKS.wrapping_add(var as u32))
    } else {
        0
    }
}

/// A set of variables: their marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VarSet(u64);

impl VarSet {
    pub(crate) const NONE: Self = Self(0);

    /// Returns the set with a further variable.
    pub(crate) fn with(self, var: usize) -> Self {
        Self(self.0 | mark(var))
    }

    /// Returns the variables of both sets.
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the marks of these variables in the word of a lock.
    pub(super) fn marks(self) -> u64 {
        self.0
    }

    /// Returns the variables of marks.
    pub(super) fn from_marks(marks: u64) -> Self {
        Self(marks)
    }
}

/// Clears the bytes of a word of a string from the first NUL on. Returns the word, and `true` if a
/// NUL was found.
#[inline]
pub(crate) fn cut(bytes: [u8; WORD]) -> (u64, bool) {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;

    // The first byte is the lowest.
    let word = u64::from_le_bytes(bytes);
    // The highest bit of every byte that is zero; those above the first one may be wrong.
    let zeros = word.wrapping_sub(ONES) & !word & HIGH;

    if zeros == 0 {
        return (u64::from_le(word), false);
    }
    let lowest = zeros & zeros.wrapping_neg();

    (u64::from_le(word & (lowest >> 7).wrapping_sub(1)), true)
}

/// Writes the bytes of a string up to its NUL or its end to words, the last of which is filled up
/// with zeros.
#[inline]
pub(crate) fn put_string<W>(to: &mut impl Iterator<Item = W>, from: &[u8], put: impl Fn(W, u64)) {
    let chunks = from.chunks_exact(WORD);
    let rest = chunks.remainder();

    for (chunk, word) in chunks.zip(&mut *to) {
        let (text, ended) = cut(chunk.first_chunk().copied().unwrap_or([0; WORD]));

        put(word, text);
        if ended {
            return;
        }
    }
    if let Some(word) = to.next() {
        let mut bytes = [0; WORD];

        for (to, from) in bytes.iter_mut().zip(rest) {
            *to = *from;
        }
        put(word, cut(bytes).0);
    }
}
