// SPDX-License-Identifier: GPL-2.0

//! user_events: no change of an enable bit is lost, while processes register, fork and exit.

use crate::user_events::{
    append_vec::{
        AppendVec,
        Chunk, //
    },
    defs::{
        EnableBit,
        Width, //
    },
    event::{
        Description,
        UserEvent, //
    },
    event_use,
    mm::MmState,
    parse::Layout,
    reaper,
    spend_shared_visits,
    unused, //
};
use kernel::{
    mm::{
        Mm,
        MmWithUser, //
    },
    model::{
        self,
        random,
        shared,
        spawn,
        Check::{
            All,
            Every,
            Random, //
        },
        Model, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
    trace::{
        builtin::event::Operations,
        event_mutex::Held, //
    },
};
use std::rc::Rc;

pub(crate) const MODELS: &[Model] = &[
    Model::new("event_uses", Every, event_uses),
    Model::new("event_users", Every, event_users),
    Model::new("event_reap", Every, event_reap),
    Model::new("mm_switch", All(4), mm_switch),
    Model::new("mm_switch_absent", All(4), mm_switch_absent),
    Model::new("mm_register", All(4), mm_register),
    Model::new("mm_register_absent", All(4), mm_register_absent),
    Model::new("mm_fork", All(4), mm_fork),
    Model::new("mm_fork_pending", All(4), mm_fork_pending),
    Model::new("mm_fork_less", All(4), mm_fork_less),
    Model::new("mm_fork_shares", All(3), mm_fork_shares),
    Model::new("mm_unregister", All(4), mm_unregister),
    Model::new("mm_exit", All(4), mm_exit),
    Model::new("mm_storm", Random(20_000), mm_storm),
    Model::new("mm_storm_defer", Random(20_000), mm_storm_defer),
];

pub(crate) fn new_event() -> Arc<UserEvent> {
    UserEvent::new(Description {
        name_len: 5,
        signature: b"",
        tracepoint: b"event",
        print_fmt: b"",
        layout: Layout {
            fields: &[],
            // SAFETY: What is in a box does not move.
            validators: unsafe { Pin::new_unchecked(KBox::from(Vec::new().into_boxed_slice())) },
            min_size: 0,
        },
        multi: false,
    })
    .expect("there is memory")
}

/// Checks that observing an event without a use implies observing all stores of its users.
fn event_uses() {
    let event = new_event();
    let done = Rc::new((Atomic::new(0u64), Atomic::new(0u64)));
    let jobs: Vec<_> = [1, 2]
        .into_iter()
        .map(|cpu| {
            let its_use = event_use(&event);
            let done = done.clone();

            spawn(cpu, move || {
                let word = if cpu == 1 { &done.0 } else { &done.1 };

                word.store(1, Relaxed);
                drop(its_use);
            })
        })
        .collect();

    if !event.is_used() {
        assert_eq!((done.0.load(Relaxed), done.1.load(Relaxed)), (1, 1));
    }
    for job in jobs {
        job.join();
    }
    assert!(!event.is_used());
}

/// Checks that observing an event without users implies observing the drop of their uses.
fn event_users() {
    let event = new_event();
    let its_use = event_use(&event);
    let other = spawn(1, move || drop(its_use));

    if !event.has_users() {
        assert!(!event.is_used());
    }
    other.join();
}

/// Checks that an event which is used again while it is on the list of unused ones is removed, or
/// on the list again, if its last use is dropped as the work item looks at it.
fn event_reap() {
    unused::begin();

    let event = new_event();

    drop(event_use(&event));

    let listed = unused::next().expect("it has lost its last use");
    let its_use = event_use(&event);
    let other = spawn(1, move || drop(its_use));
    // Registry::look_at()
    let is_removed = !UserEvent::leave_list(listed).is_used();

    other.join();
    assert!(unused::end() || is_removed, "it stays without a use");
}

pub(crate) fn bit_number(nr: u8) -> EnableBit {
    EnableBit::new(0x1000, nr, Width::Bits64).expect("it is aligned")
}

pub(crate) fn bit() -> EnableBit {
    bit_number(0)
}

/// A process: its address space, with the state that hangs off it.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) mm: Rc<ARef<MmWithUser>>,
    pub(crate) state: Arc<MmState<UserEvent>>,
}

impl Process {
    pub(crate) fn new() -> Self {
        let mm = Mm::create();

        Self {
            state: MmState::new(mm.to_ref()).expect("there is memory"),
            mm: Rc::new(mm),
        }
    }

