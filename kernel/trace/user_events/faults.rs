// SPDX-License-Identifier: GPL-2.0

//! Page faults in the memory of others: where they are waited for, and how much is logged of them.
//!
//! A page that a user space server brings in (userfaultfd, FUSE) may take any time. So faults are
//! on queues of their own: on a queue of the system, as many as it runs at a time would stop the
//! work of all others.
//!
//! A work item that waits for a page has a thread until the page is present: nothing can end the
//! wait. So the number of threads has a limit, and those that can be stuck must not take all:
//!
//! - What need not wait for user space runs on a queue of its own ([`queue()`]), about two work
//!   items for each CPU at a time. That is most of the work: pages that are shared since a fork,
//!   and memory that was not touched yet.
//! - What may wait runs on one of the [`waiting()`] queues. Which one depends on the user: root has
//!   its own, and the others share [`GROUPS`] of them. So the processes of a user, and all that
//!   they fork, may hold up the words of that user, and of users of the same group, if they are in
//!   pages that have to be waited for as well.

use kernel::{
    cpu::nr_cpu_ids,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SetOnce, //
    },
    task::Kuid,
    workqueue::{
        self,
        Queue, //
    },
};

/// Number of address spaces for each CPU whose words are written at a time without waiting for user
/// space. They share the CPUs with the switch that has left the words to them.
const RUNNING_PER_CPU: u32 = 2;

/// Minimum and maximum of their number: a page may have to be copied, and memory be reclaimed for
/// it.
const MIN_RUNNING: u32 = 8;
const MAX_RUNNING: u32 = 64;

/// Number of address spaces of root that are waited for at a time.
const WAITING_OF_ROOT: c_int = 1024;

/// Number of queues of other users.
pub(super) const GROUPS: usize = 8;

/// Number of address spaces of a group of users that are waited for at a time.
const WAITING: c_int = 64;

/// The queues, present from [`init()`] on.
static QUEUES: SetOnce<Queues> = SetOnce::new();

/// Number of copies of pages in progress.
static COPIES: Atomic<u32> = Atomic::new(0);

struct Queues {
    running: &'static Queue,
    /// Number of its work items that may have a page copied that is one of a file: if it is taken
    /// away just then, the file is waited for.
    copying: u32,
    of_root: &'static Queue,
    groups: [&'static Queue; GROUPS],
    /// Keeps it secret which users are of one group.
    seed: u64,
    /// Returns `true` if a message may be logged.
    may_warn: fn() -> bool,
}

/// Creates the queues. `may_warn` is the rate limit of the messages that a process can cause; it is
/// called in any context.
pub(super) fn init(may_warn: fn() -> bool) -> Result {
    let of_root = Queue::new_unbound(c"user_events_root", WAITING_OF_ROOT)?;
    let mut groups = [of_root; GROUPS];

    for group in &mut groups {
        *group = Queue::new_unbound(c"user_events_wait", WAITING)?;
    }
    let running = nr_cpu_ids()
        .saturating_mul(RUNNING_PER_CPU)
        .clamp(MIN_RUNNING, MAX_RUNNING);
    let queues = Queues {
        // CAST: It is small.
        running: Queue::new_unbound(c"user_events", running as c_int)?,
        copying: running / 2,
        of_root,
        groups,
        seed: super::seed(),
        may_warn,
    };

    if QUEUES.populate(queues) {
        Ok(())
    } else {
        Err(EBUSY)
    }
}

/// Returns the queue of work items that do not wait for user space.
pub(super) fn queue() -> &'static Queue {
    // Nothing is registered before `init()`.
    QUEUES
        .as_ref()
        .map_or(workqueue::system_dfl(), |queues| queues.running)
}

/// Returns the queue of work items that may wait, for address spaces of the user of the current
/// task.
pub(super) fn waiting() -> &'static Queue {
    let Some(queues) = QUEUES.as_ref() else {
        return workqueue::system_dfl();
    };
    let user = Kuid::current_outermost().as_u32();
    let group = queues.groups.get(group(user, queues.seed));

    match group {
        Some(group) if user != 0 => group,
        _ => queues.of_root,
    }
}

/// Returns the group of a user other than root.
pub(super) fn group(user: u32, seed: u64) -> usize {
    // Multiplying by an odd number changes the high bits most.
    let hash = (u64::from(user) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;

    // CAST: It is less than `GROUPS`.
    (hash % GROUPS as u64) as usize
}

/// Calls `f`, which copies a page, and returns its result. Returns [`None`] if many others do that.
pub(super) fn try_copy<R>(f: impl FnOnce() -> R) -> Option<R> {
    let limit = QUEUES.as_ref().map_or(0, |queues| queues.copying);
    let is_free = COPIES.fetch_add(1, Relaxed) < limit;
    let result = is_free.then(f);

    COPIES.fetch_sub(1, Relaxed);
    result
}

/// Returns `true` if a message that a process can cause is to be logged now.
pub(super) fn may_warn() -> bool {
    QUEUES.as_ref().is_some_and(|queues| (queues.may_warn)())
}
