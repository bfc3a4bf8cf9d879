// SPDX-License-Identifier: GPL-2.0

//! The part of a file of an event that is C's: from its inode to the event, and its references.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    prelude::*,
    trace::event_mutex::Held, //
};

/// Returns the event of a file, or null if that is being removed.
///
/// # Safety
///
/// As that of `FileOperations::with_event`.
pub(super) unsafe fn event_of(
    file: *mut bindings::file,
    _held: Held<'_>,
) -> *mut bindings::trace_event_file {
    // SAFETY: By the safety requirements, `file` is one of an event. The mutex is held.
    unsafe { bindings::event_file_file(file) }
}

/// Opens the file of an event, as C does for its own.
///
/// # Safety
///
/// `inode` must be that of the file of an event, and `file` be being opened with it.
pub(super) unsafe fn open_event(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: By the safety requirements, `inode` is that of the file of an event, with which
    // `file` is being opened.
    unsafe { bindings::tracing_open_file_tr(inode, file) }
}

/// Releases the file of an event, as C does for its own.
///
/// # Safety
///
/// [`open_event`] must have succeeded for them, and the event must no longer be used.
pub(super) unsafe fn release_event(inode: *mut bindings::inode, file: *mut bindings::file) {
    // SAFETY: By the safety requirements, `open_event` has succeeded, and the event is no longer
    // used.
    unsafe { bindings::tracing_release_file_tr(inode, file) };
}
