// SPDX-License-Identifier: GPL-2.0

//! Kinds of dynamic events.
//!
//! The file `dynamic_events` in tracefs lists all events that were created at run time, and creates
//! and removes them by commands. Each line belongs to a kind, which knows the commands.
//!
//! C header: [`kernel/trace/trace_dynevent.h`](srctree/kernel/trace/trace_dynevent.h).

pub use crate::trace::base::ctype::is_space;

use super::event::{
    self,
    Event, //
};
use crate::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    module::this_module,
    prelude::*,
    seq_file::SeqFile,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        ArcBorrow, //
    },
    trace::{
        event_mutex::Held,
        removal::UnregisterScope, //
    },
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    slice, //
};

/// The commands of a kind of dynamic events, and what is done about one event.
#[vtable]
pub trait Operations: event::Operations {
    /// Creates an event from a command, which is not modified.
    ///
    /// Called without `event_mutex`, and with C's `dyn_event_ops_mutex` held, which is outside of
    /// that one in the lock order. So nothing must be called here that takes it: no kind be
    /// [registered](Kind::register), and no command be
    /// [run](crate::trace::dynevent_cmd::Command::run) that creates a kprobe event.
    ///
    /// # Errors
    ///
    /// `ECANCELED` if the command is not one of this kind, so that other kinds are tried; any other
    /// error is returned to the writer of the command.
    fn create(command: &CStr) -> Result;

