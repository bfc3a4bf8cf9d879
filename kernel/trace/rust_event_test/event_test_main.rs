// SPDX-License-Identifier: GPL-2.0

//! The same events in C and in Rust.
//!
//! Those in C are in `event_test.h`. The events of both are fired by writing how often to a file,
//! and cost what another file says, in picoseconds for each hit of `cost` and of `cost_string`:
//!
//! | | Rust, in `/sys/kernel/debug/rust_event_test` | C, in the module's parameters |
//! | --- | --- | --- |
//! | fire | `fire` | `fire_c` |
//! | cost | `cost` | `cost_c` |
//! | calls of the hooks of `hooked` | `hooks` | `hooks_c` |
//! | let these fail | `refuse` | `refuse_c` |

mod events;

use kernel::{
    cpu::CpuId,
    cpumask::CpumaskVar,
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
        Instant,
        Monotonic, //
    },
    trace::{
        probe::Registration,
        trace, //
    },
    uaccess::UserSliceReader, //
};

module! {
    type: EventTest,
    name: "rust_event_test",
    authors: ["Rust for Linux Contributors"],
    description: "The same events in C and in Rust",
    license: "GPL",
}

const NAMES: [Option<&CStr>; 4] = [Some(c""), Some(c"alpha"), Some(c"beta gamma"), None];
const NOTES: [&CStr; 2] = [c"short", c"a much longer note"];

/// How often the hooks were called, and arguments evaluated.
static ATTACHED: Atomic<u32> = Atomic::new(0);
static DETACHED: Atomic<u32> = Atomic::new(0);
static REFUSE: Atomic<u32> = Atomic::new(0);
static EVALUATED: Atomic<u32> = Atomic::new(0);
/// How often the probe was called, and the last sum it saw.
static PROBED: Atomic<u32> = Atomic::new(0);
static SUM: Atomic<i32> = Atomic::new(0);

fn attach() -> Result {
    if REFUSE.load(Relaxed) != 0 {
        return Err(EBUSY);
    }
    ATTACHED.fetch_add(1, Relaxed);
    Ok(())
}

fn detach() {
    DETACHED.fetch_add(1, Relaxed);
}

/// The number that is written to a file.
fn number(reader: &mut UserSliceReader) -> Result<u32> {
    let mut buf = [0; 16];
    let len = reader.len().min(buf.len());
    let buf = buf.get_mut(..len).ok_or(EINVAL)?;

    reader.read_slice(buf)?;
    let text = core::str::from_utf8(buf).map_err(|_| EINVAL)?;
    text.trim().parse().map_err(|_| EINVAL)
}

fn evaluated(n: u32) -> u32 {
    EVALUATED.fetch_add(1, Relaxed);
    n
}

fn fire(_: &(), reader: &mut UserSliceReader) -> Result {
    let n = number(reader)?;
    let list: [u32; 8] = core::array::from_fn(|i| i as u32 * 0x1111);
    let mut cpus = [
        CpumaskVar::new_zero(GFP_KERNEL)?,
        CpumaskVar::new_zero(GFP_KERNEL)?,
    ];

    for (i, mask) in cpus.iter_mut().enumerate() {
        if let Some(cpu) = CpuId::from_i32(i as i32) {
            mask.set(cpu);
        }
    }
    for i in 0..n {
        let at = i as usize;

        events::trace_r_numbers(i.into());
        events::trace_r_strings(NAMES[at % 4], NOTES[at % 2], i, n);
        events::trace_r_arrays(&list[..at % 8], &cpus[at % 2]);
        events::trace_r_relative(&list[..at % 8], &cpus[at % 2]);
        events::trace_r_names(i, u64::from(i) * 1_500_000_000);
        events::trace_r_pair_first(i as i32, 3);
        events::trace_r_pair_second(i as i32, 3);
        events::trace_r_pair_third(i as i32, 3);
        trace!(events::r_hooked(evaluated(i)));
    }
    Ok(())
}

/// Nanoseconds that `f` takes, called with the numbers up to `COUNT`, times 1000 and for each.
fn cost(f: impl Fn(u32)) -> i64 {
    const COUNT: u32 = 100_000;
    let start = Instant::<Monotonic>::now();

    for i in 0..COUNT {
        f(i);
    }
    start.elapsed().as_nanos() * 1000 / i64::from(COUNT)
}

fn show_cost(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = b"fifteen letters\0";

    writeln!(
        f,
        "{} {}",
        cost(|i| events::trace_r_cost(i.into(), i, name)),
        cost(|i| events::trace_r_cost_string(i, c"fifteen letters")),
    )
}

fn show_hooks(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{} {}", ATTACHED.load(Relaxed), DETACHED.load(Relaxed))
}

fn show_evaluated(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{}", EVALUATED.load(Relaxed))
}

fn set_refuse(_: &(), reader: &mut UserSliceReader) -> Result {
    REFUSE.store(number(reader)?, Relaxed);
    Ok(())
}

/// Attaches a probe to an event of this module and fires it, then once more without the probe.
fn show_probe(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    PROBED.store(0, Relaxed);
    {
        let probe = KBox::pin_init(
            Registration::<events::r_pair_first, _>::new(|(left, right)| {
                PROBED.fetch_add(1, Relaxed);
                SUM.store(left + right, Relaxed);
            }),
            GFP_KERNEL,
        );
        if probe.is_err() {
            return writeln!(f, "failed");
        }
        events::trace_r_pair_first(40, 2);
    }
    events::trace_r_pair_first(1, 2);
    writeln!(f, "{} {}", PROBED.load(Relaxed), SUM.load(Relaxed))
}

#[pin_data]
struct EventTest {
    #[pin]
    fire: File<()>,
    #[pin]
    cost: File<()>,
    #[pin]
    hooks: File<()>,
    #[pin]
    refuse: File<()>,
    #[pin]
    evaluated: File<()>,
    #[pin]
    probe: File<()>,
    dir: Dir,
}

impl kernel::InPlaceModule for EventTest {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_event_test");

        try_pin_init!(Self {
            fire <- dir.write_callback_file(c"fire", (), &fire),
            cost <- dir.read_callback_file(c"cost", (), &show_cost),
            hooks <- dir.read_callback_file(c"hooks", (), &show_hooks),
            refuse <- dir.write_callback_file(c"refuse", (), &set_refuse),
            evaluated <- dir.read_callback_file(c"evaluated", (), &show_evaluated),
            probe <- dir.read_callback_file(c"probe", (), &show_probe),
            dir: dir.clone(),
        })
    }
}
