// SPDX-License-Identifier: GPL-2.0

//! BPF programs on tracepoints that are declared in Rust.
//!
//! C header: [`include/trace/bpf_probe.h`](srctree/include/trace/bpf_probe.h).

use crate::{
    bindings,
    prelude::*, //
};

/// Runs a BPF program that is attached to a tracepoint.
///
/// # Safety
///
/// `link` must be what C has registered the probe with.
#[inline(always)]
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
