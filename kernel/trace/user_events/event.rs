// SPDX-License-Identifier: GPL-2.0

//! One user event and the references that keep it.
//!
//! Memory and existence are separate. The memory of a [`UserEvent`] belongs to its [`Arc`]s. Its
//! existence, which means that it can be found by name and has files in tracefs, depends on its
//! uses: an [`EventUse`] held by a file, by an enabled address or by an attached probe. Uses are
//! taken from the registry (under its lock) or from another use, so an event without uses that was
//! removed from the registry cannot be used again. A work item ([`unused`]) removes it.
//!
//! # Invariants
//!
//! An event is registered with tracing from before it can be found in the registry until after it
//! has been taken out of it.

use super::{
    counts::Counts,
    defs::{
        MULTI_SYSTEM,
        SYSTEM, //
    },
    enabler::{
        self,
        Enablers,
        Followed, //
    },
    listens,
    parse::Layout,
    patterns,
    switch::Switch,
    unused,
    validate::Validator, //
};
use core::num::NonZeroU16;
use kernel::{
    list::{
        impl_list_arc_safe,
        impl_list_item,
        AtomicTracker,
        ListArc,
        ListLinks,
        TryNewListArc, //
    },
    new_spinlock,
    prelude::*,
    str::BStr,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed, //
        },
        barrier::smp_mb,
        Arc,
        ArcBorrow,
        SpinLock, //
    },
    trace::{
        builtin::{
            dynevent::Kind,
            event::{
                Class,
                Definition,
                Event,
                Operations, //
            },
            impl_has_event, //
        },
        event_mutex::Held, //
    },
};

/// The class of the events of single formats.
static SINGLE: Class<UserEvent> = Class::new(SYSTEM);
/// The class of the events of several formats.
static MULTI: Class<UserEvent> = Class::new(MULTI_SYSTEM);

/// The kind of dynamic events that user events are. Their commands are in [`super::dynevent`].
pub(crate) static KIND: Kind<UserEvent> = Kind::new();

// As large as an object of its slab cache, with the reference count.
#[cfg(CONFIG_64BIT)]
static_assert!(size_of::<enabler::Enabler<UserEvent>>() <= 64 - 8);

/// A user event.
#[pin_data]
pub(crate) struct UserEvent {
    /// The trace event; its name differs from `name` for multi-format events.
    event: Event<UserEvent>,
    /// Length of the name that it was registered by, which the name of the trace event begins with.
    name_len: u16,
    /// One of several events that share a name.
    multi: bool,
    /// Stays without uses until it is deleted.
    persist: Atomic<bool>,
    /// A registration was successful.
    confirmed: Atomic<bool>,
    /// The lines of `set_user_event` have been reverted for it, as it is about to be removed.
    reverted: Atomic<bool>,
    /// Number of [`EventUse`]s and attached probes.
    uses: Atomic<usize>,
    /// Number of [`EventUse`]s.
    users: Atomic<usize>,
    /// [`listens`] bits; written under `event_mutex`.
    status: Atomic<u32>,
    /// Minimum size of a record, in bytes.
    min_size: usize,
    /// Checks of a record.
    validators: Pin<KBox<[Validator]>>,
    /// The counters of its records.
    counts: Counts,
    /// The enabled addresses that follow this event.
    #[pin]
    enablers: SpinLock<Enablers<UserEvent>>,
    /// Links in a list of the registry, after the last use was dropped.
    #[pin]
    links: ListLinks,
    #[pin]
    tracker: AtomicTracker,
    /// Links in the list of the events that only lines of `set_user_event` keep.
    #[pin]
    kept_links: ListLinks<KEPT>,
    #[pin]
    kept_tracker: AtomicTracker<KEPT>,
}

/// The id of the list in `registry/kept.rs`.
pub(crate) const KEPT: u64 = 1;

impl_list_arc_safe! {
    impl ListArcSafe<0> for UserEvent { tracked_by tracker: AtomicTracker; }
    impl ListArcSafe<1> for UserEvent { tracked_by kept_tracker: AtomicTracker<KEPT>; }
}

impl_list_item! {
    impl ListItem<0> for UserEvent { using ListLinks { self.links }; }
    impl ListItem<1> for UserEvent { using ListLinks { self.kept_links }; }
}

impl_has_event! {
    impl HasEvent for UserEvent { self.event }
}

