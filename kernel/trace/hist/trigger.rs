// SPDX-License-Identifier: GPL-2.0

//! The command `hist` of `trigger` files.
//!
//! A line creates a histogram and attaches it to the event; or it means one that exists already,
//! which it pauses, continues, clears, or removes ([`execute`], [`lifecycle`]).
//!
//! A histogram with a name is shared: further lines with the name attach it to other events, or to
//! the same event with another filter.
//!
//! # Locking
//!
//! Everything except hits runs with `event_mutex` held.

mod execute;
mod lifecycle;

#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
pub(crate) use self::execute::split_filter;

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        trigger::{
            Command,
            CommandKind,
            CommandLine,
            CommandOps,
            Hit,
            Trigger,
            TriggersMut, //
        },
    },
};

use crate::{
    attached::{
        self,
        HistCommand,
        TriggerData, //
    },
    hit, //
};

/// The operations of the command, for C.
pub(crate) static HIST_COMMAND: CommandOps<HistCommand> =
    CommandOps::new(c"hist", CommandKind::Hist);

#[vtable]
impl Command for HistCommand {
    type Data = TriggerData;

    fn ops() -> &'static CommandOps<Self> {
        &HIST_COMMAND
    }

    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        execute::execute(file, line, lists)
    }

    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        lifecycle::remove_all(file, lists);
    }

    #[inline]
    fn hit(data: &TriggerData, hit: &Hit<'_>) {
        hit::hit(&data.hist, hit);
    }

    fn show(trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
        attached::line(trigger, |text| m.write(text));
    }

    fn detached(data: &TriggerData, held: Held<'_>) {
        lifecycle::detached(data, held);
    }
}
