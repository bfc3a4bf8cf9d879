// SPDX-License-Identifier: GPL-2.0

//! Attaching histograms to events, and detaching them.
//!
//! When the last trigger of a histogram is detached, all that others may need is released at once:
//! its name and its variables, the synthetic events that it emits, its snapshot, the auto-created
//! histograms that nothing else refers to. The memory is freed later, when no hit can be using it.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        instance::{
            KeptUnbuffered,
            Unbuffered, //
        },
        synth::EventRef,
        trigger::{
            synchronize,
            Filter,
            NewTrigger,
            TriggersMut, //
        },
    },
};

use crate::{
    histogram::{
        Effect,
        Histogram, //
    },
    registry::{
        self,
        HistCommand,
        TriggerData, //
    },
    text_buf::TextBuf, //
};

/// The options of attaching a histogram.
pub(crate) struct AttachOptions<'h> {
    pub(crate) filter: Option<Filter<'h>>,
    pub(crate) paused: bool,
    pub(crate) auto_created: bool,
}

/// Attaches a histogram to an event. The trigger keeps `unbuffered` until it is detached. On error
/// everything except the histogram is rolled back.
pub(crate) fn attach<'h>(
    file: EventFile<Locked<'h>>,
    lists: &mut TriggersMut<'h>,
    hist: &Arc<Histogram>,
    options: AttachOptions<'h>,
    unbuffered: Option<Unbuffered<'h>>,
) -> Result {
    let held = lists.held();
    let mut line = TextBuf::new();

    hist.spec.write(&mut line);
    line.bytes()?;

    let id = registry::add(held, file, hist, options.auto_created)?;
    let data = TriggerData::new(hist.clone(), line, id);
    let result = new_trigger(file, data, options).and_then(|new| Ok(new.attach(lists)?));

    if result.is_err() {
        // It has kept nothing yet.
        let _ = registry::remove(held, id);
    } else if let Some(section) = unbuffered {
        registry::keep_unbuffered(held, id, section);
    }
    result
}

fn new_trigger<'h>(
    file: EventFile<Locked<'h>>,
    data: TriggerData,
    options: AttachOptions<'h>,
) -> Result<NewTrigger<'h, HistCommand>> {
    let mut new = NewTrigger::new(file, data)?;

    if let Some(filter) = options.filter {
        new.set_filter(filter)?;
    }
    new.set_paused(options.paused);
    Ok(new)
}

/// Detaches the trigger with this number.
pub(crate) fn detach<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>, id: u64) {
    if let Some(hist) = detach_first(file, lists, |data| data.id == id) {
        if !registry::is_attached(lists.held(), &hist) {
            release_resources(&hist.effects, lists);
        }
    }
}

/// Detaches all triggers of an event, if nothing refers to the variables of their histograms.
pub(crate) fn remove_all<'h>(file: EventFile<Locked<'h>>, lists: &mut TriggersMut<'h>) {
    let held = lists.held();

    if file
        .triggers::<HistCommand>(lists)
        .any(|trigger| registry::is_referred_to(held, &trigger.data().hist))
    {
        return;
    }

    // All wait together for the hits that they are in.
    let mut gone = KVec::new();

    while let Some(hist) = detach_first(file, lists, |_| true) {
        if registry::is_attached(held, &hist) {
            continue;
        }
        if gone.reserve(1, GFP_KERNEL).is_err() {
            release_resources(&hist.effects, lists);
        } else {
            let _ = gone.push(hist, GFP_KERNEL);
        }
    }
    release_resources(
        gone.iter().flat_map(|hist: &Arc<Histogram>| &hist.effects),
        lists,
    );
}

/// Called when C has detached a trigger, because its instance is removed.
pub(crate) fn detached(data: &TriggerData, held: Held<'_>) {
    data.removed();
    // Filter buffering is not enabled again in an instance that is being removed.
    let _ = registry::remove(held, data.id);
    if !registry::is_attached(held, &data.hist) {
        // Auto-created histograms, if it has any, are in the instance as well.
        end_effects(data.hist.effects.iter(), held);
    }
}

/// Detaches the first trigger for which `pred` returns `true`, and returns its histogram.
fn detach_first(
    file: EventFile<Locked<'_>>,
    lists: &mut TriggersMut<'_>,
    pred: impl Fn(&TriggerData) -> bool,
) -> Option<Arc<Histogram>> {
    let mut taken = None;

    file.detach::<HistCommand>(
        lists,
        |trigger| pred(trigger.data()),
        |data| {
            data.removed();
            taken = Some((data.id, data.hist.clone()));
        },
    );

    let (id, hist) = taken?;

    end_unbuffered(file, registry::remove(lists.held(), id));
    Some(hist)
}

/// Ends a section that a trigger of the event has kept.
fn end_unbuffered(file: EventFile<Locked<'_>>, kept: Option<KeptUnbuffered>) {
    if let Some(kept) = kept {
        file.instance().enable_filter_buffering(kept);
    }
}

/// Releases the synthetic events and snapshots of `effects`, and all auto-created histograms
/// without a reference. No trigger has the histograms of `effects`. Sleeps.
pub(crate) fn release_resources<'a>(
    effects: impl IntoIterator<Item = &'a Effect, IntoIter: Clone>,
    lists: &mut TriggersMut<'_>,
) {
    let held = lists.held();

    end_effects(effects.into_iter(), held);
    // Those of a command that has failed may have no reference yet, so all are looked at.
    while let Some((idle, unbuffered)) = registry::take_idle(held) {
        if let Some(file) = idle.file(held) {
            detach_first(file, lists, |data| data.id == idle.id);
            end_unbuffered(file, unbuffered);
        }
    }
}

/// Releases synthetic events and snapshots. Sleeps.
fn end_effects<'a>(effects: impl Iterator<Item = &'a Effect> + Clone, held: Held<'_>) {
    let events = effects.clone().filter_map(|effect| match effect {
        Effect::Trace(event) => Some(event),
        _ => None,
    });

    EventRef::release_all(events, held);
    for effect in effects {
        if let Effect::Snapshot(snapshot) = effect {
            snapshot.disable(held);
        }
    }
}

/// Empties the map of a histogram. Hits during that time count as drops. Sleeps.
pub(crate) fn clear(hist: &Histogram) {
    hist.map.clear(synchronize);
}
