// SPDX-License-Identifier: GPL-2.0

//! Trace instances.
//!
//! An instance, the top level or one created by `mkdir` in `instances/`, has a buffer, a clock, a
//! log of errors, and its own file for every event.
//!
//! An [`Instance`] is a handle for code that has `event_mutex` held, without which an instance can
//! be removed. Code that needs one for longer has an [`InstanceRef`], which keeps user space from
//! removing it, and which is also found, or created, by its name. What can only be done with the
//! top level is in [`top`]. [`builtin::instance_file`](super::builtin::instance_file) has files of
//! instances.
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use super::{
    event_file::{
        EventFile,
        Locked, //
    },
    event_mutex::Held,
    raw, //
};
use crate::{
    bindings,
    error::to_result,
    fmt,
    prelude::*,
    trace::removal::UnregisterScope, //
};
use core::ptr::NonNull;

mod error_texts;
mod events;
pub mod top;
mod unbuffered;

pub(super) use self::events::search_files;
pub use self::{
    error_texts::ErrorTexts,
    events::{
        for_each,
        InstanceId, //
    },
    unbuffered::{
        KeptUnbuffered,
        Unbuffered, //
    },
};

/// A trace instance, a `struct trace_array`, while `event_mutex` is held.
///
/// Two of these are equal if they are the same instance.
///
/// # Invariants
///
/// `ptr` is an instance that is not removed during `'h`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Instance<'h> {
    ptr: NonNull<bindings::trace_array>,
    held: Held<'h>,
}

impl<'h> Instance<'h> {
    /// Creates the handle of an instance.
    ///
    /// # Safety
    ///
    /// `ptr` must be an instance that is not removed during `'h`.
    #[inline]
    pub(super) unsafe fn from_raw(ptr: NonNull<bindings::trace_array>, held: Held<'h>) -> Self {
        // INVARIANT: By the safety requirements, the instance is not removed during `'h`.
        Self { ptr, held }
    }

    #[inline]
    pub(super) fn as_raw(self) -> *mut bindings::trace_array {
        self.ptr.as_ptr()
    }

    /// Finds an event by its system and name.
    ///
    /// Events that have no `enable` file are found as well. But none is found in code that could
    /// [unregister](super::builtin::event::Event::unregister) it, as that would invalidate the
    /// handle: so call this in the callbacks of [triggers](super::trigger) and of
    /// [texts](super::builtin::event_seq).
    pub fn find_file(self, system: &CStr, event: &CStr) -> Option<EventFile<Locked<'h>>> {
        if !UnregisterScope::is_none(self.held) {
            return None;
        }
        // SAFETY: By the type invariant the instance is valid, and `event_mutex`, which a handle is
        // evidence of, keeps the list of its files. C only compares the strings.
        let file = unsafe {
            raw::__find_event_file(self.as_raw(), system.as_char_ptr(), event.as_char_ptr())
        };

