// SPDX-License-Identifier: GPL-2.0

//! What the condition of a snapshot needs of programs.

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
