// SPDX-License-Identifier: GPL-2.0

//! Events that are enabled when they are created: the file `set_user_event` of each instance.
//!
//! A line of the file is a pattern of names, and a trigger or none. It is applied to the events
//! that exist when it is written, and to each event when it is created, before another task can
//! find it: so the first record of a process that registers it is not missed. Nothing that goes
//! wrong then concerns the process. It is counted, and the file shows it in a comment after the
//! line.
//!
//! # Locking
//!
//! All changes take place with `event_mutex` held. The lock of [`Patterns`] is for readers of the
//! file; it is not held while a line is applied, which takes other locks of tracing. The lines of
//! an instance are removed with it, with `trace_types_lock` held as well.
//!
//! # Memory
//!
//! The process that creates an event is charged for the histograms that lines add to it. It may be
//! slowed down, or wait for memory, as its memory cgroup says. No other task waits for that: with
//! `event_mutex` held charges do not wait ([`kernel::trace::builtin::charge`]). A line that is
//! refused memory is applied again after the process has waited ([`Late`]).

mod kept;
mod line;

pub(crate) use self::{
    kept::{
        listeners_of_lines,
        revert_all, //
    },
    line::{
        Pattern,
        Request, //
    },
};

use super::defs::NAME_MAX;
use core::marker::PhantomData;
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
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
            charge::{
                Charge,
                Unaccounted, //
            },
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
            Execution,
            TriggersMut, //
        },
    },
};

/// Maximum number of lines in one instance. Each costs the creation of an event.
const LINES_MAX: usize = 256;

/// Number of attempts to apply a line for which a process has waited for memory.
const LATE_TRIES: u32 = 3;

/// Number of lines in all instances. Written with `event_mutex` held.
static COUNT: Atomic<usize> = Atomic::new(0);

/// The lines, present from [`init()`] on.
static PATTERNS: SetOnce<Arc<Patterns>> = SetOnce::new();

/// An event that a line can be about.
pub(crate) trait Subject: Operations {
    /// The classes of all of them.
    fn classes() -> [&'static Class<Self>; 2];

    /// The trace event.
    fn event(&self) -> &Event<Self>;

    /// The name that it was registered by, which the name of the trace event begins with.
    fn registered_name(&self) -> &BStr;
}

/// The lines of all instances.
#[pin_data]
struct Patterns {
    #[pin]
    lines: Mutex<KVec<Entry>>,
}

/// A line in an instance.
#[derive(Clone)]
struct Entry {
    instance: InstanceId,
    line: Arc<Line>,
}

/// A line.
#[pin_data]
struct Line {
    pattern: Pattern,
    /// Events that it could not be applied to, with the reason.
    #[pin]
    failed: Mutex<Tally<Error>>,
    /// Events that were removed though it keeps them.
    #[pin]
    removed: Mutex<Tally<()>>,
}

/// Events that something has happened to.
struct Tally<T> {
    count: u64,
    /// The last one: its name, empty if there was no memory for it.
    last: Option<(KVec<u8>, T)>,
}

impl<T: Unpin> Tally<T> {
    const fn new() -> Self {
        Self {
            count: 0,
            last: None,
        }
    }

    /// Adds an event.
    fn add(this: &Mutex<Self>, name: &CStr, what: T) {
        let mut copy = KVec::new();
        // Without memory it is shown without the name.
        let _ = copy.extend_from_slice(name.to_bytes(), GFP_KERNEL);
        let mut tally = this.lock();

        tally.count = tally.count.saturating_add(1);
        let before = tally.last.replace((copy, what));
        drop(tally);
        drop(before);
    }
}

/// Prepares for the first line. Called once, while the kernel boots.
pub(crate) fn init() -> Result {
    let patterns = Arc::pin_init(
        pin_init!(Patterns {
            lines <- new_mutex!(KVec::new(), "user_events::patterns"),
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

            lines
                .iter()
                .any(|entry| entry.line.pattern.matches(system, name))
        })
    };

    exist() && get().is_ok_and(matches)
}

/// Lines that were not applied to an event, as its process would have had to wait for memory.
#[must_use]
pub(crate) struct Late {
    lines: KVec<Arc<Line>>,
    /// Size of the largest refused charge.
    missing: usize,
}

impl Late {
    /// No lines.
    pub(crate) const fn new() -> Self {
        Self {
            lines: KVec::new(),
            missing: 0,
        }
    }

