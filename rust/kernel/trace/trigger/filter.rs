// SPDX-License-Identifier: GPL-2.0

//! Filters: which records a trigger is hit with.

use super::super::event_file::{
    EventFile,
    Locked, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::raw,
    types::Opaque, //
};

/// A filter, for a [`NewTrigger`](super::NewTrigger) of the same event.
///
/// # Invariants
///
/// - `raw` is zero but for `filter` and `filter_str`, which belong to it and were created for
///   `file`.
/// - `raw.filter_str` is a string.
pub struct Filter<'h> {
    raw: KBox<Opaque<bindings::event_trigger_data>>,
    file: EventFile<Locked<'h>>,
}

impl<'h> Filter<'h> {
    /// Creates a filter for an event. `text` begins with `if`. Sleeps.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the text is wrong. What that is gets added to the `error_log` of the instance,
    ///   unless it is about the `if`.
    /// - `ENOMEM`.
    pub fn new(file: EventFile<Locked<'h>>, text: &CStr) -> Result<Self> {
        // C cuts the string in pieces.
        let mut copy = KVec::new();
        copy.extend_from_slice(text.to_bytes_with_nul(), GFP_KERNEL)?;
        // INVARIANT: C sets both fields if all is well, and may set the first if not, in which case
        // it is dropped.
        let filter = Self {
            raw: KBox::new(Opaque::zeroed(), GFP_KERNEL)?,
            file,
        };

        // SAFETY: The file is valid. The copy is a string that can be written to.
        to_result(unsafe {
            raw::set_trigger_filter(copy.as_mut_ptr().cast(), filter.raw.get(), file.as_raw())
        })?;
        Ok(filter)
    }

    /// Returns the text, without the `if`.
    pub fn text(&self) -> &CStr {
        // SAFETY: By the type invariant it is a string.
        unsafe { CStr::from_char_ptr((*self.raw.get()).filter_str) }
    }

    pub(super) fn file(&self) -> EventFile<Locked<'h>> {
        self.file
    }

    /// Replaces the filter of a trigger.
    ///
    /// # Safety
    ///
    /// The trigger must be complete, and not be used by other code.
    pub(super) unsafe fn give_to(self, trigger: *mut bindings::event_trigger_data) {
        // The filters are swapped; the previous one of the trigger is freed when `self` is dropped.
        //
        // SAFETY: By the safety requirements, the trigger is complete and exclusive. So is that of
        // `self`.
        unsafe {
            let raw = self.raw.get();
            core::ptr::swap(&raw mut (*raw).filter, &raw mut (*trigger).filter);
            core::ptr::swap(&raw mut (*raw).filter_str, &raw mut (*trigger).filter_str);
        }
    }
}

impl Drop for Filter<'_> {
    fn drop(&mut self) {
        // SAFETY: It is no longer used.
        unsafe { free(self.raw.get()) };
    }
}

/// Frees the filter of a trigger, at once.
///
/// # Safety
///
/// `raw` must be valid, and not be used by other code.
pub(super) unsafe fn free(raw: *mut bindings::event_trigger_data) {
    // SAFETY: By the safety requirements, `raw` is valid and exclusive. C has allocated both, or
    // they are null.
    unsafe {
        raw::free_event_filter((*raw).filter);
        bindings::kfree((*raw).filter_str.cast());
        (*raw).filter = core::ptr::null_mut();
        (*raw).filter_str = core::ptr::null_mut();
    }
}
