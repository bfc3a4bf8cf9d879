// SPDX-License-Identifier: GPL-2.0

//! user_events: changes of a set of enable bits that several processes have.

use crate::{
    models_user_events::*,
    user_events::{
        mm::MmState,
        spend_shared_visits, //
    }, //
};
use kernel::{
    model::{
        self,
        shared,
        spawn,
        Check::All,
        Model, //
    },
    prelude::*, //
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("mm_register_two", All(3), mm_register_two),
    Model::new("mm_copy", All(4), mm_copy),
    Model::new("mm_copy_less", All(3), mm_copy_less),
    Model::with_cases("mm_copy_working", All(3), 2, mm_copy_working),
    Model::new("mm_copy_stale", All(3), mm_copy_stale),
    Model::new("mm_change_fork", All(3), mm_change_fork),
    Model::new("mm_defer", All(3), mm_defer),
    Model::new("mm_defer_copy", All(3), mm_defer_copy),
    Model::new("mm_defer_fork", All(3), mm_defer_fork),
    Model::new("mm_shrink", All(2), mm_shrink),
    Model::new("mm_shrink_working", All(2), mm_shrink_working),
];

/// Checks that two threads of a process register bits without preparing their changes again.
fn mm_register_two() {
    let event = new_event();
    let process = Process::new();
    let (its_event, its_process) = (event.clone(), process.clone());
    let other = spawn(1, move || its_process.register_bit(&its_event, 1));

    process.register_bit(&event, 2);
    other.join();
    assert!(process.state.contains(&bit_number(1)));
    assert!(process.state.contains(&bit_number(2)));
    // A change that has to be prepared again pins the page.
    assert_eq!(process.mm.pins(), 0);
    process.exit();
    assert!(!event.is_used());
}

/// Checks that a child can get a set of its own, by registering another bit, while the event of
/// the shared set is switched.
fn mm_copy() {
    let (event, another) = (new_event(), new_event());
    let process = Process::registered(&event);
    let child = process.fork();
    let (its_child, its_event) = (child.clone(), another.clone());
    let other = spawn(1, move || its_child.register_bit(&its_event, 1));
    let worker = spawn(2, || model::run_work());

    switch(&event, true);
    other.join();
    worker.join();
    check(&event, &[&process, &child]);
}

/// Checks that a child can unregister a bit that is set in its copy of the set while the event is
/// switched.
fn mm_copy_less() {
    let event = new_event();
    let process = Process::registered(&event);

    process.register_bit(&event, 1);
    let child = process.fork();
    let its_child = child.clone();
    let other = spawn(1, move || its_child.unregister_bit(1));

    switch(&event, true);
    other.join();
    check(&event, &[&process, &child]);
}

/// Checks a child that gets a set of its own while its work item passes over the shared one, which
/// the parent leaves or changes then. The work item has to write the words that it has not
/// reached.
fn mm_copy_working(case: usize) {
    let event = new_event();
    let process = Process::registered(&event);
    let is_less = case > 0;

    if is_less {
        process.register_bit(&event, 1);
    }
    // The fork copies words that are still to be written, so the child writes all of its own.
    process.mm.swap_out();
    switch(&event, true);
    let child = process.fork();

    // Those of the parent, and the work item of the child that does not wait for the page.
    for _ in 0..3 {
        assert!(model::run_work());
    }
    let (its_child, its_event) = (child.clone(), event.clone());
    let other = spawn(1, move || {
        if is_less {
            its_child.unregister_bit(1);
        } else {
            its_child.register_bit(&its_event, 1);
        }
    });
    let worker = spawn(2, || model::run_work());

    if is_less {
        process.unregister();
    } else {
        process.exit();
    }
    other.join();
    worker.join();
    check(&event, &[&child]);
    assert_eq!(child.bit(1), Some(!is_less));
    if is_less {
        assert_eq!((process.bit(0), process.bit(1)), (Some(false), Some(true)));
        check_idle(&process);
        process.exit();
    }
}

/// Checks the copy of a set that is no longer shared, and has changed, when it is used.
fn mm_copy_stale() {
    let event = new_event();
    let process = Process::registered(&event);
    let child = process.fork();
    let (its_event, its_process) = (event.clone(), process.clone());
    let other = spawn(1, move || {
        child.exit();
        its_process.register_bit(&its_event, 1);
    });

    process.register_bit(&event, 2);
    other.join();
    for nr in 0..3 {
        assert!(process.state.contains(&bit_number(nr)));
    }
    process.exit();
    assert!(!event.is_used());
}

