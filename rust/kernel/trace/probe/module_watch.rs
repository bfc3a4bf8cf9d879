// SPDX-License-Identifier: GPL-2.0

//! Watching for modules that have tracepoints.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::raw,
    types::Opaque, //
};
use core::marker::PhantomData;

/// The change of state of a module with tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is loaded, and will be initialised. Or it was loaded before the watch began.
    Coming,
    /// The module is being unloaded. Or it stays loaded, and the watch ends.
    Going,
}

/// A module that has tracepoints.
///
/// # Invariants
///
/// `module` is valid during `'a`, in which the lock of the list of modules with tracepoints is
/// held.
pub struct ModuleTracepoints<'a> {
    module: *mut bindings::module,
    _module: PhantomData<&'a ()>,
}

impl ModuleTracepoints<'_> {
    /// Returns the name of the module.
    pub fn name(&self) -> &CStr {
        // SAFETY: By the type invariant the module is valid. Its name is a string in it.
        unsafe { CStr::from_char_ptr((&raw const (*self.module).name).cast()) }
    }

    /// Calls `f` with the name of each tracepoint of the module.
    pub fn for_each<F: FnMut(&CStr)>(&self, mut f: F) {
        /// Calls the closure with the name of a tracepoint.
        ///
        /// # Safety
        ///
        /// `tracepoint` must be one that is valid, and `data` an `F`.
        unsafe extern "C" fn look<F: FnMut(&CStr)>(
            tracepoint: *mut bindings::tracepoint,
            _module: *mut bindings::module,
            data: *mut c_void,
        ) {
            // SAFETY: By the safety requirements, `tracepoint` exists and `data` is an `F`, which
            // no other code accesses. A tracepoint in the section of tracepoints has a name.
            unsafe { (*data.cast::<F>())(CStr::from_char_ptr((*tracepoint).name)) };
        }

        // SAFETY: By the type invariant the module is valid and the lock is held. The closure is
        // only used before this returns.
        unsafe {
            raw::for_each_tracepoint_in_module(self.module, Some(look::<F>), (&raw mut f).cast())
        };
    }

    /// Returns `true` if the module has a tracepoint of this name.
    pub fn has(&self, name: &CStr) -> bool {
        let mut found = false;

        self.for_each(|other| found |= other == name);
        found
    }
}

/// Calls `F` for each module that has tracepoints, on loading and on unloading. Creating the watch
/// counts as loading of the present modules, and dropping it as their unloading.
///
/// A [`Registration`](super::Registration) keeps the module that its tracepoint is in, and can only
/// be created once that is initialised. So code that attaches a probe as soon as the module is
/// loaded is notified here, and attaches it from a work item.
///
/// The closure is called in a task, and can sleep. The closure is called with a lock held, inside
/// of `event_mutex`, that is also taken to look for tracepoints, and to create and drop watches. So
/// neither this nor a [`Registration`](super::Registration) must be created or dropped there, nor
/// anything be done that takes `event_mutex`: with events, instances, triggers and their files.
/// That is a deadlock. A work item can do all of it.
///
/// No module is loaded without `CONFIG_MODULES`.
///
/// Modules that C does not trust to have tracepoints are left out, such as those that were loaded
/// by force.
///
/// # Examples
///
/// ```
/// use kernel::trace::probe::{
///     Change,
///     ModuleWatch, //
/// };
///
/// let watch = KBox::pin_init(
///     ModuleWatch::new(|change, module| {
///         if change == Change::Coming && module.has(c"my_request") {
///             pr_info!("{} has what is looked for\n", module.name());
///         }
///     }),
///     GFP_KERNEL,
/// )?;
/// # drop(watch);
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// `notifier` is registered, with a function that takes it for the one in a `Self`.
#[pin_data(PinnedDrop)]
pub struct ModuleWatch<F> {
    closure: F,
    #[pin]
    notifier: Opaque<bindings::notifier_block>,
}

// SAFETY: The closure is dropped and called by other threads, which its own traits allow. The rest
// is only used by C, which locks.
unsafe impl<F: Send + Sync> Send for ModuleWatch<F> {}
// SAFETY: A shared reference has no methods.
unsafe impl<F: Sync> Sync for ModuleWatch<F> {}

impl<F> ModuleWatch<F>
where
    F: Fn(Change, &ModuleTracepoints<'_>) + Send + Sync + 'static,
{
    /// Begins to watch, and calls `closure` with all modules that are loaded. Sleeps.
    pub fn new(closure: F) -> impl PinInit<Self, Error> {
        try_pin_init!(&this in Self {
            closure,
            notifier: Opaque::new(bindings::notifier_block {
                notifier_call: Some(Self::changed),
                next: core::ptr::null_mut(),
                priority: 0,
            }),
            // INVARIANT: It is registered if this succeeds. It is the last field, as the closure is
            // called from then on.
            _: {
                // SAFETY: The closure and the notifier were initialised. The notifier is pinned,
                // and is unregistered before it is dropped.
                to_result(unsafe {
                    bindings::register_tracepoint_module_notifier((*this.as_ptr()).notifier.get())
                })?;
            },
        }? Error)
    }

    /// Called when a module with tracepoints is loaded or unloaded.
    ///
    /// # Safety
    ///
    /// `notifier` must be that of a `Self`, whose closure is initialised, and `data` a `tp_module`
    /// of a module that is valid. The lock of the list of them must be held.
    unsafe extern "C" fn changed(
        notifier: *mut bindings::notifier_block,
        state: c_ulong,
        data: *mut c_void,
    ) -> c_int {
        const COMING: c_ulong = bindings::module_state_MODULE_STATE_COMING as c_ulong;
        const GOING: c_ulong = bindings::module_state_MODULE_STATE_GOING as c_ulong;

        let change = match state {
            COMING => Change::Coming,
            GOING => Change::Going,
            _ => return 0,
        };
        // SAFETY: By the safety requirements, `notifier` is that of a `Self`; `Opaque` is
        // transparent.
        let this = unsafe { crate::container_of!(Opaque::cast_from(notifier), Self, notifier) };
        // SAFETY: By the safety requirements, the closure is initialised. Only a reference to it is
        // created, as the rest may not be initialised yet.
        let closure = unsafe { &(*this).closure };
        // INVARIANT: By the safety requirements, the module exists and the lock of the list is
        // held.
        let module = ModuleTracepoints {
            // SAFETY: By the safety requirements, `data` is a `tp_module`.
            module: unsafe { (*data.cast::<bindings::tp_module>()).mod_ },
            _module: PhantomData,
        };

        closure(change, &module);
        0
    }
}

#[pinned_drop]
impl<F> PinnedDrop for ModuleWatch<F> {
    fn drop(self: Pin<&mut Self>) {
        // The only error is that it is not registered.
        //
        // SAFETY: By the type invariant it is. It is no longer called when this returns.
        unsafe { bindings::unregister_tracepoint_module_notifier(self.notifier.get()) };
    }
}
