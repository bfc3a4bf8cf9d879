// SPDX-License-Identifier: GPL-2.0

//! Atomics with the interface of the kernel's, mapped to those of the checker.
//!
//! An atomic of the kernel can be created in a constant, and a program may have many of them of
//! which a model uses few. So an [`Atomic`] only takes one of the checker when it is first
//! accessed. That one was created before the threads of the model, with value 0, and has the
//! difference to the initial value. That an atomic is not accessed before it was initialised is
//! checked where memory is allocated: see [`crate::alloc`].

use crate::model::{
    self,
    Engine,
    Point, //
};
use std::{
    cell::{
        Cell,
        UnsafeCell, //
    },
    rc::Rc,
    sync::atomic::Ordering, //
};

/// Orderings.
pub mod ordering {
    pub use super::{
        Acquire,
        Full,
        Relaxed,
        Release, //
    };
}

/// No ordering.
pub struct Relaxed;
/// Before all that follows.
pub struct Acquire;
/// After all that precedes.
pub struct Release;
/// With full barriers before and after.
pub struct Full;

/// An ordering of a load.
pub trait LoadOrdering {
    #[doc(hidden)]
    const ORDER: Ordering;
}
/// An ordering of a store.
pub trait StoreOrdering {
    #[doc(hidden)]
    const ORDER: Ordering;
}
/// An ordering of a read-modify-write operation.
pub trait RmwOrdering {
    #[doc(hidden)]
    const ORDER: Ordering;
    #[doc(hidden)]
    const IS_FULL: bool = false;
}

impl LoadOrdering for Relaxed {
    const ORDER: Ordering = Ordering::Relaxed;
}
impl LoadOrdering for Acquire {
    const ORDER: Ordering = Ordering::Acquire;
}
impl StoreOrdering for Relaxed {
    const ORDER: Ordering = Ordering::Relaxed;
}
impl StoreOrdering for Release {
    const ORDER: Ordering = Ordering::Release;
}
impl RmwOrdering for Relaxed {
    const ORDER: Ordering = Ordering::Relaxed;
}
impl RmwOrdering for Acquire {
    const ORDER: Ordering = Ordering::Acquire;
}
impl RmwOrdering for Release {
    const ORDER: Ordering = Ordering::Release;
}
impl RmwOrdering for Full {
    const ORDER: Ordering = Ordering::AcqRel;
    const IS_FULL: bool = true;
}

/// A type that an atomic can have.
pub trait AtomicType: Copy {
    #[doc(hidden)]
    const MASK: u64;
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl AtomicType for $t {
            const MASK: u64 = u64::MAX >> (64 - <$t>::BITS);
            fn to_bits(self) -> u64 {
                self as u64 & Self::MASK
            }
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
        }
    )* };
}

integers! { u64 u32 usize i64 i32 }

impl AtomicType for bool {
    const MASK: u64 = 1;
    fn to_bits(self) -> u64 {
        self.into()
    }
    fn from_bits(bits: u64) -> Self {
        bits & 1 != 0
    }
}

/// An atomic.
pub struct Atomic<T> {
    init: UnsafeCell<T>,
    /// The execution that it belongs to, and its number in the pool of that one.
    slot: Cell<(u64, usize)>,
    /// The last stored value, if any.
    last: Cell<Option<u64>>,
}

// SAFETY: All threads of a model are on one thread of the machine.
unsafe impl<T> Send for Atomic<T> {}
// SAFETY: As above.
unsafe impl<T> Sync for Atomic<T> {}

const UNUSED: usize = usize::MAX;

/// A value that no atomic has; it does no harm if one has.
const UNLIKELY: u64 = 0x5eed_0ff5_0dd5_ba11;

impl<T> Atomic<T> {
    /// Creates an atomic with this value.
    pub const fn new(value: T) -> Self {
        Self {
            init: UnsafeCell::new(value),
            slot: Cell::new((0, UNUSED)),
            last: Cell::new(None),
        }
    }
}

impl<T: AtomicType> Atomic<T> {
    fn init(&self) -> u64 {
        // SAFETY: It is only changed with exclusive access.
        unsafe { *self.init.get() }.to_bits()
    }

    fn last(&self) -> u64 {
        self.last.get().unwrap_or_else(|| self.init())
    }

    fn encode(&self, value: T) -> u64 {
        value.to_bits().wrapping_sub(self.init()) & T::MASK
    }

    fn decode(&self, bits: u64) -> T {
        T::from_bits(bits.wrapping_add(self.init()) & T::MASK)
    }

    /// Calls `loom` with the atomic of the checker, or `plain` with what the value is if that is
    /// not weak.
    fn access<R>(
        &self,
        loom: impl FnOnce(&loom::sync::atomic::AtomicU64, Rc<Point>) -> R,
        plain: impl FnOnce(&Self) -> R,
    ) -> R {
        if model::engine() == Engine::None {
            return plain(self);
        }
        model::before_access();

        let (execution, mut number) = self.slot.get();
        if execution != model::execution() {
            // A static one begins anew.
            if execution != 0 {
                self.last.set(None);
            }
            number = UNUSED;
            self.slot.set((model::execution(), number));
        }
        if model::engine() != Engine::Loom {
            return plain(self);
        }
        if number == UNUSED {
            number = model::take_atomic();
            self.slot.set((model::execution(), number));
        }
        loom(&model::pool()[number], model::point(number))
    }

