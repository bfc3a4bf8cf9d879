// SPDX-License-Identifier: GPL-2.0

//! Tracepoints, and access to their probes.
//!
//! A [`Tracepoint`] is one of an event that is created at run time, one that `trace_event!`
//! declares, or one of C.
//!
//! The probes of a tracepoint are an array that is replaced as a whole whenever a probe is added or
//! removed. Readers walk it under a [`ReadGuard`], or a [`CallGuard`] if they are a tracepoint that
//! is hit, or a [`FaultableGuard`] if its probes may fault. The old array is freed when all guards
//! that could see it are dropped.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h).

use crate::{
    bindings,
    error::to_result,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    types::{
        NotThreadSafe,
        Opaque, //
    },
};
use core::marker::PhantomData;

/// Keeps the probes of tracepoints, and what they write to, while it exists.
///
/// It is an SRCU-fast reader of `tracepoint_srcu`, and preemption is disabled, as in a probe that a
/// tracepoint in C calls: the ring buffer and perf write to buffers of the current CPU. It can be
/// taken in any context that RCU watches and must not be held across anything that sleeps.
///
/// # Invariants
///
/// The current task is in a read-side section of `tracepoint_srcu` that was entered with `section`,
/// and has disabled preemption once for this instance.
#[must_use = "the probes are only kept while the guard is"]
pub struct ReadGuard {
    section: *mut bindings::srcu_ctr,
    _not_thread_safe: NotThreadSafe,
}

impl ReadGuard {
    /// Starts a section in which probes can be walked.
    #[inline]
    pub fn new() -> Self {
        // INVARIANT: This enters a section and disables preemption.
        Self {
            // SAFETY: `tracepoint_srcu` is initialised at build time; the function has no other
            // requirements.
            section: unsafe { bindings::tracepoint_read_lock() },
            _not_thread_safe: NotThreadSafe,
        }
    }
}

impl Default for ReadGuard {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ReadGuard {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the section was entered with this value, in this task.
        unsafe { bindings::tracepoint_read_unlock(self.section) };
    }
}

/// Keeps the probes of a tracepoint while it calls them.
///
/// An SRCU-fast reader of `tracepoint_srcu`. Unlike a [`ReadGuard`] it leaves preemption alone,
/// as tracepoints in C do: each probe disables it for itself.
///
/// # Invariants
///
/// The current task is in a read-side section of `tracepoint_srcu` that was entered with `section`.
#[must_use = "the probes are only kept while the guard is"]
pub struct CallGuard {
    section: *mut bindings::srcu_ctr,
    _not_thread_safe: NotThreadSafe,
}

impl CallGuard {
    /// Starts a section in which probes can be called.
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "what is made is a read section")]
    pub fn new() -> Self {
        // INVARIANT: This enters a section.
        Self {
            // SAFETY: `tracepoint_srcu` is initialised at build time; the function has no other
            // requirements.
            section: unsafe { bindings::tracepoint_call_lock() },
            _not_thread_safe: NotThreadSafe,
        }
    }
}

impl Drop for CallGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the section was entered with this value, in this task.
        unsafe { bindings::tracepoint_call_unlock(self.section) };
    }
}

/// Keeps the probes of a tracepoint while it calls them, if these may fault.
///
/// A reader of Tasks Trace RCU. It can be held across what sleeps, but be taken in the context of a
/// task only. C waits for such readers with all others before it frees what a probe writes to.
///
/// # Invariants
///
/// The current task has entered a read-side section of Tasks Trace RCU once for this instance.
#[must_use = "the probes are only kept while the guard is"]
pub struct FaultableGuard(NotThreadSafe);

impl FaultableGuard {
    /// Starts a section in which probes that may fault can be called.
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "what is made is a read section")]
    pub fn new() -> Self {
        // SAFETY: The function has no safety requirements.
        unsafe { bindings::tracepoint_faultable_lock() };
        // INVARIANT: Just done.
        Self(NotThreadSafe)
    }
}

impl Drop for FaultableGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant this task has entered a section for this instance.
        unsafe { bindings::tracepoint_faultable_unlock() };
    }
}

/// Disabled preemption, for a probe.
///
/// # Invariants
///
/// Preemption was disabled once for this instance.
#[must_use = "preemption is only disabled while the guard is there"]
pub struct ProbeGuard(NotThreadSafe);

impl ProbeGuard {
    /// Disables preemption, without being traced.
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "what is made is a read section")]
    pub fn new() -> Self {
        // SAFETY: The function has no safety requirements.
        unsafe { bindings::trace_preempt_disable() };
        // INVARIANT: Just done.
        Self(NotThreadSafe)
    }
}

impl Drop for ProbeGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: By the type invariant preemption was disabled once for this instance.
        unsafe { bindings::trace_preempt_enable() };
    }
}

