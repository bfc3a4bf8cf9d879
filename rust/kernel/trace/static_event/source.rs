// SPDX-License-Identifier: GPL-2.0

//! Sources of the fields of variable size of a record.

use super::Scalar;
use crate::{
    bindings,
    bitmap::Bitmap,
    cpumask::Cpumask,
    fmt,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};
use core::marker::PhantomData;

/// A source of a `str` field.
///
/// What is written is what C code takes for the string, so it should not have a NUL inside.
#[diagnostic::on_unimplemented(
    message = "a string field cannot be written from `{Self}`",
    note = "it takes a `&CStr`, a `&str`, a `&[u8]`, or an `Option` of one"
)]
pub trait StrSource<'a> {
    /// Returns the bytes without NUL.
    fn bytes(self) -> &'a [u8];
}

impl<'a> StrSource<'a> for &'a CStr {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        self.to_bytes()
    }
}

impl<'a> StrSource<'a> for &'a str {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        self.as_bytes()
    }
}

impl<'a> StrSource<'a> for &'a [u8] {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        self
    }
}

impl<'a, const N: usize> StrSource<'a> for &'a [u8; N] {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        self
    }
}

/// `None` is written as `(null)`, as C does with a null pointer.
impl<'a, T: StrSource<'a>> StrSource<'a> for Option<T> {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        match self {
            Some(string) => string.bytes(),
            None => b"(null)",
        }
    }
}

/// Returns the bytes that a `str` field is written from.
#[inline(always)]
pub fn str_source<'a>(source: impl StrSource<'a>) -> &'a [u8] {
    source.bytes()
}

/// Returns the elements that an array of variable size is written from.
#[inline(always)]
pub fn array_source<T: Scalar>(source: &[T]) -> &[T] {
    source
}

/// Returns the iterator that an array of variable size is filled from.
#[inline(always)]
pub fn each_source<T: Scalar, I>(source: I) -> I::IntoIter
where
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    source.into_iter()
}

/// Returns the size in bytes of an array of the items of `source`. [`ExactSizeIterator::len`]
/// panics for an iterator whose bounds differ, which a hit must not do.
#[inline(always)]
pub fn each_len<T: Scalar>(source: &impl ExactSizeIterator<Item = T>) -> usize {
    source.size_hint().0.saturating_mul(size_of::<T::Bits>())
}

/// Returns the text that a `text` field is written from.
#[inline(always)]
pub fn text_source(source: fmt::Arguments<'_>) -> fmt::Arguments<'_> {
    source
}

/// Bits in full words, which may be changed while they are read.
///
/// # Invariants
///
/// `words` is valid for reads of `count` words for `'a`, which are written as atomics if at all.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    words: *const usize,
    count: usize,
    _source: PhantomData<&'a [usize]>,
}

impl<'a> Bits<'a> {
    /// Creates a view of `count` words.
    ///
    /// # Safety
    ///
    /// `words` must be valid for reads of `count` words for `'a`, and these be written by nothing
    /// but atomics, such as `set_bit()` is.
    #[inline(always)]
    unsafe fn new(words: *const usize, count: usize) -> Self {
        // INVARIANT: By the safety requirements, `words` is valid for reads of `count` words for
        // `'a`, and they are only written by atomic operations.
        Self {
            words,
            count,
            _source: PhantomData,
        }
    }

    /// Returns the size in bytes.
    #[inline(always)]
    pub fn size(self) -> usize {
        // Cannot overflow, as memory of this size exists.
        self.count.wrapping_mul(size_of::<usize>())
    }

    /// Returns the words, each as of when it is read.
    #[inline(always)]
    pub(super) fn words(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.count).map(move |i| {
            // SAFETY: By the type invariant the word is valid for `'a`, and written as an atomic
            // if at all.
            unsafe { Atomic::from_ptr(self.words.add(i).cast_mut()) }.load(Relaxed)
        })
    }
}

/// A source of a `bitmask` field.
#[diagnostic::on_unimplemented(
    message = "a bitmask field cannot be written from `{Self}`",
    note = "it takes a `&Bitmap` or a `&[usize]`"
)]
pub trait BitmaskSource<'a> {
    /// Returns the bits.
    fn bits(self) -> Bits<'a>;
}

impl<'a> BitmaskSource<'a> for &'a [usize] {
    #[inline(always)]
    fn bits(self) -> Bits<'a> {
        // SAFETY: A slice is not written to while a shared reference to it exists.
        unsafe { Bits::new(self.as_ptr(), self.len()) }
    }
}

impl<'a, const N: usize> BitmaskSource<'a> for &'a [usize; N] {
    #[inline(always)]
    fn bits(self) -> Bits<'a> {
        self.as_slice().bits()
    }
}

impl<'a> BitmaskSource<'a> for &'a Bitmap {
    #[inline(always)]
    fn bits(self) -> Bits<'a> {
        let count = self.len().div_ceil(usize::BITS as usize);

        // SAFETY: A bitmap has full words, which are changed by atomics while a shared reference to
        // it exists.
        unsafe { Bits::new(self.as_ptr(), count) }
    }
}

/// Returns the bits that a `bitmask` field is written from.
#[inline(always)]
pub fn bitmask_source<'a>(source: impl BitmaskSource<'a>) -> Bits<'a> {
    source.bits()
}

/// Returns the bits that a `cpumask` field is written from.
#[inline(always)]
pub fn cpumask_source(mask: &Cpumask) -> Bits<'_> {
    // SAFETY: A mask has full words for all possible CPU numbers. Those of the kernel are changed
    // by `set_bit()` and `clear_bit()`.
    unsafe {
        Bits::new(
            mask.as_raw().cast_const().cast(),
            bindings::trace_cpumask_words(),
        )
    }
}
