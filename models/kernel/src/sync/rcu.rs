// SPDX-License-Identifier: GPL-2.0

//! Read-side sections, and waiting for them.
//!
//! A section holds a lock of its CPU, and a waiter takes these locks one after the other. So each
//! section is before or after a grace period as a whole, and sections are not ordered with each
//! other.

use super::Mutex;
use crate::model;
use std::{
    cell::RefCell,
    mem::ManuallyDrop,
    rc::Rc, //
};

/// The CPUs of a model.
pub(crate) const CPUS: usize = 5;

type Locks = Rc<Vec<Mutex<()>>>;

thread_local! {
    static LOCKS: RefCell<Option<(u64, Locks)>> = const { RefCell::new(None) };
}

fn locks() -> Locks {
    LOCKS.with_borrow_mut(|slot| match slot {
        Some((execution, locks)) if *execution == model::execution() => locks.clone(),
        _ => {
            let locks = Rc::new((0..CPUS).map(|_| Mutex::new(())).collect::<Vec<_>>());

            *slot = Some((model::execution(), locks.clone()));
            locks
        }
    })
}

/// A read-side section.
pub struct Guard {
    // In this order: the guard refers to the locks.
    guard: ManuallyDrop<super::Guard<'static, ()>>,
    _locks: Locks,
}

/// Begins a section. Sections of one thread do not nest here.
#[track_caller]
pub fn read_lock() -> Guard {
    let locks = locks();
    let guard = locks[model::cpu() as usize].lock();

    Guard {
        // SAFETY: The locks are kept as long as the guard.
        guard: ManuallyDrop::new(unsafe {
            std::mem::transmute::<super::Guard<'_, ()>, super::Guard<'static, ()>>(guard)
        }),
        _locks: locks,
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: It is dropped here only.
        unsafe { ManuallyDrop::drop(&mut self.guard) };
    }
}

/// Waits for all sections that have begun.
#[track_caller]
pub fn synchronize_rcu() {
    for lock in locks().iter() {
        drop(lock.lock());
    }
}
