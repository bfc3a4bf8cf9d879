// SPDX-License-Identifier: GPL-2.0

//! Events of C headers of the tree, declared in Rust.
//!
//! Names, fields and print formats are those of C; the selftest compares the `format` files byte by
//! byte. Where C builds a text by macros it is given by `as_c`.
//!
//! C headers: [`include/trace/events/sched.h`](srctree/include/trace/events/sched.h),
//! [`include/trace/events/block.h`](srctree/include/trace/events/block.h),
//! [`include/trace/events/net.h`](srctree/include/trace/events/net.h),
//! [`drivers/gpu/drm/drm_trace.h`](srctree/drivers/gpu/drm/drm_trace.h) and
//! [`include/trace/events/ext4.h`](srctree/include/trace/events/ext4.h).

use kernel::{
    prelude::*,
    task::{
        Comm,
        Task,
        TASK_REPORT_MAX, //
    },
    trace::trace_event, //
};

/// `IOPRIO_CLASS_STRINGS`.
const IOPRIO_CLASSES: [(u32, &str); 5] = [
    (0, "none"),
    (1, "rt"),
    (2, "be"),
    (3, "idle"),
    (7, "invalid"),
];

/// The flags of `show_mflags()`, by the numbers of `enum bh_state_bits`.
const MAP_FLAGS: [(u32, &str); 4] = [(1 << 5, "N"), (1 << 4, "M"), (1 << 11, "U"), (1 << 9, "B")];

/// Returns the state of `prev` that the scheduler reports.
fn switch_state(preempt: bool, prev: &Task, state: u32) -> isize {
    // CAST: These are single bits.
    if preempt {
        TASK_REPORT_MAX as isize
    } else {
        prev.reported_state(state) as isize
    }
}