/// The description of a new event. The event copies the texts.
pub(crate) struct Description<'a> {
    /// Length of the name of the registration, which `tracepoint` begins with.
    pub(crate) name_len: u16,
    /// Canonical text of the fields.
    pub(crate) signature: &'a [u8],
    /// Name of the tracepoint.
    pub(crate) tracepoint: &'a [u8],
    /// Print format of the `format` file.
    pub(crate) print_fmt: &'a [u8],
    /// The record.
    pub(crate) layout: Layout<'a>,
    /// One of several events with this name.
    pub(crate) multi: bool,
}

impl UserEvent {
    /// Creates an event that is not registered with tracing yet.
    pub(crate) fn new(d: Description<'_>) -> Result<Arc<Self>> {
        let Layout {
            fields,
            validators,
            min_size,
        } = d.layout;
        let class = if d.multi { &MULTI } else { &SINGLE };
        let definition = Definition {
            name: d.tracepoint,
            print_fmt: d.print_fmt,
            fields: &fields,
            note: d.signature,
        };

        Arc::pin_init(
            try_pin_init!(Self {
                // SAFETY: No record has less than `min_size`, which is where the last field ends;
                // and the places that fields say, and the strings there, are what `validators` ask
                // for, or the record is refused.
                event: unsafe { Event::new(class, definition)? },
                name_len: d.name_len,
                multi: d.multi,
                persist: Atomic::new(false),
                confirmed: Atomic::new(false),
                reverted: Atomic::new(false),
                uses: Atomic::new(0),
                users: Atomic::new(0),
                status: Atomic::new(0),
                min_size,
                validators,
                counts: Counts::new(),
                enablers <- new_spinlock!(Enablers::new(), "UserEvent::enablers"),
                links <- ListLinks::new(),
                tracker <- AtomicTracker::new(),
                kept_links <- ListLinks::new(),
                kept_tracker <- AtomicTracker::new(),
            }? Error),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Returns the classes of all events.
    pub(crate) fn classes() -> [&'static Class<Self>; 2] {
        [&SINGLE, &MULTI]
    }

    /// Returns the trace event.
    #[inline]
    pub(crate) fn trace(&self) -> &Event<Self> {
        &self.event
    }

    /// Returns the name that the event was registered by.
    pub(crate) fn name(&self) -> &BStr {
        let name = self.event.name().to_bytes();

        BStr::from_bytes(name.get(..usize::from(self.name_len)).unwrap_or(name))
    }

    /// Returns the fields as canonical text, see [`super::canonical_fields`].
    pub(crate) fn canonical_fields(&self) -> &CStr {
        self.event.note()
    }

    /// Returns `true` if the event is one of several that may share a name.
    pub(crate) fn is_multi(&self) -> bool {
        self.multi
    }

    /// Returns `true` if the event persists without uses.
    pub(crate) fn is_persistent(&self) -> bool {
        self.persist.load(Relaxed)
    }

    /// Sets the event to persist without uses, from now on.
    pub(crate) fn make_persistent(&self) {
        self.persist.store(true, Relaxed);
    }

    /// Returns `true` if a registration of the event was successful.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Relaxed) || self.is_persistent()
    }

    /// Records that a registration of the event was successful.
    pub(crate) fn confirm(&self) {
        self.confirmed.store(true, Relaxed);
    }

    /// Returns `true` if the lines of `set_user_event` have been reverted for the event.
    pub(crate) fn is_reverted(&self) -> bool {
        self.reverted.load(Relaxed)
    }

    /// Records if the lines of `set_user_event` have been reverted. Called with `event_mutex`
    /// held.
    pub(crate) fn set_reverted(&self, reverted: bool) {
        self.reverted.store(reverted, Relaxed);
    }

    /// Returns the shortest payload, in bytes.
    #[inline]
    pub(crate) fn min_size(&self) -> usize {
        self.min_size
    }

    /// Returns the checks that a record has to pass.
    #[inline]
    pub(crate) fn validators(&self) -> &[Validator] {
        &self.validators
    }

    /// Returns the counters of the event's records.
    #[inline]
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the [`listens`] bits.
    pub(crate) fn status(&self) -> u32 {
        self.status.load(Relaxed)
    }

    /// Returns `true` if the event has a use.
    pub(crate) fn is_used(&self) -> bool {
        self.uses() != 0
    }

    /// Returns the number of [`EventUse`]s and attached probes.
    pub(crate) fn uses(&self) -> usize {
        // Pairs with the decrement: observing no use implies observing all stores of the users.
        self.uses.load(Acquire)
    }

    /// Returns `true` if an [`EventUse`] exists.
    pub(crate) fn has_users(&self) -> bool {
        // As in `uses`.
        self.users.load(Acquire) != 0
    }

    /// Returns `true` if the event is in use: it has a use, a probe of other kernel code is
    /// attached, or an event probe or a trigger refers to it.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_used() || self.event.is_enabled() || self.event.is_referenced()
    }

