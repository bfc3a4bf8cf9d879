// SPDX-License-Identifier: GPL-2.0

//! Mutexes.

use crate::model::{
    self,
    Engine, //
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

enum Raw {
    None,
    Loom(loom::sync::Mutex<()>),
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
                Engine::Loom => Raw::Loom(loom::sync::Mutex::new(())),
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
            (Raw::Loom(raw), Engine::Loom) => RawGuard::Loom(raw.lock().expect("not poisoned")),
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
            (Raw::Loom(raw), Engine::Loom) => raw.try_lock().ok().map(RawGuard::Loom),
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

/// Makes a mutex, in place.
#[macro_export]
macro_rules! new_mutex {
    ($value:expr $(, $name:literal)? $(,)?) => {
        $crate::init::value($crate::sync::Mutex::new($value))
    };
}
