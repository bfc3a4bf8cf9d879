// SPDX-License-Identifier: GPL-2.0

//! The variables of a hit: they are computed first, then stored in the element, all at once.
//!
//! Blobs that only the element keeps are copied to it from the record, and the name of the task
//! from a copy. If a handler watches a variable, a hit has to compare, so it waits for other
//! writers for a few microseconds. Otherwise it overwrites all variables, and never waits.
//!
//! Actions and aliases that use them while the hit is handled get the computed values, not those in
//! the element, which may be from another CPU by then.
//!
//! The reasons for what is inlined and what is not are those of [`hit`](super).

use super::{
    blob::{
        addresses,
        copy_stack,
        dynamic_field,
        field,
        number_of,
        recorded_stack,
        set_comm,
        string_blob,
        string_words, //
    },
    eval::{
        Eval,
        HitContext, //
    },
};
use crate::{
    limits::{
        ACTIONS_MAX,
        STRING_WORDS,
        VARS_MAX, //
    },
    map::{
        Comm,
        Element,
        Writer, //
    },
    program::{
        bit,
        op::{
            BlobOrigin,
            BlobSlot,
            KeptBlob,
            KeptNumber,
            NumberVar,
            Save,
            Watch, //
        },
        Program, //
    },
    scratch::{
        Blobs,
        Scratch, //
    },
};
use kernel::prelude::*;

/// Computes the variables that are numbers.
#[inline(always)]
pub(crate) fn compute<M: HitContext>(program: &Program, eval: &Eval<'_, M>, slots: &mut [u64]) {
    for NumberVar { value, slot, .. } in &program.numbers {
        let value = eval.variable(value, slots);

        debug_assert!((*slot as usize) < slots.len());
        if let Some(slot) = slots.get_mut(*slot as usize) {
            *slot = value;
        }
    }
}

/// Computes the variables that are blobs, if they are used. Those that are in the element are left
/// to [`compute_first_comms`] if it is not known yet.
#[inline(always)]
pub(crate) fn compute_blobs<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Option<Element<'_>>,
    blobs: &mut Blobs<'_>,
) {
    for var in &program.blobs {
        if let Some(to) = var.scratch.and_then(|n| blobs.get_mut(n)) {
            fill(var.blob, eval, element.as_ref(), to);
        }
    }
}

/// Computes the variables that are the name of the task that had the first hit, if they are used.
#[inline(always)]
pub(crate) fn compute_first_comms(program: &Program, element: Element<'_>, blobs: &mut Blobs<'_>) {
    if !program.layout.comm {
        return;
    }
    for var in &program.blobs {
        if var.blob == BlobOrigin::FirstComm {
            if let Some(to) = var.scratch.and_then(|n| blobs.get_mut(n)) {
                set_comm(to, &element.comm());
            }
        }
    }
}

/// Returns the name of the current task, if it is stored without having been computed.
#[inline(always)]
pub(crate) fn stored_comm<M: HitContext>(program: &Program, eval: &Eval<'_, M>) -> Comm {
    if program.stores_comm {
        eval.context().comm()
    } else {
        Comm::default()
    }
}

/// The origins of the blobs of a hit that are stored in the element.
pub(crate) struct Origins<'a> {
    record: &'a [u8],
    /// The name of the current task.
    comm: &'a Comm,
    blobs: &'a Blobs<'a>,
}

impl<'a> Origins<'a> {
    #[inline(always)]
    pub(crate) fn new(record: &'a [u8], comm: &'a Comm, blobs: &'a Blobs<'_>) -> Self {
        Self {
            record,
            comm,
            blobs,
        }
    }
}

