// SPDX-License-Identifier: GPL-2.0

//! The variables and strings of an element, and the seqlock-like lock that keeps them together.
//!
//! A word of the element has the lock: the CPU of the writer, the marks that say which variables
//! are set, and a version. A writer holds the lock; a reader copies, and retries if the word has
//! changed, so no reader sees half of an update.
//!
//! All of this runs in any context. Waiting ends after a few microseconds, for all elements of a
//! hit together ([`Polls`]), and nothing waits if this very CPU is the writer: that is interrupted
//! code, which cannot continue before the waiter has failed. A writer of all variables never
//! waits: if another one has the lock, the state afterwards is the same as if its own values had
//! been stored just before. Nor does a reader of one number that unsets nothing: the word of a
//! variable that is set always has the value of one hit.

use core::mem;
use kernel::{
    processor::cpu_relax,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        barrier::{
            smp_mb,
            Read,
            Write, //
        },
    },
};

use super::{
    element::{
        Element,
        Elements, //
    },
    words::{
        cut,
        mark,
        put_string,
        LockWord,
        VarSet,
        UNUSED,
        VERSION, //
    },
};
use crate::limits::STRING_WORDS;

/// Number of polls of a hit before it fails, all elements and attempts together.
const LOCK_SPIN_LIMIT: u32 = 64;

/// The polls that are left to a hit. One is used up whenever a lock is found held, and whenever an
/// attempt is in vain since another CPU was faster. A lock that is free takes none.
pub(crate) struct Polls(u32);

