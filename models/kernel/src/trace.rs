// SPDX-License-Identifier: GPL-2.0

//! Trace events without records.

pub mod snapshot;

pub use crate::impl_has_event;

/// Size of the header of a record.
pub const HEADER_SIZE: usize = 8;

pub mod context {
    /// Size of the name of a task.
    pub const COMM_LEN: usize = 16;
}

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
        /// The model has to see to it that only one thread does this.
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

        /// Nothing may use it from here on. It must not be pinned.
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

pub mod dynevent {
    use std::marker::PhantomData;

    pub struct Kind<T>(PhantomData<fn(T)>);

    impl<T> Kind<T> {
        pub const fn new() -> Self {
            Self(PhantomData)
        }
    }
}

pub mod event {
    use super::{
        dynevent::Kind,
        event_mutex::Held, //
    };
    use crate::{
        error::Result,
        sync::ArcBorrow, //
    };
    use std::{
        cell::Cell,
        ffi::CStr,
        marker::PhantomData, //
    };

    pub struct Class<T>(PhantomData<fn(T)>);

    impl<T> Class<T> {
        pub const fn new(_: &CStr) -> Self {
            Self(PhantomData)
        }
    }

    pub struct Definition<'a> {
        pub name: &'a [u8],
        pub print_fmt: &'a [u8],
        pub fields: &'a [()],
        pub note: &'a [u8],
    }

    /// An event, of which it is known whether it is enabled.
    pub struct Event<T> {
        enabled: Cell<bool>,
        _owner: PhantomData<fn(T)>,
    }

    // SAFETY: All threads of a model are on one thread of the machine.
    unsafe impl<T> Send for Event<T> {}
    // SAFETY: As above.
    unsafe impl<T> Sync for Event<T> {}

    impl<T> Event<T> {
        /// # Safety
        ///
        /// None.
        pub unsafe fn new(_: &Class<T>, _: Definition<'_>) -> Result<Self> {
            Ok(Self {
                enabled: Cell::new(false),
                _owner: PhantomData,
            })
        }

        pub fn name(&self) -> &CStr {
            c"event"
        }

        pub fn note(&self) -> &CStr {
            c""
        }

        pub fn type_id(&self) -> u16 {
            1
        }

        pub fn is_enabled(&self) -> bool {
            self.enabled.get()
        }

        pub fn is_referenced(&self) -> bool {
            false
        }

        /// Attaches or detaches its one probe.
        pub fn set_enabled(&self, on: bool) {
            self.enabled.set(on);
        }
    }

    pub trait Operations: Sized + 'static {
        fn kind() -> &'static Kind<Self>;

        fn attaching(this: ArcBorrow<'_, Self>, held: Held<'_>) -> Result;
        fn attached(this: ArcBorrow<'_, Self>, held: Held<'_>);

        fn detached(this: ArcBorrow<'_, Self>, held: Held<'_>);
    }
}

#[macro_export]
macro_rules! impl_has_event {
    ($($all:tt)*) => {};
}
