// SPDX-License-Identifier: GPL-2.0

//! Events that only lines keep: what says that an event is one, and what releases it.

use super::{
    get,
    line::Line,
    with_name,
    Subject, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        event_mutex,
        instance, //
    },
};

/// Lines that were reverted for an event. They count it as removed when it is.
#[must_use]
pub(crate) struct Reverted(KVec<Arc<Line>>);

impl Reverted {
    /// Creates an empty list of lines.
    pub(crate) const fn new() -> Self {
        Self(KVec::new())
    }

    /// Counts the event called `name` as removed.
    pub(crate) fn count_removed(&self, name: &CStr) {
        for line in self.0.iter() {
            line.count_removed(name);
        }
    }
}

/// Returns the number of instances that listen to an event, if lines are the reason for each.
///
/// `None` if an instance listens whose lines do not say so: the event was enabled there, or has a
/// trigger, without a line that does the same. perf is not looked at.
pub(crate) fn listeners_of_lines<T: Subject>(
    subject: &T,
    guard: &mut event_mutex::Guard,
) -> Option<usize> {
    let patterns = get().ok()?;
    let event = subject.event();
    let mut count = Some(0usize);

    with_name(subject, |name| {
        instance::for_each(guard, |instance, lists| {
            let Some(before) = count else {
                return;
            };
            let Some(file) = instance.file_of(event).filter(|file| file.is_listening()) else {
                return;
            };
            let mut enabling = patterns.of(instance.id(), |pattern| {
                pattern.trigger().is_none() && pattern.matches(event.system(), name)
            });
            let is_by_lines = !file.has_other_triggers(lists)
                && (!file.is_enabled() || enabling.next().is_some());

            count = is_by_lines.then_some(before.saturating_add(1));
        });
    });
    count
}

/// Reverts all lines for an event that is to be removed, and returns them.
///
/// What a trigger refuses stays.
pub(crate) fn revert_all<T: Subject>(subject: &T, guard: &mut event_mutex::Guard) -> Reverted {
    let mut reverted = Reverted::new();
    let Ok(patterns) = get() else {
        return reverted;
    };
    let event = subject.event();

    with_name(subject, |name| {
        instance::for_each(guard, |instance, lists| {
            let Some(file) = instance.file_of(event) else {
                return;
            };
            let lines = patterns.of(instance.id(), |pattern| {
                pattern.matches(event.system(), name)
            });

            for line in lines {
                // A line that has failed for the event has nothing to revert.
                if line.revert(file, true, lists).unwrap_or(false) {
                    // Without memory the event is not counted.
                    let _ = reverted.0.push(line, GFP_KERNEL);
                }
            }
        });
    });
    reverted
}
