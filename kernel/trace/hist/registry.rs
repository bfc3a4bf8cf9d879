// SPDX-License-Identifier: GPL-2.0

//! All histograms that are attached to an event: what their triggers have, their names, their
//! variables, and which of them refer to which.
//!
//! Everything runs with `event_mutex` held, so what is found stays true while it is acted on; the
//! lock of the registry itself is only held to look at the list or to change it.
//!
//! A histogram with variables or references keeps user space from removing the instance that it is
//! attached in.

use core::ptr;
use kernel::{
    prelude::*,
    str::CString,
    sync::{
        global_lock,
        Arc, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        instance::{
            Instance,
            InstanceRef,
            KeptUnbuffered,
            Unbuffered, //
        },
        trigger::Trigger, //
    },
};

use crate::{
    backlog,
    histogram::Histogram,
    map::VarSet,
    spec::HistogramId,
    text_buf::TextBuf, //
};

/// The command `hist`, implemented in [`trigger`](crate::trigger).
pub(crate) struct HistCommand;

/// The data of a trigger.
pub(crate) struct TriggerData {
    /// The histogram, which other triggers may have as well if it has a name.
    pub(crate) hist: Arc<Histogram>,
    /// The start of its line, so that no memory is needed to show it.
    line: TextBuf,
    /// The number of the trigger here.
    pub(crate) id: u64,
    /// The last field, so that the histogram is dropped before.
    backlog: backlog::Share,
}

impl TriggerData {
    /// Creates the data of a histogram's trigger with the number `id`.
    pub(crate) fn new(hist: Arc<Histogram>, line: TextBuf, id: u64) -> Self {
        Self {
            hist,
            line,
            id,
            backlog: backlog::Share::new(),
        }
    }

    /// Counts the map as memory to be freed, after the trigger was detached.
    pub(crate) fn removed(&self) {
        self.backlog.add(self.hist.map.size());
    }
}

/// Calls `put` with the parts of the line of a trigger: the command, the filter, the state
/// `[paused]` or `[active]`, and a newline. Needs no memory.
pub(crate) fn write_line(trigger: &Trigger<HistCommand>, mut put: impl FnMut(&[u8])) {
    // It was looked at when the trigger was created.
    put(trigger.data().line.bytes().unwrap_or(&[]));
    if let Some(filter) = trigger.filter() {
        put(b" if ");
        put(filter.to_bytes());
    }
    put(if trigger.is_paused() {
        b" [paused]\n"
    } else {
        b" [active]\n"
    });
}

global_lock! {
    // SAFETY: `init` is called before the commands are registered. All users are those commands and
    // the triggers that they created.
    unsafe(uninit) static HIST_REGISTRY: Mutex<Registry> = Registry {
        entries: KVec::new(),
        last: 0,
    };
}

/// The triggers that are attached.
struct Registry {
    entries: KVec<Registration>,
    /// Number of the last trigger that was entered.
    last: u64,
}

/// A trigger, by its number. The same histogram is listed more than once if it has a name.
struct Registration {
    id: u64,
    hist: Arc<Histogram>,
    /// The instance that it is attached in, if it has variables or references.
    instance: Option<InstanceRef>,
    /// The event that it is attached to, if it is an auto-created one.
    auto_created: Option<AttachedEvent>,
    /// The section of its instance without filter buffering, if it has time stamps.
    unbuffered: Option<KeptUnbuffered>,
}

/// The event that an auto-created histogram is attached to.
struct AttachedEvent {
    system: CString,
    event: CString,
}

/// The result of looking a variable up by its name.
pub(crate) enum Lookup {
    NotFound,
    /// By this histogram, as the field with this index.
    Unique(Arc<Histogram>, usize),
    /// By several.
    Ambiguous,
}

/// An auto-created histogram that nothing refers to, and that has left the registry.
pub(crate) struct Idle {
    pub(crate) id: u64,
    instance: InstanceRef,
    attached_to: AttachedEvent,
}

impl Idle {
    /// Returns the event that the histogram was attached to, if it exists.
    pub(crate) fn file<'h>(&'h self, held: Held<'h>) -> Option<EventFile<Locked<'h>>> {
        self.instance
            .get(held)
            .find_file(&self.attached_to.system, &self.attached_to.event)
    }
}

/// Prepares the registry.
///
/// # Safety
///
/// It must be called once, before the commands are registered.
pub(crate) unsafe fn init() {
    // SAFETY: By the safety requirements, this is the only call.
    unsafe { HIST_REGISTRY.init() };
}

/// Runs `look` with the list locked. `look` must not drop an entry, as the last reference to a
/// histogram or to an instance takes other locks.
fn with<R>(_held: Held<'_>, look: impl FnOnce(&mut Registry) -> R) -> R {
    look(&mut HIST_REGISTRY.lock())
}