/// The cookie of what is over already.
// CAST: It is 1.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
const COMPLETED: usize = bindings::SRCU_GET_STATE_COMPLETED as usize;

/// The grace period of all [`ReadGuard`]s that may have seen a detached listener.
///
/// Holds a cookie of `tracepoint_srcu`, or the one of a grace period that is over. No number of
/// one's own will do for that: cookies wrap around, and 0 is one of them.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(super) struct Readers(Atomic<usize>);

#[cfg(CONFIG_DYNAMIC_EVENTS)]
impl Readers {
    /// Creates the state without a listener that was removed.
    pub(super) const fn new() -> Self {
        Self(Atomic::new(COMPLETED))
    }

    /// Records that a listener was removed. Does not wait.
    pub(super) fn listener_gone(&self) {
        // SAFETY: `tracepoint_srcu` is initialised at build time.
        let cookie =
            unsafe { bindings::start_poll_synchronize_srcu(&raw mut bindings::tracepoint_srcu) };

        self.0.store(cookie, Relaxed);
    }

    /// Waits until no guard can have a listener that was removed before. Sleeps, if it has to.
    pub(super) fn wait(&self) {
        let cookie = self.0.load(Relaxed);
        let srcu = &raw mut bindings::tracepoint_srcu;

        // SAFETY: `tracepoint_srcu` is initialised at build time, and the cookie is one of it.
        if !unsafe { bindings::poll_state_synchronize_srcu(srcu, cookie) } {
            // SAFETY: As above.
            unsafe { bindings::synchronize_srcu(srcu) };
        }
    }
}

/// A tracepoint: of an event that is created at run time, of one that `trace_event!` declares, or
/// of one in C.
///
/// # Invariants
///
/// Each field except the name is only changed by the C functions for tracepoints.
#[repr(transparent)]
pub struct Tracepoint(Opaque<bindings::tracepoint>);

// SAFETY: A tracepoint is not tied to the thread that created it.
unsafe impl Send for Tracepoint {}
// SAFETY: The methods on `&self` read single words that may change at any time, or call C
// functions that lock.
unsafe impl Sync for Tracepoint {}

