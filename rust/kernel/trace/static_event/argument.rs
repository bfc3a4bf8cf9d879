// SPDX-License-Identifier: GPL-2.0

//! The arguments of tracepoints that are declared in Rust.
//!
//! The types that can be one are the same with and without BPF.

/// A type that an argument of a tracepoint can have.
///
/// `#[derive(TraceValue)]` implements it for enumerations and for structures with one field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tracepoint",
    note = "there are integers, `bool`, raw pointers and references, and `Option`s of references",
    note = "for an enumeration or a structure with one field use `#[derive(TraceValue)]`",
    note = "for another type of your own implement `kernel::trace::Argument`"
)]
pub trait Argument: Copy {
    /// Returns the value or the address, as a BPF program gets it.
    fn to_word(self) -> u64;
}

macro_rules! argument {
    ($($ty:ty, $value:ident => $to:expr;)*) => {$(
        impl Argument for $ty {
            #[inline(always)]
            fn to_word(self) -> u64 {
                let $value = self;
                $to
            }
        }
    )*};
}

// CAST: As C does, a number with a sign becomes one without of the same size first.
argument! {
    u8, value => u64::from(value);
    u16, value => u64::from(value);
    u32, value => u64::from(value);
    u64, value => value;
    usize, value => value as u64;
    i8, value => u64::from(value as u8);
    i16, value => u64::from(value as u16);
    i32, value => u64::from(value as u32);
    i64, value => value as u64;
    isize, value => value as usize as u64;
    bool, value => u64::from(value);
    char, value => u64::from(value);
}

impl<T: ?Sized> Argument for *const T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.cast::<()>().expose_provenance() as u64
    }
}

impl<T: ?Sized> Argument for *mut T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.cast::<()>().expose_provenance() as u64
    }
}

impl<T: ?Sized> Argument for &T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        core::ptr::from_ref(self).to_word()
    }
}

impl<T: ?Sized> Argument for Option<&T> {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.map_or(0, Argument::to_word)
    }
}

/// Returns an argument as a BPF program gets it.
#[inline(always)]
pub fn argument_word<T: Argument>(value: T) -> u64 {
    value.to_word()
}
