// SPDX-License-Identifier: GPL-2.0

//! Triggers: what is done when an event happens.
//!
//! Every event of an instance has a file `trigger`. A line that is written to it starts with a
//! word, the name of a command, which creates a trigger from the line, changes one, or removes one.
//! The trigger is hit whenever the event happens and its filter, if it has one, lets the record
//! pass. Reading the file returns a line for each trigger.
//!
//! # Implementing a command
//!
//! - Implement [`Command`] for a type that stands for the command.
//! - Define one static [`CommandOps`] of it and [register](CommandOps::register) it, or have
//!   built-in C code do that when the kernel boots.
//! - In [`Command::parse`] build a [`NewTrigger`] and [attach](NewTrigger::attach) it.
//!
//! # Modules
//!
//! A module can have commands. Each trigger keeps the module of its command loaded, until the
//! trigger was freed and the module's code no longer runs for it. As long as the module is being
//! initialised no trigger can be added, because a failure frees the module.
//!
//! # The life of a trigger
//!
//! 1. [`NewTrigger`]: not shared yet.
//! 2. Attached: it is in the list of its event and is hit. [`TriggersMut`] returns references to
//!    it, and prevents detaching it while they exist.
//! 3. Detached, by [`EventFile::detach`] or by C as the instance is removed: it is not in the list,
//!    but a CPU that entered before may still use it.
//! 4. Freed, after the last CPU has stopped using it. A kernel thread does this, later than the
//!    call which has detached it.
//!
//! # Locks
//!
//! Each step except hits happens with `event_mutex` held, and [`Command::detached`] with
//! `trace_types_lock` as well. A hit has preemption disabled, may be in any context including NMI,
//! and is in a section that detached triggers are kept for.
//!
//! # Examples
//!
//! A command that counts: its name creates a trigger, with a `!` before it removes it.
//!
//! ```
//! use kernel::{
//!     seq_file::SeqFile,
//!     seq_print,
//!     sync::atomic::{
//!         Atomic,
//!         Relaxed, //
//!     },
//!     trace::{
//!         event_file::{
//!             EventFile,
//!             Locked, //
//!         },
//!         event_mutex::Held,
//!         trigger::{
//!             Command,
//!             CommandOps,
//!             Hit,
//!             CommandKind,
//!             CommandLine,
//!             NewTrigger,
//!             Trigger,
//!             TriggersMut, //
//!         },
//!     },
//! };
//!
//! struct Count {
//!     hits: Atomic<u64>,
//! }
//!
//! static COUNT: CommandOps<Count> = CommandOps::new(c"rust_count_example", CommandKind::Record);
//!
//! #[vtable]
//! impl Command for Count {
//!     type Data = Self;
//!
//!     fn ops() -> &'static CommandOps<Self> {
//!         &COUNT
//!     }
//!
//!     fn parse<'h>(
//!         file: EventFile<Locked<'h>>,
//!         line: CommandLine<'_>,
//!         lists: &mut TriggersMut<'h>,
//!     ) -> Result {
//!         if line.remove() {
//!             file.detach::<Self>(lists, |_| true, |_| ());
//!             return Ok(());
//!         }
//!         if line.params().is_some() {
//!             return Err(EINVAL);
//!         }
//!         if file.triggers::<Self>(lists).next().is_some() {
//!             return Err(EEXIST);
//!         }
//!         let new = NewTrigger::<Self>::new(file, Count { hits: Atomic::new(0) })?;
//!
//!         Ok(new.attach(lists)?)
//!     }
//!
//!     fn hit(data: &Self, _hit: &Hit<'_>) {
//!         data.hits.fetch_add(1, Relaxed);
//!     }
//!
//!     fn show(trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
//!         seq_print!(m, "count: {}\n", trigger.data().hits.load(Relaxed));
//!     }
//!
//!     fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
//!         while file.detach::<Self>(lists, |_| true, |_| ()) {}
//!     }
//!
//!     fn detached(_data: &Self, _held: Held<'_>) {}
//! }
//!
//! let command = COUNT.register()?;
//! // From here on there is the word, until `command` is dropped.
//! # drop(command);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`EventFile::detach`]: super::event_file::EventFile::detach
//!
//! C header: [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

