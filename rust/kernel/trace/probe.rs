// SPDX-License-Identifier: GPL-2.0

//! Probes: functions of Rust that tracepoints call.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use super::tracepoint::{
    self,
    Tracepoint, //
};
use crate::{
    bindings,
    prelude::*, //
};
use core::marker::{
    PhantomData,
    PhantomPinned, //
};

pub use macros::foreign_tracepoint;

/// A tracepoint whose arguments are known.
///
/// Made by [`trace_event!`](super::trace_event) for what that declares, and by
/// [`foreign_tracepoint!`] for what is defined elsewhere.
///
/// # Safety
///
/// [`function`](Self::function) returns an `unsafe extern "C" fn` of the prototype that all probes
/// of [`tracepoint`](Self::tracepoint) have, which takes its data for an `F` and calls it with the
/// arguments.
pub unsafe trait Event: 'static {
    /// The arguments.
    type Args<'a>;

    /// The tracepoint.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none.
    fn tracepoint() -> Result<&'static Tracepoint>;

    /// The probe that calls an `F`.
    fn function<F>() -> *const ()
    where
        F: for<'a> Fn(Self::Args<'a>) + Sync + 'static;
}

/// The priority that probes have if none is asked for.
pub const DEFAULT_PRIORITY: i32 = bindings::TRACEPOINT_DEFAULT_PRIO as i32;

/// A probe that is attached to the tracepoint `E`, and calls `F` each time this is hit.
///
/// The closure is called with preemption disabled, in whatever context the tracepoint is hit: it
/// may be an interrupt or an NMI, with locks held. It must not sleep. A probe that hits its own
/// tracepoint is called again.
///
/// Dropping it detaches the probe, and waits until it does not run any more. That sleeps.
///
/// # Examples
///
/// Counts how often a task is woken up.
///
/// ```
/// use kernel::{
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     },
///     task::Task,
///     trace::probe::{
///         foreign_tracepoint,
///         Registration, //
///     },
/// };
///
/// foreign_tracepoint! {
///     // SAFETY: This is the prototype in `include/trace/events/sched.h`.
///     unsafe tracepoint sched_wakeup(task: &Task);
/// }
///
/// static WAKEUPS: Atomic<u64> = Atomic::new(0);
///
/// let probe = KBox::pin_init(
///     Registration::<sched_wakeup, _>::new(|(_task,)| {
///         WAKEUPS.fetch_add(1, Relaxed);
///     }),
///     GFP_KERNEL,
/// )?;
/// // The probe counts until here.
/// drop(probe);
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// The function of `E` for `F` is attached to `tracepoint`, with the address of `closure`.
#[pin_data(PinnedDrop)]
pub struct Registration<E: Event, F> {
    tracepoint: &'static Tracepoint,
    function: *const (),
    closure: F,
    attached: (),
    #[pin]
    _pin: PhantomPinned,
    _event: PhantomData<E>,
}

// SAFETY: The closure is dropped and called by other threads, which its own traits allow. The
// pointer is that of a function.
unsafe impl<E: Event, F: Send + Sync> Send for Registration<E, F> {}
// SAFETY: There is nothing that a reference could be used for but the closure, which is `Sync`.
unsafe impl<E: Event, F: Sync> Sync for Registration<E, F> {}

impl<E: Event, F> Registration<E, F>
where
    F: for<'a> Fn(E::Args<'a>) + Send + Sync + 'static,
{
    /// Attaches `closure`.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is no such tracepoint, `ENOMEM`, or what the tracepoint has to say when
    /// its first probe comes.
    pub fn new(closure: F) -> impl PinInit<Self, Error> {
        Self::with_priority(closure, DEFAULT_PRIORITY)
    }

    /// Attaches `closure`, to be called before the probes of a lower priority and after those of
    /// a higher one. Of the same priority, those that came first are called first.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_priority(closure: F, priority: i32) -> impl PinInit<Self, Error> {
        try_pin_init!(&this in Self {
            tracepoint: E::tracepoint()?,
            function: E::function::<F>(),
            closure,
            _pin: PhantomPinned,
            _event: PhantomData,
            // INVARIANT: It is attached if this succeeds. It comes last, as it can be called from
            // then on.
            attached: {
                let this = this.as_ptr();
                // SAFETY: All fields but this one were initialised.
                let (tracepoint, function, closure) = unsafe {
                    ((*this).tracepoint, (*this).function, &raw mut (*this).closure)
                };

                // SAFETY: By the safety requirements of `Event` the function has the prototype of
                // the tracepoint, and takes the closure, which is pinned and is only dropped when
                // the probe was waited for.
                unsafe {
                    tracepoint.add_probe_prio(function.cast_mut().cast(), closure.cast(), priority)
                }?
            },
        }? Error)
    }

    /// What is called.
    pub fn closure(&self) -> &F {
        &self.closure
    }
}

#[pinned_drop]
impl<E: Event, F> PinnedDrop for Registration<E, F> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };

        this.tracepoint.remove_probe(
            this.function.cast_mut().cast(),
            (&raw mut this.closure).cast(),
        );
        tracepoint::synchronize();
    }
}

/// Finds a tracepoint of the kernel proper by its name. Those of modules are not found.
pub(super) fn find(name: &CStr) -> Option<&'static Tracepoint> {
    struct Search<'a> {
        name: &'a CStr,
        found: Option<&'static Tracepoint>,
    }

    /// # Safety
    ///
    /// `tracepoint` must be one of the kernel proper, and `data` a `Search`.
    unsafe extern "C" fn look(tracepoint: *mut bindings::tracepoint, data: *mut c_void) {
        // SAFETY: The caller promises this, and that nobody else accesses it.
        let search = unsafe { &mut *data.cast::<Search<'_>>() };
        // SAFETY: A tracepoint of the kernel proper has a name, for good.
        let name = unsafe { CStr::from_char_ptr((*tracepoint).name) };

        if name == search.name {
            // SAFETY: It is there for good.
            search.found = Some(unsafe { Tracepoint::from_raw(tracepoint) });
        }
    }

    let mut search = Search { name, found: None };
    // SAFETY: C calls the function with each tracepoint of the kernel proper, before it returns.
    unsafe {
        bindings::for_each_kernel_tracepoint(Some(look), (&raw mut search).cast());
    }
    search.found
}
