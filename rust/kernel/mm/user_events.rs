// SPDX-License-Identifier: GPL-2.0

//! The object that user_events has for an address space.
//!
//! The field `user_events` of an `mm_struct` is null or owns an object, whose type only the
//! implementation of user_events knows. It is set once and cleared after the last user of the
//! address space has exited. So a user of the address space reads it without a lock.
//!
//! C header: [`include/linux/mm_types.h`](srctree/include/linux/mm_types.h)

use super::{
    Mm,
    MmWithUser, //
};
use crate::{
    bindings,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full, //
        },
        Arc,
        ArcBorrow, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
};

/// Access to the objects of all address spaces, which are of the type `T`.
///
/// # Invariants
///
/// The field of an `mm_struct` is null or an address that [`Arc::into_raw`] has returned for an
/// `Arc<T>`. The reference belongs to the `mm_struct`.
pub struct UserEventsSlot<T>(
    // No subtype of `T` is taken for it, nor the other way round: one could be read as the other.
    PhantomData<fn(Arc<T>) -> Arc<T>>,
);

impl<T: Send + Sync + 'static> UserEventsSlot<T> {
    /// Creates the access.
    ///
    /// # Safety
    ///
    /// All objects of this type in the kernel must have the same `T`, and C code must do no more
    /// with the field than initialise it as null and compare it with null.
    pub const unsafe fn new() -> Self {
        // INVARIANT: By the safety requirements, only `set` stores anything except null, which is
        // from an `Arc<T>`.
        Self(PhantomData)
    }

    /// Returns the object of an address space, if it has one.
    pub fn get(&self, mm: &MmWithUser) -> Option<Arc<T>> {
        let object = NonNull::new(field(mm).load(Acquire))?;

        // SAFETY: By the type invariant, it is from `Arc::into_raw`. The reference of the
        // `mm_struct` is taken back by `take` only, which is not called while `mm` has a user.
        Some(unsafe { ArcBorrow::<'_, T>::from_raw(object.as_ptr().cast()) }.into())
    }

    /// Attaches an object to an address space.
    ///
    /// # Errors
    ///
    /// Returns `object` if the address space has one already.
    pub fn set(&self, mm: &MmWithUser, object: Arc<T>) -> Result<(), Arc<T>> {
        let object = Arc::into_raw(object);

        // INVARIANT: It is from an `Arc<T>`, whose reference is the one of the `mm_struct` now.
        match field(mm).cmpxchg(ptr::null_mut(), object.cast_mut().cast(), Full) {
            Ok(_) => Ok(()),
            Err(_) => {
                // SAFETY: It is from `Arc::into_raw`, and the reference was not stored.
                Err(unsafe { Arc::from_raw(object) })
            }
        }
    }

    /// Detaches the object of an address space, if it has one.
    ///
    /// # Safety
    ///
    /// `mm` must have no user now or later.
    pub unsafe fn take(&self, mm: &Mm) -> Option<Arc<T>> {
        let object = NonNull::new(field(mm).xchg(ptr::null_mut(), Full))?;

        // SAFETY: By the type invariant, it is from `Arc::into_raw`. The reference was the one of
        // the `mm_struct`, whose field is null now. No user of `mm` borrows it now.
        Some(unsafe { Arc::from_raw(object.as_ptr().cast()) })
    }
}

/// Returns the field of `mm`.
fn field(mm: &Mm) -> &Atomic<*mut bindings::user_event_mm> {
    // SAFETY: `mm` is a valid `mm_struct`, and so is the pointer to its field.
    let field = unsafe { &raw mut (*mm.as_raw()).__bindgen_anon_1.user_events };

    // SAFETY: The field is aligned and lives as long as `mm`. It was initialised before the
    // `mm_struct` was shared. By the safety requirements of `UserEventsSlot::new`, only this module
    // writes it since then, and C only compares it with null.
    unsafe { Atomic::from_ptr(field) }
}