    /// Creates a process whose enable bit follows the event.
    pub(crate) fn registered(event: &Arc<UserEvent>) -> Self {
        let process = Self::new();

        process.register(event);
        process
    }

    pub(crate) fn register(&self, event: &Arc<UserEvent>) {
        self.register_bit(event, 0);
    }

    pub(crate) fn register_bit(&self, event: &Arc<UserEvent>, nr: u8) {
        let bit = bit_number(nr);
        let result = MmState::enable(&self.state, &self.mm, &bit, event_use(event));

        assert_eq!(result, Ok(()));
    }

    pub(crate) fn unregister(&self) {
        self.unregister_bit(0);
    }

    pub(crate) fn unregister_bit(&self, nr: u8) {
        let result = MmState::disable(&self.state, &self.mm, 0x1000, nr);

        assert_eq!(result, Ok(()));
    }

    /// Returns the state of a bit, if its page is present.
    pub(crate) fn bit(&self, nr: u32) -> Option<bool> {
        self.mm.mmap_read_lock().test_bit_nofault(0x1000, nr)
    }

    /// Forks as `dup_mmap()` and `copy_process()` do.
    pub(crate) fn fork(&self) -> Self {
        let mm = Mm::create();
        let state = self.mm.dup(&mm, || {
            MmState::fork(&self.state, mm.to_ref()).expect("there is memory")
        });

        MmState::forked(&state);
        Self {
            mm: Rc::new(mm),
            state,
        }
    }

    /// Exits the address space, as its last user does.
    pub(crate) fn exit(&self) {
        reaper::release(self.state.clone());
    }
}

/// Attaches or detaches a probe.
pub(crate) fn switch(event: &Arc<UserEvent>, on: bool) {
    let (this, held) = (event.as_arc_borrow(), Held::assume());

    event.trace().set_enabled(on);
    if on {
        UserEvent::attached(this, held);
    } else {
        UserEvent::detached(this, held);
    }
}

/// Checks that each word has the state of the event after all work is done, and that each process
/// is idle then.
pub(crate) fn check(event: &UserEvent, processes: &[&Process]) {
    while model::run_work() {}
    for process in processes {
        assert_eq!(process.mm.word() & 1 != 0, event.status() != 0);
        check_idle(process);
    }
    // So that nothing is left of it.
    for process in processes {
        process.exit();
    }
}

/// Checks that a child has nothing to write, as nothing of its parent is being written.
pub(crate) fn check_idle(process: &Process) {
    let child = process.fork();

    assert!(!model::run_work());
    child.exit();
}

/// Checks that the work item can run while an event is switched twice.
fn mm_switch() {
    let event = new_event();
    let process = Process::registered(&event);
    let worker = spawn(1, || {
        model::run_work();
        model::run_work();
    });
    let (its_event, its_process) = (event.clone(), process.clone());
    let other = spawn(2, move || {
        // Another task has the locks of the process for a while.
        its_process.state.contains(&bit());
        drop(its_event);
    });

    switch(&event, true);
    switch(&event, false);
    other.join();
    worker.join();
    check(&event, &[&process]);
}

/// Checks that an event can be switched while the page is absent.
fn mm_switch_absent() {
    let event = new_event();
    let process = Process::registered(&event);

    process.mm.swap_out();
    let worker = spawn(1, || {
        model::run_work();
        model::run_work();
    });

    switch(&event, true);
    switch(&event, false);
    switch(&event, true);
    worker.join();
    check(&event, &[&process]);
}

/// Checks that a bit can be registered while the event is switched.
fn mm_register() {
    let event = new_event();
    let process = Process::new();
    let (its_event, its_process) = (event.clone(), process.clone());
    let other = spawn(1, move || its_process.register(&its_event));

    switch(&event, true);
    other.join();
    check(&event, &[&process]);
}

/// Checks that a bit is registered, and gets written, if the event is switched and then the page is
/// taken away.
fn mm_register_absent() {
    let event = new_event();
    let process = Process::new();
    let (its_event, its_process) = (event.clone(), process.clone());
    let other = spawn(1, move || its_process.register(&its_event));

    switch(&event, true);
    process.mm.swap_out();
    other.join();
    assert!(process.state.contains(&bit()));
    check(&event, &[&process]);
}

