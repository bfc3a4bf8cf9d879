// SPDX-License-Identifier: GPL-2.0

//! The handling of an event that has a histogram.
//!
//! This can be in any context, NMI included, with preemption disabled. Nothing here allocates,
//! sleeps, waits longer than a bound, or can panic: what is out of range reads as nothing.
//!
//! 1. The stack is saved, if it is of use, then the key is computed.
//! 2. The [references](refs) to variables of other histograms are resolved. If one has no value,
//!    the event is ignored.
//! 3. The element of the key is found or claimed, and its sums are added to.
//! 4. The [variables](own_vars) of the histogram are computed, then stored in the element together;
//!    at the same time it is decided which handlers run, and what `save()` keeps is stored.
//! 5. The actions run, on what was computed.
//!
//! A hit that cannot be handled is counted as a drop: if no element is left, if too many hits are
//! nested, or if an element that it has to read or compare is being written to for too long.
//!
//! Most histograms are simple, and take shorter paths: see [`HitPath`].
//!
//! # Inlining
//!
//! In this folder, functions that most hits run are `inline(always)`: a hit is one function then,
//! with the record, the evaluator and the element in registers. Functions that few hits run, or
//! that need an array on the stack, are `inline(never)`: inlined, they would have all hits save
//! registers, or keep in memory what they take the address of. By `scripts/bench --config inlined`,
//! in instructions of a hit:
//!
//! - 555 -> 469 for `hist_update_var_expr`, 413 -> 353 for `hist_update_2key_2val`: values of the
//!   evaluator in registers, extremes apart;
//! - 1,647 -> 1,550 for `hist_onmatch_trace`: histograms with reuse apart from others;
//! - 166 -> 148 for `hist_update_u32`: the count of a known key before all else.
//!
//! Saving a stack is inlined for another reason: see [`HitContext::stack`].

pub(crate) mod blob;
pub(crate) mod eval;
pub(crate) mod key;
mod own_vars;
pub(crate) mod refs;

use kernel::{
    sync::atomic::Relaxed,
    trace::{
        builtin::event_seq::wake_pollers,
        synth::Value,
        trigger::Hit, //
    },
};

use self::{
    blob::{
        comm_words,
        cut_for_event, //
    },
    eval::{
        load,
        Eval,
        HitContext, //
    },
    own_vars::{
        watched,
        Origins, //
    },
    refs::Outcome, //
};
use crate::{
    histogram::{
        Effect,
        Histogram, //
    },
    limits::STACK_DEPTH,
    map::{
        Comm,
        Element,
        Polls, //
    },
    program::{
        bit,
        op::{
            Leaf,
            SavedStack, //
        },
        snapshot_condition::request,
        HitPath,
        Param,
        Program, //
    },
    scratch::{
        Blobs,
        Scratch,
        Small, //
    },
};

/// Called when the event of a histogram has happened.
#[inline(always)]
pub(crate) fn hit(hist: &Histogram, hit: &Hit<'_>) {
    // The most frequent case needs neither memory nor many registers.
    if hist.program.counts_only {
        if let (HitPath::Plain(key), Some(record)) = (hist.program.path, hit.short_record()) {
            if hist.map.count_u64(load(key, record)) {
                return wake_pollers();
            }
        }
    }
    // Taking an address forces a value into memory: a copy, created now, leaves the original in
    // registers.
    let hit = &hit.clone();

    // One test for what is next.
    if let HitPath::Plain(key) = hist.program.path {
        return plain(hist, key, hit);
    }
    match hist.program.path {
        HitPath::Small => small(hist, hit),
        HitPath::PlainReusing(key) => plain_reusing(hist, key, hit),
        HitPath::Reusing => reusing(hist, hit),
        _ => large(hist, hit),
    }
}

/// Counts a hit whose key is one field of the record, and whose other fields are numbers of this
/// hit.
#[inline(always)]
fn plain(hist: &Histogram, key: Leaf, hit: &Hit<'_>) {
    if hist.program.counts_only {
        return plain_count(hist, key, hit);
    }
    let record = hit.record();
    let key = load(key, record);

    if let Some(element) = hist.map.insert_u64(key, |comm| *comm = hit.first_comm()) {
        plain_numbers(hist, hit, record, element);
        wake_pollers();
    }
}

/// Counts a hit as [`plain`] does in a histogram that only counts. Called for the first hit of a
/// key, and for a long record.
#[inline(never)]
fn plain_count(hist: &Histogram, key: Leaf, hit: &Hit<'_>) {
    let key = load(key, hit.record());
    let comm = |comm: &mut Comm| *comm = hit.first_comm();

    if hist.map.hit_u64(key, true, comm).is_some() {
        wake_pollers();
    }
}