impl Tracepoint {
    /// Creates a tracepoint without probes, and without name.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) const fn new() -> Self {
        // INVARIANT: All zeroes is what `DEFINE_TRACE` defines but for the name, the static call
        // and the function that only the latter uses: a key that is off and no probes.
        Self(Opaque::zeroed())
    }

    /// Returns the tracepoint that `DEFINE_TRACE` defines, for a static in the section of
    /// tracepoints.
    ///
    /// # Safety
    ///
    /// `name` must be a string, `iterator`, `stub` and the static call be for the prototype that
    /// all probes of this tracepoint have, and `ext` be null or valid; all of them permanently.
    #[doc(hidden)]
    pub const unsafe fn declared(
        name: *const c_char,
        static_call: (*mut bindings::static_call_key, *const ()),
        iterator: *const (),
        stub: *const (),
        ext: *mut bindings::tracepoint_ext,
    ) -> Self {
        let mut tp: bindings::tracepoint = pin_init::zeroed();

        tp.name = name;
        tp.static_call_key = static_call.0;
        tp.static_call_tramp = static_call.1.cast_mut().cast();
        tp.iterator = iterator.cast_mut().cast();
        tp.probestub = stub.cast_mut().cast();
        tp.ext = ext;

        // INVARIANT: As `DEFINE_TRACE` defines it.
        Self(Opaque::new(tp))
    }

    #[inline]
    pub(super) const fn as_raw(&self) -> *mut bindings::tracepoint {
        self.0.get()
    }

    /// Returns `true` if a probe is attached.
    ///
    /// A hint: it can change at any time. Costs one load.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        // SAFETY: By the type invariant the tracepoint is initialised. C accesses the counter with
        // atomic operations only.
        let count =
            unsafe { Atomic::<i32>::from_ptr(&raw mut (*self.0.get()).key.key.enabled.counter) };

        // Negative while it is being enabled.
        count.load(Relaxed) != 0
    }

    /// Converts the pointer to a tracepoint to a reference.
    ///
    /// # Safety
    ///
    /// `ptr` must be a tracepoint that is valid during `'a`.
    #[inline]
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::tracepoint) -> &'a Self {
        // SAFETY: By the safety requirements, `ptr` is a tracepoint that exists during `'a`; the
        // type is transparent.
        unsafe { &*ptr.cast() }
    }

    /// Returns the attached probes.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    #[inline]
    pub(super) fn probes<'g>(&'g self, _guard: &'g ReadGuard) -> Probes<'g> {
        // SAFETY: The guard keeps them during `'g`.
        unsafe { self.probes_unguarded() }
    }

    /// Returns the attached probes, for code that is called with them kept.
    ///
    /// # Safety
    ///
    /// During `'g` this CPU must be in a section that probes are kept for.
    #[inline]
    #[doc(hidden)]
    pub unsafe fn probes_unguarded<'g>(&self) -> Probes<'g> {
        // SAFETY: By the type invariant the tracepoint is initialised, and C stores the pointer
        // with `rcu_assign_pointer()`. The load is relaxed as `rcu_dereference()` is: what is read
        // through the pointer depends on it by address.
        let funcs = unsafe { Atomic::from_ptr(&raw mut (*self.0.get()).funcs) }.load(Relaxed);

        // INVARIANT: C frees an array only after all sections that existed when it was replaced, so
        // this one is valid during `'g`. It ends with an entry without function.
        Probes {
            next: funcs,
            _guard: PhantomData,
        }
    }

    /// Returns the data of the first probe.
    ///
    /// The target of the static call is for this data in a section of a `CallGuard` or of a
    /// `FaultableGuard`: C waits for both when it changes the two.
    ///
    /// # Safety
    ///
    /// This CPU must be in a section that probes are kept for.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn first_data(&self) -> Option<*mut c_void> {
        // SAFETY: As for `probes_unguarded`.
        let funcs = unsafe { Atomic::from_ptr(&raw mut (*self.0.get()).funcs) }.load(Relaxed);

        if funcs.is_null() {
            return None;
        }
        // SAFETY: By the safety requirements, the array is kept. It has one probe at least.
        Some(unsafe { (*funcs).data })
    }

    /// Attaches a probe. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EEXIST`, with a warning, if the probe is attached already.
    ///
    /// # Safety
    ///
    /// `func` and `data` must be what the readers of this tracepoint take them for until
    /// [`Readers::wait`] has been called after the probe was removed.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) unsafe fn add_probe(&self, func: *mut c_void, data: *mut c_void) -> Result {
        // SAFETY: By the type invariant the tracepoint is initialised; it is never called, so the
        // type of the function does not matter.
        to_result(unsafe { bindings::tracepoint_probe_register(self.0.get(), func, data) })
    }

    /// Attaches a probe that is called before those of a lower priority. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EEXIST`, with a warning, if the probe is attached already; what the function
    /// returns that the tracepoint has for its first probe.
    ///
    /// # Safety
    ///
    /// `func` must be a function of the prototype of this tracepoint with `data` in front, which
    /// can be called until [`synchronize`] was called after the probe was removed.
    pub(super) unsafe fn add_probe_prio(
        &self,
        func: *mut c_void,
        data: *mut c_void,
        priority: i32,
    ) -> Result {
        // SAFETY: By the type invariant the tracepoint is initialised. By the safety requirements,
        // `func` has its prototype and can be called with `data` until the probe is removed and
        // [`synchronize`] has returned.
        to_result(unsafe {
            bindings::tracepoint_probe_register_prio(self.0.get(), func, data, priority)
        })
    }

    /// Detaches a probe. Sleeps. Readers may see it until they are [waited for](Readers::wait).
    pub(super) fn remove_probe(&self, func: *mut c_void, data: *mut c_void) {
        // C warns if the probe is not found, and the caller can do no more.
        //
        // SAFETY: By the type invariant the tracepoint is initialised. The probe is only looked up.
        unsafe { bindings::tracepoint_probe_unregister(self.0.get(), func, data) };
    }
}

/// Waits until no probe is running that was removed before. Sleeps.
pub(in crate::trace) fn synchronize() {
    // SAFETY: The function only requires a context that can sleep, else C warns.
    unsafe { bindings::tracepoint_synchronize_unregister() };
}

/// A probe that was attached when it was read.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct AttachedProbe {
    /// The function.
    pub func: *mut c_void,
    /// The first argument of the probe.
    pub data: *mut c_void,
}

/// Iterator over the probes of a [`Tracepoint`].
///
/// # Invariants
///
/// `next` is null or points to an entry of an array of probes that is valid during `'g` and whose
/// last entry has no function.
#[doc(hidden)]
pub struct Probes<'g> {
    next: *mut bindings::tracepoint_func,
    _guard: PhantomData<&'g ReadGuard>,
}

impl Iterator for Probes<'_> {
    type Item = AttachedProbe;

    #[inline]
    fn next(&mut self) -> Option<AttachedProbe> {
        if self.next.is_null() {
            return None;
        }
        // SAFETY: By the type invariant the entry is valid. C may replace the function of a removed
        // probe by a stub, in place and with one store.
        let func = unsafe { Atomic::from_ptr(&raw mut (*self.next).func) }.load(Relaxed);
        if func.is_null() {
            return None;
        }
        // SAFETY: By the type invariant the entry is valid; nothing writes to this field after the
        // array was published.
        let data = unsafe { (*self.next).data };

        // INVARIANT: This entry has a function, so it is not the last one.
        //
        // SAFETY: For the same reason the next one is in the same array.
        self.next = unsafe { self.next.add(1) };

        Some(AttachedProbe { func, data })
    }
}
