// SPDX-License-Identifier: GPL-2.0

//! References to events of an instance.

use super::{
    EventFile,
    Locked,
    ENABLED, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::{
        event_mutex::{
            self,
            Held, //
        },
        instance::InstanceRef,
        raw, //
    },
};
use core::ptr::NonNull;

/// The access of a reference: as long as it exists, neither the event nor the instance can be
/// removed.
///
/// Until then removing either of them fails with `EBUSY`, and the module of the event cannot be
/// unloaded.
///
/// The drop sleeps: it takes `event_mutex`, which must not be held.
///
/// # Examples
///
/// ```
/// use kernel::trace::event_file::EventFile;
///
/// let file = EventFile::get(None, c"sched", c"sched_switch")?;
///
/// file.set_enabled(true)?;
/// assert!(file.is_enabled());
/// file.set_enabled(false)?;
///
/// assert_eq!(EventFile::get(None, c"sched", c"no_such_event").err(), Some(EINVAL));
/// assert_eq!(EventFile::get(Some(c"no_such"), c"sched", c"sched_switch").err(), Some(ENOENT));
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// `event` is that of a file in the list of the instance. A reference to it is held, which is this
/// one's, and one to the instance: so the file stays in the list as long as this.
pub struct Owned {
    event: NonNull<bindings::trace_event_call>,
    _instance: InstanceRef,
}

// SAFETY: The references are not tied to the thread that took them.
unsafe impl Send for EventFile<Owned> {}
// SAFETY: What can be done with a shared reference is locked, or needs `event_mutex`.
unsafe impl Sync for EventFile<Owned> {}

impl EventFile<Owned> {
    /// Finds an event by its system and name, in the instance of this name or in the top one.
    /// Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// - `ENOENT` if no such instance exists.
    /// - `EINVAL` if no such event exists, or if it cannot be enabled.
    /// - `EBUSY` if the event is being removed, or if it is in a module that is still being
    ///   initialised: if that fails the module is freed, whatever its references are. Also if the
    ///   event has too many references, as some were leaked.
    /// - `ENODEV` if the top instance does not exist yet.
    pub fn get(instance: Option<&CStr>, system: &CStr, event: &CStr) -> Result<Self> {
        let instance = InstanceRef::find(instance)?;
        let guard = event_mutex::lock();
        // SAFETY: The instance is kept, and `event_mutex` is held.
        let ptr = unsafe { find(&instance, system, event) }.ok_or(EINVAL)?;

        // SAFETY: It was found in the list with `event_mutex` held, which still is. C sets the
        // pointer once.
        let event = unsafe { (*ptr.as_ptr()).event_call };
        // SAFETY: The event of the file is valid as well.
        if !unsafe { raw::trace_event_get(event) } {
            return Err(EBUSY);
        }
        drop(guard);
        // INVARIANT: The references were just taken. A file is in the list as long as both the
        // event and the instance exist.
        Ok(Self {
            ptr,
            access: Owned {
                // SAFETY: A file has an event.
                event: unsafe { NonNull::new_unchecked(event) },
                _instance: instance,
            },
        })
    }

    /// Returns the handle, to use with `event_mutex` held.
    pub fn file<'h>(&'h self, held: Held<'h>) -> EventFile<Locked<'h>> {
        // SAFETY: By the type invariant it is in the list as long as `self`.
        unsafe { EventFile::from_raw(self.ptr, held) }
    }

    /// Enables or disables the event in its instance, as the file `enable` does. Sleeps: takes
    /// `event_mutex`.
    ///
    /// # Errors
    ///
    /// What has kept the event from being enabled; `EACCES` if the instance cannot be written to.
    pub fn set_enabled(&self, on: bool) -> Result {
        // SAFETY: By the type invariant the file is valid.
        unsafe { set_enabled(self.ptr, on) }
    }

    /// Returns `true` if the event is enabled in its instance, even if a trigger suppresses its
    /// records. A hint: it can change at any time.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.flags() & ENABLED != 0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _guard = event_mutex::lock();

        // SAFETY: By the type invariant a reference exists, which is dropped here. The one to the
        // instance is dropped after that.
        unsafe { raw::trace_event_put_ref(self.event.as_ptr()) };
    }
}

/// Finds the file of an event in an instance, which then keeps no reference.
///
/// # Safety
///
/// `event_mutex` must be held.
unsafe fn find(
    instance: &InstanceRef,
    system: &CStr,
    event: &CStr,
) -> Option<NonNull<bindings::trace_event_file>> {
    // SAFETY: The instance is kept. By the safety requirements, `event_mutex` is held. C only
    // compares the strings.
    NonNull::new(unsafe {
        raw::find_event_file(instance.as_raw(), system.as_char_ptr(), event.as_char_ptr())
    })
}

/// Enables or disables an event in an instance by its name.
///
/// # Safety
///
/// `file` must be kept, as the invariant of [`Owned`] says.
unsafe fn set_enabled(file: NonNull<bindings::trace_event_file>, on: bool) -> Result {
    let file = file.as_ptr();
    // SAFETY: By the safety requirements, the event is valid.
    let call = unsafe { (*file).event_call };
    // The mutex keeps others from binding a custom event, which changes what has the name.
    let guard = event_mutex::lock();
    // SAFETY: As above, and `event_mutex` is held.
    let name = unsafe { bindings::trace_event_name(call) };

    drop(guard);
    // SAFETY: By the safety requirements, the event and its instance are valid, and the names are
    // strings that are valid as long as the event. C only compares them.
    to_result(unsafe {
        bindings::trace_array_set_clr_event((*file).tr, (*(*call).class).system, name, on)
    })
}
