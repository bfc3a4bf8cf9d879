// SPDX-License-Identifier: GPL-2.0

//! Events of an instance while `event_mutex` is held, and their fields.

use super::{
    EventFile,
    ENABLED,
    SOFT_DISABLED, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    trace::{
        event_mutex::Held,
        instance::Instance,
        raw, //
    },
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// The access of a caller that holds `event_mutex`.
///
/// # Invariants
///
/// The file is in the list of its instance during `'h`, so neither it nor its event nor the
/// instance are removed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Locked<'h>(Held<'h>);

impl<'h> EventFile<Locked<'h>> {
    /// Creates the handle of a file.
    ///
    /// # Safety
    ///
    /// `ptr` must be a file that is in the list of its instance during `'h`.
    #[inline]
    pub(in crate::trace) unsafe fn from_raw(
        ptr: NonNull<bindings::trace_event_file>,
        held: Held<'h>,
    ) -> Self {
        // INVARIANT: By the safety requirements, `ptr` is in the list of its instance during `'h`.
        Self {
            ptr,
            access: Locked(held),
        }
    }

    pub(in crate::trace) fn call(self) -> *mut bindings::trace_event_call {
        // SAFETY: By the type invariant the file is valid; C sets the pointer once.
        unsafe { (*self.as_raw()).event_call }
    }

    /// Returns the system of the event, which is the name of the directory that has its directory.
    pub fn system(self) -> &'h CStr {
        // SAFETY: By the type invariant the event is valid during `'h`. Its class has a name, a
        // string that is valid as long as the event.
        unsafe { CStr::from_char_ptr((*(*self.call()).class).system) }
    }

    /// Returns the name of the event.
    pub fn name(self) -> &'h CStr {
        // SAFETY: By the type invariant the event is valid.
        let name = unsafe { bindings::trace_event_name(self.call()) };

        if name.is_null() {
            c""
        } else {
            // SAFETY: The name is a string that is valid as long as the event, so during `'h`.
            unsafe { CStr::from_char_ptr(name) }
        }
    }

    /// Returns the instance.
    pub fn instance(self) -> Instance<'h> {
        // SAFETY: By the type invariant the file is valid; C sets the pointer once.
        let instance = unsafe { (*self.as_raw()).tr };

        // SAFETY: Files are always of an instance, which is valid during `'h` by the type
        // invariant.
        unsafe { Instance::from_raw(NonNull::new_unchecked(instance), self.access.0) }
    }

    /// Returns `true` if the event has a listener in its instance: it is enabled, or has a trigger.
    pub fn is_listening(self) -> bool {
        self.flags() & ENABLED != 0
    }

    /// Returns `true` if the event is enabled in its instance, as the file `enable` shows.
    pub fn is_enabled(self) -> bool {
        self.flags() & (ENABLED | SOFT_DISABLED) == ENABLED
    }

    /// Enables or disables the event in its instance, as the file `enable` does.
    ///
    /// # Errors
    ///
    /// `ENOMEM` and the errors of the probe, if the event cannot be enabled.
    pub fn set_enabled(self, on: bool) -> Result {
        // SAFETY: By the type invariant the file is valid, and `event_mutex` is held.
        to_result(unsafe { raw::trace_event_enable_disable(self.as_raw(), on.into(), 0) })
    }

    /// Finds a field by its name: one of the event, a generic one like `common_cpu`, or one that
    /// every record has like `common_pid`, in this order.
    pub fn field(self, name: &CStr) -> Option<FieldInfo<'h>> {
        // SAFETY: By the type invariant the event is valid. C only compares the string.
        let field =
            unsafe { raw::trace_find_event_field(self.call(), name.as_char_ptr().cast_mut()) };

        // SAFETY: A field is valid as long as its event, or permanently.
        NonNull::new(field).map(|field| unsafe { FieldInfo::from_raw(field) })
    }
}