/// Writes a blob that is not in the scratch memory.
fn fill<M: HitContext>(
    blob: BlobOrigin,
    eval: &Eval<'_, M>,
    element: Option<&Element<'_>>,
    to: &mut [u64; STRING_WORDS],
) {
    match blob {
        BlobOrigin::Recorded { offset } => {
            if let Some((count, words)) = to.split_first_mut() {
                // CAST: It is small.
                *count = copy_stack(words, dynamic_field(eval.record(), offset)) as u64;
            }
        }
        BlobOrigin::FirstComm => {
            if let Some(element) = element {
                set_comm(to, &element.comm());
            }
        }
        _ => string_blob(blob, eval, to),
    }
}

/// Stores the variables in the element, and returns the set of actions whose handlers run. Returns
/// `None` if a handler has to compare, and the element could not be locked.
#[inline(always)]
pub(crate) fn store<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    scratch: &mut Scratch<'_>,
) -> Option<u32> {
    if program.stores {
        if !program.stores_numbers_only {
            return store_all(program, eval, element, &mut scratch.lend());
        }
        if let Some(mut vars) = element.overwrite() {
            store_numbers(program, &mut vars, scratch.slots);
        }
    }
    Some(program.always)
}

/// Stores the variables that are numbers.
#[inline(always)]
pub(crate) fn store_numbers(program: &Program, vars: &mut Writer<'_>, slots: &[u64]) {
    for number in &program.kept_numbers {
        debug_assert!((number.slot as usize) < slots.len());
        if let Some(value) = slots.get(number.slot as usize) {
            vars.put(number.place as usize, *value);
        }
    }
    vars.mark(program.kept_vars);
}

/// Computes the variables of a plain histogram, and stores them.
#[inline(always)]
pub(crate) fn store_plain<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
) {
    match program.kept_numbers.as_slice() {
        [number] => {
            let value = eval.value(&number.value, &[]);

            if let Some(mut vars) = element.overwrite() {
                vars.put(number.place as usize, value);
                vars.mark(program.kept_vars);
            }
        }
        [first, second] => store_two(program, eval, element, (first, second)),
        _ => store_several(program, eval, element),
    }
}

/// Stores the variables as [`store_plain`] does, for two of them, which stay in registers.
#[inline(never)]
fn store_two<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    (first, second): (&KeptNumber, &KeptNumber),
) {
    let values = [
        eval.value(&first.value, &[]),
        eval.value(&second.value, &[]),
    ];

    if let Some(mut vars) = element.overwrite() {
        vars.put(first.place as usize, values[0]);
        vars.put(second.place as usize, values[1]);
        vars.mark(program.kept_vars);
    }
}

/// Stores the variables as [`store_plain`] does, for any number of them.
#[inline(never)]
fn store_several<M: HitContext>(program: &Program, eval: &Eval<'_, M>, element: Element<'_>) {
    let mut values = [0; VARS_MAX];

    for (to, number) in values.iter_mut().zip(&program.kept_numbers) {
        *to = eval.value(&number.value, &[]);
    }
    if let Some(mut vars) = element.overwrite() {
        for (value, number) in values.iter().zip(&program.kept_numbers) {
            vars.put(number.place as usize, *value);
        }
        vars.mark(program.kept_vars);
    }
}

/// Stores the variables as [`store`] does, for histograms with blobs or watches.
#[inline(never)]
fn store_all<M: HitContext>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    scratch: &mut Scratch<'_>,
) -> Option<u32> {
    let comm = stored_comm(program, eval);

    if program.watches.is_empty() {
        let from = Origins::new(eval.record(), &comm, &scratch.blobs);

        if let Some(vars) = &mut element.overwrite() {
            store_vars(program, &element, vars, (scratch.slots, &from));
        }
        return Some(program.always);
    }

    let mut saved = [0; VARS_MAX];

    for (to, save) in saved.iter_mut().zip(&program.saves) {
        if let Save::Number { value, .. } = save {
            *to = eval.value(value, scratch.slots);
        }
    }

    // Hashing a blob takes long, so this is done before the lock is taken, too.
    let mut values = [0; ACTIONS_MAX];

    for (to, watch) in values.iter_mut().zip(&program.watches) {
        *to = watched(watch, scratch);
    }

    let from = Origins::new(eval.record(), &comm, &scratch.blobs);
    let vars = &mut element.write(scratch.polls)?;
    let mut run = program.always;

    store_vars(program, &element, vars, (scratch.slots, &from));
    for (new, watch) in values.iter().zip(&program.watches) {
        if !check(watch, *new, vars) {
            continue;
        }
        run |= bit(watch.action as usize);
        if watch.save {
            save(program, &element, vars, (&saved, &from));
        }
    }
    Some(run)
}

