// SPDX-License-Identifier: GPL-2.0

//! Records of an event in an instance.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use super::{
    EventFile,
    ENABLED,
    SOFT_DISABLED, //
};
#[cfg(CONFIG_SYNTH_EVENTS)]
use crate::types::NotThreadSafe;
use crate::{
    bindings,
    ffi::c_ulong,
    trace::{
        base::ring_buffer::{
            Reservation,
            ReservationStorage, //
        },
        tracepoint::ReadGuard,
        HEADER_SIZE, //
    },
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// With one of these set, testing `ENABLED` does not suffice.
const CHECK: c_ulong = (bindings::EVENT_FILE_FL_TRIGGER_MODE
    | bindings::EVENT_FILE_FL_SOFT_DISABLED
    | bindings::EVENT_FILE_FL_PID_FILTER) as c_ulong;

/// Every buffer takes a payload of this size: it is less than half of the smallest sub-buffer.
const ALWAYS_FITS: usize = 2048;

const TRIGGER_COND: c_ulong = bindings::EVENT_FILE_FL_TRIGGER_COND as c_ulong;

/// The access of a section with a [`ReadGuard`], in which the event has the file for a listener.
///
/// [`Event::listeners`](crate::trace::builtin::event::Event::listeners) returns it.
///
/// # Invariants
///
/// A [`ReadGuard`] exists during `'g`, so the file and its triggers are not freed.
#[derive(Clone, Copy)]
pub struct Listening<'g>(PhantomData<&'g ReadGuard>);

/// The [number](EventFile::id) of a file of an event. After the file is freed, another may get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFileId(usize);

/// A reason for which a record is not in the buffer of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is too long for any buffer of this size.
    TooLong,
    /// Recording is off.
    Off,
    /// The buffer is full and keeps its oldest records.
    Full,
    /// The buffer is in use in this context.
    Busy,
}

impl<'g> EventFile<Listening<'g>> {
    /// Creates the view of the file for its probe.
    ///
    /// # Safety
    ///
    /// `ptr` must be a file that is valid during `'g`, and a [`ReadGuard`] must exist during `'g`.
    #[inline]
    pub(in crate::trace) unsafe fn from_probe(ptr: *mut bindings::trace_event_file) -> Self {
        // INVARIANT: By the safety requirements, the file is valid and a `ReadGuard` exists.
        Self {
            // SAFETY: By the safety requirements, `ptr` is valid.
            ptr: unsafe { NonNull::new_unchecked(ptr) },
            access: Listening(PhantomData),
        }
    }

    /// Returns `true` if a record has to be written.
    ///
    /// Runs the triggers of the event that need no record, so call it once each time the event
    /// happens.
    #[inline]
    pub fn is_recording(self) -> bool {
        let flags = self.flags();

        flags & ENABLED != 0 && self.wants_record_with(flags)
    }

    /// Returns `true` if a record has to be written for an event for which the triggers that need
    /// no record have run: as [`is_recording`](Self::is_recording), if a record has to be written
    /// anew.
    #[inline]
    pub fn is_still_recording(self) -> bool {
        let flags = self.flags();

        flags & ENABLED != 0 && (flags & SOFT_DISABLED == 0 || flags & TRIGGER_COND != 0)
    }

    /// Returns `true` if a trigger looks at the records. It runs when a record is committed.
    #[inline]
    pub fn has_triggers_of_records(self) -> bool {
        self.flags() & TRIGGER_COND != 0
    }

    /// Returns a number that no other file of an event has at the same time.
    #[inline]
    pub fn id(self) -> EventFileId {
        EventFileId(self.as_raw().addr())
    }

    /// Returns `true` if a record has to be written, for the probe of the file.
    ///
    /// As [`is_recording`](Self::is_recording), for callers that know that the file is enabled.
    #[inline]
    pub(in crate::trace) fn wants_record(self) -> bool {
        self.wants_record_with(self.flags())
    }

    /// Returns `true` as [`wants_record`](Self::wants_record) does, with flags that were just
    /// read.
    #[inline(always)]
    fn wants_record_with(self, flags: c_ulong) -> bool {
        // Triggers that need the record run when it is committed.
        if flags & CHECK == 0 || flags & TRIGGER_COND != 0 {
            return true;
        }
        // SAFETY: The file is valid by the type invariant, which also has the caller in a section
        // that keeps the triggers.
        !unsafe { bindings::__trace_trigger_soft_disabled(self.as_raw()) }
    }

    /// Returns the longest payload that the buffer of the instance can take, in bytes.
    #[inline]
    pub fn max_payload(self) -> usize {
        // SAFETY: The file is valid by the type invariant, and so is its instance, which C removes
        // after the file. A buffer has a size from its creation on.
        let max = unsafe { bindings::trace_event_max_size(self.as_raw()) };

        max.saturating_sub(HEADER_SIZE)
    }

