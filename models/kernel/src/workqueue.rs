// SPDX-License-Identifier: GPL-2.0

//! Work items, which threads of the model run by [`run_work`](crate::model::run_work), or those of
//! one queue by [`Queue::run_next`].
//!
//! As in C, a work item does not run while it runs: at most one thread at a time may serve a queue,
//! and an item is always queued on the same one.
//!
//! As in C, queueing a queued item does nothing, and the caller is ordered before the next run:
//! both sides have a full barrier around the exchange of the flag.

use crate::{
    model,
    sync::{
        atomic::{
            Atomic,
            Full, //
        },
        Arc, //
    },
    time::Jiffies,
};
use std::marker::PhantomData;

pub trait WorkItem<const ID: u64 = 0> {
    type Pointer;

    fn run(this: Self::Pointer);
}

pub trait HasWork<T, const ID: u64 = 0> {
    fn work(&self) -> &Work<T, ID>;
}

pub struct Work<T, const ID: u64 = 0> {
    pending: Atomic<bool>,
    _item: PhantomData<fn(T)>,
}

impl<T, const ID: u64> Work<T, ID> {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self {
            pending: Atomic::new(false),
            _item: PhantomData,
        }
    }
}

pub trait HasDelayedWork<T, const ID: u64 = 0>: HasWork<T, ID> {}

pub struct DelayedWork<T, const ID: u64 = 0>(pub Work<T, ID>);

impl<T, const ID: u64> DelayedWork<T, ID> {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self(Work::new())
    }
}

pub struct Queue(usize);

pub fn system_percpu() -> &'static Queue {
    &Queue(0)
}

pub fn system_dfl() -> &'static Queue {
    &Queue(1)
}

pub fn system_long() -> &'static Queue {
    &Queue(2)
}

impl Queue {
    #[track_caller]
    pub fn enqueue<A, const ID: u64>(&self, item: A) -> Result<(), A>
    where
        A: Item<ID>,
    {
        item.enqueue(self, None)
    }

    #[track_caller]
    pub fn enqueue_delayed<A, const ID: u64>(&self, item: A, delay: Jiffies) -> Result<(), A>
    where
        A: Item<ID>,
    {
        item.enqueue(self, Some(delay))
    }

    /// Runs the next work item of this queue, for the model; returns `false` if it is empty. A
    /// delayed one is run at once.
    pub fn run_next(&self) -> bool {
        model::run_work_of(self.0)
    }
}

/// A reference to something with a work item.
pub trait Item<const ID: u64>: Sized {
    fn enqueue(self, queue: &Queue, delay: Option<Jiffies>) -> Result<(), Self>;
}

impl<T, const ID: u64> Item<ID> for Arc<T>
where
    T: WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + 'static,
{
    #[track_caller]
    fn enqueue(self, queue: &Queue, delay: Option<Jiffies>) -> Result<(), Self> {
        if self.work().pending.xchg(true, Full) {
            return Err(self);
        }
        let run = Box::new(move || {
            self.work().pending.xchg(false, Full);
            T::run(self);
        });

        model::queue_work(queue.0, delay, run);
        Ok(())
    }
}

/// Leaves the work item on the queue, where it is run all the same.
pub fn cancel<T, const ID: u64>(_: &Arc<T>) -> bool {
    false
}

#[macro_export]
macro_rules! new_work {
    ($($name:literal)?) => {
        $crate::init::value($crate::workqueue::Work::new())
    };
}

#[macro_export]
macro_rules! impl_has_work {
    ($(
        impl$({$($generics:tt)*})? HasWork<Self $(, $id:tt)?> for $t:ty { self.$field:ident }
    )*) => { $(
        impl$(<$($generics)*>)? $crate::workqueue::HasWork<$t $(, $id)?> for $t {
            fn work(&self) -> &$crate::workqueue::Work<$t $(, $id)?> {
                &self.$field
            }
        }
    )* };
}

#[macro_export]
macro_rules! new_delayed_work {
    ($($name:literal)?) => {
        $crate::init::value($crate::workqueue::DelayedWork::new())
    };
}

#[macro_export]
macro_rules! impl_has_delayed_work {
    ($(
        impl$({$($generics:tt)*})? HasDelayedWork<Self $(, $id:tt)?> for $t:ty
        { self.$field:ident }
    )*) => { $(
        impl$(<$($generics)*>)? $crate::workqueue::HasDelayedWork<$t $(, $id)?> for $t {}

        impl$(<$($generics)*>)? $crate::workqueue::HasWork<$t $(, $id)?> for $t {
            fn work(&self) -> &$crate::workqueue::Work<$t $(, $id)?> {
                &self.$field.0
            }
        }
    )* };
}