        // SAFETY: The file is in the list of the instance, which is valid during `'h`; files leave
        // it with `event_mutex` held only, and nothing that holds it now can have them do so.
        NonNull::new(file).map(|file| unsafe { EventFile::from_raw(file, self.held) })
    }

    /// Keeps user space from removing the instance. Sleeps: takes `trace_types_lock`.
    ///
    /// # Errors
    ///
    /// - `EPERM` if the kernel is locked down so that tracefs cannot be used.
    /// - `ENODEV` if tracing is disabled permanently, or the instance is being removed.
    pub fn pin(self) -> Result<InstanceRef> {
        // SAFETY: By the type invariant the instance is valid.
        to_result(unsafe { raw::tracing_check_open_get_tr(self.as_raw()) })?;
        // SAFETY: This is the reference that was just taken.
        Ok(unsafe { InstanceRef::from_raw(self.ptr) })
    }

    /// Sets the clock of the records' time stamps. Sleeps: takes `trace_types_lock`.
    ///
    /// This empties the buffer, even if the clock is the one that is set already: see
    /// [`clock_is`](Self::clock_is).
    ///
    /// # Errors
    ///
    /// - `EINVAL` if no clock has this name.
    /// - `EACCES` if the instance is [read-only](Self::is_read_only), as when its `trace_clock` is
    ///   written: C would remove it with its records, at boot before it has files to remove.
    pub fn set_clock(self, name: &CStr) -> Result {
        if self.is_read_only() {
            return Err(EACCES);
        }
        // SAFETY: By the type invariant the instance is valid.
        to_result(unsafe { raw::tracing_set_clock(self.as_raw(), name.as_char_ptr()) })
    }

    /// Returns `true` if the instance has a copy of the buffer of an earlier boot, to be read only.
    /// C removes the instance together with these records.
    pub fn is_read_only(self) -> bool {
        // SAFETY: By the type invariant the instance is valid. The flag does not change.
        unsafe { (*self.as_raw()).flags & bindings::TRACE_ARRAY_FL_RDONLY != 0 }
    }

    /// Returns `true` if this is the clock of the time stamps of records.
    pub fn clock_is(self, name: &CStr) -> bool {
        // SAFETY: By the type invariant the instance is valid.
        unsafe { raw::tracing_clock_is(self.as_raw(), name.as_char_ptr()) }
    }

    /// Returns `true` if the clock counts nanoseconds.
    pub fn clock_in_ns(self) -> bool {
        // SAFETY: By the type invariant the instance is valid.
        unsafe { raw::trace_clock_in_ns(self.as_raw()) }
    }

    /// Adds an entry to the `error_log` of the instance. Sleeps.
    ///
    /// `location` names the reporter: up to 127 bytes of it and of the suffix of C are kept.
    /// `command` is the refused command, and `pos` the column of the caret in it. `index` is that
    /// of the message in `texts`. If an allocation fails, the entry is omitted.
    ///
    /// The log can be read after a module was unloaded, so messages of modules are copied, once
    /// each, and the copies stay. In place of a message that cannot be allocated, or after the
    /// first few dozen, the log says just that a module has refused the command.
    pub fn log_error<const N: usize>(
        self,
        location: &CStr,
        command: &CStr,
        texts: &'static ErrorTexts<N>,
        index: u8,
        pos: u16,
    ) {
        if usize::from(index) < N {
            // SAFETY: By the type invariant the instance is valid, and such a text exists, as long
            // as the caller's code is.
            unsafe { log_error(self.ptr, location, command, texts.as_ptr(), index, pos) };
        }
    }
}

/// A reference to an instance, which user space cannot remove until this is dropped.
///
/// The drop sleeps: it takes `trace_types_lock`. It can be dropped with `event_mutex` held; but not
/// in [`trigger::Command::detached`](super::trigger::Command::detached) and
/// [`event::Operations::detached`](super::builtin::event::Operations::detached), which C calls with
/// both locks held when it removes an instance.
///
/// # Invariants
///
/// `ptr` is an instance that a reference is held to, which is this one's.
pub struct InstanceRef {
    ptr: NonNull<bindings::trace_array>,
}

// SAFETY: The count of references is protected by a lock.
unsafe impl Send for InstanceRef {}
// SAFETY: What can be done with a shared reference is locked, or needs `event_mutex`.
unsafe impl Sync for InstanceRef {}

impl InstanceRef {
    /// Takes over a reference, whose count saturates if references are leaked.
    ///
    /// # Safety
    ///
    /// `ptr` must be an instance of which the caller passes a reference.
    pub(super) unsafe fn from_raw(ptr: NonNull<bindings::trace_array>) -> Self {
        // INVARIANT: By the safety requirements, the caller passes a reference to the instance.
        Self { ptr }
    }

    /// Returns the instance of this name, and creates it if necessary. Sleeps: takes `event_mutex`.
    ///
    /// A new instance has the events of `systems`, names with commas between them, or all events.
    /// An existing instance stays as it is.
    ///
    /// Returns `None` if it cannot be created or is being removed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::trace::instance::InstanceRef;
    ///
    /// let instance = InstanceRef::get_by_name(c"rust_example", Some(c"sched")).ok_or(ENOMEM)?;
    ///
    /// instance.set_event(Some(c"sched"), None, true)?;
    /// instance.set_event(Some(c"sched"), None, false)?;
    /// assert_eq!(instance.set_event(Some(c"no_such_system"), None, true), Err(EINVAL));
    ///
    /// instance.destroy()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_by_name(name: &CStr, systems: Option<&CStr>) -> Option<Self> {
        let systems = systems.map_or(core::ptr::null(), |systems| systems.as_char_ptr());
        // SAFETY: These are strings, or null, which C copies.
        let ptr = unsafe { bindings::trace_array_get_by_name(name.as_char_ptr(), systems) };

