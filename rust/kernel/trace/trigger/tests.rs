// SPDX-License-Identifier: GPL-2.0

//! Tests of commands that are registered and unregistered, and of their triggers.

use super::{
    Command,
    CommandKind,
    CommandLine,
    CommandOps,
    Execution,
    Filter,
    Hit,
    NewTrigger,
    Trigger,
    TriggersMut, //
};
use crate::{
    bindings,
    error::to_result,
    memcg::is_unaccounted,
    module::this_module,
    prelude::*,
    seq_file::SeqFile,
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
            tests::set_filter,
            EventFile,
            Locked,
            Owned, //
        },
        event_mutex::{
            self,
            Held, //
        },
        removal::UnregisterScope,
        synth::{
            EventRef,
            SynthEvent,
            Tracer,
            Type,
            Value, //
        }, //
    },
    LocalModule, //
};

struct Word;

static WORD: CommandOps<Word> = CommandOps::new(c"rust_test_word", CommandKind::Record);
static CLASH: CommandOps<Word> = CommandOps::new(c"traceon", CommandKind::Record);

static HITS: Atomic<u64> = Atomic::new(0);
static DROPPED: Atomic<u64> = Atomic::new(0);

struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        DROPPED.add(1, Relaxed);
    }
}

#[vtable]
impl Command for Word {
    type Data = Dropped;

    fn ops() -> &'static CommandOps<Self> {
        &WORD
    }

    fn parse<'h>(
        file: EventFile<Locked<'h>>,
        line: CommandLine<'_>,
        lists: &mut TriggersMut<'h>,
    ) -> Result {
        if line.remove() {
            file.detach::<Self>(lists, |_| true, |_| ());
            return Ok(());
        }
        let how = Execution {
            remove: false,
            quiet: false,
        };
        match line.params() {
            Some(params) if params == c"more" => return Err(E2BIG),
            // A line in a line.
            Some(params) => return file.execute(params, how, lists),
            None => {}
        }
        // A holder of `event_mutex` does not wait for its memory cgroup.
        if cfg!(CONFIG_MEMCG) && !is_unaccounted() {
            return Err(EDEADLK);
        }
        Ok(NewTrigger::<Self>::new(file, Dropped)?.attach(lists)?)
    }

    fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
        while file.detach::<Self>(lists, |_| true, |_| ()) {}
    }

    fn hit(_data: &Dropped, hit: &Hit<'_>) {
        if !hit.record().is_empty() {
            HITS.add(1, Relaxed);
        }
    }

    fn show(_trigger: &Trigger<Self>, _m: &SeqFile, _held: Held<'_>) {}

    fn detached(_data: &Dropped, _held: Held<'_>) {}
}

/// The counters of triggers of the commands below.
struct Counts {
    hits: Atomic<u32>,
    records: Atomic<u32>,
}

/// Defines a command whose triggers count their hits, with a number or a filter after the name, and
/// that calls a function with each hit.
macro_rules! counting {
    ($command:ident, $ops:ident: $name:literal, $kind:ident, $hit:expr) => {
        struct $command;

        static $ops: CommandOps<$command> = CommandOps::new($name, CommandKind::$kind);

        #[vtable]
        impl Command for $command {
            type Data = Counts;

            fn ops() -> &'static CommandOps<Self> {
                &$ops
            }

            fn parse<'h>(
                file: EventFile<Locked<'h>>,
                line: CommandLine<'_>,
                lists: &mut TriggersMut<'h>,
            ) -> Result {
                if line.remove() {
                    file.detach::<Self>(lists, |_| true, |_| ());
                    return Ok(());
                }
                let counts = Counts {
                    hits: Atomic::new(0),
                    records: Atomic::new(0),
                };
                let mut new = NewTrigger::<Self>::new(file, counts)?;

                if let Some(params) = line.params() {
                    match params.to_str()?.parse() {
                        Ok(n) => new.set_count(n),
                        Err(_) => new.set_filter(Filter::new(file, params)?)?,
                    }
                }
                Ok(new.attach(lists)?)
            }

            fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
                while file.detach::<Self>(lists, |_| true, |_| ()) {}
            }

            fn hit(counts: &Counts, hit: &Hit<'_>) {
                // The time is set in any case.
                counts.hits.add((hit.timestamp() != 0).into(), Relaxed);
                if !hit.record().is_empty() {
                    counts.records.add(1, Relaxed);
                }
                $hit(hit);
            }

            fn show(_trigger: &Trigger<Self>, _m: &SeqFile, _held: Held<'_>) {}

            fn detached(_counts: &Counts, _held: Held<'_>) {}
        }
    };
}

