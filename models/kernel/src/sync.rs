// SPDX-License-Identifier: GPL-2.0

//! Locks, references and barriers.

pub mod atomic;
mod lock;
pub mod rcu;
pub mod seqlock;

include!(concat!(env!("OUT_DIR"), "/set_once.rs"));

pub use lock::{
    Guard,
    Mutex,
    RwHold,
    RwLock,
    RwReadGuard,
    RwWriteGuard,
    SpinLock, //
};
pub use seqlock::SeqCount;
pub use set_once::SetOnce;

use crate::{
    alloc::Flags,
    error::Result,
    init::Init,
    model, //
};
use std::{
    ops::Deref,
    pin::Pin, //
};

/// Barriers.
pub mod barrier {
    use super::atomic::fence;
    use crate::model;
    use std::sync::atomic::Ordering;

    /// Orders loads.
    pub struct Read;
    /// Orders stores.
    pub struct Write;
    /// Orders everything.
    pub use super::atomic::Full;

    /// The ordering of a barrier.
    pub trait Barrier {
        #[doc(hidden)]
        const ORDER: Ordering;
    }
    impl Barrier for Read {
        const ORDER: Ordering = Ordering::Acquire;
    }
    impl Barrier for Write {
        const ORDER: Ordering = Ordering::Release;
    }
    impl Barrier for Full {
        const ORDER: Ordering = Ordering::SeqCst;
    }

    /// Executes a barrier between CPUs.
    #[track_caller]
    pub fn smp_mb<B: Barrier>(_: B) {
        fence(B::ORDER);
        model::note(|| format!("fence {:?}", B::ORDER));
    }
}

/// A reference that is counted. The count is not a part of the model.
pub struct Arc<T: ?Sized>(std::sync::Arc<T>);

impl<T> Arc<T> {
    /// Allocates a value.
    pub fn new(value: T, _: Flags) -> Result<Self> {
        Ok(Self(std::sync::Arc::new(value)))
    }

    /// Allocates what is initialised in place.
    pub fn pin_init(init: impl Init<T>, flags: Flags) -> Result<Self> {
        Self::new(init.make()?, flags)
    }

    /// Returns `true` if both are the same.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&this.0, &other.0)
    }

    /// Returns the address of the value.
    pub fn as_ptr(this: &Self) -> *const T {
        std::sync::Arc::as_ptr(&this.0)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A borrowed [`Arc`].
pub struct ArcBorrow<'a, T>(&'a Arc<T>);

impl<T> Arc<T> {
    /// Borrows the value.
    pub fn as_arc_borrow(&self) -> ArcBorrow<'_, T> {
        ArcBorrow(self)
    }
}

impl<T> From<ArcBorrow<'_, T>> for Arc<T> {
    fn from(borrowed: ArcBorrow<'_, T>) -> Self {
        borrowed.0.clone()
    }
}

impl<T> Deref for ArcBorrow<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

pub mod aref {
    /// A reference to what counts its references itself.
    pub struct ARef<T>(T);

    impl<T> ARef<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(value)
        }
    }

    impl<T> std::ops::Deref for ARef<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }
}

impl<T> From<Pin<Arc<T>>> for Arc<T> {
    fn from(pinned: Pin<Arc<T>>) -> Self {
        // SAFETY: The value does not move.
        unsafe { Pin::into_inner_unchecked(pinned) }
    }
}
