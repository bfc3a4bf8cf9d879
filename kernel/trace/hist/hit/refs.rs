// SPDX-License-Identifier: GPL-2.0

//! References to the variables of other histograms.
//!
//! A reference has the value that the variable has in the element with the same key. All references
//! must have one, otherwise the hit is ignored. The variables of an element are read together, so
//! their values are from one hit.
//!
//! The reasons for what is inlined and what is not are those of [`hit`](super).

use super::{
    blob::set_comm,
    key::convert, //
};
use crate::{
    limits::{
        STRING_WORDS,
        VARS_MAX, //
    },
    map::{
        Busy,
        Element,
        Reader,
        VarSet, //
    },
    program::{
        op::{
            BlobSlot,
            ReferredVar, //
        },
        Program,
        ReferredHist, //
    },
    scratch::{
        Blobs,
        Scratch, //
    },
};

/// The outcome of resolving the references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All have a value.
    Resolved,
    /// Some have none.
    Unresolved,
    /// Some are being written, for too long.
    Busy,
}

impl Outcome {
    /// Converts the result of [`Element::consume`] to an outcome.
    #[inline]
    fn of<T>(taken: Result<Option<T>, Busy>) -> Self {
        match taken {
            Ok(Some(_)) => Self::Resolved,
            Ok(None) => Self::Unresolved,
            Err(Busy) => Self::Busy,
        }
    }
}

/// Reads the values of all references to their slots and blobs.
///
/// Those that reading unsets are only unset if all have a value.
#[inline(always)]
pub(crate) fn resolve(program: &Program, scratch: &mut Scratch<'_>) -> Outcome {
    let [source] = program.sources.as_slice() else {
        return resolve_all(program, &mut scratch.lend());
    };
    if !source.plain {
        if source.plain_reusing {
            return resolve_reusing(source, scratch);
        }
        return resolve_all(program, &mut scratch.lend());
    }

    // The numbers of one histogram: mostly it is that.
    let element = match *scratch.key {
        [key] => source.hist.map.lookup_u64(key),
        _ => source.hist.map.lookup(scratch.key),
    };
    let Some(element) = element else {
        return Outcome::Unresolved;
    };
    let (slots, polls) = (&mut *scratch.slots, &mut *scratch.polls);
    let one = || is_one_number(source);

    Outcome::of(element.consume(polls, source.once, one, |vars| {
        read_numbers(source, vars, slots)
    }))
}

/// Returns `true` if one number of a source is referred to.
#[inline]
fn is_one_number(source: &ReferredHist) -> bool {
    matches!(source.reads.as_slice(), [read] if read.blob.is_none())
}

/// Reads the referred variables of a source, all of which are numbers.
#[inline(always)]
fn read_numbers(source: &ReferredHist, vars: &Reader<'_>, slots: &mut [u64]) -> Option<()> {
    for read in &source.reads {
        let value = vars.var(read.place as usize)?;

        debug_assert!((read.slot as usize) < slots.len());
        if let Some(slot) = slots.get_mut(read.slot as usize) {
            *slot = value;
        }
    }
    Some(())
}

/// Resolves references as [`resolve`] does, for the numbers of one histogram that reuses elements.
#[inline(always)]
fn resolve_reusing(source: &ReferredHist, scratch: &mut Scratch<'_>) -> Outcome {
    let (key, slots) = (&*scratch.key, &mut *scratch.slots);
    let one = || is_one_number(source);
    let Some(element) = source.hist.map.lookup_live(key) else {
        return Outcome::Unresolved;
    };
    let taken = element.consume(scratch.polls, source.once, one, |vars| {
        // It may have become the element of another key.
        if !element.is_of(key) {
            return None;
        }
        read_numbers(source, vars, slots)
    });

    match taken {
        Err(Busy) if !element.is_used() => Outcome::Unresolved,
        taken => Outcome::of(taken),
    }
}

/// Resolves references as [`resolve`] does, for any number of sources.
#[inline(never)]
fn resolve_all(program: &Program, scratch: &mut Scratch<'_>) -> Outcome {
    match program.sources.as_slice() {
        // All is done in one step.
        [source] => Outcome::of(read_source(program, source, source.once, scratch)),
        _ => resolve_several(program, scratch),
    }
}

