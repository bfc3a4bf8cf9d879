// SPDX-License-Identifier: GPL-2.0

//! Writing the records of a synthetic event, as C does.
//!
//! C looks at every byte of a string on its own, for which it takes precautions, as it may be the
//! address of anything; and it reserves a record in five functions. Where the values are known to
//! be good the record is written here.

use super::field::{
    fields,
    ValueKind,
    MAX_FIELDS,
    TEXT_WORDS, //
};
use crate::{
    bindings,
    prelude::*,
    trace::{
        base::ring_buffer::ReservationStorage,
        event_file::{
            EventFile,
            Listening, //
        },
    },
};
use core::ptr;

/// Bytes of a word of a record. A number takes one.
const WORD: usize = size_of::<u64>();

/// In place of the bits of a number that are not used: it is a string.
const STRING: u8 = u8::MAX;

/// The layout of the records of an event that has only numbers and strings of fixed size.
///
/// # Invariants
///
/// - `probe` is what writes a record of the event in an instance.
/// - `unused` has a number for each field of the event, and `STRING` for strings only.
pub(super) struct Records {
    probe: *mut c_void,
    /// Length of the payload.
    len: usize,
    unused: [u8; MAX_FIELDS],
}

impl Records {
    /// Returns the way to write records of the event, or `None` if one of its fields has no fixed
    /// length.
    ///
    /// # Safety
    ///
    /// `event` must be a registered event.
    pub(super) unsafe fn new(event: *const bindings::synth_event) -> Option<Self> {
        // SAFETY: By the safety requirements, the event is registered. It has a class. None
        // of this changes. CAST: The number is small.
        let (probe, n_words, fields) = unsafe {
            (
                (*(*event).call.class).probe,
                (*event).n_u64 as usize,
                fields(event),
            )
        };
        let mut unused = [0; MAX_FIELDS];

        for (unused, field) in unused.iter_mut().zip(fields) {
            *unused = match (field.kind(), field.size()) {
                _ if field.is_dynamic() => return None,
                (ValueKind::Stack, _) => return None,
                (ValueKind::String, _) => STRING,
                (ValueKind::Number, 1) => 56,
                (ValueKind::Number, 2) => 48,
                (ValueKind::Number, 4) => 32,
                (ValueKind::Number, _) => 0,
            };
        }
        // INVARIANT: C has set the probe of the class; the rest was just done.
        Some(Self {
            probe,
            len: n_words.checked_mul(WORD)?,
            unused,
        })
    }

    /// Returns `true` if these records are written by `probe`.
    #[inline(always)]
    pub(super) fn are_made_by(&self, probe: *mut c_void) -> bool {
        self.probe == probe
    }

    /// Writes a record in an instance, if one is wanted there.
    ///
    /// Not inlined: the stack that is saved with a record leaves this function out, as that in C.
    ///
    /// # Safety
    ///
    /// `file` must be one of the event. `words` must have a word for each field: a number, or the
    /// address of [`TEXT_WORDS`] words, which do not change, for a string. Preemption must be
    /// disabled.
    #[inline(never)]
    pub(super) unsafe fn write(&self, file: EventFile<Listening<'_>>, words: &[u64]) {
        if !file.wants_record() {
            return;
        }
        let _nested = file.nest();
        let mut slot = ReservationStorage::new();

        // SAFETY: Preemption is disabled.
        let Some(mut room) = (unsafe { file.reserve_unguarded(self.len, &mut slot) }) else {
            return;
        };

        // SAFETY: `words` has a word for each field, and the address of `TEXT_WORDS` words for each
        // string, by the requirements of this function, which are the same.
        if unsafe { self.fill(room.payload_mut(), words) }.is_some() {
            room.commit();
        }
    }

    /// Writes the fields. Returns `None` if they do not fit, which the invariant excludes.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(always)]
    unsafe fn fill(&self, mut room: &mut [u8], words: &[u64]) -> Option<()> {
        for (word, unused) in words.iter().zip(&self.unused) {
            if *unused == STRING {
                let (to, rest) = room.split_at_mut_checked(TEXT_WORDS * WORD)?;
                // CAST: It is an address.
                let text = ptr::with_exposed_provenance::<[u64; TEXT_WORDS]>(*word as usize);

                // SAFETY: By the type invariant the field is a string; by the safety requirements,
                // this is its address then.
                copy_string(to, unsafe { &*text });
                room = rest;
            } else {
                let (to, rest) = room.split_first_chunk_mut()?;

                *to = number(*word, *unused).to_ne_bytes();
                room = rest;
            }
        }
        Some(())
    }
}

/// Clears the unused bits of a word that begins with a number.
#[inline(always)]
fn number(n: u64, unused: u8) -> u64 {
    let high = n.wrapping_shl(u32::from(unused));

    if cfg!(target_endian = "big") {
        high
    } else {
        high.wrapping_shr(u32::from(unused))
    }
}

/// Copies a string up to its NUL.
#[inline(always)]
fn copy_string(to: &mut [u8], from: &[u64; TEXT_WORDS]) {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;

    for (to, from) in to.chunks_exact_mut(WORD).zip(from) {
        // The first byte is the lowest.
        let word = from.to_le();
        // The highest bit of every byte that is zero; those above the first one may be wrong.
        let zeros = word.wrapping_sub(ONES) & !word & HIGH;
        let lowest = zeros & zeros.wrapping_neg();
        // All bits below it; all bits if no byte is zero.
        let word = word & lowest.wrapping_sub(1);

        to.copy_from_slice(&word.to_le_bytes());
        if zeros != 0 {
            return;
        }
    }
}

#[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
#[macros::kunit_tests(rust_kernel_trace_synth_bytes)]
mod tests {
    use super::*;

    /// Returns the copy of a string of `text` and further bytes after its NUL, in a buffer full of
    /// ones.
    fn copied(text: &[u8]) -> [u8; 24] {
        let mut words = [u64::from_ne_bytes([7; 8]); TEXT_WORDS];
        let mut to = [1; 24];

        for (word, bytes) in words.iter_mut().zip(text.chunks_exact(WORD)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        copy_string(&mut to, &words);
        to
    }

    #[test]
    fn strings_end_with_their_nul() {
        let ended = copied(b"name of \x80\0 task!");

        assert_eq!(&ended[..16], b"name of \x80\0\0\0\0\0\0\0");
        assert_eq!(&ended[16..], [1; 8]);
        assert_eq!(&copied(b"\0ame of ")[..9], b"\0\0\0\0\0\0\0\0\x01");
        assert_eq!(&copied(b"seven..\0eight..\0")[..9], b"seven..\0\x01");
        // Without an end: Without an end: up to the size of the buffer.
        assert_eq!(copied(b"sixteen bytes...")[..16], *b"sixteen bytes...");
        assert_eq!(copied(b"sixteen bytes...")[16..], [7; 8]);
    }

    #[test]
    fn numbers_are_cut() {
        let n = -2i64 as u64;

        assert_eq!(number(n, 0).to_ne_bytes(), n.to_ne_bytes());
        assert_eq!(number(n, 32).to_ne_bytes()[..4], (-2i32).to_ne_bytes());
        assert_eq!(number(n, 48).to_ne_bytes()[..2], (-2i16).to_ne_bytes());
        assert_eq!(number(n, 56).to_ne_bytes()[..1], (-2i8).to_ne_bytes());
        assert_eq!(number(n, 56).to_ne_bytes()[1..], [0; 7]);
    }
}
