// SPDX-License-Identifier: GPL-2.0

//! The creation of the class of events.

use super::{
    callbacks::Callbacks,
    listeners,
    Class,
    Operations, //
};
use crate::{
    bindings,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};
use core::marker::PhantomData;

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
