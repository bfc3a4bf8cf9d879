// SPDX-License-Identifier: GPL-2.0

//! Events that are created at run time.
//!
//! # Life of an event
//!
//! 1. *Created*: [`Event::new`], in the type that it is embedded in. C does not know it.
//! 2. *Registered*: [`Event::register`]. It is in tracefs, and its registration owns a reference to
//!    the [`Arc`]. Callbacks may be called.
//! 3. *Created* again: [`Event::unregister`], which fails while it has a listener or another
//!    reference, and after which no callback is called.
//!
//! So an event that is registered cannot be freed. Registering and unregistering take place with
//! `event_mutex` held, and so do all callbacks but [`Operations::print`].
//!
//! # What can be unregistered in a callback
//!
//! C calls with lists of events half walked, or with an event in use that it calls about. There
//! [`Event::unregister`] fails with `EBUSY`. Only in [`dynevent::Operations::free`] the event that
//! this is about can be unregistered. Code that learns in a callback that it no longer needs an
//! event defers the rest to a work item.
//!
//! [`dynevent::Operations::free`]: super::dynevent::Operations::free
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

mod callbacks;
mod calls;
mod class;
mod listeners;

pub use self::listeners::{
    Listener,
    Listeners, //
};

use self::{
    callbacks::Callbacks,
    calls::Core, //
};
use super::{
    dynevent::Kind,
    field::{
        self,
        FieldDef,
        Fields, //
    },
    output::OutputLine, //
};
use crate::{
    bindings,
    prelude::*,
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
        removal::UnregisterScope,
        tracepoint::{
            self,
            ReadGuard,
            Tracepoint, //
        },
    },
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    slice, //
};

/// The description of an event. The event copies the texts, which must not have a NUL.
#[derive(Clone, Copy)]
pub struct Definition<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The format of a printed record: the text that follows `print fmt:` in the `format` file.
    pub print_fmt: &'a [u8],
    /// Its fields, in the order they are shown in.
    pub fields: &'a [FieldDef<'a>],
    /// A text about the event that its owner wants to keep, see [`Event::note`].
    pub note: &'a [u8],
}

/// Says where the [`Event`] is in a type that embeds one.
///
/// Implemented by [`impl_has_event!`](crate::impl_has_event).
///
/// # Safety
///
/// [`raw_event`](Self::raw_event) must return a pointer to a field of `*ptr`, derived from `ptr`,
/// aligned if `ptr` is, and always to the same field.
pub unsafe trait HasEvent: Sized {
    /// Returns a pointer to the event of `*ptr`.
    ///
    /// # Safety
    ///
    /// `ptr` must point to a `Self`; it need not be initialised.
    unsafe fn raw_event(ptr: *mut Self) -> *mut Event<Self>;
}

/// Implements [`HasEvent`](crate::trace::builtin::event::HasEvent).
///
/// [`builtin`](crate::trace::builtin) has an example.
#[macro_export]
macro_rules! impl_has_event {
    ($(impl HasEvent for $self:ty { self.$field:ident })*) => {$(
        // SAFETY: This only compiles if the field has the right type and the type is aligned for
        // it; it is always the same one.
        unsafe impl $crate::trace::builtin::event::HasEvent for $self {
            #[inline]
            unsafe fn raw_event(ptr: *mut Self) -> *mut $crate::trace::builtin::event::Event<Self> {
                // Checks that it is a field and not found by `Deref`.
                const _: usize = ::core::mem::offset_of!($self, $field);
                const _: () = ::core::assert!(
                    ::core::mem::align_of::<$self>()
                        >= ::core::mem::align_of::<
                            $crate::trace::builtin::event::Event<$self>
                        >(),
                    "the event would not be aligned in a packed type"
                );

                // SAFETY: By the safety requirements, the pointer is valid.
                unsafe { &raw mut (*ptr).$field }
            }
        }
    )*};
}

/// The callbacks of an event.
#[vtable]
pub trait Operations: HasEvent + Send + Sync + 'static {
    /// Returns the kind of dynamic events that the event belongs to.
    fn kind() -> &'static Kind<Self>;

    /// Called before a listener is attached. May sleep; allocations are not charged to the memory
    /// cgroup of the task.
    ///
    /// # Errors
    ///
    /// Those for which it is not attached.
    fn attaching(_this: ArcBorrow<'_, Self>, _held: Held<'_>) -> Result {
        Ok(())
    }

    /// Called after a listener was attached, that is, a trace instance or perf.
    fn attached(_this: ArcBorrow<'_, Self>, _held: Held<'_>) {}

    /// Called after a listener was detached.
    ///
    /// If that is because an instance is removed `trace_types_lock` is held as well. So what takes
    /// it must not be called: an [`InstanceRef`](crate::trace::instance::InstanceRef) must be
    /// neither created nor dropped here, nor an event be [registered](Event::register).
    fn detached(_this: ArcBorrow<'_, Self>, _held: Held<'_>) {}

    /// Prints a record for the `trace` file. Without this the fields are printed one after the
    /// other.
    ///
    /// Called in any context, with locks held, as records are also printed where the event happens
    /// (with `tp_printk`) and when the kernel dumps its buffers. So this must neither sleep, nor
    /// allocate memory, nor take a lock.
    fn print(&self, _line: &mut OutputLine<'_>) {
        build_error!(crate::error::VTABLE_DEFAULT_ERROR)
    }
}

