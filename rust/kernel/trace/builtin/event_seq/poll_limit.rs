// SPDX-License-Identifier: GPL-2.0

//! A shortest time between two wake-ups of the pollers of a file.
//!
//! Pollers of such a file wait in a queue of its own. Once something was reported, hits find
//! nobody who waits, and cost nothing, until the interval has passed: a timer wakes the pollers
//! then. If there was no hit they are *armed*: an entry in the queue that hits wake, which leaves
//! that queue and wakes the pollers when it is.
//!
//! Each poll decides what the next wake-up is, and no wake-up has a state besides. So one that
//! finds no poller is not lost: it is the poll that looks at the hits.
//!
//! C header: [`include/linux/wait.h`](srctree/include/linux/wait.h).

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

/// Longest interval. So long may the memory outlive the file.
const INTERVAL_MAX: Msecs = 60_000;

/// The limit of a file.
///
/// # Invariants
///
/// `entry` is in the queue that hits wake, or its links refer to itself. It is changed by
/// [`arm`](Self::arm) and [`disarm`](Self::disarm), with `event_mutex` held, and with the lock of
/// the queue held.
#[pin_data(PinnedDrop)]
pub(super) struct PollLimit {
    interval: Msecs,
    /// The time of the last report, in nanoseconds.
    reported: Atomic<i64>,
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
        this.pollers.notify_all();
    }
}

impl PollLimit {
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

    /// Polls the file; `asked` is what the poller waits for, and `news` returns the present events.
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
        // This ends with a full barrier if it adds the poller, which thus sees what comes.
        wait.register_wait(file, &self.pollers);
        self.disarm();

        // SAFETY: There are no requirements.
        let now = unsafe { bindings::ktime_get() };
        let left = self.left(now);

        if left > 0 {
            // If it is queued already, it comes earlier, and the pollers poll again.
            let timer = msecs_to_jiffies(left).saturating_add(1);
            let _ = workqueue::system_dfl().enqueue_delayed(self.clone(), timer);

            return 0;
        }

        self.arm();

        let events = news();

        if events & asked != 0 {
            self.disarm();
            self.reported.store(now, Relaxed);
        }
        events
    }

    /// Returns how long nothing is to be reported.
    fn left(&self, now: i64) -> Msecs {
        let passed = now.saturating_sub(self.reported.load(Relaxed)) / NSEC_PER_MSEC;

        match u32::try_from(passed) {
            Ok(passed) => self.interval.saturating_sub(passed),
            Err(_) => 0,
        }
    }

    /// Has the next hit wake the pollers. Hits that were not seen in the count after this do.
    fn arm(&self) {
        // SAFETY: By the type invariant the entry is in no queue, as `disarm` was called since
        // `arm` with `event_mutex` held. It is removed before it is freed.
        unsafe { bindings::add_wait_queue(&raw mut bindings::hist_poll_wq, self.entry.get()) };
        // Pairs with the barrier of a hit, as the one in `poll_wait()` does: the hit sees the entry
        // or is counted in what is read from here on.
        smp_mb(Full);
    }

    /// Has no hit wake the pollers.
    fn disarm(&self) {
        // SAFETY: The entry is in the queue, or linked to itself, which can be removed from itself.
        // The queue's lock is taken, so `woken` is over and will not be called again. Nobody else
        // uses the entry then.
        unsafe {
            bindings::remove_wait_queue(&raw mut bindings::hist_poll_wq, self.entry.get());
            bindings::INIT_LIST_HEAD(&raw mut (*self.entry.get()).entry);
        }
    }

    /// Wakes the pollers once.
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

        this.pollers.notify_all();
        0
    }
}

#[pinned_drop]
impl PinnedDrop for PollLimit {
    fn drop(self: Pin<&mut Self>) {
        self.disarm();
    }
}
