// SPDX-License-Identifier: GPL-2.0

//! Snapshots of the buffer of an instance that are taken on a condition.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    trace::{
        event_mutex::Held,
        instance::{
            Instance,
            InstanceRef, //
        },
        trigger::{
            synchronize,
            Hit, //
        },
    },
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData, //
};

/// The condition of snapshots.
pub trait Condition: Send + Sync + 'static {
    /// The argument of the condition.
    type Context;

    /// Returns `true` if a snapshot is to be taken now. The condition can then record the reason.
    ///
    /// Called with interrupts disabled and with a spin lock of the instance held, so by one CPU at
    /// a time. Must be short, and not take locks, sleep or allocate.
    fn update(&self, context: &Self::Context) -> bool;
}

/// A condition that is in force for an instance. An instance has at most one at a time.
///
/// It also keeps user space from removing the instance.
///
/// # Invariants
///
/// - `instance` is accessed with `event_mutex` held, or exclusively.
/// - If `instance` is present, C has `condition`, and its `update()`, for the condition of `array`,
///   which is that instance.
/// - `active` is not set unless an instance is present; before the instance is removed, it is
///   cleared, and hits that have seen it set are over.
pub struct ConditionalSnapshot<T: Condition> {
    condition: Arc<T>,
    array: *mut bindings::trace_array,
    active: Atomic<bool>,
    instance: UnsafeCell<Option<InstanceRef>>,
    /// No subtype of `T` is taken for it, nor the other way round: each has a context of its own.
    _condition: PhantomData<fn(T) -> T>,
}

// SAFETY: The condition is `Send` and `Sync`, and so is the reference to the instance.
unsafe impl<T: Condition> Send for ConditionalSnapshot<T> {}
// SAFETY: As above; what is in the cell is protected by `event_mutex`.
unsafe impl<T: Condition> Sync for ConditionalSnapshot<T> {}

impl<T: Condition> ConditionalSnapshot<T> {
    /// Enables a condition, and allocates a buffer for the snapshot. Sleeps: takes
    /// `trace_types_lock`.
    ///
    /// # Errors
    ///
    /// - `EBUSY` if the instance has a condition already, the current tracer uses the snapshot
    ///   buffer, or the buffer is mapped.
    /// - `ENOMEM`.
    /// - `ENODEV` if the kernel has no snapshots (`CONFIG_TRACER_SNAPSHOT`), or has the histograms
    ///   in C, which take all conditions for theirs.
    /// - As [`Instance::pin`].
    pub fn enable(instance: Instance<'_>, condition: Arc<T>) -> Result<Self> {
        if cfg!(CONFIG_HIST_TRIGGERS) && !cfg!(CONFIG_HIST_TRIGGERS_RUST) {
            return Err(ENODEV);
        }
        let pin = instance.pin()?;
        let array = pin.as_raw();

        // SAFETY: The instance is pinned until after the condition is taken back, or an error is
        // returned. The condition is not freed before, and `update` takes a `T`.
        to_result(unsafe {
            enable(
                array,
                Arc::as_ptr(&condition).cast_mut().cast(),
                update::<T>,
            )
        })?;
        // INVARIANT: C has it now, and the instance is pinned.
        Ok(Self {
            condition,
            array,
            active: Atomic::new(true),
            instance: UnsafeCell::new(Some(pin)),
            _condition: PhantomData,
        })
    }

    /// Returns the condition.
    #[inline]
    pub fn condition(&self) -> &T {
        &self.condition
    }

    /// Takes a snapshot if the condition is met.
    ///
    /// None is taken in NMI context, or if it was [disabled](Self::disable).
    #[inline]
    pub fn fire(&self, _hit: &Hit<'_>, context: &T::Context) {
        if self.active.load(Relaxed) {
            // SAFETY: By the type invariant the instance is valid until this hit is over, and C
            // passes the context to the `update` of our condition.
            unsafe { fire(self.array, core::ptr::from_ref(context).cast_mut().cast()) };
        }
    }

