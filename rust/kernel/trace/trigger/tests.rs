// SPDX-License-Identifier: GPL-2.0

//! Tests of commands that come and go, and of their triggers.

use super::{
    Command,
    Hit,
    Kind,
    Line,
    Lists,
    NewTrigger,
    Registration,
    Trigger, //
};
use crate::{
    bindings,
    error::to_result,
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
            EventFile,
            EventFileRef, //
        },
        event_mutex::{
            self,
            Held, //
        },
        synth::{
            Event,
            Type, //
        },
    },
    LocalModule, //
};

struct Word;

static WORD: Registration<Word> = Registration::new(c"rust_test_word", Kind::Record);
static CLASH: Registration<Word> = Registration::new(c"traceon", Kind::Record);

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

    fn registration() -> &'static Registration<Self> {
        &WORD
    }

    fn parse<'h>(file: EventFile<'h>, line: Line<'_>, lists: &mut Lists<'h>) -> Result {
        if line.remove() {
            file.detach::<Self>(lists, |_| true, |_| ());
            return Ok(());
        }
        if line.params().is_some() {
            return Err(E2BIG);
        }
        Ok(NewTrigger::<Self>::new(file, Dropped)?.attach(lists)?)
    }

    fn remove_all<'h>(file: EventFile<'h>, lists: &mut Lists<'h>) {
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

/// Has a line obeyed, as if it was written to the `trigger` file.
fn obey(file: &EventFileRef, line: &CStr) -> Result {
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
        let event = Event::create(c"rust_test_trigger", &fields, this_module::<LocalModule>())?;
        let tracer = event.tracer(None)?;
        let file = tracer.file();

        assert_eq!(obey(file, c"rust_test_word"), Err(EINVAL));
        let command = WORD.register()?;
        assert_eq!(WORD.register().err(), Some(EBUSY));
        assert_eq!(CLASH.register().err(), Some(EBUSY));

        // What the command says is told as it is.
        assert_eq!(obey(file, c"rust_test_word more"), Err(E2BIG));
        obey(file, c"rust_test_word")?;
        let before = HITS.load(Relaxed);
        tracer.emit(&[1u32.into()])?;
        assert_eq!(HITS.load(Relaxed), before + 1);

        // The command goes, and the trigger stays.
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
}