mod data;
mod execute;
mod filter;
mod hit;
mod iter;
mod list;
mod registration;
mod switch;
#[cfg(all(CONFIG_RUST_TRACE_KUNIT_TEST, CONFIG_SYNTH_EVENTS))]
mod tests;

pub use self::{
    data::{
        NewTrigger,
        NotAttached,
        Trigger, //
    },
    execute::{
        is_command,
        Execution, //
    },
    filter::Filter,
    hit::Hit,
    iter::Iter,
    list::TriggersMut,
    registration::Registration,
    switch::Switch, //
};

use super::{
    base::charge,
    event_file::{
        EventFile,
        Locked, //
    },
    event_mutex::Held,
    nesting::{
        NestingGuard,
        NestingKind, //
    },
    tracepoint::{
        self,
        ProbeGuard, //
    },
};
use crate::{
    bindings,
    error::from_result,
    prelude::*,
    seq_file::SeqFile,
    str::as_char_ptr_in_const_context,
    trace::removal::UnregisterScope,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A command for `trigger` files.
#[vtable]
pub trait Command: Sized + 'static {
    /// The data that a trigger owns.
    ///
    /// It is dropped after the last CPU has stopped using it: mostly by a kernel thread that holds
    /// no locks, but by the caller that detached the trigger if the allocation for that thread
    /// fails. So the drop may sleep, but must not take `event_mutex` or `trace_types_lock`, as that
    /// of an [`InstanceRef`](super::instance::InstanceRef) does, nor wait for a task that takes one
    /// of them. Code that needs `event_mutex` belongs in [`detached`](Self::detached), or in the
    /// `gone` of [`EventFile::detach`].
    type Data: Send + Sync + 'static;

    /// Returns the description of the command for C, always the same one.
    fn ops() -> &'static CommandOps<Self>;

    /// Executes a line that was written to the `trigger` file of an event.
    ///
    /// An error is returned to its writer. May sleep, but allocations are not charged to the memory
    /// cgroup of the writer, see [`charge`].
    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result;

    /// Removes all triggers of this command from an event that can be removed: its `trigger` file
    /// was opened with `O_TRUNC`. May sleep.
    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>);

    /// Called when the event has happened.
    ///
    /// Must be NMI-safe: it must not sleep, allocate, panic, or take a lock that the interrupted
    /// code may hold. It is called recursively if it generates an event whose triggers are hit.
    /// Nesting is limited to 4 levels; deeper hits are skipped.
    fn hit(data: &Self::Data, hit: &Hit<'_>);

    /// Writes the line of the trigger, with a newline. May sleep.
    fn show(trigger: &Trigger<Self>, m: &SeqFile, held: Held<'_>);

    /// Called after C has detached a trigger because its instance is removed. May sleep.
    ///
    /// The trigger may be hit until the last CPU has stopped using it. [`EventFile::detach`] does
    /// not call this: it has a parameter for the same purpose.
    ///
    /// `trace_types_lock` is held as well. So what takes it must not be called: an
    /// [`InstanceRef`](super::instance::InstanceRef) must be neither created nor dropped here, or
    /// in the drop of [`Data`](Self::Data), which may be next. That is left to a work item.
    fn detached(data: &Self::Data, held: Held<'_>);
}

/// The kind of a command for C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandKind {
    /// Histograms: `enable_hist` and `disable_hist` mean the triggers of this command, see
    /// [`Switch`]. They are hit with the record, after its filter has been asked.
    ///
    /// The same as [`Record`](Self::Record) if the histograms of the kernel are those in C, which
    /// take all such triggers for theirs.
    ///
    /// Hits of the kernel's own command, which is called `hist`, may nest as deep as it has memory
    /// for.
    Hist,
    /// Triggers that look at the record. They are hit with it, after the filter has been asked.
    Record,
    /// Triggers that do not need the record, as `traceon` and `enable_event` in C. They are hit
    /// with the record if the event has a trigger in the instance that needs it, or one with a
    /// filter; and without it otherwise, whether the event is on or not.
    Always,
    /// Triggers that are hit after the record was written and its filter was evaluated, as
    /// `stacktrace` in C: their records follow it. They are hit without the record. An event can
    /// have one of them in an instance, for any command.
    Post,
}

/// The type of triggers that are hit afterwards, which none of C has. C asks the filter of each,
/// and then has all of a type hit if any of them is to be.
const POST: u32 = 1 << 30;

impl CommandKind {
    const fn ty(self) -> u32 {
        match self {
            Self::Hist if cfg!(CONFIG_HIST_TRIGGERS_RUST) => {
                bindings::event_trigger_type_ETT_EVENT_HIST
            }
            Self::Hist | Self::Record | Self::Always => bindings::event_trigger_type_ETT_NONE,
            Self::Post => POST,
        }
    }

    const fn flags(self) -> c_int {
        match self {
            Self::Hist | Self::Record => {
                bindings::event_command_flags_EVENT_CMD_FL_NEEDS_REC as c_int
            }
            Self::Always => 0,
            Self::Post => bindings::event_command_flags_EVENT_CMD_FL_POST_TRIGGER as c_int,
        }
    }
}

/// A line for a [`Command`].
#[derive(Clone, Copy)]
pub struct CommandLine<'a> {
    remove: bool,
    params: Option<&'a CStr>,
}

