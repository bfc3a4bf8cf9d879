// SPDX-License-Identifier: GPL-2.0

//! Probes: functions of Rust that tracepoints call.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

#[cfg(CONFIG_MODULES)]
use super::raw;
use super::tracepoint::{
    self,
    Tracepoint, //
};
use crate::{
    bindings,
    module_ref::ModuleRef,
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

/// A tracepoint whose arguments are known.
///
/// [`trace_event!`](super::trace_event) creates such a type for what it declares, and
/// [`declare_trace!`](crate::tracepoint::declare_trace) for a tracepoint of C.
///
/// # Safety
///
/// [`function`](Self::function) returns an `unsafe extern "C" fn` of the prototype that all probes
/// of [`tracepoint`](Self::tracepoint) have, which takes its data for a `P` and hits it with the
/// arguments.
pub unsafe trait Target: 'static {
    /// The arguments.
    type Args<'a>;

    /// Returns the tracepoint.
    ///
    /// # Errors
    ///
    /// - `ENOENT` if it does not exist.
    /// - `EEXIST` if several have its name.
    /// - `ENODEV` if it is one of a module that is still being initialised or on its way out.
    fn tracepoint() -> Result<TracepointRef>;

    /// Returns the function that calls a `P` when the tracepoint is hit.
    fn function<P: Probe<Self>>() -> *const ()
    where
        Self: Sized;
}

/// The function that is called when the tracepoint `E` is hit.
///
/// It is called with preemption disabled, in whatever context the tracepoint is hit: that can be an
/// interrupt or an NMI, with locks held. It must not sleep, unless the tracepoint is declared as
/// `faultable`: then it is called in a task, as a reader of Tasks Trace RCU. A probe that hits its
/// own tracepoint is called again.
///
/// A closure that takes the arguments as a tuple is a probe as well.
///
/// # Examples
///
/// A structure of a driver with a probe that counts in it.
///
/// ```
/// use kernel::{
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     },
///     task::Task,
///     time::{
///         delay::fsleep,
///         Delta, //
///     },
///     trace::probe::{
///         Probe,
///         Registration, //
///     },
///     tracepoint::declare_trace, //
/// };
///
/// declare_trace! {
///     // SAFETY: The task exists while it is woken up.
///     #[by_name]
///     unsafe fn sched_wakeup(task: &Task);
/// }
///
/// struct Wakeups(Atomic<u64>);
///
/// impl Probe<sched_wakeup> for Wakeups {
///     fn hit(&self, (_task,): (&Task,)) {
///         self.0.fetch_add(1, Relaxed);
///     }
/// }
///
/// #[pin_data]
/// struct Device {
///     #[pin]
///     wakeups: Registration<sched_wakeup, Wakeups>,
/// }
///
/// let device = KBox::try_pin_init(
///     try_pin_init!(Device {
///         wakeups <- Registration::new(Wakeups(Atomic::new(0))),
///     }),
///     GFP_KERNEL,
/// )?;
/// // The end of it wakes this task up.
/// fsleep(Delta::from_millis(1));
/// assert!(device.wakeups.probe().0.load(Relaxed) > 0);
/// # Ok::<(), Error>(())
/// ```
pub trait Probe<E: Target>: Send + Sync + 'static {
    /// Called when the tracepoint is hit.
    fn hit(&self, args: E::Args<'_>);
}

impl<E: Target, F> Probe<E> for F
where
    F: for<'a> Fn(E::Args<'a>) + Send + Sync + 'static,
{
    #[inline(always)]
    fn hit(&self, args: E::Args<'_>) {
        self(args)
    }
}

/// A tracepoint that a probe can be attached to.
///
/// # Invariants
///
/// `tracepoint` is valid as long as this.
pub struct TracepointRef {
    tracepoint: &'static Tracepoint,
    /// The reference that keeps the module of the tracepoint loaded. `None` if that module is the
    /// caller's.
    module: Option<ModuleRef>,
}

impl PartialEq for TracepointRef {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.tracepoint, other.tracepoint)
    }
}

impl TracepointRef {
    /// Creates a reference to a tracepoint that exists as long as the code of the caller.
    #[doc(hidden)]
    pub fn own(tracepoint: &'static Tracepoint) -> Self {
        // INVARIANT: It is static, or valid as long as the module of the caller.
        Self {
            tracepoint,
            module: None,
        }
    }

    /// Returns the tracepoint of C.
    #[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
    pub(super) fn as_raw(&self) -> *mut bindings::tracepoint {
        self.tracepoint.as_raw()
    }
}

/// The priority that probes have if none is asked for.
pub const DEFAULT_PRIORITY: i32 = bindings::TRACEPOINT_DEFAULT_PRIO as i32;

