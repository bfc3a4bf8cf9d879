// SPDX-License-Identifier: GPL-2.0

//! user_events: words that cannot be written at the moment are tried again, and are left to the
//! second work item after all tries.
//!
//! Each queue is served by one thread at a time, so that the work items of an address space run at
//! the same time as each other.

use crate::{
    models_user_events::*,
    user_events::{
        event::UserEvent,
        faults::{
            queue,
            waiting, //
        },
        mm::MmState, //
    }, //
};
use kernel::{
    model::{
        self,
        random,
        spawn,
        Check::{
            All,
            Random, //
        },
        Model, //
    },
    prelude::*,
    sync::Arc,
    workqueue::system_dfl, //
};

pub(crate) const MODELS: &[Model] = &[
    Model::with_cases("mm_retry", All(2), 2, mm_retry),
    Model::new("mm_retry_again", All(2), mm_retry_again),
    Model::new("mm_retry_memory", All(2), mm_retry_memory),
    Model::new("mm_retry_copy", All(2), mm_retry_copy),
    Model::new("mm_retry_limit", All(2), mm_retry_limit),
    Model::new("mm_storm_retry", Random(20_000), mm_storm_retry),
];

/// Creates a process with two enable bits, which are in different words.
fn two_words(event: &Arc<UserEvent>) -> Process {
    let process = Process::registered(event);

    process.register_bit(event, 1);
    process
}

/// Checks both words of each process, as [`check`] does that of the first bit.
fn check_two(event: &UserEvent, processes: &[&Process]) {
    check(event, processes);
    for process in processes {
        assert_eq!(process.mm.is_set(1), event.status() != 0);
    }
}

/// Checks words that are listed, or left by a pass, while another thread of the process holds
/// `mmap_lock`. The third work item may run before the first one has ended.
fn mm_retry(case: usize) {
    let event = new_event();
    let process = two_words(&event);
    let lock = process.mm.hold();

    if case > 0 {
        MmState::write_all_later(&process.state);
    }
    switch(&event, true);
    let worker = spawn(1, || {
        queue().run_next();
        queue().run_next();
    });
    let timer = spawn(2, || system_dfl().run_next());

    drop(lock);
    worker.join();
    timer.join();
    check_two(&event, &[&process]);
}

/// Checks that all words are written again if that is asked for while a pass is to continue.
fn mm_retry_again() {
    let event = new_event();
    let process = two_words(&event);
    let lock = process.mm.hold();

    MmState::write_all_later(&process.state);
    switch(&event, true);
    assert!(queue().run_next());
    let timer = spawn(1, || system_dfl().run_next());

    drop(lock);
    MmState::write_all_later(&process.state);
    timer.join();
    check_two(&event, &[&process]);
}

/// Checks a word whose page gets no memory at first, in the second work item. The third one may run
/// before that has ended.
fn mm_retry_memory() {
    let event = new_event();
    let process = Process::registered(&event);

    process.mm.swap_out();
    process.mm.be_poor(1);
    switch(&event, true);
    assert!(queue().run_next());
    let waiter = spawn(1, || waiting().run_next());

    system_dfl().run_next();
    waiter.join();
    check(&event, &[&process]);
    assert_eq!(model::delays(), [500]);
}

/// Checks a word the copy of whose page gets no memory at first.
fn mm_retry_copy() {
    let event = new_event();
    let process = Process::registered(&event);

    process.mm.write_protect();
    process.mm.be_poor(1);
    switch(&event, true);
    let worker = spawn(1, || queue().run_next());

    system_dfl().run_next();
    worker.join();
    check(&event, &[&process]);
    assert_eq!(model::delays(), [500]);
}

/// Checks that a word is tried once and after each of nine delays before it is left to the second
/// work item, and that the delays of an earlier word do not count.
fn mm_retry_limit() {
    let event = new_event();
    let process = Process::registered(&event);
    let fail = |n| {
        for _ in 0..n {
            assert!(queue().run_next());
            assert!(system_dfl().run_next());
        }
    };
    let lock = process.mm.hold();

    switch(&event, true);
    fail(2);
    drop(lock);
    assert!(queue().run_next());
    assert!(process.mm.is_set(0));

    let lock = process.mm.hold();

    switch(&event, false);
    let before = process.mm.refusals();

    fail(7);
    let worker = spawn(1, || {
        queue().run_next();
        queue().run_next();
    });
    let timer = spawn(2, || {
        system_dfl().run_next();
        system_dfl().run_next();
    });

    worker.join();
    timer.join();
    for _ in 0..4 {
        queue().run_next();
        system_dfl().run_next();
    }
    assert_eq!(process.mm.refusals() - before, 10);
    assert_eq!(
        model::delays(),
        [1, 2, 1, 2, 4, 8, 16, 32, 64, 128, 256],
        "the delays of both"
    );

    drop(lock);
    assert!(waiting().run_next());
    check(&event, &[&process]);
}

/// Holds `mmap_lock`, takes pages and memory away, forks and switches, at random.
fn mm_storm_retry() {
    let event = new_event();
    let process = two_words(&event);
    let its_process = process.clone();
    let other = spawn(1, move || {
        for _ in 0..3 {
            match random(4) {
                0 => its_process.mm.swap_out(),
                1 => its_process.mm.write_protect(),
                2 => its_process.mm.be_poor(1),
                _ => (),
            }
            let lock = its_process.mm.hold();

            for _ in 0..random(3) {
                model::yield_now();
            }
            drop(lock);
        }
        its_process.fork()
    });
    let workers: Vec<_> = [queue(), waiting(), system_dfl()]
        .into_iter()
        .zip(2..)
        .map(|(queue, cpu)| {
            spawn(cpu, move || {
                for _ in 0..8 {
                    queue.run_next();
                    model::yield_now();
                }
            })
        })
        .collect();

    for n in 0..1 + random(3) {
        if random(2) > 0 {
            MmState::write_all_later(&process.state);
        }
        switch(&event, n % 2 == 0);
    }
    let child = other.join();

    for worker in workers {
        worker.join();
    }
    check_two(&event, &[&process, &child]);
}