impl<'a> CommandLine<'a> {
    /// Returns `true` if the line began with `!`: a trigger is to be removed.
    pub fn remove(&self) -> bool {
        self.remove
    }

    /// Returns the text after the name of the command and the colon, space or tab that ends it,
    /// without surrounding white space. Returns `None` if the text is empty.
    pub fn params(&self) -> Option<&'a CStr> {
        self.params
    }
}

/// The description of a command for C, for a static. See [`Command::ops`].
///
/// In C it is a `struct event_command`, which a static of this type can be declared as.
///
/// # Invariants
///
/// Each field except the list entry, which is C's, never changes.
#[repr(transparent)]
pub struct CommandOps<T> {
    command: Opaque<bindings::event_command>,
    /// No subtype of `T` is taken for it, nor the other way round: each has functions of its own.
    _command: PhantomData<fn(T) -> T>,
}

// SAFETY: C locks the list entry, and nothing else is changed.
unsafe impl<T> Sync for CommandOps<T> {}

impl<T> CommandOps<T> {
    fn as_raw(&self) -> *mut bindings::event_command {
        self.command.get()
    }

    /// Returns `true` if this is the command of the kernel's histograms, whose hits are not
    /// counted.
    fn is_hist(&self) -> bool {
        // SAFETY: The name is the static string that this was created with, and never changes.
        is_hist(unsafe { CStr::from_char_ptr((*self.as_raw()).name) })
    }
}

/// Returns `true` if this is the name of the command of the kernel's histograms.
const fn is_hist(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"hist")
}

impl<T: Command> CommandOps<T> {
    /// Creates the description of the command `name`.
    pub const fn new(name: &'static CStr, kind: CommandKind) -> Self {
        // The missing callbacks are only called by C's implementation of other commands. C would
        // free the filter by `set_filter` before it has a trigger freed, and wait for hits each
        // time.
        Self {
            command: Opaque::new(bindings::event_command {
                list: UNLINKED,
                name: as_char_ptr_in_const_context(name).cast_mut(),
                trigger_type: kind.ty(),
                flags: kind.flags(),
                parse: Some(Self::parse),
                reg: None,
                unreg: None,
                unreg_all: Some(Self::remove_all),
                set_filter: None,
                trigger: Some(match kind {
                    // They have a limit of their own, that of their scratch memory.
                    CommandKind::Hist if is_hist(name) => Self::hit_record,
                    CommandKind::Hist | CommandKind::Record => Self::hit_nested_record,
                    CommandKind::Always | CommandKind::Post => Self::hit_nested,
                }),
                count_func: Some(data::count),
                init: None,
                free: Some(data::detached),
                print: Some(Self::show),
            }),
            _command: PhantomData,
        }
    }

