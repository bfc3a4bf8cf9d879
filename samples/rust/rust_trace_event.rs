// SPDX-License-Identifier: GPL-2.0

//! Rust trace event sample.
//!
//! Declares the events of `samples/trace_events`, and has them happen each time somebody writes to
//! a file of debugfs.
//!
//! ```sh
//! modprobe rust_trace_event
//! cd /sys/kernel/tracing
//! cat events/rust_sample/foo_bar/format
//! echo 1 > events/rust_sample/enable
//! echo hello > /sys/kernel/debug/rust_trace_event/say
//! cat trace
//!
//! # The second of two events with the same fields, only if there is more than one word.
//! echo 'words > 2' > events/rust_sample/foo_with_condition/filter
//! echo 'hist:keys=words:vals=len' > events/rust_sample/foo_simple/trigger
//! echo 'three words here' > /sys/kernel/debug/rust_trace_event/say
//! cat trace events/rust_sample/foo_simple/hist
//!
//! perf record -e rust_sample:foo_bar -a -- sleep 5 &
//! sleep 2; echo perf > /sys/kernel/debug/rust_trace_event/say; wait
//! perf script
//! ```
//!
//! The same in C: `samples/trace_events/trace-events-sample.h`.

use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    page::PAGE_SIZE,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    trace::{
        trace,
        trace_event, //
    },
    uaccess::UserSliceReader, //
};

module! {
    type: Sample,
    name: "rust_trace_event",
    authors: ["Rust for Linux Contributors"],
    description: "Trace events declared in Rust",
    license: "GPL",
}

/// What was said, by its number of words.
const SILENCE: u32 = 0;
const WORD: u32 = 1;

trace_event! {
    system: "rust_sample";

    /// Something was said.
    event foo_bar(text: &[u8], count: u32, lens: &[u16]) {
        attach: said_to_somebody;
        detach: said_to_nobody;
        fields {
            foo: [char; 10] = text,
            bar: u32 = count,
            list: [u16] = lens,
            str: str = text,
            message: text = fmt!("said {count} times"),
        }
        print(
            "foo %s %u %s %s %s (%s) %s",
            foo,
            bar,
            symbolic(bar, [(1, "ONE"), (2, "TWO"), (10, "TEN")]),
            flags(bar, "|", [(1, "BIT1"), (2, "BIT2"), (4, "BIT3"), (8, "BIT4")]),
            array(list),
            str,
            message,
        )
    }

    /// The same as in C: what is said each tenth time.
    event foo_bar_with_cond(text: &[u8], bar: i32) {
        if bar % 10 == 0;
        fields {
            foo: str = text,
            bar: i32 as "int" = bar,
        }
        print("foo %s %d", foo, bar)
    }

    class foo_template(words: u32, len: usize) {
        fields {
            words: u32 = words,
            len: usize = len,
        }
        print(
            "words=%u (%s) len=%lu",
            words,
            if words > 1 { "a sentence" } else { "a word" },
            len,
        )
    }

    event foo_simple: foo_template;

    /// Only if there is more than a word.
    event foo_with_condition: foo_template {
        if words > WORD;
    }

    /// With text of its own.
    event foo_with_print: foo_template {
        print("%s of %lu letters", symbolic(words, [(SILENCE, "nothing"), (WORD, "word")]), len)
    }
}

fn said_to_somebody() -> Result {
    pr_info!("somebody listens\n");
    Ok(())
}

fn said_to_nobody() {
    pr_info!("nobody listens\n");
}

fn say(count: &Atomic<u32>, reader: &mut UserSliceReader) -> Result {
    let mut text = KVec::from_elem(0, reader.len().min(PAGE_SIZE), GFP_KERNEL)?;
    reader.read_slice(&mut text)?;

    let text = text.trim_ascii();
    let words = || {
        text.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
    };
    let mut lens = KVec::new();
    for word in words() {
        lens.push(word.len() as u16, GFP_KERNEL)?;
    }
    let count = count.fetch_add(1, Relaxed) + 1;

    trace_foo_bar(text, count, &lens);
    trace_foo_bar_with_cond(text, count as i32);
    trace_foo_simple(lens.len() as u32, text.len());
    // What this counts is not even looked at if nobody listens.
    trace!(foo_with_condition(words().count() as u32, text.len()));
    if trace_foo_with_print_enabled() {
        let longest = words().map(<[u8]>::len).max().unwrap_or(0);
        trace_foo_with_print(lens.len() as u32, longest);
    }
    Ok(())
}

#[pin_data]
struct Sample {
    #[pin]
    say: File<Atomic<u32>>,
    _dir: Dir,
}

impl kernel::InPlaceModule for Sample {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let dir = Dir::new(c"rust_trace_event");

        try_pin_init!(Self {
            say <- dir.write_callback_file(c"say", Atomic::new(0), &say),
            _dir: dir.clone(),
        })
    }
}
