// SPDX-License-Identifier: GPL-2.0

//! The events of the test module that are declared in Rust: those of `event_test.h`.

use kernel::{
    cpumask::Cpumask,
    prelude::*,
    trace::trace_event, //
};

const LEN: usize = 6;

/// Values of a field that have names.
#[derive(Clone, Copy)]
pub(crate) enum State {
    Idle,
    Busy = 5,
    Done = 9,
}

trace_event! {
    system: "event_test_rust";

    /// All types of numbers.
    pub(crate) event r_numbers(n: u64) {
        fields {
            a: u8 = n as u8,
            b: i8 = (n as i8).wrapping_neg(),
            c: u16 = (n * 3) as u16,
            d: i16 = -(n as i64 * 3) as i16,
            e: u32 = (n * 5) as u32,
            f: i32 = -(n as i64 * 5) as i32,
            g: u64 = n << 33,
            h: i64 = -((n << 33) as i64),
            i: usize = n as usize * 7,
            j: isize = -(n as isize * 7),
            k: bool = n & 1 != 0,
            l: i32 as "pid_t" = n as i32 + 1,
            m: *const c_void = core::ptr::without_provenance(n as usize),
            ip: usize = 0,
        }
        print(
            "a=%u b=%d c=%hx d=%d e=%08x f=%d g=%llu h=%lld i=%lu j=%ld k=%d l=%-5d| m=%p ip=%pS 100%%",
            a, b, c, d, e, f, g, h, i, j, k, l, m, ip
        )
    }

    /// All types of strings.
    pub(crate) event r_strings(name: Option<&CStr>, note: &CStr, n: u32, of: u32) {
        fields {
            comm: [char; 8] = note,
            name: str = name,
            odd: u8 = (n & 1) as u8,
            part: str = note.to_bytes().get(..(n % 4) as usize).unwrap_or_default(),
            note: rel str = note,
            message: text = fmt!("message {n} of {of}"),
        }
        print(
            "comm=%s name=%s odd=%u part=%s note=%-12s| message=%s",
            comm, name, odd, part, note, message
        )
    }

    /// Arrays and masks.
    pub(crate) event r_arrays(list: &[u32], cpus: &Cpumask) {
        fields {
            mac: [u8; LEN] = [list.len() as u8; LEN],
            fixed: [u32; 2] = [list.len() as u32, list.len() as u32 + 1],
            addr: [u8; 4] = [127, 0, 0, list.len() as u8],
            list: [u32] = list,
            bits: bitmask = &[list.len() | 0x100, 0x21],
            cpus: cpumask = cpus,
        }
        print(
            "%pM %s %s %pI4 %s %s len=%u %s %s",
            mac, hex(mac), array(fixed), addr, array(list), hex_str(list), len(list), bits, cpus
        )
    }

    /// Where arrays and masks are is told by the distance.
    pub(crate) event r_relative(list: &[u32], cpus: &Cpumask) {
        fields {
            len: u8 = list.len() as u8,
            list: rel [u32] = list,
            bits: rel bitmask = &[list.len() | 0x100, 0x21],
            cpus: rel cpumask = cpus,
        }
        print("len=%u %s %s %s", len, array(list), bits, cpus)
    }

    /// Numbers that have names, and expressions.
    pub(crate) event r_names(n: u32, ns: u64) {
        fields {
            flags: u32 = n,
            state: u8 = n as u8,
            ns: u64 = ns,
        }
        print(
            "%s %s %s %llu.%09u low=%u %s next=%u irq=%d",
            flags(flags, "|", [(1, "READ"), (0x2, "WRITE"), (12, "BOTH")]),
            symbolic(state, [(State::Idle, "idle"), (State::Busy, "busy"), (State::Done, "done")]),
            symbolic(flags & 0x3, [(0, "none"), (3, "all")]),
            ns_to_secs(ns),
            ns_without_secs(ns),
            (flags >> 2) & 3,
            if flags > 3 { "big" } else { "small" },
            state as u32 + 1,
            in_irq(),
        )
    }

    class r_pair(left: i32, right: i32) {
        fields {
            left: i32 as "int" = left,
            right: i32 as "int" = right,
        }
        print("left=%d right=%d", left, right)
    }

    /// One of two.
    pub(crate) event r_pair_first: r_pair;

    /// The other one, with a condition.
    pub(crate) event r_pair_second: r_pair {
        if left != right;
    }

    /// With a print format of its own.
    pub(crate) event r_pair_third: r_pair {
        print("sum=%d", left + right)
    }

    /// With functions for the first and the last probe.
    pub(crate) event r_hooked(n: u32) {
        attach: super::attach;
        detach: super::detach;
        fields {
            n: u32 = n,
        }
        print("n=%u", n)
    }

    /// To be measured: fields of fixed size.
    pub(crate) event r_cost(a: u64, b: u32, name: &[u8; 16]) {
        fields {
            a: u64 = a,
            b: u32 = b,
            name: [char; 16] = name,
        }
        print("a=%llu b=%u name=%s", a, b, name)
    }

    /// To be measured: a string.
    pub(crate) event r_cost_string(a: u32, name: &CStr) {
        fields {
            a: u32 = a,
            name: str = name,
        }
        print("a=%u name=%s", a, name)
    }
}
