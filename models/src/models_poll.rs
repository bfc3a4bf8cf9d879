// SPDX-License-Identifier: GPL-2.0

//! Polling the `hist` file: a poller sees a hit, or is woken.
//!
//! The two barriers are in C: that of a hit in `rust_helper_hist_poll_idle()`, that of a poller in
//! `poll_wait()`. They are repeated here. The counting is that of the map.

use crate::{
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
        Check::Every,
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
        Arc, //
    },
};

pub(crate) const MODELS: &[Model] = &[Model::with_cases("poll_hit", Every, 3, poll)];

struct Polled {
    map: Arc<Map>,
    /// A waiter is on the wait queue.
    waits: Atomic<bool>,
    woken: Atomic<bool>,
}

/// As `update::hit()` does for a histogram that only counts: for a key that is known, or for any.
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