impl Polls {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(LOCK_SPIN_LIMIT)
    }

    /// Uses up one, or returns `None` if none is left.
    #[inline(always)]
    fn use_up(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// An element was written to, or used for another key.
pub(super) struct Changed;

/// The variables are being written for an unknown time; or the element has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Busy;

impl<'m> Element<'m> {
    /// Locks the variables, to write some of them.
    ///
    /// `None` if another CPU holds the lock for too long, or if this CPU does, and for elements
    /// without variables.
    #[inline(always)]
    pub(crate) fn write(&self, polls: &mut Polls) -> Option<Writer<'m>> {
        let (lock, vars) = self.locked()?;

        loop {
            let word = unlocked(lock, polls, || false)?;

            if let Ok(writer) = self.try_write(lock, vars, word) {
                return Some(writer);
            }
            polls.use_up()?;
        }
    }

    /// Locks the variables, to write all that [`Element::consume`] and readers ask for. Never
    /// waits.
    ///
    /// `None` if another write is being done or has just been done: to store nothing leaves the
    /// element as if the values had been stored before those of the other write. Also `None` for
    /// elements without variables.
    #[inline(always)]
    pub(crate) fn overwrite(&self) -> Option<Writer<'m>> {
        let place = self.locked()?;
        // Pairs with the store in `drop`: what the last writer wrote is overwritten.
        let seen = LockWord(place.0.load(Acquire));

        self.overwrite_at(place, seen).unwrap_or(None)
    }

    /// Locks the variables as [`Element::overwrite`] does, of an element that may have been reused
    /// for another key since its lock had the word `seen`.
    ///
    /// # Errors
    ///
    /// [`Changed`] if it may be used for another key by now.
    #[inline(always)]
    pub(super) fn overwrite_since(&self, seen: LockWord) -> Result<Option<Writer<'m>>, Changed> {
        match self.locked() {
            Some(place) => self.overwrite_at(place, seen),
            None => Ok(None),
        }
    }

    /// Locks the variables as [`Element::overwrite_since`] does, with the given lock and
    /// variables.
    #[inline(always)]
    fn overwrite_at(
        &self,
        (lock, vars): (&'m Atomic<u64>, &'m [Atomic<u64>]),
        seen: LockWord,
    ) -> Result<Option<Writer<'m>>, Changed> {
        if seen.is_locked() {
            return Ok(None);
        }
        match self.try_write(lock, vars, seen) {
            Ok(writer) => Ok(Some(writer)),
            Err(now) => Self::overwrite_after(self.parts(), seen, now),
        }
    }

    /// Continues [`Element::overwrite_at`] after the word of the lock was `seen`, and is `word`.
    ///
    /// Not a method, as that would have the caller keep the element in memory, not in registers.
    #[cold]
    #[inline(never)]
    fn overwrite_after(
        (elements, words): (&'m Elements, &'m [Atomic<u64>]),
        seen: LockWord,
        mut word: LockWord,
    ) -> Result<Option<Writer<'m>>, Changed> {
        let element = elements.with(words);
        let Some((lock, vars)) = element.locked() else {
            return Ok(None);
        };

        // These are no polls: each attempt that fails is a reader that has taken variables.
        for _ in 0..LOCK_SPIN_LIMIT {
            if word.version() != seen.version() {
                return Err(Changed);
            }
            if word.is_locked() {
                return Ok(None);
            }
            // If only the marks have changed, a reader has taken variables: a new value must be set
            // after that.
            match element.try_write(lock, vars, word) {
                Ok(writer) => return Ok(Some(writer)),
                Err(now) => word = now,
            }
        }
        Ok(None)
    }

    /// Returns the word of the lock of an element that has a key, or `None` if it is unused.
    #[inline(always)]
    pub(super) fn in_use(&self) -> Option<LockWord> {
        // Pairs with the stores in `use_again` and `drop`: the key of this version is seen.
        let word = LockWord(self.lock()?.load(Acquire));

        (word.owner() != UNUSED).then_some(word)
    }

    /// Returns `true` if the element has a key, which is `key` if the variables are read
    /// consistently.
    #[inline]
    pub(crate) fn is_of(&self, key: &[u64]) -> bool {
        match *key {
            [word] => self.is_word(word),
            _ => self.has_key(key),
        }
    }

    /// Returns `true` if the element has a key.
    pub(crate) fn is_used(&self) -> bool {
        self.in_use().is_some()
    }

    /// Retires an element, unless it is being written to or `kept` returns `true` for the word of
    /// its lock. Nothing is written to it from here on. Returns the word that it had, which may be
    /// that of an element that was retired before, or `None` if it stays in use.
    ///
    /// # Errors
    ///
    /// [`Changed`] if it was written to, or a variable was taken, at the same time.
    #[inline(always)]
    pub(super) fn retire(
        &self,
        kept: impl Fn(LockWord) -> bool,
    ) -> Result<Option<LockWord>, Changed> {
        let Some(lock) = self.lock() else {
            return Ok(None);
        };
        // Pairs with the store in `drop`.
        let word = LockWord(lock.load(Acquire));

        if word.is_locked() {
            return Ok((word.owner() == UNUSED).then_some(word));
        }
        if kept(word) {
            return Ok(None);
        }
        let unused = word.0.wrapping_add(VERSION) >> 32 << 32 | u64::from(UNUSED);

        lock.cmpxchg(word.0, unused, Acquire).map_err(|_| Changed)?;
        // Pairs with the barrier in `read_then`: a reader that sees the link of the free list in
        // place of the key sees that the word has changed.
        smp_mb(Write);
        Ok(Some(word))
    }

    /// Changes an unused element, which only the caller owns, to be in use for the key that it has
    /// now. It is locked until the returned value is dropped, so that it cannot be retired before
    /// it is in a bucket.
    #[inline(always)]
    pub(super) fn use_again(&self) -> Option<Writer<'m>> {
        let (lock, vars) = self.locked()?;
        let word = lock.load(Relaxed).wrapping_add(VERSION) >> 32 << 32;

        // Pairs with the load in `in_use`.
        lock.store(word | u64::from(LockWord::this_cpu()), Release);
        Some(Writer {
            element: *self,
            vars,
            lock,
            word: LockWord(word.wrapping_add(VERSION)),
        })
    }

    /// Returns the writer of an element that is [still](Writer::keep_locked) locked.
    #[inline(always)]
    pub(super) fn writer_again(&self) -> Option<Writer<'m>> {
        let (lock, vars) = self.locked()?;
        // No other CPU changes it.
        let word = LockWord(lock.load(Relaxed));

        Some(Writer {
            element: *self,
            vars,
            lock,
            word: word.unlocked().next(),
        })
    }

    /// Locks the variables if the word of the lock is still `word`, in which it is free.
    ///
    /// # Errors
    ///
    /// The value that it has instead.
    #[inline(always)]
    fn try_write(
        &self,
        lock: &'m Atomic<u64>,
        vars: &'m [Atomic<u64>],
        word: LockWord,
    ) -> Result<Writer<'m>, LockWord> {
        let locked = word.0 | u64::from(LockWord::this_cpu());

        // Pairs with the store in `drop`: what the last writer wrote is seen.
        lock.cmpxchg(word.0, locked, Acquire).map_err(LockWord)?;
        // Pairs with the barrier in `read_then`: a reader that sees what is written from here on
        // sees that the lock is held.
        smp_mb(Write);
        Ok(Writer {
            element: *self,
            vars,
            lock,
            word: LockWord(word.0.wrapping_add(VERSION)),
        })
    }

    /// Reads variables.
    ///
    /// If variables are written concurrently, the result of `f` is discarded and `f` is called
    /// again. Returns `None` if that does not end, if this CPU is about to write them, for unused
    /// elements, and for those without variables.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnMut(&Reader<'m>) -> R) -> Option<R> {
        self.read_then(
            &mut Polls::new(),
            || false,
            f,
            |lock, word, _| lock.load(Relaxed) == word.0,
        )
    }

    /// Reads variables and, if `f` returns a value, unsets those of `once`, all in one step.
    ///
    /// If `f` reads `one` number at most and nothing is to be unset, this does not wait for a
    /// writer: the variable is set if it was before the write, and its word has the value of
    /// before, or that of the hit that is writing.
    ///
    /// # Errors
    ///
    /// [`Busy`] where [`Element::read`] returns `None`.
    #[inline(always)]
    pub(crate) fn consume<R>(
        &self,
        polls: &mut Polls,
        once: VarSet,
        one: impl Fn() -> bool,
        f: impl FnMut(&Reader<'m>) -> Option<R>,
    ) -> Result<Option<R>, Busy> {
        let one = || once.is_empty() && one();

        self.read_then(polls, one, f, |lock, word, result| {
            let taken = word.0 & !once.marks();

            if result.is_none() || taken == word.0 {
                return lock.load(Relaxed) == word.0;
            }
            lock.cmpxchg(word.0, taken, Relaxed).is_ok()
        })
        .ok_or(Busy)
    }

    /// Sets consumed variables again, unless they were written since `version`, as the new values
    /// may have been consumed as well. Returns `false` where [`Element::read`] returns `None`.
    pub(crate) fn restore(&self, polls: &mut Polls, once: VarSet, version: u32) -> bool {
        let restored = self.read_then(
            polls,
            || false,
            |_| (),
            |lock, word, ()| {
                word.version() != version
                    || lock.cmpxchg(word.0, word.0 | once.marks(), Relaxed).is_ok()
            },
        );

        restored.is_some()
    }

    /// Reads variables until `still` confirms that the word of the lock has not changed, so that
    /// none was written concurrently. `one` returns `true` if that one is being written does not
    /// matter.
    #[inline(always)]
    fn read_then<R>(
        &self,
        polls: &mut Polls,
        one: impl Fn() -> bool,
        mut f: impl FnMut(&Reader<'m>) -> R,
        still: impl Fn(&Atomic<u64>, LockWord, &R) -> bool,
    ) -> Option<R> {
        let (lock, vars) = self.locked()?;

        loop {
            let word = unlocked(lock, polls, &one)?;
            let result = f(&Reader {
                element: *self,
                vars,
                word,
            });

            // Pairs with the barrier in `try_write`.
            smp_mb(Read);
            if still(lock, word, &result) {
                return Some(result);
            }
            polls.use_up()?;
        }
    }

    #[inline]
    fn lock(&self) -> Option<&'m Atomic<u64>> {
        self.word(self.layout().lock)
    }

    /// Returns the lock, and the words from the first variable on. Users of one have its number
    /// from the layout.
    #[inline(always)]
    fn locked(&self) -> Option<(&'m Atomic<u64>, &'m [Atomic<u64>])> {
        self.words_from(self.layout().lock)?.split_first()
    }

    /// Returns the words of a string or a stack.
    #[inline]
    fn string_words(&self, slot: usize) -> &'m [Atomic<u64>] {
        self.layout()
            .string(slot)
            .map_or(&[], |start| self.words(start, STRING_WORDS))
    }
}