    /// Reserves a record with a payload of `payload_len` bytes after the header. C keeps the state
    /// of the reservation in `slot`.
    ///
    /// Returns `None` if the buffer has no room, tracing is off, the current process is filtered
    /// out, or this is a recursion. Also returns `None` if the record exceeds the buffer limit and
    /// the event is not soft-disabled.
    #[inline]
    pub fn reserve(
        self,
        _guard: &'g ReadGuard,
        payload_len: usize,
        slot: &'g mut ReservationStorage,
    ) -> Option<Reservation<'g>> {
        if payload_len > ALWAYS_FITS
            && payload_len > self.max_payload()
            && self.flags() & SOFT_DISABLED == 0
        {
            return None;
        }
        // SAFETY: The file is valid during `'g` by the type invariant, and the guard has preemption
        // disabled.
        unsafe { Reservation::new(self.as_raw(), payload_len, slot) }
    }

    /// Returns the reason for which [`reserve`](Self::reserve) has just returned `None` for a
    /// payload, or a record that is [not for readers](Reservation::is_for_readers). It is `None` if
    /// the file wants records for its triggers only, or none of the current process.
    #[cold]
    #[inline(never)]
    pub fn refusal(self, _guard: &ReadGuard, payload_len: usize) -> Option<Refusal> {
        let file = self.as_raw();

        if self.flags() & SOFT_DISABLED != 0 {
            return None;
        }
        // SAFETY: The file is valid by the type invariant, and so is its instance. The guard has
        // preemption disabled.
        if unsafe { bindings::trace_event_ignores_task(file) } {
            return None;
        }
        if payload_len > self.max_payload() {
            return Some(Refusal::TooLong);
        }
        // SAFETY: The file is valid by the type invariant, and so is its instance. The guard has
        // preemption disabled.
        if unsafe { bindings::trace_event_is_off(file) } {
            return Some(Refusal::Off);
        }
        // SAFETY: The file is valid by the type invariant, and so is its instance.
        if unsafe { bindings::trace_event_keeps_old(file) } {
            return Some(Refusal::Full);
        }
        Some(Refusal::Busy)
    }

    /// Reserves a record as [`reserve`](Self::reserve) does, in a section without a guard. If the
    /// buffer could never take such a record this is as in C.
    ///
    /// # Safety
    ///
    /// Preemption must be disabled during `'g`.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    #[inline(always)]
    pub(in crate::trace) unsafe fn reserve_unguarded(
        self,
        payload_len: usize,
        slot: &'g mut ReservationStorage,
    ) -> Option<Reservation<'g>> {
        // SAFETY: The file is valid during `'g` by the type invariant; the rest is a safety
        // requirement.
        unsafe { Reservation::new(self.as_raw(), payload_len, slot) }
    }

    /// Permits a record while another one is being written in this context.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    #[inline(always)]
    pub(in crate::trace) fn nest(self) -> Nested<'g> {
        // SAFETY: The file is valid by the type invariant, and so is its instance.
        unsafe { bindings::trace_event_nest(self.as_raw()) };
        // INVARIANT: Just done. It was this CPU, as C has disabled preemption.
        Nested {
            file: self,
            _not_sent: NotThreadSafe,
        }
    }

    /// Reserves a record of `len` bytes with the header, as C does for an event with a tracepoint.
    ///
    /// `None` for the reasons of [`reserve`](Self::reserve), and if `len` has no room for the
    /// header. `slot` is where C keeps what the reservation is about.
    ///
    /// # Safety
    ///
    /// Preemption must be disabled during `'g`.
    #[inline(always)]
    pub(in crate::trace) unsafe fn reserve_in_probe(
        self,
        len: usize,
        slot: &'g mut ReservationStorage,
    ) -> Option<Reservation<'g>> {
        if len < HEADER_SIZE {
            return None;
        }
        // SAFETY: The file is valid during `'g` by the type invariant; `len` was just checked;
        // preemption is disabled, which is a safety requirement.
        unsafe { Reservation::new_in_probe(self.as_raw(), len, slot) }
    }
}

/// Records can be nested in the buffer of a file while this exists. Has preemption disabled.
///
/// # Invariants
///
/// The buffer was told so for this instance, by this CPU.
#[cfg(CONFIG_SYNTH_EVENTS)]
#[must_use = "records can only be nested while this exists"]
pub(in crate::trace) struct Nested<'g> {
    file: EventFile<Listening<'g>>,
    _not_sent: NotThreadSafe,
}

#[cfg(CONFIG_SYNTH_EVENTS)]
impl Drop for Nested<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant this ends what was begun. The file is valid.
        unsafe { bindings::trace_event_unnest(self.file.as_raw()) };
    }
}
