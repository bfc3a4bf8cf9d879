// SPDX-License-Identifier: GPL-2.0

//! One trigger.

#[cfg(CONFIG_SYNTH_EVENTS)]
use super::super::synth::EventRef;
use super::{
    super::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held, //
    },
    filter::{
        self,
        Filter, //
    },
    list::{
        self,
        TriggersMut, //
    },
    synchronize,
    Command,
    CommandOps,
    POST, //
};
use crate::{
    bindings,
    module::this_module,
    module_ref::ModuleRef,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::raw,
    types::Opaque, //
};
use core::{
    cell::UnsafeCell,
    mem::ManuallyDrop,
    ops::Deref, //
};

/// A type without values.
#[cfg(not(CONFIG_SYNTH_EVENTS))]
enum EventRef {}

#[cfg(not(CONFIG_SYNTH_EVENTS))]
impl EventRef {
    fn of_file(_file: EventFile<Locked<'_>>, _held: Held<'_>) -> Option<Self> {
        None
    }

    fn release_unused(self, _held: Held<'_>) {
        match self {}
    }
}

/// A trigger of the command `T`.
///
/// # Invariants
///
/// - `raw` is a complete `struct event_trigger_data`, whose command is that of `T`.
/// - It is first in an allocation that `kfree()` takes, as C frees it.
/// - `raw.paused` is accessed with atomic operations only, or by C which reads it in one piece;
///   `raw.count` with atomic operations only.
/// - `raw.filter_str` is null or a string; it changes only while the trigger is a [`NewTrigger`].
/// - `source` and `module` are accessed with `event_mutex` held only.
/// - `instance` is that of the file it was created for.
#[repr(C)]
pub struct Trigger<T: Command> {
    raw: Opaque<bindings::event_trigger_data>,
    owner: Owner,
    instance: *mut bindings::trace_array,
    data: T::Data,
    /// The event that it is attached to, if that is a synthetic one: it must not be removed.
    source: UnsafeCell<Option<EventRef>>,
    /// The module of that event: it must not be unloaded.
    module: UnsafeCell<Option<ModuleRef>>,
}

/// Keeps the module of an event loaded. Otherwise the event would be removed with the module, even
/// with triggers attached.
///
/// # Errors
///
/// `ENODEV` if the module is being removed.
fn pin_module(file: EventFile<Locked<'_>>) -> Result<ModuleRef> {
    // SAFETY: The event of a file is valid.
    let module = unsafe { bindings::trace_event_module(file.call()) };

    // SAFETY: The module is valid as long as its event. Null stands for one that is always valid.
    unsafe { ModuleRef::get_raw(module) }.ok_or(ENODEV)
}

/// The module whose command a trigger is of, and what it does when the trigger is detached by C,
/// and to drop the data.
struct Owner {
    detached: unsafe fn(*mut bindings::event_trigger_data),
    drop_data: unsafe fn(*mut bindings::event_trigger_data),
    module: ModuleRef,
}

/// The common head of all triggers, whatever their command.
#[repr(C)]
struct Head {
    _raw: Opaque<bindings::event_trigger_data>,
    owner: Owner,
}

impl<T: Command> Trigger<T> {
    /// Converts the pointer to a trigger to a reference.
    ///
    /// # Safety
    ///
    /// `raw` must be that of a `Trigger<T>` which is not freed during `'a`.
    #[inline]
    pub(super) unsafe fn from_c<'a>(raw: *mut bindings::event_trigger_data) -> &'a Self {
        // SAFETY: By the type invariant `raw` is first; the rest is a safety requirement. What
        // changes during `'a` is in cells.
        unsafe { &*raw.cast() }
    }

    pub(super) fn as_raw(&self) -> *mut bindings::event_trigger_data {
        self.raw.get()
    }

    #[inline]
    pub(super) fn instance(&self) -> *mut bindings::trace_array {
        self.instance
    }

    /// Returns the data of the command.
    #[inline]
    pub fn data(&self) -> &T::Data {
        &self.data
    }

    fn paused(&self) -> &Atomic<bool> {
        // SAFETY: By the type invariant the field is valid as long as `self`, and not accessed in
        // other ways than this.
        unsafe { Atomic::from_ptr(&raw mut (*self.raw.get()).paused) }
    }

    /// Returns `true` if the trigger is paused.
    pub fn is_paused(&self) -> bool {
        self.paused().load(Relaxed)
    }

