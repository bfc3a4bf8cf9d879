// SPDX-License-Identifier: GPL-2.0

//! A trigger command.
//!
//! The word `rust_count` in the file `trigger` of an event counts how often it happens, and notes
//! how long its longest record was.
//!
//! ```sh
//! modprobe rust_event_trigger
//! cd /sys/kernel/tracing
//! echo 'rust_count if prio < 120' > events/sched/sched_waking/trigger
//! sleep 1
//! cat events/sched/sched_waking/trigger   # rust_count: hits=12 longest=36 if prio < 120
//! rmmod rust_event_trigger                # Module rust_event_trigger is in use
//! echo '!rust_count' > events/sched/sched_waking/trigger
//! sleep 1                                 # the trigger is freed a little later
//! rmmod rust_event_trigger
//! ```

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        instance::ErrorTexts,
        trigger::{
            Command,
            CommandKind,
            CommandLine,
            CommandOps,
            Filter,
            Hit,
            NewTrigger,
            Registration,
            Trigger,
            TriggersMut, //
        },
    },
};

module! {
    type: TriggerSample,
    name: "rust_event_trigger",
    authors: ["Rust for Linux Contributors"],
    description: "A trigger command",
    license: "GPL",
}

/// The command.
struct CountCommand;

static COMMAND: CommandOps<CountCommand> = CommandOps::new(c"rust_count", CommandKind::Record);

/// The messages in `error_log` about refused lines.
static ERRORS: ErrorTexts<1> = ErrorTexts::new([c"The event is counted already"]);

/// The data of a trigger.
struct Count {
    hits: Atomic<u64>,
    longest: Atomic<usize>,
}

/// The module: the word is known as long as it is loaded.
struct TriggerSample {
    _command: Registration,
}

impl kernel::Module for TriggerSample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            _command: COMMAND.register()?,
        })
    }
}

#[vtable]
impl Command for CountCommand {
    type Data = Count;

    fn ops() -> &'static CommandOps<Self> {
        &COMMAND
    }

    /// Parses a line: `rust_count [if FILTER]` creates a trigger, `!rust_count` removes it.
    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        if line.remove() {
            file.detach::<Self>(lists, |_| true, |_| ());
            return Ok(());
        }
        if file.triggers::<Self>(lists).next().is_some() {
            file.instance()
                .log_error(c"rust_count", c"rust_count", &ERRORS, 0, 0);
            return Err(EEXIST);
        }

        let count = Count {
            hits: Atomic::new(0),
            longest: Atomic::new(0),
        };
        let mut new = NewTrigger::<Self>::new(file, count)?;

        if let Some(params) = line.params() {
            new.set_filter(Filter::new(file, params)?)?;
        }
        Ok(new.attach(lists)?)
    }

    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        while file.detach::<Self>(lists, |_| true, |_| ()) {}
    }

    /// Called for each event, in any context: it must not sleep or lock.
    fn hit(count: &Count, hit: &Hit<'_>) {
        let len = hit.record().len();

        count.hits.add(1, Relaxed);
        if len > count.longest.load(Relaxed) {
            count.longest.store(len, Relaxed);
        }
    }

    fn show(trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
        let count = trigger.data();

        seq_print!(
            m,
            "rust_count: hits={} longest={}",
            count.hits.load(Relaxed),
            count.longest.load(Relaxed)
        );
        if let Some(filter) = trigger.filter() {
            seq_print!(m, " if {filter}");
        }
        seq_print!(m, "\n");
    }

    fn detached(_count: &Count, _held: Held<'_>) {}
}
