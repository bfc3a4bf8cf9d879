// SPDX-License-Identifier: GPL-2.0

//! Events without records, as code that is built in has them.

pub use crate::impl_has_event;

pub mod snapshot;

pub mod context {
    /// Size of the name of a task.
    pub const COMM_LEN: usize = 16;
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
    use super::dynevent::Kind;
    use crate::{
        error::Result,
        sync::ArcBorrow,
        trace::event_mutex::Held, //
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
        /// Creates an event that is not enabled.
        ///
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
