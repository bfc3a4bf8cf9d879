// SPDX-License-Identifier: GPL-2.0

//! An event that happens.
//!
//! C header: [`include/linux/ring_buffer.h`](srctree/include/linux/ring_buffer.h).

use super::super::instance;
use crate::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    trace::raw, //
};
use core::{
    marker::PhantomData,
    slice, //
};

const TIME_EXTEND: u32 = bindings::ring_buffer_type_RINGBUF_TYPE_TIME_EXTEND;
const MAX_SMALL: u32 = bindings::ring_buffer_type_RINGBUF_TYPE_DATA_TYPE_LEN_MAX;

/// Size of a word of the ring buffer: that of its headers, and what it counts in.
const WORD: usize = size_of::<u32>();

/// One event that hits a trigger.
///
/// # Invariants
///
/// During `'a`:
///
/// - `event` is null, or a complete record that was reserved in `buffer` by this CPU, or by it in
///   the page of C for records that may be discarded. It is not written to.
/// - `instance` is valid.
/// - Preemption is disabled, and this CPU is in a section that tracepoints, events and triggers are
///   kept for.
#[derive(Clone)]
pub struct Hit<'a> {
    buffer: *mut bindings::trace_buffer,
    event: *mut bindings::ring_buffer_event,
    instance: *mut bindings::trace_array,
    _record: PhantomData<&'a [u8]>,
}

impl<'a> Hit<'a> {
    /// Creates the hit of a trigger.
    ///
    /// # Safety
    ///
    /// The invariants must be true.
    #[inline]
    pub(super) unsafe fn new(
        buffer: *mut bindings::trace_buffer,
        event: *mut bindings::ring_buffer_event,
        instance: *mut bindings::trace_array,
    ) -> Self {
        // INVARIANT: By the safety requirements.
        Self {
            buffer,
            event,
            instance,
            _record: PhantomData,
        }
    }

    /// Returns the record: its header, which offsets of fields count from, and all that follows.
    ///
    /// The length is that of the record in the buffer, which rounds it up. So a few bytes may
    /// follow that mean nothing. It is empty without a record, which is so for triggers of some
    /// [kinds](super::CommandKind) only.
    #[inline]
    pub fn record(&self) -> &'a [u8] {
        if self.event.is_null() {
            return &[];
        }
        let mut event = self.event;
        // SAFETY: By the type invariant the record has a header.
        let mut kind = unsafe { kind(event) };

        if kind >= TIME_EXTEND {
            // SAFETY: A time stamp, of two words, precedes the header of the record itself.
            unsafe {
                event = event.byte_add(2 * WORD);
                kind = self::kind(event);
            }
        }
        if kind > MAX_SMALL {
            return &[];
        }
        if kind != 0 {
            // CAST: It has a few bits.
            let len = kind as usize * WORD;

            // SAFETY: The kind of a record that is short is the number of its words, which follow
            // the header.
            return unsafe { slice::from_raw_parts(event.byte_add(WORD).cast(), len) };
        }
        // SAFETY: Otherwise a word with the length in bytes follows, and then the record.
        let (len, data) = unsafe {
            let len = event.byte_add(WORD).cast::<u32>().read();
            (len as usize, event.byte_add(2 * WORD).cast::<u8>())
        };
        // In the ring buffer that length is also that of its own word.
        //
        // SAFETY: By the type invariant the event is one of this CPU.
        let len = if unsafe { is_aside(event) } {
            len
        } else {
            len.saturating_sub(WORD)
        };

        // SAFETY: By the type invariant the record is complete, and its header says that it has
        // `len` bytes.
        unsafe { slice::from_raw_parts(data, len) }
    }

    /// Returns the [`record`](Self::record) if it is short, as most are, and is not preceded by a
    /// time stamp, so that no function has to be called for it. Returns `None` otherwise.
    #[inline(always)]
    pub fn short_record(&self) -> Option<&'a [u8]> {
        if self.event.is_null() {
            return None;
        }
        // SAFETY: By the type invariant the record has a header.
        let words = unsafe { kind(self.event) };

        if words.wrapping_sub(1) >= MAX_SMALL {
            return None;
        }
        // SAFETY: The kind of a record that is short is the number of its words, which follow the
        // header. CAST: It has a few bits.
        Some(unsafe {
            slice::from_raw_parts(self.event.byte_add(WORD).cast(), words as usize * WORD)
        })
    }

    /// Returns the time stamp of the record, by the clock of the instance.
    ///
    /// It is that which the record is read with if filter buffering is disabled, see
    /// [`Instance::disable_filter_buffering`](instance::Instance::disable_filter_buffering).
    /// Without a record it is the time of the call.
    #[inline]
    pub fn timestamp(&self) -> u64 {
        if self.event.is_null() {
            // SAFETY: By the type invariant the instance is valid.
            return unsafe { instance::now(self.instance) };
        }
        // SAFETY: By the type invariant the event is one of this CPU in this buffer.
        unsafe { raw::tracing_event_time_stamp(self.buffer, self.event) }
    }

    /// Returns `true` if the clock counts nanoseconds.
    #[inline]
    pub fn clock_in_ns(&self) -> bool {
        // SAFETY: By the type invariant the instance is valid.
        unsafe { raw::trace_clock_in_ns(self.instance) }
    }

    /// Returns the number of this CPU.
    #[inline]
    pub fn cpu(&self) -> u32 {
        // SAFETY: The function has no safety requirements. As preemption is disabled it stays the
        // same.
        unsafe { bindings::raw_smp_processor_id() }
    }
}

/// Returns the kind of record of a header: the number of words if that is small, or 0.
///
/// # Safety
///
/// `event` must be a header.
#[inline]
unsafe fn kind(event: *mut bindings::ring_buffer_event) -> u32 {
    // SAFETY: By the safety requirements, `event` is a header.
    unsafe { (*event).type_len() }
}

/// Returns `true` if a record, which is not a short one, is in the page for records that may be
/// discarded.
///
/// # Safety
///
/// `event` must be a record that this CPU has reserved, and preemption be disabled.
#[inline]
unsafe fn is_aside(event: *mut bindings::ring_buffer_event) -> bool {
    // It is at the start of its page. In the ring buffer, most pages start with a header.
    //
    // SAFETY: By the safety requirements, preemption is disabled.
    event.addr() % PAGE_SIZE == 0 && unsafe { raw::trace_event_is_buffered(event) }
}