    /// Called for a line that was written to a `trigger` file.
    ///
    /// # Safety
    ///
    /// `file` must be in the list of its instance, `word` and `params` be strings unless `params`
    /// is null, and `event_mutex` be held.
    unsafe extern "C" fn parse(
        _command: *mut bindings::event_command,
        file: *mut bindings::trace_event_file,
        word: *mut c_char,
        _name: *mut c_char,
        params: *mut c_char,
    ) -> c_int {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        let _unaccounted = charge::begin(held);
        // SAFETY: C calls nothing else about triggers concurrently, so no other `TriggersMut`
        // exists but one that is lent to what has this line executed.
        let mut lists = unsafe { TriggersMut::for_command(held) };
        // SAFETY: By the safety requirements, `file` is in the list of its instance. It is not
        // removed from it while `event_mutex` is held and events cannot be unregistered.
        let file = unsafe { EventFile::from_raw(NonNull::new_unchecked(file), held) };
        let params = if params.is_null() {
            None
        } else {
            // SAFETY: By the safety requirements, `params` is a string if it is not null.
            Some(unsafe { CStr::from_char_ptr(params) })
        };
        let line = CommandLine {
            // SAFETY: A string has a first byte.
            remove: unsafe { *word } == b'!',
            params,
        };

        from_result(|| T::parse(file, line, &mut lists).map(|()| 0))
    }

    /// Called when a `trigger` file is opened with `O_TRUNC`.
    ///
    /// # Safety
    ///
    /// `file` must be in the list of its instance, and `event_mutex` be held.
    unsafe extern "C" fn remove_all(file: *mut bindings::trace_event_file) {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        // SAFETY: C calls nothing else about triggers concurrently, so no other `TriggersMut`
        // exists.
        let mut lists = unsafe { TriggersMut::new(held) };
        // SAFETY: By the safety requirements, `file` is in the list of its instance. It is not
        // removed from it while `event_mutex` is held and events cannot be unregistered.
        let file = unsafe { EventFile::from_raw(NonNull::new_unchecked(file), held) };

        T::remove_all(file, &mut lists);
    }

    /// Called on a hit of a trigger that has a record; does nothing if the record is missing.
    ///
    /// # Safety
    ///
    /// `data` must be that of a `Trigger<T>` which is not freed concurrently. `event` must be null,
    /// or a complete record that was reserved in `buffer` by this CPU, with preemption disabled.
    /// The caller must be in a section that instances and triggers are kept for.
    unsafe extern "C" fn hit_record(
        data: *mut bindings::event_trigger_data,
        buffer: *mut bindings::trace_buffer,
        _record: *mut c_void,
        event: *mut bindings::ring_buffer_event,
    ) {
        // Without a record nothing could use one.
        if event.is_null() {
            return;
        }
        // SAFETY: By the safety requirements, `data` is that of a `Trigger<T>`, for which
        // `as_trigger` returns a valid pointer. The fields read here do not change while the
        // trigger is attached.
        let trigger = unsafe { Trigger::<T>::from_c(data) };
        // SAFETY: By the safety requirements, `event` is a complete record that this CPU has
        // reserved in `buffer`, with preemption disabled; the instance exists in this section.
        let hit = unsafe { Hit::new(buffer, event, trigger.instance()) };

        T::hit(trigger.data(), &hit);
    }

