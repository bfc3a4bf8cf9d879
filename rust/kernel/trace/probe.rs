// SPDX-License-Identifier: GPL-2.0

//! Probes: functions of Rust that tracepoints call.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use super::{
    module_ref::ModuleRef,
    tracepoint::{
        self,
        Tracepoint, //
    },
};
use crate::{
    bindings,
    prelude::*,
    ThisModule, //
};
use core::marker::{
    PhantomData,
    PhantomPinned, //
};

#[cfg(CONFIG_MODULES)]
mod module_watch;

#[cfg(CONFIG_MODULES)]
pub use self::module_watch::{
    Change,
    ModuleTracepoints,
    ModuleWatch, //
};

/// Declares tracepoints that are defined elsewhere, to attach probes to them.
///
/// Each is `unsafe tracepoint name(argument: Type, ..);`, with `faultable` in front of `tracepoint`
/// if its probes may fault.
///
/// # Safety
///
/// The compiler cannot see what a tracepoint of C has for arguments. Who writes `unsafe` promises
/// of every tracepoint that is found by this name, in the kernel proper or in whichever module has
/// it when a probe is attached:
///
/// - It is one of C, or one of Rust that is declared with `export`.
/// - Its prototype is that of C without the data in front: as many arguments, in this order, each
///   of a type that is a [`CArgument`](super::CArgument) for the one in C. A pointer to `const`
///   in C is a `const` reference: `name: const &Type`.
/// - It is `faultable` if it is one in C (`TRACE_EVENT_SYSCALL()`), and not otherwise.
/// - An argument that is a reference is never `NULL`, or it is an `Option`. What it refers to is a
///   valid value of the type, and is there and shared for the whole of the call, or for good if the
///   lifetime is `'static`.
///
/// The same goes for the arguments of an `unsafe custom event` in
/// [`trace_event!`](super::trace_event).
///
/// With `CONFIG_CFI` the kernel stops if the types are not those of the prototype in C.
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
    /// - `ENOENT` if there is none.
    /// - `ENODEV` if it is one of a module that is still being initialised or on its way out.
    fn tracepoint() -> Result<Found>;

    /// The probe that calls an `F`.
    fn function<F>() -> *const ()
    where
        F: for<'a> Fn(Self::Args<'a>) + Sync + 'static;
}

/// A tracepoint that a probe can be attached to.
///
/// # Invariants
///
/// `tracepoint` is there as long as this.
pub struct Found {
    tracepoint: &'static Tracepoint,
    /// The reference that keeps the module of the tracepoint loaded. `None` if that module is the
    /// caller's.
    module: Option<ModuleRef>,
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.tracepoint, other.tracepoint)
    }
}

impl Found {
    /// A tracepoint that is there as long as the code which asks.
    #[doc(hidden)]
    pub fn own(tracepoint: &'static Tracepoint) -> Self {
        // INVARIANT: It is there for good, or with the module of who has this.
        Self {
            tracepoint,
            module: None,
        }
    }

    /// The tracepoint that C has.
    #[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
    pub(super) fn as_raw(&self) -> *mut bindings::tracepoint {
        self.tracepoint.as_raw()
    }
}

/// The priority that probes have if none is asked for.
pub const DEFAULT_PRIORITY: i32 = bindings::TRACEPOINT_DEFAULT_PRIO as i32;