    /// Adds a line.
    fn push(&mut self, line: Arc<Line>, file: EventFile<Locked<'_>>, missing: usize) {
        if self.lines.push(line.clone(), GFP_KERNEL).is_err() {
            line.fail(file.name(), ENOMEM);
        }
        self.missing = self.missing.max(missing);
    }

    /// Waits for memory, and applies the lines.
    ///
    /// Takes `event_mutex`, but not while it waits.
    #[cold]
    fn finish<T: Subject>(mut self, subject: &T) {
        for _ in 0..LATE_TRIES {
            if self.lines.is_empty() {
                return;
            }
            // This only makes room: the histograms are charged when they are created.
            let room = Charge::new(self.missing).map(drop);

            if room.is_err() {
                break;
            }
            self = apply_all(subject, Some(&self.lines), &mut event_mutex::lock());
        }
        self.give_up(subject);
    }

    /// Counts the lines as failed.
    pub(crate) fn give_up<T: Subject>(self, subject: &T) {
        for line in self.lines {
            line.fail(subject.event().name(), ENOMEM);
        }
    }
}

/// Applies the lines of all instances to an event that was just registered with tracing. Those that
/// are returned have to be [finished](finish) without `event_mutex`.
///
/// Without a line this is one load. The time is bounded by the number of instances and of lines.
#[inline]
pub(crate) fn apply<T: Subject>(subject: &T, guard: &mut event_mutex::Guard) -> Late {
    if exist() {
        apply_all(subject, None, guard)
    } else {
        Late::new()
    }
}

/// Applies the lines that are left.
#[inline]
pub(crate) fn finish<T: Subject>(subject: &T, late: Late) {
    if !late.lines.is_empty() {
        late.finish(subject);
    }
}

/// Applies all lines, or only some. Nothing is charged but what the histograms of lines are, and
/// that does not wait.
#[cold]
fn apply_all<T: Subject>(
    subject: &T,
    only: Option<&[Arc<Line>]>,
    guard: &mut event_mutex::Guard,
) -> Late {
    let mut late = Late::new();
    let Ok(patterns) = get() else {
        return late;
    };
    let event = subject.event();
    let unaccounted = Unaccounted::new();
    let is_wanted = |line: &Arc<Line>| {
        only.is_none_or(|only| only.iter().any(|wanted| Arc::ptr_eq(wanted, line)))
    };

    with_name(subject, |name| {
        instance::for_each(guard, |instance, lists| {
            let lines = patterns.of(instance.id(), |pattern| {
                pattern.matches(event.system(), name)
            });
            // The file is only looked for if there is a line.
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

                match unaccounted.take_missing(lists.held()) {
                    0 => line.fail(file.name(), e),
                    missing => late.push(line, file, missing),
                }
            }
        });
    });
    late
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
        while patterns
            .remove(|entry| entry.instance == instance)
            .is_some()
        {}
    }
}

impl Patterns {
    /// Returns the lines of an instance for which `pred` is true. `event_mutex` must be held.
    fn of<'a>(
        &'a self,
        instance: InstanceId,
        pred: impl Fn(&Pattern) -> bool + 'a,
    ) -> impl Iterator<Item = Arc<Line>> + 'a {
        let mut next = 0;

        core::iter::from_fn(move || {
            let lines = self.lines.lock();

            loop {
                let entry = lines.get(next)?;

                next += 1;
                if entry.instance == instance && pred(&entry.line.pattern) {
                    return Some(entry.line.clone());
                }
            }
        })
    }

    /// Adds a line, or returns the one of the same text. `event_mutex` must be held.
    fn add(&self, instance: InstanceId, line: Arc<Line>) -> Result<Arc<Line>> {
        let mut lines = self.lines.lock();
        let mut count = 0usize;

        for entry in lines.iter().filter(|entry| entry.instance == instance) {
            if entry.line.pattern.is_same(&line.pattern) {
                return Ok(entry.line.clone());
            }
            count += 1;
        }
        if count >= LINES_MAX {
            return Err(ENOSPC);
        }

        lines.push(
            Entry {
                instance,
                line: line.clone(),
            },
            GFP_KERNEL,
        )?;
        COUNT.store(lines.len(), Relaxed);
        Ok(line)
    }

    /// Removes the first line for which `pred` is true. `event_mutex` must be held.
    fn remove(&self, pred: impl FnMut(&Entry) -> bool) -> Option<Arc<Line>> {
        let mut lines = self.lines.lock();
        let at = lines.iter().position(pred)?;
        let entry = lines.remove(at).ok()?;

        COUNT.store(lines.len(), Relaxed);
        Some(entry.line)
    }
}

