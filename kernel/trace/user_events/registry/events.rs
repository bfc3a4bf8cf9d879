// SPDX-License-Identifier: GPL-2.0

//! The events in the order of their names.
//!
//! A tree without a lock of its own; it is the data inside of one. It knows of an event only its
//! place, [`Ordered`].

use core::cmp::Ordering;
use kernel::{
    prelude::*,
    rbtree::{
        Cursor,
        RBTree,
        RBTreeNode, //
    },
    sync::Arc,
};

/// The order of events: those with the same name are adjacent, and the fields distinguish those of
/// several formats.
#[derive(PartialEq, Eq, Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) name: &'a [u8],
    /// The signature of the fields of one of several formats. Each name has one event of a single
    /// format, the first one.
    pub(super) fields: Option<&'a [u8]>,
}

/// Something with a place among the events, which stays the same as long as it lives.
pub(super) trait Ordered: 'static {
    /// Returns the place in the order.
    fn order(&self) -> Order<'_>;
}

impl<'a> Order<'a> {
    /// Returns the place before every other event that has this name, and after all events of
    /// lesser names.
    fn first_of(name: &'a [u8]) -> Self {
        Self { name, fields: None }
    }
}

impl PartialOrd for Order<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Order<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.name, other.name).then_with(|| self.fields.cmp(&other.fields))
    }
}

/// Compares two names, byte by byte but a word at a time, as the names of a program often begin
/// alike.
fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while let (Some((first_a, rest_a)), Some((first_b, rest_b))) =
        (a.split_first_chunk(), b.split_first_chunk())
    {
        match u64::from_be_bytes(*first_a).cmp(&u64::from_be_bytes(*first_b)) {
            Ordering::Equal => (a, b) = (rest_a, rest_b),
            different => return different,
        }
    }
    a.cmp(b)
}

/// The key of a node, which borrows from the event in the same node.
///
/// # Invariants
///
/// A key in a node is that of the event whose `Arc` is the value of that node.
type OwnKey = Order<'static>;

type Tree<T> = RBTree<OwnKey, Arc<T>>;

/// An event with its room in the tree.
pub(super) struct Node<T>(RBTreeNode<OwnKey, Arc<T>>);

/// Returns the key of `event`, free of its lifetime.
///
/// # Safety
///
/// The key must be dropped before the event is.
unsafe fn own_key<T: Ordered>(event: &T) -> OwnKey {
    let event = core::ptr::from_ref(event);

    // SAFETY: The caller sees to it that the event outlives the key.
    unsafe { &*event }.order()
}

impl<T: Ordered> Node<T> {
    /// Creates a node for `event`.
    pub(super) fn new(event: Arc<T>) -> Result<Self> {
        // SAFETY: The key lives in a node together with an `Arc` of its event and is dropped with
        // it.
        let key = unsafe { own_key(&*event) };

        // INVARIANT: The key is that of the value of the node.
        Ok(Self(RBTreeNode::new(key, event, GFP_KERNEL_ACCOUNT)?))
    }
}

/// Removes an event from a tree, and returns its node.
fn take_out<T: Ordered>(tree: &mut Tree<T>, event: &T) -> Option<Node<T>> {
    // SAFETY: The key is dropped when this function returns, and `event` is borrowed for longer.
    let key = unsafe { own_key(event) };

    tree.remove_node(&key).map(Node)
}

/// All events.
pub(super) struct Events<T> {
    tree: Tree<T>,
    count: u32,
    added: u64,
    multi_id: u64,
}

impl<T: Ordered> Events<T> {
    /// Creates an empty list of events.
    pub(super) fn new() -> Self {
        Self {
            tree: RBTree::new(),
            count: 0,
            added: 0,
            multi_id: 0,
        }
    }

    /// Returns the number of events.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of insertions. As long as it does not change, no event was added.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Returns a number for a multi-format event that was never assigned before, under any name.
    pub(super) fn next_multi_id(&mut self) -> u64 {
        let id = self.multi_id;

        // So many events cannot be created.
        self.multi_id = id.wrapping_add(1);
        id
    }

