// SPDX-License-Identifier: GPL-2.0

//! The class of events.

use super::{
    callbacks::Callbacks,
    listeners,
    Operations, //
};
use crate::{
    bindings,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};
use core::marker::PhantomData;

/// The class of all events of a `T` in a directory under `events/`.
///
/// [`builtin`](crate::trace::builtin) has an example.
///
/// # Invariants
///
/// `system` is a static string, the functions are those of `T`. It is never written to.
pub struct Class<T>(
    Opaque<bindings::trace_event_class>,
    // No subtype of `T` is taken for it, nor the other way round: each has functions of its own.
    PhantomData<fn(T) -> T>,
);

// SAFETY: It is never written to by the type invariant.
unsafe impl<T> Sync for Class<T> {}

impl<T> Class<T> {
    pub(in crate::trace) fn as_raw(&'static self) -> *mut bindings::trace_event_class {
        self.0.get()
    }
}

impl<T: Operations> Class<T> {
    /// Creates the class of the events of `T` in the directory `system`, for a static.
    pub const fn new(system: &'static CStr) -> Self {
        let mut class: bindings::trace_event_class = pin_init::zeroed();

        class.system = as_char_ptr_in_const_context(system);
        class.probe = listeners::FILE;
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            class.perf_probe = listeners::PERF;
        }
        class.reg = Some(Callbacks::<T>::reg);
        class.fields_array = NO_FIELDS.0.get();
        class.get_fields = Some(Callbacks::<T>::get_fields);

        // INVARIANT: As it was just set.
        Self(Opaque::new(class), PhantomData)
    }
}

/// The fields that events without any are given by C: none.
///
/// # Invariants
///
/// All zeroes, which is the end of such an array, and never written to.
struct NoFields(Opaque<bindings::trace_event_fields>);

// SAFETY: It is never written to by the type invariant.
unsafe impl Sync for NoFields {}

// INVARIANT: Zeroed; C only reads it.
static NO_FIELDS: NoFields = NoFields(Opaque::zeroed());