/// Waits until the lock is free, but not for this CPU, and for no more than `polls`. If `held`
/// returns `true` it may also be held by a writer.
#[inline(always)]
fn unlocked(lock: &Atomic<u64>, polls: &mut Polls, held: impl Fn() -> bool) -> Option<LockWord> {
    // Pairs with the store in `drop`: what the last writer wrote is seen.
    let word = LockWord(lock.load(Acquire));

    if word.owner() == 0 {
        return Some(word);
    }
    if word.owner() != UNUSED && held() {
        return Some(word);
    }
    let (word, left) = wait(lock, polls.0);

    polls.0 = left;
    word
}

/// Polls until the lock is free. Returns its word, and the number of polls that are left.
#[cold]
#[inline(never)]
fn wait(lock: &Atomic<u64>, polls: u32) -> (Option<LockWord>, u32) {
    for left in (0..polls).rev() {
        // As in `unlocked`.
        let word = LockWord(lock.load(Acquire));

        if word.owner() == 0 {
            return (Some(word), left);
        }
        if word.owner() == LockWord::this_cpu() || word.owner() == UNUSED {
            return (None, left);
        }
        cpu_relax();
    }
    (None, 0)
}

/// Writes the variables of an element, and reads them.
///
/// Others see all of it or nothing. They wait until it is dropped, so this should not take
/// long, and preemption should be off.
pub(crate) struct Writer<'m> {
    element: Element<'m>,
    vars: &'m [Atomic<u64>],
    lock: &'m Atomic<u64>,
    /// The next value of the word of the lock.
    word: LockWord,
}

