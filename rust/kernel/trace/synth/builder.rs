// SPDX-License-Identifier: GPL-2.0

//! Synthetic events that kernel code generates.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use super::{
    trace::{
        self,
        Arg,
        Shapes,
        Tracer, //
    },
    EventRef,
    RELEASED,
    STRING_MAX,
    SYSTEM, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    str::CString,
    sync::{
        atomic::Relaxed,
        Arc, //
    },
    trace::{
        dynevent_cmd::{
            is_name,
            Command, //
        },
        event_file::EventFile,
        event_mutex,
        instance::top,
        raw, //
    },
    ThisModule, //
};

/// The type of a field: all that C knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `s8`
    S8,
    /// `s16`
    S16,
    /// `s32`
    S32,
    /// `s64`
    S64,
    /// `char`: a signed number.
    Char,
    /// `unsigned char`
    UnsignedChar,
    /// `int`
    Int,
    /// `unsigned int`
    UnsignedInt,
    /// `long`
    Long,
    /// `unsigned long`
    UnsignedLong,
    /// `bool`
    Bool,
    /// `pid_t`
    Pid,
    /// `gfp_t`, which is shown with the names of its flags.
    Gfp,
    /// `char[N]`: a string in an array of this size, from 1 to 256.
    ///
    /// It takes 256 bytes of each record for any size. Up to 255 bytes of a string are recorded; a
    /// reader of raw records sees those that fit the size.
    String(u16),
    /// `char[]`: a string that takes as much of the record as it has to.
    DynString,
    /// `unsigned long[]`: a stack trace. Only triggers can set its value, so an event that has one
    /// has no [`Tracer`], and [`SynthEvent::emit`] is an error if the event has a listener.
    Stack,
    /// `long[]`: a stack trace as well.
    SignedStack,
}

impl Type {
    /// Returns the text for C.
    pub(super) fn text(self) -> Result<CString> {
        let text = match self {
            Self::U8 => c"u8",
            Self::U16 => c"u16",
            Self::U32 => c"u32",
            Self::U64 => c"u64",
            Self::S8 => c"s8",
            Self::S16 => c"s16",
            Self::S32 => c"s32",
            Self::S64 => c"s64",
            Self::Char => c"char",
            Self::UnsignedChar => c"unsigned char",
            Self::Int => c"int",
            Self::UnsignedInt => c"unsigned int",
            Self::Long => c"long",
            Self::UnsignedLong => c"unsigned long",
            Self::Bool => c"bool",
            Self::Pid => c"pid_t",
            Self::Gfp => c"gfp_t",
            Self::String(n @ 1..=STRING_MAX) => return CString::try_from_fmt(fmt!("char[{n}]")),
            Self::String(_) => return Err(EINVAL),
            Self::DynString => c"char[]",
            Self::Stack => c"unsigned long[]",
            Self::SignedStack => c"long[]",
        };

        Ok(CString::try_from(text)?)
    }
}

/// A builder of a synthetic event.
///
/// All methods take it by value: after one has failed, nothing is left that could be created.
///
/// In C: `synth_event_gen_cmd_start()`, `synth_event_add_field()`, `synth_event_gen_cmd_end()`.
///
/// # Examples
///
/// ```
/// use kernel::{
///     module::this_module,
///     trace::synth::{
///         Arg,
///         Builder,
///         Type, //
///     },
/// };
///
/// let event = Builder::new(c"rust_example_built", this_module::<crate::LocalModule>())?
///     .field(Type::Pid, c"pid")?
///     .field(Type::String(16), c"comm")?
///     .create()?;
///
/// event.emit(&[Arg::from(1), Arg::from(c"init")])?;
/// event.delete().map_err(|failed| failed.error)?;
/// # Ok::<(), Error>(())
/// ```
pub struct Builder<'a> {
    command: Command<'a>,
    name: &'a CStr,
    module: &'static ThisModule,
}