/// The kind of a field for filters and histograms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A number, or something that is not told from one.
    Number,
    /// A string in an array of fixed size.
    StaticString,
    /// A string that the field, a `__data_loc`, tells offset and length of: they are the lower and
    /// the upper half of a `u32`, and the offset is from the start of the record.
    DynString,
    /// A string that the field, a `__rel_loc`, tells offset and length of: as
    /// [`DynString`](Self::DynString), but the offset is from the end of the field.
    RelDynString,
    /// A pointer to a string, in the kernel or in user space.
    PtrString,
    /// The address of a function.
    Function,
    /// A `__data_loc` of a bitmap of CPUs.
    Cpumask,
    /// Not in the record: the `comm` of the current task.
    Comm,
    /// Not in the record: the current CPU.
    Cpu,
    /// A `__data_loc` of a stack trace, whose first word is the number of entries that follow; or,
    /// if the size of the field is 0, not in the record: the stack of the current task.
    Stacktrace,
}

/// A field of an event, a `struct ftrace_event_field`.
///
/// Offset and size are those of the definition of the event. They need not fit any record: use them
/// with [`Hit::record`](crate::trace::trigger::Hit::record) only, whose bounds are those of the
/// record.
///
/// Two of these are equal if they are the same field of the same event.
///
/// # Invariants
///
/// `ptr` is a field that does not change during `'h`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo<'h> {
    ptr: NonNull<bindings::ftrace_event_field>,
    _held: PhantomData<Held<'h>>,
}

impl<'h> FieldInfo<'h> {
    /// Creates the handle of a field.
    ///
    /// # Safety
    ///
    /// `ptr` must be a field that does not change during `'h`.
    unsafe fn from_raw(ptr: NonNull<bindings::ftrace_event_field>) -> Self {
        // INVARIANT: By the safety requirements, `ptr` is a field that does not change during `'h`.
        Self {
            ptr,
            _held: PhantomData,
        }
    }

    fn raw(self) -> &'h bindings::ftrace_event_field {
        // SAFETY: By the type invariant it is valid and does not change during `'h`.
        unsafe { self.ptr.as_ref() }
    }

    /// Returns the name.
    pub fn name(self) -> &'h CStr {
        // SAFETY: It is a string that is valid as long as the field.
        unsafe { CStr::from_char_ptr(self.raw().name) }
    }

    /// Returns the type, as C would write it.
    pub fn ty(self) -> &'h CStr {
        // SAFETY: It is a string that is valid as long as the field.
        unsafe { CStr::from_char_ptr(self.raw().type_) }
    }

    /// Returns the offset in the record, including the header. It is meaningless for a field that
    /// is not in the record.
    pub fn offset(self) -> i32 {
        self.raw().offset
    }

    /// Returns the size in bytes, which is 4 for a `__data_loc` or a `__rel_loc`, but 8 in a
    /// synthetic event.
    pub fn size(self) -> i32 {
        self.raw().size
    }

    /// Returns `true` if the type is signed.
    pub fn is_signed(self) -> bool {
        self.raw().is_signed() != 0
    }

    /// Returns the kind of the field for filters and histograms.
    pub fn kind(self) -> FieldKind {
        // CAST: The constants are small.
        match self.raw().filter_type as u32 {
            bindings::FILTER_STATIC_STRING => FieldKind::StaticString,
            bindings::FILTER_DYN_STRING => FieldKind::DynString,
            bindings::FILTER_RDYN_STRING => FieldKind::RelDynString,
            bindings::FILTER_PTR_STRING => FieldKind::PtrString,
            bindings::FILTER_TRACE_FN => FieldKind::Function,
            bindings::FILTER_CPUMASK => FieldKind::Cpumask,
            bindings::FILTER_COMM => FieldKind::Comm,
            bindings::FILTER_CPU => FieldKind::Cpu,
            bindings::FILTER_STACKTRACE => FieldKind::Stacktrace,
            _ => FieldKind::Number,
        }
    }

    /// Returns `true` if the field is a string, wherever it is stored.
    pub fn is_string(self) -> bool {
        matches!(
            self.kind(),
            FieldKind::StaticString
                | FieldKind::DynString
                | FieldKind::RelDynString
                | FieldKind::PtrString
                | FieldKind::Comm
        )
    }
}
