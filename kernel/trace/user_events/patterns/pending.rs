// SPDX-License-Identifier: GPL-2.0

//! Lines that an event is still to get, as memory for them has to be waited for.
//!
//! They are not shared: the task that creates the event has them.

use super::line::Line;
use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        builtin::charge,
        event_file::{
            EventFile,
            Locked, //
        },
    },
};

/// Lines that were not applied to an event, as its process would have had to wait for memory.
#[must_use]
pub(crate) struct PendingLines {
    lines: KVec<Arc<Line>>,
    /// Size of the largest refused charge.
    missing: usize,
}

impl PendingLines {
    /// Creates an empty list of lines.
    pub(crate) const fn new() -> Self {
        Self {
            lines: KVec::new(),
            missing: 0,
        }
    }

    /// Returns `true` if no line is left.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the lines.
    pub(super) fn lines(&self) -> &[Arc<Line>] {
        &self.lines
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: Arc<Line>, file: EventFile<Locked<'_>>, missing: usize) {
        if self.lines.push(line.clone(), GFP_KERNEL).is_err() {
            line.fail(file.name(), ENOMEM);
        }
        self.missing = self.missing.max(missing);
    }

    /// Waits for memory, without keeping it: the histograms are charged when they are created.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn wait(&self) -> Result {
        charge::wait(self.missing)
    }

    /// Counts the lines as failed for the event called `name`.
    pub(crate) fn give_up(self, name: &CStr) {
        for line in self.lines {
            line.fail(name, ENOMEM);
        }
    }
}