trace_event! {
    system: "event_test_tree";

    // SAFETY: The tasks are valid during the call.
    /// A task switch, recorded from the tracepoint of the scheduler.
    pub(crate) unsafe custom event sched_switch(
        preempt: bool,
        prev: &Task,
        next: &Task,
        prev_state: u32,
    ) {
        let prev_comm = prev.comm();
        let next_comm = next.comm();
        fields {
            prev_comm: [char; Comm::LEN] = &*prev_comm,
            prev_pid: i32 as "pid_t" = prev.pid(),
            prev_prio: i32 as "int" = prev.prio(),
            prev_state: isize = switch_state(preempt, prev, prev_state),
            next_comm: [char; Comm::LEN] = &*next_comm,
            next_pid: i32 as "pid_t" = next.pid(),
            next_prio: i32 as "int" = next.prio(),
        }
        print(
            "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d \
             next_prio=%d",
            prev_comm,
            prev_pid,
            prev_prio,
            if as_c(
                "(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | \
                 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1))",
                prev_state & 0xff != 0
            ) {
                flags(
                    as_c(
                        "REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | \
                         0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)",
                        prev_state & 0xff
                    ),
                    "|",
                    [
                        (0x00000001, "S"),
                        (0x00000002, "D"),
                        (0x00000004, "T"),
                        (0x00000008, "t"),
                        (0x00000010, "X"),
                        (0x00000020, "Z"),
                        (0x00000040, "P"),
                        (0x00000080, "I"),
                    ]
                )
            } else {
                "R"
            },
            if as_c(
                "REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | \
                 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1)",
                prev_state & 0x100 != 0
            ) {
                "+"
            } else {
                ""
            },
            next_comm,
            next_pid,
            next_prio
        )
    }

    /// The request of a device is completed.
    pub(crate) event block_rq_complete(
        dev: u32,
        sector: u64,
        bytes: u32,
        error: Result,
        ioprio: u16,
        operation: &CStr,
    ) {
        fields {
            dev: u32 as "dev_t" = dev,
            sector: u64 as "sector_t" = sector,
            nr_sector: u32 as "unsigned int" = bytes >> 9,
            error: Result as "int" = error,
            ioprio: u16 as "unsigned short" = ioprio,
            rwbs: [char; 10] = operation,
            cmd: str = "",
        }
        print(
            "%d,%d %s (%s) %llu + %u %s,%u,%u [%d]",
            as_c("((unsigned int) ((REC->dev) >> 20))", dev >> 20),
            as_c("((unsigned int) ((REC->dev) & ((1U << 20) - 1)))", dev & 0xf_ffff),
            rwbs,
            cmd,
            as_c("(unsigned long long)REC->sector", sector),
            nr_sector,
            as_c(
                "__print_symbolic((((REC->ioprio) >> 13) & (8 - 1)), \
                 { IOPRIO_CLASS_NONE, \"none\" }, { IOPRIO_CLASS_RT, \"rt\" }, \
                 { IOPRIO_CLASS_BE, \"be\" }, { IOPRIO_CLASS_IDLE, \"idle\" }, \
                 { IOPRIO_CLASS_INVALID, \"invalid\"})",
                symbolic((ioprio as u32) >> 13, IOPRIO_CLASSES)
            ),
            as_c("(((REC->ioprio) >> 3) & ((1 << 10) - 1))", ((ioprio as u32) >> 3) & 0x3ff),
            as_c("((REC->ioprio) & ((1 << 3) - 1))", (ioprio as u32) & 7),
            error
        )
    }

    /// A packet was handed to a network device.
    pub(crate) event net_dev_xmit(
        skb: *const c_void,
        rc: i32,
        device: &CStr,
        len: u32,
        net_cookie: u64,
    ) {
        fields {
            skbaddr: *const c_void as "void *" = skb,
            len: u32 as "unsigned int" = len,
            rc: i32 as "int" = rc,
            name: str = device,
            net_cookie: u64 = net_cookie,
        }
        print(
            "dev=%s skbaddr=%p len=%u rc=%d net_cookie=%llu",
            name,
            as_c("REC->skbaddr", skbaddr),
            len,
            rc,
            net_cookie
        )
    }

    /// A vertical blank.
    pub(crate) event drm_vblank_event(crtc: i32, seq: u32, time: i64, high_prec: bool) {
        fields {
            crtc: i32 as "int" = crtc,
            seq: u32 as "unsigned int" = seq,
            time: i64 as "ktime_t" = time,
            high_prec: bool = high_prec,
        }
        print(
            "crtc=%d, seq=%u, time=%lld, high-prec=%s",
            crtc, seq, time, if high_prec { "true" } else { "false" }
        )
    }

    /// An extent is about to be written.
    pub(crate) event ext4_da_write_pages_extent(
        dev: u32,
        ino: u64,
        lblk: u32,
        len: u32,
        flags: u32,
    ) {
        fields {
            ino: u64 = ino,
            lblk: u64 as "__u64" = u64::from(lblk),
            dev: u32 as "dev_t" = dev,
            len: u32 as "__u32" = len,
            flags: u32 as "__u32" = flags,
        }
        print(
            "dev %d,%d ino %llu lblk %llu len %u flags %s",
            as_c("((unsigned int) ((REC->dev) >> 20))", dev >> 20),
            as_c("((unsigned int) ((REC->dev) & ((1U << 20) - 1)))", dev & 0xf_ffff),
            ino,
            lblk,
            len,
            as_c(
                "__print_flags(REC->flags, \"\", { ((((1UL))) << (5)), \"N\" }, \
                 { ((((1UL))) << (4)), \"M\" }, { ((((1UL))) << (11)), \"U\" }, \
                 { ((((1UL))) << (9)), \"B\" })",
                flags(flags, "", MAP_FLAGS)
            )
        )
    }
}

/// Fires all of the events `n` times, other than `sched_switch`, which the scheduler fires.
pub(crate) fn fire(n: u32) {
    const DEV: u32 = 8 << 20 | 1;

    for i in 0..n {
        let odd = i % 2 != 0;
        let error = if odd { Err(EIO) } else { Ok(()) };
        let ioprio = (i % 4 << 13 | 3 << 3 | 4) as u16;

        trace_block_rq_complete(DEV, u64::from(i) * 1000, 4096, error, ioprio, c"WS");
        trace_net_dev_xmit(
            core::ptr::without_provenance(0x1000),
            i as i32 - 1,
            c"eth0",
            60 + i,
            1 << 40,
        );
        trace_drm_vblank_event(1, i, i64::from(i) * -1_000_000_007, odd);
        trace_ext4_da_write_pages_extent(DEV, 12 << 32, i, 8, i << 4);
    }
}
