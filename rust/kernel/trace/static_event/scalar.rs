// SPDX-License-Identifier: GPL-2.0

//! The types of fields.

/// A type that a field can have.
///
/// `#[derive(TraceValue)]` implements it for enumerations and for structures with one field.
///
/// # Safety
///
/// Every bit pattern is a value of [`Bits`](Self::Bits), which has no padding. If
/// [arrays](Self::IN_ARRAYS) of this type exist, it has the layout of `Bits`. [`NAME`](Self::NAME)
/// is not the name of another kind of field for C: it has no `[`, no `char` if arrays exist, and is
/// a pointer only if `Bits` has its size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a field",
    note = "a field has an integer, `bool`, a raw pointer, or a `struct` that has no padding",
    note = "for an enumeration or a structure with one field use `#[derive(TraceValue)]`"
)]
pub unsafe trait Scalar: Copy {
    /// The type that a record has for the field.
    type Bits: Copy;
    /// The type that a print format has for the field.
    type Shown: Copy;
    /// The type in C.
    const NAME: &'static str;
    /// `true` if the type is signed.
    const SIGNED: bool;
    /// `true` if arrays of the type are valid.
    const IN_ARRAYS: bool = true;

    /// Returns the value that is written to a record.
    fn to_bits(self) -> Self::Bits;

    /// Returns the value to print for bits that were read from a record.
    fn shown(bits: Self::Bits) -> Self::Shown;
}

/// Returns the value that is written to a record.
#[inline(always)]
pub fn bits<T: Scalar>(value: T) -> T::Bits {
    value.to_bits()
}

macro_rules! scalar {
    ($($ty:ty: $name:literal, $signed:literal;)*) => {$(
        // SAFETY: An integer has no padding, every bit pattern is a value, and `Bits` is the type
        // itself.
        unsafe impl Scalar for $ty {
            type Bits = Self;
            type Shown = Self;
            const NAME: &'static str = $name;
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn to_bits(self) -> Self {
                self
            }

            #[inline(always)]
            fn shown(bits: Self) -> Self {
                bits
            }
        }
    )*};
}

scalar! {
    u8: "u8", false;
    i8: "s8", true;
    u16: "u16", false;
    i16: "s16", true;
    u32: "u32", false;
    i32: "s32", true;
    u64: "u64", false;
    i64: "s64", true;
    usize: "unsigned long", false;
    isize: "long", true;
}

// SAFETY: A byte, none of which has padding.
unsafe impl Scalar for bool {
    type Bits = u8;
    type Shown = Self;
    const NAME: &'static str = "bool";
    const SIGNED: bool = false;

    #[inline(always)]
    fn to_bits(self) -> u8 {
        u8::from(self)
    }

    #[inline(always)]
    fn shown(bits: u8) -> Self {
        bits != 0
    }
}

// SAFETY: A pointer, which may have any value.
unsafe impl<T> Scalar for *const T {
    type Bits = Self;
    type Shown = Self;
    const NAME: &'static str = "const void *";
    const SIGNED: bool = false;

    #[inline(always)]
    fn to_bits(self) -> Self {
        self
    }

    #[inline(always)]
    fn shown(bits: Self) -> Self {
        bits
    }
}

// SAFETY: A pointer, which may have any value.
unsafe impl<T> Scalar for *mut T {
    type Bits = Self;
    type Shown = Self;
    const NAME: &'static str = "void *";
    const SIGNED: bool = false;

    #[inline(always)]
    fn to_bits(self) -> Self {
        self
    }

    #[inline(always)]
    fn shown(bits: Self) -> Self {
        bits
    }
}
