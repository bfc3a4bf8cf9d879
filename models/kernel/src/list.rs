// SPDX-License-Identifier: GPL-2.0

//! Lists, which are vectors here.

use crate::{
    alloc::Flags,
    error::Result,
    init::{
        value,
        Init,
        Value, //
    },
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc,
        ArcBorrow, //
    },
};
use std::{
    collections::VecDeque,
    ops::Deref, //
};

pub use crate::{
    impl_list_arc_safe,
    impl_list_item, //
};

/// The place of a member in a list.
pub struct ListLinks<const ID: u64 = 0>(());

impl<const ID: u64> ListLinks<ID> {
    pub fn new() -> Value<Self> {
        value(Self(()))
    }
}

/// `true` if the object has a [`ListArc`].
pub struct AtomicTracker<const ID: u64 = 0>(Atomic<bool>);

impl<const ID: u64> AtomicTracker<ID> {
    pub fn new() -> Value<Self> {
        value(Self(Atomic::new(false)))
    }
}

/// Types that can be in a list.
pub trait ListItem<const ID: u64> {}

/// Types that know whether they have a [`ListArc`].
pub trait TryNewListArc<const ID: u64 = 0> {
    #[doc(hidden)]
    fn tracker(&self) -> &AtomicTracker<ID>;
}

/// The one reference that may be in a list.
pub struct ListArc<T>(Arc<T>);

impl<T> ListArc<T> {
    pub fn pin_init(init: impl Init<T>, flags: Flags) -> Result<Self> {
        Ok(Self(Arc::pin_init(init, flags)?))
    }

    pub fn clone_arc(&self) -> Arc<T> {
        self.0.clone()
    }

    pub fn try_from_arc_or_drop(arc: Arc<T>) -> Option<Self>
    where
        T: TryNewListArc,
    {
        let was = arc.tracker().0.cmpxchg(false, true, Acquire);

        was.ok().map(|_| Self(arc))
    }

    pub fn into_arc(self) -> Arc<T>
    where
        T: TryNewListArc,
    {
        self.0.tracker().0.store(false, Release);
        self.0
    }
}

impl<T> Deref for ListArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A list.
pub struct List<T>(VecDeque<Arc<T>>);

impl<T> List<T> {
    pub const fn new() -> Self {
        Self(VecDeque::new())
    }

    pub fn push_back(&mut self, item: ListArc<T>) {
        self.0.push_back(item.0);
    }

    pub fn pop_front(&mut self) -> Option<ListArc<T>> {
        self.0.pop_front().map(ListArc)
    }

    /// Removes an item from the list.
    ///
    /// # Safety
    ///
    /// The item is in no other list.
    pub unsafe fn remove(&mut self, item: &T) -> Option<ListArc<T>> {
        let at = self
            .0
            .iter()
            .position(|other| core::ptr::eq(&**other, item))?;

        self.0.remove(at).map(ListArc)
    }

    pub fn cursor_front(&mut self) -> Cursor<'_, T> {
        Cursor(self)
    }
}

/// The place before the first item.
pub struct Cursor<'a, T>(&'a mut List<T>);

impl<T> Cursor<'_, T> {
    pub fn peek_next(&mut self) -> Option<CursorPeek<'_, T>> {
        self.0 .0.front().map(CursorPeek)
    }
}

/// An item beside a cursor.
pub struct CursorPeek<'a, T>(&'a Arc<T>);

impl<T> CursorPeek<'_, T> {
    pub fn arc(&self) -> ArcBorrow<'_, T> {
        self.0.as_arc_borrow()
    }
}

#[macro_export]
macro_rules! impl_list_arc_safe {
    (impl$({$($generics:tt)*})? ListArcSafe<$id:tt> for $t:ty { untracked; }) => {};
    ($(impl$({$($generics:tt)*})? ListArcSafe<$id:tt> for $t:ty {
        tracked_by $field:ident: $tracker:ty;
    })+) => {$(
        impl$(<$($generics)*>)? TryNewListArc<$id> for $t {
            fn tracker(&self) -> &$tracker {
                &self.$field
            }
        }
    )+};
}

#[macro_export]
macro_rules! impl_list_item {
    ($(impl$({$($generics:tt)*})? ListItem<$id:tt> for $t:ty {
        using ListLinks { self.$field:ident };
    })+) => {$(
        impl$(<$($generics)*>)? $crate::list::ListItem<$id> for $t {}
    )+};
}
