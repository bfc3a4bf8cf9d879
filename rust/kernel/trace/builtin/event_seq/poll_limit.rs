// SPDX-License-Identifier: GPL-2.0

//! A shortest time between two wake-ups of the pollers of a file.
//!
//! Pollers of such a file wait in a queue of its own. One entry in the queue that hits wake is for
//! all of them. The first hit takes it out, so those after it cost nothing until the next poll.
//!
//! A poll looks at the count, and before that adds the entry, if it is not in the queue still: so a
//! hit is in the count or takes the entry out. If it reports something a [`Gate`] is closed and a
//! timer started, both for the interval. Polls until then do not look at the count but repeat that
//! the file can be read. A hit that takes the entry out wakes the pollers if the gate is open.
//! Otherwise the timer does, which opens it, or a poll that looks at the count before. So the first
//! hit after a poll is followed by a wake-up of all pollers, at the latest when an interval has
//! passed, whichever of them polls. Without a hit the timer runs once.
//!
//! C header: [`include/linux/wait.h`](srctree/include/linux/wait.h).

use super::gate::Gate;
use crate::{
    bindings,
    container_of,
    fs::File,
    new_poll_condvar,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        barrier::{
            smp_mb,
            Full, //
        },
        poll::{
            PollCondVar,
            PollTable, //
        },
        Arc, //
    },
    time::{
        msecs_to_jiffies,
        Msecs,
        NSEC_PER_MSEC, //
    },
    types::Opaque,
    workqueue::{
        self,
        impl_has_delayed_work,
        new_delayed_work,
        DelayedWork,
        WorkItem, //
    }, //
};

/// The events of a file with something to read.
const READABLE: u32 = bindings::EPOLLIN | bindings::EPOLLRDNORM;

/// Longest interval. So long may the memory outlive the file.
const INTERVAL_MAX: Msecs = 60_000;

/// The limit of a file.
///
/// # Invariants
///
/// `entry` is in the queue that hits wake, or its links refer to itself. It is changed by
/// [`arm`](Self::arm) and [`disarm`](Self::disarm), with `event_mutex` held, and with the lock of
/// the queue held.
///
/// If `gate` is closed, `timer` is pending or running, or will be before `event_mutex` is released.
#[pin_data(PinnedDrop)]
pub(super) struct PollLimit {
    interval: Msecs,
    /// The time of the last report, in nanoseconds.
    reported: Atomic<i64>,
    /// Those of [`READABLE`] that were reported then.
    readable: Atomic<u32>,
    /// The last report before the file was read.
    read: Atomic<i64>,
    gate: Gate,
    #[pin]
    pollers: PollCondVar,
    #[pin]
    timer: DelayedWork<Self>,
    #[pin]
    entry: Opaque<bindings::wait_queue_entry>,
}

// SAFETY: The entry is only changed as the invariant says; the rest can be sent.
unsafe impl Send for PollLimit {}
// SAFETY: As above; the rest can be shared.
unsafe impl Sync for PollLimit {}

impl_has_delayed_work! {
    impl HasDelayedWork<Self> for PollLimit { self.timer }
}

impl WorkItem for PollLimit {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        if this.gate.open() {
            this.pollers.notify_all();
        }
    }
}

impl PollLimit {
    /// Creates the limit of one file to a report per `interval`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an interval of 0, or one that is too long.
    pub(super) fn new(interval: Msecs) -> Result<Arc<Self>> {
        if !(1..=INTERVAL_MAX).contains(&interval) {
            return Err(EINVAL);
        }
        Arc::pin_init(
            // INVARIANT: The links refer to the entry itself.
            pin_init!(Self {
                interval,
                reported: Atomic::new(i64::MIN),
                readable: Atomic::new(0),
                read: Atomic::new(i64::MIN),
                gate: Gate::new(),
                pollers <- new_poll_condvar!("PollLimit::pollers"),
                timer <- new_delayed_work!("PollLimit::timer"),
                // SAFETY: `slot` is valid for writes of an entry.
                entry <- Opaque::ffi_init(|slot: *mut bindings::wait_queue_entry| unsafe {
                    (*slot).flags = 0;
                    (*slot).private = core::ptr::null_mut();
                    (*slot).func = Some(Self::woken);
                    bindings::INIT_LIST_HEAD(&raw mut (*slot).entry);
                }),
            }),
            GFP_KERNEL,
        )
    }