counting!(Always, ALWAYS: c"rust_test_always", Always, ignore);
counting!(Post, POST: c"rust_test_post", Post, ignore);
counting!(Again, AGAIN: c"rust_test_again", Record, again);
counting!(Hist, HIST: c"rust_test_hist", Hist, again);
#[cfg(CONFIG_PREEMPTION)]
counting!(Fixed, FIXED: c"rust_test_fixed", Always, fixed);
#[cfg(CONFIG_TREE_SRCU)]
counting!(Inside, INSIDE: c"rust_test_inside", Record, inside);

fn ignore(_hit: &Hit<'_>) {}

/// The preemption count at a hit.
#[cfg(CONFIG_PREEMPTION)]
static PREEMPT_COUNT: Atomic<i32> = Atomic::new(-1);

#[cfg(CONFIG_PREEMPTION)]
fn fixed(_hit: &Hit<'_>) {
    // SAFETY: The function has no safety requirements.
    PREEMPT_COUNT.store(unsafe { bindings::tracepoint_preempt_count() }, Relaxed);
}

/// The function by which [`again`] generates the event that it is called for.
#[derive(Clone, Copy)]
enum How<'a> {
    Trace(&'a Tracer),
    Emit(&'a Tracer),
    InOrder(&'a Tracer),
    Synth(&'a EventRef),
}

/// Points to a [`How`] as long as the test runs that uses it.
static HOW: Atomic<*mut c_void> = Atomic::new(core::ptr::null_mut());
static REFUSED: Atomic<u32> = Atomic::new(0);

/// Generates the event that it is called for.
fn again(hit: &Hit<'_>) {
    // SAFETY: The triggers that call this are hit by the tests below only, which set it.
    let done = match unsafe { *HOW.load(Relaxed).cast::<How<'_>>() } {
        How::Trace(tracer) => tracer.trace(&[1u32.into()]),
        How::Emit(tracer) => tracer.emit(&[1u32.into()]),
        How::InOrder(tracer) => tracer.in_order().map(drop),
        How::Synth(event) => {
            event.trace(hit, &mut [0], |_| Value::Number(1));
            Ok(())
        }
    };

    if done == Err(EBUSY) {
        REFUSED.add(1, Relaxed);
    }
}

/// The number of sections protecting probes that this CPU was in, at a hit and at the one that it
/// caused.
#[cfg(CONFIG_TREE_SRCU)]
static SECTIONS: [Atomic<usize>; 2] = [Atomic::new(usize::MAX), Atomic::new(usize::MAX)];

/// Generates the event that it is called for, once.
#[cfg(CONFIG_TREE_SRCU)]
fn inside(hit: &Hit<'_>) {
    // SAFETY: Preemption is disabled in a hit.
    let (entered, left) = unsafe {
        (
            bindings::tracepoint_reads(false),
            bindings::tracepoint_reads(true),
        )
    };
    let sections = entered.wrapping_sub(left);

    if SECTIONS[0].load(Relaxed) == usize::MAX {
        SECTIONS[0].store(sections, Relaxed);
        again(hit);
    } else {
        SECTIONS[1].store(sections, Relaxed);
    }
}

/// Returns the number of hits of the only trigger of a command, the number of hits with a record,
/// and the remaining hits.
fn counts<T: Command<Data = Counts>>(file: &EventFile<Owned>) -> Result<(u32, u32, Option<usize>)> {
    let guard = event_mutex::lock();
    // SAFETY: No other one exists.
    let lists = unsafe { TriggersMut::new(guard.held()) };
    let trigger = file
        .file(guard.held())
        .triggers::<T>(&lists)
        .next()
        .ok_or(ENOENT)?;
    let Counts { hits, records } = trigger.data();

    Ok((hits.load(Relaxed), records.load(Relaxed), trigger.count()))
}

/// Finds a synthetic event by its name.
fn find(event: &CStr) -> Result<EventRef> {
    EventRef::find(event, event_mutex::lock().held()).ok_or(ENOENT)
}

/// Executes a line, as if it was written to the `trigger` file.
fn obey(file: &EventFile<Owned>, line: &CStr) -> Result {
    let mut text = KVec::new();
    text.extend_from_slice(line.to_bytes_with_nul(), GFP_KERNEL)?;
    let _guard = event_mutex::lock();

    // SAFETY: The file is kept, `event_mutex` is held, and the line can be written to.
    to_result(unsafe { bindings::trigger_process_regex(file.as_raw(), text.as_mut_ptr().cast()) })
}

#[macros::kunit_tests(rust_kernel_trace_trigger)]
mod commands {
    use super::*;

    #[test]
    fn come_and_go() -> Result {
        let fields = [(Type::U32, c"number")];
        let event =
            SynthEvent::create(c"rust_test_trigger", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();

        assert_eq!(obey(file, c"rust_test_word"), Err(EINVAL));
        let command = WORD.register()?;
        assert_eq!(WORD.register().err(), Some(EBUSY));
        assert_eq!(CLASH.register().err(), Some(EBUSY));

        // The error of the command is returned unchanged.
        assert_eq!(obey(file, c"rust_test_word more"), Err(E2BIG));
        assert_eq!(obey(file, c"rust_test_word rust_test_word"), Err(EDEADLK));
        obey(file, c"rust_test_word")?;
        let before = HITS.load(Relaxed);
        tracer.emit(&[1u32.into()])?;
        assert_eq!(HITS.load(Relaxed), before + 1);

        // The command is unregistered, and the trigger stays.
        drop(command);
        assert_eq!(obey(file, c"!rust_test_word"), Err(EINVAL));
        tracer.emit(&[1u32.into()])?;
        assert_eq!(HITS.load(Relaxed), before + 2);

        // And can be removed when the command is back; its data is dropped once.
        let command = WORD.register()?;
        let dropped = DROPPED.load(Relaxed);
        obey(file, c"!rust_test_word")?;
        tracer.emit(&[1u32.into()])?;
        for _ in 0..1000 {
            if DROPPED.load(Relaxed) != dropped {
                break;
            }
            fsleep(Delta::from_millis(10));
        }
        assert_eq!(DROPPED.load(Relaxed), dropped + 1);
        obey(file, c"!rust_test_word")?;
        drop(command);

        drop(tracer);
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn without_a_record() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_always", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let (always, word) = (ALWAYS.register()?, WORD.register()?);

        // Nothing looks at it, whether the event is on or not.
        obey(file, c"rust_test_always")?;
        tracer.emit(&[1u32.into()])?;
        assert_eq!(counts::<Always>(file)?, (1, 0, None));
        file.set_enabled(true)?;
        tracer.emit(&[1u32.into()])?;
        file.set_enabled(false)?;
        assert_eq!(counts::<Always>(file)?, (2, 0, None));
        // But it has one if another trigger looks at it.
        obey(file, c"rust_test_word")?;
        tracer.emit(&[1u32.into()])?;
        assert_eq!(counts::<Always>(file)?, (3, 1, None));
        obey(file, c"!rust_test_word")?;
        obey(file, c"!rust_test_always")?;

        // Or if it has a filter.
        obey(file, c"rust_test_always if number == 2")?;
        tracer.emit(&[1u32.into()])?;
        tracer.emit(&[2u32.into()])?;
        assert_eq!(counts::<Always>(file)?, (1, 1, None));
        obey(file, c"!rust_test_always")?;

        drop((always, word, tracer));
        event.delete().map_err(|failed| failed.error)
    }

    /// Checks that preemption is disabled in a hit, even if the event happens with preemption
    /// enabled, as those of system calls and uprobes do.
    #[cfg(CONFIG_PREEMPTION)]
    #[test]
    fn preemption_is_disabled() -> Result {
        use crate::trace::tracepoint::CallGuard;
        use core::ptr::null_mut;

        let file = EventFile::get(None, c"sched", c"sched_process_exec")?;
        let command = FIXED.register()?;

        obey(&file, c"rust_test_fixed")?;
        {
            // Otherwise this is what would disable it.
            #[cfg(CONFIG_PREEMPT_RCU)]
            let _rcu = crate::sync::rcu::read_lock();
            let _guard = CallGuard::new();

            // SAFETY: The function has no safety requirements.
            assert_eq!(unsafe { bindings::tracepoint_preempt_count() }, 0);
            // SAFETY: The file is kept, triggers are by the guards, and the record is null.
            unsafe {
                bindings::event_triggers_call(file.as_raw(), null_mut(), null_mut(), null_mut())
            };
        }
        let seen = PREEMPT_COUNT.load(Relaxed);
        obey(&file, c"!rust_test_fixed")?;
        assert!(seen > 0);

        drop(command);
        Ok(())
    }

    #[test]
    fn afterwards() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_post", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let post = POST.register()?;

        obey(file, c"rust_test_post if number == 2")?;
        for number in [1u32, 2, 3, 2] {
            tracer.emit(&[number.into()])?;
        }
        assert_eq!(counts::<Post>(file)?, (2, 0, None));
        // C would have both hit if one of them is to be.
        assert_eq!(obey(file, c"rust_test_post"), Err(EEXIST));
        obey(file, c"!rust_test_post")?;
        obey(file, c"rust_test_post")?;
        tracer.emit(&[1u32.into()])?;
        assert_eq!(counts::<Post>(file)?, (1, 0, None));
        obey(file, c"!rust_test_post")?;

        drop((post, tracer));
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn so_many_times() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_count", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let commands = (ALWAYS.register()?, POST.register()?);

        obey(file, c"rust_test_always:3")?;
        obey(file, c"rust_test_post:0")?;
        for left in [2, 1, 0, 0] {
            tracer.emit(&[1u32.into()])?;
            assert_eq!(counts::<Always>(file)?.2, Some(left));
        }
        assert_eq!(counts::<Always>(file)?.0, 3);
        assert_eq!(counts::<Post>(file)?, (0, 0, Some(0)));
        obey(file, c"!rust_test_always")?;
        obey(file, c"!rust_test_post")?;

        drop((commands, tracer));
        event.delete().map_err(|failed| failed.error)
    }

    #[test]
    fn not_too_deep() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_deep", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let command = AGAIN.register()?;
        let synth = find(c"rust_test_deep")?;

        file.set_enabled(true)?;
        for (mut how, hits, refused) in [
            (How::Trace(&tracer), 3, 1),
            (How::Emit(&tracer), 3, 1),
            (How::InOrder(&tracer), 3, 1),
            // There the hits are what is limited, and one that is left out is not told.
            (How::Synth(&synth), 4, 0),
        ] {
            HOW.store((&raw mut how).cast(), Relaxed);
            REFUSED.store(0, Relaxed);
            obey(file, c"rust_test_again")?;
            tracer.emit(&[1u32.into()])?;
            let counts = counts::<Again>(file);
            obey(file, c"!rust_test_again")?;
            assert_eq!(counts?, (hits, hits, None));
            assert_eq!(REFUSED.load(Relaxed), refused);
        }
        file.set_enabled(false)?;

        synth.release(event_mutex::lock().held());
        drop((command, tracer));
        event.delete().map_err(|failed| failed.error)
    }

    /// Checks that triggers cannot be attached to events of tracers, which nothing enables: C
    /// would call functions that they do not have.
    #[test]
    fn not_of_every_event() -> Result {
        let command = WORD.register()?;
        let file = EventFile::get(None, c"sched", c"sched_switch")?;
        {
            let guard = event_mutex::lock();
            // SAFETY: No other one exists.
            let mut lists = unsafe { TriggersMut::new(guard.held()) };
            // As C calls `parse`.
            let _permission = UnregisterScope::none(guard.held());
            let file = file
                .file(guard.held())
                .instance()
                .find_file(c"ftrace", c"bprint")
                .ok_or(ENOENT)?;
            let refused = NewTrigger::<Word>::new(file, Dropped)?.attach(&mut lists);

            assert_eq!(refused.err().map(|refused| refused.error), Some(EINVAL));
            assert!(file.triggers::<Word>(&lists).next().is_none());
        }
        drop((file, command));
        Ok(())
    }

    /// Checks that nesting stops before the ring buffer warns: it has time stamps for all nested
    /// records, whatever writes them, and refuses deeper nesting.
    #[test]
    fn not_deeper_than_the_ring_buffer() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_levels", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let commands = (AGAIN.register()?, HIST.register()?);
        let synth = find(c"rust_test_levels")?;
        let mut how = How::Synth(&synth);

        HOW.store((&raw mut how).cast(), Relaxed);
        file.set_enabled(true)?;
        // With a filter, the first record is in a separate buffer: it nests without being in the
        // buffer.
        for filter in [c"0", c"number < 9"] {
            set_filter(file, filter)?;
            obey(file, c"rust_test_again")?;
            {
                let one = tracer.in_order()?;
                let two = tracer.in_order()?;

                // The third generates three more, of which the last one shares the level of the one
                // before, and a fourth one, which is refused there. Each is hit four times.
                drop(tracer.in_order()?);
                drop(two);
                drop(one);
            }
            let again = counts::<Again>(file);
            obey(file, c"!rust_test_again")?;
            assert_eq!(again?, (12, 12, None));
        }
        set_filter(file, c"0")?;

        // A command that is not that of the kernel's histograms is counted.
        obey(file, c"rust_test_hist")?;
        tracer.emit(&[1u32.into()])?;
        let hist = counts::<Hist>(file);
        obey(file, c"!rust_test_hist")?;
        file.set_enabled(false)?;
        assert_eq!(hist?, (4, 4, None));

        synth.release(event_mutex::lock().held());
        drop((commands, tracer));
        event.delete().map_err(|failed| failed.error)
    }

    /// Checks that the probes are kept during a hit, for which the section that keeps its trigger
    /// would do only with the SRCU of today.
    #[cfg(CONFIG_TREE_SRCU)]
    #[test]
    fn probes_are_kept() -> Result {
        let fields = [(Type::U32, c"number")];
        let event = SynthEvent::create(c"rust_test_inside", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();
        let command = INSIDE.register()?;
        let synth = find(c"rust_test_inside")?;
        let mut how = How::Synth(&synth);

        HOW.store((&raw mut how).cast(), Relaxed);
        for sections in &SECTIONS {
            sections.store(usize::MAX, Relaxed);
        }
        file.set_enabled(true)?;
        obey(file, c"rust_test_inside")?;
        tracer.emit(&[1u32.into()])?;
        let counts = counts::<Inside>(file);
        obey(file, c"!rust_test_inside")?;
        file.set_enabled(false)?;
        assert_eq!(counts?, (2, 2, None));
        let [outer, inner] = SECTIONS.each_ref().map(|sections| sections.load(Relaxed));
        assert_eq!(inner.wrapping_sub(outer), 1);

        synth.release(event_mutex::lock().held());
        drop((command, tracer));
        event.delete().map_err(|failed| failed.error)
    }
}
