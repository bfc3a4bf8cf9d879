// SPDX-License-Identifier: GPL-2.0

//! Test module that attaches probes to the tracepoints of another module, and whose slow
//! initialisation shows which operations are refused until it is complete.
//!
//! - It attaches probes to tracepoints of `rust_event_test`, one of C and one of Rust, which has to
//!   be loaded. How often they were called is in `/sys/kernel/debug/rust_module_test/probed`.
//! - While it is loaded it logs which modules with tracepoints are loaded and unloaded.
//! - Before its initialisation is over it waits for as many milliseconds as the parameter `linger`
//!   says. Its event, its trigger command and its file in tracefs, all named `rust_lingering`,
//!   exist already, but none of them can be used.

use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        probe::{
            detach_all,
            Attached,
            Change,
            ModuleTracepoints,
            ModuleWatch,
            Registration as ProbeRegistration, //
        },
        trace_event,
        tracefs::{
            self,
            Show, //
        },
        trigger::{
            Command,
            CommandKind,
            CommandLine,
            CommandOps,
            Hit,
            NewTrigger,
            Registration,
            Trigger,
            TriggersMut, //
        },
    },
    tracepoint::declare_trace, //
};

module! {
    type: ModuleTest,
    name: "rust_module_test",
    authors: ["Rust for Linux Contributors"],
    description: "Probes on another module, and an initialisation that takes time",
    license: "GPL",
    params: {
        linger: i64 {
            default: 0,
            description: "How long the initialisation takes, in milliseconds",
        },
    },
}

declare_trace! {
    // SAFETY: This is the prototype in `event_test.h`.
    #[by_name(unchecked)]
    unsafe fn c_pair_first(left: i32, right: i32);
    // SAFETY: This is the prototype in `events.rs`.
    #[by_name(unchecked)]
    unsafe fn r_pair_first(left: i32, right: i32);
}

trace_event! {
    system: "rust_module_test";

    /// Never happens.
    event rust_lingering(n: u32) {
        fields {
            n: u32 = n,
        }
        print("n=%u", n)
    }
}

static PROBED_C: Atomic<u32> = Atomic::new(0);
static PROBED_RUST: Atomic<u32> = Atomic::new(0);

/// Names the type of a closure.
type Count = fn((i32, i32));

fn count_c(_: (i32, i32)) {
    PROBED_C.add(1, Relaxed);
}

fn count_rust(_: (i32, i32)) {
    PROBED_RUST.add(1, Relaxed);
}

/// The same for what is told of modules.
type Tell = for<'a, 'b> fn(Change, &'a ModuleTracepoints<'b>);

fn tell(change: Change, module: &ModuleTracepoints<'_>) {
    let mut tracepoints = 0;
    let what = match change {
        Change::Coming => "comes",
        Change::Going => "goes",
    };

    module.for_each(|_| tracepoints += 1);
    pr_info!(
        "{} {} with {} tracepoints, {} r_pair_first\n",
        module.name(),
        what,
        tracepoints,
        if module.has(c"r_pair_first") {
            "has"
        } else {
            "no"
        },
    );
}

/// The command, whose triggers do nothing.
struct Nothing;

static COMMAND: CommandOps<Nothing> = CommandOps::new(c"rust_lingering", CommandKind::Always);

#[vtable]
impl Command for Nothing {
    type Data = ();

    fn ops() -> &'static CommandOps<Self> {
        &COMMAND
    }

    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        if line.remove() {
            file.detach::<Self>(lists, |_| true, |()| ());
            return Ok(());
        }
        Ok(NewTrigger::<Self>::new(file, ())?.attach(lists)?)
    }

    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        while file.detach::<Self>(lists, |_| true, |()| ()) {}
    }

    fn hit(_data: &(), _hit: &Hit<'_>) {}

    fn show(_trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
        seq_print!(m, "rust_lingering\n");
    }

    fn detached(_data: &(), _held: Held<'_>) {}
}

struct Text;

#[vtable]
impl Show for Text {
    fn show(m: &SeqFile) -> Result {
        seq_print!(m, "there\n");
        Ok(())
    }
}

#[pin_data(PinnedDrop)]
struct ModuleTest {
    #[pin]
    c: ProbeRegistration<c_pair_first, Count>,
    #[pin]
    rust: ProbeRegistration<r_pair_first, Count>,
    #[pin]
    watch: ModuleWatch<Tell>,
    #[pin]
    probed: File<()>,
    _dir: Dir,
    _file: tracefs::Entry,
    _command: Registration,
    lingered: (),
}

#[pinned_drop]
impl PinnedDrop for ModuleTest {
    fn drop(self: Pin<&mut Self>) {
        let this = self.project();
        let probes: [Pin<&mut dyn Attached>; 2] = [this.c, this.rust];

        detach_all(probes);
    }
}

impl kernel::InPlaceModule for ModuleTest {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_module_test");

        try_pin_init!(Self {
            c <- ProbeRegistration::new(count_c as Count),
            rust <- ProbeRegistration::new(count_rust as Count),
            watch <- ModuleWatch::new(tell as Tell),
            probed <- dir.read_callback_file(c"probed", (), &|(), f| {
                writeln!(f, "{} {}", PROBED_C.load(Relaxed), PROBED_RUST.load(Relaxed))
            }),
            _dir: dir.clone(),
            _file: tracefs::create_seq_file::<Text>(c"rust_lingering", 0o444)?,
            _command: COMMAND.register()?,
            lingered: fsleep(Delta::from_millis(module_parameters::linger.value())),
        })
    }
}