/// Adds a histogram that is about to be attached to `file`, and returns the number for its
/// trigger.
///
/// # Errors
///
/// - `ENOMEM`
/// - `ENODEV`, `EPERM` or `EBUSY` if it needs the instance, and that cannot be
///   [pinned](kernel::trace::instance::Instance::pin).
pub(crate) fn add(
    held: Held<'_>,
    file: EventFile<Locked<'_>>,
    hist: &Arc<Histogram>,
    auto_created: bool,
) -> Result<u64> {
    let instance = hist
        .spec
        .has_vars()
        .then(|| file.instance().pin())
        .transpose()?;
    let auto_created = auto_created
        .then(|| {
            Ok::<_, Error>(AttachedEvent {
                system: CString::try_from(file.system())?,
                event: CString::try_from(file.name())?,
            })
        })
        .transpose()?;

    // If the allocation fails, the pin and the names are dropped without the lock.
    with(held, |list| list.entries.reserve(1, GFP_KERNEL))?;

    with(held, |list| {
        let id = list.last.wrapping_add(1);
        let entry = Registration {
            id,
            hist: hist.clone(),
            instance,
            auto_created,
            unbuffered: None,
        };

        list.last = id;
        list.entries.push(entry, GFP_KERNEL)?;
        list.keep_for_takers(hist);
        Ok(id)
    })
}

/// Keeps filter buffering of the instance of a trigger on the list disabled.
pub(crate) fn keep_unbuffered(held: Held<'_>, id: u64, section: Unbuffered<'_>) {
    let kept = section.keep();

    with(held, |list| {
        if let Some(entry) = list.entries.iter_mut().find(|entry| entry.id == id) {
            entry.unbuffered = Some(kept);
        }
    });
}

/// Removes a trigger from the list, and unpins the instance. Returns the section that it has kept.
pub(crate) fn remove(held: Held<'_>, id: u64) -> Option<KeptUnbuffered> {
    // The entry is dropped without the lock.
    let entry = with(held, |list| {
        let i = list.entries.iter().position(|entry| entry.id == id)?;

        list.remove(i)
    })?;

    entry.unbuffered
}

/// Returns the histogram with this name, which includes `name=`.
pub(crate) fn named(held: Held<'_>, name: &CStr) -> Option<Arc<Histogram>> {
    with(held, |list| {
        list.entries
            .iter()
            .find(|entry| entry.hist.spec.name.as_ref().is_some_and(|n| **n == *name))
            .map(|entry| entry.hist.clone())
    })
}

/// Finds the histogram that defines a variable in an instance.
pub(crate) fn find_var(held: Held<'_>, instance: Instance<'_>, name: &[u8]) -> Lookup {
    with(held, |list| {
        let mut lookup = Lookup::NotFound;

        for entry in &list.entries {
            if !entry.instance.as_ref().is_some_and(|i| *i == instance) {
                continue;
            }
            let Some(index) = entry.hist.spec.var_index(name) else {
                continue;
            };

            match &lookup {
                Lookup::Unique(hist, _) if Arc::ptr_eq(hist, &entry.hist) => (),
                Lookup::NotFound => lookup = Lookup::Unique(entry.hist.clone(), index),
                _ => return Lookup::Ambiguous,
            }
        }
        lookup
    })
}

/// Returns `true` if a trigger has this histogram.
pub(crate) fn is_attached(held: Held<'_>, hist: &Arc<Histogram>) -> bool {
    with(held, |list| {
        list.entries
            .iter()
            .any(|entry| Arc::ptr_eq(&entry.hist, hist))
    })
}

/// Returns `true` if another histogram refers to a variable of this one.
pub(crate) fn is_referred_to(held: Held<'_>, hist: &Arc<Histogram>) -> bool {
    with(held, |list| list.refers_to(hist.id()))
}

/// Removes an auto-created histogram without references from the list, and returns it with the
/// section that it has kept.
pub(crate) fn take_idle(held: Held<'_>) -> Option<(Idle, Option<KeptUnbuffered>)> {
    // As in `remove`: what is left of the entry is dropped without the lock.
    let entry = with(held, |list| {
        let i = list
            .entries
            .iter()
            .position(|entry| entry.auto_created.is_some() && !list.refers_to(entry.hist.id()))?;

        list.remove(i)
    })?;

    let idle = Idle {
        id: entry.id,
        instance: entry.instance?,
        attached_to: entry.auto_created?,
    };

    Some((idle, entry.unbuffered))
}

impl Registry {
    fn remove(&mut self, i: usize) -> Option<Registration> {
        let entry = self.entries.remove(i).ok()?;

        self.keep_for_takers(&entry.hist);
        Some(entry)
    }

    /// Updates, in the histograms that this one takes variables of, the set of variables that are
    /// taken by histograms on the list.
    fn keep_for_takers(&self, hist: &Histogram) {
        for map in hist.program.sources.iter().map(|source| &source.hist.map) {
            let sources = self
                .entries
                .iter()
                .flat_map(|entry| &entry.hist.program.sources);
            let taken = sources.filter(|source| ptr::eq(&source.hist.map, map));

            map.keep_for(taken.fold(VarSet::NONE, |all, source| all.union(source.once)));
        }
    }

    fn refers_to(&self, id: HistogramId) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.hist.spec.refers_to(id))
    }
}
