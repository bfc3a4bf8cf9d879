// SPDX-License-Identifier: GPL-2.0

//! All user events by name: looking up, creating, removing.
//!
//! The tree of events has a lock of its own that is only held to read or to change the tree.
//! Creating and removing an event also takes `event_mutex`, which serializes them; but registering
//! an existing event does not wait for `event_mutex`, which readers of large histograms, for
//! example, may hold for a long time.
//!
//! An event is removed in two steps: it is taken out of the tree if it has no uses, after which it
//! cannot be found, then it is unregistered from tracing. If tracing refuses it is returned to the
//! tree.
//!
//! The limit of events, `kernel.user_events_max`, counts the events in the tree.
//!
//! Events without uses are removed by a work item (`registry/reap.rs`). An event that only lines of
//! `set_user_event` keep stays, but not at the expense of others (`registry/evict.rs`).

mod events;
mod evict;
mod kept;
mod reap;

use self::{
    events::{
        Events,
        Node,
        Order,
        Ordered, //
    },
    kept::Kept, //
};
use super::{
    canonical_fields,
    defs::MULTI_SUFFIX_MAX,
    event::{
        Description,
        EventUse,
        UserEvent, //
    },
    num,
    parse,
    patterns::{
        self,
        Subject, //
    },
    print_fmt, //
};
use kernel::{
    capability::perfmon_capable,
    new_mutex, new_spinlock,
    prelude::*,
    str::BStr,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex,
        SetOnce,
        SpinLock, //
    },
    sysctl,
    trace::{
        builtin::event::{
            Class,
            Event, //
        },
        event_mutex::{
            self,
            Held, //
        },
        tracefs::{
            new_changes,
            Changes, //
        },
    },
};

/// Maximum number of events, `kernel.user_events_max`.
static MAX_EVENTS: Atomic<u32> = Atomic::new(32768);

/// The one registry, there from [`init()`] on.
static REGISTRY: SetOnce<Arc<Registry>> = SetOnce::new();

/// The events of the system.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    events: Mutex<Events<UserEvent>>,
    /// Events that only lines of `set_user_event` keep.
    #[pin]
    kept: SpinLock<Kept>,
    /// The events that were created and removed.
    #[pin]
    changes: Changes,
}

/// Creates the registry.
pub(crate) fn init() -> Result {
    let registry = Arc::pin_init(
        try_pin_init!(Registry {
            events <- new_mutex!(Events::new(), "user_events::registry"),
            kept <- new_spinlock!(Kept::new(), "user_events::kept"),
            changes <- new_changes!("user_events::changes"),
        }? Error),
        GFP_KERNEL,
    )?;

    if REGISTRY.populate(registry) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Creates `kernel.user_events_max` and `kernel.user_events_kept_max`.
pub(crate) fn init_sysctl() {
    for (name, limit) in [
        (c"user_events_max", &MAX_EVENTS),
        (c"user_events_kept_max", &kept::MAX),
    ] {
        match sysctl::register_uint(c"kernel", name, 0o644, limit) {
            // It stays as long as the kernel runs.
            Ok(registration) => core::mem::forget(registration),
            Err(_) => pr_warn!("could not register kernel.{}\n", name),
        }
    }
}

/// Returns the registry; no code of this crate runs before it is created.
pub(crate) fn get() -> Result<&'static Arc<Registry>> {
    REGISTRY.as_ref().ok_or(ENOENT)
}

/// The options of a registration for its event.
#[derive(Clone, Copy)]
pub(crate) struct RegisterFlags {
    /// `USER_EVENT_REG_PERSIST`: it shall stay until it is deleted.
    pub(crate) persist: bool,
    /// `USER_EVENT_REG_MULTI_FORMAT`: other events may have the same name.
    pub(crate) multi: bool,
}

impl Ordered for UserEvent {
    fn order(&self) -> Order<'_> {
        Order {
            name: self.name(),
            fields: self.is_multi().then(|| self.canonical_fields().to_bytes()),
        }
    }
}

impl Subject for UserEvent {
    fn classes() -> [&'static Class<Self>; 2] {
        Self::classes()
    }

    fn event(&self) -> &Event<Self> {
        self.trace()
    }

    fn registered_name(&self) -> &BStr {
        self.name()
    }
}

impl Registry {
    /// Finds or creates an event as [`Registry::find_or_create`] does, without removing an event
    /// that is in the way.
    fn find_or_make(&self, command: &[u8], wanted: RegisterFlags) -> Result<EventUse> {
        let (name, args) = parse::split(command)?;
        if wanted.persist && !perfmon_capable() {
            return Err(EPERM);
        }
        parse::check_name(name, wanted.multi)?;

        // The fields tell events of several formats apart, so these are looked up by them.
        let formats = if wanted.multi {
            Some(canonical_fields::of_args(args)?)
        } else {
            None
        };
        let order = Order {
            name,
            fields: formats.as_deref(),
        };
        let added = {
            let events = self.events.lock();
            let found = events.find(&order, |event| {
                wanted.multi || canonical_fields::is_of(event.canonical_fields(), args)
            })?;

            if let Some(event) = found {
                let event = EventUse::new(event);

                drop(events);
                kept::restore_now(&event);
                return Ok(event);
            }
            events.added()
        };

        self.publish(self.make(name, args, formats)?, added)
    }