/// A [`Probe`] that is attached to the tracepoint `E`.
///
/// Dropping it detaches the probe, and waits until it no longer runs. That sleeps, for two grace
/// periods; [`detach_all`] waits once for several ones. A probe, even one that may sleep, must not
/// drop one, nor switch a custom event off: it would wait for itself.
///
/// A tracepoint of a module has to exist when the probe is attached. The module cannot be unloaded
/// as long as it is.
///
/// The functions that a tracepoint has for its first and its last probe, such as those of `attach:`
/// and `detach:` in [`trace_event!`](super::trace_event), are called with the lock held that
/// attaching and detaching takes, and often with `event_mutex`. So nothing must be done there that
/// takes one of them, as it is a deadlock: neither a probe nor a [`ModuleWatch`] be created or
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
///     trace::probe::Registration,
///     tracepoint::declare_trace, //
/// };
///
/// declare_trace! {
///     // SAFETY: The task exists while it is woken up.
///     #[by_name]
///     unsafe fn sched_wakeup(task: &Task);
/// }
///
/// static WAKEUPS: Atomic<u64> = Atomic::new(0);
///
/// let probe = KBox::pin_init(
///     Registration::<sched_wakeup, _>::from_fn(|(_task,)| {
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
/// If `attached` the function of `E` for `P` is attached to `tracepoint`, with the address of
/// `probe`; or it was, and the code that has detached it is about to wait for it.
#[pin_data(PinnedDrop)]
pub struct Registration<E: Target, P> {
    tracepoint: TracepointRef,
    function: *const (),
    probe: P,
    attached: bool,
    #[pin]
    _pin: PhantomPinned,
    _event: PhantomData<E>,
}

// SAFETY: The probe is dropped and hit by other threads, which its own traits allow. The pointer is
// that of a function.
unsafe impl<E: Target, P: Send + Sync> Send for Registration<E, P> {}
// SAFETY: A reference only allows access to the probe, which is `Sync`.
unsafe impl<E: Target, P: Sync> Sync for Registration<E, P> {}

impl<E: Target, F> Registration<E, F>
where
    F: for<'a> Fn(E::Args<'a>) + Send + Sync + 'static,
{
    /// Attaches a closure, whose arguments need no types. Otherwise as [`new`](Self::new).
    pub fn from_fn(closure: F) -> impl PinInit<Self, Error> {
        Self::new(closure)
    }
}

impl<E: Target, P: Probe<E>> Registration<E, P> {
    /// Attaches `probe` to the tracepoint.
    ///
    /// # Errors
    ///
    /// - `ENOENT` if no such tracepoint exists.
    /// - `EEXIST` if the kernel proper has several of this name, or has none and several modules
    ///   have one.
    /// - `ENODEV` if it is one of a module that is still being initialised or on its way out.
    /// - `ENOMEM`.
    /// - The error that the tracepoint returns for its first probe.
    pub fn new(probe: P) -> impl PinInit<Self, Error> {
        Self::with_priority(probe, DEFAULT_PRIORITY)
    }

    /// Attaches `probe`, to be called before the probes of a lower priority and after those of a
    /// higher one. Probes of the same priority are called in the order they were attached in.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_priority(probe: P, priority: i32) -> impl PinInit<Self, Error> {
        try_pin_init!(&this in Self {
            tracepoint: E::tracepoint()?,
            function: E::function::<P>(),
            probe,
            _pin: PhantomPinned,
            _event: PhantomData,
            // INVARIANT: It is attached if this succeeds. This field is the last one, as the probe
            // can be called from then on.
            attached: {
                let this = this.as_ptr();
                // SAFETY: All fields but this one were initialised.
                let (tracepoint, function, probe) = unsafe {
                    ((*this).tracepoint.tracepoint, (*this).function, &raw mut (*this).probe)
                };

                // SAFETY: By the safety requirements of `Target` the function has the prototype of
                // the tracepoint, and takes the probe, which is pinned and is only dropped after it
                // was detached and waited for.
                unsafe {
                    tracepoint.add_probe_prio(function.cast_mut().cast(), probe.cast(), priority)
                }?;
                true
            },
        }? Error)
    }

    /// Returns the probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }
}

#[pinned_drop]
impl<E: Target, P> PinnedDrop for Registration<E, P> {
    fn drop(self: Pin<&mut Self>) {
        if self.attached {
            // SAFETY: It is waited for below.
            unsafe { self.detach() };
            tracepoint::synchronize();
        }
    }
}

mod private {
    /// Prevents other implementations of [`Attached`](super::Attached).
    pub trait Sealed {}
}

impl<E: Target, P> private::Sealed for Registration<E, P> {}

/// A [`Registration`] of any tracepoint and probe. Nothing else implements it.
pub trait Attached: private::Sealed {
    /// Detaches the probe, if it is attached.
    ///
    /// # Safety
    ///
    /// It must be waited for before the registration is dropped or used.
    #[doc(hidden)]
    unsafe fn detach(self: Pin<&mut Self>);
}