/// Resolves references as [`resolve`] does, for several sources.
fn resolve_several(program: &Program, scratch: &mut Scratch<'_>) -> Outcome {
    // It has to be known first that all of them have values.
    for source in &program.sources {
        match Outcome::of(read_source(program, source, VarSet::NONE, scratch)) {
            Outcome::Resolved => (),
            outcome => return outcome,
        }
    }

    // Each source has at least one reference.
    let mut stamps = [Stamp::default(); VARS_MAX];

    for (i, (source, stamp)) in program.sources.iter().zip(&mut stamps).enumerate() {
        if source.once.is_empty() {
            continue;
        }
        match read_source(program, source, source.once, scratch) {
            Ok(Some(read)) => *stamp = read,
            refused => {
                // Another CPU has just taken them.
                let taken = stamps.get(..i).unwrap_or(&[]);

                if restore_vars(program, scratch, taken) {
                    return Outcome::of(refused);
                }
                return Outcome::Busy;
            }
        }
    }
    Outcome::Resolved
}

/// Identifies the write that a value is of.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stamp {
    /// The [address](Element::address) of the element.
    element: usize,
    /// The number of the write.
    version: u32,
}

impl Stamp {
    /// Returns the stamp of the variables that are read.
    pub(crate) fn of(element: &Element<'_>, vars: &Reader<'_>) -> Self {
        Self {
            element: element.address(),
            version: vars.version(),
        }
    }
}

/// Reads the referred variables of a source, and unsets the variables `once`. Returns the stamp of
/// the write that had set them.
fn read_source(
    program: &Program,
    source: &ReferredHist,
    once: VarSet,
    scratch: &mut Scratch<'_>,
) -> Result<Option<Stamp>, Busy> {
    let Scratch {
        key,
        other,
        slots,
        blobs,
        polls,
        ..
    } = &mut *scratch;
    let one = || is_one_number(source);
    let Some((element, key)) = find(program, source, key, other) else {
        return Ok(None);
    };
    let reuses = source.hist.map.reuses();
    let read = element.consume(polls, once, one, |vars| {
        // It may have become the element of another key.
        if reuses && !element.is_of(key) {
            return None;
        }
        source
            .reads
            .iter()
            .all(|read| read_one(read, &element, vars, slots, blobs))
            .then(|| Stamp::of(&element, vars))
    });

    match read {
        Err(Busy) if reuses && !element.is_used() => Ok(None),
        read => read,
    }
}

/// Finds the element of the other histogram with the key of this hit, and returns it with the key
/// that it has there.
fn find<'p, 'k>(
    program: &Program,
    source: &'p ReferredHist,
    key: &'k [u64],
    other: &'k mut [u64],
) -> Option<(Element<'p>, &'k [u64])> {
    let hist = &*source.hist;
    let key = if source.same_key {
        key
    } else {
        convert(key, &program.keys, &hist.program.keys, other)?
    };
    let element = if hist.map.reuses() {
        hist.map.lookup_live(key)?
    } else {
        hist.map.lookup(key)?
    };

    Some((element, key))
}

fn read_one(
    read: &ReferredVar,
    element: &Element<'_>,
    vars: &Reader<'_>,
    slots: &mut [u64],
    blobs: &mut Blobs<'_>,
) -> bool {
    let Some(value) = vars.var(read.place as usize) else {
        return false;
    };

    debug_assert!((read.slot as usize) < slots.len());
    if let Some(slot) = slots.get_mut(read.slot as usize) {
        *slot = value;
    }
    if let Some(blob) = read.blob {
        let Some(to) = blobs.get_mut(blob.scratch) else {
            return false;
        };

        match blob.at {
            BlobSlot::String(n) => {
                // `copy_string` copies no word if the element has no such string.
                to[0] = 0;
                to[STRING_WORDS - 1] = 0;
                vars.copy_string(n as usize, to);
            }
            BlobSlot::Stack(n) => {
                to.fill(0);
                vars.copy_stack(n as usize, to);
            }
            BlobSlot::Comm => set_comm(to, &element.comm()),
        }
    }
    true
}

/// Sets the variables again that were unset in the first sources, whose values had these `stamps`.
///
/// A value that is lost is counted by its map if its elements can be used again. Otherwise the
/// result is `false`.
#[cold]
#[inline(never)]
pub(crate) fn restore_vars(program: &Program, scratch: &mut Scratch<'_>, stamps: &[Stamp]) -> bool {
    let mut kept = true;

    for (source, stamp) in program.sources.iter().zip(stamps) {
        if source.once.is_empty() {
            continue;
        }
        // An element that was used again has another version, whatever its key is, but the key may
        // have another element.
        let polls = &mut *scratch.polls;
        let restored = find(program, source, scratch.key, scratch.other)
            .map(|(element, _)| element)
            .filter(|element| element.address() == stamp.element)
            .is_some_and(|element| element.restore(polls, source.once, stamp.version));

        if !restored {
            kept &= source.hist.map.count_lost();
        }
    }
    kept
}
