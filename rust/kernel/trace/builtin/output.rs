// SPDX-License-Identifier: GPL-2.0

//! Printing records for the `trace` and `trace_pipe` files.
//!
//! C headers: [`include/linux/trace_seq.h`](srctree/include/linux/trace_seq.h),
//! [`kernel/trace/trace_output.h`](srctree/kernel/trace/trace_output.h).

use crate::{
    bindings,
    fmt,
    prelude::*,
    trace::HEADER_SIZE,
    types::NotThreadSafe, //
};
use core::{
    marker::PhantomData,
    slice, //
};

/// A record and the line that it is printed to.
///
/// What is too long for the buffer is cut by C, which then prints the line as a whole at the next
/// try.
///
/// # Invariants
///
/// `iter` is valid during `'a`, accessed by this thread only, and has a record of `event`, which is
/// registered. The record does not change during `'a`.
pub struct OutputLine<'a> {
    iter: *mut bindings::trace_iterator,
    event: *mut bindings::trace_event,
    _iter: PhantomData<&'a mut bindings::trace_iterator>,
    _not_thread_safe: NotThreadSafe,
}

impl<'a> OutputLine<'a> {
    /// Creates the line of a record.
    ///
    /// # Safety
    ///
    /// `iter` must be valid during `'a`, accessed by no other code, and have a record of `event`,
    /// which must be registered during `'a`. The record must not change during `'a`.
    pub(in crate::trace) unsafe fn from_raw(
        iter: *mut bindings::trace_iterator,
        event: *mut bindings::trace_event,
    ) -> Self {
        // INVARIANT: By the safety requirements, `iter` is valid and exclusive during `'a`, and has
        // a record of `event`, which is registered. The record does not change.
        Self {
            iter,
            event,
            _iter: PhantomData,
            _not_thread_safe: NotThreadSafe,
        }
    }

    /// Returns the record with its header, which field offsets count from.
    pub fn record(&self) -> &'a [u8] {
        // SAFETY: By the type invariant the iterator has a record, of the size that it says, which
        // does not change during `'a`.
        unsafe {
            slice::from_raw_parts(
                (*self.iter).ent.cast::<u8>(),
                usize::try_from((*self.iter).ent_size).unwrap_or(0),
            )
        }
    }

    /// Returns the record without its header.
    pub fn payload(&self) -> &'a [u8] {
        self.record().get(HEADER_SIZE..).unwrap_or_default()
    }

    /// Prints the name of the event and all fields one after the other, as is done for events
    /// without a [`print`](super::event::Operations::print).
    pub fn print_fields(&mut self) {
        // SAFETY: By the type invariant these are a record and its event.
        unsafe { print_fields(self.iter, 0, self.event) };
    }

    /// Appends formatted text. Used by `write!`.
    pub fn write_fmt(&mut self, args: fmt::Arguments<'_>) {
        // SAFETY: By the type invariant the iterator is valid and ours. `%pA` takes a pointer to
        // `Arguments`.
        unsafe {
            bindings::trace_seq_printf(
                &raw mut (*self.iter).seq,
                c"%pA".as_char_ptr(),
                core::ptr::from_ref(&args).cast::<c_void>(),
            )
        };
    }

    /// Appends these bytes unchanged, or none if they do not all fit: the line is then printed at
    /// the next try. In C: `trace_seq_putmem()`.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        // A longer text does not fit either.
        let len = c_uint::try_from(bytes.len()).unwrap_or(c_uint::MAX);

        // SAFETY: By the type invariant the iterator is valid and ours. C copies the bytes, if it
        // has room for as many, which is less than the largest number.
        unsafe {
            bindings::trace_seq_putmem(&raw mut (*self.iter).seq, bytes.as_ptr().cast(), len)
        };
    }

    /// Returns the result that C expects at the end.
    pub(in crate::trace) fn finish(self) -> bindings::print_line_t {
        // SAFETY: By the type invariant the iterator is valid.
        unsafe { bindings::trace_handle_return(&raw mut (*self.iter).seq) }
    }
}

/// For code that writes to anything. It never fails: see [`OutputLine`] for what does not fit.
impl fmt::Write for OutputLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes());
        Ok(())
    }
}

/// Prints all fields.
///
/// # Safety
///
/// As for a `trace_print_func`: `iter` must have a record of `event`.
pub(in crate::trace) unsafe extern "C" fn print_fields(
    iter: *mut bindings::trace_iterator,
    _flags: c_int,
    event: *mut bindings::trace_event,
) -> bindings::print_line_t {
    // SAFETY: By the safety requirements, `iter` has a record of `event`, as C passed them.
    unsafe { bindings::print_event_fields(iter, event) }
}

/// Prints only the number of the event.
///
/// # Safety
///
/// As for a `trace_print_func`: `iter` must have a record of `event`.
pub(in crate::trace) unsafe extern "C" fn print_nothing(
    iter: *mut bindings::trace_iterator,
    flags: c_int,
    event: *mut bindings::trace_event,
) -> bindings::print_line_t {
    // SAFETY: By the safety requirements, `iter` has a record of `event`, as C passed them.
    unsafe { bindings::trace_nop_print(iter, flags, event) }
}
