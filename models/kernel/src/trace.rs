// SPDX-License-Identifier: GPL-2.0

//! Trace events without records.

pub mod builtin;

/// Size of the header of a record.
pub const HEADER_SIZE: usize = 8;

pub mod synth {
    /// Most fields of a synthetic event.
    pub const MAX_FIELDS: usize = 64;
}

pub mod event_mutex {
    use std::marker::PhantomData;

    /// `event_mutex` is held.
    #[derive(Clone, Copy)]
    pub struct Held<'a>(PhantomData<&'a ()>);

    impl Held<'_> {
        /// Creates the token. The model must ensure that only one thread uses one.
        pub fn assume() -> Self {
            Self(PhantomData)
        }
    }
}

pub mod instance {
    use crate::{
        bindings::trace_array,
        error::Result, //
    };
    use std::marker::PhantomData;

    /// An instance of the model.
    pub struct Array(*mut trace_array);

    impl Array {
        pub fn create() -> Self {
            Self(Box::into_raw(Box::new(trace_array::new())))
        }

        pub fn instance(&self) -> Instance<'_> {
            Instance(self.0, PhantomData)
        }

        /// Frees the instance, which must not be pinned and is not used from here on.
        pub fn free(&self) {
            // SAFETY: The memory is freed with `self`.
            unsafe {
                assert_eq!((*self.0).pins, 0);
                (*self.0).freed = true;
            }
        }
    }

    impl Drop for Array {
        fn drop(&mut self) {
            // SAFETY: It is from a `Box`.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }

    pub struct Instance<'a>(*mut trace_array, PhantomData<&'a ()>);

    pub struct InstanceRef(*mut trace_array);

    impl Instance<'_> {
        pub fn pin(&self) -> Result<InstanceRef> {
            // SAFETY: The model keeps it.
            unsafe { (*self.0).pins += 1 };
            Ok(InstanceRef(self.0))
        }
    }

    impl InstanceRef {
        pub fn as_raw(&self) -> *mut trace_array {
            self.0
        }
    }

    impl Drop for InstanceRef {
        fn drop(&mut self) {
            // SAFETY: The model keeps it.
            unsafe { (*self.0).pins -= 1 };
        }
    }
}

pub mod trigger {
    use std::marker::PhantomData;

    pub use crate::sync::rcu::synchronize_rcu as synchronize;

    /// A hit. The model has to be in a read-side section.
    pub struct Hit<'a>(PhantomData<&'a ()>);

    impl Hit<'_> {
        pub fn assume() -> Self {
            Self(PhantomData)
        }
    }
}

#[macro_export]
macro_rules! impl_has_event {
    ($($all:tt)*) => {};
}
