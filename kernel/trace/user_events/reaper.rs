// SPDX-License-Identifier: GPL-2.0

//! Taking the enable bits of dead address spaces apart.
//!
//! The last user of an address space with many bits does not remove them itself: it adds the
//! [`MmState`] to a list, which takes no memory, and a work item removes the bits of all that are
//! there some milliseconds later. Until then a switch finds the enablers, and skips them as the
//! address space has no user. The C implementation also leaves it to work items, one for each bit.
//!
//! One work item can be slower than the tasks of several CPUs. So the list is limited: beyond
//! [`MAX_DEAD`] bits a task that exits removes its bits itself, however many it has.

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
        atomic::{
            Atomic,
            Relaxed, //
        },
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

/// The last user of an address space with at most so many bits removes them itself.
const FEW: usize = 8;

/// Number of bits on the list from which on no address space is added to it.
const MAX_DEAD: usize = 1 << 16;

/// The one reaper, present from [`init()`] on.
static REAPER: SetOnce<Arc<Reaper>> = SetOnce::new();

/// The dead address spaces whose bits are still registered.
#[pin_data]
struct Reaper {
    /// Nothing is taken under this lock, and nothing dropped.
    #[pin]
    dead: SpinLock<List<MmState<UserEvent>>>,
    /// Number of their bits.
    bits: Atomic<usize>,
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
            bits: Atomic::new(0),
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

/// Releases the state of an address space that is exiting: it has lost its last user, or has no
/// bit.
///
/// # Context
///
/// May sleep, as [`MmState::leave`] takes mutexes.
pub(super) fn release(mm: Arc<MmState<UserEvent>>) {
    let bits = MmState::close(&mm);

    if bits <= FEW || !reap_later(&mm, bits) {
        mm.leave();
    }
}

/// Queues the removal of the bits of an address space, so many. Returns `false` if too many of
/// others are queued.
fn reap_later(mm: &Arc<MmState<UserEvent>>, bits: usize) -> bool {
    let Some(reaper) = REAPER.as_ref() else {
        return false;
    };

    // Its set has no other user, so the number does not change until it leaves the set.
    let has_room = reaper.bits.fetch_add(bits, Relaxed) < MAX_DEAD;
    let dead = if has_room {
        ListArc::try_from_arc_or_drop(mm.clone())
    } else {
        None
    };
    // An address space dies once, so it is in no list.
    let Some(dead) = dead else {
        reaper.bits.fetch_sub(bits, Relaxed);
        return false;
    };

    reaper.dead.lock().push_back(dead);
    // If the work item is queued already, that run finds the address space.
    let _ =
        workqueue::system_dfl_long().enqueue_delayed(reaper.clone(), msecs_to_jiffies(DELAY_MS));
    true
}

impl WorkItem for Reaper {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        loop {
            let Some(mm) = this.dead.lock().pop_front() else {
                break;
            };

            this.bits.fetch_sub(mm.leave(), Relaxed);
        }
    }
}
