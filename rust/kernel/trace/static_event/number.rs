// SPDX-License-Identifier: GPL-2.0

//! Arithmetic in a print format.
//!
//! It does so when a record is read, and as the C text of the same expression does in tools.

#[cfg(not(CONFIG_64BIT))]
use crate::bindings;

/// Integers that a print format can calculate with: those that C does not promote.
#[diagnostic::on_unimplemented(
    message = "a print format cannot calculate with `{Self}`",
    note = "C would promote it: cast it to `u32`, `i32`, `u64` or `i64`"
)]
pub trait Number: Copy {
    /// Returns `a + b`, which wraps.
    fn add(self, other: Self) -> Self;
    /// Returns `a - b`, which wraps.
    fn sub(self, other: Self) -> Self;
    /// Returns `a * b`, which wraps.
    fn mul(self, other: Self) -> Self;
    /// Returns `a / b`, or 0 if that has no result.
    fn div(self, other: Self) -> Self;
    /// Returns `a % b`, or 0 if that has no result.
    fn rem(self, other: Self) -> Self;
    /// Returns `a << n`, with only the low bits of `n`.
    fn shl(self, n: u32) -> Self;
    /// Returns `a >> n`, with only the low bits of `n`.
    fn shr(self, n: u32) -> Self;
    /// Returns `-a`, which wraps.
    fn neg(self) -> Self;
    /// Returns `~a`.
    fn not(self) -> Self;
}

/// Quotients, which 32-bit kernels have functions for if they are of 64 bits.
macro_rules! quotient {
    ($($ty:ty => $quotient:ident, $div64:ident;)*) => {$(
        fn $quotient(a: $ty, b: $ty) -> Option<$ty> {
            #[cfg(CONFIG_64BIT)]
            return a.checked_div(b);
            #[cfg(not(CONFIG_64BIT))]
            // SAFETY: The divisor is not 0.
            return (b != 0).then(|| unsafe { bindings::$div64(a, b) });
        }
    )*};
}

quotient! {
    u64 => quotient_u64, div64_u64;
    i64 => quotient_i64, div64_s64;
}

/// Returns the whole seconds of a time in nanoseconds.
pub fn ns_to_secs(ns: u64) -> u64 {
    quotient_u64(ns, 1_000_000_000).unwrap_or(0)
}

/// Returns the nanoseconds beyond the whole seconds of a time.
pub fn ns_without_secs(ns: u64) -> u32 {
    // CAST: It is less than the divisor.
    Number::rem(ns, 1_000_000_000) as u32
}

macro_rules! number {
    ($($ty:ty => $quotient:expr;)*) => {$(
        impl Number for $ty {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn div(self, other: Self) -> Self {
                $quotient(self, other).unwrap_or(0)
            }

            fn rem(self, other: Self) -> Self {
                $quotient(self, other).map_or(0, |n: Self| {
                    self.wrapping_sub(n.wrapping_mul(other))
                })
            }

            fn shl(self, n: u32) -> Self {
                self.wrapping_shl(n)
            }

            fn shr(self, n: u32) -> Self {
                self.wrapping_shr(n)
            }

            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            fn not(self) -> Self {
                !self
            }
        }
    )*};
}

number! {
    u32 => Self::checked_div;
    i32 => Self::checked_div;
    u64 => quotient_u64;
    i64 => quotient_i64;
    usize => Self::checked_div;
    isize => Self::checked_div;
}
