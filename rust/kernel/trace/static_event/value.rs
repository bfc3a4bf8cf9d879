// SPDX-License-Identifier: GPL-2.0

//! Types of the kernel crate as arguments of tracepoints and as fields.

use super::{
    Argument,
    Scalar, //
};
use crate::{
    cpu::CpuId,
    error::{
        Error,
        Result, //
    },
    task::Kuid,
    time::{
        ClockSource,
        Delta,
        Instant, //
    },
};

macro_rules! value {
    ($($(#[$attr:meta])* {$($generics:tt)*} $ty:ty: $bits:ty, $value:ident => $to:expr;)*) => {$(
        $(#[$attr])*
        impl $($generics)* Argument for $ty {
            #[inline(always)]
            fn to_word(self) -> u64 {
                Scalar::to_bits(self).to_word()
            }
        }

        $(#[$attr])*
        // SAFETY: `Bits` is an integer, and no arrays exist.
        unsafe impl $($generics)* Scalar for $ty {
            type Bits = $bits;
            type Shown = $bits;
            const NAME: &'static str = <$bits as Scalar>::NAME;
            const SIGNED: bool = <$bits as Scalar>::SIGNED;
            const IN_ARRAYS: bool = false;

            #[inline(always)]
            fn to_bits(self) -> $bits {
                let $value = self;
                $to
            }

            #[inline(always)]
            fn shown(bits: $bits) -> $bits {
                bits
            }
        }
    )*};
}

value! {
    /// As its number, which is negative.
    {} Error: i32, error => error.to_errno();
    /// As 0 or the number of the error.
    {} Result: i32, result => result.map_or_else(Error::to_errno, |()| 0);
    /// As nanoseconds.
    {} Delta: i64, delta => delta.as_nanos();
    /// As the nanoseconds of its clock.
    {<C: ClockSource>} Instant<C>: i64, instant => instant.as_nanos();
    {} CpuId: u32, cpu => cpu.as_u32();
    /// As the number in the initial namespace.
    {} Kuid: u32, uid => uid.into_raw().val;
}
