// SPDX-License-Identifier: GPL-2.0

//! The memory of histograms that have been removed and are not freed yet.
//!
//! A kernel thread of C frees triggers, when the hits that they were in are over. Without a limit a
//! program that creates and removes large histograms could use up all memory until then. So a
//! command that creates a histogram waits if too much is to be freed.
//!
//! # Locking
//!
//! Waiting happens with `event_mutex` held, which the thread does not take. So a task that needs
//! that mutex, as a reader that opens `hist`, waits as well: for a grace period. C waits for one
//! with `event_mutex` held for each trigger that it removes; here only a task waits that creates
//! histograms faster than they are freed. No reader prolongs it: a trigger, and its part of the
//! limit, is freed even if a reader still has its histogram.

use kernel::{
    new_condvar,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        CondVar,
        CondVarTimeoutResult,
        Mutex,
        SetOnce, //
    },
    time::msecs_to_jiffies, //
};

/// Most bytes of removed histograms when a new one is created.
const LIMIT: usize = 32 << 20;

/// Lower bound of the size of a trigger and its histogram without the map.
const BESIDES: usize = 16 << 10;

/// Timeout in milliseconds. Hits are over within a fraction of that: it is reached if a CPU is in
/// the kernel for so long that RCU reports a stall.
const TIMEOUT: u32 = 10_000;

/// The memory that is to be freed.
#[pin_data]
struct Backlog {
    #[pin]
    bytes: Mutex<usize>,
    #[pin]
    freed: CondVar,
}

/// There from [`init()`] on.
static BACKLOG: SetOnce<Arc<Backlog>> = SetOnce::new();

/// Creates the backlog, or does nothing if it exists.
pub(crate) fn init() -> Result {
    let backlog = pin_init!(Backlog {
        bytes <- new_mutex!(0, "hist_backlog"),
        freed <- new_condvar!("hist_backlog_freed"),
    });

    BACKLOG.populate(Arc::pin_init(backlog, GFP_KERNEL)?);
    Ok(())
}

/// Waits until the memory that is yet to be freed is below the limit.
///
/// # Errors
///
/// - `ERESTARTSYS` if a signal is pending.
/// - `ENOMEM` if it takes too long.
pub(crate) fn wait() -> Result {
    let Some(backlog) = BACKLOG.as_ref() else {
        return Ok(());
    };
    let mut left = msecs_to_jiffies(TIMEOUT);
    let mut bytes = backlog.bytes.lock();

    while *bytes > LIMIT {
        match backlog.freed.wait_interruptible_timeout(&mut bytes, left) {
            CondVarTimeoutResult::Woken { jiffies } => left = jiffies,
            CondVarTimeoutResult::Signal { .. } => return Err(ERESTARTSYS),
            CondVarTimeoutResult::Timeout => return Err(ENOMEM),
        }
    }
    Ok(())
}

/// The part of a trigger in the backlog: 0 until it is removed. It has to be dropped after what is
/// freed with the trigger.
pub(crate) struct Share(Atomic<usize>);

impl Share {
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Adds the map of a trigger that has just been removed, of `map` bytes.
    pub(crate) fn add(&self, map: usize) {
        let size = map.saturating_add(BESIDES);

        if let Some(backlog) = BACKLOG.as_ref() {
            let mut bytes = backlog.bytes.lock();

            *bytes = bytes.saturating_add(size);
            self.0.store(size, Relaxed);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // It was stored under the lock or by this thread; the grace period orders it as well.
        let size = self.0.load(Relaxed);

        if let (Some(backlog), true) = (BACKLOG.as_ref(), size > 0) {
            let mut bytes = backlog.bytes.lock();

            *bytes = bytes.saturating_sub(size);
            backlog.freed.notify_all();
        }
    }
}
