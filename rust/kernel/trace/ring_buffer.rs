// SPDX-License-Identifier: GPL-2.0

//! Records in the buffer of a trace instance.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use super::{
    tracepoint::ReadGuard,
    HEADER_SIZE, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    mem::{
        self,
        MaybeUninit, //
    },
    slice, //
};

/// A record that is being written.
///
/// Its payload has whatever was in the buffer before; fill all of it before
/// [committing](Self::commit). Dropping it takes the record back.
///
/// # Invariants
///
/// `buffer` is what `trace_event_buffer_reserve()` filled in, it has neither been committed nor
/// discarded, and its entry is a `struct trace_entry` at the start of `len` bytes that nobody else
/// accesses. `len` is at least [`HEADER_SIZE`].
#[must_use = "the record is discarded if it is not committed"]
pub struct Reservation<'g> {
    buffer: bindings::trace_event_buffer,
    len: usize,
    _guard: PhantomData<&'g ReadGuard>,
}

impl<'g> Reservation<'g> {
    /// # Safety
    ///
    /// `file` must be valid during `'g`.
    #[inline]
    pub(super) unsafe fn new(
        file: *mut bindings::trace_event_file,
        _guard: &'g ReadGuard,
        payload_len: usize,
    ) -> Option<Self> {
        let len = payload_len.checked_add(HEADER_SIZE)?;
        let mut buffer = MaybeUninit::uninit();

        // SAFETY: The caller promises a valid file, and the guard has preemption disabled. C does
        // not keep the pointer to `buffer`.
        let entry = unsafe { bindings::trace_event_buffer_reserve(buffer.as_mut_ptr(), file, len) };
        if entry.is_null() {
            return None;
        }

        // INVARIANT: C has reserved `len` bytes at `entry`, which it has filled the header of, and
        // they are this writer's until it commits.
        Some(Self {
            // SAFETY: C has set every field as it has returned an entry.
            buffer: unsafe { buffer.assume_init() },
            len,
            _guard: PhantomData,
        })
    }

    /// What comes behind the header.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant there are `len` bytes at the entry that are ours alone, the
        // header being the first; the borrow of `self` keeps it so.
        unsafe {
            slice::from_raw_parts_mut(
                self.buffer.entry.cast::<u8>().add(HEADER_SIZE),
                self.len - HEADER_SIZE,
            )
        }
    }

    /// The record with its header, which field offsets count from.
    #[inline]
    pub fn record(&self) -> &[u8] {
        // SAFETY: By the type invariant there are `len` bytes at the entry that nobody else
        // accesses; the borrow of `self` keeps them from being written to.
        unsafe { slice::from_raw_parts(self.buffer.entry.cast::<u8>(), self.len) }
    }

    /// Hands the record over: filters and triggers look at it, then it is for readers.
    #[inline]
    pub fn commit(mut self) {
        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded;
        // `self` is not used or dropped any more.
        unsafe { bindings::trace_event_buffer_commit(&mut self.buffer) };
        // Only now, as moving it before would copy it.
        mem::forget(self);
    }
}

impl Drop for Reservation<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded.
        unsafe { discard(&mut self.buffer) };
    }
}

/// Where C keeps what a record is about that is being written.
pub struct Slot(MaybeUninit<bindings::trace_event_buffer>);

impl Slot {
    /// A slot without record.
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }
}

/// A [`Reservation`] that is never moved, and so never copied.
///
/// # Invariants
///
/// As those of [`Reservation`] for `0`, of as many bytes as were asked for.
#[must_use = "the record is discarded if it is not committed"]
pub struct InSlot<'g>(&'g mut bindings::trace_event_buffer);

impl<'g> InSlot<'g> {
    /// Reserves a record of `len` bytes, which has to have room for the header.
    ///
    /// # Safety
    ///
    /// `file` must be valid, and preemption be disabled, during `'g`; `len` must be at least
    /// [`HEADER_SIZE`].
    #[inline(always)]
    pub(super) unsafe fn new(
        file: *mut bindings::trace_event_file,
        len: usize,
        slot: &'g mut Slot,
    ) -> Option<Self> {
        // SAFETY: The caller promises a valid file and that preemption is disabled.
        let entry = unsafe { bindings::trace_event_buffer_reserve(slot.0.as_mut_ptr(), file, len) };
        if entry.is_null() {
            return None;
        }

        // INVARIANT: C has reserved `len` bytes at `entry`, which it has filled the header of.
        //
        // SAFETY: C has set every field as it has returned an entry.
        Some(Self(unsafe { slot.0.assume_init_mut() }))
    }

    /// The start of the record.
    #[inline(always)]
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.entry.cast()
    }

    /// Hands the record over: filters and triggers look at it, then it is for readers.
    #[inline(always)]
    pub(super) fn commit(self) {
        let mut this = mem::ManuallyDrop::new(self);

        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded;
        // `this` is not used or dropped any more.
        unsafe { bindings::trace_event_buffer_commit(&mut *this.0) };
    }
}

impl Drop for InSlot<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the record is reserved and neither committed nor discarded.
        unsafe { discard(self.0) };
    }
}

/// Not inlined as it needs a per-CPU variable that modules cannot have.
///
/// # Safety
///
/// `buffer` must be that of a record which is reserved, and is not any more afterwards.
#[cold]
#[inline(never)]
unsafe fn discard(buffer: &mut bindings::trace_event_buffer) {
    // SAFETY: The caller promises a reserved record.
    unsafe { bindings::trace_event_discard(buffer) };
}
