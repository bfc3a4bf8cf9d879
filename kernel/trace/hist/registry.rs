// SPDX-License-Identifier: GPL-2.0

//! All histograms that are attached to an event: their names, their variables, and which of them
//! refer to which.
//!
//! Everything runs with `event_mutex` held, so what is found stays true while it is acted on; the
//! lock of the registry itself is only held to look at the list or to change it.
//!
//! A histogram with variables or references keeps user space from removing the instance that it is
//! attached in.

use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        Arc,
        Mutex,
        SetOnce, //
    },
    trace::{
        event_file::EventFile,
        event_mutex::Held,
        instance::{
            Instance,
            InstanceRef, //
        },
    },
};

use super::{
    data::Hist,
    field::Owner, //
};

/// The one registry, there from [`init()`] on.
static REGISTRY: SetOnce<Arc<Mutex<List>>> = SetOnce::new();

/// What is attached.
struct List {
    entries: KVec<Entry>,
    /// Number of the last trigger that was entered.
    last: u64,
}

/// A trigger, by its number. The same histogram is there more than once if it has a name.
struct Entry {
    id: u64,
    hist: Arc<Hist>,
    /// Where it is attached, if it has variables or references.
    instance: Option<InstanceRef>,
    /// It was made for an action of another histogram.
    helper: Option<EventName>,
}

/// The event that a helper is attached to.
struct EventName {
    system: CString,
    event: CString,
}

/// Where a variable of some name is defined.
pub(crate) enum Defined {
    Nowhere,
    /// By this histogram, as the field with this index.
    Once(Arc<Hist>, usize),
    /// By several.
    Often,
}

/// A helper that nothing refers to any more, and that has left the registry.
pub(crate) struct Idle {
    pub(crate) id: u64,
    instance: InstanceRef,
    attached_to: EventName,
}

impl Idle {
    /// The event that it is attached to.
    pub(crate) fn file<'h>(&'h self, held: Held<'h>) -> Option<EventFile<'h>> {
        self.instance
            .get(held)
            .find_file(&self.attached_to.system, &self.attached_to.event)
    }
}

/// Makes the registry. It does nothing if there is one.
pub(crate) fn init() -> Result {
    let list = new_mutex!(
        List {
            entries: KVec::new(),
            last: 0,
        },
        "hist::registry"
    );

    REGISTRY.populate(Arc::pin_init(list, GFP_KERNEL)?);
    Ok(())
}

/// Looks at the list. What `look` drops must not be an entry: the last reference to a histogram or
/// to an instance takes other locks.
fn with<R>(_held: Held<'_>, look: impl FnOnce(&mut List) -> R) -> Option<R> {
    let list = REGISTRY.as_ref()?;

    Some(look(&mut list.lock()))
}

/// Adds a histogram that is about to be attached to `file`; returns the number for its trigger.
///
/// # Errors
///
/// - `ENOMEM`
/// - `ENODEV`, `EPERM` or `EBUSY` if it needs the instance, and that cannot be
///   [pinned](kernel::trace::instance::Instance::pin).
pub(crate) fn add(
    held: Held<'_>,
    file: EventFile<'_>,
    hist: &Arc<Hist>,
    helper: bool,
) -> Result<u64> {
    let instance = hist
        .spec
        .has_vars()
        .then(|| file.instance().pin())
        .transpose()?;
    let helper = helper
        .then(|| {
            Ok::<_, Error>(EventName {
                system: CString::try_from(file.system())?,
                event: CString::try_from(file.name())?,
            })
        })
        .transpose()?;

    // If there is no memory, what was made above is dropped without the lock.
    with(held, |list| list.entries.reserve(1, GFP_KERNEL)).ok_or(ENODEV)??;

    with(held, |list| {
        let id = list.last.wrapping_add(1);
        let entry = Entry {
            id,
            hist: hist.clone(),
            instance,
            helper,
        };

        list.last = id;
        list.entries.push(entry, GFP_KERNEL)?;
        Ok(id)
    })
    .ok_or(ENODEV)?
}

/// Takes a trigger off the list, and unpins the instance.
pub(crate) fn remove(held: Held<'_>, id: u64) {
    // The entry is dropped without the lock.
    let _entry = with(held, |list| {
        let i = list.entries.iter().position(|entry| entry.id == id)?;

        list.entries.remove(i).ok()
    });
}

/// The histogram with this name, `name=` included.
pub(crate) fn named(held: Held<'_>, name: &CStr) -> Option<Arc<Hist>> {
    with(held, |list| {
        list.entries
            .iter()
            .find(|entry| entry.hist.spec.name.as_ref().is_some_and(|n| **n == *name))
            .map(|entry| entry.hist.clone())
    })?
}

/// Finds the histogram that defines a variable in an instance.
pub(crate) fn find_var(held: Held<'_>, instance: Instance<'_>, name: &[u8]) -> Defined {
    let find = |list: &mut List| {
        let mut defined = Defined::Nowhere;

        for entry in &list.entries {
            if !entry.instance.as_ref().is_some_and(|i| *i == instance) {
                continue;
            }
            let Some(index) = entry.hist.spec.var_index(name) else {
                continue;
            };

            match &defined {
                Defined::Once(hist, _) if Arc::ptr_eq(hist, &entry.hist) => (),
                Defined::Nowhere => defined = Defined::Once(entry.hist.clone(), index),
                _ => return Defined::Often,
            }
        }
        defined
    };

    with(held, find).unwrap_or(Defined::Nowhere)
}

/// Whether a trigger has this histogram.
pub(crate) fn is_attached(held: Held<'_>, hist: &Arc<Hist>) -> bool {
    with(held, |list| {
        list.entries
            .iter()
            .any(|entry| Arc::ptr_eq(&entry.hist, hist))
    })
    .unwrap_or(false)
}

/// Whether another histogram refers to a variable of this one.
pub(crate) fn is_referred_to(held: Held<'_>, hist: &Arc<Hist>) -> bool {
    with(held, |list| list.refers_to(hist)).unwrap_or(false)
}

/// Takes a helper that nothing refers to off the list.
pub(crate) fn take_idle(held: Held<'_>) -> Option<Idle> {
    // As in `remove`: what is left of the entry is dropped without the lock.
    let entry = with(held, |list| {
        let i = list
            .entries
            .iter()
            .position(|entry| entry.helper.is_some() && !list.refers_to(&entry.hist))?;

        list.entries.remove(i).ok()
    })??;

    Some(Idle {
        id: entry.id,
        instance: entry.instance?,
        attached_to: entry.helper?,
    })
}

impl List {
    fn refers_to(&self, hist: &Arc<Hist>) -> bool {
        self.entries.iter().any(|entry| {
            entry
                .hist
                .spec
                .refs
                .iter()
                .any(|r| matches!(&r.owner, Owner::Other(other) if Arc::ptr_eq(other, hist)))
        })
    }
}
