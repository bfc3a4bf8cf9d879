// SPDX-License-Identifier: GPL-2.0

//! Instances whose records are written straight to the ring buffer.
//!
//! Otherwise a record that may be discarded is assembled in a page of the CPU, and triggers see
//! another time stamp than the record has in the end. C calls this filter buffering.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use super::{
    Instance,
    InstanceId, //
};
use crate::trace::raw;
use core::mem;

/// Has the records of an instance written straight to the ring buffer, until it is dropped.
///
/// The drop sleeps: it takes `trace_types_lock`, which is held when C calls [`Command::detached`].
/// A section that outlasts `event_mutex` is [kept](Self::keep).
///
/// [`Command::detached`]: crate::trace::trigger::Command::detached
///
/// # Invariants
///
/// Filter buffering of the instance was disabled once for this value.
#[must_use = "filter buffering is enabled again when this is dropped"]
pub struct Unbuffered<'h> {
    instance: Instance<'h>,
}

/// An [`Unbuffered`] section that lasts after `event_mutex` was unlocked.
///
/// [`Instance::enable_filter_buffering`] ends it, and the drop does not: the instance may have been
/// removed.
#[must_use = "the section lasts as long as the instance if this is dropped"]
pub struct KeptUnbuffered {
    instance: InstanceId,
}

impl<'h> Instance<'h> {
    /// Disables filter buffering: records are written straight to the ring buffer, so that a
    /// trigger sees the time stamp that they are read with. Sleeps: takes `trace_types_lock`.
    pub fn disable_filter_buffering(self) -> Unbuffered<'h> {
        // SAFETY: By the type invariant the instance is valid.
        unsafe { raw::tracing_set_filter_buffering(self.as_raw(), true) };
        // INVARIANT: Just disabled.
        Unbuffered { instance: self }
    }

    /// Ends a section that was kept. Sleeps: takes `trace_types_lock`.
    ///
    /// Does nothing if the section is of another instance.
    pub fn enable_filter_buffering(self, kept: KeptUnbuffered) {
        if kept.instance == self.id() {
            // INVARIANT: It was disabled for the value that `kept` was created of.
            drop(Unbuffered { instance: self });
        }
    }
}

impl Unbuffered<'_> {
    /// Prolongs the section until [`Instance::enable_filter_buffering`].
    pub fn keep(self) -> KeptUnbuffered {
        let instance = self.instance.id();

        mem::forget(self);
        KeptUnbuffered { instance }
    }
}

impl Drop for Unbuffered<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the instance is valid, and this section is counted.
        unsafe { raw::tracing_set_filter_buffering(self.instance.as_raw(), false) };
    }
}