/// Checks that a process can fork while the event is switched.
fn mm_fork() {
    let event = new_event();
    let process = Process::registered(&event);
    let its_process = process.clone();
    let fork = spawn(1, move || its_process.fork());
    let worker = spawn(2, || {
        model::run_work();
        model::run_work();
    });

    switch(&event, true);
    let child = fork.join();

    worker.join();
    check(&event, &[&process, &child]);
}

/// Checks that a process can fork while a word of it is still to be written.
fn mm_fork_pending() {
    let event = new_event();
    let process = Process::registered(&event);

    process.mm.swap_out();
    switch(&event, true);
    let its_process = process.clone();
    let fork = spawn(1, move || its_process.fork());
    let worker = spawn(2, || {
        model::run_work();
        model::run_work();
    });
    let child = fork.join();

    worker.join();
    check(&event, &[&process, &child]);
}

/// Checks a child of a fork during a switch that has unregistered its bit before its work item
/// runs.
fn mm_fork_less() {
    let event = new_event();
    let process = Process::registered(&event);
    let its_process = process.clone();
    let fork = spawn(1, move || {
        let child = its_process.fork();

        child.unregister();
        child
    });

    switch(&event, true);
    let child = fork.join();

    check(&event, &[&process]);
    check_idle(&child);
    assert_eq!(child.mm.word(), 0);
    child.exit();
}

/// Checks that a child which writes all its words, which are right, keeps sharing their page, even
/// if its `mmap_lock` is held when its work item runs.
fn mm_fork_shares() {
    let (event, another) = (new_event(), new_event());
    let process = Process::registered(&event);
    let its_process = process.clone();

    switch(&event, true);
    process.mm.write_protect();
    let fork = spawn(1, move || its_process.fork());

    // If the fork is in the middle of it, the child does not know that its word is right.
    switch(&another, true);
    let child = fork.join();
    let its_child = child.clone();
    let fork = spawn(1, move || its_child.fork());

    while model::run_work() {}
    let grandchild = fork.join();

    while model::run_work() {}
    for process in [&process, &child, &grandchild] {
        assert_eq!(process.mm.word(), 1);
        assert!(!process.mm.is_copied());
    }
    check(&event, &[&process, &child, &grandchild]);
}

/// Checks that a child can unregister the shared bit while its event is switched: the bit stays 0
/// there.
fn mm_unregister() {
    let event = new_event();
    let process = Process::registered(&event);
    let child = process.fork();
    let its_child = child.clone();
    let other = spawn(1, move || its_child.unregister());
    let worker = spawn(2, || model::run_work());

    switch(&event, true);
    other.join();
    worker.join();
    check(&event, &[&process]);
    assert_eq!(child.mm.word(), 0);
    child.exit();
}

/// Checks that a process can exit while its event is switched, and its child continues.
fn mm_exit() {
    let event = new_event();
    let process = Process::registered(&event);
    let child = process.fork();
    let other = spawn(1, move || process.exit());
    let worker = spawn(2, || model::run_work());

    switch(&event, true);
    other.join();
    worker.join();
    check(&event, &[&child]);
}

/// Runs `mm_storm()` with switches that leave the words of shared sets to work items.
fn mm_storm_defer() {
    spend_shared_visits();
    mm_storm();
}

/// Switches, forks, registrations, faults and work, at random.
fn mm_storm() {
    let event = new_event();
    let process = Process::registered(&event);
    let forks: Vec<_> = (1..3)
        .map(|cpu| {
            let (event, process) = (event.clone(), process.clone());

            spawn(cpu, move || {
                let mut children = vec![process.fork()];

                for _ in 0..2 {
                    let last = children.len() as u64 - 1;
                    let parent = &children[random(last + 1) as usize];

                    match random(3) {
                        0 => parent.mm.swap_out(),
                        1 => {
                            // It gets a set of its own.
                            parent.unregister();
                            parent.register(&event);
                        }
                        _ => children.push(parent.fork()),
                    }
                }
                children
            })
        })
        .collect();
    let worker = spawn(3, || {
        for _ in 0..10 {
            model::run_work();
            model::yield_now();
        }
    });

    for n in 0..1 + random(3) {
        switch(&event, n % 2 == 0);
    }
    let children: Vec<_> = forks.into_iter().flat_map(|fork| fork.join()).collect();

    worker.join();
    let mut processes: Vec<_> = children.iter().collect();

    processes.push(&process);
    check(&event, &processes);
}
