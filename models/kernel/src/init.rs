// SPDX-License-Identifier: GPL-2.0

//! Initialisation in place, which is not in place here.

use crate::error::Result;

/// Initializers of a `T`.
pub trait Init<T> {
    fn make(self) -> Result<T>;
}

pub struct Value<T>(T);

impl<T> Init<T> for Value<T> {
    fn make(self) -> Result<T> {
        Ok(self.0)
    }
}

pub fn value<T>(value: T) -> Value<T> {
    Value(value)
}

pub struct With<F>(F);

impl<T, F: FnOnce() -> Result<T>> Init<T> for With<F> {
    fn make(self) -> Result<T> {
        (self.0)()
    }
}

pub fn with<T, F: FnOnce() -> Result<T>>(f: F) -> With<F> {
    With(f)
}

pub fn make<T>(init: impl Init<T>) -> Result<T> {
    init.make()
}

#[macro_export]
macro_rules! pin_init {
    ($t:ident { $($fields:tt)* }) => {
        $crate::init::with(move || -> $crate::error::Result<_> {
            $crate::__fields!($t [] $($fields)*)
        })
    };
}

#[macro_export]
macro_rules! try_pin_init {
    ($t:ident { $($fields:tt)* } ? Error) => { $crate::pin_init!($t { $($fields)* }) };
    ($t:ident { $($fields:tt)* }) => { $crate::pin_init!($t { $($fields)* }) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ($t:ident [$($done:tt)*]) => { Ok($t { $($done)* }) };
    ($t:ident [$($done:tt)*] $name:ident <- $init:expr $(, $($rest:tt)*)?) => {
        $crate::__fields!($t [$($done)* $name: $crate::init::make($init)?,] $($($rest)*)?)
    };
    ($t:ident [$($done:tt)*] $name:ident: $value:expr $(, $($rest:tt)*)?) => {
        $crate::__fields!($t [$($done)* $name: $value,] $($($rest)*)?)
    };
    ($t:ident [$($done:tt)*] $name:ident $(, $($rest:tt)*)?) => {
        $crate::__fields!($t [$($done)* $name,] $($($rest)*)?)
    };
}
