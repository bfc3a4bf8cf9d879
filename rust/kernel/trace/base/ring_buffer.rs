// SPDX-License-Identifier: GPL-2.0

//! Records in the buffer of a trace instance.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use crate::{
    bindings,
    trace::{
        raw,
        HEADER_SIZE, //
    },
};
use core::{
    mem::{
        ManuallyDrop,
        MaybeUninit, //
    },
    slice, //
};

/// Memory for what C keeps about a record that is being written.
pub struct ReservationStorage(MaybeUninit<bindings::trace_event_buffer>);

impl ReservationStorage {
    /// Creates a slot without a record.
    #[expect(clippy::new_without_default, reason = "its contents are undefined")]
    #[inline(always)]
    pub const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }
}

/// A record that is being written.
///
/// Its payload has the previous contents of the buffer; fill all of it before
/// [committing](Self::commit). Dropping it discards the record.
///
/// # Invariants
///
/// `buffer` is what `trace_event_buffer_reserve()` filled in, it has neither been committed nor
/// discarded, and its entry is a `struct trace_entry` at the start of `len` bytes that no other
/// code accesses. `len` is at least [`HEADER_SIZE`].
#[must_use = "the record is discarded if it is not committed"]
pub struct Reservation<'s> {
    // A reference, as moving the structure would copy it.
    buffer: &'s mut bindings::trace_event_buffer,
    len: usize,
}

impl<'s> Reservation<'s> {
    /// Reserves a record with room for `payload_len` bytes after the header.
    ///
    /// # Safety
    ///
    /// `file` must be valid, and preemption be disabled, during `'s`.
    #[inline(always)]
    pub(in crate::trace) unsafe fn new(
        file: *mut bindings::trace_event_file,
        payload_len: usize,
        slot: &'s mut ReservationStorage,
    ) -> Option<Self> {
        let len = payload_len.checked_add(HEADER_SIZE)?;

        // SAFETY: By the safety requirements, the file is valid and preemption is disabled.
        // C does not keep the pointer to the slot.
        let entry = unsafe { bindings::trace_event_reserve(slot.0.as_mut_ptr(), file, len) };

        // SAFETY: C has just returned this entry for the slot and `len` bytes.
        unsafe { Self::from_entry(entry, len, slot) }
    }

    /// Reserves a record of `len` bytes, with the header, in a probe.
    ///
    /// # Safety
    ///
    /// `file` must be valid, and preemption be disabled, during `'s`; `len` must be at least
    /// [`HEADER_SIZE`].
    #[inline(always)]
    pub(in crate::trace) unsafe fn new_in_probe(
        file: *mut bindings::trace_event_file,
        len: usize,
        slot: &'s mut ReservationStorage,
    ) -> Option<Self> {
        // SAFETY: By the safety requirements, the file is valid and preemption is disabled.
        let entry = unsafe { bindings::trace_event_buffer_reserve(slot.0.as_mut_ptr(), file, len) };

        // SAFETY: C has just returned this entry for the slot and `len` bytes.
        unsafe { Self::from_entry(entry, len, slot) }
    }

    /// Creates the reservation of a record of `len` bytes, or returns `None` if C has reserved
    /// none.
    ///
    /// # Safety
    ///
    /// `entry` must be what `trace_event_buffer_reserve()` has returned for `slot` and `len` bytes,
    /// which are no less than [`HEADER_SIZE`].
    #[inline(always)]
    unsafe fn from_entry(
        entry: *mut crate::ffi::c_void,
        len: usize,
        slot: &'s mut ReservationStorage,
    ) -> Option<Self> {
        if entry.is_null() {
            return None;
        }

        // INVARIANT: C has reserved `len` bytes at `entry`, which it has filled the header of, and
        // they are this writer's until it commits.
        Some(Self {
            // SAFETY: C has set every field as it has returned an entry.
            buffer: unsafe { slot.0.assume_init_mut() },
            len,
        })
    }

    /// Returns the payload, which follows the header.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant `len` bytes at the entry are ours alone, the header being
        // the first; the borrow of `self` keeps it so.
        unsafe {
            slice::from_raw_parts_mut(self.as_mut_ptr().add(HEADER_SIZE), self.len - HEADER_SIZE)
        }
    }

    /// Returns the record with its header, which field offsets count from.
    #[inline]
    pub fn record(&self) -> &[u8] {
        // SAFETY: By the type invariant no other code accesses the `len` bytes at the entry; the
        // borrow of `self` keeps them from being written to.
        unsafe { slice::from_raw_parts(self.buffer.entry.cast::<u8>(), self.len) }
    }

    /// Returns the start of the record.
    #[inline(always)]
    pub(in crate::trace) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.buffer.entry.cast()
    }

    /// Returns `true` if readers get the record, if its filter accepts it. Otherwise it is for
    /// triggers only.
    #[inline(always)]
    pub fn is_for_readers(&self) -> bool {
        // SAFETY: C has filled in the structure, and only reads it. By the safety requirements of
        // `new` its file is valid.
        !unsafe { bindings::trace_event_is_unread(self.buffer) }
    }

    /// Commits the record: filters and triggers see it, then readers.
    #[inline(always)]
    pub fn commit(self) {
        let mut this = ManuallyDrop::new(self);

        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded;
        // `this` is not used or dropped from here on.
        unsafe { bindings::trace_event_buffer_commit(&mut *this.buffer) };
    }
}

impl Drop for Reservation<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded.
        unsafe { raw::trace_event_discard(self.buffer) };
    }
}
