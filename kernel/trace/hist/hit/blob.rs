// SPDX-License-Identifier: GPL-2.0

//! Blobs, which are strings and stacks: finding them in records, copying them.
//!
//! Nothing that a record says about itself is trusted: the location and length of a string and the
//! number of addresses of a stack are limited to the bytes of the record.

use super::eval::{
    bytes_at,
    Eval,
    HitContext, //
};
use crate::{
    limits::{
        COMM_LEN,
        COMM_WORDS,
        STACK_DEPTH,
        STRING_WORDS,
        WORD, //
    },
    map::{
        cut,
        put_string, //
    },
    program::op::BlobOrigin, //
};
use core::slice;

/// Returns the bytes from `at` on, at most `len`.
fn part(record: &[u8], at: usize, len: usize) -> &[u8] {
    let rest = record.get(at..).unwrap_or(&[]);

    rest.get(..len).unwrap_or(rest)
}

/// Returns a field of a fixed size.
#[inline]
pub(crate) fn static_field(record: &[u8], offset: u32, size: u32) -> &[u8] {
    part(record, offset as usize, size as usize)
}

/// Returns a field of varying size, whose word at `offset` has its place in the lower half and its
/// size in the upper one.
#[inline]
pub(crate) fn dynamic_field(record: &[u8], offset: u32) -> &[u8] {
    let word = u32::from_ne_bytes(bytes_at(record, offset));

    part(record, (word & 0xffff) as usize, (word >> 16) as usize)
}

/// Returns a field of varying size as [`dynamic_field`] does, with the place counted from the end
/// of the word.
#[inline]
pub(crate) fn relative_field(record: &[u8], offset: u32) -> &[u8] {
    let word = u32::from_ne_bytes(bytes_at(record, offset));
    let end = (offset as usize).wrapping_add(size_of::<u32>());

    part(
        record,
        end.wrapping_add((word & 0xffff) as usize),
        (word >> 16) as usize,
    )
}

/// Copies a string up to its NUL or its end to words, and fills the rest with zeros. The copy
/// always ends with a NUL.
#[inline]
pub(crate) fn copy_string(to: &mut [u64], from: &[u8]) {
    let limit = to.len().wrapping_mul(WORD).saturating_sub(1);

    start_string(to, from, limit).for_each(|word| *word = 0);
}

/// Copies a string as [`copy_string`] does, but without a NUL if the string fills the words.
#[inline]
pub(crate) fn copy_array(to: &mut [u64], from: &[u8]) {
    let limit = to.len().wrapping_mul(WORD);

    start_string(to, from, limit).for_each(|word| *word = 0);
}

/// Copies a string as [`copy_string`] does, but leaves the words after that of its NUL as they
/// are, except for the last one. The result is a blob as defined by [`BlobOrigin`].
#[inline]
pub(crate) fn copy_blob(to: &mut [u64; STRING_WORDS], from: &[u8]) {
    let limit = to.len().wrapping_mul(WORD).saturating_sub(1);

    if let Some(last) = start_string(to, from, limit).last() {
        *last = 0;
    }
}

/// Copies `limit` bytes of a string at most, up to its NUL or its end, to words, and returns the
/// remaining words.
#[inline]
fn start_string<'w>(to: &'w mut [u64], from: &[u8], limit: usize) -> slice::IterMut<'w, u64> {
    let mut to = to.iter_mut();

    put_string(&mut to, from.get(..limit).unwrap_or(from), |word, bytes| {
        *word = bytes
    });
    to
}

/// Returns the name of a task as [`copy_string`] would copy it to two words.
#[inline]
pub(crate) fn comm_words(comm: &[u8; COMM_LEN]) -> [u64; COMM_WORDS] {
    let (first, ended) = cut(comm.first_chunk().copied().unwrap_or([0; WORD]));
    let mut rest = comm.last_chunk().copied().unwrap_or([0; WORD]);

    rest[WORD - 1] = 0;
    [first, if ended { 0 } else { cut(rest).0 }]
}

/// Returns the addresses of a recorded stack, which is their number and then the addresses, all of
/// the size of a pointer. They are as many as a stack can have at most, and end before one that is
/// 0.
pub(crate) fn recorded_stack(stack: &[u8]) -> impl Iterator<Item = u64> + '_ {
    const SIZE: usize = size_of::<usize>();

    let mut words = stack
        .chunks_exact(SIZE)
        .map(|chunk| usize::from_ne_bytes(chunk.first_chunk().copied().unwrap_or([0; SIZE])));
    let count = words.next().unwrap_or(0).min(STACK_DEPTH);

    words
        .take(count)
        .take_while(|address| *address != 0)
        // CAST: An address has at most 64 bits.
        .map(|address| address as u64)
}