/// A probe that is attached to the tracepoint `E`, and calls `F` each time this is hit.
///
/// The closure is called with preemption disabled, in whatever context the tracepoint is hit: it
/// may be an interrupt or an NMI, with locks held. It must not sleep, unless the tracepoint is
/// declared as `faultable`: then it is called in a task, as a reader of Tasks Trace RCU. A probe
/// that hits its own tracepoint is called again.
///
/// Dropping it detaches the probe, and waits until it does not run any more. That sleeps, for two
/// grace periods; [`detach_all`] waits once for several ones. A probe,
/// even one that may sleep, must not drop one, nor switch a custom event off: it would wait for
/// itself.
///
/// A tracepoint of a module has to be there when the probe is attached. The module cannot be
/// unloaded as long as it is.
///
/// The functions that a tracepoint has for its first and its last probe, such as those behind
/// `attach:` and `detach:` in [`trace_event!`](super::trace_event), are called with the lock held
/// that attaching and detaching takes, and often with `event_mutex`. So nothing must be done there
/// that takes one of them, as it is a deadlock: neither a probe nor a [`ModuleWatch`] be made or
/// dropped, nor an event be switched, found or bound.
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
/// If `attached` the function of `E` for `F` is attached to `tracepoint`, with the address of
/// `closure`; or it was, and who has changed that is about to wait for it.
#[pin_data(PinnedDrop)]
pub struct Registration<E: Event, F> {
    tracepoint: Found,
    function: *const (),
    closure: F,
    attached: bool,
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
    /// - `ENOENT` if there is no such tracepoint.
    /// - `EEXIST` if the kernel proper has none, and several modules have one of this name.
    /// - `ENODEV` if it is one of a module that is still being initialised or on its way out.
    /// - `ENOMEM`.
    /// - What the tracepoint has to say when its first probe comes.
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
                    ((*this).tracepoint.tracepoint, (*this).function, &raw mut (*this).closure)
                };

                // SAFETY: By the safety requirements of `Event` the function has the prototype of
                // the tracepoint, and takes the closure, which is pinned and is only dropped when
                // the probe was waited for.
                unsafe {
                    tracepoint.add_probe_prio(function.cast_mut().cast(), closure.cast(), priority)
                }?;
                true
            },
        }? Error)
    }

    /// Returns the closure that is called.
    pub fn closure(&self) -> &F {
        &self.closure
    }
}

#[pinned_drop]
impl<E: Event, F> PinnedDrop for Registration<E, F> {
    fn drop(self: Pin<&mut Self>) {
        if self.attached {
            // SAFETY: It is waited for below.
            unsafe { self.detach() };
            tracepoint::synchronize();
        }
    }
}

mod private {
    /// Has others not implement [`Probe`](super::Probe).
    pub trait Sealed {}
}

impl<E: Event, F> private::Sealed for Registration<E, F> {}

/// A [`Registration`], of whatever tracepoint and closure. Nothing else implements it.
pub trait Probe: private::Sealed {
    /// Detaches the probe, if it is attached.
    ///
    /// # Safety
    ///
    /// It must be waited for before the registration is dropped or used.
    #[doc(hidden)]
    unsafe fn detach(self: Pin<&mut Self>);
}

impl<E: Event, F> Probe for Registration<E, F> {
    unsafe fn detach(self: Pin<&mut Self>) {
        // SAFETY: Nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };

        if this.attached {
            // INVARIANT: The caller promises to wait.
            this.attached = false;
            this.tracepoint.tracepoint.remove_probe(
                this.function.cast_mut().cast(),
                (&raw mut this.closure).cast(),
            );
        }
    }
}

/// Detaches several probes, and waits until none of them runs any more: once, whereas dropping them
/// would wait for each. What is dropped afterwards does not wait. Sleeps.
///
/// # Examples
///
/// ```
/// use kernel::{
///     task::Task,
///     trace::probe::{
///         detach_all,
///         foreign_tracepoint,
///         Probe,
///         Registration, //
///     },
/// };
///
/// foreign_tracepoint! {
///     // SAFETY: These are the prototypes in `include/trace/events/sched.h`.
///     unsafe tracepoint sched_wakeup(task: &Task);
///     unsafe tracepoint sched_wakeup_new(task: &Task);
/// }
///
/// let mut old = KBox::pin_init(Registration::<sched_wakeup, _>::new(|_| ()), GFP_KERNEL)?;
/// let mut new = KBox::pin_init(Registration::<sched_wakeup_new, _>::new(|_| ()), GFP_KERNEL)?;
/// let probes: [Pin<&mut dyn Probe>; 2] = [old.as_mut(), new.as_mut()];
///
/// detach_all(probes);
/// # Ok::<(), Error>(())
/// ```
pub fn detach_all<'a>(probes: impl IntoIterator<Item = Pin<&'a mut dyn Probe>>) {
    let mut any = false;

    for probe in probes {
        // SAFETY: It is borrowed until this returns, so nobody drops it before that, and it is
        // waited for below.
        unsafe { probe.detach() };
        any = true;
    }
    if any {
        tracepoint::synchronize();
    }
}

