// SPDX-License-Identifier: GPL-2.0

//! The same events in C and in Rust.
//!
//! Those in C are in `event_test.h`. The events of both are fired by writing how often to a file,
//! and cost what another file says, in picoseconds for each hit of `cost` and of `cost_string`:
//!
//! | | Rust, in `/sys/kernel/debug/rust_event_test` | C, in the module's parameters |
//! | --- | --- | --- |
//! | fire | `fire` | `fire_c` |
//! | fire `pointers` | `pointers` | `pointers_c` |
//! | fire `masks` with this number | `masks` | |
//! | fire `big` with so many bytes | `big` | |
//! | fire `exported` and `c_pair_first` in each context that flags tell | | `contexts` |
//! | fire `exported` and `passed` | `fire_exported` | `fire` of `rust_event_user` |
//! | fire `counted` in another task, for the one that writes | | `fire_task_c` |
//! | fire `counted` for the task that wrote 0 | `fire_task` | |
//! | fire the events of the tree | `fire_tree` | |
//! | bind `sched_switch` of the tree | `bind_tree` | |
//! | cost | `cost` | `cost_c` |
//! | fire `counted` in each NMI for 1, until 0 | `in_nmi` | |
//! | fire `r_counted` in NMIs, and in another task, for the one that writes | | `fire_in_nmi` |
//! | calls of the hooks of `hooked` | `hooks` | `hooks_c` |
//! | let these fail | `refuse` | `refuse_c` |
//! | keep the event `SYSTEM/NAME`, or none | `keep` | |

mod events;
mod tree;

use kernel::{
    cpu::CpuId,
    cpumask::CpumaskVar,
    debugfs::{
        Dir,
        File, //
    },
    fmt,
    prelude::*,
    str::CString,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        new_mutex,
        Mutex, //
    },
    task::Task,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
    trace::{
        event_file::{
            EventFile,
            Owned, //
        },
        probe::{
            Probe,
            Registration, //
        },
        trace, //
    },
    tracepoint::declare_trace,
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

/// Number of calls of the hooks, and of evaluations of arguments.
static ATTACHED: Atomic<u32> = Atomic::new(0);
static DETACHED: Atomic<u32> = Atomic::new(0);
static REFUSE: Atomic<u32> = Atomic::new(0);
static EVALUATED: Atomic<u32> = Atomic::new(0);
/// Number of calls of the probe, and the last sum that it saw.
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

#[cfg(CONFIG_PERF_EVENTS)]
fn only_counting(event: &kernel::trace::perf::PerfEvent) -> Result {
    if event.has_records() || event.is_sampling() {
        return Err(EACCES);
    }
    Ok(())
}

/// Reads the text written to a file, without surrounding white space.
fn text<'b>(reader: &mut UserSliceReader, buf: &'b mut [u8]) -> Result<&'b str> {
    let len = reader.len().min(buf.len());
    let buf = buf.get_mut(..len).ok_or(EINVAL)?;

    reader.read_slice(buf)?;
    Ok(core::str::from_utf8(buf).map_err(|_| EINVAL)?.trim())
}

/// Reads the number that was written to a file.
fn number(reader: &mut UserSliceReader) -> Result<u32> {
    text(reader, &mut [0; 16])?.parse().map_err(|_| EINVAL)
}

fn evaluated(n: u32) -> u32 {
    EVALUATED.fetch_add(1, Relaxed);
    n
}

/// Returns a socket address of IPv4, of IPv6, or of another kind, and its length.
fn address(i: u32) -> ([u8; 28], usize) {
    let mut address = [0; 28];
    let (family, len) = match i % 3 {
        0 => (2u16, 16),
        1 => (10, 28),
        _ => (1, 16),
    };

    address[..2].copy_from_slice(&family.to_ne_bytes());
    address[2..4].copy_from_slice(&8000u16.wrapping_add(i as u16).to_be_bytes());
    match i % 3 {
        0 => address[7] = i as u8,
        1 => address[23] = i as u8,
        _ => (),
    }
    (address, len)
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
        let (address, len) = address(i);

        events::trace_r_numbers(i.into());
        events::trace_r_strings(NAMES[at % 4], NOTES[at % 2], i, n);
        events::trace_r_arrays(&list[..at % 8], &cpus[at % 2]);
        events::trace_r_relative(&list[..at % 8], &cpus[at % 2]);
        events::trace_r_parts(&list[..at % 8]);
        events::trace_r_names(i, u64::from(i) * 1_500_000_000);
        events::trace_r_addresses(&address, len);
        events::trace_r_rel_address(&address, len);
        events::trace_r_quoted(i, NOTES[at % 2]);
        events::trace_r_dump(&list[..at % 8]);
        events::trace_r_pair_first(i as i32, 3);
        events::trace_r_pair_second(i as i32, 3);
        events::trace_r_pair_third(i as i32, 3);
        trace!(events::r_hooked(evaluated(i)));
        events::trace_r_bare(i);
        events::trace_r_faultable(i, NAMES[at % 4]);
        events::trace_r_counted(i, None);
        events::trace_r_woken(current!());
    }
    Ok(())
}