/// The class of all events of a `T` in a directory under `events/`.
///
/// [`builtin`](crate::trace::builtin) has an example.
///
/// # Invariants
///
/// `system` is a static string, the functions are those of `T`. It is never written to.
pub struct Class<T>(
    Opaque<bindings::trace_event_class>,
    // No subtype of `T` is taken for it, nor the other way round: each has functions of its own.
    PhantomData<fn(T) -> T>,
);

// SAFETY: It is never written to by the type invariant.
unsafe impl<T> Sync for Class<T> {}

impl<T> Class<T> {
    pub(in crate::trace) fn as_raw(&'static self) -> *mut bindings::trace_event_class {
        self.0.get()
    }
}

/// An event, embedded in a `T`.
///
/// # Invariants
///
/// While `registered` is set:
///
/// - The event is in a `T` as [`HasEvent`] says, and that is in an [`Arc`] one reference of which
///   is owned by this registration. `data` of the call is the pointer of that [`Arc`].
/// - `core` is set as `link` does. But for `event.type`, which is set under `event_mutex`, it is
///   C's.
///
/// `registered` and `readers` only change with `event_mutex` held. All probes of the tracepoint
/// were added by `Callbacks`. The class of the call is that of a [`Class`].
///
/// The text of the fields begins with the name, of `name_len` bytes, and its NUL; the note, of
/// `note_len` bytes, and its NUL follow, then the print format.
pub struct Event<T> {
    core: Pin<KBox<Core>>,
    /// The readers that may have seen a detached listener.
    readers: tracepoint::Readers,
    name_len: u16,
    note_len: u16,
    registered: Atomic<bool>,
    /// No subtype of `T` is taken for it, nor the other way round: each has a class of its own.
    _owner: PhantomData<fn(T) -> T>,
}

// SAFETY: Nothing of an event is tied to the thread that created it. `register` requires a `T` that
// can be sent to other threads.
unsafe impl<T> Send for Event<T> {}
// SAFETY: What is not constant is either changed with `event_mutex` held only, or accessed
// atomically.
unsafe impl<T> Sync for Event<T> {}

impl<T> Event<T> {
    /// Returns the system, the directory under `events/` that the event appears in.
    pub fn system(&self) -> &'static CStr {
        // SAFETY: The call is initialised. By the type invariant it has the class of a `Class`,
        // whose system is a static string.
        unsafe { CStr::from_char_ptr((*(*self.core.call.get()).class).system) }
    }

    /// Returns the name of the event.
    #[inline]
    pub fn name(&self) -> &CStr {
        // SAFETY: By the type invariant this is the name.
        unsafe { self.string(0, self.name_len) }
    }

    /// Returns the text that the owner passed on creation to be kept.
    #[inline]
    pub fn note(&self) -> &CStr {
        // SAFETY: By the type invariant this is the note.
        unsafe { self.string(usize::from(self.name_len) + 1, self.note_len) }
    }

    /// Returns one of the strings in the text.
    ///
    /// # Safety
    ///
    /// The text must have a string of `len` bytes from `start` on.
    #[inline]
    unsafe fn string(&self, start: usize, len: u16) -> &CStr {
        let text: *const u8 = self.core.fields.text().cast();

        // SAFETY: By the safety requirements, the text has the bytes and their NUL, and no other
        // NUL.
        unsafe {
            CStr::from_bytes_with_nul_unchecked(slice::from_raw_parts(
                text.add(start),
                usize::from(len) + 1,
            ))
        }
    }

    /// Returns the fields of the event, in the order of the definition.
    pub fn fields(&self) -> Fields<'_> {
        self.core.fields.iter()
    }

    /// Returns the head of the list that C sees.
    #[cfg(CONFIG_RUST_TRACE_KUNIT_TEST)]
    pub(in crate::trace) fn field_list(&self) -> *mut bindings::list_head {
        self.core.fields.head()
    }

    /// Returns the `trace_event_call` of the event.
    pub(in crate::trace) fn as_call(&self) -> *mut bindings::trace_event_call {
        self.core.call.get()
    }

    /// Returns the number that the records carry while the event is registered.
    pub fn type_id(&self) -> u16 {
        // SAFETY: The call is initialised. Registering and unregistering may write to the type at
        // the same time, so this is one load.
        let id = unsafe { Atomic::<c_int>::from_ptr(&raw mut (*self.core.call.get()).event.type_) };

        // CAST: C assigns types that fit in the `type` of a record.
        id.load(Relaxed) as u16
    }

    /// Returns `true` if the event is registered. A hint unless `event_mutex` is held.
    pub fn is_registered(&self) -> bool {
        self.registered.load(Relaxed)
    }

    /// Returns `true` if event probes or triggers refer to the event; they keep it registered.
    ///
    /// A hint unless `event_mutex` is held.
    pub fn is_referenced(&self) -> bool {
        // SAFETY: The call is initialised; C reads one atomic counter, which is zero in an event
        // that was never registered.
        self.registered.load(Relaxed) && unsafe { calls::is_busy(self.core.call.get()) }
    }

    /// Returns `true` if the event has a listener.
    ///
    /// A hint: it can change at any time. Costs two loads.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.core.tracepoint.is_enabled()
    }

    /// Returns the listeners of the event.
    ///
    /// Concurrent changes may be visible or not.
    #[inline]
    pub fn listeners<'g>(&'g self, guard: &'g ReadGuard) -> Listeners<'g> {
        // SAFETY: `tracepoint` and `call` are those of one event, whose probes are added by
        // `Callbacks` only, by the type invariant. An event waits for all guards before it is
        // unregistered.
        unsafe { Listeners::new(&self.core.tracepoint, self.core.call.get(), guard) }
    }
}

