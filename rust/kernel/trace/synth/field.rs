// SPDX-License-Identifier: GPL-2.0

//! The fields of synthetic events.
//!
//! C header: [`kernel/trace/trace_synth.h`](srctree/kernel/trace/trace_synth.h).

use crate::{
    bindings,
    prelude::*, //
};
use core::slice;

/// Maximum number of fields of an event.
pub const MAX_FIELDS: usize = bindings::SYNTH_FIELDS_MAX as usize;

/// Number of words that hold a string or a stack trace. See [`Value`](super::Value).
pub const TEXT_WORDS: usize = 32;

/// The kind of values of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A number, which is cut to the size of the field.
    Number,
    /// A string.
    String,
    /// A stack trace.
    Stack,
}

/// A field of a synthetic event.
///
/// # Invariants
///
/// It is a field of a registered event, which is valid during `'h` with its strings.
#[derive(Clone, Copy)]
pub struct Field<'h>(&'h bindings::synth_field);

impl<'h> Field<'h> {
    /// Returns the type, as it was written when the event was defined.
    pub fn ty(self) -> &'h CStr {
        // SAFETY: By the type invariant it is a string that is valid during `'h`.
        unsafe { CStr::from_char_ptr(self.0.type_) }
    }

    /// Returns the name.
    pub fn name(self) -> &'h CStr {
        // SAFETY: By the type invariant it is a string that is valid during `'h`.
        unsafe { CStr::from_char_ptr(self.0.name) }
    }

    /// Returns the size in bytes, or 0 for a string whose length is not fixed and for a stack
    /// trace.
    pub fn size(self) -> usize {
        self.0.size
    }

    /// Returns `true` if the type is signed.
    pub fn is_signed(self) -> bool {
        self.0.is_signed
    }

    /// Returns `true` if the field is a string.
    pub fn is_string(self) -> bool {
        self.0.is_string
    }

    /// Returns `true` if the length of the field is not fixed, as that of a string or stack trace.
    pub fn is_dynamic(self) -> bool {
        self.0.is_dynamic
    }

    /// Returns `true` if the field is a stack trace.
    pub fn is_stack(self) -> bool {
        self.0.is_stack
    }

    /// Returns the kind of values of the field.
    pub fn kind(self) -> ValueKind {
        if self.is_string() {
            ValueKind::String
        } else if self.is_stack() {
            ValueKind::Stack
        } else {
            ValueKind::Number
        }
    }
}

/// Returns the fields of an event, in their order.
///
/// # Safety
///
/// `event` must be a registered event during `'a`.
pub(super) unsafe fn fields<'a>(
    event: *const bindings::synth_event,
) -> impl ExactSizeIterator<Item = Field<'a>> {
    // SAFETY: By the safety requirements, the event is valid. It does not change in this
    // respect. CAST: The number is small.
    let fields: &'a [*mut bindings::synth_field] = unsafe {
        let n = (*event).n_fields as usize;

        if n == 0 {
            &[]
        } else {
            slice::from_raw_parts((*event).fields, n)
        }
    };

    // INVARIANT: By the safety requirements, the event is registered.
    //
    // SAFETY: The fields are valid as long as the event.
    fields.iter().map(|field| Field(unsafe { &**field }))
}
