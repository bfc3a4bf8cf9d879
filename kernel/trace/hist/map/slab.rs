// SPDX-License-Identifier: GPL-2.0

//! The memory of the elements, and which of them are free.
//!
//! Elements are taken in order. Those that are freed form a free list, linked through the
//! first words of the elements, and are preferred. The head of the list has a version, so that a
//! compare-and-exchange fails if an element has been taken and freed in between. All of this
//! is lock-free, so an NMI that interrupts it can do the same.
//!
//! The reasons for what is inlined are those of [`map`](super).

use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

use super::words::OwnLine;
use crate::limits::WORD;

/// Allocates zeroed words for a map, or for a copy of one.
///
/// `event_mutex` is held, or a lock that is taken with it held. So this tries once, and does not
/// call the OOM killer. It is not charged either: a [whole map](super::Map::size_of) is, before.
pub(super) fn zeroed<T: Zeroable>(len: usize) -> Result<KVVec<T>> {
    Ok(KVVec::zeroed(
        len,
        GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY,
    )?)
}

/// The elements of a map.
pub(super) struct Slab {
    words: KVVec<Atomic<u64>>,
    /// Size of an element, in words.
    size: usize,
    /// Number of elements.
    count: u32,
    free: OwnLine<Free>,
}

/// The elements that can be taken.
struct Free {
    /// The first element that was never taken. It may exceed the number of elements, by at most
    /// that of contexts: code that sees this leaves it as it is.
    next: Atomic<u32>,
    /// The head of the free list.
    head: Atomic<u64>,
}

/// The head of the free list: a version, and the index of an element plus one, or 0 at the end.
#[derive(Clone, Copy)]
struct Head(u64);

impl Head {
    fn index(self) -> Option<u32> {
        // CAST: The low half.
        (self.0 as u32).checked_sub(1)
    }

    /// Returns the head that follows this one, with `number` in its low half.
    fn followed_by(self, number: u32) -> Self {
        // CAST: The high half.
        let version = ((self.0 >> 32) as u32).wrapping_add(1);

        Self(u64::from(version) << 32 | u64::from(number))
    }
}

impl Slab {
    /// Allocates `count` elements of `size` words, which are zero.
    pub(super) fn new(count: u32, size: usize) -> Result<Self> {
        let words = size.checked_mul(count as usize).ok_or(ENOMEM)?;

        Ok(Self {
            words: zeroed(words)?,
            size,
            count,
            free: OwnLine(Free {
                next: Atomic::new(0),
                head: Atomic::new(0),
            }),
        })
    }

    /// Returns the size of `count` elements of `size` words, in bytes.
    pub(super) fn size_of(count: u32, size: usize) -> Result<usize> {
        let words = size.checked_mul(count as usize).ok_or(ENOMEM)?;

        words.checked_mul(WORD).ok_or(ENOMEM)
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.words)
    }

    #[inline(always)]
    fn free_list(&self) -> &Free {
        &self.free.0
    }

    /// Returns the words of an element, if it exists.
    #[inline(always)]
    pub(super) fn element(&self, index: u32) -> Option<&[Atomic<u64>]> {
        let start = self.size.wrapping_mul(index as usize);

        self.words.get(start..start.wrapping_add(self.size))
    }

    /// Returns `true` if the first word of an element is `first`.
    #[inline(always)]
    pub(super) fn has_first(&self, index: u32, first: u64) -> bool {
        let start = self.size.wrapping_mul(index as usize);

        self.words
            .get(start)
            .is_some_and(|word| word.load(Relaxed) == first)
    }

    /// Returns the word at `at` of an element, if that exists and its first word is `first`.
    #[inline(always)]
    pub(super) fn word_if(&self, index: u32, first: u64, at: usize) -> Option<&Atomic<u64>> {
        let start = self.size.wrapping_mul(index as usize);

        if self.words.get(start)?.load(Relaxed) != first {
            return None;
        }
        self.words.get(start.wrapping_add(at))
    }

    /// Returns `true` if no element is left.
    #[inline(always)]
    pub(super) fn is_used_up(&self) -> bool {
        let free = self.free_list();

        Head(free.head.load(Relaxed)).index().is_none() && free.next.load(Relaxed) >= self.count
    }

    /// Takes an element, whose words are zero, or those from before it was freed except for the
    /// first word.
    ///
    /// If no element is left, this writes nothing, so that CPUs do not fight for the memory.
    pub(super) fn take(&self) -> Option<u32> {
        self.take_freed().or_else(|| self.take_new())
    }

    /// Takes an element that was freed, as [`Slab::take`] does.
    pub(super) fn take_freed(&self) -> Option<u32> {
        let free = self.free_list();
        // Pairs with the compare-and-exchange in `free`: the link was written before.
        let mut head = Head(free.head.load(Acquire));

        loop {
            let index = head.index()?;
            // If another CPU takes the element, this is anything, and the exchange fails.
            //
            // CAST: The link is the low half.
            let link = self.element(index)?.first()?.load(Relaxed) as u32;

            match free.head.cmpxchg(head.0, head.followed_by(link).0, Acquire) {
                Ok(_) => return Some(index),
                Err(_) => head = Head(free.head.load(Acquire)),
            }
        }
    }

    fn take_new(&self) -> Option<u32> {
        let next = &self.free_list().next;

        if next.load(Relaxed) >= self.count {
            return None;
        }

        let index = next.fetch_add(1, Relaxed);
        (index < self.count).then_some(index)
    }

    /// Frees an element that cannot be reached: one that was never published, or was retired and
    /// removed from its bucket.
    pub(super) fn free(&self, index: u32) {
        let Some(link) = self.element(index).and_then(<[_]>::first) else {
            return;
        };
        let free = self.free_list();
        let mut head = Head(free.head.load(Relaxed));

        loop {
            // CAST: The low half.
            link.store(u64::from(head.0 as u32), Relaxed);
            let number = index.wrapping_add(1);

            // Pairs with the loads in `take_freed`.
            match free
                .head
                .cmpxchg(head.0, head.followed_by(number).0, Release)
            {
                Ok(_) => return,
                Err(current) => head = Head(current),
            }
        }
    }

    /// Zeroes and frees all elements. None may be in use.
    pub(super) fn wipe(&self) {
        let free = self.free_list();
        let used = free.next.load(Relaxed).min(self.count) as usize;

        for word in self.words.iter().take(used.wrapping_mul(self.size)) {
            word.store(0, Relaxed);
        }
        free.head.store(0, Relaxed);
        free.next.store(0, Relaxed);
    }
}
