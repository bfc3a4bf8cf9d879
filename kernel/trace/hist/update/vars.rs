// SPDX-License-Identifier: GPL-2.0

//! The variables of a hit: they are computed first, then stored in the element, all at once.
//!
//! Actions and aliases that use them while the hit is handled get the computed values, not those in
//! the element, which may be from another CPU by then.

use super::{
    eval::Eval,
    key::{
        set_comm,
        string_text, //
    },
    moment::Moment,
    pad::{
        Scratch,
        Texts, //
    },
    text::{
        copy_stack,
        dynamic_field,
        number_of,
        string_words,
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
use kernel::prelude::*;

/// Computes the variables that are numbers.
#[inline(always)]
pub(crate) fn compute<M: Moment>(program: &Program, eval: &Eval<'_, M>, slots: &mut [u64]) {
    for NumberVar { value, slot, .. } in &program.numbers {
        let value = eval.variable(value, slots);

        if let Some(slot) = slots.get_mut(*slot as usize) {
            *slot = value;
        }
    }
}

/// Computes the variables that are texts, as far as they are used.
#[inline]
pub(crate) fn compute_texts<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    texts: &mut Texts<'_>,
) {
    for var in &program.texts {
        if let Some(to) = var.scratch.and_then(|n| texts.get_mut(n)) {
            fill(var.text, eval, &element, to);
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
        Text::FirstComm => set_comm(to, &element.comm()),
        _ => string_text(text, eval, to),
    }
}

/// Stores the variables in the element, and decides which handlers run: a set of actions. `None` if
/// the element could not be locked.
#[inline(always)]
pub(crate) fn store<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    scratch: &mut Scratch<'_>,
) -> Option<u32> {
    if !program.stores {
        return Some(program.always);
    }
    if !program.stores_numbers_only {
        return store_all(program, eval, element, &mut scratch.lend());
    }
    store_numbers(program, &mut element.write()?, scratch.slots);
    Some(program.always)
}

#[inline(always)]
fn store_numbers(program: &Program, vars: &mut Writer<'_>, slots: &[u64]) {
    for number in &program.kept_numbers {
        if let Some(value) = slots.get(number.slot as usize) {
            vars.put(number.place as usize, *value);
        }
    }
    vars.mark(program.kept_marks);
}

/// Computes the variables of a plain histogram, and stores them. `None` if the element could not be
/// locked.
#[inline(always)]
pub(crate) fn store_plain<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
) -> Option<()> {
    let mut vars = element.write()?;

    for number in &program.kept_numbers {
        vars.put(number.place as usize, eval.value(&number.value, &[]));
    }
    vars.mark(program.kept_marks);
    Some(())
}

/// [`store`] if there are texts, or watches.
#[inline(never)]
fn store_all<M: Moment>(
    program: &Program,
    eval: &Eval<'_, M>,
    element: Element<'_>,
    scratch: &mut Scratch<'_>,
) -> Option<u32> {
    let vars = &mut element.write()?;
    let element = &element;

    store_numbers(program, vars, scratch.slots);
    let mut run = program.always;

    for var in &program.texts {
        if let Some(kept) = var.kept {
            let text = var.scratch.map_or(var.text, Text::Scratch);

            store_text(text, kept, eval, element, vars, &mut scratch.texts);
        }
    }
    for watch in &program.watches {
        if !check(watch, vars, scratch) {
            continue;
        }
        run |= bit(watch.action as usize);
        if watch.save {
            save(program, eval, element, vars, scratch);
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
        Some(text) => scratch.texts.get(text).map_or(0, |words| {
            number_of(if watch.stack {
                words
            } else {
                string_words(words)
            })
        }),
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
            Save::Number { ref value, place } => {
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
        (Kept::String(n), Some(words)) => vars.set_string(n as usize, words.as_bytes()),
        (Kept::Stack(n), Some(words)) => with_addresses(words, |s| vars.set_stack(n as usize, s)),
        _ => (),
    }
    vars.set_var(kept.place as usize, 0);
}