    /// Writes the line of the event, as a command that creates it.
    fn show(&self, m: &SeqFile, held: Held<'_>);

    /// Returns `true` if the event is in use; a request to remove all events then removes none.
    fn is_busy(&self, held: Held<'_>) -> bool;

    /// Removes the event.
    ///
    /// This and no other event can be [unregistered](Event::unregister) here.
    ///
    /// # Errors
    ///
    /// They are returned to the caller of the removal: `EBUSY` if it is in use.
    fn free(this: ArcBorrow<'_, Self>, held: Held<'_>) -> Result;

    /// Returns `true` if a command that removes events matches this one.
    ///
    /// `system` is present if the command has it; `args` are what follows the name.
    fn matches(&self, system: Option<&CStr>, event: &CStr, args: Args<'_>, held: Held<'_>) -> bool;
}

/// A kind of dynamic events, each of which consists of a `T`.
///
/// [`builtin`](super) has an example.
///
/// # Invariants
///
/// `ops` is initialised, and C's once `registered` is set.
pub struct Kind<T> {
    ops: Opaque<bindings::dyn_event_operations>,
    registered: Atomic<bool>,
    /// No subtype of `T` is taken for it, nor the other way round: each has functions of its own.
    _events: PhantomData<fn(T) -> T>,
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

impl<T: Operations> Kind<T> {
    /// Creates a kind, for a static.
    #[expect(clippy::new_without_default, reason = "what is made is for a static")]
    pub const fn new() -> Self {
        // INVARIANT: Not registered. C initialises the list.
        Self {
            ops: Opaque::new(bindings::dyn_event_operations {
                list: bindings::list_head {
                    next: core::ptr::null_mut(),
                    prev: core::ptr::null_mut(),
                },
                create: Some(Self::create),
                show: Some(Self::show),
                is_busy: Some(Self::is_busy),
                free: Some(Self::free),
                match_: Some(Self::matches),
            }),
            registered: Atomic::new(false),
            _events: PhantomData,
        }
    }

    /// Registers the commands of this kind. Sleeps: takes `dyn_event_ops_mutex`, so `event_mutex`
    /// must not be held, nor this be called in [`Operations::create`].
    ///
    /// A kind cannot be unregistered, so only code that is built into the kernel can have one.
    ///
    /// # Errors
    ///
    /// - `EBUSY` if it is registered already.
    /// - `EOPNOTSUPP` in a module.
    pub fn register(&'static self) -> Result {
        if !this_module::<<T as Operations>::OwnerModule>()
            .as_ptr()
            .is_null()
        {
            return Err(EOPNOTSUPP);
        }
        if self.registered.xchg(true, Relaxed) {
            return Err(EBUSY);
        }
        // SAFETY: `ops` has all functions, is static, in code that is built in, and was not
        // registered before.
        let registered = to_result(unsafe { bindings::dyn_event_register(self.ops.get()) });
        if registered.is_err() {
            self.registered.store(false, Relaxed);
        }
        registered
    }

    /// Removes the events of this kind that `command` names: `-:[system/]event`, or a command that
    /// would create the event, with a `!` in front or not, and the other criteria of
    /// [`Operations::matches`]. Sleeps: takes `event_mutex`. Buffers that may have records of the
    /// event are empty then.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if it is no such command.
    /// - `ENOENT` if no such event exists.
    /// - What [`Operations::free`] returns, such as `EBUSY`; others may have been removed before.
    pub fn remove(&'static self, command: &CStr) -> Result {
        // C relies on a word being present.
        if command.to_bytes().iter().all(|&b| is_space(b)) {
            return Err(EINVAL);
        }
        // SAFETY: The operations are static, and a word is present.
        to_result(unsafe { bindings::dyn_event_release(command.as_char_ptr(), self.ops.get()) })
    }

    /// Removes all events of this kind, or none if one is [busy](Operations::is_busy). Sleeps:
    /// takes `event_mutex`. Buffers that may have records of them are empty then.
    ///
    /// # Errors
    ///
    /// - `EBUSY` if one is.
    /// - What [`Operations::free`] returns; others may have been removed before.
    pub fn remove_all(&'static self) -> Result {
        // SAFETY: The operations are static.
        to_result(unsafe { bindings::dyn_events_release_all(self.ops.get()) })
    }

    /// Returns the owner of an event of this kind.
    ///
    /// # Safety
    ///
    /// `ev` must be that of an `Event<T>` which is registered and stays so during `'a`.
    unsafe fn owner<'a>(ev: *mut bindings::dyn_event) -> ArcBorrow<'a, T> {
        // SAFETY: By the safety requirements, `ev` is that of an `Event<T>` which is registered
        // during `'a`. By the invariant of `Event` its owner is the pointer of an `Arc`, of which
        // the registration holds a reference.
        unsafe { ArcBorrow::from_raw(Event::<T>::owner_of(ev)) }
    }

    /// Called for a line that was written to `dynamic_events`.
    ///
    /// # Safety
    ///
    /// `command` must be a string.
    unsafe extern "C" fn create(command: *const c_char) -> c_int {
        // SAFETY: By the safety requirements, `command` is a string.
        let command = unsafe { CStr::from_char_ptr(command) };

        from_result(|| T::create(command).map(|()| 0))
    }

    /// Called to write the line of an event.
    ///
    /// # Safety
    ///
    /// `ev` must be that of a registered `Event<T>`, `m` a valid `seq_file` of this thread, and
    /// `event_mutex` be held.
    unsafe extern "C" fn show(m: *mut bindings::seq_file, ev: *mut bindings::dyn_event) -> c_int {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        // SAFETY: It is registered, and stays so, as the scope has no permission to unregister it.
        let owner = unsafe { Self::owner(ev) };
        // SAFETY: By the safety requirements, `m` is a valid `seq_file` of this thread.
        let m = unsafe { SeqFile::from_raw(m) };

        owner.show(m, held);
        0
    }

    /// Called to find out if an event is in use.
    ///
    /// # Safety
    ///
    /// `ev` must be that of a registered `Event<T>`, and `event_mutex` be held.
    unsafe extern "C" fn is_busy(ev: *mut bindings::dyn_event) -> bool {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        // SAFETY: It is registered, and stays so, as the scope has no permission to unregister it.
        let owner = unsafe { Self::owner(ev) };

        <T as Operations>::is_busy(&owner, held)
    }

    /// Called to remove an event.
    ///
    /// # Safety
    ///
    /// `ev` must be that of a registered `Event<T>`, and `event_mutex` be held.
    unsafe extern "C" fn free(ev: *mut bindings::dyn_event) -> c_int {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        // The callback unregisters it, and all other owners may drop it.
        //
        // SAFETY: It is registered until here.
        let owner = Arc::from(unsafe { Self::owner(ev) });
        let _permission = UnregisterScope::only(ev.addr(), held);

        from_result(|| T::free(owner.as_arc_borrow(), held).map(|()| 0))
    }

    /// Called to find out if a command that removes events matches this one.
    ///
    /// # Safety
    ///
    /// `ev` must be that of a registered `Event<T>`, and `event_mutex` be held. `system` must be
    /// null or a string, `event` a string, and `argv` an array of `argc` strings.
    unsafe extern "C" fn matches(
        system: *const c_char,
        event: *const c_char,
        argc: c_int,
        argv: *mut *const c_char,
        ev: *mut bindings::dyn_event,
    ) -> bool {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        // SAFETY: It is registered, and stays so, as the scope has no permission to unregister it.
        let owner = unsafe { Self::owner(ev) };
        let system = if system.is_null() {
            None
        } else {
            // SAFETY: By the safety requirements, `system` is a string if it is not null.
            Some(unsafe { CStr::from_char_ptr(system) })
        };
        // SAFETY: By the safety requirements, `event` is a string.
        let event = unsafe { CStr::from_char_ptr(event) };
        // SAFETY: By the safety requirements, `argv` is an array of `argc` strings.
        let args = unsafe { Args::from_raw(argc, argv) };

        owner.matches(system, event, args, held)
    }
}

/// The words of a command that follow the name of the event.
///
/// # Invariants
///
/// All pointers are to strings that are valid during `'a`.
#[derive(Clone)]
pub struct Args<'a> {
    words: slice::Iter<'a, *const c_char>,
}

impl<'a> Args<'a> {
    /// Creates the iterator over the words.
    ///
    /// # Safety
    ///
    /// `argv` must be an array of `argc` strings, valid during `'a`, unless `argc` is not positive.
    unsafe fn from_raw(argc: c_int, argv: *const *const c_char) -> Self {
        let words: &[*const c_char] = match usize::try_from(argc) {
            // SAFETY: By the safety requirements, `argv` is an array of `argc` strings during `'a`.
            Ok(n) if n > 0 => unsafe { slice::from_raw_parts(argv, n) },
            _ => &[],
        };
        // INVARIANT: By the safety requirements, the words are strings during `'a`.
        Self {
            words: words.iter(),
        }
    }

    /// Returns `true` if no word is left.
    pub fn is_empty(&self) -> bool {
        self.words.len() == 0
    }
}

impl<'a> Iterator for Args<'a> {
    type Item = &'a CStr;

    fn next(&mut self) -> Option<&'a CStr> {
        let word = *self.words.next()?;

        // SAFETY: By the type invariant it is a string that is valid during `'a`.
        Some(unsafe { CStr::from_char_ptr(word) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.words.size_hint()
    }
}

impl ExactSizeIterator for Args<'_> {}
