// SPDX-License-Identifier: GPL-2.0

//! What an element consists of, and where in the element it is.

use kernel::prelude::*;

use super::{
    element::COMM_WORDS,
    keys, //
};

/// Most variables of an element: their marks share a word with the lock.
pub(crate) const VARS_MAX: usize = 16;

/// What an element has in place of a long key: its size, its place, and how much room there is.
pub(super) const LONG_KEY_WORDS: usize = 2;

/// Size of a string or a stack, in words.
pub(crate) const STRING_WORDS: usize = 32;

/// What an element consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Size of the key.
    pub(crate) key_words: usize,
    /// Number of sums, the hit count included.
    pub(crate) n_sums: usize,
    /// Number of variables, those whose value is a string included.
    pub(crate) n_vars: usize,
    /// Number of strings and stacks that variables have.
    pub(crate) string_slots: usize,
    /// The first of them that is shown: a copy of the map has this one and those behind it.
    pub(crate) first_shown: usize,
    /// The name of the task that had the first hit is kept.
    pub(crate) comm: bool,
}

/// Where the parts of an element are, in words.
///
/// In front there is the key, or what says where it is; what has no place of its own here comes in
/// this order.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) layout: Layout,
    /// Keys are elsewhere: see [`keys`].
    pub(super) long_keys: bool,
    pub(super) sums: usize,
    /// Where the lock of the variables is, if they have one.
    pub(super) lock: Option<usize>,
    pub(super) vars: usize,
    pub(super) strings: usize,
    pub(super) comm: usize,
    /// Size of an element.
    pub(super) words: usize,
}

impl Shape {
    /// `EINVAL` for what no element can have.
    pub(super) fn new(layout: Layout) -> Result<Self> {
        Self::with_keys(layout, keys::are_long(layout.key_words))
    }

    /// The shape of a copy: with the whole key in front, however long it is, and with those strings
    /// only that are shown.
    pub(super) fn of_copy(&self) -> Result<Self> {
        let Layout {
            string_slots,
            first_shown,
            ..
        } = self.layout;
        let layout = Layout {
            string_slots: string_slots.saturating_sub(first_shown),
            first_shown: 0,
            ..self.layout
        };

        Self::with_keys(layout, false)
    }

    fn with_keys(layout: Layout, long_keys: bool) -> Result<Self> {
        let Layout {
            key_words,
            n_sums,
            n_vars,
            string_slots,
            comm,
            ..
        } = layout;

        // The first word links elements that nobody uses.
        if key_words == 0 || n_vars > VARS_MAX {
            return Err(EINVAL);
        }

        let mut words = if long_keys { LONG_KEY_WORDS } else { key_words };
        let mut place = |n: usize| {
            let at = words;

            words = words.checked_add(n).ok_or(EINVAL)?;
            Ok::<usize, Error>(at)
        };
        let locked = n_vars > 0 || string_slots > 0;

        Ok(Self {
            layout,
            long_keys,
            sums: place(n_sums)?,
            lock: if locked { Some(place(1)?) } else { None },
            vars: place(n_vars)?,
            strings: place(string_slots.checked_mul(STRING_WORDS).ok_or(EINVAL)?)?,
            comm: place(if comm { COMM_WORDS } else { 0 })?,
            words,
        })
    }

    /// Where a string begins.
    #[inline]
    pub(super) fn string(&self, slot: usize) -> Option<usize> {
        if slot >= self.layout.string_slots {
            return None;
        }
        Some(self.strings.wrapping_add(slot.wrapping_mul(STRING_WORDS)))
    }

    /// Where a variable is.
    #[inline]
    pub(super) fn var(&self, var: usize) -> Option<usize> {
        (var < self.layout.n_vars).then_some(self.vars.wrapping_add(var))
    }

    /// Where a sum is.
    #[inline]
    pub(super) fn sum(&self, sum: usize) -> Option<usize> {
        (sum < self.layout.n_sums).then_some(self.sums.wrapping_add(sum))
    }
}
