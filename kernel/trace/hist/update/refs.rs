// SPDX-License-Identifier: GPL-2.0

//! References to the variables of other histograms.
//!
//! A reference has the value that the variable has in the element with the same key. All of them
//! must have one, otherwise the hit is not for this histogram. The variables of an element are read
//! together, so they have been set together.

use super::{
    key,
    pad::{
        Scratch,
        Texts, //
    },
    text::comm_words,
};
use crate::{
    map::{
        Element,
        Reader, //
    },
    program::{
        op::{
            Kept,
            Read, //
        },
        Program,
        Source, //
    },
};

/// What has become of the references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All have a value.
    Resolved,
    /// Some have none.
    Unresolved,
    /// Some are being written, and it is not known when that ends.
    Busy,
}

/// Gets the values of all references to their slots and texts.
///
/// Those that are unset by being read are so only if all have a value.
pub(crate) fn resolve(program: &Program, scratch: &mut Scratch<'_>) -> Outcome {
    let mut last = None;

    for source in &program.sources {
        let Some(element) = find(program, source, scratch) else {
            return Outcome::Unresolved;
        };
        let Scratch { slots, texts, .. } = &mut *scratch;

        match element.read(|vars| read_all(source, &element, vars, slots, texts)) {
            Some(true) => last = Some(element),
            Some(false) => return Outcome::Unresolved,
            None => return Outcome::Busy,
        }
    }

    if program.reads_once {
        consume(program, scratch, last)
    } else {
        Outcome::Resolved
    }
}

/// The element of the other histogram with the key of this hit.
fn find<'p>(
    program: &Program,
    source: &'p Source,
    scratch: &mut Scratch<'_>,
) -> Option<Element<'p>> {
    let hist = &*source.hist;

    if source.same_key {
        return hist.map.lookup(scratch.key);
    }
    hist.map.lookup(key::relay(
        scratch.key,
        program.keys(),
        hist.program.keys(),
        scratch.other,
    )?)
}

/// Reads all variables that are referred to in an element; `false` if one is not set.
fn read_all(
    source: &Source,
    element: &Element<'_>,
    vars: &Reader<'_>,
    slots: &mut [u64],
    texts: &mut Texts<'_>,
) -> bool {
    source
        .reads
        .iter()
        .all(|read| read_one(read, element, vars, slots, texts))
}

fn read_one(
    read: &Read,
    element: &Element<'_>,
    vars: &Reader<'_>,
    slots: &mut [u64],
    texts: &mut Texts<'_>,
) -> bool {
    let Some(value) = vars.var(read.place as usize) else {
        return false;
    };

    if let Some(slot) = slots.get_mut(read.slot as usize) {
        *slot = value;
    }
    if let Some(text) = read.text {
        let Some(to) = texts.get_mut(text.scratch) else {
            return false;
        };

        to.fill(0);
        match text.at {
            Kept::String(n) => vars.copy_string(n as usize, to),
            Kept::Stack(n) => vars.copy_stack(n as usize, to),
            Kept::Comm => {
                for (to, word) in to.iter_mut().zip(comm_words(&element.comm())) {
                    *to = word;
                }
            }
        }
    }
    true
}

/// Unsets the variables that are unset by being read. Their values are those that they had then,
/// and so are those of the other variables of the element.
///
/// `last` is the element of the last source.
fn consume(program: &Program, scratch: &mut Scratch<'_>, last: Option<Element<'_>>) -> Outcome {
    let single = last.filter(|_| program.sources.len() == 1);

    for (i, source) in program.sources.iter().enumerate() {
        let once = source.reads.iter().filter(|read| read.once);

        if once.clone().next().is_none() {
            continue;
        }
        let element = match single {
            Some(element) => Some(element),
            None => find(program, source, scratch),
        };
        let Scratch { slots, texts, .. } = &mut *scratch;
        // All in one step: two of them are never of different hits.
        let taken = element.and_then(|element| {
            element.take(once.map(|read| read.place as usize), |vars| {
                read_all(source, &element, vars, slots, texts)
            })
        });

        if taken != Some(true) {
            // Somebody else has just taken one of them, or another variable of the same element.
            let n = match taken {
                Some(_) => i.wrapping_add(1),
                None => i,
            };

            give_back(program, scratch, n);
            return Outcome::Unresolved;
        }
    }
    Outcome::Resolved
}

/// Undoes what was done to the variables of the first `n` sources.
#[cold]
fn give_back(program: &Program, scratch: &mut Scratch<'_>, n: usize) {
    for source in program.sources.iter().take(n) {
        let Some(element) = find(program, source, scratch) else {
            continue;
        };

        for read in source.reads.iter().filter(|read| read.once) {
            element.untake(read.place as usize);
        }
    }
}
