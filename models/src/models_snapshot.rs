// SPDX-License-Identifier: GPL-2.0

//! The condition of a snapshot: the request of the last one, and disabling it.

use crate::program::{
    op::HandlerCondition,
    snapshot_condition::{
        request,
        Request,
        SnapshotCondition,
        REQUEST_WORDS, //
    },
};
use kernel::{
    model::{
        random,
        shared,
        spawn,
        Check::{
            All,
            Random, //
        },
        Model, //
    },
    sync::{
        rcu,
        Arc,
        Mutex, //
    },
    trace::{
        builtin::snapshot::ConditionalSnapshot,
        event_mutex::Held,
        instance::Array,
        trigger::Hit, //
    },
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("snapshot_read", All(3), read),
    Model::new("snapshot_first", All(3), first),
    Model::new("snapshot_disable", All(3), disable),
    Model::new("snapshot_storm", Random(20_000), storm),
];

/// Creates the condition of a largest value, for keys of one word.
fn largest() -> Arc<SnapshotCondition> {
    let condition = HandlerCondition::Larger { signed: false };

    shared(SnapshotCondition::new(condition, 1).expect("there is memory"))
}

/// Returns a request all parts of which are `n`.
fn asking(n: u64) -> Request {
    let mut to = [0; REQUEST_WORDS];

    request(&mut to, n, [n; 2], &[n]);
    to
}

/// Returns the remembered request, whose parts belong together.
fn taken(condition: &SnapshotCondition) -> Option<u64> {
    condition.with_taken(|taken| {
        assert_eq!(taken.key, [taken.value]);
        for word in taken.comm.chunks(8) {
            assert_eq!(word, taken.value.to_ne_bytes());
        }
        taken.value
    })
}

/// Checks that reading while another snapshot is recorded returns a consistent request.
fn read() {
    let condition = largest();

    assert!(condition.ask(&asking(1)));
    let its_condition = condition.clone();
    let other = spawn(1, move || {
        assert!(its_condition.ask(&asking(3)));
        assert!(!its_condition.ask(&asking(2)));
    });

    assert!(matches!(taken(&condition), Some(1 | 3)));
    other.join();
    assert_eq!(taken(&condition), Some(3));
}

/// Checks that reading while the first snapshot is recorded returns a consistent request, or none.
fn first() {
    let condition = largest();
    let its_condition = condition.clone();
    let other = spawn(1, move || {
        assert!(its_condition.ask(&asking(3)));
    });

    assert!(matches!(taken(&condition), None | Some(3)));
    other.join();
    assert_eq!(taken(&condition), Some(3));
}

/// Checks that no hit uses the instance after the condition was disabled.
fn disable() {
    let array = Array::create();
    let snapshot =
        shared(ConditionalSnapshot::enable(array.instance(), largest()).expect("there is memory"));
    let its_snapshot = snapshot.clone();
    let other = spawn(1, move || {
        for n in 1..3 {
            let guard = rcu::read_lock();

            its_snapshot.fire(&Hit::assume(), &asking(n));
            drop(guard);
        }
    });

    snapshot.disable(Held::assume());
    // Nothing pins it now.
    array.free();
    other.join();
}

/// Runs requests on several CPUs, one at a time, and reads.
fn storm() {
    let condition = shared((largest(), Mutex::new(0)));
    let jobs: Vec<_> = (1..4)
        .map(|cpu| {
            let condition = condition.clone();

            spawn(cpu, move || {
                for _ in 0..4 {
                    if random(2) == 0 {
                        let value = 1 + random(9);
                        let mut largest = condition.1.lock();

                        assert_eq!(condition.0.ask(&asking(value)), value > *largest);
                        *largest = value.max(*largest);
                    } else {
                        taken(&condition.0);
                    }
                }
            })
        })
        .collect();

    for job in jobs {
        job.join();
    }
    let largest = *condition.1.lock();

    assert_eq!(taken(&condition.0).unwrap_or(0), largest);
}