        // SAFETY: C has taken a reference.
        NonNull::new(ptr).map(|ptr| unsafe { Self::from_raw(ptr) })
    }

    /// Finds the instance of this name, or the top one. Sleeps: takes `trace_types_lock`.
    ///
    /// # Errors
    ///
    /// - `ENOENT` if no instance has this name.
    /// - `ENODEV` if the top instance does not exist (yet).
    pub(super) fn find(name: Option<&CStr>) -> Result<Self> {
        let Some(name) = name else {
            // SAFETY: The function has no requirements.
            let top = NonNull::new(unsafe { raw::top_trace_array() }).ok_or(ENODEV)?;

            // The permissions of user space are not checked, as for other instances.
            //
            // SAFETY: C looks for an instance at this address.
            to_result(unsafe { raw::trace_array_get(top.as_ptr()) })?;
            // SAFETY: This is the reference that was just taken.
            return Ok(unsafe { Self::from_raw(top) });
        };
        // SAFETY: It is a string, which C only compares.
        let ptr = unsafe { raw::trace_array_find_get(name.as_char_ptr()) };

        let ptr = NonNull::new(ptr).ok_or(ENOENT)?;

        // SAFETY: C has taken a reference.
        Ok(unsafe { Self::from_raw(ptr) })
    }

    /// Enables or disables events in this instance: those of a system, or of all, that have this
    /// name, or any. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if no such event exists.
    /// - `EACCES` if the instance cannot be written to.
    /// - What has kept an event from being enabled; others may be then.
    pub fn set_event(&self, system: Option<&CStr>, event: Option<&CStr>, on: bool) -> Result {
        // SAFETY: By the type invariant the instance is valid; the names are strings, which C only
        // compares, or null.
        to_result(unsafe {
            bindings::trace_array_set_clr_event(
                self.ptr.as_ptr(),
                system.map_or(core::ptr::null(), |name| name.as_char_ptr()),
                event.map_or(core::ptr::null(), |name| name.as_char_ptr()),
                on,
            )
        })
    }

    /// Enables or disables the events that `text` names, as the file `set_event` does: `system:`,
    /// `system:event`, or the `name` of a system or of events, followed by `:mod:module` for those
    /// of a module. `*` or nothing beside a colon stands for any name. Sleeps: takes
    /// `event_mutex`.
    ///
    /// # Errors
    ///
    /// As for [`set_event`](Self::set_event), and `ENOMEM`. To enable events of a module that is
    /// not loaded is no error: they are enabled when it is loaded.
    ///
    /// # Examples
    ///
    /// ```
    /// # use kernel::trace::instance::InstanceRef;
    /// let instance = InstanceRef::get_by_name(c"rust_events", None).ok_or(ENOMEM)?;
    ///
    /// instance.set_events(c"sched:sched_waking", true)?;
    /// assert_eq!(instance.set_events(c"sched:no_such_event", true), Err(EINVAL));
    /// instance.set_events(c"sched:", false)?;
    ///
    /// instance.destroy()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn set_events(&self, text: &CStr, on: bool) -> Result {
        let mut copy = KVec::new();

        copy.extend_from_slice(text.to_bytes_with_nul(), GFP_KERNEL)?;
        // SAFETY: By the type invariant the instance is valid. The copy is a string, which C takes
        // to parts in place.
        to_result(unsafe {
            raw::ftrace_set_clr_event(self.ptr.as_ptr(), copy.as_mut_ptr().cast(), on.into())
        })
    }

    /// Prepares the instance for [`print`](Self::print). Sleeps.
    ///
    /// # Errors
    ///
    /// - `EINVAL` for the top instance, which is not to be written to like this.
    /// - `ENOMEM`.
    pub fn init_printk(&self) -> Result {
        // SAFETY: By the type invariant the instance is valid.
        to_result(unsafe { bindings::trace_array_init_printk(self.ptr.as_ptr()) })
    }

    /// Writes a text to the buffer of the instance, with the address of the call. Any context.
    ///
    /// Returns its length in bytes, at most 1023. It is 0 if it was not tried:
    /// [`init_printk`](Self::init_printk) was not called, this is the top instance, or its option
    /// `trace_printk` is off. Whether the buffer takes records is not told.
    ///
    /// In C: `trace_array_printk()`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use kernel::trace::instance::InstanceRef;
    /// let instance = InstanceRef::get_by_name(c"rust_print", Some(c"sched")).ok_or(ENOMEM)?;
    ///
    /// instance.init_printk()?;
    /// assert_eq!(instance.print(fmt!("the answer is {}\n", 42)), 17);
    ///
    /// instance.destroy()?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(always)]
    pub fn print(&self, text: fmt::Arguments<'_>) -> usize {
        self.print_from(this_address(), text)
    }

    fn print_from(&self, address: usize, text: fmt::Arguments<'_>) -> usize {
        // SAFETY: By the type invariant the instance is valid. The format takes the arguments that
        // it is given the address of, which are borrowed for longer than this call.
        let len = unsafe {
            bindings::trace_array_printk(
                self.ptr.as_ptr(),
                address,
                c"%pA".as_char_ptr(),
                (&raw const text).cast::<c_void>(),
            )
        };

        usize::try_from(len).unwrap_or(0)
    }

    /// Removes the instance, as `rmdir` does. Sleeps: takes `event_mutex`.
    ///
    /// The reference is dropped in any case.
    ///
    /// # Errors
    ///
    /// - `EBUSY` if it has another reference or an open file, or its tracer is in use; and for the
    ///   top instance.
    /// - `ENODEV` if it was removed.
    pub fn destroy(self) -> Result {
        let ptr = self.ptr.as_ptr();

        // C would remove that one as well.
        //
        // SAFETY: The function has no requirements.
        if ptr == unsafe { raw::top_trace_array() } {
            return Err(EBUSY);
        }
        drop(self);
        // SAFETY: C looks for an instance at this address before it does anything about it.
        to_result(unsafe { bindings::trace_array_destroy(ptr) })
    }

    /// Returns the handle, to use with `event_mutex` held.
    pub fn get<'h>(&'h self, held: Held<'h>) -> Instance<'h> {
        // SAFETY: By the type invariant the instance stays as long as `self`.
        unsafe { Instance::from_raw(self.ptr, held) }
    }

    #[inline]
    pub(super) fn as_raw(&self) -> *mut bindings::trace_array {
        self.ptr.as_ptr()
    }
}

