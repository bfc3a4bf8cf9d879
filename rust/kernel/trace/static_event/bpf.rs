// SPDX-License-Identifier: GPL-2.0

//! BPF programs on tracepoints that are declared in Rust.
//!
//! C header: [`include/trace/bpf_probe.h`](srctree/include/trace/bpf_probe.h).

#[cfg(CONFIG_BPF_EVENTS)]
use crate::{
    bindings,
    prelude::*, //
};

/// A valid argument of a tracepoint for a BPF program.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tracepoint",
    note = "there are integers, `bool`, raw pointers and references, and `Option`s of references",
    note = "for a type of your own implement `kernel::trace::BpfArgument`"
)]
pub trait BpfArgument: Copy {
    /// The value, or the address.
    fn to_bpf(self) -> u64;
}

macro_rules! argument {
    ($($ty:ty, $value:ident => $to:expr;)*) => {$(
        impl BpfArgument for $ty {
            #[inline(always)]
            fn to_bpf(self) -> u64 {
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

impl<T: ?Sized> BpfArgument for *const T {
    #[inline(always)]
    fn to_bpf(self) -> u64 {
        self.cast::<()>().expose_provenance() as u64
    }
}

impl<T: ?Sized> BpfArgument for *mut T {
    #[inline(always)]
    fn to_bpf(self) -> u64 {
        self.cast::<()>().expose_provenance() as u64
    }
}

impl<T: ?Sized> BpfArgument for &T {
    #[inline(always)]
    fn to_bpf(self) -> u64 {
        core::ptr::from_ref(self).to_bpf()
    }
}

impl<T: ?Sized> BpfArgument for Option<&T> {
    #[inline(always)]
    fn to_bpf(self) -> u64 {
        self.map_or(0, BpfArgument::to_bpf)
    }
}

/// The value of an argument.
#[inline(always)]
pub fn bpf_argument<T: BpfArgument>(value: T) -> u64 {
    value.to_bpf()
}

/// Runs a program that is attached to a tracepoint.
///
/// # Safety
///
/// `link` must be what C has registered the probe with.
#[inline(always)]
#[cfg(CONFIG_BPF_EVENTS)]
pub unsafe fn run_bpf<const N: usize>(link: *mut c_void, args: [u64; N]) {
    let link = link.cast();

    macro_rules! run {
        ($($count:literal: $function:ident($($i:literal)*);)*) => {
            match N {
                $(
                    // SAFETY: By the safety requirements, `link` is the data that C registered the
                    // probe with.
                    $count => unsafe { bindings::$function(link $(, args[$i])*) },
                )*
                _ => build_error!("a tracepoint has one to twelve arguments"),
            }
        };
    }

    run! {
        1: bpf_trace_run1(0);
        2: bpf_trace_run2(0 1);
        3: bpf_trace_run3(0 1 2);
        4: bpf_trace_run4(0 1 2 3);
        5: bpf_trace_run5(0 1 2 3 4);
        6: bpf_trace_run6(0 1 2 3 4 5);
        7: bpf_trace_run7(0 1 2 3 4 5 6);
        8: bpf_trace_run8(0 1 2 3 4 5 6 7);
        9: bpf_trace_run9(0 1 2 3 4 5 6 7 8);
        10: bpf_trace_run10(0 1 2 3 4 5 6 7 8 9);
        11: bpf_trace_run11(0 1 2 3 4 5 6 7 8 9 10);
        12: bpf_trace_run12(0 1 2 3 4 5 6 7 8 9 10 11);
    }
}
