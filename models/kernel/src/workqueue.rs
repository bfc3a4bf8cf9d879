// SPDX-License-Identifier: GPL-2.0

//! Work items: one queue, which threads of the model serve by [`run_work`](crate::model::run_work).
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

pub struct Queue(());

pub fn system_percpu() -> &'static Queue {
    &Queue(())
}

pub fn system_dfl() -> &'static Queue {
    &Queue(())
}

impl Queue {
    #[track_caller]
    pub fn enqueue<A, const ID: u64>(&self, item: A) -> Result<(), A>
    where
        A: Item<ID>,
    {
        item.enqueue()
    }
}

/// A reference to something with a work item.
pub trait Item<const ID: u64>: Sized {
    fn enqueue(self) -> Result<(), Self>;
}

impl<T, const ID: u64> Item<ID> for Arc<T>
where
    T: WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + 'static,
{
    #[track_caller]
    fn enqueue(self) -> Result<(), Self> {
        if self.work().pending.xchg(true, Full) {
            return Err(self);
        }
        model::queue_work(Box::new(move || {
            self.work().pending.xchg(false, Full);
            T::run(self);
        }));
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
