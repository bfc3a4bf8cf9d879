// SPDX-License-Identifier: GPL-2.0

//! Polling the `hist` file: a poller sees a hit, or is woken, also with an interval.
//!
//! The two barriers are in C: that of a hit in `rust_helper_hist_poll_idle()`, that of a poller in
//! `poll_wait()`. They are repeated here. The counting is that of the map.

use crate::{
    gate::Gate,
    map::Map,
    models_map::{
        map,
        map_of_counts,
        plain, //
    },
};
use kernel::{
    model::{
        shared,
        spawn,
        Check::{
            All,
            Every, //
        },
        Model, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        barrier::{
            smp_mb,
            Full, //
        },
        Arc,
        Mutex, //
    },
};

pub(crate) const MODELS: &[Model] = &[
    Model::with_cases("poll_hit", Every, 3, poll),
    Model::with_cases("poll_limit", All(3), 3, limit),
];

struct Polled {
    map: Arc<Map>,
    /// A waiter is on the wait queue.
    waits: Atomic<bool>,
    woken: Atomic<bool>,
}

/// Counts a hit as `update::hit()` does for a histogram that only counts, for a known key or for
/// any.
fn hit(polled: &Polled, known: bool) {
    if known {
        assert!(polled.map.count_u64(1));
    } else if let Some(element) = polled.map.insert_u64(1, |_| ()) {
        element.add(0, 1);
    }

    // wake_pollers()
    smp_mb(Full);
    if polled.waits.load(Relaxed) {
        polled.woken.store(true, Relaxed);
    }
}

fn poll(case: usize) {
    let known = case != 0;
    let polled = shared(Polled {
        map: match case {
            2 => map_of_counts(1),
            _ => map(1, plain(1)),
        },
        waits: Atomic::new(false),
        woken: Atomic::new(false),
    });

    assert!(polled.map.insert_u64(1, |_| ()).is_some());
    let before = polled.map.hits();
    let its_polled = polled.clone();
    let other = spawn(1, move || hit(&its_polled, known));

    // hist_poll_wait()
    polled.waits.store(true, Relaxed);
    smp_mb(Full);
    let seen = polled.map.hits() != before;

    other.join();
    assert!(seen || polled.woken.load(Relaxed), "it waits forever");
}

/// A file with an interval, and its poller. The count is a word here.
struct Limited {
    hits: Atomic<u64>,
    gate: Gate,
    /// The entry is in the queue that hits wake, whose lock it is.
    queued: Mutex<bool>,
    /// `waitqueue_active()`
    active: Atomic<bool>,
    /// The timer runs, and the interval has not passed.
    pending: Atomic<bool>,
    woken: Atomic<bool>,
    /// Another poller, which sleeps, is woken.
    other_woken: Atomic<bool>,
}

impl Limited {
    /// Counts a hit, and wakes as `woken()` does, which C calls for it.
    fn count(&self) {
        self.hits.add(1, Relaxed);
        smp_mb(Full);
        if !self.active.load(Relaxed) {
            return;
        }

        let mut queued = self.queued.lock();

        if *queued {
            *queued = false;
            self.active.store(false, Relaxed);
            if self.gate.hit() {
                self.wake_all();
            }
        }
    }

    fn wake_all(&self) {
        self.woken.store(true, Relaxed);
        self.other_woken.store(true, Relaxed);
    }

    fn timer(&self) {
        self.pending.store(false, Relaxed);
        if self.gate.open() {
            self.wake_all();
        }
    }

    fn arm(&self) {
        let mut queued = self.queued.lock();

        *queued = true;
        self.active.store(true, Relaxed);
    }

    /// Polls as `PollLimit::poll()` does. Returns `true` if the timer has to be started.
    fn look(&self, seen: &mut u64) -> bool {
        if self.pending.load(Relaxed) {
            self.gate.close();
            return !self.pending.xchg(true, Full);
        }
        if self.gate.look() {
            self.wake_all();
        }
        self.arm();
        smp_mb(Full);

        let hits = self.hits.load(Relaxed);

        if hits == *seen {
            return false;
        }
        *seen = hits;
        self.gate.close();
        !self.pending.xchg(true, Full)
    }
}

/// Checks that a poller which polls again whenever it is woken has seen all hits in the end, and
/// another one that sleeps is woken. The first polls once or twice while they happen: if it is
/// woken, or, in the last case, without that. One hit was reported before.
fn limit(case: usize) {
    let limited = shared(Limited {
        hits: Atomic::new(1),
        gate: Gate::new(),
        queued: Mutex::new(false),
        active: Atomic::new(false),
        pending: Atomic::new(false),
        woken: Atomic::new(false),
        other_woken: Atomic::new(false),
    });
    let mut seen = 0;
    let mut timers = Vec::new();
    let start = |limited: &Arc<Limited>| {
        let limited = limited.clone();

        spawn(2, move || limited.timer())
    };

    if limited.look(&mut seen) {
        timers.push(start(&limited));
    }

    let its_limited = limited.clone();
    let hits = spawn(1, move || {
        its_limited.count();
        its_limited.count();
    });

    for _ in 0..=case.min(1) {
        if (limited.woken.xchg(false, Full) || case == 2) && limited.look(&mut seen) {
            timers.push(start(&limited));
        }
    }
    hits.join();
    for timer in timers {
        timer.join();
    }
    assert!(limited.other_woken.load(Relaxed), "the other waits forever");
    // From here on only the poller runs.
    while limited.woken.xchg(false, Full) {
        if limited.look(&mut seen) {
            limited.timer();
        }
    }
    assert_eq!(seen, limited.hits.load(Relaxed), "it waits forever");
}
