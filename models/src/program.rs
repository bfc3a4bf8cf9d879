// SPDX-License-Identifier: GPL-2.0

//! The part of programs that the condition of a snapshot needs.

pub(crate) mod op;

use crate::data::Spec;

/// As in the kernel: two strings and a number.
pub(crate) const KEY_WORDS_MAX: usize = 65;

pub(crate) struct Program;

impl Program {
    pub(crate) fn key_words(spec: &Spec) -> usize {
        spec.key_words
    }
}