/// Fires `r_pointers` as often as the written number says.
fn pointers(_: &(), reader: &mut UserSliceReader) -> Result {
    for i in 0..number(reader)? {
        events::trace_r_pointers(NOTES[i as usize % 2], i % 2);
    }
    Ok(())
}

/// Fires `r_masks` with this number.
fn masks(_: &(), reader: &mut UserSliceReader) -> Result {
    events::trace_r_masks(number(reader)?);
    Ok(())
}

fn fire_exported(_: &(), reader: &mut UserSliceReader) -> Result {
    let task = current!();
    let task: &Task = task;
    let mut cpus = CpumaskVar::new_zero(GFP_KERNEL)?;

    for i in 0..number(reader)? {
        let other = (i & 1 != 0).then_some(task);

        if let Some(cpu) = CpuId::from_i32((i & 1) as i32) {
            cpus.set(cpu);
        }
        events::trace_r_exported(i as i32, -1);
        events::trace_r_passed(task, other, &cpus, i & 1 != 0, -(i as i16) - 1);
    }
    Ok(())
}

/// Fires `r_big` with that many bytes.
fn big(_: &(), reader: &mut UserSliceReader) -> Result {
    let data = KVVec::from_elem(b'x', number(reader)? as usize, GFP_KERNEL)?;

    events::trace_r_big(&data);
    Ok(())
}

/// Binds the events on tracepoints that are not ours.
fn bind(_: &(), _: &mut UserSliceReader) -> Result {
    events::sched_switch::bind()?;
    events::sched_waking::bind()?;
    events::sched_wakeup::bind()
}

/// Binds the event of the tree on the tracepoint of the scheduler.
fn bind_tree(_: &(), _: &mut UserSliceReader) -> Result {
    tree::sched_switch::bind()
}

/// Fires the events of the tree as often as the written number says.
fn fire_tree(_: &(), reader: &mut UserSliceReader) -> Result {
    tree::fire(number(reader)?);
    Ok(())
}

/// Fails, as the tracepoint does not exist.
fn bind_nowhere(_: &(), _: &mut UserSliceReader) -> Result {
    events::rust_nowhere::bind()
}

/// The task that others hit `r_counted` for.
type Counted = Mutex<Option<ARef<Task>>>;

/// Stores this task for 0, otherwise fires `r_counted` for the stored one, that many times.
fn fire_task(counted: &Counted, reader: &mut UserSliceReader) -> Result {
    let n = number(reader)?;
    let mut counted = counted.lock();

    if n == 0 {
        *counted = Some(ARef::from(&**current!()));
        return Ok(());
    }
    for i in 0..n {
        events::trace_r_counted(i, counted.as_deref());
    }
    Ok(())
}

extern "C" {
    /// Sends an NMI to this CPU if the record that is complete now is to be interrupted.
    fn event_test_built();
}

/// Returns what `r_counted` counts as, when its record is complete and not committed.
fn count_of(n: u32) -> u64 {
    // SAFETY: The function has no safety requirements.
    unsafe { event_test_built() };
    n.into()
}

/// Generates `r_counted` for a task, in any context.
#[no_mangle]
extern "C" fn rust_event_test_counted(n: u32, task: &Task) {
    events::trace_r_counted(n, Some(task));
}

declare_trace! {
    // SAFETY: No reference exists.
    #[by_name]
    unsafe fn nmi_handler(handler: *mut c_void, delta: i64, handled: i32);
}

/// The probe that hits `r_counted` in NMIs.
struct HitInNmi;

impl Probe<nmi_handler> for HitInNmi {
    fn hit(&self, _: (*mut c_void, i64, i32)) {
        let task = current!();

        events::trace_r_counted(1, Some(task));
    }
}

