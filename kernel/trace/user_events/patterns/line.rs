// SPDX-License-Identifier: GPL-2.0

//! One line of `set_user_event`: applying it to an event, and counting the events for which it has
//! failed.
//!
//! The locks are for readers of the file. No lock is taken inside of them.

use super::grammar::Pattern;
use core::mem;
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        Arc,
        Mutex, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        trigger::{
            Execution,
            TriggersMut, //
        },
    },
};

/// A line.
#[pin_data]
pub(super) struct Line {
    /// The events that it is about, and the trigger.
    pub(super) pattern: Pattern,
    /// Events that it could not be applied to, with the reason.
    #[pin]
    failed: Mutex<EventCount<Error>>,
    /// Events that were removed though it keeps them.
    #[pin]
    removed: Mutex<EventCount<()>>,
}

/// Events that something has happened to.
struct EventCount<T> {
    count: u64,
    /// The last one: its name, empty if it could not be allocated.
    last: Option<(KVec<u8>, T)>,
}

impl<T: Unpin> EventCount<T> {
    const fn new() -> Self {
        Self {
            count: 0,
            last: None,
        }
    }

    /// Counts an event, and stores it as the last one.
    fn add(this: &Mutex<Self>, name: &CStr, what: T) {
        let mut copy = KVec::new();
        // Without memory it is shown without the name.
        let _ = copy.extend_from_slice(name.to_bytes(), GFP_KERNEL);
        let mut counted = this.lock();

        counted.count = counted.count.saturating_add(1);
        let before = counted.last.replace((copy, what));
        drop(counted);
        drop(before);
    }
}

impl Line {
    /// Creates a line that has not been applied to an event.
    pub(super) fn new(pattern: Pattern) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                pattern,
                failed <- new_mutex!(EventCount::new(), "user_events::failed"),
                removed <- new_mutex!(EventCount::new(), "user_events::removed"),
            }),
            GFP_KERNEL,
        )
    }

    /// Enables an event or adds the trigger to it. Has no effect on an event that has it from a
    /// line already.
    pub(super) fn apply<'h>(&self, file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        if let Err(e) = self.try_apply(file, lists) {
            self.fail(file.name(), e);
        }
    }

    /// Applies the line as `apply` does, without counting a failure.
    ///
    /// Only the first failure has a message in `error_log`, which does not have room for many.
    pub(super) fn try_apply<'h>(
        &self,
        file: EventFile<Locked<'h>>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        let Some(trigger) = self.pattern.trigger() else {
            return file.set_enabled(true);
        };
        let is_there = file.has_trigger_of(trigger, lists);
        let how = Execution {
            remove: false,
            quiet: is_there || self.failed.lock().count != 0,
        };

        match file.execute(trigger, how, lists) {
            // C refuses any of the same kind: one that was added by hand, or by another line. It
            // returns EINVAL for a histogram whose variables exist.
            Err(e) if is_there && (e == EEXIST || e == EINVAL) => Ok(()),
            result => result,
        }
    }

    /// Resets the count of failures, before the line is applied to all events again.
    pub(super) fn forget_failures(&self) {
        let before = mem::replace(&mut *self.failed.lock(), EventCount::new());

        drop(before);
    }

    /// Counts an event that the line could not be applied to.
    pub(super) fn fail(&self, name: &CStr, e: Error) {
        EventCount::add(&self.failed, name, e);
    }

    /// Counts an event that was removed though the line keeps it.
    pub(super) fn count_removed(&self, name: &CStr) {
        EventCount::add(&self.removed, name, ());
    }

    /// Reverts `apply`. Returns `false` if it had nothing to revert, as for a trigger that a line
    /// of this text has not added.
    pub(super) fn revert<'h>(
        &self,
        file: EventFile<Locked<'h>>,
        quiet: bool,
        lists: &mut TriggersMut<'h>,
    ) -> Result<bool> {
        let how = Execution {
            remove: true,
            // One that has failed for an event may fail for it again.
            quiet: quiet || self.failed.lock().count != 0,
        };
        let result = match self.pattern.trigger() {
            // C removes any of the same kind.
            Some(trigger) if !file.has_trigger_of(trigger, lists) => return Ok(false),
            Some(trigger) => file.execute(trigger, how, lists),
            None => file.set_enabled(false),
        };

        match result {
            // Other errors are no reason to keep the line.
            Err(e) if e == EBUSY || e == ENOMEM => Err(e),
            result => Ok(result.is_ok()),
        }
    }

    /// Shows the line, and the counts of events for which it failed or that were removed.
    pub(super) fn show(&self, m: &SeqFile) {
        m.write(self.pattern.text().to_bytes());
        if let Some(trigger) = self.pattern.trigger() {
            m.write(b" ");
            m.write(trigger.to_bytes());
        }
        m.write(b"\n");

        let failed = self.failed.lock();
        if let Some((name, e)) = &failed.last {
            seq_print!(m, "# failed: {}, last: {} for ", failed.count, e.to_errno());
            m.write(name);
            m.write(b"\n");
        }
        drop(failed);

        let removed = self.removed.lock();
        if let Some((name, ())) = &removed.last {
            seq_print!(m, "# removed: {}, last: ", removed.count);
            m.write(name);
            m.write(b"\n");
        }
    }
}