/// Adds the values and variables of a hit to a plain histogram that has more than the hit count.
///
/// Nothing else refers to its variables during the hit, so they need not be remembered.
#[inline(always)]
fn plain_numbers(hist: &Histogram, hit: &Hit<'_>, record: &[u8], element: Element<'_>) {
    let program = &hist.program;

    // Apart, as a call that gets the element and the evaluator has them in memory for all.
    if program.extremes {
        return plain_extremes(program, hit, element);
    }
    let eval = Eval::with_record(hit, record, &program.code);

    count(program, element, &eval, &[]);
    if program.stores {
        own_vars::store_plain(program, &eval, element);
    }
}

/// Adds the values and variables of a hit as [`plain_numbers`] does, to a histogram with extremes.
#[inline(never)]
fn plain_extremes(program: &Program, hit: &Hit<'_>, element: Element<'_>) {
    let eval = Eval::new(hit, &program.code);

    count_extremes(program, element, &eval, &[]);
    if program.stores {
        own_vars::store_plain(program, &eval, element);
    }
}

/// Counts a hit as [`plain`] does, in a histogram with one variable that reuses elements.
#[inline(never)]
fn plain_reusing(hist: &Histogram, key: Leaf, hit: &Hit<'_>) {
    let program = &hist.program;
    let [number] = program.kept_numbers.as_slice() else {
        return;
    };
    let record = hit.record();
    let eval = Eval::with_record(hit, record, &program.code);
    let value = eval.value(&number.value, &[]);
    let comm = |comm: &mut Comm| *comm = hit.first_comm();

    let found = hist.map.hit_live(&[load(key, record)], comm, |_, vars| {
        if let Some(vars) = vars {
            vars.put(number.place as usize, value);
            vars.mark(program.kept_vars);
        }
    });

    if found.is_some() {
        wake_pollers();
    }
}

/// Counts a hit in an element, with its values, of which none is an extreme.
#[inline(always)]
fn count<M: HitContext>(
    program: &Program,
    element: Element<'_>,
    eval: &Eval<'_, M>,
    slots: &[u64],
) {
    // Adding to a sum has the compiler read again what it gets by reference.
    let values = program.sums.as_slice();

    if values.is_empty() {
        return element.count();
    }
    // Iterators with closures are functions of their own, and what they need is in memory.
    if let Some((hits, sums)) = element.sums() {
        hits.add(1, Relaxed);
        for (n, value) in values.iter().enumerate() {
            debug_assert!(n < sums.len());
            if let Some(sum) = sums.get(n) {
                sum.add(eval.value(value, slots), Relaxed);
            }
        }
    }
}

/// Counts a hit as [`count`] does, in a histogram with extremes.
#[inline(never)]
fn count_extremes<M: HitContext>(
    program: &Program,
    element: Element<'_>,
    eval: &Eval<'_, M>,
    slots: &[u64],
) {
    let values = program.sums.iter().map(|sum| eval.value(sum, slots));

    element.fold(&program.folds, values);
}

/// Handles a hit for which little scratch memory is enough, which is on the stack.
#[inline(never)]
fn small(hist: &Histogram, hit: &Hit<'_>) {
    let mut memory = Small::new();

    if let Some(mut scratch) = memory.scratch(hist.map.layout().key_words) {
        if record::<false, false, _>(hist, hit, &mut scratch).is_some() {
            wake_pollers();
        }
    }
}

/// Handles a hit as [`small`] does, in a histogram that reuses elements.
#[inline(never)]
fn reusing(hist: &Histogram, hit: &Hit<'_>) {
    let mut memory = Small::new();

    if let Some(mut scratch) = memory.scratch(hist.map.layout().key_words) {
        if record_reusing::<false, _>(hist, hit, &mut scratch).is_some() {
            wake_pollers();
        }
    }
}

/// Handles a hit that needs a buffer of the scratch pool, and saves the stack. As C calls this
/// function directly, the stack has no further function to unwind.
#[inline(always)]
fn large(hist: &Histogram, hit: &Hit<'_>) {
    let Some(mut buffer) = hist.scratch.as_ref().and_then(|scratch| scratch.enter()) else {
        hist.map.count_drop();
        return;
    };

    save_stack(hist, hit, &mut buffer);
    match hist.program.path {
        HitPath::LargeReusing => handle_reusing(hist, hit, &mut buffer),
        HitPath::LargeOpen => handle_open(hist, hit, &mut buffer),
        _ => handle(hist, hit, &mut buffer),
    }
}