    /// Called on a hit of a trigger that has a record, and counts the nesting.
    ///
    /// # Safety
    ///
    /// As for `hit_record`.
    unsafe extern "C" fn hit_nested_record(
        data: *mut bindings::event_trigger_data,
        buffer: *mut bindings::trace_buffer,
        record: *mut c_void,
        event: *mut bindings::ring_buffer_event,
    ) {
        // C asks for a record, but what it asks for may have changed since.
        if event.is_null() {
            return;
        }
        // SAFETY: With a record preemption is disabled, until after this returns.
        if let Some(_level) = unsafe { NestingGuard::enter(NestingKind::Hits) } {
            // SAFETY: The safety requirements are those of `hit_record`.
            unsafe { Self::hit_record(data, buffer, record, event) };
        }
    }

    /// Called on a hit of a trigger that may be without a record, and counts the nesting.
    ///
    /// # Safety
    ///
    /// As for `hit_record`, but without a record preemption may be enabled.
    unsafe extern "C" fn hit_nested(
        data: *mut bindings::event_trigger_data,
        buffer: *mut bindings::trace_buffer,
        _record: *mut c_void,
        event: *mut bindings::ring_buffer_event,
    ) {
        // System calls and uprobes are hit with preemption enabled. It is dropped after the level.
        let _guard = ProbeGuard::new();
        // SAFETY: The guard has disabled preemption until after this returns.
        let Some(_level) = (unsafe { NestingGuard::enter(NestingKind::Hits) }) else {
            return;
        };
        // SAFETY: By the safety requirements, `data` is that of a `Trigger<T>`. The fields read
        // here do not change while the trigger is attached.
        let trigger = unsafe { Trigger::<T>::from_c(data) };
        // SAFETY: By the safety requirements, `event` is null or a complete record that this CPU
        // has reserved in `buffer`, with preemption disabled; the instance exists in this section.
        let hit = unsafe { Hit::new(buffer, event, trigger.instance()) };

        T::hit(trigger.data(), &hit);
    }

    /// Called to write the line of a trigger.
    ///
    /// # Safety
    ///
    /// `m` must be a valid `seq_file` of this thread, `data` that of a `Trigger<T>` in a list, and
    /// `event_mutex` be held.
    unsafe extern "C" fn show(
        m: *mut bindings::seq_file,
        data: *mut bindings::event_trigger_data,
    ) -> c_int {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);
        // SAFETY: By the safety requirements, `data` is that of a `Trigger<T>` in a list. It is not
        // detached, as that takes a `TriggersMut`.
        let trigger = unsafe { Trigger::<T>::from_c(data) };
        // SAFETY: By the safety requirements, `m` is a valid `seq_file` of this thread.
        let m = unsafe { SeqFile::from_raw(m) };

        T::show(trigger, m, held);
        0
    }

    /// Called when C has detached a trigger: releases it.
    ///
    /// # Safety
    ///
    /// `data` must be that of a `Trigger<T>` that was just taken from its list, whose reference the
    /// caller passes, and `event_mutex` be held.
    unsafe fn detached(data: *mut bindings::event_trigger_data) {
        // SAFETY: By the safety requirements, `event_mutex` is held.
        let held = unsafe { Held::assume() };
        let _permission = UnregisterScope::none(held);

        // SAFETY: By the safety requirements, `data` is that of a `Trigger<T>` that was just
        // removed from its list, with its reference. It is not detached again, as that takes a
        // `TriggersMut`.
        unsafe { data::retire::<T>(data, held, |data| T::detached(data, held)) };
    }
}

/// The entry of a list that is not in any yet. C links it.
const UNLINKED: bindings::list_head = bindings::list_head {
    next: core::ptr::null_mut(),
    prev: core::ptr::null_mut(),
};

/// Waits until no CPU can be in a hit that began before the call. Sleeps.
///
/// After that a trigger that was detached before is no longer used.
pub fn synchronize() {
    tracepoint::synchronize();
}