impl<T: Operations> Event<T> {
    /// Creates an event that is not registered yet, in the system of `class`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a text contains a NUL or something is too large, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// C's filters and triggers read the fields of each record, and do not know its length. So each
    /// record that is committed, to any listener, must have all bytes of each field of
    /// `definition`; and a field that C treats as a `__data_loc` or `__rel_loc` must name a place
    /// in the record, which ends with a NUL if it is a string.
    pub unsafe fn new(class: &'static Class<T>, definition: Definition<'_>) -> Result<Self> {
        let Definition {
            name,
            print_fmt,
            fields,
            note,
        } = definition;
        let core = KBox::pin_init(
            try_pin_init!(Core {
                tracepoint: Tracepoint::new(),
                call: Opaque::zeroed(),
                dynamic: Opaque::zeroed(),
                fields <- field::List::new(fields, [name, note, print_fmt]),
            }? Error),
            GFP_KERNEL_ACCOUNT,
        )?;

        // SAFETY: The call is initialised, and it is not shared yet.
        unsafe { (*core.call.get()).class = class.as_raw() };

        // INVARIANT: It is not registered and has no probes; the text begins with these strings.
        Ok(Self {
            core,
            readers: tracepoint::Readers::new(),
            name_len: name.len().try_into()?,
            note_len: note.len().try_into()?,
            registered: Atomic::new(false),
            _owner: PhantomData,
        })
    }

    /// Registers the event of `this`: it appears in tracefs and can be listened to. Sleeps: takes
    /// `trace_types_lock`.
    ///
    /// `this` is kept until the event is unregistered.
    ///
    /// # Errors
    ///
    /// `ENODEV` if its kind is not registered or too many events exist, `EBUSY` if it is registered
    /// already, `ENOMEM`, also if the file of an instance cannot be allocated.
    pub fn register(this: ArcBorrow<'_, T>, held: Held<'_>) -> Result {
        let kind = T::kind();
        if !kind.is_registered() {
            return Err(ENODEV);
        }

        let owner = Arc::into_raw(Arc::from(this));
        // SAFETY: This is the pointer of an `Arc`, of which it stands for a reference.
        let result = unsafe { Self::register_owned(owner, kind, held) };
        if result.is_err() {
            // SAFETY: The pointer is the result of `Arc::into_raw` above. As this has failed it is
            // not in use as that of a registration.
            drop(unsafe { Arc::from_raw(owner) });
        }
        result
    }

    /// Registers the event of `owner`, and on success takes over the reference that `owner` stands
    /// for.
    ///
    /// # Safety
    ///
    /// `owner` must be the result of [`Arc::into_raw`].
    unsafe fn register_owned(owner: *const T, kind: &'static Kind<T>, held: Held<'_>) -> Result {
        // SAFETY: By the safety requirements, `owner` points to a `T`, which the reference keeps;
        // its event is initialised.
        let event = unsafe { &*T::raw_event(owner.cast_mut()) };

        // `held` excludes concurrent registration and unregistration.
        if event.registered.load(Relaxed) {
            return Err(EBUSY);
        }

        // SAFETY: It is not registered and stays so with `held`.
        unsafe { event.link(owner, kind) };
        // SAFETY: The event was just linked, is not registered, and the reference that the caller
        // hands over keeps it and what it points to.
        unsafe { calls::add(&event.core, held)? };

        // INVARIANT: It was linked, and the reference of `owner` is the registration's from here
        // on.
        event.registered.store(true, Relaxed);
        Ok(())
    }

