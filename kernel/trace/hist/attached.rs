// SPDX-License-Identifier: GPL-2.0

//! A histogram that is attached to an event: what its trigger has, and the line of the trigger.

use kernel::{
    sync::Arc,
    trace::trigger::Trigger, //
};

use crate::{
    backlog,
    histogram::Histogram,
    text_buf::TextBuf, //
};

/// The command `hist`, implemented in [`trigger`](crate::trigger).
pub(crate) struct HistCommand;

/// The data of a trigger.
pub(crate) struct TriggerData {
    /// The histogram, which other triggers may have as well if it has a name.
    pub(crate) hist: Arc<Histogram>,
    /// The start of its line, so that no memory is needed to show it.
    line: TextBuf,
    /// The number of the trigger in the [registry](crate::registry).
    pub(crate) id: u64,
    /// The last field, so that the histogram is dropped before.
    backlog: backlog::Part,
}

impl TriggerData {
    /// The trigger of a histogram, with the number `id`.
    pub(crate) fn new(hist: Arc<Histogram>, line: TextBuf, id: u64) -> Self {
        Self {
            hist,
            line,
            id,
            backlog: backlog::Part::new(),
        }
    }

    /// Says that the trigger was detached: its memory will be freed.
    pub(crate) fn removed(&self) {
        self.backlog.add(self.hist.map.size());
    }
}

/// Calls `put` with the parts of the line of a trigger: the command, the filter, whether it is
/// paused, and a newline. Needs no memory.
pub(crate) fn line(trigger: &Trigger<HistCommand>, mut put: impl FnMut(&[u8])) {
    // It was looked at when the trigger was created.
    put(trigger.data().line.bytes().unwrap_or(&[]));
    if let Some(filter) = trigger.filter() {
        put(b" if ");
        put(filter.to_bytes());
    }
    put(if trigger.is_paused() {
        b" [paused]\n"
    } else {
        b" [active]\n"
    });
}
