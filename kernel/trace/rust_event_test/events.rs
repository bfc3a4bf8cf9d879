// SPDX-License-Identifier: GPL-2.0

//! The events of the test module that are declared in Rust: those of `event_test.h`.

use kernel::{
    cpumask::Cpumask,
    prelude::*,
    task::Task,
    trace::trace_event, //
};

const LEN: usize = 6;

/// A structure with the same name and fields in C.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct test_place {
    pub(crate) row: u32,
    pub(crate) column: u32,
}

// SAFETY: The type has no padding.
unsafe impl kernel::transmute::AsBytes for test_place {}

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
            mac, hex(mac), array(fixed), addr, array(list), hex_str(list), size(list), bits, cpus
        )
    }

    /// An event that locates arrays and masks by relative offsets.
    pub(crate) event r_relative(list: &[u32], cpus: &Cpumask) {
        fields {
            len: u8 = list.len() as u8,
            list: rel [u32] = list,
            bits: rel bitmask = &[list.len() | 0x100, 0x21],
            cpus: rel cpumask = cpus,
        }
        print("len=%u %s %s %s", len, array(list), bits, cpus)
    }

    /// Of arrays only the start is printed.
    pub(crate) event r_parts(list: &[u32]) {
        fields {
            mac: [u8; LEN] = [list.len() as u8; LEN],
            used: u8 = (list.len() / 2) as u8,
            list: [u32] = list,
        }
        print("%s %s %s", hex(mac, 2), array(list, used), hex_str(list, used as u32 * 4))
    }

    /// Numbers that have names, and expressions.
    pub(crate) event r_names(n: u32, ns: u64) {
        fields {
            flags: u32 = n,
            state: u8 = n as u8,
            ns: u64 = ns,
        }
        print(
            "%s %s %s %llu.%09u low=%u %s next=%u hard=%d soft=%d irq=%d",
            flags(flags, "|", [(1, "READ"), (0x2, "WRITE"), (12, "BOTH")]),
            symbolic(state, [(State::Idle, "idle"), (State::Busy, "busy"), (State::Done, "done")]),
            symbolic(flags & 0x3, [(0, "none"), (3, "all")]),
            ns_to_secs(ns),
            ns_without_secs(ns),
            (flags >> 2) & 3,
            if flags > 3 { "big" } else { "small" },
            state as u32 + 1,
            in_hardirq(),
            in_softirq(),
            in_irq(),
        )
    }

    /// Socket addresses, of variable and of fixed size.
    pub(crate) event r_addresses(address: &[u8; 28], len: usize) {
        fields {
            len: u8 = len as u8,
            addr: [u8] = address.get(..len).unwrap_or_default(),
            fixed: [u8; 28] = *address,
        }
        print("len=%u %pISpc %pIS", len, addr, fixed)
    }

    /// Apart from the others, as libtraceevent cannot print it.
    pub(crate) event r_rel_address(address: &[u8; 28], len: usize) {
        fields {
            len: u8 = len as u8,
            addr: rel [u8] = address.get(..len).unwrap_or_default(),
        }
        print("len=%u %pISpfsc", len, addr)
    }

    /// Names and texts that C writes in another way.
    pub(crate) event r_quoted(n: u32, name: &CStr) {
        fields {
            r#type: u32 = n,
            r#match: [u8; 2] = [n as u8; 2],
            word: [char; 8] = name,
            r#ref: str = name,
            place: struct self::test_place = self::test_place { row: n, column: 3 },
            other: struct test_place as "struct test_place" = test_place { row: 4, column: n },
        }
        print(
            "\"%u\" back\\slash %s\t%s %s inverse=%d",
            r#type,
            hex(r#match),
            if r#type > 2 { word } else { r#ref },
            symbolic(r#type, [(0, "none"), (1, "one")]),
            !r#type,
        )
    }

    /// Apart from the others, as libtraceevent cannot print it.
    pub(crate) event r_dump(list: &[u32]) {
        fields {
            n: u8 = list.len() as u8,
            list: [u32] = list,
        }
        print(
            "%s%s",
            flags(n, "\t\"", [(1, "A"), (2, "B")]),
            hex_dump(list, "\"\\: ", offset, 16, 4, true),
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

    /// An event with a mask after and before other texts that are formatted for the line, which C
    /// confuses.
    pub(crate) event r_masks(n: u32) {
        fields {
            n: u32 = n,
            bits: bitmask = &[n as usize | 0x100],
            more: rel bitmask = &[n as usize],
        }
        print(
            "%s %s %s %s",
            symbolic(n, [(0, "none"), (3, "three")]),
            bits,
            more,
            flags(n, "|", [(1, "ONE"), (2, "TWO")]),
        )
    }

    /// Addresses, which are not the same from one time to the other.
    pub(crate) event r_pointers(text: &'static CStr, cpu: u32) {
        fields {
            #[filter(ptr_string)]
            text: *const c_void = text.as_char_ptr().cast(),
            #[filter(function)]
            ip: usize = 0,
            #[filter(cpu)]
            cpu: u32 = cpu,
            also: usize as "const char *" = text.as_char_ptr().expose_provenance(),
        }
        print("ip=%ps cpu=%u", ip, cpu)
    }

    /// Of any size.
    pub(crate) event r_big(data: &[u8]) {
        fields {
            data: [u8] = data,
        }
        print("len=%u", size(data))
    }

    /// An event without users.
    event r_unused(n: u32) {
        fields {
            n: u32 = n,
        }
        print("n=%u", n)
    }

    /// Without an event.
    pub(crate) tracepoint r_bare(n: u32) {
        if n != 2;
    }

    /// An event whose probes may fault.
    pub(crate) faultable event r_faultable(n: u32, name: Option<&CStr>) {
        attach: super::attach;
        detach: super::detach;
        fields {
            n: u32 = n,
            name: str = name,
        }
        print("n=%u name=%s", n, name)
    }

    /// That tells perf what it counts and what task it is for, and has a value for two fields.
    pub(crate) event r_counted(n: u32, task: Option<&Task>) {
        let next = n + 1;
        count: super::count_of(n);
        task: task;
        fields {
            n: u32 = n,
            next: u32 = next,
            square: u32 = next * next,
            has_task: bool = task.is_some(),
        }
        print("n=%u next=%u square=%u task=%d", n, next, square, has_task)
    }

    /// That another module, in C, hits and attaches a probe to.
    pub(crate) export event r_exported: r_pair;

    /// Exported with references, which are pointers to types of C for its users.
    pub(crate) export event r_passed(
        task: &Task,
        other: Option<&Task>,
        cpus: const &Cpumask,
        odd: bool,
        n: i16,
    ) {
        fields {
            pid: i32 = task.pid(),
            other: i32 = other.map_or(-1, Task::pid),
            cpus: cpumask = cpus,
            odd: bool = odd,
            n: i16 = n,
        }
        print("pid=%d other=%d cpus=%s odd=%d n=%d", pid, other, cpus, odd, n)
    }

    /// An exported tracepoint without users in this module.
    export tracepoint r_only_c(n: u32);

    /// That all users can have recorded by perf.
    pub(crate) event r_any: r_pair {
        cap_any;
    }

    /// That perf can count, but not record.
    pub(crate) event r_countable: r_pair {
        permission: super::only_counting;
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

trace_event! {
    system: "event_test_custom";

    // SAFETY: The tasks are valid during the call.
    /// Other fields for a tracepoint that has an event in C.
    pub(crate) unsafe custom event sched_switch(
        _preempt: bool,
        prev: &Task,
        next: &Task,
        _state: u32,
    ) {
        fields {
            prev: i32 as "pid_t" = prev.pid(),
            next: i32 as "pid_t" = next.pid(),
        }
        print("prev_pid=%d next_pid=%d", prev, next)
    }

    class woken(task: &Task) {
        fields {
            pid: i32 as "pid_t" = task.pid(),
        }
        print("pid=%d", pid)
    }

    // SAFETY: The tasks are valid during the call.
    /// With the fields of a class.
    pub(crate) unsafe custom event sched_waking: woken;

    // SAFETY: As above.
    /// With a print format of its own.
    pub(crate) unsafe custom event sched_wakeup: woken {
        print("up=%d", pid)
    }

    /// With the same fields, but a tracepoint of its own.
    pub(crate) event r_woken: woken;

    // SAFETY: No tracepoint has this name.
    /// An event whose tracepoint does not exist.
    pub(crate) unsafe custom(unchecked) event rust_nowhere(number: u32) {
        fields {
            number: u32 = number,
        }
        print("%u", number)
    }
}