/// Saves the stack that led to the event, if the histogram needs it.
#[inline(always)]
pub(crate) fn save_stack<M: HitContext>(hist: &Histogram, context: &M, buffer: &mut [u64]) {
    let mut polls = Polls::new();
    let Some(mut scratch) = Scratch::new(buffer, STACK_DEPTH, &mut polls) else {
        return;
    };
    let (count, words) = match hist.program.stack {
        None => return,
        Some(SavedStack::Key) => (None, scratch.key.first_chunk_mut()),
        Some(SavedStack::Blob(blob)) => match scratch.blobs.get_mut(blob) {
            Some([count, words @ ..]) => (Some(count), Some(words)),
            None => return,
        },
    };

    if let Some(words) = words {
        let n = context.stack(words);

        if let Some(rest) = words.get_mut(n..) {
            rest.fill(0);
        }
        if let Some(count) = count {
            // CAST: It is small.
            *count = n as u64;
        }
    }
}

/// Handles a hit with a buffer of the scratch pool.
#[inline(never)]
fn handle(hist: &Histogram, hit: &Hit<'_>, buffer: &mut [u64]) {
    let (words, mut polls) = (hist.map.layout().key_words, Polls::new());
    let Some(mut scratch) = Scratch::new(buffer, words, &mut polls) else {
        return;
    };

    if let Some((element, run)) = record::<true, false, _>(hist, hit, &mut scratch) {
        if run & hist.program.effects != 0 {
            run_actions(hist, hit, run, &element, &mut scratch.lend());
        }
        wake_pollers();
    }
}

/// Handles a hit as [`handle`] does, for [`HitPath::LargeOpen`], where actions only store
/// something.
#[inline(never)]
fn handle_open(hist: &Histogram, hit: &Hit<'_>, buffer: &mut [u64]) {
    let (words, mut polls) = (hist.map.layout().key_words, Polls::new());
    let Some(mut scratch) = Scratch::new(buffer, words, &mut polls) else {
        return;
    };

    if record::<true, true, _>(hist, hit, &mut scratch).is_some() {
        wake_pollers();
    }
}

/// Handles a hit as [`handle`] does, in a histogram that reuses elements.
#[inline(never)]
fn handle_reusing(hist: &Histogram, hit: &Hit<'_>, buffer: &mut [u64]) {
    let (words, mut polls) = (hist.map.layout().key_words, Polls::new());
    let Some(mut scratch) = Scratch::new(buffer, words, &mut polls) else {
        return;
    };

    if let Some((element, run)) = record_reusing::<true, _>(hist, hit, &mut scratch) {
        if run & hist.program.effects != 0 {
            run_actions(hist, hit, run, &element, &mut scratch.lend());
        }
        wake_pollers();
    }
}

/// Computes the key, and resolves the references. Returns `None` if the hit is not counted.
#[inline(always)]
fn look_up<M: HitContext>(
    hist: &Histogram,
    eval: &Eval<'_, M>,
    scratch: &mut Scratch<'_>,
) -> Option<()> {
    let program = &hist.program;

    key::build(program, eval, scratch.key, &mut scratch.blobs);
    if !program.sources.is_empty() {
        match refs::resolve(program, scratch) {
            Outcome::Resolved => (),
            Outcome::Unresolved => return None,
            Outcome::Busy => {
                hist.map.count_drop();
                return None;
            }
        }
    }
    Some(())
}

/// Counts a hit, and stores its variables. Returns the element and the actions that are to run, or
/// `None` if the hit was not counted.
///
/// `BLOBS` says whether the histogram may keep blobs, `OPEN` whether its path is
/// [`HitPath::LargeOpen`].
#[inline(always)]
pub(crate) fn record<'m, const BLOBS: bool, const OPEN: bool, M: HitContext>(
    hist: &'m Histogram,
    context: &M,
    scratch: &mut Scratch<'_>,
) -> Option<(Element<'m>, u32)> {
    let program = &hist.program;
    let eval = Eval::new(context, &program.code);
    let comm = |comm: &mut Comm| *comm = context.first_comm();
    let element = if OPEN {
        let end = key::build_open(program, &eval, scratch.key, &scratch.blobs.lend());

        hist.map
            .hit_long(scratch.key, end, program.counts_only, comm)?
    } else {
        look_up(hist, &eval, scratch)?;
        match *scratch.key {
            [key] => hist.map.hit_u64(key, program.counts_only, comm)?,
            _ => hist.map.hit(scratch.key, program.counts_only, comm)?,
        }
    };
    let slots = &*scratch.slots;

    if program.extremes {
        count_extremes(program, element, &eval, slots);
    } else if !program.counts_only {
        count(program, element, &eval, slots);
    }
    own_vars::compute(program, &eval, scratch.slots);
    if BLOBS {
        own_vars::compute_blobs(program, &eval, Some(element), &mut scratch.blobs.lend());
    }
    let run = own_vars::store(program, &eval, element, scratch).unwrap_or_else(|| {
        hist.map.count_drop();
        program.always
    });

    Some((element, run))
}

