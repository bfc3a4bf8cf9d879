// SPDX-License-Identifier: GPL-2.0

//! The mutex of the event tracing core.
//!
//! `event_mutex` serialises what creates, removes, enables and lists trace events. It belongs to C;
//! here are a guard for code that takes it, and a token for code that needs it held, which
//! callbacks that C calls with it held can have as well.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use super::raw;
use crate::types::NotThreadSafe;
use core::marker::PhantomData;

/// Holds `event_mutex` until it is dropped.
///
/// # Invariants
///
/// The current task has locked `event_mutex` for this instance.
#[must_use = "the mutex is unlocked at once if the guard is not kept"]
pub struct Guard(NotThreadSafe);

/// Locks `event_mutex`. Sleeps.
///
/// # Examples
///
/// ```
/// use kernel::trace::event_mutex::{self, Held};
///
/// fn needs_it(_held: Held<'_>) {}
///
/// let guard = event_mutex::lock();
/// needs_it(guard.held());
/// ```
pub fn lock() -> Guard {
    raw::event_mutex_lock();
    // INVARIANT: Just locked.
    Guard(NotThreadSafe)
}

impl Guard {
    /// Returns the token for functions that need the mutex held.
    #[inline]
    pub fn held(&self) -> Held<'_> {
        // INVARIANT: By the invariant of `Guard`; the token borrows from the guard.
        Held(PhantomData)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: By the invariant of `Guard` the current task has it locked.
        unsafe { raw::event_mutex_unlock() };
    }
}

/// Evidence that the current task holds `event_mutex`.
///
/// # Invariants
///
/// `event_mutex` is held by the current task during `'a`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Held<'a>(PhantomData<&'a Guard>);

impl<'a> Held<'a> {
    /// Creates a token in a callback that C calls with the mutex held.
    ///
    /// # Safety
    ///
    /// The current task must hold `event_mutex` during `'a`.
    #[inline]
    pub unsafe fn assume() -> Self {
        raw::event_mutex_assert_held();
        // INVARIANT: By the safety requirements, the current task holds `event_mutex` during `'a`.
        Held(PhantomData)
    }
}