fn store_vars(
    program: &Program,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    (slots, from): (&[u64], &Origins<'_>),
) {
    store_numbers(program, vars, slots);
    store_blobs(program, element, vars, from);
}

/// Stores the variables that are blobs.
pub(crate) fn store_blobs(
    program: &Program,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    from: &Origins<'_>,
) {
    for var in &program.blobs {
        if let Some(kept) = var.kept {
            let blob = var.scratch.map_or(var.blob, BlobOrigin::Scratch);

            store_blob(blob, kept, element, vars, from);
        }
    }
}

/// Returns `true` if the `new` value of a watched variable triggers its handler. That is what later
/// ones are compared with then.
fn check(watch: &Watch, new: u64, vars: &mut Writer<'_>) -> bool {
    let place = watch.place as usize;
    let kept = vars.is_set(place).then(|| vars.var(place));
    let holds = watch.condition.holds(new, kept);

    if holds || kept.is_none() {
        vars.set_var(place, new);
    }
    holds
}

/// Returns the value that is watched.
pub(crate) fn watched(watch: &Watch, scratch: &Scratch<'_>) -> u64 {
    match watch.scratch {
        Some(blob) => scratch.blobs.get(blob).map_or(0, |words| {
            number_of(if watch.stack {
                // The first word is the number of the others.
                words.get(1..).unwrap_or(&[])
            } else {
                string_words(words)
            })
        }),
        None => {
            debug_assert!((watch.slot as usize) < scratch.slots.len());
            scratch.slots.get(watch.slot as usize).copied().unwrap_or(0)
        }
    }
}

/// Stores the values that `save()` keeps: numbers that have been computed, and blobs.
fn save(
    program: &Program,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    (numbers, from): (&[u64; VARS_MAX], &Origins<'_>),
) {
    for (number, save) in numbers.iter().zip(&program.saves) {
        match *save {
            Save::Number { place, .. } => vars.set_var(place as usize, *number),
            Save::Blob { blob, kept } => store_blob(blob, kept, element, vars, from),
        }
    }
}

/// Copies a blob to the element, from the scratch memory or from its origin.
fn store_blob(
    blob: BlobOrigin,
    kept: KeptBlob,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    from: &Origins<'_>,
) {
    let Origins {
        record,
        comm,
        blobs,
    } = *from;

    match (kept.at, blob) {
        (BlobSlot::Comm, _) => (),
        (BlobSlot::String(n), _) => {
            let n = n as usize;

            match blob {
                BlobOrigin::Scratch(from) => {
                    if let Some(words) = blobs.get(from) {
                        vars.set_string(n, words.as_bytes());
                    }
                }
                BlobOrigin::Comm => vars.set_string(n, comm),
                BlobOrigin::FirstComm => vars.set_string(n, &element.comm()),
                _ => vars.set_string(n, field(blob, record)),
            }
        }
        (BlobSlot::Stack(n), BlobOrigin::Scratch(from)) => {
            if let Some(words) = blobs.get(from) {
                vars.set_stack(n as usize, addresses(words));
            }
        }
        (BlobSlot::Stack(n), BlobOrigin::Recorded { offset }) => {
            vars.set_stack(n as usize, recorded_stack(dynamic_field(record, offset)));
        }
        (BlobSlot::Stack(_), _) => (),
    }
    vars.set_var(kept.place as usize, 0);
}