    /// Pauses or resumes the trigger.
    ///
    /// Hits that have begun are not waited for. `enable_hist` and `disable_hist` change this as
    /// well, at any time.
    pub fn set_paused(&self, paused: bool) {
        self.paused().store(paused, Relaxed);
    }

    /// Returns the number of remaining hits, or `None` without a limit.
    pub fn count(&self) -> Option<usize> {
        // SAFETY: By the type invariant the fields are valid as long as `self`; flags do not change
        // when it is attached, and the count is accessed in no other way.
        unsafe {
            let limited = (*self.raw.get()).flags & COUNTED != 0;

            limited.then(|| remaining(self.raw.get()).load(Relaxed))
        }
    }

    /// Returns the text of the filter, without the `if`.
    pub fn filter(&self) -> Option<&CStr> {
        // SAFETY: By the type invariant it does not change during the borrow.
        let text = unsafe { (*self.raw.get()).filter_str };

        // SAFETY: By the type invariant it is a string then.
        (!text.is_null()).then(|| unsafe { CStr::from_char_ptr(text) })
    }

    /// Drops the data and the filter, and leaves the memory to C.
    ///
    /// # Safety
    ///
    /// `raw` must be that of a `Trigger<T>` which is no longer used, except for C's part of it.
    unsafe fn drop_data(raw: *mut bindings::event_trigger_data) {
        // SAFETY: By the type invariant `raw` is first; the rest is a safety requirement.
        unsafe {
            filter::free(raw);
            core::ptr::drop_in_place(&raw mut (*raw.cast::<Self>()).data);
        }
    }
}

// CAST: It is a bit of an `int`.
const COUNTED: c_int = bindings::EVENT_TRIGGER_FL_COUNT as c_int;

/// Returns the number of remaining hits of a trigger that has a limit.
///
/// # Safety
///
/// `raw` must be that of a `Trigger` of any command which is not freed during `'a`.
unsafe fn remaining<'a>(raw: *mut bindings::event_trigger_data) -> &'a Atomic<usize> {
    // SAFETY: By the safety requirements, it is valid, and by the invariant of `Trigger` it is only
    // accessed with atomic operations. CAST: An `unsigned long` is a `usize`.
    unsafe { Atomic::from_ptr((&raw mut (*raw).count).cast()) }
}

/// Returns `true` if a trigger that has a limit is hit once more, and counts the hit.
///
/// Unlike `event_trigger_count()` this is exact if several CPUs hit it at the same time.
///
/// # Safety
///
/// `raw` must be that of a `Trigger` of any command which is not freed concurrently.
#[inline(never)]
pub(super) unsafe extern "C" fn count(
    raw: *mut bindings::event_trigger_data,
    _buffer: *mut bindings::trace_buffer,
    _record: *mut c_void,
    _event: *mut bindings::ring_buffer_event,
) -> bool {
    // SAFETY: By the safety requirements, `raw` is that of a `Trigger` which is not freed
    // concurrently.
    let remaining = unsafe { remaining(raw) };
    let mut n = remaining.load(Relaxed);

    while n != 0 {
        match remaining.cmpxchg(n, n - 1, Relaxed) {
            Ok(_) => return true,
            Err(now) => n = now,
        }
    }
    false
}

/// Notifies the module that C has detached a trigger, and passes the reference of C on.
///
/// The trigger may be freed, and its module be released, before the module's code has returned.
///
/// # Safety
///
/// `raw` must be that of a `Trigger` of any command, that was just taken from its list, whose
/// reference the caller passes, and `event_mutex` be held.
#[inline(never)]
pub(super) unsafe extern "C" fn detached(raw: *mut bindings::event_trigger_data) {
    // SAFETY: A trigger begins with this, and by the safety requirements, it is valid.
    let owner = unsafe { &(*raw.cast::<Head>()).owner };
    let module = owner.module.again();

    // SAFETY: The function is that of this trigger; the rest is a safety requirement.
    unsafe { (owner.detached)(raw) };
    drop(module);
}

