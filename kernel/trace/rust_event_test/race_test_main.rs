// SPDX-License-Identifier: GPL-2.0

//! A data race, to see that KCSAN reports those of Rust code.
//!
//! Each read of a file in `/sys/kernel/debug/rust_race_test` counts for a tenth of a second, in
//! memory that all readers share: `plain` without any protection, `atomic` with an atomic. Two
//! readers of `plain` at the same time are a data race.

use core::cell::UnsafeCell;
use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    fmt,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::{
        Delta,
        Instant,
        Monotonic, //
    },
};

module! {
    type: RaceTest,
    name: "rust_race_test",
    authors: ["Rust for Linux Contributors"],
    description: "A data race for KCSAN to report",
    license: "GPL",
}

/// A counter that every thread changes as if it were its own.
struct Plain(UnsafeCell<u64>);

// SAFETY: It is not safe to share: this is the defect that is to be found. The module is only for
// kernels with KCSAN, and only counts.
unsafe impl Sync for Plain {}

static PLAIN: Plain = Plain(UnsafeCell::new(0));
static ATOMIC: Atomic<u64> = Atomic::new(0);

/// Calls `count` for a while.
fn for_a_while(mut count: impl FnMut()) {
    const TIME: Delta = Delta::from_millis(100);
    let began = Instant::<Monotonic>::now();

    while began.elapsed() < TIME {
        count();
    }
}

fn plain(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for_a_while(|| {
        // Without this the compiler may count in a register, and store once.
        let counter = core::hint::black_box(PLAIN.0.get());

        // SAFETY: The pointer is valid and aligned. That no other code uses it is not true with
        // two readers: see `Plain`.
        unsafe { *counter = (*counter).wrapping_add(1) };
    });
    writeln!(f, "counted")
}

fn atomic(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for_a_while(|| ATOMIC.add(1, Relaxed));
    writeln!(f, "counted")
}

#[pin_data]
struct RaceTest {
    #[pin]
    plain: File<()>,
    #[pin]
    atomic: File<()>,
    _dir: Dir,
}

impl kernel::InPlaceModule for RaceTest {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_race_test");

        try_pin_init!(Self {
            plain <- dir.read_callback_file(c"plain", (), &plain),
            atomic <- dir.read_callback_file(c"atomic", (), &atomic),
            _dir: dir.clone(),
        })
    }
}