impl Drop for InstanceRef {
    fn drop(&mut self) {
        // SAFETY: By the type invariant a reference exists, which is dropped here.
        unsafe { bindings::trace_array_put(self.ptr.as_ptr()) };
    }
}

impl PartialEq for InstanceRef {
    fn eq(&self, other: &Self) -> bool {
        self.ptr == other.ptr
    }
}

impl Eq for InstanceRef {}

impl PartialEq<Instance<'_>> for InstanceRef {
    fn eq(&self, other: &Instance<'_>) -> bool {
        self.ptr == other.ptr
    }
}

impl PartialEq<InstanceRef> for Instance<'_> {
    fn eq(&self, other: &InstanceRef) -> bool {
        self.ptr == other.ptr
    }
}

/// Returns the address of the code that this is inlined into, or of another function on
/// architectures where it is unknown.
#[inline(always)]
fn this_address() -> usize {
    #[cfg(CONFIG_X86_64)]
    {
        let address: usize;

        // SAFETY: Reading the instruction pointer changes nothing.
        unsafe {
            core::arch::asm!(
                "lea {}, [rip]",
                out(reg) address,
                options(nomem, nostack, preserves_flags, pure)
            );
        }
        address
    }
    #[cfg(CONFIG_ARM64)]
    {
        let address: usize;

        // SAFETY: As above.
        unsafe {
            core::arch::asm!(
                "adr {}, .",
                out(reg) address,
                options(nomem, nostack, preserves_flags, pure)
            );
        }
        address
    }
    #[cfg(not(any(CONFIG_X86_64, CONFIG_ARM64)))]
    {
        InstanceRef::print_from as *const () as usize
    }
}

/// Returns the time by the clock of an instance. Any context.
///
/// # Safety
///
/// `instance` must be valid.
pub(super) unsafe fn now(instance: *mut bindings::trace_array) -> u64 {
    // SAFETY: By the safety requirements, `instance` exists. An instance has a buffer.
    unsafe { bindings::ring_buffer_time_stamp((*instance).array_buffer.buffer) }
}

/// Adds an entry to the `error_log` of an instance.
///
/// # Safety
///
/// `instance` must be valid, and `texts` be the table of an [`ErrorTexts`] with more than `index`
/// strings, which is valid as long as the code of the caller.
unsafe fn log_error(
    instance: NonNull<bindings::trace_array>,
    location: &CStr,
    command: &CStr,
    texts: *const *const c_char,
    index: u8,
    pos: u16,
) {
    // SAFETY: By the safety requirements, `texts` is the table of an `ErrorTexts` with more than
    // `index` strings.
    let (texts, index) = unsafe { error_texts::lasting(texts, index) };

    // SAFETY: By the safety requirements, the instance exists. C copies the first two strings, and
    // keeps the pointer to the table, which it does not write to and which lasts.
    unsafe {
        raw::tracing_log_err(
            instance.as_ptr(),
            location.as_char_ptr(),
            command.as_char_ptr(),
            texts.cast_mut(),
            index,
            pos,
        )
    };
}
