// SPDX-License-Identifier: GPL-2.0

//! Rust tracepoint probe sample.
//!
//! Attaches a probe to the tracepoint `sched_switch`, which is defined in C. The probe counts, and
//! has an event of its own happen for each time that the idle task starts to run.
//!
//! ```sh
//! modprobe rust_trace_probe
//! cd /sys/kernel/tracing
//! echo 1 > events/rust_probe/idle/enable
//! sleep 1
//! tail trace
//! cat /sys/kernel/debug/rust_trace_probe/switches
//!
//! # The probe is gone when this returns.
//! rmmod rust_trace_probe
//! ```

use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    task::Task,
    trace::{
        probe::{
            Probe,
            Registration, //
        },
        trace,
        trace_event, //
    },
    tracepoint::declare_trace, //
};

module! {
    type: Sample,
    name: "rust_trace_probe",
    authors: ["Rust for Linux Contributors"],
    description: "Probe on a tracepoint",
    license: "GPL",
}

declare_trace! {
    // SAFETY: Both tasks exist while the scheduler switches between them.
    #[by_name]
    unsafe fn sched_switch(preempt: bool, prev: &Task, next: &Task, state: u32);
}

trace_event! {
    system: "rust_probe";

    /// A switch from a task to the idle task.
    event idle(prev: &Task, switches: u64) {
        fields {
            pid: i32 as "pid_t" = prev.pid(),
            switches: u64 = switches,
        }
        print("prev_pid=%d switches=%llu", pid, switches)
    }
}

static SWITCHES: Atomic<u64> = Atomic::new(0);

struct Switched;

impl Probe<sched_switch> for Switched {
    /// Called for each switch, with preemption disabled and the lock of the run queue held.
    fn hit(&self, (_preempt, prev, next, _state): (bool, &Task, &Task, u32)) {
        let switches = SWITCHES.fetch_add(1, Relaxed) + 1;

        if next.pid() == 0 {
            trace!(idle(prev, switches));
        }
    }
}

#[pin_data]
struct Sample {
    #[pin]
    probe: Registration<sched_switch, Switched>,
    #[pin]
    switches: File<()>,
    _dir: Dir,
}

impl kernel::InPlaceModule for Sample {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_trace_probe");

        try_pin_init!(Self {
            probe <- Registration::new(Switched),
            switches <- dir.read_callback_file(c"switches", (), &|(), f| {
                writeln!(f, "{}", SWITCHES.load(Relaxed))
            }),
            _dir: dir.clone(),
        })
    }
}