type InNmi = Mutex<Option<Pin<KBox<Registration<nmi_handler, HitInNmi>>>>>;

/// Attaches the probe, or detaches it for 0.
fn in_nmi(probe: &InNmi, reader: &mut UserSliceReader) -> Result {
    let new = match number(reader)? {
        0 => None,
        _ => Some(KBox::pin_init(Registration::new(HitInNmi), GFP_KERNEL)?),
    };

    *probe.lock() = new;
    Ok(())
}

/// An event that is kept.
type Kept = Mutex<Option<EventFile<Owned>>>;

/// Keeps the event that is written as `SYSTEM/NAME`, in place of the last one.
fn keep(kept: &Kept, reader: &mut UserSliceReader) -> Result {
    let mut buf = [0; 64];
    let event = match text(reader, &mut buf)?.split_once('/') {
        Some((system, name)) => {
            let system = CString::try_from_fmt(fmt!("{system}"))?;
            let name = CString::try_from_fmt(fmt!("{name}"))?;

            Some(EventFile::get(None, &system, &name)?)
        }
        None => None,
    };

    *kept.lock() = event;
    Ok(())
}

/// Fires an event and does nothing else, so that its instructions can be inspected.
#[no_mangle]
#[inline(never)]
extern "C" fn rust_event_test_off(n: u32) {
    events::trace_r_bare(n);
}

/// Returns the nanoseconds per call of `f`, times 1000, when it is called with the numbers up to
/// `COUNT`.
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
            Registration::<events::r_pair_first, _>::from_fn(|(left, right)| {
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

/// Attaches a probe that sleeps and fires, and tells how long that took, in milliseconds.
fn show_sleep(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let probe = KBox::pin_init(
        Registration::<events::r_faultable, _>::from_fn(|_| fsleep(Delta::from_millis(20))),
        GFP_KERNEL,
    );
    if probe.is_err() {
        return writeln!(f, "failed");
    }
    let start = Instant::<Monotonic>::now();

    events::trace_r_faultable(7, None);
    writeln!(f, "{}", start.elapsed().as_millis())
}

#[pin_data]
struct EventTest {
    #[pin]
    fire: File<()>,
    #[pin]
    pointers: File<()>,
    #[pin]
    masks: File<()>,
    #[pin]
    big: File<()>,
    #[pin]
    fire_task: File<Counted>,
    #[pin]
    in_nmi: File<InNmi>,
    #[pin]
    keep: File<Kept>,
    #[pin]
    bind: File<()>,
    #[pin]
    bind_nowhere: File<()>,
    #[pin]
    bind_tree: File<()>,
    #[pin]
    fire_tree: File<()>,
    #[pin]
    fire_exported: File<()>,
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
    #[pin]
    sleep: File<()>,
    dir: Dir,
}

impl kernel::InPlaceModule for EventTest {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_event_test");

        try_pin_init!(Self {
            fire <- dir.write_callback_file(c"fire", (), &fire),
            pointers <- dir.write_callback_file(c"pointers", (), &pointers),
            masks <- dir.write_callback_file(c"masks", (), &masks),
            big <- dir.write_callback_file(c"big", (), &big),
            bind <- dir.write_callback_file(c"bind", (), &bind),
            bind_nowhere <- dir.write_callback_file(c"bind_nowhere", (), &bind_nowhere),
            bind_tree <- dir.write_callback_file(c"bind_tree", (), &bind_tree),
            fire_tree <- dir.write_callback_file(c"fire_tree", (), &fire_tree),
            fire_exported <- dir.write_callback_file(c"fire_exported", (), &fire_exported),
            fire_task <- dir.write_callback_file(c"fire_task", new_mutex!(None), &fire_task),
            in_nmi <- dir.write_callback_file(c"in_nmi", new_mutex!(None), &in_nmi),
            keep <- dir.write_callback_file(c"keep", new_mutex!(None), &keep),
            cost <- dir.read_callback_file(c"cost", (), &show_cost),
            hooks <- dir.read_callback_file(c"hooks", (), &show_hooks),
            refuse <- dir.write_callback_file(c"refuse", (), &set_refuse),
            evaluated <- dir.read_callback_file(c"evaluated", (), &show_evaluated),
            probe <- dir.read_callback_file(c"probe", (), &show_probe),
            sleep <- dir.read_callback_file(c"sleep", (), &show_sleep),
            dir: dir.clone(),
        })
    }
}
