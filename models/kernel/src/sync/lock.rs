// SPDX-License-Identifier: GPL-2.0

//! Mutexes.

use crate::model::{
    self,
    Engine,
    Point, //
};
use std::{
    cell::UnsafeCell,
    ops::{
        Deref,
        DerefMut, //
    },
};

/// A mutex, which must be created by the model.
pub struct Mutex<T: ?Sized> {
    raw: Raw,
    value: UnsafeCell<T>,
}

/// In a model a spinlock is a mutex.
pub type SpinLock<T> = Mutex<T>;

enum Raw {
    None,
    Loom(loom::sync::Mutex<()>, Point),
    Shuttle(shuttle::sync::Mutex<()>),
}

#[allow(dead_code, reason = "they are dropped")]
enum RawGuard<'a> {
    None,
    Loom(loom::sync::MutexGuard<'a, ()>),
    Shuttle(shuttle::sync::MutexGuard<'a, ()>),
}

// SAFETY: All threads of a model are on one thread of the machine.
unsafe impl<T: ?Sized> Send for Mutex<T> {}
// SAFETY: As above, and access to the value takes the lock.
unsafe impl<T: ?Sized> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    #[doc(hidden)]
    pub fn new(value: T) -> Self {
        Self {
            raw: match model::engine() {
                Engine::None => Raw::None,
                Engine::Loom => Raw::Loom(loom::sync::Mutex::new(()), Point::new()),
                Engine::Shuttle => Raw::Shuttle(shuttle::sync::Mutex::new(())),
            },
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, T> {
        let raw = match (&self.raw, model::engine()) {
            (Raw::Loom(raw, _), Engine::Loom) => RawGuard::Loom(raw.lock().expect("not poisoned")),
            (Raw::Shuttle(raw), Engine::Shuttle) => {
                RawGuard::Shuttle(raw.lock().expect("not poisoned"))
            }
            _ => RawGuard::None,
        };

        model::note(|| "lock".into());
        Guard { mutex: self, raw }
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let raw = match (&self.raw, model::engine()) {
            (Raw::Loom(raw, point), Engine::Loom) => {
                point.then(|| raw.try_lock().ok().map(RawGuard::Loom))
            }
            (Raw::Shuttle(raw), Engine::Shuttle) => raw.try_lock().ok().map(RawGuard::Shuttle),
            _ => Some(RawGuard::None),
        };

        model::note(|| format!("trylock: {}", raw.is_some()));
        Some(Guard {
            mutex: self,
            raw: raw?,
        })
    }
}

/// A mutex that is held.
pub struct Guard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    #[allow(dead_code, reason = "it is dropped")]
    raw: RawGuard<'a>,
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: The lock is held.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: The lock is held.
        unsafe { &mut *self.mutex.value.get() }
    }
}

/// A lock for readers and writers, of nothing.
pub struct RwLock(RawRw);

enum RawRw {
    None,
    Loom(loom::sync::RwLock<()>, Point),
    Shuttle(shuttle::sync::RwLock<()>),
}

/// Held for reading.
#[allow(dead_code, reason = "they are dropped")]
pub enum RwReadGuard<'a> {
    #[doc(hidden)]
    None,
    #[doc(hidden)]
    Loom(loom::sync::RwLockReadGuard<'a, ()>),
    #[doc(hidden)]
    Shuttle(shuttle::sync::RwLockReadGuard<'a, ()>),
}

/// Held for writing.
#[allow(dead_code, reason = "they are dropped")]
pub enum RwWriteGuard<'a> {
    #[doc(hidden)]
    None,
    #[doc(hidden)]
    Loom(loom::sync::RwLockWriteGuard<'a, ()>),
    #[doc(hidden)]
    Shuttle(shuttle::sync::RwLockWriteGuard<'a, ()>),
}

impl RwLock {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self(match model::engine() {
            Engine::None => RawRw::None,
            Engine::Loom => RawRw::Loom(loom::sync::RwLock::new(()), Point::new()),
            Engine::Shuttle => RawRw::Shuttle(shuttle::sync::RwLock::new(())),
        })
    }

    #[track_caller]
    pub(crate) fn read(&self) -> RwReadGuard<'_> {
        let guard = match (&self.0, model::engine()) {
            (RawRw::Loom(raw, _), Engine::Loom) => {
                RwReadGuard::Loom(raw.read().expect("not poisoned"))
            }
            (RawRw::Shuttle(raw), Engine::Shuttle) => {
                RwReadGuard::Shuttle(raw.read().expect("not poisoned"))
            }
            _ => RwReadGuard::None,
        };

        model::note(|| "read lock".into());
        guard
    }

    #[track_caller]
    pub(crate) fn try_read(&self) -> Option<RwReadGuard<'_>> {
        let guard = match (&self.0, model::engine()) {
            (RawRw::Loom(raw, point), Engine::Loom) => {
                point.then(|| raw.try_read().ok().map(RwReadGuard::Loom))
            }
            (RawRw::Shuttle(raw), Engine::Shuttle) => raw.try_read().ok().map(RwReadGuard::Shuttle),
            _ => Some(RwReadGuard::None),
        };

        model::note(|| format!("read trylock: {}", guard.is_some()));
        guard
    }

    #[track_caller]
    pub(crate) fn write(&self) -> RwWriteGuard<'_> {
        let guard = match (&self.0, model::engine()) {
            (RawRw::Loom(raw, _), Engine::Loom) => {
                RwWriteGuard::Loom(raw.write().expect("not poisoned"))
            }
            (RawRw::Shuttle(raw), Engine::Shuttle) => {
                RwWriteGuard::Shuttle(raw.write().expect("not poisoned"))
            }
            _ => RwWriteGuard::None,
        };

        model::note(|| "write lock".into());
        guard
    }

    /// Waits for the lock, and holds it while others may try to take it.
    #[track_caller]
    pub(crate) fn hold(&self) -> RwHold<'_> {
        RwHold {
            lock: self,
            _guard: self.write(),
        }
    }
}

/// A lock that is held for writing. Its release is a step whose order with the tries of other
/// threads matters to loom, which that of a plain guard is not.
pub struct RwHold<'a> {
    lock: &'a RwLock,
    _guard: RwWriteGuard<'a>,
}

impl Drop for RwHold<'_> {
    fn drop(&mut self) {
        if let (RawRw::Loom(_, point), Engine::Loom) = (&self.lock.0, model::engine()) {
            point.pass();
        }
    }
}

/// Creates a mutex, in place.
#[macro_export]
macro_rules! new_mutex {
    ($value:expr $(, $name:literal)? $(,)?) => {
        $crate::init::value($crate::sync::Mutex::new($value))
    };
}

/// Creates a spinlock, in place.
#[macro_export]
macro_rules! new_spinlock {
    ($($all:tt)*) => { $crate::new_mutex!($($all)*) };
}
