// SPDX-License-Identifier: GPL-2.0

//! Arguments of tracepoints that C has as well.
//!
//! With `CONFIG_CFI` an indirect call is checked by a hash of the types in the prototype of what is
//! called. That of `&Task` is not that of `struct task_struct *`. So the functions that C calls,
//! and the calls of functions of C, have the types of C, and the arguments are converted inside.

use crate::{
    bindings,
    cpumask::Cpumask,
    device::Device,
    fs::{
        File,
        LocalFile, //
    },
    mm::Mm,
    task::Task, //
};

/// A type that C has as well, so references to it can be arguments of tracepoints of C.
///
/// # Safety
///
/// A pointer to `Self` must be a valid pointer to `C` after a cast, and the other way round. `C`
/// must have the name of the type in C, as the types of `bindings` do: it is part of what
/// `CONFIG_CFI` checks.
#[diagnostic::on_unimplemented(
    message = "C has no type for `{Self}`",
    label = "a reference to this cannot be an argument of a tracepoint that C has as well",
    note = "for a type of your own implement `kernel::trace::CType`"
)]
pub unsafe trait CType {
    /// The type in C.
    type C;
}

macro_rules! c_types {
    ($($ty:ty => $c:ident;)*) => {$(
        // SAFETY: The type is transparent.
        unsafe impl CType for $ty {
            type C = bindings::$c;
        }
    )*};
}

c_types! {
    Cpumask => cpumask;
    Device => device;
    File => file;
    LocalFile => file;
    Mm => mm_struct;
    Task => task_struct;
}

/// An argument of a tracepoint that C has as well. `CONST` is whether it is a pointer to `const`
/// there.
///
/// # Safety
///
/// `C` must have the ABI and the CFI encoding of the type in C.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tracepoint that C has as well",
    note = "there are integers, `bool`, raw pointers, references to a `kernel::trace::CType`, and \
            `Option`s of such references",
    note = "only references and `Option`s of them can be `const`"
)]
pub unsafe trait CArgument<const CONST: bool>: Copy {
    /// The type in C.
    type C: Copy;

    /// Returns the value for C.
    fn into_c(self) -> Self::C;

    /// Converts the value of C back.
    ///
    /// # Safety
    ///
    /// `value` must be a valid value of `Self` as [`into_c`](Self::into_c) would convert it.
    unsafe fn from_c(value: Self::C) -> Self;
}

macro_rules! same_in_c {
    ($({$($generics:tt)*} $ty:ty;)*) => {$(
        // SAFETY: It is the type for C.
        unsafe impl $($generics)* CArgument<false> for $ty {
            type C = Self;

            #[inline(always)]
            fn into_c(self) -> Self {
                self
            }

            #[inline(always)]
            unsafe fn from_c(value: Self) -> Self {
                value
            }
        }
    )*};
}

same_in_c! {
    {} u8;
    {} u16;
    {} u32;
    {} u64;
    {} usize;
    {} i8;
    {} i16;
    {} i32;
    {} i64;
    {} isize;
    {} bool;
    {<T>} *const T;
    {<T>} *mut T;
}

macro_rules! reference_in_c {
    ($($constant:literal: [$($pointer:tt)*];)*) => {$(
        // SAFETY: A reference has the ABI of a pointer; the rest are the safety requirements of
        // `CType`.
        unsafe impl<T: CType> CArgument<$constant> for &T {
            type C = $($pointer)* T::C;

            #[inline(always)]
            fn into_c(self) -> Self::C {
                core::ptr::from_ref(self).cast_mut().cast()
            }

            #[inline(always)]
            unsafe fn from_c(value: Self::C) -> Self {
                // SAFETY: By the safety requirements this is a valid reference, cast.
                unsafe { &*value.cast() }
            }
        }

        // SAFETY: As above; `None` has the ABI of `NULL`.
        unsafe impl<T: CType> CArgument<$constant> for Option<&T> {
            type C = $($pointer)* T::C;

            #[inline(always)]
            fn into_c(self) -> Self::C {
                let pointer: *const T = self.map_or(core::ptr::null(), core::ptr::from_ref);

                pointer.cast_mut().cast()
            }

            #[inline(always)]
            unsafe fn from_c(value: Self::C) -> Self {
                // SAFETY: By the safety requirements this is null or a valid reference, cast.
                unsafe { value.cast::<T>().as_ref() }
            }
        }
    )*};
}

reference_in_c! {
    false: [*mut];
    true: [*const];
}

/// Converts an argument for C.
#[inline(always)]
pub fn into_c<T: CArgument<CONST>, const CONST: bool>(value: T) -> T::C {
    value.into_c()
}

/// Converts an argument of C.
///
/// # Safety
///
/// `value` must be a valid value of `T` as [`into_c`] would convert it.
#[inline(always)]
pub unsafe fn from_c<T: CArgument<CONST>, const CONST: bool>(value: T::C) -> T {
    // SAFETY: The safety requirements are the same.
    unsafe { T::from_c(value) }
}
