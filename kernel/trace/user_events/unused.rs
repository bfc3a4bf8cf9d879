// SPDX-License-Identifier: GPL-2.0

//! Events that have lost their last use, until the registry has looked at them.
//!
//! The last use of an event may be dropped in the middle of what tracing does with the event, and
//! the event may be used again soon. So it is only listed here, and a work item removes it. The
//! function of the work item is in `registry/reap.rs`.
//!
//! # Locking
//!
//! The lock of the lists is a spinlock. Nothing is taken and no event is freed under it.

use super::event::UserEvent;
use kernel::{
    impl_has_delayed_work, impl_has_work,
    list::{
        List,
        ListArc, //
    },
    new_delayed_work, new_spinlock, new_work,
    prelude::*,
    sync::{
        Arc,
        SetOnce,
        SpinLock, //
    },
    time::msecs_to_jiffies,
    workqueue::{
        self,
        DelayedWork,
        Work, //
    },
};

/// The delay before looking again at events that tracing did not release: after an event has lost
/// its last reference, and each time that another reason than a reference keeps one.
const SWEEP_MS: u32 = 500;

/// The one object of its type, present from [`init()`] on.
static UNUSED: SetOnce<Arc<Unused>> = SetOnce::new();

/// Events that have lost their last use. Each is on one of the lists, once.
struct Lists {
    /// Those that the work item has to look at.
    events: List<UserEvent>,
    /// Those that it removes next, the newest last.
    doomed: List<UserEvent>,
    /// Events that tracing did not release.
    refused: List<UserEvent>,
}

/// The events without a use, and the work items that look at them.
#[pin_data]
pub(crate) struct Unused {
    #[pin]
    lists: SpinLock<Lists>,
    /// Removes the events.
    #[pin]
    reap: Work<Unused, REAP>,
    /// Looks again at refused events, `SWEEP_MS` later.
    #[pin]
    sweep: DelayedWork<Unused, SWEEP>,
}

/// The id of the work item that removes events.
pub(crate) const REAP: u64 = 0;

/// The id of the work item that has refused events looked at again.
pub(crate) const SWEEP: u64 = 1;

impl_has_work! {
    impl HasWork<Self, REAP> for Unused { self.reap }
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self, SWEEP> for Unused { self.sweep }
}

/// Prepares for the first event. Called once, while the kernel boots.
pub(super) fn init() -> Result {
    let unused = Arc::pin_init(
        pin_init!(Unused {
            lists <- new_spinlock!(
                Lists {
                    events: List::new(),
                    doomed: List::new(),
                    refused: List::new(),
                },
                "user_events::unused"
            ),
            reap <- new_work!("user_events::reap"),
            sweep <- new_delayed_work!("user_events::sweep"),
        }),
        GFP_KERNEL,
    )?;

    if UNUSED.populate(unused) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Returns the unused events; no event exists before [`init()`].
pub(crate) fn get() -> Option<&'static Arc<Unused>> {
    UNUSED.as_ref()
}

/// Queues an event without uses for removal, unless it is used again. Any context except
/// interrupts.
pub(crate) fn reap_later(event: Arc<UserEvent>) {
    let Some(unused) = get() else {
        return;
    };

    // One that is on a list is looked at after this.
    if let Some(event) = ListArc::try_from_arc_or_drop(event) {
        unused.lists.lock().events.push_back(event);
    }
    Unused::queue(unused);
}

/// Queues a later look at the refused events, as an event has lost its last reference. Any context
/// except interrupts.
///
/// Either this finds an event on the list, or the work item that has listed it sees it without a
/// reference: both take the lock of the lists in between.
pub(super) fn unreferenced() {
    let Some(unused) = get() else {
        return;
    };
    let is_any = !unused.lists.lock().refused.is_empty();

    // Not now, as a caller may drop the reference in order to delete the event next.
    if is_any {
        Unused::sweep_later(unused);
    }
}

impl Unused {
    /// Queues the work item. If it is queued already, that run processes the list.
    ///
    /// It waits for `event_mutex`, and many events may be listed: it may run for long.
    fn queue(this: &Arc<Self>) {
        let _ = workqueue::system_dfl_long().enqueue::<_, REAP>(this.clone());
    }

    /// Queues the work item to process, in a while, the events that tracing did not release.
    pub(crate) fn sweep_later(this: &Arc<Self>) {
        let _ = workqueue::system_dfl_long()
            .enqueue_delayed::<_, SWEEP>(this.clone(), msecs_to_jiffies(SWEEP_MS));
    }

    /// Queues the work item to process, now, the events that tracing did not release before.
    pub(crate) fn look_again(this: &Arc<Self>) {
        {
            let mut lists = this.lists.lock();
            let Lists {
                events, refused, ..
            } = &mut *lists;

            events.push_all_back(refused);
        }
        Self::queue(this);
    }

    /// Takes all events that are to be looked at.
    pub(crate) fn take(&self) -> List<UserEvent> {
        let mut events = List::new();

        events.push_all_back(&mut self.lists.lock().events);
        events
    }

    /// Takes the next event that is to be looked at.
    pub(crate) fn next(&self) -> Option<ListArc<UserEvent>> {
        self.lists.lock().events.pop_front()
    }

    /// Lists an event as to be removed next.
    pub(crate) fn doom(&self, event: ListArc<UserEvent>) {
        self.lists.lock().doomed.push_back(event);
    }

    /// Takes the next event to be removed from its list, the newest first, as tracing searches the
    /// files of an event in lists that begin with those of the newest one.
    pub(crate) fn next_doomed(&self) -> Option<ListArc<UserEvent>> {
        self.lists.lock().doomed.pop_back()
    }

    /// Lists an event that tracing did not release.
    pub(crate) fn refuse(&self, event: ListArc<UserEvent>) {
        self.lists.lock().refused.push_back(event);
    }
}
