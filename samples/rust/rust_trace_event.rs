// SPDX-License-Identifier: GPL-2.0

//! Rust trace event sample.
//!
//! Declares the events of `samples/trace_events/trace-events-sample.h`, except that of a timer.
//! Fields and print formats are the same, except that `foo_bar` of C prints its list and its CPUs
//! once more. A write to a file of debugfs generates them, with the text and the number of previous
//! writes.
//!
//! ```sh
//! modprobe rust_trace_event
//! cd /sys/kernel/tracing
//! say=/sys/kernel/debug/rust_trace_event/say
//! cat events/rust_sample/foo_bar/format   # fields of all kinds
//! echo 1 > events/rust_sample/enable
//! dmesg | tail -n 2                       # "somebody listens", to each of two events
//! echo hello > $say
//! cat trace                               # "foo hello 0" and more, of eight events
//!
//! # Of one event what is over 2, and of another one how often each text was said.
//! echo 'bar > 2' > events/rust_sample/foo_with_template_print/filter
//! echo 'hist:keys=foo:vals=bar' > events/rust_sample/foo_with_template_simple/trigger
//! for i in 1 2 3 4; do echo 'three words here' > $say; done
//! grep template_print trace               # "bar hello 0", "bar here 3" and "bar here 4"
//! cat events/rust_sample/foo_with_template_simple/hist    # 4 hits, with 10 in all
//!
//! perf record -o /tmp/rust_sample.data -e rust_sample:foo_bar -- sh -c "echo perf > $say"
//! perf script -i /tmp/rust_sample.data    # "foo perf 5" and more
//!
//! # Triggers have to go before their module does.
//! echo '!hist:keys=foo:vals=bar' > events/rust_sample/foo_with_template_simple/trigger
//! rmmod rust_trace_event
//! ```

use kernel::{
    cpu::CpuId,
    cpumask::{
        Cpumask,
        CpumaskVar, //
    },
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

/// Tools read the values, so no `TRACE_DEFINE_ENUM()` is needed.
const FOO: i32 = 2;
const BAR: i32 = 4;
const ZOO: i32 = 8;

trace_event! {
    system: "rust_sample";

    /// With fields of all kinds.
    event foo_bar(text: &[u8], bar: i32, list: &[i32], bits: &[usize], mask: &Cpumask) {
        fields {
            foo: [char; 10] = text,
            bar: i32 as "int" = bar,
            list: [i32] as "int" = list,
            str: str = text,
            cpus: bitmask = bits,
            cpum: cpumask = mask,
            vstr: text = fmt!("iter={bar}"),
            lstr: str = text.get(..bar as usize / 2).unwrap_or(text),
        }
        print(
            "foo %s %d %s %s %s %s %s (%s) (%s) %s [%d]", foo, bar,
            symbolic(bar, [(0, "zero"), (FOO, "TWO"), (BAR, "FOUR"), (ZOO, "EIGHT"), (10, "TEN")]),
            flags(bar, "|", [(1, "BIT1"), (2, "BIT2"), (4, "BIT3"), (8, "BIT4")]),
            array(list), str, lstr, cpus, cpum, vstr, size(cpus),
        )
    }

    /// Only each tenth time.
    event foo_bar_with_cond(text: &[u8], bar: i32) {
        if bar % 10 == 0;
        fields { foo: str = text, bar: i32 as "int" = bar }
        print("foo %s %d", foo, bar)
    }

    /// An event with functions that are called before the first listener is attached, and after the
    /// last one is detached.
    event foo_bar_with_fn(text: &[u8], bar: i32) {
        attach: foo_bar_reg;
        detach: foo_bar_unreg;
        fields { foo: str = text, bar: i32 as "int" = bar }
        print("foo %s %d", foo, bar)
    }

    // The fields and the format of several events.
    class foo_template(text: &[u8], bar: i32) {
        fields { foo: str = text, bar: i32 as "int" = bar }
        print("foo %s %d", foo, bar)
    }

    event foo_with_template_simple: foo_template;

    event foo_with_template_cond: foo_template { if bar % 8 == 0; }

    event foo_with_template_fn: foo_template { attach: foo_bar_reg; detach: foo_bar_unreg; }

    event foo_with_template_print: foo_template { print("bar %s %d", foo, bar) }

    /// An event whose text and masks are located by relative offsets.
    event foo_rel_loc(text: &[u8], bar: i32, mask: &[usize], cpus: &Cpumask) {
        fields {
            foo: rel str = text,
            bar: i32 as "int" = bar,
            bitmask: rel bitmask = mask,
            cpumask: rel cpumask = cpus,
        }
        print("foo_rel_loc %s, %d, %s, %s", foo, bar, bitmask, cpumask)
    }
}

fn foo_bar_reg() -> Result {
    pr_info!("somebody listens\n");
    Ok(())
}

fn foo_bar_unreg() {
    pr_info!("nobody listens\n");
}

fn say(count: &Atomic<i32>, reader: &mut UserSliceReader) -> Result {
    let mut text = KVec::from_elem(0, reader.len().min(PAGE_SIZE), GFP_KERNEL)?;
    reader.read_slice(&mut text)?;
    let text = text.trim_ascii();
    let bar = count.fetch_add(1, Relaxed);

    // Nothing needs to be prepared without a listener.
    if trace_foo_bar_enabled() || trace_foo_rel_loc_enabled() {
        let (mut lens, mut mask) = (KVec::new(), CpumaskVar::new_zero(GFP_KERNEL)?);
        for word in text.split(u8::is_ascii_whitespace) {
            lens.push(word.len() as i32, GFP_KERNEL)?;
        }
        let mut bits: usize = 0;
        for cpu in (0..usize::BITS).map_while(CpuId::from_u32) {
            mask.set(cpu);
            bits |= 1 << cpu.as_u32();
        }
        trace_foo_bar(text, bar, &lens, &[bits], &mask);
        trace_foo_rel_loc(text, bar, &[0xdead_beef], &mask);
    }
    trace_foo_with_template_simple(text, bar);
    trace_foo_bar_with_cond(text, bar);
    trace_foo_with_template_cond(text, bar);
    trace_foo_bar_with_fn(text, bar);
    trace_foo_with_template_fn(text, bar);
    let last_word = || text.rsplit(u8::is_ascii_whitespace).next();
    // It is not evaluated without a listener.
    trace!(foo_with_template_print(last_word().unwrap_or(text), bar));
    Ok(())
}

#[pin_data]
struct Sample {
    #[pin]
    say: File<Atomic<i32>>,
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