/// Finds a tracepoint by its name, in the kernel proper or in a module, which is pinned; but not in
/// `owner`, the module of the caller.
///
/// # Errors
///
/// - `ENOENT` if there is none.
/// - `EEXIST` if the kernel proper has none, and several modules have one.
/// - `ENODEV` if the module is still being initialised or on its way out.
#[inline(never)]
pub(super) fn find(name: &CStr, owner: &'static ThisModule) -> Result<Found> {
    let mut search = Search {
        name,
        owner: owner.as_ptr(),
        found: Err(ENOENT),
    };
    let data = (&raw mut search).cast();

    // SAFETY: C calls the function with each tracepoint of the kernel proper, before it returns.
    unsafe { bindings::for_each_kernel_tracepoint(Some(look), data) };
    #[cfg(CONFIG_MODULES)]
    if search.found == Err(ENOENT) {
        // SAFETY: C calls the function with each tracepoint of modules, with these kept, before it
        // returns.
        unsafe { bindings::for_each_module_tracepoint(Some(look_in_module), data) };
    }
    search.found
}

/// Finds a tracepoint of the kernel proper by its name. Those of modules are not found.
#[inline(never)]
pub(super) fn find_built_in(name: &CStr) -> Option<&'static Tracepoint> {
    let mut search = Search {
        name,
        owner: core::ptr::null_mut(),
        found: Err(ENOENT),
    };

    // SAFETY: C calls the function with each tracepoint of the kernel proper, before it returns.
    unsafe { bindings::for_each_kernel_tracepoint(Some(look), (&raw mut search).cast()) };
    search.found.ok().map(|found| found.tracepoint)
}

/// A search for a tracepoint.
struct Search<'a> {
    name: &'a CStr,
    owner: *mut bindings::module,
    found: Result<Found>,
}

impl Search<'_> {
    /// # Safety
    ///
    /// `tracepoint` must be one of `module`, which is null or not freed meanwhile.
    unsafe fn look(
        &mut self,
        tracepoint: *mut bindings::tracepoint,
        module: *mut bindings::module,
    ) {
        // SAFETY: What is in the section of tracepoints has a name, which is there as long.
        if unsafe { CStr::from_char_ptr((*tracepoint).name) } != self.name {
            return;
        }
        if self.found != Err(ENOENT) {
            // They may have different prototypes.
            self.found = Err(EEXIST);
            return;
        }
        // SAFETY: It is there as long as its module, which is kept below or by the owner.
        let mut found = Found::own(unsafe { Tracepoint::from_raw(tracepoint) });

        if module != self.owner {
            // SAFETY: By the safety requirements, `module` is null or not freed concurrently.
            found.module = unsafe { ModuleRef::get_raw(module) };
            if found.module.is_none() {
                self.found = Err(ENODEV);
                return;
            }
        }
        // INVARIANT: The module is kept, unless it is that of who has this.
        self.found = Ok(found);
    }
}

/// # Safety
///
/// `tracepoint` must be one of the kernel proper, and `data` a `Search`.
unsafe extern "C" fn look(tracepoint: *mut bindings::tracepoint, data: *mut c_void) {
    // SAFETY: By the safety requirements, `data` is a `Search` and `tracepoint` one of the kernel
    // proper. No other code accesses the search.
    unsafe { (*data.cast::<Search<'_>>()).look(tracepoint, core::ptr::null_mut()) };
}

/// # Safety
///
/// `tracepoint` must be one of `module`, which is not freed meanwhile, and `data` a `Search`.
#[cfg(CONFIG_MODULES)]
unsafe extern "C" fn look_in_module(
    tracepoint: *mut bindings::tracepoint,
    module: *mut bindings::module,
    data: *mut c_void,
) {
    // SAFETY: By the safety requirements, `data` is a `Search` and `tracepoint` one of `module`. No
    // other code accesses the search.
    unsafe { (*data.cast::<Search<'_>>()).look(tracepoint, module) };
}
