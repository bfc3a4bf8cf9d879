// SPDX-License-Identifier: GPL-2.0

//! Attaching histograms to events, and what has to be done when they go.
//!
//! When the last trigger of a histogram is detached, all that others may need is given back at
//! once: its name and its variables, the synthetic events that it makes, its snapshot, the helpers
//! that nothing else refers to. The memory is freed later, when no hit can be using it.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        event_file::EventFile,
        event_mutex::Held,
        synth::EventRef,
        trigger::{
            synchronize,
            Filter,
            Lists,
            NewTrigger, //
        },
    },
};

use super::{
    backlog,
    Histogram,
    TriggerData, //
};
use crate::{
    action::ActionKind,
    data::{
        Hist,
        Spec, //
    },
    line,
    out::Out,
    registry, //
};

/// How a histogram is attached.
pub(super) struct AttachOptions<'h> {
    pub(super) filter: Option<Filter<'h>>,
    pub(super) paused: bool,
    pub(super) helper: bool,
}

/// Attaches a histogram to an event. If that fails, nothing is left of it but the histogram.
pub(super) fn attach<'h>(
    file: EventFile<'h>,
    lists: &mut Lists<'h>,
    hist: &Arc<Hist>,
    options: AttachOptions<'h>,
) -> Result {
    let held = lists.held();
    let mut line = Out::new();

    line::write_spec(&mut line, &hist.spec);
    line.bytes()?;

    let id = registry::add(held, file, hist, options.helper)?;
    let data = TriggerData {
        hist: hist.clone(),
        line,
        id,
        part: backlog::Part::new(),
    };
    let result = new_trigger(file, data, options).and_then(|new| Ok(new.attach(lists)?));

    if result.is_err() {
        registry::remove(held, id);
    }
    result
}

fn new_trigger<'h>(
    file: EventFile<'h>,
    data: TriggerData,
    options: AttachOptions<'h>,
) -> Result<NewTrigger<'h, Histogram>> {
    let mut new = NewTrigger::new(file, data)?;

    if let Some(filter) = options.filter {
        new.set_filter(filter)?;
    }
    new.set_paused(options.paused);
    Ok(new)
}

/// Detaches the trigger with this number.
pub(super) fn detach<'h>(file: EventFile<'h>, lists: &mut Lists<'h>, id: u64) {
    if let Some(hist) = take(file, lists, |data| data.id == id) {
        if !registry::is_attached(lists.held(), &hist) {
            give_back(core::iter::once(&hist.spec), lists);
        }
    }
}

/// Detaches all triggers of an event, if nothing refers to the variables of their histograms.
pub(super) fn remove_all<'h>(file: EventFile<'h>, lists: &mut Lists<'h>) {
    let held = lists.held();

    if file
        .triggers::<Histogram>(lists)
        .any(|trigger| registry::is_referred_to(held, &trigger.data().hist))
    {
        return;
    }

    // All wait together for the hits that they are in.
    let mut gone = KVec::new();

    while let Some(hist) = take(file, lists, |_| true) {
        if registry::is_attached(held, &hist) {
            continue;
        }
        if gone.reserve(1, GFP_KERNEL).is_err() {
            give_back(core::iter::once(&hist.spec), lists);
        } else {
            let _ = gone.push(hist, GFP_KERNEL);
        }
    }
    give_back(gone.iter().map(|hist: &Arc<Hist>| &hist.spec), lists);
}

/// C has detached a trigger, as the instance is removed.
pub(super) fn detached(data: &TriggerData, held: Held<'_>) {
    data.removed();
    registry::remove(held, data.id);
    if !registry::is_attached(held, &data.hist) {
        // If there are helpers, they are in the instance as well.
        end_actions(core::iter::once(&data.hist.spec), held);
    }
}

/// Takes the first trigger for which `pred` is true off the event; gives its histogram.
fn take<'h>(
    file: EventFile<'h>,
    lists: &mut Lists<'h>,
    pred: impl Fn(&TriggerData) -> bool,
) -> Option<Arc<Hist>> {
    let mut taken = None;

    file.detach::<Histogram>(
        lists,
        |trigger| pred(trigger.data()),
        |data| {
            data.removed();
            taken = Some((data.id, data.hist.clone()));
        },
    );

    let (id, hist) = taken?;

    registry::remove(lists.held(), id);
    if hist.spec.timestamps {
        file.instance().enable_filter_buffering();
    }
    Some(hist)
}

/// Gives back what histograms have that others may need. No trigger has the histograms any more, or
/// ever had. Sleeps.
pub(super) fn give_back<'a>(specs: impl Iterator<Item = &'a Spec> + Clone, lists: &mut Lists<'_>) {
    let held = lists.held();

    end_actions(specs, held);
    // Helpers of a command that has failed may have no reference yet, so all are looked at.
    while let Some(idle) = registry::take_idle(held) {
        if let Some(file) = idle.file(held) {
            file.detach::<Histogram>(
                lists,
                |trigger| trigger.data().id == idle.id,
                |data| {
                    data.removed();
                    if data.hist.spec.timestamps {
                        file.instance().enable_filter_buffering();
                    }
                },
            );
        }
    }
}

/// Gives back the synthetic events and the snapshots of actions. Sleeps.
fn end_actions<'a>(specs: impl Iterator<Item = &'a Spec> + Clone, held: Held<'_>) {
    let kinds = specs
        .flat_map(|spec| &spec.actions)
        .map(|action| &action.kind);
    let events = kinds.clone().filter_map(|kind| match kind {
        ActionKind::Trace { event, .. } => Some(event),
        _ => None,
    });

    EventRef::release_all(events, held);
    for kind in kinds {
        if let ActionKind::Snapshot(snapshot) = kind {
            snapshot.disable(held);
        }
    }
}

/// Empties the map of a histogram. Hits that happen meanwhile are not counted. Sleeps.
pub(super) fn clear(hist: &Hist) {
    hist.map.clear(synchronize);
}
