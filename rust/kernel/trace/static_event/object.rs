// SPDX-License-Identifier: GPL-2.0

//! The static objects that C knows an event by.
//!
//! They are the objects that the C macros define in their last stages. C links them to each other,
//! and changes them, when it finds them by the sections they are in.
//!
//! C headers: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h),
//! [`include/trace/trace_events.h`](srctree/include/trace/trace_events.h).

use super::{
    super::tracepoint::Tracepoint,
    custom,
    print::Functions,
    scalar::Scalar, //
};
#[cfg(CONFIG_PERF_EVENTS)]
use crate::trace::perf;
use crate::{
    bindings,
    prelude::*,
    str::as_char_ptr_in_const_context,
    transmute::AsBytes,
    types::Opaque, //
};

/// The kind of a field for filters and histograms, if not that of its type.
#[derive(Clone, Copy)]
pub enum FilterType {
    /// As its type says.
    Auto = bindings::FILTER_OTHER as isize,
    /// A pointer to a string, which is read with care.
    PtrString = bindings::FILTER_PTR_STRING as isize,
    /// The address of a function.
    Function = bindings::FILTER_TRACE_FN as isize,
    /// The number of a CPU.
    Cpu = bindings::FILTER_CPU as isize,
}

/// A field of an event, or the end of its fields.
///
/// # Invariants
///
/// Only C writes to it: when it looks at the print format of an event, it may set `needs_test`.
#[repr(transparent)]
pub struct FieldSpec(Opaque<bindings::trace_event_fields>);

// SAFETY: By the type invariant it is C's.
unsafe impl Sync for FieldSpec {}

impl FieldSpec {
    const fn new(
        ty: *const c_char,
        name: &'static CStr,
        size: usize,
        align: usize,
        signed: bool,
        filter: FilterType,
        len: usize,
    ) -> Self {
        assert!(size <= u16::MAX as usize && len <= u16::MAX as usize);

        let field = bindings::trace_event_fields__bindgen_ty_1__bindgen_ty_1 {
            name: as_char_ptr_in_const_context(name),
            size: size as c_int,
            align: align as c_int,
            _bitfield_align_1: [],
            // `is_signed` is the first bit.
            _bitfield_1: bindings::__BindgenBitfieldUnit::new([if signed { FIRST_BIT } else { 0 }]),
            filter_type: filter as c_int,
            len: len as c_int,
        };

        // INVARIANT: No code has accessed it yet.
        Self(Opaque::new(bindings::trace_event_fields {
            type_: ty,
            __bindgen_anon_1: bindings::trace_event_fields__bindgen_ty_1 {
                __bindgen_anon_1: field,
            },
        }))
    }

    /// Describes a field of type `T`, which C calls `ty`.
    pub const fn value<T: Scalar>(
        ty: *const c_char,
        name: &'static CStr,
        filter: FilterType,
    ) -> Self {
        Self::new(
            ty,
            name,
            size_of::<T::Bits>(),
            align_of::<T::Bits>(),
            T::SIGNED,
            filter,
            0,
        )
    }

    /// Describes a field that is a structure, which C calls `ty`.
    pub const fn structure<T: AsBytes + Copy>(
        ty: *const c_char,
        name: &'static CStr,
        filter: FilterType,
    ) -> Self {
        Self::new(ty, name, size_of::<T>(), align_of::<T>(), false, filter, 0)
    }

    /// Describes a field that is an array of `N` elements of type `T`.
    pub const fn array<T: Scalar, const N: usize>(
        ty: *const c_char,
        name: &'static CStr,
        signed: bool,
        filter: FilterType,
    ) -> Self {
        assert!(N > 0, "an array field has no elements");
        Self::new(
            ty,
            name,
            size_of::<[T; N]>(),
            align_of::<T>(),
            signed,
            filter,
            N,
        )
    }

    /// Describes the field that locates data of variable size.
    pub const fn span(
        ty: *const c_char,
        name: &'static CStr,
        signed: bool,
        filter: FilterType,
    ) -> Self {
        Self::new(ty, name, 4, 4, signed, filter, 0)
    }