/// Checks that a child keeps the bit that a thread unregisters while another one forks.
fn mm_change_fork() {
    let event = new_event();
    let process = Process::registered(&event);
    let its_process = process.clone();
    let fork = spawn(1, move || its_process.fork());

    process.unregister();
    let child = fork.join();

    assert!(!process.state.contains(&bit()));
    // If the fork was first.
    let is_registered = child.state.contains(&bit());

    switch(&event, true);
    while model::run_work() {}
    assert_eq!(child.mm.word() == 1, is_registered);
    assert_eq!(process.mm.word(), 0);
    process.exit();
    child.exit();
}

/// Checks a switch that leaves the words of a shared set to a work item of the set.
fn mm_defer() {
    let event = new_event();
    let process = Process::registered(&event);
    let child = process.fork();

    spend_shared_visits();
    let worker = spawn(1, || {
        for _ in 0..3 {
            model::run_work();
        }
    });

    switch(&event, true);
    switch(&event, false);
    switch(&event, true);
    worker.join();
    check(&event, &[&process, &child]);
}

/// Checks the same while a child gets a set of its own.
fn mm_defer_copy() {
    let (event, another) = (new_event(), new_event());
    let process = Process::registered(&event);
    let child = process.fork();

    spend_shared_visits();
    let (its_child, its_event) = (child.clone(), another.clone());
    let other = spawn(1, move || its_child.register_bit(&its_event, 1));
    let worker = spawn(2, || model::run_work());

    switch(&event, true);
    other.join();
    worker.join();
    check(&event, &[&process, &child]);
}

/// Checks the same while a process forks once more.
fn mm_defer_fork() {
    let event = new_event();
    let process = Process::registered(&event);
    let child = process.fork();

    spend_shared_visits();
    let its_process = process.clone();
    let fork = spawn(1, move || its_process.fork());
    let worker = spawn(2, || model::run_work());

    switch(&event, true);
    let another = fork.join();

    worker.join();
    check(&event, &[&process, &child, &another]);
}

/// Checks that the table of a set can shrink while another thread registers more bits than it has
/// room for then.
fn mm_shrink() {
    let event = new_event();
    let process = Process::new();

    // The first number of bits whose table is larger than that of a quarter of them.
    for nr in 0..25 {
        process.register_bit(&event, nr);
    }
    // The table stays large, as a smaller one cannot be allocated.
    model::without_memory(|| {
        for nr in 4..25 {
            process.unregister_bit(nr);
        }
    });
    // An allocation succeeds now: for a table with room for three bits more than are left.
    let its_process = process.clone();
    let less = spawn(1, move || its_process.unregister_bit(3));
    let (its_process, its_event) = (process.clone(), event.clone());
    let more = spawn(2, move || {
        for nr in 30..34 {
            its_process.register_bit(&its_event, nr);
        }
    });

    less.join();
    more.join();
    // None is lost.
    for nr in [0, 1, 2, 30, 31, 32, 33] {
        assert!(process.state.contains(&bit_number(nr)));
    }
    process.exit();
    // Nothing is left of a bit that is in the list of its event, and in no table.
    assert!(!event.is_used());
}

/// Checks that the table of a set can shrink while the work item passes over it.
fn mm_shrink_working() {
    let event = new_event();
    let process = Process::new();

    // As in `mm_shrink()`.
    for nr in 0..25 {
        process.register_bit(&event, nr);
    }
    model::without_memory(|| {
        for nr in (0..25).filter(|nr| ![1, 3, 4].contains(nr)) {
            process.unregister_bit(nr);
        }
    });
    process.mm.swap_out();
    switch(&event, true);
    MmState::write_all_later(&process.state);
    let its_process = process.clone();
    let less = spawn(1, move || its_process.unregister_bit(3));
    let worker = spawn(2, || model::run_work());

    less.join();
    worker.join();
    while model::run_work() {}
    // It was in the second half of the table. No other bit is in the same word here.
    assert_eq!(process.bit(4), Some(true));
    process.exit();
}
