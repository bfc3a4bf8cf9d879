// SPDX-License-Identifier: GPL-2.0

//! The key of a hit.
//!
//! The reasons for what is inlined and what is not are those of [`hit`](super).

use super::{
    blob::{
        copy_stack,
        dynamic_field,
        string,
        string_start, //
    },
    eval::{
        Eval,
        HitContext, //
    },
};
use crate::{
    limits::STACK_DEPTH,
    program::{
        op::KeyPart,
        KeyKind,
        KeyPlace,
        Program, //
    },
    scratch::Blobs, //
};

/// Computes the key, and writes every word of it.
#[inline(always)]
pub(crate) fn build<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    key: &mut [u64],
    blobs: &mut Blobs<'_>,
) {
    // Mostly that is all.
    if let ([KeyPart::Number { value, .. }], [word]) = (program.key_parts.as_slice(), &mut *key) {
        *word = eval.value(value, &[]);
        return;
    }
    for part in &program.key_parts {
        if let KeyPart::Number { word, value } = part {
            debug_assert!((*word as usize) < key.len());
            if let Some(word) = key.get_mut(*word as usize) {
                *word = eval.value(value, &[]);
            }
        } else {
            build_blob(part, eval, key, &blobs.lend());
        }
    }
}

/// Computes a key that ends with a string, but does not write the zeroes after that. Returns the
/// number of words that were written.
///
/// Only for [`HitPath::LargeOpen`](crate::program::HitPath::LargeOpen).
#[inline(never)]
pub(crate) fn build_open<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    key: &mut [u64],
    blobs: &Blobs<'_>,
) -> usize {
    let Some((KeyPart::String { word, blob, .. }, others)) = program.key_parts.split_last() else {
        return 0;
    };
    let start = *word as usize;

    for part in others {
        if let KeyPart::Number { word, value } = part {
            debug_assert!((*word as usize) < key.len());
            if let Some(word) = key.get_mut(*word as usize) {
                *word = eval.value(value, &[]);
            }
        } else {
            build_blob(part, eval, key, blobs);
        }
    }
    key.get_mut(start..)
        .map_or(0, |to| start.wrapping_add(string_start(*blob, eval, to)))
}

/// Computes a part of the key that is not a number.
#[inline(never)]
fn build_blob<M: HitContext>(
    part: &KeyPart,
    eval: &Eval<'_, M>,
    key: &mut [u64],
    blobs: &Blobs<'_>,
) {
    match *part {
        KeyPart::Number { .. } | KeyPart::Saved => (),
        KeyPart::String { word, words, blob } => {
            let start = word as usize;
            let end = start.wrapping_add(words as usize);

            if let Some(to) = key.get_mut(start..end) {
                string(blob, eval, to);
            }
        }
        KeyPart::Stack { word, scratch } => {
            if let (Some(to), Some([_, from @ ..])) = (stack_at(key, word), blobs.get(scratch)) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from;
                }
            }
        }
        KeyPart::Recorded { word, offset } => {
            if let Some(to) = stack_at(key, word) {
                copy_stack(to, dynamic_field(eval.record(), offset));
            }
        }
    }
}

fn stack_at(key: &mut [u64], word: u32) -> Option<&mut [u64; STACK_DEPTH]> {
    key.get_mut(word as usize..)?.first_chunk_mut()
}

/// Writes a key in the layout of a histogram whose strings have other sizes.
///
/// `from` says where the keys are in `key`, `to` where they shall be in `other`. Returns the whole
/// key, or `None` if a string does not fit: then the other histogram cannot have it. A string may
/// be without a NUL, as in an array that is full. One of varying length has a NUL, so it is not
/// equal.
pub(crate) fn convert<'a>(
    key: &[u64],
    from: &[KeyPlace],
    to: &[KeyPlace],
    other: &'a mut [u64],
) -> Option<&'a [u64]> {
    let mut len = 0usize;

    for (from, to) in from.iter().zip(to) {
        let key = key.get(from.word..from.word.wrapping_add(from.words))?;
        let end = to.word.wrapping_add(to.words);
        let other = other.get_mut(to.word..end)?;

        for (i, word) in other.iter_mut().enumerate() {
            *word = key.get(i).copied().unwrap_or(0);
        }
        if to.kind == KeyKind::String {
            let cut = key.get(other.len()..).unwrap_or(&[]);

            if cut.iter().any(|word| *word != 0) {
                return None;
            }
        }
        len = end;
    }
    other.get(..len)
}
