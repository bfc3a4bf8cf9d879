// SPDX-License-Identifier: GPL-2.0

//! Queues a work item from any context. The interrupt in between is left out.

use crate::{
    init::{
        value,
        Init, //
    },
    sync::Arc,
    workqueue::{
        self,
        HasWork,
        WorkItem, //
    },
};

pub struct IrqWorkQueuer<T>(Arc<T>);

impl<T: WorkItem<Pointer = Arc<T>> + HasWork<T> + 'static> IrqWorkQueuer<T> {
    pub fn new(item: Arc<T>) -> impl Init<Self> {
        value(Self(item))
    }

    pub fn queue(&self) {
        let _ = workqueue::system_percpu().enqueue(self.0.clone());
    }
}