    /// Sets the members of the event that C reads.
    ///
    /// # Safety
    ///
    /// `owner` must be the result of [`Arc::into_raw`] and this be its event, which must not be
    /// registered. `event_mutex` must be held.
    unsafe fn link(&self, owner: *const T, kind: &'static Kind<T>) {
        let tracepoint = self.core.tracepoint.as_raw();
        let call = self.core.call.get();
        let dynamic = self.core.dynamic.get();
        let text = self.core.fields.text();
        let print_fmt = usize::from(self.name_len) + usize::from(self.note_len) + 2;

        // SAFETY: By the safety requirements, C does not know the event, and `event_mutex` keeps
        // others from registering it, so no other code accesses these fields but for the atomic
        // accesses of `type_id` and `is_enabled` and the reading of `system`, which concern fields
        // that are not written here.
        unsafe {
            (*tracepoint).name = text;

            (*call).__bindgen_anon_1.tp = tracepoint;
            (*call).event.funcs = Callbacks::<T>::functions();
            (*call).print_fmt = text.wrapping_add(print_fmt).cast_mut();
            (*call).data = owner.cast_mut().cast();
            // C is not to free the fields.
            (*call).flags = (bindings::TRACE_EVENT_FL_TRACEPOINT
                | bindings::TRACE_EVENT_FL_OWN_FIELDS) as c_int;

            (*dynamic).list.next = &raw mut (*dynamic).list;
            (*dynamic).list.prev = &raw mut (*dynamic).list;
            (*dynamic).ops = kind.as_raw();
        }
    }

    /// Waits until no reader can have a listener that was removed before. Sleeps, if it has to.
    ///
    /// [`Event::unregister`] does the same, but with [`event_mutex`](crate::trace::event_mutex)
    /// held. After this it has not to wait, unless another listener was taken away since.
    pub fn wait_for_readers(&self) {
        self.readers.wait();
    }

    /// Unregisters the event. Sleeps: takes `trace_types_lock`. Nothing has changed if it fails.
    ///
    /// Waits for all readers if the event had a listener since it was registered.
    ///
    /// # Errors
    ///
    /// `ENOENT` if it is not registered; `EBUSY` if it is listened to or referred to, or if this is
    /// a callback in which it cannot be unregistered; `ENOMEM`.
    pub fn unregister(&self, held: Held<'_>) -> Result {
        if !self.registered.load(Relaxed) {
            return Err(ENOENT);
        }
        if !UnregisterScope::covers(self.permission_id(), held)
            || self.is_enabled()
            || self.is_referenced()
        {
            return Err(EBUSY);
        }

        // C frees the files of an event at once. `event_mutex` excludes new listeners, but readers
        // may still have detached ones.
        self.readers.wait();

        // SAFETY: By the type invariant the event is registered.
        unsafe { calls::remove(&self.core, held)? };

        // INVARIANT: C no longer knows the event, so the reference can be dropped.
        self.registered.store(false, Relaxed);
        // SAFETY: By the type invariant `data` is the pointer of an `Arc` that the registration
        // owned a reference of, and C does not write to it. A caller with a reference to
        // the event has another reference of that `Arc`: in a callback that does not, permission is
        // not given.
        drop(unsafe { Arc::from_raw((*self.core.call.get()).data.cast::<T>().cast_const()) });

        Ok(())
    }
}

impl<T> Event<T> {
    /// Returns the id by which [`UnregisterScope`] identifies the event.
    fn permission_id(&self) -> usize {
        self.core.dynamic.get().addr()
    }

    /// Returns the owner of the event that a `struct dyn_event` is in.
    ///
    /// # Safety
    ///
    /// `ptr` must be the `dynamic` of an `Event<T>` that is registered.
    pub(in crate::trace) unsafe fn owner_of(ptr: *mut bindings::dyn_event) -> *const T {
        // SAFETY: By the safety requirements, this is a field of a `Core`; the pointer that C has
        // was derived from one to the whole of it.
        let core = unsafe { crate::container_of!(Opaque::cast_from(ptr), Core, dynamic) };

        // SAFETY: As above; `data` is constant while it is registered.
        unsafe { (*(*core).call.get()).data.cast::<T>().cast_const() }
    }
}