/// Counts a hit as [`record`] does, in a histogram that reuses elements. The returned element may
/// be that of another key by then.
#[inline(always)]
pub(crate) fn record_reusing<'m, const BLOBS: bool, M: HitContext>(
    hist: &'m Histogram,
    context: &M,
    scratch: &mut Scratch<'_>,
) -> Option<(Element<'m>, u32)> {
    let program = &hist.program;
    let eval = Eval::new(context, &program.code);

    look_up(hist, &eval, scratch)?;
    own_vars::compute(program, &eval, scratch.slots);
    if BLOBS {
        own_vars::compute_blobs(program, &eval, None, &mut scratch.blobs.lend());
        if !program.stores_numbers_only {
            let element = store_blobs_reusing(hist, &eval, &mut scratch.lend())?;

            return Some((element, program.always));
        }
    }

    let Scratch {
        key, slots, blobs, ..
    } = &mut *scratch;
    let comm = |comm: &mut Comm| *comm = context.first_comm();
    let element = hist.map.hit_live(key, comm, |element, vars| {
        if BLOBS {
            own_vars::compute_first_comms(program, element, blobs);
        }
        if let Some(vars) = vars {
            own_vars::store_numbers(program, vars, slots);
        }
    })?;

    Some((element, program.always))
}

/// Counts a hit as [`record_reusing`] does, and stores its variables, some of which are blobs.
///
/// Apart, as the functions that store a blob have all that they get in memory.
#[inline(never)]
fn store_blobs_reusing<'m, M: HitContext>(
    hist: &'m Histogram,
    eval: &Eval<'_, M>,
    scratch: &mut Scratch<'_>,
) -> Option<Element<'m>> {
    let program = &hist.program;
    let Scratch {
        key, slots, blobs, ..
    } = &mut *scratch;
    // The element is locked when it is known, so this is done before.
    let stored = own_vars::stored_comm(program, eval);
    let comm = |comm: &mut Comm| *comm = eval.context().first_comm();

    hist.map.hit_live(key, comm, |element, vars| {
        own_vars::compute_first_comms(program, element, blobs);
        if let Some(vars) = vars {
            let from = Origins::new(eval.record(), &stored, blobs);

            own_vars::store_numbers(program, vars, slots);
            own_vars::store_blobs(program, &element, vars, &from);
        }
    })
}

/// Runs the actions of the set `run`, in their order, except for those that store something in the
/// element and have done so.
#[inline(always)]
fn run_actions(
    hist: &Histogram,
    hit: &Hit<'_>,
    run: u32,
    element: &Element<'_>,
    scratch: &mut Scratch<'_>,
) {
    let program = &hist.program;
    let actions = hist.effects.iter().zip(&program.params);

    for (i, (effect, params)) in actions.enumerate() {
        if run & bit(i) == 0 {
            continue;
        }
        match effect {
            Effect::Nothing => (),
            Effect::Trace(event) => {
                let Scratch {
                    slots,
                    params: words,
                    blobs,
                    ..
                } = &mut *scratch;

                // Only such actions use them, once all is stored.
                for param in params {
                    if let Param::Stack(blob) = *param {
                        blobs.get_mut(blob).map(cut_for_event);
                    }
                }
                event.trace(hit, words, |n| param(params.get(n), slots, blobs));
            }
            Effect::Snapshot(snapshot) => {
                let watch = program.watches.iter().find(|w| w.action as usize == i);
                let value = watch.map_or(0, |watch| watched(watch, scratch));

                if let Some(to) = scratch.other.first_chunk_mut() {
                    let comm = comm_words(&element.comm());

                    snapshot.fire(hit, request(to, value, comm, scratch.key));
                }
            }
        }
    }
}

/// Returns the value of a parameter.
fn param<'s>(param: Option<&Param>, slots: &[u64], blobs: &'s Blobs<'_>) -> Value<'s> {
    let value = param.and_then(|param| match *param {
        Param::Number(slot) => slots.get(slot as usize).copied().map(Value::Number),
        Param::String(blob) => blobs.get(blob).map(Value::String),
        Param::Stack(blob) => blobs.get(blob).map(Value::Stack),
    });

    // The event has as many fields, which was checked when the histogram was created.
    debug_assert!(value.is_some());
    value.unwrap_or(Value::Number(0))
}