impl Writer<'_> {
    /// Unlocks an element that is in no bucket, as an unused one.
    #[inline(always)]
    pub(super) fn abandon(self) {
        // What was written to it is of no use.
        self.lock
            .store(self.word.0 >> 32 << 32 | u64::from(UNUSED), Relaxed);
        mem::forget(self);
    }

    /// Leaves the element locked, for [`Element::writer_again`].
    #[inline(always)]
    pub(super) fn keep_locked(self) {
        mem::forget(self);
    }

    /// Returns `true` if a variable is set.
    #[inline]
    pub(crate) fn is_set(&self, var: usize) -> bool {
        self.word.is_marked(var)
    }

    /// Returns a variable, or 0 if it was never set.
    #[inline]
    pub(crate) fn var(&self, var: usize) -> u64 {
        self.vars.get(var).map_or(0, |word| word.load(Relaxed))
    }

    /// Sets a variable.
    #[inline]
    pub(crate) fn set_var(&mut self, var: usize, value: u64) {
        if let Some(word) = self.vars.get(var) {
            word.store(value, Relaxed);
            self.word.0 |= mark(var);
        }
    }

    /// Writes a variable that is yet to be [marked](Self::mark).
    #[inline]
    pub(crate) fn put(&mut self, var: usize, value: u64) {
        if let Some(word) = self.vars.get(var) {
            word.store(value, Relaxed);
        }
    }

    /// Marks variables as set.
    #[inline]
    pub(crate) fn mark(&mut self, marks: VarSet) {
        self.word.0 |= marks.marks();
    }

    /// Sets a string to the bytes before the first NUL, up to the room that is left for a NUL
    /// after them.
    pub(crate) fn set_string(&mut self, slot: usize, text: &[u8]) {
        let words = self.element.string_words(slot);
        let room = size_of_val(words).saturating_sub(1);
        let text = text.get(..room).unwrap_or(text);

        put_string(&mut words.iter(), text, |word, text| {
            word.store(text, Relaxed)
        });
    }

    /// Sets a stack to its length, and the addresses that fit.
    pub(crate) fn set_stack(&mut self, slot: usize, stack: impl Iterator<Item = u64>) {
        let Some((length, words)) = self.element.string_words(slot).split_first() else {
            return;
        };
        let mut n = 0u64;

        for (word, address) in words.iter().zip(stack) {
            word.store(address, Relaxed);
            n = n.wrapping_add(1);
        }
        length.store(n, Relaxed);
    }
}

impl Drop for Writer<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with the loads in `unlocked`, `wait` and `overwrite` and the compare-and-exchange
        // in `try_write`.
        self.lock.store(self.word.0, Release);
    }
}

/// Reads the variables of an element, while they may change.
pub(crate) struct Reader<'m> {
    element: Element<'m>,
    vars: &'m [Atomic<u64>],
    word: LockWord,
}

impl Reader<'_> {
    /// Returns the word of the lock, without a concurrent write.
    pub(super) fn lock_word(&self) -> LockWord {
        self.word
    }

    /// Returns the number of writes before this reading.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.word.version()
    }

    /// Returns a variable, if it is set.
    #[inline]
    pub(crate) fn var(&self, var: usize) -> Option<u64> {
        let word = self.vars.get(var)?;

        self.word.is_marked(var).then(|| word.load(Relaxed))
    }

    /// Copies a string. The words after its NUL stay as they are.
    pub(crate) fn copy_string(&self, slot: usize, text: &mut [u64; STRING_WORDS]) {
        for (to, from) in text.iter_mut().zip(self.element.string_words(slot)) {
            *to = from.load(Relaxed);
            if cut(to.to_ne_bytes()).1 {
                break;
            }
        }
    }

    /// Copies a stack as its length, and then the addresses.
    pub(crate) fn copy_stack(&self, slot: usize, stack: &mut [u64; STRING_WORDS]) {
        let words = self.element.string_words(slot);
        let length = words.first().map_or(0, |word| word.load(Relaxed));
        // CAST: A length that is too large, in a copy that will not be used, does no harm.
        let n = (length as usize).saturating_add(1);

        for (to, from) in stack.iter_mut().zip(words).take(n) {
            *to = from.load(Relaxed);
        }
    }
}