    /// Returns the events in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.tree.values()
    }

    fn get<'a>(&'a self, order: &Order<'a>) -> Option<&'a Arc<T>> {
        let tree: &'a RBTree<Order<'a>, Arc<T>> = &self.tree;

        tree.get(order)
    }

    /// Returns the event at this place, whatever fields it has.
    pub(super) fn event(&self, order: &Order<'_>) -> Option<Arc<T>> {
        self.get(order).cloned()
    }

    /// Returns the event at this place.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE` if `is_same` says that one has other fields.
    pub(super) fn find(
        &self,
        order: &Order<'_>,
        is_same: impl FnOnce(&T) -> bool,
    ) -> Result<Option<Arc<T>>> {
        match self.get(order) {
            None => Ok(None),
            Some(event) if is_same(event) => Ok(Some(event.clone())),
            Some(_) => Err(EADDRINUSE),
        }
    }

    /// Calls `f` with the events called `name`, the single-format one first, until it fails.
    pub(super) fn try_for_each_named(
        &self,
        name: &[u8],
        mut f: impl FnMut(&Arc<T>) -> Result,
    ) -> Result {
        let mut key = Order::first_of(name);

        while let Some(cursor) = self.lower_bound(&key) {
            let (_, event) = cursor.current();
            if event.order().name != name {
                break;
            }
            f(event)?;

            match cursor.peek_next() {
                Some((next, _)) => key = *next,
                None => break,
            }
        }
        Ok(())
    }

    fn lower_bound<'a>(&'a self, key: &Order<'a>) -> Option<Cursor<'a, Order<'a>, Arc<T>>> {
        let tree: &'a RBTree<Order<'a>, Arc<T>> = &self.tree;

        tree.cursor_lower_bound(key)
    }

    /// Returns the first event called `name`.
    fn first_named(&self, name: &[u8]) -> Option<Arc<T>> {
        let cursor = self.lower_bound(&Order::first_of(name))?;
        let (_, event) = cursor.current();

        (event.order().name == name).then(|| event.clone())
    }

    /// Inserts an event.
    pub(super) fn insert(&mut self, node: Node<T>) {
        self.tree.insert(node.0);
        self.count += 1;
        self.added = self.added.wrapping_add(1);
    }

    /// Removes an event if it is `event` itself, not another one at the same place.
    pub(super) fn remove(&mut self, event: &T) -> Option<Node<T>> {
        if !core::ptr::eq(&**self.get(&event.order())?, event) {
            return None;
        }
        let node = take_out(&mut self.tree, event)?;
        self.count -= 1;
        Some(node)
    }

    /// Removes all events called `name`, and returns them.
    pub(super) fn remove_named(&mut self, name: &[u8]) -> Removed<T> {
        let mut removed = Removed(Tree::<T>::new());

        while let Some(event) = self.first_named(name) {
            if let Some(node) = self.remove(&event) {
                removed.0.insert(node.0);
            }
        }
        removed
    }
}

/// Events that have been taken out.
pub(super) struct Removed<T>(Tree<T>);

impl<T: Ordered> Removed<T> {
    /// Removes the next event, and returns it with the node to insert it again.
    pub(super) fn pop(&mut self) -> Option<(Arc<T>, Node<T>)> {
        let event = self.0.values().next()?.clone();
        let node = take_out(&mut self.0, &event)?;

        Some((event, node))
    }
}

#[cfg(CONFIG_USER_EVENTS_RUST_KUNIT_TEST)]
#[kunit_tests(user_events_order)]
mod tests {
    use super::*;

    fn order<'a>(name: &'a [u8], fields: Option<&'a [u8]>) -> Order<'a> {
        Order { name, fields }
    }

    #[test]
    fn names_as_bytes() {
        let names: [&[u8]; 12] = [
            b"",
            b"0",
            b"Z",
            b"a",
            b"aaaaaaa",
            b"aaaaaaaa",
            b"aaaaaaaa.",
            b"aaaaaaaaa",
            b"aaaaaaab",
            b"aaaaaaabaaaaaaaa",
            b"aaaaaaabaaaaaaab",
            b"b",
        ];

        for (i, a) in names.iter().enumerate() {
            for (j, b) in names.iter().enumerate() {
                assert!(a.cmp(b) == i.cmp(&j));
                assert!(order(a, None).cmp(&order(b, None)) == i.cmp(&j));
            }
        }
    }

    #[test]
    fn formats_of_a_name() {
        let ascending = [
            order(b"a", None),
            order(b"a", Some(b"")),
            order(b"a", Some(b"u32 a")),
            order(b"a", Some(b"u32 b")),
            order(b"b", None),
        ];

        assert!(ascending.is_sorted_by(|a, b| a < b));
        assert!(order(b"a", Some(b"u32 a")) == ascending[2]);
    }
}