/// Copies the addresses of a recorded stack, fills the rest of `to` with zeros, and returns the
/// number of addresses.
pub(crate) fn copy_stack(to: &mut [u64], stack: &[u8]) -> usize {
    let mut addresses = recorded_stack(stack);
    let mut n = 0usize;

    for word in to.iter_mut() {
        *word = addresses.next().unwrap_or(0);
        if *word != 0 {
            n = n.wrapping_add(1);
        }
    }
    n
}

/// Any number: what the hash of a blob begins with.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// 2^64 divided by the golden ratio.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a number that represents the words of a blob, to detect changes. It is never 0.
///
/// Two blobs with the same number are taken for equal.
pub(crate) fn number_of(words: &[u64]) -> u64 {
    let hash = words.iter().fold(HASH_START, |hash, word| {
        (hash ^ word).wrapping_mul(GOLDEN_RATIO).rotate_left(29)
    });

    hash | 1
}

/// Returns the words of a string up to that of its NUL.
pub(crate) fn string_words(string: &[u64]) -> &[u64] {
    let end = string.iter().position(|word| cut(word.to_ne_bytes()).1);

    end.and_then(|end| string.get(..=end)).unwrap_or(string)
}

/// Cuts a stack in the scratch memory to the size that fits in a synthetic event: C copies as many
/// words as a stack has addresses at most, the first of which is their number.
pub(crate) fn cut_for_event(stack: &mut [u64; STRING_WORDS]) {
    let [count, ..] = stack;

    // CAST: It is small.
    *count = (*count).min(STACK_DEPTH as u64 - 1);
}

/// Returns the addresses of a stack in the scratch memory.
pub(crate) fn addresses(stack: &[u64; STRING_WORDS]) -> impl Iterator<Item = u64> + '_ {
    let [count, words @ ..] = stack;

    // CAST: It is small.
    words
        .iter()
        .copied()
        .take((*count as usize).min(STACK_DEPTH))
}

/// Writes a string that is a field of the record or the name of the current task, and fills the
/// rest with zeros.
#[inline]
pub(crate) fn string<M: HitContext>(origin: BlobOrigin, eval: &Eval<'_, M>, to: &mut [u64]) {
    if origin == BlobOrigin::Comm {
        let words = comm_words(&eval.context().comm());

        for (i, to) in to.iter_mut().enumerate() {
            *to = words.get(i).copied().unwrap_or(0);
        }
    } else {
        let from = field(origin, eval.record());

        if matches!(origin, BlobOrigin::Static { .. }) {
            copy_array(to, from);
        } else {
            copy_string(to, from);
        }
    }
}

/// Writes a string that is a field of the record, and returns the number of words that it takes:
/// the rest stays as it was.
#[inline]
pub(crate) fn string_start<M: HitContext>(
    origin: BlobOrigin,
    eval: &Eval<'_, M>,
    to: &mut [u64],
) -> usize {
    let words = to.len();
    let size = words.wrapping_mul(WORD);
    let limit = if matches!(origin, BlobOrigin::Static { .. }) {
        size
    } else {
        size.saturating_sub(1)
    };

    words.wrapping_sub(start_string(to, field(origin, eval.record()), limit).len())
}

/// Writes a string as [`string`] does, as a blob.
#[inline]
pub(crate) fn string_blob<M: HitContext>(
    origin: BlobOrigin,
    eval: &Eval<'_, M>,
    to: &mut [u64; STRING_WORDS],
) {
    if origin == BlobOrigin::Comm {
        set_comm(to, &eval.context().comm());
    } else {
        copy_blob(to, field(origin, eval.record()));
    }
}

/// Writes the name of a task as a blob.
#[inline]
pub(crate) fn set_comm(to: &mut [u64; STRING_WORDS], comm: &[u8; COMM_LEN]) {
    [to[0], to[1]] = comm_words(comm);
    to[STRING_WORDS - 1] = 0;
}

/// Returns the bytes of a string that is a field of the record.
#[inline]
pub(crate) fn field(origin: BlobOrigin, record: &[u8]) -> &[u8] {
    match origin {
        BlobOrigin::Static { offset, size } => static_field(record, offset, size),
        BlobOrigin::Dynamic { offset } => dynamic_field(record, offset),
        BlobOrigin::Relative { offset } => relative_field(record, offset),
        BlobOrigin::Comm
        | BlobOrigin::FirstComm
        | BlobOrigin::Recorded { .. }
        | BlobOrigin::Scratch(_) => &[],
    }
}
