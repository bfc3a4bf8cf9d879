// SPDX-License-Identifier: GPL-2.0

//! Strings in words: all bytes from the first NUL on are zeros.
//!
//! Functions without state, for any context.

use crate::limits::WORD;

/// Clears the bytes of a word of a string from the first NUL on. Returns `true` with the word if a
/// NUL was found.
#[inline]
pub(crate) fn cut(bytes: [u8; WORD]) -> (u64, bool) {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;

    // The first byte is the lowest.
    let word = u64::from_le_bytes(bytes);
    // The highest bit of every byte that is zero; above the first there may be wrong ones.
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