impl Line {
    fn new(pattern: Pattern) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                pattern,
                failed <- new_mutex!(Tally::new(), "user_events::failed"),
                removed <- new_mutex!(Tally::new(), "user_events::removed"),
            }),
            GFP_KERNEL,
        )
    }

    /// Enables an event or adds the trigger to it. One that has the trigger is left as it is.
    fn apply<'h>(&self, file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        if let Err(e) = self.try_apply(file, lists) {
            self.fail(file.name(), e);
        }
    }

    /// As `apply`, but a failure is not counted.
    ///
    /// Only the first failure has a message in `error_log`, which does not have room for many.
    fn try_apply<'h>(&self, file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) -> Result {
        let how = Execution {
            remove: false,
            quiet: self.failed.lock().count != 0,
        };

        match self.pattern.trigger() {
            Some(trigger) => match file.execute(trigger, how, lists) {
                Err(e) if e == EEXIST => Ok(()),
                result => result,
            },
            None => file.set_enabled(true),
        }
    }

    /// Counts an event that it could not be applied to.
    fn fail(&self, name: &CStr, e: Error) {
        Tally::add(&self.failed, name, e);
    }

    /// Reverts `apply`.
    fn revert<'h>(
        &self,
        file: EventFile<Locked<'h>>,
        quiet: bool,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        let how = Execution {
            remove: true,
            // One that has failed for an event may fail for it again.
            quiet: quiet || self.failed.lock().count != 0,
        };
        let result = match self.pattern.trigger() {
            Some(trigger) => file.execute(trigger, how, lists),
            None => file.set_enabled(false),
        };

        match result {
            // It was removed by hand, or was never added, as the line does not suit the event.
            Err(e) if e != EBUSY && e != ENOMEM => Ok(()),
            result => result,
        }
    }

    fn show(&self, m: &SeqFile) {
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

/// The file `set_user_event`.
pub(crate) struct SetUserEvent<T>(PhantomData<T>);

impl<T: Subject> InstanceFile for SetUserEvent<T> {
    fn show(instance: &InstanceRef, m: &SeqFile) -> Result {
        let lines = get()?.lines.lock();

        for entry in lines.iter().filter(|entry| entry.instance == instance.id()) {
            entry.line.show(m);
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

        // Not all at once: there may be many lines and many events.
        loop {
            let mut guard = event_mutex::lock();
            let Some(line) = patterns.remove(|entry| entry.instance == instance.id()) else {
                break;
            };

            // The others are reverted all the same.
            let _ = revert::<T>(patterns, instance, &line, &mut guard);
        }
    }
}

/// Adds a line, and applies it to the events that exist.
fn add<T: Subject>(instance: &InstanceRef, pattern: Pattern) -> Result {
    if pattern.trigger().is_some_and(|line| !is_command(line)) {
        return Err(EINVAL);
    }
    let line = Line::new(pattern)?;
    let mut guard = event_mutex::lock();
    let line = get()?.add(instance.id(), line)?;

    for_each_match::<T>(instance, &line.pattern, &mut guard, |_, file, lists| {
        line.apply(file, lists);
    });
    Ok(())
}

/// Removes a line, and reverts it for the events that exist.
fn remove<T: Subject>(instance: &InstanceRef, pattern: &Pattern) -> Result {
    let patterns = get()?;
    let mut guard = event_mutex::lock();
    let line = patterns
        .remove(|entry| entry.instance == instance.id() && entry.line.pattern.is_same(pattern))
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
                result = reverted;
            }
        }
    });
    result
}

/// Calls `f` with each event that matches: with the name that it was registered by, its file and
/// the triggers.
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
