// SPDX-License-Identifier: GPL-2.0

//! The listeners of an event.
//!
//! A listener is a probe of the event's tracepoint. The function of the probe is never called: it
//! only tells the kinds of listeners apart, so it is the address of a marker.

#[cfg(CONFIG_PERF_EVENTS)]
use super::super::perf;
use crate::{
    bindings,
    prelude::*,
    trace::{
        event_file::{
            EventFile,
            Listening, //
        },
        tracepoint::{
            Probes,
            ReadGuard,
            Tracepoint, //
        },
    },
};

/// Something to point at.
///
/// Statics of this type have addresses of their own, which functions do not: the compiler may make
/// one of two with the same code. The value is there so that they have a size.
pub(super) struct Marker(#[expect(dead_code, reason = "only its address counts")] u8);

impl Marker {
    #[inline]
    pub(super) const fn as_func(&'static self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Marks a trace instance. The data of the probe is its `trace_event_file`.
pub(super) static FILE: Marker = Marker(1);
/// Marks perf. The probe has no data.
#[cfg(CONFIG_PERF_EVENTS)]
pub(super) static PERF: Marker = Marker(2);

/// A listener of an event.
pub enum Listener<'g> {
    /// A trace instance.
    File(EventFile<Listening<'g>>),
    /// perf.
    #[cfg(CONFIG_PERF_EVENTS)]
    Perf(perf::Listener<'g>),
    /// Something else has attached to the tracepoint; nothing can be written to it.
    Other,
}

/// Iterator over the listeners of an event.
///
/// # Invariants
///
/// `probes` are those of the tracepoint of `call`, and were added by the callbacks of its class.
/// `call` is valid during `'g`.
pub struct Listeners<'g> {
    probes: Probes<'g>,
    #[cfg_attr(not(CONFIG_PERF_EVENTS), expect(dead_code))]
    call: *mut bindings::trace_event_call,
}

impl<'g> Listeners<'g> {
    /// # Safety
    ///
    /// `tracepoint` must be that of `call`, which must be valid during `'g`. Probes with a
    /// [`Marker`] of this module must only have been added by the callbacks of its class, and what
    /// C has attached them for must be kept until all guards are gone that can see them.
    #[inline]
    pub(super) unsafe fn new(
        tracepoint: &'g Tracepoint,
        call: *mut bindings::trace_event_call,
        guard: &'g ReadGuard,
    ) -> Self {
        // INVARIANT: By the safety requirements, `tracepoint` is that of `call`, which is valid
        // during `'g`, and its probes with a marker have the data that the callbacks of its class
        // attached.
        Self {
            probes: tracepoint.probes(guard),
            call,
        }
    }
}

impl<'g> Iterator for Listeners<'g> {
    type Item = Listener<'g>;

    #[inline]
    fn next(&mut self) -> Option<Listener<'g>> {
        let probe = self.probes.next()?;

        if probe.func == FILE.as_func() {
            // SAFETY: By the type invariant a probe with this marker was added for a file. C waits
            // for the guards before it frees the files of an instance, and so does an event before
            // it is unregistered.
            return Some(Listener::File(unsafe {
                EventFile::from_probe(probe.data.cast())
            }));
        }
        #[cfg(CONFIG_PERF_EVENTS)]
        if probe.func == PERF.as_func() {
            // SAFETY: By the type invariant the call is valid, and perf was just seen as a probe
            // of it.
            return Some(Listener::Perf(unsafe { perf::Listener::new(self.call) }));
        }
        Some(Listener::Other)
    }
}
