// SPDX-License-Identifier: GPL-2.0

//! Events that are enabled when they are created: the file `set_user_event` of each instance.
//!
//! A line of the file is a pattern of names, and a trigger or none. It is applied to the events
//! that exist when it is written, and to each event when it is created, before another task can
//! find it: so the first record of a process that registers it is not missed. A failure then does
//! not concern the process. It is counted, and the file shows it in a comment after the line.
//!
//! # Locking
//!
//! All changes take place with `event_mutex` held. The lock of [`Patterns`] is for readers of the
//! file; it is not held while a line is applied, which takes other locks of tracing. The lines of
//! an instance are removed with it, with `trace_types_lock` held as well.
//!
//! # Memory
//!
//! The process that creates an event is charged for the histograms that lines add to it, and the
//! writer of a line for those of the events that exist. It may be slowed down, or wait for memory,
//! as its memory cgroup says. No other task waits for that: with `event_mutex` held charges do not
//! wait ([`kernel::trace::builtin::charge`]). A line that is refused memory is applied again after
//! the task has waited ([`PendingLines`], [`add`]).

mod grammar;
mod groups;
mod kept;
mod line;
mod pending;

pub(crate) use self::{
    grammar::{
        Pattern,
        Request, //
    },
    groups::Groups,
    kept::{
        listeners_of_lines,
        revert_all,
        Reverted, //
    },
    pending::PendingLines,
};

use self::line::Line;
use super::defs::NAME_MAX;
use core::marker::PhantomData;
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    str::BStr,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex,
        SetOnce, //
    },
    trace::{
        builtin::{
            charge,
            event::{
                Class,
                Event,
                Operations, //
            },
            instance_file::InstanceFile, //
        },
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex,
        instance::{
            self,
            InstanceId,
            InstanceRef, //
        },
        trigger::{
            is_command,
            TriggersMut, //
        },
    },
};

/// Maximum number of lines in one instance. Each costs the creation of an event.
const LINES_MAX: usize = 256;

/// Number of attempts to apply a line for which a task has waited for memory.
const LATE_TRIES: u32 = 3;

/// Number of lines in all instances. Written with `event_mutex` held.
static COUNT: Atomic<usize> = Atomic::new(0);

/// The lines, present from [`init()`] on.
static PATTERNS: SetOnce<Arc<Patterns>> = SetOnce::new();

