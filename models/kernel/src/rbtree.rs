// SPDX-License-Identifier: GPL-2.0

//! Trees.

use crate::{
    alloc::Flags,
    error::Result, //
};
use std::collections::BTreeMap;

pub struct RBTree<K, V>(BTreeMap<K, V>);

pub struct RBTreeNode<K, V>(K, V);

impl<K, V> RBTreeNode<K, V> {
    pub fn new(key: K, value: V, _: Flags) -> Result<Self> {
        Ok(Self(key, value))
    }
}

pub struct Cursor<'a, K, V>((&'a K, &'a V), Option<(&'a K, &'a V)>);

impl<'a, K, V> Cursor<'a, K, V> {
    pub fn current(&self) -> (&'a K, &'a V) {
        self.0
    }

    pub fn peek_next(&self) -> Option<(&'a K, &'a V)> {
        self.1
    }
}

impl<K: Ord, V> RBTree<K, V> {
    pub fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub fn try_create_and_insert(&mut self, key: K, value: V, _: Flags) -> Result {
        self.0.insert(key, value);
        Ok(())
    }

    pub fn insert(&mut self, node: RBTreeNode<K, V>) {
        self.0.insert(node.0, node.1);
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    pub fn cursor_lower_bound(&self, key: &K) -> Option<Cursor<'_, K, V>> {
        let mut from = self.0.range(key..);

        Some(Cursor(from.next()?, from.next()))
    }
}
