// SPDX-License-Identifier: GPL-2.0

//! Leaving all words of a set to the work items of its address spaces.
//!
//! A set may have many address spaces, and one write to a file may switch many events. So a switch
//! does not tell the address spaces itself; a work item of the set does, once for all switches
//! until then.
//!
//! An address space that joins the set before all have been told, or leaves it for a copy of its
//! own, may not be told. It writes all its words, too.

use super::{
    super::mm::MmState,
    EnablerSet,
    Followed,
    Users, //
};
use kernel::{
    sync::{
        atomic::Relaxed,
        Arc, //
    },
    workqueue::{
        self,
        WorkItem, //
    },
};

impl<E: Followed> EnablerSet<E> {
    /// Leaves all words to the work items of the address spaces that use the set. The switch with
    /// this number writes none of them itself.
    ///
    /// Only switches call this and [`EnablerSet::is_deferred`], one at a time.
    pub(crate) fn defer(this: &Arc<Self>, switch: u64) {
        this.inner.lock().untold = switch;
        this.deferred.store(switch, Relaxed);
        // If it is queued already, that run finds the number.
        let _ = workqueue::system_dfl().enqueue(this.clone());
    }

    /// Returns `true` if the switch with this number writes no further word of the set.
    pub(crate) fn is_deferred(&self, switch: u64) -> bool {
        self.deferred.load(Relaxed) == switch
    }

    /// Returns `true` if not all address spaces that use the set have been told. One that leaves it
    /// now has to write all its words.
    pub(super) fn is_untold(&self) -> bool {
        self.inner.lock().untold != 0
    }
}

impl<E: Followed> WorkItem for EnablerSet<E> {
    type Pointer = Arc<Self>;

    /// Tells the address spaces that existed when the switch began.
    ///
    /// Later ones have joined during the switch, or before this ends, and know it from
    /// [`EnablerSet::share`].
    fn run(this: Arc<Self>) {
        let switch = this.inner.lock().untold;
        let mut users = Users::new();
        let mut next = 0;

        loop {
            this.users(&mut users, next, switch);
            for mm in users.iter() {
                MmState::write_all_later(mm);
            }
            let Some(last) = users.last_if_full() else {
                break;
            };

            next = last.id() + 1;
        }
        let mut inner = this.inner.lock();

        // If it is that of another switch now, the work item runs once more.
        if inner.untold == switch {
            inner.untold = 0;
        }
    }
}