    /// Polls the file. `asked` are the events that are waited for; `news` returns the present ones.
    ///
    /// # Locking
    ///
    /// `event_mutex` is held.
    pub(super) fn poll(
        self: &Arc<Self>,
        file: &File,
        wait: &PollTable<'_>,
        asked: u32,
        news: impl FnOnce() -> u32,
    ) -> u32 {
        wait.register_wait(file, &self.pollers);

        // SAFETY: The function has no safety requirements.
        let now = unsafe { bindings::ktime_get() };
        let left = self.left(now);

        if left > 0 {
            // The timer may have been started for an earlier report, and have expired too early.
            self.close(left);
            return self.unread();
        }

        // Others wait for these hits, too.
        if self.gate.look() {
            self.pollers.notify_all();
        }
        self.arm();

        let events = news();

        if events & asked != 0 {
            self.reported.store(now, Relaxed);
            self.readable.store(events & READABLE, Relaxed);
            self.close(self.interval);
        }
        events
    }

    /// Returns the last report, for [`has_read`](Self::has_read). `event_mutex` is held.
    pub(super) fn report(&self) -> i64 {
        self.reported.load(Relaxed)
    }

    /// Records that the file was read, with all hits that were seen by a report.
    pub(super) fn has_read(&self, report: i64) {
        self.read.store(report, Relaxed);
    }

    /// Returns the poll events for hits of the last report that were not read yet, or 0.
    fn unread(&self) -> u32 {
        if self.read.load(Relaxed) == self.reported.load(Relaxed) {
            0
        } else {
            self.readable.load(Relaxed)
        }
    }

    /// Holds wake-ups back for `time`, in milliseconds.
    fn close(self: &Arc<Self>, time: Msecs) {
        self.gate.close();
        // If it is pending already it opens the gate earlier. What is polled then closes it again.
        let timer = msecs_to_jiffies(time).saturating_add(1);
        let _ = workqueue::system_dfl().enqueue_delayed(self.clone(), timer);
    }

    /// Returns the time for which nothing is to be reported, in milliseconds from `now`.
    fn left(&self, now: i64) -> Msecs {
        let passed = now.saturating_sub(self.reported.load(Relaxed)) / NSEC_PER_MSEC;

        match u32::try_from(passed) {
            Ok(passed) => self.interval.saturating_sub(passed),
            Err(_) => 0,
        }
    }

    /// Arms the entry, by which the next hit is noted. Hits that are not seen in the count after
    /// this are.
    ///
    /// An entry that is in the queue stays there: other pollers have to be woken for a hit that is
    /// seen in the count here.
    fn arm(&self) {
        // SAFETY: The entry is valid. The links may be changed by `woken`, but to refer to the
        // entry itself, and only if they did not.
        let is_queued = unsafe { bindings::list_empty(&raw const (*self.entry.get()).entry) == 0 };

        // If a hit takes it out just now it is noted.
        if !is_queued {
            let queue = &raw mut bindings::hist_poll_wq;

            // SAFETY: The entry is in no queue: only this adds it, with `event_mutex` held. It is
            // removed before it is freed.
            unsafe { bindings::add_wait_queue(queue, self.entry.get()) };
        }
        // Pairs with the barrier of a hit, as the one in `poll_wait()` does: the hit sees the entry
        // or is counted in what is read from here on.
        smp_mb(Full);
    }

    /// Disarms the entry, so that no hit is noted.
    fn disarm(&self) {
        // SAFETY: The entry is in the queue, or linked to itself, which can be removed from itself.
        // The queue's lock is taken, so `woken` is over and will not be called again. No other
        // code uses the entry then.
        unsafe {
            bindings::remove_wait_queue(&raw mut bindings::hist_poll_wq, self.entry.get());
            bindings::INIT_LIST_HEAD(&raw mut (*self.entry.get()).entry);
        }
    }

    /// Called on a hit: leaves the queue, and wakes the pollers if the gate is open.
    ///
    /// # Safety
    ///
    /// `entry` must be that of a `Self`, and the lock of the queue that it is in be held.
    unsafe extern "C" fn woken(
        entry: *mut bindings::wait_queue_entry,
        _mode: c_uint,
        _flags: c_int,
        _key: *mut c_void,
    ) -> c_int {
        // SAFETY: By the safety requirements it is an entry in a queue whose lock is held.
        unsafe { bindings::list_del_init(&raw mut (*entry).entry) };
        // SAFETY: By the safety requirements it is that of a `Self`. It is removed, with the lock
        // held, before it is freed.
        let this = unsafe { &*container_of!(Opaque::cast_from(entry), Self, entry) };

        if this.gate.hit() {
            this.pollers.notify_all();
        }
        0
    }
}

#[pinned_drop]
impl PinnedDrop for PollLimit {
    fn drop(self: Pin<&mut Self>) {
        self.disarm();
    }
}
