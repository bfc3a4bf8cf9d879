// SPDX-License-Identifier: GPL-2.0

//! perf events, as a `permission` callback sees them.
//!
//! C header: [`include/linux/perf_event.h`](srctree/include/linux/perf_event.h).

use crate::{
    bindings,
    types::Opaque, //
};

/// A perf event on a trace event.
///
/// # Invariants
///
/// It is a valid perf event whose attributes no longer change.
#[repr(transparent)]
pub struct PerfEvent(Opaque<bindings::perf_event>);

impl PerfEvent {
    /// Converts the pointer to a perf event to a reference.
    ///
    /// # Safety
    ///
    /// `ptr` must be a valid perf event during `'a`, whose attributes were read from the user.
    #[inline]
    pub(in crate::trace) unsafe fn from_raw<'a>(ptr: *mut bindings::perf_event) -> &'a Self {
        // INVARIANT: By the safety requirements, `ptr` is a valid perf event during `'a` with
        // attributes that were read from the user.
        //
        // SAFETY: As above; the type is transparent.
        unsafe { &*ptr.cast() }
    }

    /// Returns `true` if the event takes samples, like `is_sampling_event()`. Other events only
    /// count.
    pub fn is_sampling(&self) -> bool {
        // SAFETY: By the type invariant it is valid; both fields of the union are of this type.
        unsafe { (*self.0.get()).attr.__bindgen_anon_1.sample_period != 0 }
    }

    /// Returns `true` if the samples contain the records of the trace event.
    pub fn has_records(&self) -> bool {
        const RECORD: u64 = bindings::perf_event_sample_format_PERF_SAMPLE_RAW as u64;

        // SAFETY: By the type invariant it is valid.
        unsafe { (*self.0.get()).attr.sample_type & RECORD != 0 }
    }
}
