// SPDX-License-Identifier: GPL-2.0

//! Synthetic events from kernel code.
//!
//! This does what `kernel/trace/synth_event_gen_test.c` does: it creates events step by step and in
//! one call, and traces them with all values at once and piece by piece. And it has one that is
//! declared, whose values the compiler checks, for what is written to `rust_synth_emit`.
//!
//! ```sh
//! modprobe rust_synth_event
//! cd /sys/kernel/tracing
//! cat trace                # five records
//! echo 1 > events/synthetic/rust_declared_synth/enable
//! echo 'a unicorn' > rust_synth_emit
//! cat trace                # one more
//! echo 0 > events/synthetic/rust_declared_synth/enable
//! rmmod rust_synth_event   # clears the trace
//! ```

use kernel::{
    fs::Kiocb,
    iov::IovIterSource,
    prelude::*,
    str::{
        BStr,
        CString, //
    },
    synth_event,
    trace::{
        synth::{
            Arg,
            Builder,
            DeclaredEvent,
            DeclaredTracer,
            DynString,
            FixedString,
            Pid,
            SynthEvent,
            Tracer,
            Type, //
        },
        tracefs, //
    },
};

module! {
    type: SynthSample,
    name: "rust_synth_event",
    authors: ["Rust for Linux Contributors"],
    description: "Synthetic events from kernel code",
    license: "GPL",
}

synth_event! {
    /// A thing that was seen.
    struct Sighting: c"rust_declared_synth" {
        /// The task that saw the thing.
        pid: Pid,
        kind: FixedString<16>,
        /// The thing.
        what: DynString,
    }
}

/// The longest text that can be written at once.
const MAX_LEN: usize = 4096;

/// The events exist as long as the module is loaded, and the file a little less long.
struct SynthSample {
    _file: tracefs::Entry,
    _generated: SynthEvent,
    _empty: SynthEvent,
    _created: SynthEvent,
    _declared: DeclaredEvent<Sighting<'static>>,
}

const FIELDS: [(Type, &CStr); 7] = [
    (Type::Pid, c"next_pid_field"),
    (Type::String(16), c"next_comm_field"),
    (Type::U64, c"ts_ns"),
    (Type::U64, c"ts_ms"),
    (Type::UnsignedInt, c"cpu"),
    (Type::String(64), c"my_string_field"),
    (Type::Int, c"my_int_field"),
];

/// With two strings whose length is not fixed.
const MORE_FIELDS: [(Type, &CStr); 9] = {
    let [pid, comm, ns, ms, cpu, text, number] = FIELDS;
    let one = (Type::DynString, c"dynstring_field_1");
    let two = (Type::DynString, c"dynstring_field_2");

    [pid, comm, ns, one, ms, cpu, text, two, number]
};

/// Returns values for [`FIELDS`].
fn values<'v>(comm: &'v CStr, text: &'v CStr, number: i32) -> [Arg<'v>; 7] {
    let [pid, ns, ms, cpu] = [777, 1_000_000, 1_000, 0].map(Arg::Unsigned);

    [pid, comm.into(), ns, ms, cpu, text.into(), number.into()]
}

/// Generates one record whose values are added in their order, and one by name.
fn piecewise(tracer: &Tracer) -> Result {
    let mut record = tracer.in_order()?;
    for value in values(c"slinky", c"thneed_2.01", 395) {
        record.add(value)?;
    }
    // This is when it is written. No sleeping before.
    drop(record);

    let mut record = tracer.by_name()?;
    record.set(c"ts_ns", 1_000_000)?;
    record.set(c"ts_ms", 1_000)?;
    record.set(c"cpu", 0)?;
    record.set(c"next_pid_field", 777)?;
    record.set(c"next_comm_field", c"silly putty")?;
    record.set(c"my_string_field", c"thneed_9")?;
    record.set(c"my_int_field", 3999)
}

/// Enables an event while `happen` runs, and no longer, as that keeps the module loaded.
fn enabled(event: &SynthEvent, happen: impl FnOnce(&Tracer) -> Result) -> Result {
    let tracer = event.tracer(None)?;

    tracer.file().set_enabled(true)?;
    let happened = happen(&tracer);
    tracer.file().set_enabled(false)?;
    happened
}

impl kernel::Module for SynthSample {
    fn init(module: &'static ThisModule) -> Result<Self> {
        // With four fields, to which the others are added.
        let generated = Builder::new(c"rust_gen_synth", module)?
            .fields(&FIELDS[..4])?
            .fields(&FIELDS[4..])?
            .create()?;
        // One by one.
        let mut builder = Builder::new(c"rust_empty_synth", module)?;
        for (ty, name) in FIELDS {
            builder = builder.field(ty, name)?;
        }
        let empty = builder.create()?;
        // In one call.
        let created = SynthEvent::create(c"rust_create_synth", &MORE_FIELDS, module)?;

        enabled(&generated, |tracer| {
            tracer.trace(&values(c"hula hoops", c"thneed", 598))?;
            piecewise(tracer)
        })?;
        enabled(&empty, |tracer| {
            tracer.trace(&values(c"tiddlywinks", c"thneed_2.0", 399))
        })?;
        enabled(&created, |tracer| {
            let [pid, comm, ns, ms, cpu, text, number] = values(c"tiddlywinks", c"thneed", 398);
            let [one, two] = [c"xrayspecs", c"kerplunk"].map(Arg::from);

            tracer.trace(&[pid, comm, ns, one, ms, cpu, text, two, number])
        })?;

        Ok(Self {
            _file: tracefs::create_file::<Emit>(c"rust_synth_emit", 0o200)?,
            _generated: generated,
            _empty: empty,
            _created: created,
            _declared: Sighting::create()?,
        })
    }
}

/// The file `rust_synth_emit`, which keeps the event and the module as long as it is open.
struct Emit;

#[vtable]
impl tracefs::FileOps for Emit {
    type Data = KBox<DeclaredTracer<Sighting<'static>>>;

    fn open(_file: &kernel::fs::File) -> Result<Self::Data> {
        Ok(KBox::new(DeclaredTracer::open(None)?, GFP_KERNEL)?)
    }

    fn write_iter(kiocb: Kiocb<'_, Self::Data>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        if iov.len() > MAX_LEN {
            return Err(E2BIG);
        }
        let mut text = KVec::new();
        let len = iov.copy_from_iter_vec(&mut text, GFP_KERNEL)?;
        let what = CString::try_from_fmt(fmt!("{}", BStr::from_bytes(text.trim_ascii())))?;

        // Also for listeners in another instance, or with perf.
        kiocb.file().emit(&Sighting {
            pid: kernel::current!().pid(),
            kind: c"written",
            what: &what,
        })?;
        Ok(len)
    }
}
