// SPDX-License-Identifier: GPL-2.0

//! The variables of a hit: they are computed first, then stored in the element, all at once.
//!
//! Whoever uses them while the hit is handled, an action or an alias, uses what was computed, not
//! what the element has: that may be of another CPU by then.

use super::{
    eval::Eval,
    key::string,
    moment::Moment,
    pad::{
        Scratch,
        Texts, //
    },
    text::{
        as_bytes,
        comm_words,
        copy_stack,
        dynamic_field,
        number_of,
        with_addresses, //
    },
};
use crate::{
    map::{
        Element,
        Writer, //
    },
    program::{
        bit,
        op::{
            Kept,
            KeptText,
            NumberVar,
            Save,
            Text,
            Watch, //
        },
        Program,
        TEXT_WORDS, //
    }, //
};

/// Computes the variables, and those texts of them that somebody uses.
#[inline]
pub(crate) fn compute<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: &Element<'_>,
    scratch: &mut Scratch<'_>,
) {
    for NumberVar { value, slot, .. } in &program.numbers {
        let value = eval.value(*value, scratch.slots);

        if let Some(slot) = scratch.slots.get_mut(*slot as usize) {
            *slot = value;
        }
    }
    for var in &program.texts {
        if let Some(to) = var.scratch.and_then(|n| scratch.texts.get_mut(n)) {
            fill(var.text, eval, element, to);
        }
    }
}

/// Writes a text that is not in the scratch memory.
fn fill<M: Moment>(
    text: Text,
    eval: &Eval<'_, M>,
    element: &Element<'_>,
    to: &mut [u64; TEXT_WORDS],
) {
    match text {
        Text::Recorded { offset } => {
            if let Some((count, words)) = to.split_first_mut() {
                // CAST: It is small.
                *count = copy_stack(words, dynamic_field(eval.record(), offset)) as u64;
            }
        }
        Text::FirstComm => {
            let words = comm_words(&element.comm());

            for (i, to) in to.iter_mut().enumerate() {
                *to = words.get(i).copied().unwrap_or(0);
            }
        }
        _ => string(text, eval, to),
    }
}

/// Stores the variables in the element, and decides which handlers run: a set of actions. `None` if
/// the element could not be locked.
pub(crate) fn store<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: &Element<'_>,
    scratch: &mut Scratch<'_>,
) -> Option<u32> {
    let mut run = program.always;

    if !program.stores {
        return Some(run);
    }
    let mut vars = element.write()?;

    for var in &program.numbers {
        if let Some(place) = var.place {
            let value = scratch.slots.get(var.slot as usize).copied().unwrap_or(0);

            vars.set_var(place as usize, value);
        }
    }
    for var in &program.texts {
        if let Some(kept) = var.kept {
            let text = var.scratch.map_or(var.text, Text::Scratch);

            store_text(text, kept, eval, element, &mut vars, &mut scratch.texts);
        }
    }
    for watch in &program.watches {
        if !check(watch, &mut vars, scratch) {
            continue;
        }
        run |= bit(watch.action as usize);
        if watch.save {
            save(program, eval, element, &mut vars, scratch);
        }
    }
    Some(run)
}

/// Whether a watched variable makes its handler run. If so, its value is what is compared from now
/// on.
fn check(watch: &Watch, vars: &mut Writer<'_>, scratch: &Scratch<'_>) -> bool {
    let place = watch.place as usize;
    let new = watched(watch, scratch);
    let kept = vars.is_set(place).then(|| vars.var(place));
    let holds = watch.condition.holds(new, kept);

    if holds || kept.is_none() {
        vars.set_var(place, new);
    }
    holds
}

/// The value that is watched.
pub(crate) fn watched(watch: &Watch, scratch: &Scratch<'_>) -> u64 {
    match watch.scratch {
        Some(text) => scratch.texts.get(text).map_or(0, |words| number_of(words)),
        None => scratch.slots.get(watch.slot as usize).copied().unwrap_or(0),
    }
}

fn save<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    scratch: &mut Scratch<'_>,
) {
    for save in &program.saves {
        match *save {
            Save::Number { value, place } => {
                vars.set_var(place as usize, eval.value(value, scratch.slots));
            }
            Save::Text { text, kept } => {
                store_text(text, kept, eval, element, vars, &mut scratch.texts);
            }
        }
    }
}

fn store_text<M: Moment>(
    text: Text,
    kept: KeptText,
    eval: &Eval<'_, M>,
    element: &Element<'_>,
    vars: &mut Writer<'_>,
    texts: &mut Texts<'_>,
) {
    let words = match text {
        Text::Scratch(n) => texts.get(n),
        _ if kept.at == Kept::Comm => None,
        _ => texts.passing().map(|words| {
            fill(text, eval, element, words);
            &*words
        }),
    };

    match (kept.at, words) {
        (Kept::String(n), Some(words)) => vars.set_string(n as usize, as_bytes(words)),
        (Kept::Stack(n), Some(words)) => with_addresses(words, |s| vars.set_stack(n as usize, s)),
        _ => (),
    }
    vars.set_var(kept.place as usize, 0);
}