/// Drops the data and the reference to the module. The memory is freed by C, which calls this.
///
/// When the module is released its code no longer runs. So this is not a function that is
/// instantiated in it.
///
/// # Safety
///
/// `raw` must be that of a `Trigger` of any command, which is no longer used, except for C's part
/// of it.
#[inline(never)]
unsafe extern "C" fn free_data(raw: *mut bindings::event_trigger_data) {
    // SAFETY: A trigger begins with this, and by the safety requirements, it is not used.
    let owner = unsafe { (&raw const (*raw.cast::<Head>()).owner).read() };

    // SAFETY: The function is that of this trigger; the rest is a safety requirement.
    unsafe { (owner.drop_data)(raw) };
    drop(owner);
}

/// Releases a trigger that was removed from its list, and has it freed when no hit can use it.
///
/// # Safety
///
/// `raw` must be that of a `Trigger<T>` that was attached and is no longer in a list, and to which
/// only hits that have begun before have a reference.
pub(super) unsafe fn retire<T: Command>(
    raw: *mut bindings::event_trigger_data,
    held: Held<'_>,
    gone: impl FnOnce(&T::Data),
) {
    // SAFETY: By the safety requirements, it is not freed before this function does so.
    let trigger = unsafe { Trigger::<T>::from_c(raw) };

    gone(trigger.data());
    // SAFETY: `event_mutex` is held, and no other reference to the contents of the cell exists.
    if let Some(source) = unsafe { (*trigger.source.get()).take() } {
        source.release_unused(held);
    }
    // SAFETY: As above.
    drop(unsafe { (*trigger.module.get()).take() });
    // SAFETY: No other code frees it, and hits that use it are waited for.
    unsafe { raw::trigger_data_free(raw) };
}

/// A trigger that is not attached and not shared yet.
///
/// Dropping it drops its data at once. It sleeps.
///
/// # Invariants
///
/// `trigger` was created for `file`, and is in no list.
pub struct NewTrigger<'h, T: Command> {
    trigger: ManuallyDrop<KBox<Trigger<T>>>,
    file: EventFile<Locked<'h>>,
}

/// The error of [`NewTrigger::attach`].
pub struct NotAttached<'h, T: Command> {
    /// The reason of the failure.
    pub error: Error,
    /// The trigger, which hits no longer use.
    pub trigger: NewTrigger<'h, T>,
}

impl<T: Command> From<NotAttached<'_, T>> for Error {
    fn from(failed: NotAttached<'_, T>) -> Self {
        failed.error
    }
}

impl<'h, T: Command> NewTrigger<'h, T> {
    /// Creates a trigger for an event, without a filter and not paused.
    ///
    /// # Errors
    ///
    /// The data is dropped then.
    ///
    /// - `EBUSY` if the command is that of a module which is still being initialised, or is being
    ///   removed.
    /// - `EOPNOTSUPP` if it is called `hist` and that of a module.
    /// - `ENOMEM`.
    pub fn new(file: EventFile<Locked<'h>>, data: T::Data) -> Result<Self> {
        let module = this_module::<T::OwnerModule>();

        if T::ops().is_hist() && !module.as_ptr().is_null() {
            return Err(EOPNOTSUPP);
        }
        // INVARIANT: All that C's `trigger_data_alloc()` sets; zeroes mean no filter and that it is
        // not paused. `KBox` allocates what `kfree()` takes, and `repr(C)` has `raw` first.
        let owner = Owner {
            detached: CommandOps::<T>::detached,
            drop_data: Trigger::<T>::drop_data,
            module: ModuleRef::get(module).ok_or(EBUSY)?,
        };
        let trigger = KBox::new(
            Trigger {
                raw: Opaque::zeroed(),
                owner,
                instance: file.instance().as_raw(),
                data,
                source: UnsafeCell::new(None),
                module: UnsafeCell::new(None),
            },
            // With `event_mutex` held: a charge could wait.
            GFP_KERNEL,
        )?;
        let raw = trigger.raw.get();

        // SAFETY: It is initialised, with zeroes, and ours alone.
        unsafe {
            // The number of hits is not limited.
            (*raw).count = c_ulong::MAX;
            (*raw).cmd_ops = T::ops().as_raw();
            (*raw).private_data_free = Some(free_data);
            bindings::INIT_LIST_HEAD(&raw mut (*raw).list);
            bindings::INIT_LIST_HEAD(&raw mut (*raw).named_list);
        }
        // INVARIANT: It was created for `file`, and is in no list.
        Ok(Self {
            trigger: ManuallyDrop::new(trigger),
            file,
        })
    }