    /// Returns `true` if the event may have no users, but be kept by lines of `set_user_event`.
    fn may_be_kept(&self) -> bool {
        patterns::exist() && !self.is_persistent()
    }

    fn hold(&self) {
        self.uses.add(1, Relaxed);
    }

    /// Drops a use, and returns `true` if it was the last one of an event that does not persist.
    #[must_use]
    fn release(&self) -> bool {
        self.uses.fetch_sub(1, Full) == 1 && !self.is_persistent()
    }

    /// Returns an event that was taken off the list of unused ones, before its uses are looked at.
    pub(crate) fn leave_list(event: ListArc<Self>) -> Arc<Self> {
        let event = event.into_arc();

        // Pairs with the decrement in `release()`, which precedes the attempt to add the event to
        // the list: an event that could not be added is seen without uses.
        smp_mb(Full);
        event
    }

    /// Updates `status` and the enabled words to the attached probes.
    ///
    /// The words have the right state if the event was on and still is, or was off. So a further
    /// listener, or an instance that is removed, neither visits words nor waits for processes.
    fn refresh(&self, held: Held<'_>) {
        let was_on = self.is_on();

        self.status.store(listens::to(&self.event), Relaxed);
        if self.is_on() != was_on {
            Switch::run(self, held);
        }
    }
}

// SAFETY: An `EventUse` refers to one event until it is dropped, and so do its clones. The list is
// a field of the event.
unsafe impl Followed for UserEvent {
    type Use = EventUse;

    fn enablers(&self) -> &SpinLock<Enablers<Self>> {
        &self.enablers
    }

    /// Returns `true` if ftrace or perf listens. A probe of other kernel code does not count, as
    /// it does not get the records.
    fn is_on(&self) -> bool {
        self.status() & (listens::FTRACE | listens::PERF) != 0
    }

    fn name(&self) -> &BStr {
        UserEvent::name(self)
    }
}

#[vtable]
impl Operations for UserEvent {
    fn kind() -> &'static Kind<Self> {
        &KIND
    }

    fn attaching(this: ArcBorrow<'_, Self>, _held: Held<'_>) -> Result {
        this.counts.allocate()
    }

    fn attached(this: ArcBorrow<'_, Self>, held: Held<'_>) {
        this.hold();
        this.refresh(held);
    }

    fn detached(this: ArcBorrow<'_, Self>, held: Held<'_>) {
        this.refresh(held);
        // What is left may be the listeners that lines have.
        let is_left = !this.has_users() && this.may_be_kept();
        if this.release() || is_left {
            unused::reap_later(this.into());
        }
    }
}

/// A use of an event: as long as one exists the event is not removed.
pub(crate) struct EventUse(Arc<UserEvent>);

impl EventUse {
    /// Takes a use of an event that is in the registry, whose lock the caller holds, or that is not
    /// shared yet.
    pub(super) fn new(event: Arc<UserEvent>) -> Self {
        event.users.add(1, Relaxed);
        event.hold();
        Self(event)
    }

    /// Returns the event, which this does not keep from being removed.
    pub(super) fn event(&self) -> Arc<UserEvent> {
        self.0.clone()
    }

    /// Returns a number that no other event has while this use is held.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an event that is not registered with tracing, which none is that is used.
    pub(crate) fn id(&self) -> Result<NonZeroU16> {
        NonZeroU16::new(self.0.event.type_id()).ok_or(ENODEV)
    }
}

impl Clone for EventUse {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Drop for EventUse {
    fn drop(&mut self) {
        let was_last_use = self.0.release();
        // After `uses`: when the last one is dropped, `uses` is the number of probes.
        let was_last = self.0.users.fetch_sub(1, Full) == 1;
        if was_last_use || (was_last && self.0.may_be_kept()) {
            unused::reap_later(self.0.clone());
        }
    }
}

impl core::ops::Deref for EventUse {
    type Target = UserEvent;

    #[inline]
    fn deref(&self) -> &UserEvent {
        &self.0
    }
}
