// SPDX-License-Identifier: GPL-2.0

//! Taking the enable bits of dead address spaces apart.
//!
//! The last user of an address space with many bits does not remove them itself: it adds the
//! [`MmState`] to a list, which takes no memory, and a work item removes the bits of all that are
//! there some milliseconds later. Until then a switch finds the sites, and skips them as the
//! address space has no user. The C implementation also leaves it to work items, one for each bit.

use super::{
    event::UserEvent,
    mm::MmState, //
};
use kernel::{
    impl_has_delayed_work,
    list::{
        List,
        ListArc, //
    },
    new_delayed_work, new_spinlock,
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
        WorkItem, //
    },
};

/// The time that the work item waits for more address spaces to die.
const DELAY_MS: u32 = 10;

/// The one reaper, present from [`init()`] on.
static REAPER: SetOnce<Arc<Reaper>> = SetOnce::new();

/// The dead address spaces whose bits are still registered.
#[pin_data]
struct Reaper {
    /// Nothing is taken under this lock, and nothing dropped.
    #[pin]
    dead: SpinLock<List<MmState<UserEvent>>>,
    #[pin]
    work: DelayedWork<Reaper>,
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self> for Reaper { self.work }
}

/// Creates the reaper.
pub(super) fn init() -> Result {
    let reaper = Arc::pin_init(
        pin_init!(Reaper {
            dead <- new_spinlock!(List::new(), "user_events::dead"),
            work <- new_delayed_work!("user_events::reaper"),
        }),
        GFP_KERNEL,
    )?;

    if REAPER.populate(reaper) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Releases the state of an address space that is exiting: it has no user any more, or no bit.
pub(super) fn release(mm: Arc<MmState<UserEvent>>) {
    if mm.close() {
        reap_later(mm);
    } else {
        mm.leave();
    }
}

/// Queues an address space for the removal of its bits.
fn reap_later(mm: Arc<MmState<UserEvent>>) {
    let (Some(reaper), Some(dead)) = (REAPER.as_ref(), ListArc::try_from_arc_or_drop(mm.clone()))
    else {
        // An address space dies once, and after `init()`.
        mm.leave();
        return;
    };

    reaper.dead.lock().push_back(dead);
    // If the work item is queued already, that run finds the address space.
    let _ =
        workqueue::system_dfl_long().enqueue_delayed(reaper.clone(), msecs_to_jiffies(DELAY_MS));
}

impl WorkItem for Reaper {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        loop {
            let Some(mm) = this.dead.lock().pop_front() else {
                break;
            };

            mm.leave();
        }
    }
}