    /// Returns the event that the trigger was created for.
    pub fn file(&self) -> EventFile<Locked<'h>> {
        self.file
    }

    /// Sets the filter, and replaces a previous one.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the filter was created for another event or instance.
    pub fn set_filter(&mut self, filter: Filter<'h>) -> Result {
        if filter.file() != self.file {
            return Err(EINVAL);
        }
        // SAFETY: The trigger is ours alone.
        unsafe { filter.give_to(self.trigger.as_raw()) };
        Ok(())
    }

    /// Limits the number of hits to `n`. The trigger stays attached afterwards.
    ///
    /// As `name:5` is in C, where only some commands have that.
    pub fn set_count(&mut self, n: usize) {
        // SAFETY: The trigger is ours alone.
        unsafe {
            let raw = self.trigger.as_raw();

            (*raw).count = n as c_ulong;
            (*raw).flags |= COUNTED;
        }
    }

    /// Appends the trigger to those of the event, which is hit from then on. Sleeps.
    ///
    /// If the event is a synthetic one it cannot be removed as long as the trigger is attached. If
    /// it is one of a module, that cannot be unloaded.
    ///
    /// # Errors
    ///
    /// Together with the trigger; hits that have happened nevertheless are over:
    ///
    /// - `EINVAL` if the event cannot be enabled, as those of the tracers, in the system `ftrace`,
    ///   which have no `trigger` file.
    /// - `ENODEV` if the module of the event is still being initialised or on its way out.
    /// - `EEXIST` if the trigger is hit afterwards
    ///   ([`CommandKind::Post`](super::CommandKind::Post)), and the event has such a one already.
    /// - What has kept the event from being enabled.
    pub fn attach(self, lists: &mut TriggersMut<'_>) -> Result<(), NotAttached<'h, T>> {
        let held = lists.held();
        let file = self.file;

        // SAFETY: The command is a [`CommandOps`], which does not change.
        let ty = unsafe { (*T::ops().as_raw()).trigger_type };
        if ty == POST && list::has_type(file, ty, lists) {
            return Err(NotAttached {
                error: EEXIST,
                trigger: self,
            });
        }
        // SAFETY: The event of a file is valid, and so is its class. Neither changes.
        if unsafe { (*(*file.call()).class).reg.is_none() } {
            return Err(NotAttached {
                error: EINVAL,
                trigger: self,
            });
        }
        let module = match pin_module(file) {
            Ok(module) => module,
            Err(error) => {
                return Err(NotAttached {
                    error,
                    trigger: self,
                })
            }
        };
        let mut trigger = self.into_box();

        *trigger.module.get_mut() = Some(module);
        *trigger.source.get_mut() = EventRef::of_file(file, held);
        let raw = KBox::into_raw(trigger);

        // SAFETY: It is complete and in no list by the type invariants, and only freed by `retire`
        // or after it has been unlinked and synchronized with. As `lists` is borrowed exclusively,
        // the list is not being walked.
        let Err(error) = (unsafe { list::link(file, raw.cast()) }) else {
            return Ok(());
        };

        // SAFETY: It was stored there, and the list is not being walked.
        unsafe { list::unlink(file, raw.cast()) };
        synchronize();
        // SAFETY: It is the memory of a box, and no longer shared.
        let mut trigger = unsafe { KBox::from_raw(raw) };
        if let Some(source) = trigger.source.get_mut().take() {
            source.release_unused(held);
        }
        *trigger.module.get_mut() = None;
        Err(NotAttached {
            error,
            // INVARIANT: It is no longer in a list.
            trigger: Self {
                trigger: ManuallyDrop::new(trigger),
                file,
            },
        })
    }

    fn into_box(self) -> KBox<Trigger<T>> {
        let mut this = ManuallyDrop::new(self);

        // SAFETY: It is taken once, as `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.trigger) }
    }
}

impl<T: Command> Deref for NewTrigger<'_, T> {
    type Target = Trigger<T>;

    fn deref(&self) -> &Trigger<T> {
        &self.trigger
    }
}

impl<T: Command> Drop for NewTrigger<'_, T> {
    fn drop(&mut self) {
        // SAFETY: The trigger is ours alone, and it is no longer used.
        unsafe {
            filter::free(self.trigger.as_raw());
            ManuallyDrop::drop(&mut self.trigger);
        }
    }
}
