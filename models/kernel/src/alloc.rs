// SPDX-License-Identifier: GPL-2.0

//! Memory. In an exhaustive model each allocation of a vector checks that its readers are ordered
//! after its writer, as for other memory that is not atomic.

use crate::{
    error::{
        code::ENOMEM,
        Result, //
    },
    init::Init,
    model::{
        self,
        Engine, //
    },
    sync::atomic::{
        Atomic,
        AtomicType, //
    },
};
use std::{
    ops::{
        Deref,
        DerefMut, //
    },
    pin::Pin, //
};

pub type Flags = u32;

pub mod flags {
    #![allow(non_upper_case_globals)]
    use super::Flags;

    pub const GFP_KERNEL: Flags = 1;
    pub const GFP_KERNEL_ACCOUNT: Flags = 1;
    pub const GFP_NOWAIT: Flags = 0;
    pub const __GFP_NOWARN: Flags = 2;
    pub const __GFP_NORETRY: Flags = 4;
    pub const __GFP_NOFAIL: Flags = 8;
}

/// Types that may consist of zeroes only.
pub trait Zeroable {
    fn zeroed() -> Self;
}

impl Zeroable for u64 {
    fn zeroed() -> Self {
        0
    }
}

impl<T: AtomicType> Zeroable for Atomic<T> {
    fn zeroed() -> Self {
        Self::new(T::from_bits(0))
    }
}

/// Memory that is checked for races.
struct Checked(Option<(u64, loom::cell::UnsafeCell<()>)>);

impl Checked {
    fn new() -> Self {
        match model::engine() {
            Engine::Loom => Self(Some((model::execution(), loom::cell::UnsafeCell::new(())))),
            _ => Self(None),
        }
    }

    fn with(&self, f: impl FnOnce(&loom::cell::UnsafeCell<()>)) {
        if let (Some((execution, cell)), Engine::Loom) = (&self.0, model::engine()) {
            if *execution == model::execution() {
                f(cell);
            }
        }
    }

    #[track_caller]
    fn read(&self) {
        self.with(|cell| cell.with(|_| ()));
    }

    #[track_caller]
    fn write(&self) {
        self.with(|cell| cell.with_mut(|_| ()));
    }
}

/// A vector.
pub struct KVec<T> {
    items: Vec<T>,
    checked: Checked,
}

pub type KVVec<T> = KVec<T>;

// SAFETY: All threads of a model are on one thread of the machine.
unsafe impl<T> Send for KVec<T> {}
// SAFETY: As above.
unsafe impl<T> Sync for KVec<T> {}

impl<T> KVec<T> {
    fn from_vec(items: Vec<T>) -> Self {
        Self {
            items,
            checked: Checked::new(),
        }
    }

    pub const fn new() -> Self {
        Self {
            items: Vec::new(),
            checked: Checked(None),
        }
    }

    /// Creates an empty vector that is checked, unlike that of [`Self::new`], which can be a
    /// constant.
    pub fn new_checked() -> Self {
        Self::from_vec(Vec::new())
    }

    pub fn clear(&mut self) {
        self.items().clear();
    }

    pub fn push_within_capacity(&mut self, item: T) -> Result {
        self.push(item, flags::GFP_NOWAIT)
    }

    pub fn with_capacity(n: usize, flags: Flags) -> Result<Self> {
        if flags & flags::__GFP_NOFAIL == 0 && !model::has_memory() {
            return Err(ENOMEM);
        }
        Ok(Self::from_vec(Vec::with_capacity(n)))
    }

    pub fn zeroed(n: usize, _: Flags) -> Result<Self>
    where
        T: Zeroable,
    {
        Ok(Self::from_vec((0..n).map(|_| T::zeroed()).collect()))
    }

    pub fn from_elem(item: T, n: usize, _: Flags) -> Result<Self>
    where
        T: Clone,
    {
        Ok(Self::from_vec(vec![item; n]))
    }

    fn items(&mut self) -> &mut Vec<T> {
        self.checked.write();
        &mut self.items
    }

    pub fn push(&mut self, item: T, _: Flags) -> Result {
        self.items().push(item);
        Ok(())
    }

    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }

    pub fn pop(&mut self) -> Option<T> {
        self.items().pop()
    }

    pub fn reserve(&mut self, n: usize, _: Flags) -> Result {
        self.items().reserve(n);
        Ok(())
    }

    pub fn insert_within_capacity(&mut self, at: usize, item: T) -> core::result::Result<(), T> {
        self.items().insert(at, item);
        Ok(())
    }

    pub fn remove(&mut self, at: usize) -> Result<T> {
        Ok(self.items().remove(at))
    }

    pub fn retain(&mut self, f: impl FnMut(&mut T) -> bool) {
        self.items().retain_mut(f);
    }
}

impl<T> Deref for KVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.checked.read();
        &self.items
    }
}

impl<T> DerefMut for KVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.items()
    }
}

impl<'a, T> IntoIterator for &'a KVec<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut KVec<T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> IntoIterator for KVec<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// A box.
pub struct KBox<T: ?Sized>(Box<T>);

impl<T> KBox<T> {
    pub fn new(value: T, _: Flags) -> Result<Self> {
        Ok(Self(Box::new(value)))
    }

    pub fn pin_init(init: impl Init<T>, flags: Flags) -> Result<Pin<Self>> {
        // SAFETY: What is in a box does not move.
        Ok(unsafe { Pin::new_unchecked(Self::new(init.make()?, flags)?) })
    }
}

impl<T: ?Sized> From<Box<T>> for KBox<T> {
    fn from(value: Box<T>) -> Self {
        Self(value)
    }
}

impl<T: ?Sized> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for KBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
