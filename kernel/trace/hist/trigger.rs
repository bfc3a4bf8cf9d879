// SPDX-License-Identifier: GPL-2.0

//! The command `hist` of `trigger` files.
//!
//! A line makes a histogram and attaches it to the event ([`parse`]); or it means one that exists
//! already ([`matching`]), which it pauses, continues, clears, or removes ([`life`]).
//!
//! A histogram with a name is shared: further lines with the name attach it to other events, or to
//! the same event with another filter.
//!
//! Everything but hits runs with `event_mutex` held.

pub(crate) mod backlog;
mod life;
mod matching;
mod parse;

pub(crate) use self::parse::add_helper;

#[cfg(CONFIG_HIST_TRIGGERS_RUST_KUNIT_TEST)]
pub(crate) use self::{
    matching::{
        same,
        same_uses, //
    },
    parse::split_filter, //
};

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    sync::Arc,
    trace::{
        event_file::EventFile,
        event_mutex::Held,
        trigger::{
            Command,
            CommandOps,
            Hit,
            Kind,
            Line,
            Lists,
            Trigger, //
        },
    },
};

use super::{
    data::Hist,
    line,
    out::Out,
    update, //
};

/// The command.
pub(crate) struct Histogram;

/// What C knows of the command.
pub(crate) static HISTOGRAM: CommandOps<Histogram> = CommandOps::new(c"hist", Kind::Hist);

/// What a trigger has.
pub(crate) struct TriggerData {
    /// The histogram, which other triggers may have as well if it has a name.
    pub(crate) hist: Arc<Hist>,
    /// How its line begins, so that no memory is needed to show it.
    line: Out,
    /// The number of the trigger in the [registry](super::registry).
    id: u64,
    /// The last field, so that the histogram is dropped before.
    part: backlog::Part,
}

impl TriggerData {
    /// How the line of the trigger begins: all but its filter and whether it is paused.
    pub(crate) fn line(&self) -> &[u8] {
        // It was looked at when the trigger was made.
        self.line.bytes().unwrap_or(&[])
    }

    /// Says that the trigger was detached: its memory will be freed.
    fn removed(&self) {
        self.part.add(self.hist.map.size());
    }
}

#[vtable]
impl Command for Histogram {
    type Data = TriggerData;

    fn ops() -> &'static CommandOps<Self> {
        &HISTOGRAM
    }

    fn parse<'h>(file: EventFile<'h>, line: Line<'_>, lists: &mut Lists<'h>) -> Result {
        parse::execute(file, line, lists)
    }

    fn remove_all<'h>(file: EventFile<'h>, lists: &mut Lists<'h>) {
        life::remove_all(file, lists);
    }

    #[inline]
    fn hit(data: &TriggerData, hit: &Hit<'_>) {
        update::hit(data, hit);
    }

    fn show(trigger: &Trigger<Self>, m: &SeqFile, _held: Held<'_>) {
        line::pieces(trigger, |text| m.write(text));
    }

    fn detached(data: &TriggerData, held: Held<'_>) {
        life::detached(data, held);
    }
}