impl<'a> Builder<'a> {
    /// Starts the definition of an event without fields, of which it needs one at least.
    ///
    /// `module` is the module that creates it, which is not unloaded as long as the event is
    /// enabled, unless the event was enabled while [`create`](Self::create) was creating it, before
    /// C knew the module. Then the module can be unloaded, and the event is disabled and deleted
    /// with it, or stays without it: see [`SynthEvent`].
    ///
    /// # Errors
    ///
    /// - `EINVAL` if `name` is no name: a letter or `_`, and then letters, digits and `_`.
    /// - `E2BIG` if the command gets too long, which can be 2047 bytes.
    /// - `ENOMEM`.
    pub fn new(name: &'a CStr, module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            command: Command::synth(name)?,
            name,
            module,
        })
    }

    /// Appends a field.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if `name` is no name, the size of a string is not supported, or the event has
    ///   [`MAX_FIELDS`](super::MAX_FIELDS) fields.
    /// - `E2BIG` if the command gets too long.
    /// - `ENOMEM`.
    pub fn field(mut self, ty: Type, name: &CStr) -> Result<Self> {
        if !is_name(name) {
            return Err(EINVAL);
        }
        let ty = ty.text()?;

        // SAFETY: The command is initialised, and the strings are copied.
        to_result(unsafe {
            bindings::synth_event_add_field(
                self.command.as_raw(),
                ty.as_char_ptr(),
                name.as_char_ptr(),
            )
        })?;
        Ok(self)
    }

    /// Adds several fields. See [`field`](Self::field).
    pub fn fields(self, fields: &[(Type, &CStr)]) -> Result<Self> {
        fields
            .iter()
            .try_fold(self, |builder, (ty, name)| builder.field(*ty, name))
    }

    /// Creates the event. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if it has no fields.
    /// - `EEXIST` if a synthetic event has this name.
    /// - `ENOENT` if it was deleted concurrently.
    /// - `ENOMEM`.
    pub fn create(self) -> Result<SynthEvent> {
        let Self {
            command,
            name,
            module,
        } = self;

        command.run()?;
        let made = {
            let guard = event_mutex::lock();
            let held = guard.held();
            // SAFETY: `event_mutex` is held.
            let raw = core::ptr::NonNull::new(unsafe { raw::find_synth_event(name.as_char_ptr()) })
                .ok_or(ENOENT)?;
            // SAFETY: It is in the list of events.
            let event = unsafe { EventRef::new(raw, held) }.ok_or(EBUSY)?;

            // Enabling it has counted a reference to its module, if it has one. In the unlikely
            // case that it is enabled by now, disabling must not drop a reference that was not
            // taken.
            if !event.tracepoint().is_some_and(|tp| tp.is_enabled()) {
                // SAFETY: The event is valid, and this field is accessed with `event_mutex` held.
                unsafe { (*raw.as_ptr()).mod_ = module.as_ptr() };
            }
            Made {
                // SAFETY: It is registered, as it was just found.
                shapes: unsafe { Shapes::new(raw.as_ptr()) },
                event,
                module,
            }
        };

        // Should there be no memory, dropping it deletes the event.
        Ok(SynthEvent(Arc::new(made, GFP_KERNEL)?))
    }
}

/// A synthetic event that this code has created.
///
/// It is deleted when this and all [`Tracer`]s of it are dropped. If it is enabled in the top
/// instance it is disabled before; if another user remains, such as a trigger that generates it, it
/// stays, and a message in the kernel log says so. It then has no reference to its creator. When an
/// event of a module is deleted, buffers that may have records of it are cleared.
///
/// A module cannot be unloaded as long as its event is enabled, but for what [`Builder::new`] says;
/// nor ever, if the event was enabled in another instance when it was dropped.
///
/// The drop sleeps: it takes `event_mutex`, which must not be held.
pub struct SynthEvent(Arc<Made>);

impl SynthEvent {
    /// Creates an event with all its fields. See [`Builder`], also for errors.
    ///
    /// In C: `synth_event_create()`.
    pub fn create(
        name: &CStr,
        fields: &[(Type, &CStr)],
        module: &'static ThisModule,
    ) -> Result<Self> {
        Builder::new(name, module)?.fields(fields)?.create()
    }

    /// Returns the name, without the system.
    pub fn name(&self) -> &CStr {
        self.0.name()
    }

    /// Returns `true` if the event has a listener, in any instance or with perf. A hint: it can
    /// change at any time.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.0.event.tracepoint().is_some_and(|tp| tp.is_enabled())
    }

    /// Generates the event: each listener receives a record, in all instances and in perf. Any
    /// context.
    ///
    /// C has no such function: only triggers can do this.
    ///
    /// # Errors
    ///
    /// If the event has a listener:
    ///
    /// - `EINVAL` if the number of values is not that of the fields, or one is not of the kind of
    ///   its field or does not fit it.
    /// - `E2BIG` if the record gets longer than perf can take, which is 8 KiB.
    /// - `EBUSY` if kernel code is writing three records on this CPU already, as this is called by
    ///   what a record has caused.
    pub fn emit(&self, args: &[Arg<'_>]) -> Result {
        match self.0.event.tracepoint() {
            // SAFETY: It is that of the event, which is kept by `self`.
            Some(tracepoint) => unsafe { trace::emit(tracepoint, &self.0.shapes, args) },
            None => Ok(()),
        }
    }

    /// Returns a [`Tracer`], which generates the event in one instance only: that of this name, or
    /// the top one. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// As for [`Tracer::open`].
    pub fn tracer(&self, instance: Option<&CStr>) -> Result<Tracer> {
        Tracer::of(
            EventFile::get(instance, SYSTEM, self.name())?,
            Some(self.0.clone()),
        )
    }

    /// Enables or disables the event in the top instance. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// As for [`EventFile::get`] and [`EventFile::set_enabled`].
    pub fn set_enabled(&self, on: bool) -> Result {
        EventFile::get(None, SYSTEM, self.name())?.set_enabled(on)
    }

    /// Deletes the event, or returns it on failure. Sleeps: takes `event_mutex`.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it is enabled, or it has another reference: a [`Tracer`], an
    /// [`EventFile<Owned>`](crate::trace::event_file::Owned), perf, a trigger.
    pub fn delete(self) -> Result<(), NotDeleted> {
        self.0
            .delete()
            .map_err(|error| NotDeleted { error, event: self })
    }
}