impl<E: Target, P> Attached for Registration<E, P> {
    unsafe fn detach(self: Pin<&mut Self>) {
        // SAFETY: Nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };

        if this.attached {
            // INVARIANT: By the safety requirements, the caller is about to wait.
            this.attached = false;
            this.tracepoint.tracepoint.remove_probe(
                this.function.cast_mut().cast(),
                (&raw mut this.probe).cast(),
            );
        }
    }
}

/// Detaches several probes, and waits once until none of them is running, whereas dropping them
/// would wait for each. Sleeps. Dropping them afterwards does not wait.
///
/// # Examples
///
/// ```
/// use kernel::{
///     task::Task,
///     trace::probe::{
///         detach_all,
///         Attached,
///         Registration, //
///     },
///     tracepoint::declare_trace, //
/// };
///
/// declare_trace! {
///     // SAFETY: The task exists while it is woken up.
///     #[by_name]
///     unsafe fn sched_wakeup(task: &Task);
///     // SAFETY: As above.
///     #[by_name]
///     unsafe fn sched_wakeup_new(task: &Task);
/// }
///
/// let mut old = KBox::pin_init(Registration::<sched_wakeup, _>::from_fn(|_| ()), GFP_KERNEL)?;
/// let mut new = KBox::pin_init(Registration::<sched_wakeup_new, _>::from_fn(|_| ()), GFP_KERNEL)?;
/// let probes: [Pin<&mut dyn Attached>; 2] = [old.as_mut(), new.as_mut()];
///
/// detach_all(probes);
/// # Ok::<(), Error>(())
/// ```
pub fn detach_all<'a>(probes: impl IntoIterator<Item = Pin<&'a mut dyn Attached>>) {
    let mut any = false;

    for probe in probes {
        // SAFETY: It is borrowed until this returns, so it is not dropped before that, and it is
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
/// - `ENOENT` if no tracepoint has this name.
/// - `EEXIST` if the kernel proper has several, or has none and several modules have one.
/// - `ENODEV` if the module is still being initialised or on its way out.
pub(super) fn find(name: &CStr, owner: &'static ThisModule) -> Result<TracepointRef> {
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
        unsafe { raw::for_each_module_tracepoint(Some(look_in_module), data) };
    }
    search.found
}

/// Finds a tracepoint of the kernel proper by its name. Those of modules are not found.
///
/// # Errors
///
/// - `ENOENT` if no tracepoint has this name.
/// - `EEXIST` if several have this name, which may have different prototypes.
pub(super) fn find_built_in(name: &CStr) -> Result<&'static Tracepoint> {
    let mut search = Search {
        name,
        owner: core::ptr::null_mut(),
        found: Err(ENOENT),
    };

    // SAFETY: C calls the function with each tracepoint of the kernel proper, before it returns.
    unsafe { bindings::for_each_kernel_tracepoint(Some(look), (&raw mut search).cast()) };
    search.found.map(|found| found.tracepoint)
}

/// A search for a tracepoint.
struct Search<'a> {
    name: &'a CStr,
    owner: *mut bindings::module,
    found: Result<TracepointRef>,
}

impl Search<'_> {
    /// Records the tracepoint if it has the wanted name, or an error if it is the second one.
    ///
    /// # Safety
    ///
    /// `tracepoint` must be one of `module`, which is null or not freed during the call.
    unsafe fn look(
        &mut self,
        tracepoint: *mut bindings::tracepoint,
        module: *mut bindings::module,
    ) {
        // SAFETY: What is in the section of tracepoints has a name, which is valid as long.
        if unsafe { CStr::from_char_ptr((*tracepoint).name) } != self.name {
            return;
        }
        if self.found != Err(ENOENT) {
            // They may have different prototypes.
            self.found = Err(EEXIST);
            return;
        }
        // SAFETY: It is valid as long as its module, which is kept below or by the owner.
        let mut found = TracepointRef::own(unsafe { Tracepoint::from_raw(tracepoint) });

        if module != self.owner {
            // SAFETY: By the safety requirements, `module` is null or not freed concurrently.
            found.module = unsafe { ModuleRef::get_raw(module) };
            if found.module.is_none() {
                self.found = Err(ENODEV);
                return;
            }
        }
        // INVARIANT: The module is kept, unless it is that of the caller.
        self.found = Ok(found);
    }
}

/// Called with each tracepoint of the kernel proper.
///
/// # Safety
///
/// `tracepoint` must be one of the kernel proper, and `data` a `Search`.
unsafe extern "C" fn look(tracepoint: *mut bindings::tracepoint, data: *mut c_void) {
    // SAFETY: By the safety requirements, `data` is a `Search` and `tracepoint` one of the kernel
    // proper. No other code accesses the search.
    unsafe { (*data.cast::<Search<'_>>()).look(tracepoint, core::ptr::null_mut()) };
}

/// Called with each tracepoint of a module.
///
/// # Safety
///
/// `tracepoint` must be one of `module`, which is not freed during the call, and `data` a `Search`.
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