/// An event that a line can be about.
pub(crate) trait Subject: Operations {
    /// Returns the classes of all subjects.
    fn classes() -> [&'static Class<Self>; 2];

    /// Returns the trace event.
    fn event(&self) -> &Event<Self>;

    /// Returns the name that the subject was registered by, which the name of the trace event
    /// begins with.
    fn registered_name(&self) -> &BStr;
}

/// The lines of all instances.
#[pin_data]
struct Patterns {
    #[pin]
    lines: Mutex<Groups<InstanceId, Arc<Line>>>,
}

/// Prepares for the first line. Called once, while the kernel boots.
pub(crate) fn init() -> Result {
    let patterns = Arc::pin_init(
        pin_init!(Patterns {
            lines <- new_mutex!(Groups::new(), "user_events::patterns"),
        }),
        GFP_KERNEL,
    )?;

    if PATTERNS.populate(patterns) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

fn get() -> Result<&'static Patterns> {
    PATTERNS.as_ref().map(|patterns| &**patterns).ok_or(ENOENT)
}

/// Returns `true` if an instance has a line.
#[inline]
pub(crate) fn exist() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Returns `true` if a line of an instance is about an event, which need not be registered yet.
pub(crate) fn any_matches<T: Subject>(subject: &T) -> bool {
    let system = subject.event().system();
    let matches = |patterns: &Patterns| {
        with_name(subject, |name| {
            let lines = patterns.lines.lock();
            let mut all = lines.iter();

            all.any(|line| line.pattern.matches(system, name))
        })
    };

    exist() && get().is_ok_and(matches)
}

/// Applies the lines of all instances to an event that was just registered with tracing. The
/// returned lines have to be [finished](finish) without `event_mutex`.
///
/// Without a line this is one load. The time is bounded by the number of instances and of lines.
#[inline]
pub(crate) fn apply<T: Subject>(subject: &T, guard: &mut event_mutex::Guard) -> PendingLines {
    if exist() {
        apply_all(subject, None, guard)
    } else {
        PendingLines::new()
    }
}

/// Applies the lines that are left in `pending`.
#[inline]
pub(crate) fn finish<T: Subject>(subject: &T, pending: PendingLines) {
    if !pending.is_empty() {
        finish_pending(subject, pending);
    }
}

/// Waits for memory, and applies the lines that are left in `pending`.
///
/// Takes `event_mutex`, but not while it waits.
#[cold]
fn finish_pending<T: Subject>(subject: &T, mut pending: PendingLines) {
    for _ in 0..LATE_TRIES {
        if pending.is_empty() {
            return;
        }
        if pending.wait().is_err() {
            break;
        }
        pending = apply_all(subject, Some(pending.lines()), &mut event_mutex::lock());
    }
    pending.give_up(subject.event().name());
}

/// Applies all lines, or only those in `only`, to the event. Only the histograms of lines are
/// charged, and that does not wait.
#[cold]
fn apply_all<T: Subject>(
    subject: &T,
    only: Option<&[Arc<Line>]>,
    guard: &mut event_mutex::Guard,
) -> PendingLines {
    let mut pending = PendingLines::new();
    let Ok(patterns) = get() else {
        return pending;
    };
    let event = subject.event();
    let _unaccounted = charge::begin(guard.held());
    let is_wanted = |line: &Arc<Line>| {
        only.is_none_or(|only| only.iter().any(|wanted| Arc::ptr_eq(wanted, line)))
    };

    with_name(subject, |name| {
        instance::for_each(guard, |instance, lists| {
            let lines = patterns.of(instance.id(), |pattern| {
                pattern.matches(event.system(), name)
            });
            // The file is only looked for if it has a line.
            let mut file = None;

            for line in lines.filter(is_wanted) {
                file = file.or_else(|| instance.file_of(event));
                // The instance may not have this system.
                let Some(file) = file else {
                    break;
                };
                let Err(e) = line.try_apply(file, lists) else {
                    continue;
                };

                match charge::take_missing(lists.held()) {
                    0 => line.fail(file.name(), e),
                    missing => pending.push(line, file, missing),
                }
            }
        });
    });
    pending
}

/// Calls `f` with the name that an event was registered by.
fn with_name<T: Subject, R>(subject: &T, f: impl FnOnce(&CStr) -> R) -> R {
    let name = subject.registered_name();
    if name.len() == subject.event().name().to_bytes().len() {
        return f(subject.event().name());
    }
    // The name of the trace event has a suffix.
    let mut buf = [0; NAME_MAX + 1];

    for (to, from) in buf.iter_mut().zip(name.iter().take(NAME_MAX)) {
        *to = *from;
    }
    f(CStr::from_bytes_until_nul(&buf).unwrap_or(c""))
}

/// Removes the lines of an instance that is being removed, with `event_mutex` held.
pub(crate) fn forget(instance: InstanceId) {
    if !exist() {
        return;
    }
    if let Ok(patterns) = get() {
        while patterns.remove(instance, |_| true).is_some() {}
    }
}

impl Patterns {
    /// Returns the lines of an instance for which `pred` returns `true`. `event_mutex` must be
    /// held.
    ///
    /// Takes time for the lines of this instance, and for each that is returned the logarithm of
    /// the number of all.
    fn of<'a>(
        &'a self,
        instance: InstanceId,
        pred: impl Fn(&Pattern) -> bool + 'a,
    ) -> impl Iterator<Item = Arc<Line>> + 'a {
        let mut next = 0;

        core::iter::from_fn(move || {
            let lines = self.lines.lock();
            let mut rest = lines.of(instance).enumerate().skip(next);
            let (at, line) = rest.find(|(_, line)| pred(&line.pattern))?;

            next = at + 1;
            Some(line.clone())
        })
    }

    /// Adds a line, or returns the one of the same text. `event_mutex` must be held.
    fn add(&self, instance: InstanceId, line: Arc<Line>) -> Result<Arc<Line>> {
        let mut lines = self.lines.lock();
        let mut count = 0usize;

        for other in lines.of(instance) {
            if other.pattern.is_same(&line.pattern) {
                return Ok(other.clone());
            }
            count += 1;
        }
        if count >= LINES_MAX {
            return Err(ENOSPC);
        }

        lines.add(instance, line.clone())?;
        COUNT.store(lines.len(), Relaxed);
        Ok(line)
    }

    /// Returns `true` if an instance has this very line. `event_mutex` must be held.
    fn has(&self, instance: InstanceId, line: &Arc<Line>) -> bool {
        self.lines
            .lock()
            .of(instance)
            .any(|other| Arc::ptr_eq(other, line))
    }

    /// Removes the first line of an instance for which `pred` returns `true`. `event_mutex` must be
    /// held.
    fn remove(
        &self,
        instance: InstanceId,
        pred: impl FnMut(&Arc<Line>) -> bool,
    ) -> Option<Arc<Line>> {
        let mut lines = self.lines.lock();
        let line = lines.remove(instance, pred)?;

        COUNT.store(lines.len(), Relaxed);
        Some(line)
    }
}

