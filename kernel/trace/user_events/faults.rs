// SPDX-License-Identifier: GPL-2.0

//! Page faults in the memory of others: where they are waited for, and how much is logged of them.
//!
//! A page that a user space server brings in (userfaultfd, FUSE) may take any time. So the faults
//! are on a queue of their own: on a queue of the system, as many as it runs at a time would stop
//! the work of all others.

use kernel::{
    bindings,
    prelude::*,
    sync::SetOnce,
    workqueue::{
        self,
        Queue, //
    },
};

/// The queue, present from [`init()`] on.
static QUEUE: SetOnce<&'static Queue> = SetOnce::new();

/// The number of address spaces whose pages are waited for at a time: as many as a queue can have.
const MAX_ACTIVE: c_int = bindings::wq_consts_WQ_UNBOUND_MAX_ACTIVE as c_int;

// SAFETY: `glue.c` defines the function with this type, for any context.
unsafe extern "C" {
    safe fn user_events_may_warn() -> bool;
}

/// Creates the queue.
pub(super) fn init() -> Result {
    if QUEUE.populate(Queue::new_unbound(c"user_events", MAX_ACTIVE)?) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Returns the queue of work items that wait for pages.
pub(super) fn queue() -> &'static Queue {
    // Nothing is registered before `init()`.
    QUEUE
        .as_ref()
        .copied()
        .unwrap_or(workqueue::system_unbound())
}

/// Returns `true` if a message that a process can cause is to be logged now.
pub(super) fn may_warn() -> bool {
    user_events_may_warn()
}