    /// Registers an event that is not shared yet, or finds the same one, which another task may
    /// have created since the registry counted `added` events.
    fn publish(&self, event: Arc<UserEvent>, added: u64) -> Result<EventUse> {
        let node = Node::new(event.clone())?;

        // What its first listener needs: with `event_mutex` held nothing is charged to the task.
        if patterns::any_matches(&*event) {
            event.counts().allocate()?;
        }

        let mut guard = event_mutex::lock();

        {
            let events = self.events.lock();

            // Another task may have created it concurrently; from here on none can.
            if events.added() != added {
                let found = events.find(&event.order(), |other| {
                    other.canonical_fields() == event.canonical_fields()
                })?;

                if let Some(event) = found {
                    let event = EventUse::new(event);

                    drop(events);

                    let pending = kept::restore(&event, &mut guard);

                    drop(guard);
                    patterns::finish(&*event, pending);
                    return Ok(event);
                }
            }
            if events.count() >= MAX_EVENTS.load(Relaxed) {
                return Err(EMFILE);
            }
        }

        Event::register(event.as_arc_borrow(), guard.held())?;
        // The first use is taken before another task can find the event and drop its own.
        let event = EventUse::new(event);
        // No other task can find the event without its listeners, but for those that the task has
        // to wait for memory for.
        let pending = patterns::apply(&*event, &mut guard);
        self.events.lock().insert(node);
        self.changes.notify();
        drop(guard);
        patterns::finish(&*event, pending);

        Ok(event)
    }

    /// Creates an event, one of several formats if it has a signature. It is not shared yet.
    fn make(
        &self,
        name: &[u8],
        args: Option<&[u8]>,
        formats: Option<KVec<u8>>,
    ) -> Result<Arc<UserEvent>> {
        let layout = parse::fields(args)?;
        let print_fmt = print_fmt::text(&layout)?;
        let unique;
        let (tracepoint, multi, signature) = match formats {
            Some(signature) => {
                unique = self.unique_name(name)?;
                (&unique[..], true, signature)
            }
            None => (name, false, canonical_fields::of_args(args)?),
        };

        UserEvent::new(Description {
            name_len: u16::try_from(name.len())?,
            signature: &signature,
            tracepoint,
            print_fmt: &print_fmt,
            layout,
            multi,
        })
    }

    /// Returns a name for the trace event of one of several events called `name`.
    fn unique_name(&self, name: &[u8]) -> Result<KVec<u8>> {
        let len = name.len().saturating_add(MULTI_SUFFIX_MAX);
        let mut unique = KVec::with_capacity(len, GFP_KERNEL)?;
        let id = self.events.lock().next_multi_id();

        unique.extend_from_slice(name, GFP_KERNEL)?;
        unique.push(b'.', GFP_KERNEL)?;
        unique.extend_from_slice(num::hex(id, &mut [0; 16]), GFP_KERNEL)?;
        Ok(unique)
    }

    /// Deletes all events called `name`, or none of them.
    ///
    /// # Errors
    ///
    /// `ENOENT` if no event has this name, `EBUSY` if one is used, `EPERM` if one is persistent and
    /// the caller may not delete it.
    pub(crate) fn delete(&self, name: &[u8]) -> Result {
        let guard = event_mutex::lock();
        let held = guard.held();
        let mut doomed = {
            let mut events = self.events.lock();
            let mut found = false;

            events.try_for_each_named(name, |event| {
                found = true;
                Self::check_deletable(event)
            })?;
            if !found {
                return Err(ENOENT);
            }
            events.remove_named(name)
        };

        let mut result = Ok(());
        while let Some((event, node)) = doomed.pop() {
            if result.is_ok() {
                result = event.trace().unregister(held);
                if result.is_ok() {
                    self.gone(&event);
                    continue;
                }
            }
            self.events.lock().insert(node);
        }
        result
    }

    /// Deletes one event, as its entry in `dynamic_events` is deleted.
    pub(crate) fn delete_one(&self, event: &UserEvent, held: Held<'_>) -> Result {
        self.remove_if(event, held, Self::check_deletable)
    }

    fn check_deletable(event: &UserEvent) -> Result {
        if event.is_busy() {
            return Err(EBUSY);
        }
        if event.is_persistent() && !perfmon_capable() {
            return Err(EPERM);
        }
        Ok(())
    }

    fn remove_if(
        &self,
        event: &UserEvent,
        held: Held<'_>,
        check: impl FnOnce(&UserEvent) -> Result,
    ) -> Result {
        let node = {
            let mut events = self.events.lock();

            // Uses are taken under this lock, so what is unused now is out of reach then.
            check(event)?;
            events.remove(event).ok_or(ENOENT)?
        };

        event
            .trace()
            .unregister(held)
            .inspect(|()| self.gone(event))
            .inspect_err(|_| self.events.lock().insert(node))
    }

    /// Removes an event that was unregistered from the list of kept ones, and notifies readers.
    fn gone(&self, event: &UserEvent) {
        self.kept.lock().remove(event);
        self.changes.notify();
    }

    /// Returns the changes of the registry: creation and removal of events.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Calls `f` with every event, in the order of their names, under the lock of the registry.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&UserEvent)) {
        for event in self.events.lock().iter() {
            f(event);
        }
    }
}
