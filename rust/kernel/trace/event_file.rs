// SPDX-License-Identifier: GPL-2.0

//! Events as an instance has them.
//!
//! An [`EventFile`] is an event in one trace instance. Its parameter says what keeps it, and so
//! what can be done with it: with [`Locked`] the caller holds `event_mutex`, with [`Listening`] the
//! event is written to in a section of readers, and [`Owned`] is a reference.
//!
//! C headers: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h),
//! [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

mod hit;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod locked;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod owned;
#[cfg(all(CONFIG_RUST_TRACE_KUNIT_TEST, CONFIG_DYNAMIC_EVENTS))]
pub(super) mod tests;

pub use self::hit::{
    EventFileId,
    Listening,
    Refusal, //
};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub use self::{
    locked::{
        FieldInfo,
        FieldKind,
        Locked, //
    },
    owned::Owned,
};

use crate::{
    bindings,
    ffi::c_ulong,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};
use core::ptr::NonNull;

// CAST: These are small numbers.
const ENABLED: c_ulong = bindings::EVENT_FILE_FL_ENABLED as c_ulong;
const SOFT_DISABLED: c_ulong = bindings::EVENT_FILE_FL_SOFT_DISABLED as c_ulong;

/// An event in one trace instance, a `struct trace_event_file`: the destination of its records, its
/// filter and its triggers.
///
/// Two of these are equal if they are the same event in the same instance.
///
/// # Invariants
///
/// `ptr` is a file that exists as long as `access` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EventFile<A> {
    ptr: NonNull<bindings::trace_event_file>,
    access: A,
}

impl<A> EventFile<A> {
    #[inline(always)]
    pub(super) fn as_raw(&self) -> *mut bindings::trace_event_file {
        self.ptr.as_ptr()
    }

    #[inline(always)]
    fn flags(&self) -> c_ulong {
        // SAFETY: By the type invariant the file exists. C changes the flags with atomic
        // operations.
        let flags = unsafe { Atomic::<c_ulong>::from_ptr(&raw mut (*self.as_raw()).flags) };

        flags.load(Relaxed)
    }
}