/// The error of [`SynthEvent::delete`].
pub struct NotDeleted {
    /// The reason of the failure.
    pub error: Error,
    /// The event, as it was.
    pub event: SynthEvent,
}

/// Deletes the event of this name, even if another user has created it. Sleeps: takes
/// `event_mutex`.
///
/// In C: `synth_event_delete()`.
///
/// # Errors
///
/// - `ENOENT` if no such event exists.
/// - `EBUSY` if it is in use, or a [`SynthEvent`] of it exists.
pub fn delete(name: &CStr) -> Result {
    // SAFETY: C only compares the string.
    to_result(unsafe { bindings::synth_event_delete(name.as_char_ptr()) })
}

/// An event that was created here, as [`SynthEvent`] and [`Tracer`] share it.
///
/// # Invariants
///
/// `shapes` are those of the fields of `event`. That is released when it was deleted, and only
/// then, or when it was disowned.
pub(super) struct Made {
    event: EventRef,
    shapes: Shapes,
    module: &'static ThisModule,
}

impl Made {
    fn name(&self) -> &CStr {
        // SAFETY: By the invariant of `EventRef` the event is valid as long as it was not released,
        // which is only done after its last use; its name does not change.
        unsafe { CStr::from_char_ptr((*self.event.event.as_ptr()).name) }
    }

    /// Deletes the event, which must have no other users.
    fn delete(&self) -> Result {
        let guard = event_mutex::lock();
        // SAFETY: `event_mutex` is held, and this is not used to generate the event.
        unsafe { remove(&self.event) }?;
        drop(guard);
        if !self.module.as_ptr().is_null() {
            // SAFETY: The function has no safety requirements.
            unsafe { raw::tracing_reset_all_online_cpus() };
        }
        Ok(())
    }

    /// Drops the reference to the event, without deleting it.
    fn disown(&self) {
        let guard = event_mutex::lock();
        let raw = self.event.event.as_ptr();

        if self.event.state.load(Relaxed) != RELEASED {
            self.event.release(guard.held());
            // The module may be unloaded without it.
            //
            // SAFETY: The event cannot be removed as long as `event_mutex` is held. So is it for
            // all accesses to this field.
            unsafe { (*raw).mod_ = core::ptr::null_mut() };
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.event.state.load(Relaxed) == RELEASED {
            return;
        }
        // A failure to disable it shows below.
        let _ = top::set_event(Some(SYSTEM), Some(self.name()), false);
        if let Err(e) = self.delete() {
            let (name, e) = (self.name(), e.to_errno());

            pr_warn!("the synthetic event {name} stays: error {e}\n");
            self.disown();
        }
    }
}

/// Drops the reference to an event and removes it; on failure the reference remains.
///
/// # Safety
///
/// `event_mutex` must be held, and the event not be generated by `event`.
unsafe fn remove(event: &EventRef) -> Result {
    let raw = event.event.as_ptr();

    if event.state.load(Relaxed) == RELEASED {
        return Err(ENOENT);
    }
    // SAFETY: By the invariant of `EventRef` the event is valid, and a reference to it is counted;
    // the count is only accessed with `event_mutex` held, which is a safety requirement. This is
    // the function of C that removes an event of this kind, unless it is in use.
    unsafe {
        let Some(free) = (*(*raw).devent.ops).free else {
            return Err(EINVAL);
        };
        (*raw).ref_ -= 1;
        if let Err(e) = to_result(free(&raw mut (*raw).devent)) {
            (*raw).ref_ += 1;
            return Err(e);
        }
    }
    // INVARIANT: The reference was given up, and by the safety requirements, it is not used.
    event.state.store(RELEASED, Relaxed);
    Ok(())
}
