// SPDX-License-Identifier: GPL-2.0

//! The key of a hit.

use super::{
    eval::Eval,
    moment::Moment,
    pad::Texts,
    text::{
        self,
        comm_words,
        copy_stack,
        copy_string, //
    },
};
use crate::{
    program::{
        op::{
            KeyPart,
            Text, //
        },
        KeyKind,
        KeyPlace,
        Program, //
    },
    STACK_DEPTH,
};

/// Computes the key. Every word of it is written.
#[inline]
pub(crate) fn build<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    key: &mut [u64],
    texts: &Texts<'_>,
) {
    for part in &program.key_parts {
        match *part {
            KeyPart::Number { word, value } => {
                if let Some(word) = key.get_mut(word as usize) {
                    *word = eval.value(value, &[]);
                }
            }
            KeyPart::String { word, words, text } => {
                let start = word as usize;
                let end = start.wrapping_add(words as usize);

                if let Some(to) = key.get_mut(start..end) {
                    string(text, eval, to);
                }
            }
            KeyPart::Stack { word, scratch } => {
                if let (Some(to), Some([_, from @ ..])) = (stack_at(key, word), texts.get(scratch))
                {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = *from;
                    }
                }
            }
            KeyPart::Recorded { word, offset } => {
                if let Some(to) = stack_at(key, word) {
                    copy_stack(to, text::dynamic_field(eval.record(), offset));
                }
            }
        }
    }
}

fn stack_at(key: &mut [u64], word: u32) -> Option<&mut [u64; STACK_DEPTH]> {
    key.get_mut(word as usize..)?.first_chunk_mut()
}

/// Writes a string that is a field of the record or the name of the current task.
#[inline]
pub(crate) fn string<M: Moment>(text: Text, eval: &Eval<'_, M>, to: &mut [u64]) {
    let field = match text {
        Text::Static { offset, size } => text::static_field(eval.record(), offset, size),
        Text::Dynamic { offset } => text::dynamic_field(eval.record(), offset),
        Text::Relative { offset } => text::relative_field(eval.record(), offset),
        Text::Comm => {
            let words = comm_words(&eval.moment().comm());

            for (i, to) in to.iter_mut().enumerate() {
                *to = words.get(i).copied().unwrap_or(0);
            }
            return;
        }
        Text::FirstComm | Text::Recorded { .. } | Text::Scratch(_) => &[],
    };

    copy_string(to, field);
}

/// Writes a key as a histogram has it whose strings have other sizes.
///
/// `from` says where the keys are in `key`, `to` where they shall be in `other`. Returns the whole
/// key, or `None` if a string does not fit: then the other histogram cannot have it.
pub(crate) fn relay<'a>(
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
            let last = other.last().map_or(0, |word| word.to_ne_bytes()[7]);

            if last != 0 || cut.iter().any(|word| *word != 0) {
                return None;
            }
        }
        len = end;
    }
    other.get(..len)
}
