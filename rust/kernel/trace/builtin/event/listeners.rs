// SPDX-License-Identifier: GPL-2.0

//! The listeners of an event.
//!
//! A listener is a probe of the event's tracepoint. The function of the probe is never called: it
//! only identifies the kind of the listener.

#[cfg(CONFIG_PERF_EVENTS)]
use crate::trace::base::perf;
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

/// The function of a trace instance. The data of the probe is its `trace_event_file`.
pub(super) const FILE: *mut c_void = bindings::rust_trace_file_probe as *mut c_void;
/// The function of perf. The probe has no data.
#[cfg(CONFIG_PERF_EVENTS)]
pub(super) const PERF: *mut c_void = bindings::rust_trace_perf_probe as *mut c_void;

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
    /// Creates the iterator over the listeners of an event.
    ///
    /// # Safety
    ///
    /// `tracepoint` must be that of `call`, which must be valid during `'g`. Probes with a function
    /// of this module must only have been added by the callbacks of its class, and what C has
    /// attached them for must be kept until all guards that can see them are dropped.
    #[inline]
    pub(super) unsafe fn new(
        tracepoint: &'g Tracepoint,
        call: *mut bindings::trace_event_call,
        guard: &'g ReadGuard,
    ) -> Self {
        // INVARIANT: By the safety requirements, `tracepoint` is that of `call`, which is valid
        // during `'g`, and its probes with these functions have the data that the callbacks of its
        // class attached.
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

        if probe.func == FILE {
            // SAFETY: By the type invariant a probe with this function was added for a file. C
            // waits for the guards before it frees the files of an instance, and so does an event
            // before it is unregistered.
            return Some(Listener::File(unsafe {
                EventFile::from_probe(probe.data.cast())
            }));
        }
        #[cfg(CONFIG_PERF_EVENTS)]
        if probe.func == PERF {
            // SAFETY: By the type invariant the call is valid, and perf was just seen as a probe
            // of it.
            return Some(Listener::Perf(unsafe { perf::Listener::new(self.call) }));
        }
        Some(Listener::Other)
    }
}