/// The file `set_user_event`.
pub(crate) struct SetUserEvent<T>(PhantomData<T>);

impl<T: Subject> InstanceFile for SetUserEvent<T> {
    fn show(instance: &InstanceRef, m: &SeqFile) -> Result {
        let lines = get()?.lines.lock();

        for line in lines.of(instance.id()) {
            line.show(m);
        }
        Ok(())
    }

    fn line(instance: &InstanceRef, line: &[u8]) -> Result {
        match Request::parse(line)? {
            Request::Nothing => Ok(()),
            Request::Add(text) => add::<T>(instance, Pattern::new(text)?),
            Request::Remove(text) => remove::<T>(instance, &Pattern::new(text)?),
        }
    }

    fn clear(instance: &InstanceRef) {
        let Ok(patterns) = get() else {
            return;
        };

        // Not all at once: the lines and the events may be many.
        loop {
            let mut guard = event_mutex::lock();
            let Some(line) = patterns.remove(instance.id(), |_| true) else {
                break;
            };

            // The others are reverted all the same.
            let _ = revert::<T>(patterns, instance, &line, &mut guard);
        }
    }
}

/// Adds a line, and applies it to the events that exist. If memory for some of them has to be
/// waited for, applies it again afterwards, unless it was removed by then.
fn add<T: Subject>(instance: &InstanceRef, pattern: Pattern) -> Result {
    if pattern.trigger().is_some_and(|line| !is_command(line)) {
        return Err(EINVAL);
    }
    let patterns = get()?;
    let line = Line::new(pattern)?;
    let mut guard = event_mutex::lock();
    let line = patterns.add(instance.id(), line)?;
    let mut missing = apply_to_existing::<T>(instance, &line, &mut guard);

    drop(guard);
    for _ in 0..LATE_TRIES {
        if missing == 0 || charge::wait(missing).is_err() {
            break;
        }

        let mut guard = event_mutex::lock();

        if !patterns.has(instance.id(), &line) {
            break;
        }
        missing = apply_to_existing::<T>(instance, &line, &mut guard);
    }
    Ok(())
}

/// Applies a line to the events that exist, without effect on those that have its trigger. Returns
/// how much memory it lacked for all of them that it would have had to wait for.
fn apply_to_existing<T: Subject>(
    instance: &InstanceRef,
    line: &Line,
    guard: &mut event_mutex::Guard,
) -> usize {
    let _unaccounted = charge::begin(guard.held());
    let mut missing = 0usize;

    line.forget_failures();
    for_each_match::<T>(instance, &line.pattern, guard, |_, file, lists| {
        line.apply(file, lists);
        missing = missing.saturating_add(charge::take_missing(lists.held()));
    });
    missing
}

/// Removes a line, and reverts it for the events that exist.
fn remove<T: Subject>(instance: &InstanceRef, pattern: &Pattern) -> Result {
    let patterns = get()?;
    let mut guard = event_mutex::lock();
    let line = patterns
        .remove(instance.id(), |line| line.pattern.is_same(pattern))
        .ok_or(ENOENT)?;

    revert::<T>(patterns, instance, &line, &mut guard)
}

/// Reverts a line that was removed for the events that exist, but not for those of another line
/// that does the same. Returns the first error.
fn revert<T: Subject>(
    patterns: &Patterns,
    instance: &InstanceRef,
    line: &Line,
    guard: &mut event_mutex::Guard,
) -> Result {
    let mut result = Ok(());

    for_each_match::<T>(instance, &line.pattern, guard, |name, file, lists| {
        let kept = patterns.of(instance.id(), |other| {
            other.does_same(&line.pattern) && other.matches(file.system(), name)
        });

        if kept.take(1).count() == 0 {
            let reverted = line.revert(file, false, lists);

            if result.is_ok() {
                result = reverted.map(drop);
            }
        }
    });
    result
}

/// Calls `f` with each event that matches, that is, the name that it was registered by, its file
/// and the triggers.
fn for_each_match<T: Subject>(
    instance: &InstanceRef,
    pattern: &Pattern,
    guard: &mut event_mutex::Guard,
    mut f: impl for<'h> FnMut(&CStr, EventFile<Locked<'h>>, &mut TriggersMut<'h>),
) {
    instance.with_triggers(guard, |instance, lists| {
        for class in T::classes() {
            instance.for_each_of(class, |subject: &T, file| {
                with_name(subject, |name| {
                    if pattern.matches(file.system(), name) {
                        f(name, file, lists);
                    }
                });
            });
        }
    });
}
