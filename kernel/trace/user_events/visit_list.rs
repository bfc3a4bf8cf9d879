// SPDX-License-Identifier: GPL-2.0

//! A list whose members are visited once each, while others join and leave.
//!
//! A visit takes the lock of the list for one member at a time. The members that it still has to
//! visit are on one of two lists, those that it has visited and those that have joined since it
//! began on the other. So a visit ends after as many members as the list had at its beginning, even
//! if others join, and it needs no memory. Joining and leaving take the same time for any length of
//! the list.
//!
//! ```text
//!            begin()                      next(), seen()
//!   all members ----->  to be seen  ----------------------->  seen   <----- insert()
//!                           |                                   |
//!                           +------------ remove() -------------+
//! ```
//!
//! At the end of a visit all members are on one list again, and the two change roles at the next
//! one. The list has no lock; it is the data inside of one.

use kernel::{
    list::{
        List,
        ListArc,
        ListItem, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

/// The list of a [`VisitList`] that a member is on. Accessed under the lock of that list only.
pub(crate) struct Side(Atomic<bool>);

impl Side {
    /// Creates the side of an object that has not joined a list yet.
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(false))
    }
}

/// An object that can join a [`VisitList`].
pub(crate) trait Member: ListItem<0> {
    /// Returns the place for the list to store the side of the member.
    fn side(&self) -> &Side;
}

/// A list whose members are visited once each.
///
/// # Invariants
///
/// - A member is on the list of `lists` that its [`Member::side`] says.
/// - All members are on the list of `side`, except during a visit.
pub(crate) struct VisitList<T: Member> {
    lists: [List<T>; 2],
    /// The list of the members that have been seen.
    side: bool,
}

impl<T: Member> VisitList<T> {
    /// Creates an empty list.
    pub(crate) const fn new() -> Self {
        Self {
            lists: [List::new(), List::new()],
            side: false,
        }
    }

    fn list(&mut self, side: bool) -> &mut List<T> {
        let [first, second] = &mut self.lists;

        if side {
            second
        } else {
            first
        }
    }

    /// Adds a member, which a visit that has begun does not see.
    pub(crate) fn insert(&mut self, member: ListArc<T>) {
        let side = self.side;

        // INVARIANT: The member remembers the list to which it is added.
        member.side().0.store(side, Relaxed);
        self.list(side).push_back(member);
    }

    /// Removes a member. Returns `None` if it has been removed before.
    ///
    /// # Safety
    ///
    /// `member` must not be in another list.
    pub(crate) unsafe fn remove(&mut self, member: &T) -> Option<ListArc<T>> {
        let side = member.side().0.load(Relaxed);

        // SAFETY: By the type invariants `member` is not on the other one of `lists`, and the
        // caller guarantees that it is in no list but these.
        unsafe { self.list(side).remove(member) }
    }

    /// Begins a visit of the present members, after the previous one has ended.
    pub(crate) fn begin(&mut self) {
        // INVARIANT: As a visit sees all members that it began with, the other list is empty.
        self.side = !self.side;
    }

    /// Returns the next member that the visit has to see. It remains the next one until it has
    /// been seen or removed.
    pub(crate) fn next(&mut self) -> Option<Arc<T>> {
        let ahead = !self.side;
        let mut cursor = self.list(ahead).cursor_front();
        let next = cursor.peek_next()?;

        Some(next.arc().into())
    }

    /// Records that the visit has seen a member that [`VisitList::next`] has returned.
    pub(crate) fn seen(&mut self, member: &T) {
        let ahead = !self.side;
        let is_next = self
            .list(ahead)
            .cursor_front()
            .peek_next()
            .is_some_and(|next| core::ptr::eq(&*next.arc(), member));

        // Otherwise it was removed concurrently.
        if is_next {
            if let Some(member) = self.list(ahead).pop_front() {
                self.insert(member);
            }
        }
    }

    /// Returns `true` if a visit still has to see this member.
    pub(crate) fn is_ahead(&self, member: &T) -> bool {
        member.side().0.load(Relaxed) != self.side
    }
}