    /// Creates the entry that follows the last field.
    pub const fn end() -> Self {
        // INVARIANT: No code has accessed it yet.
        Self(Opaque::new(pin_init::zeroed()))
    }
}

/// The first bit of a byte of bit fields.
const FIRST_BIT: u8 = if cfg!(target_endian = "big") { 0x80 } else { 1 };

/// The class of several events.
///
/// # Invariants
///
/// Only C writes to it.
#[repr(transparent)]
pub struct Class(Opaque<bindings::trace_event_class>);

// SAFETY: By the type invariant it is C's.
unsafe impl Sync for Class {}

impl Class {
    /// Creates a class for a static.
    ///
    /// # Safety
    ///
    /// `this` must be the address of the static. `probe` and `perf_probe` must be functions of the
    /// prototype of all events of the class with, in front, the `trace_event_file` and the
    /// `trace_event_call` they were registered with. `custom` must be set if an event of the class
    /// has a foreign tracepoint.
    pub const unsafe fn new<const N: usize>(
        this: *const Self,
        system: &'static CStr,
        fields: &'static [FieldSpec; N],
        probe: *const (),
        perf_probe: *const (),
        custom: bool,
    ) -> Self {
        let mut class: bindings::trace_event_class = pin_init::zeroed();
        let head = this
            .cast::<u8>()
            .wrapping_add(core::mem::offset_of!(bindings::trace_event_class, fields))
            .cast_mut()
            .cast();

        class.system = as_char_ptr_in_const_context(system);
        class.fields_array = fields.as_ptr().cast_mut().cast();
        class.fields.next = head;
        class.fields.prev = head;
        class.raw_init = Some(bindings::trace_event_raw_init);
        class.probe = probe.cast_mut().cast();
        class.reg = if custom {
            Some(custom::register)
        } else {
            Some(bindings::trace_event_reg)
        };
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            class.perf_probe = perf_probe.cast_mut().cast();
        }
        #[cfg(not(CONFIG_PERF_EVENTS))]
        let _ = perf_probe;

        // INVARIANT: No code has accessed it yet.
        Self(Opaque::new(class))
    }
}

/// An event.
///
/// # Invariants
///
/// Only C writes to it.
#[repr(transparent)]
pub struct Call(pub(super) Opaque<bindings::trace_event_call>);

/// The tracepoint of an event.
pub enum Origin {
    /// One of its own.
    Tracepoint(&'static Tracepoint),
    /// A foreign one, of this name, to which the event is bound later.
    Custom(&'static CStr),
}

// SAFETY: By the type invariant it is C's.
unsafe impl Sync for Call {}

impl Call {
    /// Creates an event for a static.
    ///
    /// With `cap_any` all users can have perf record it for their own tasks. `permission` is asked
    /// before that, for all perf events.
    pub const fn new(
        origin: Origin,
        class: &'static Class,
        functions: &'static Functions,
        print_fmt: *const c_char,
        cap_any: bool,
        permission: Option<Permission>,
    ) -> Self {
        let mut call: bindings::trace_event_call = pin_init::zeroed();

        call.class = class.0.get();
        call.event.funcs = functions.as_raw();
        call.print_fmt = print_fmt.cast_mut();
        call.flags = match origin {
            Origin::Tracepoint(tracepoint) => {
                call.__bindgen_anon_1.tp = tracepoint.as_raw();
                bindings::TRACE_EVENT_FL_TRACEPOINT as c_int
            }
            Origin::Custom(name) => {
                call.__bindgen_anon_1.name = as_char_ptr_in_const_context(name);
                bindings::TRACE_EVENT_FL_CUSTOM as c_int
            }
        };
        if cap_any {
            call.flags |= bindings::TRACE_EVENT_FL_CAP_ANY as c_int;
        }
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            call.perf_perm = permission;
        }
        #[cfg(not(CONFIG_PERF_EVENTS))]
        let _ = permission;

        // INVARIANT: No code has accessed it yet.
        Self(Opaque::new(call))
    }
}

/// The function that permits perf to open an event.
pub type Permission =
    unsafe extern "C" fn(*mut bindings::trace_event_call, *mut bindings::perf_event) -> c_int;

/// Converts the pointer to the perf event that a [`Permission`] is asked about.
///
/// # Safety
///
/// `event` must be a perf event that is being opened, and be valid during `'a`.
#[cfg(CONFIG_PERF_EVENTS)]
pub unsafe fn perf_event<'a>(event: *mut bindings::perf_event) -> &'a perf::PerfEvent {
    // SAFETY: By the safety requirements, `event` is a perf event that exists during `'a`; perf has
    // copied its attributes before.
    unsafe { perf::PerfEvent::from_raw(event) }
}

/// The functions that C calls before the first probe is attached and after the last one is
/// detached, and the grace period that it waits for.
#[repr(transparent)]
pub struct Hooks(Opaque<bindings::tracepoint_ext>);

// SAFETY: It is not written to.
unsafe impl Sync for Hooks {}

impl Hooks {
    /// Creates the hooks of a tracepoint, and the flag that its probes may fault.
    pub const fn new(
        attach: Option<unsafe extern "C" fn() -> c_int>,
        detach: Option<unsafe extern "C" fn()>,
        faultable: bool,
    ) -> Self {
        let mut ext: bindings::tracepoint_ext = pin_init::zeroed();

        ext.regfunc = attach;
        ext.unregfunc = detach;
        // `faultable` is the first bit.
        ext._bitfield_1 =
            bindings::__BindgenBitfieldUnit::new([if faultable { FIRST_BIT } else { 0 }]);
        Self(Opaque::new(ext))
    }

