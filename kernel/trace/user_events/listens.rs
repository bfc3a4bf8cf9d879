// SPDX-License-Identifier: GPL-2.0

//! The kinds of listeners that an event has, as bits.

use kernel::trace::{
    builtin::event::{
        Event,
        Listener, //
    },
    tracepoint::ReadGuard, //
};

/// At least one trace instance.
pub(crate) const FTRACE: u32 = 1 << 0;
/// perf.
pub(crate) const PERF: u32 = 1 << 1;
/// A probe of other kernel code.
pub(crate) const OTHER: u32 = 1 << 7;

/// Returns the bits of the present listeners to `event`.
pub(crate) fn to<T>(event: &Event<T>) -> u32 {
    if !event.is_enabled() {
        return 0;
    }

    let guard = ReadGuard::new();

    event.listeners(&guard).fold(0, |status, listener| {
        status
            | match listener {
                Listener::File(_) => FTRACE,
                #[cfg(CONFIG_PERF_EVENTS)]
                Listener::Perf(_) => PERF,
                Listener::Other => OTHER,
            }
    })
}
