// SPDX-License-Identifier: GPL-2.0

//! The part of a kind of dynamic events that its events refer to.

use crate::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    types::Opaque, //
};
use core::marker::PhantomData;

/// A kind of dynamic events, each of which consists of a `T`.
///
/// [`builtin`](crate::trace::builtin) has an example.
///
/// # Invariants
///
/// `ops` is initialised, and C's once `registered` is set.
pub struct Kind<T> {
    pub(super) ops: Opaque<bindings::dyn_event_operations>,
    pub(super) registered: Atomic<bool>,
    /// No subtype of `T` is taken for it, nor the other way round: each has functions of its own.
    pub(super) _events: PhantomData<fn(T) -> T>,
}

// SAFETY: `ops` is only changed by C, which locks.
unsafe impl<T> Sync for Kind<T> {}

impl<T> Kind<T> {
    pub(in crate::trace) fn is_registered(&self) -> bool {
        self.registered.load(Relaxed)
    }

    pub(in crate::trace) fn as_raw(&self) -> *mut bindings::dyn_event_operations {
        self.ops.get()
    }
}