    /// Disables the condition, so that the instance can be removed. Calling it again does nothing.
    ///
    /// Sleeps, as it waits for hits that may be in [`fire`](Self::fire).
    pub fn disable(&self, _held: Held<'_>) {
        // SAFETY: `event_mutex` is held. No reference to the instance is given away.
        let Some(instance) = (unsafe { (*self.instance.get()).take() }) else {
            return;
        };
        self.active.store(false, Relaxed);
        // INVARIANT: Those hits are over that have seen it set.
        synchronize();
        take_back(instance);
    }
}

impl<T: Condition> Drop for ConditionalSnapshot<T> {
    fn drop(&mut self) {
        // No CPU is still in `fire`, which borrows.
        if let Some(instance) = self.instance.get_mut().take() {
            take_back(instance);
        }
    }
}

/// Called by C to find out if a snapshot is to be taken.
///
/// # Safety
///
/// `array` must be an instance with a condition of type `T`, whose lock is held. `context` must be
/// null, or what `fire` was given for that condition.
unsafe extern "C" fn update<T: Condition>(
    array: *mut bindings::trace_array,
    context: *mut c_void,
) -> bool {
    // A request for a snapshot without the condition. Such a snapshot would overwrite the one that
    // the condition remembers.
    if context.is_null() {
        return false;
    }
    // SAFETY: By the safety requirements, the condition is a `T`, and `context` is null or the
    // argument of `fire`. An enabled condition is not freed.
    let (condition, context) = unsafe {
        (
            &*condition_of(array).cast::<T>(),
            &*context.cast::<T::Context>(),
        )
    };

    condition.update(context)
}

/// Returns the pointer that `enable` registered for the condition of an instance.
///
/// # Safety
///
/// `array` must be an instance with a condition, whose lock is held.
unsafe fn condition_of(array: *mut bindings::trace_array) -> *mut c_void {
    // SAFETY: By the safety requirements, `array` is an instance with a condition, whose lock is
    // held.
    #[cfg(CONFIG_TRACER_SNAPSHOT)]
    unsafe {
        (*(*array).cond_snapshot).cond_data
    }
    // No instance has a condition.
    #[cfg(not(CONFIG_TRACER_SNAPSHOT))]
    array.cast()
}

/// Disables the condition of an instance, which must be that of the caller and not be in use.
fn take_back(instance: InstanceRef) {
    // SAFETY: The instance is pinned.
    #[cfg(CONFIG_TRACER_SNAPSHOT)]
    unsafe {
        bindings::tracing_snapshot_cond_disable(instance.as_raw());
    }
    drop(instance);
}

/// Enables a condition, or fails with `ENODEV` in a kernel without snapshots.
///
/// # Safety
///
/// `array` must exist, and `data` be valid for `update` until the condition is disabled.
unsafe fn enable(
    array: *mut bindings::trace_array,
    data: *mut c_void,
    update: unsafe extern "C" fn(*mut bindings::trace_array, *mut c_void) -> bool,
) -> c_int {
    // SAFETY: By the safety requirements, `array` exists, and `data` is valid for `update` until
    // the condition is disabled.
    #[cfg(CONFIG_TRACER_SNAPSHOT)]
    unsafe {
        bindings::tracing_snapshot_cond_enable(array, data, Some(update))
    }
    #[cfg(not(CONFIG_TRACER_SNAPSHOT))]
    {
        let _ = (array, data, update);
        ENODEV.to_errno()
    }
}

/// Evaluates the condition, and takes a snapshot if it is met.
///
/// # Safety
///
/// `array` must be valid, and `context` what the `update` of its condition takes.
unsafe fn fire(array: *mut bindings::trace_array, context: *mut c_void) {
    // SAFETY: By the safety requirements, `array` exists, and `context` is valid for the `update`
    // of its condition.
    #[cfg(CONFIG_TRACER_SNAPSHOT)]
    unsafe {
        bindings::tracing_snapshot_cond(array, context);
    }
    #[cfg(not(CONFIG_TRACER_SNAPSHOT))]
    let _ = (array, context);
}
