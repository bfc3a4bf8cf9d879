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

pub trait WorkItem {
    type Pointer;

    fn run(this: Self::Pointer);
}

pub trait HasWork<T> {
    fn work(&self) -> &Work<T>;
}

pub struct Work<T> {
    pending: Atomic<bool>,
    _item: PhantomData<fn(T)>,
}

impl<T> Work<T> {
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

impl Queue {
    #[track_caller]
    pub fn enqueue<T>(&self, item: Arc<T>) -> Result<(), Arc<T>>
    where
        T: WorkItem<Pointer = Arc<T>> + HasWork<T> + 'static,
    {
        if item.work().pending.xchg(true, Full) {
            return Err(item);
        }
        model::queue_work(Box::new(move || {
            item.work().pending.xchg(false, Full);
            T::run(item);
        }));
        Ok(())
    }
}

#[macro_export]
macro_rules! new_work {
    ($($name:literal)?) => {
        $crate::init::value($crate::workqueue::Work::new())
    };
}

#[macro_export]
macro_rules! impl_has_work {
    ($(impl$({$($generics:tt)*})? HasWork<Self> for $t:ty { self.$field:ident })*) => { $(
        impl$(<$($generics)*>)? $crate::workqueue::HasWork<$t> for $t {
            fn work(&self) -> &$crate::workqueue::Work<$t> {
                &self.$field
            }
        }
    )* };
}
