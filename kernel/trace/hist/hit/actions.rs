// SPDX-License-Identifier: GPL-2.0

//! The actions of a hit that are more than storing something in the element.

use super::{
    text::{
        comm_words,
        cut_for_event, //
    },
    vars::watched, //
};
use crate::{
    histogram::{
        Effect,
        Histogram, //
    },
    map::Element,
    program::{
        bit,
        snapshot_condition::request,
        Param, //
    },
    scratch::{
        Scratch,
        Texts, //
    },
};
use kernel::trace::{
    synth::Value,
    trigger::Hit, //
};

/// Runs the actions of the set `run`, in their order.
#[inline(always)]
pub(crate) fn run(
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
                    texts,
                    ..
                } = &mut *scratch;

                // Only such actions use them, once all is stored.
                for param in params {
                    if let Param::Stack(text) = *param {
                        texts.get_mut(text).map(cut_for_event);
                    }
                }
                event.trace(hit, words, |n| value(params.get(n), slots, texts));
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

/// The value of a parameter.
fn value<'s>(param: Option<&Param>, slots: &[u64], texts: &'s Texts<'_>) -> Value<'s> {
    let value = param.and_then(|param| match *param {
        Param::Number(slot) => slots.get(slot as usize).copied().map(Value::Number),
        Param::String(text) => texts.get(text).map(Value::String),
        Param::Stack(text) => texts.get(text).map(Value::Stack),
    });

    value.unwrap_or(Value::Number(0))
}