    /// Returns the pointer for [`Tracepoint::declared`].
    pub const fn as_raw(&'static self) -> *mut bindings::tracepoint_ext {
        self.0.get()
    }
}

/// Converts the result of a hook for C.
pub fn hook_result(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(e) => e.to_errno(),
    }
}

/// A pointer in a section that C takes for an array.
#[repr(transparent)]
pub struct Pointer<T: 'static>(&'static T);

// SAFETY: `&T` can be shared if `T` can.
unsafe impl<T: Sync> Sync for Pointer<T> {}

impl<T> Pointer<T> {
    /// Creates a pointer to a static.
    pub const fn new(to: &'static T) -> Self {
        Self(to)
    }
}

/// The target of a static call.
#[repr(transparent)]
pub struct StaticCall(Opaque<bindings::static_call_key>);

// SAFETY: Only C accesses it after its creation.
unsafe impl Sync for StaticCall {}

impl StaticCall {
    /// Creates a static call that initially calls `target`.
    pub const fn new(target: *const ()) -> Self {
        let mut key: bindings::static_call_key = pin_init::zeroed();

        key.func = target.cast_mut().cast();
        // It has no call sites yet.
        #[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
        {
            key.__bindgen_anon_1.type_ = 1;
        }
        Self(Opaque::new(key))
    }

    /// Returns the pointer for [`Tracepoint::declared`].
    pub const fn as_raw(&'static self) -> *mut bindings::static_call_key {
        self.0.get()
    }
}

/// The table by which BPF programs are attached to a tracepoint.
#[cfg(CONFIG_BPF_EVENTS)]
#[repr(transparent)]
pub struct BpfMap(Opaque<bindings::bpf_raw_event_map>);

#[cfg(CONFIG_BPF_EVENTS)]
// SAFETY: It is not written to.
unsafe impl Sync for BpfMap {}

#[cfg(CONFIG_BPF_EVENTS)]
impl BpfMap {
    /// Creates the entry by which C calls `run` for a program that is attached to `tracepoint`,
    /// which has as many arguments.
    pub const fn new(tracepoint: &'static Tracepoint, run: *const (), arguments: u32) -> Self {
        Self(Opaque::new(bindings::bpf_raw_event_map {
            tp: tracepoint.as_raw(),
            bpf_func: run.cast_mut().cast(),
            num_args: arguments,
            writable_size: 0,
        }))
    }
}
