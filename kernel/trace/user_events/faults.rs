// SPDX-License-Identifier: GPL-2.0

//! Page faults in the memory of others: where they are waited for, and how much is logged of them.
//!
//! A page that a user space server brings in (userfaultfd, FUSE) may take any time. So the faults
//! are on a queue of their own: on a queue of the system, as many as it runs at a time would stop
//! the work of all others.

use kernel::{
    prelude::*,
    sync::SetOnce,
    workqueue::{
        self,
        Queue, //
    },
};

/// The queue, present from [`init()`] on.
static QUEUE: SetOnce<&'static Queue> = SetOnce::new();

unsafe extern "C" {
    /// Returns `true` if the rate limit in `glue.c` permits a message. Any context.
    safe fn user_events_may_warn() -> bool;
}

/// Creates the queue. Its limit is the number of address spaces that are waited for at a time.
pub(super) fn init() -> Result {
    let queue = Queue::new_unbound(c"user_events", Queue::UNBOUND_MAX_ACTIVE)?;

    if QUEUE.populate(queue) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Returns the queue of work items that wait for pages.
pub(super) fn queue() -> &'static Queue {
    // Nothing is registered before `init()`.
    QUEUE.as_ref().copied().unwrap_or(workqueue::system_dfl())
}

/// Returns `true` if a message that a process can cause is to be logged now.
pub(super) fn may_warn() -> bool {
    user_events_may_warn()
}