    /// Loads the value.
    #[track_caller]
    pub fn load<O: LoadOrdering>(&self, _: O) -> T {
        let value = self.access(
            |atomic, point| {
                point.pass();
                self.decode(atomic.load(O::ORDER))
            },
            |this| T::from_bits(this.last()),
        );

        self.note("load", O::ORDER, value);
        value
    }

    /// Stores a value.
    #[track_caller]
    pub fn store<O: StoreOrdering>(&self, value: T, _: O) {
        self.access(
            |atomic, point| {
                // loom lets a later read-modify-write operation find a store of another thread,
                // even if that was one that has not seen this store. An exchange that fails brings
                // the stores to one atomic into the order in which they are executed.
                point.then(|| {
                    let _ = atomic.compare_exchange(
                        UNLIKELY,
                        UNLIKELY,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    atomic.store(self.encode(value), O::ORDER);
                });
            },
            |_| (),
        );
        self.last.set(Some(value.to_bits()));
        self.note("store", O::ORDER, value);
    }

    #[track_caller]
    fn rmw<O: RmwOrdering>(
        &self,
        name: &str,
        loom: impl FnOnce(&loom::sync::atomic::AtomicU64) -> u64,
        next: impl FnOnce(T) -> T,
    ) -> T {
        full_barrier::<O>();
        let old = self.access(
            |atomic, _| self.decode(loom(atomic)),
            |this| T::from_bits(this.last()),
        );
        let new = next(old);

        self.last.set(Some(new.to_bits()));
        full_barrier::<O>();
        self.note(name, O::ORDER, new);
        old
    }

    /// Adds to the memory of this CPU: an addition that is never a barrier.
    #[track_caller]
    pub(crate) fn add_here(&self, n: T) {
        let n = n.to_bits();
        let old = self.access(
            |atomic, _| self.decode(atomic.fetch_add(n, Ordering::Relaxed)),
            |this| T::from_bits(this.last()),
        );
        let new = T::from_bits(old.to_bits().wrapping_add(n) & T::MASK);

        self.last.set(Some(new.to_bits()));
        self.note("add to this CPU", Ordering::Relaxed, new);
    }

    /// Exchanges the value.
    #[track_caller]
    pub fn xchg<O: RmwOrdering>(&self, value: T, _: O) -> T {
        let new = self.encode(value);

        self.rmw::<O>("xchg", |atomic| atomic.swap(new, O::ORDER), |_| value)
    }

    /// Stores `new` if the value is `old`.
    #[track_caller]
    pub fn cmpxchg<O: RmwOrdering>(&self, old: T, new: T, _: O) -> Result<T, T> {
        full_barrier::<O>();
        let result = self.access(
            |atomic, _| {
                atomic
                    .compare_exchange(
                        self.encode(old),
                        self.encode(new),
                        O::ORDER,
                        Ordering::Relaxed,
                    )
                    .map(|bits| self.decode(bits))
                    .map_err(|bits| self.decode(bits))
            },
            |this| match this.last() {
                bits if bits == old.to_bits() => Ok(old),
                bits => Err(T::from_bits(bits)),
            },
        );

        match result {
            Ok(_) => {
                self.last.set(Some(new.to_bits()));
                full_barrier::<O>();
                self.note("cmpxchg", O::ORDER, new);
            }
            Err(value) => self.note("failing cmpxchg", Ordering::Relaxed, value),
        }
        result
    }

    /// Returns the value, to which the caller has exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        let value = T::from_bits(self.last());

        self.slot.set((0, UNUSED));
        self.last.set(None);
        *self.init.get_mut() = value;
        self.init.get_mut()
    }

    #[track_caller]
    fn note(&self, name: &str, order: Ordering, value: T) {
        model::note(|| {
            let (_, number) = self.slot.get();

            format!("{name} {order:?} #{number} = {:#x}", value.to_bits())
        });
    }
}

macro_rules! arithmetic {
    ($($t:ty)*) => { $(
        impl Atomic<$t> {
            /// Adds to the value.
            #[track_caller]
            pub fn add<O: RmwOrdering>(&self, n: $t, order: O) {
                self.fetch_add(n, order);
            }

            /// Adds to the value, and returns what it was.
            #[track_caller]
            pub fn fetch_add<O: RmwOrdering>(&self, n: $t, _: O) -> $t {
                self.rmw::<O>(
                    "add",
                    |atomic| atomic.fetch_add(n.to_bits(), O::ORDER),
                    |old| old.wrapping_add(n),
                )
            }

            /// Subtracts from the value, and returns what it was.
            #[track_caller]
            pub fn fetch_sub<O: RmwOrdering>(&self, n: $t, order: O) -> $t {
                self.fetch_add(n.wrapping_neg(), order)
            }
        }
    )* };
}

arithmetic! { u64 u32 usize i64 i32 }

fn full_barrier<O: RmwOrdering>() {
    if O::IS_FULL {
        fence(Ordering::SeqCst);
    }
}

pub(crate) fn fence(order: Ordering) {
    if model::engine() == Engine::Loom {
        loom::sync::atomic::fence(order);
    }
}
