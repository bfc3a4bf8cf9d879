// SPDX-License-Identifier: GPL-2.0

//! The variables and strings of an element, and the sequence lock that keeps them together.
//!
//! A word of the element has the lock: the CPU of who writes, the marks that say which variables
//! are set, and a version. Who writes holds the lock; who reads copies, and does it again if the
//! word has changed meanwhile. So nobody sees a part of what somebody else has written.
//!
//! All of this runs in any context. Nobody waits longer than for a bounded number of rounds, and
//! nobody waits at all for what this very CPU is about to do: that is code which has been
//! interrupted, and which cannot go on before who waits has given up.

use kernel::{
    cpu::CpuId,
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
    element::Element,
    layout::STRING_WORDS, //
};

/// How often the lock is looked at before giving up.
const ROUNDS: u32 = 1 << 10;

/// What is in the word of the lock.
///
/// | Bits | |
/// | --- | --- |
/// | 63..32 | version, which each writer increments |
/// | 31..16 | marks of the variables that are set |
/// | 15..0 | CPU of the writer and a bit that is set, or 0 |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockWord(pub(super) u64);

impl LockWord {
    #[inline]
    fn new(version: u32, marks: u16, owner: u16) -> Self {
        Self(u64::from(version) << 32 | u64::from(marks) << 16 | u64::from(owner))
    }

    #[inline]
    fn version(self) -> u32 {
        // CAST: The high half.
        (self.0 >> 32) as u32
    }

    #[inline]
    fn marks(self) -> u16 {
        // CAST: These sixteen bits.
        (self.0 >> 16) as u16
    }

    /// Whether a variable is set.
    #[inline]
    pub(super) fn is_marked(self, var: usize) -> bool {
        self.marks() & mark(var) != 0
    }

    #[inline]
    fn owner(self) -> u16 {
        // CAST: The low bits.
        self.0 as u16
    }

    #[inline]
    fn with_marks(self, marks: u16) -> Self {
        Self::new(self.version(), marks, self.owner())
    }

    /// The owner that stands for this CPU.
    ///
    /// If preemption is on, this CPU may become another one. Then somebody gives up who could have
    /// waited.
    #[inline]
    fn this_cpu() -> u16 {
        // CAST: If a kernel had more CPUs than fit in, those with the same number would give up
        // too early.
        (CpuId::current().as_u32() as u16) | 1 << 15
    }
}

/// The mark of a variable.
#[inline]
fn mark(var: usize) -> u16 {
    u32::try_from(var)
        .ok()
        .and_then(|var| 1u16.checked_shl(var))
        .unwrap_or(0)
}

impl<'m> Element<'m> {
    /// Locks the variables, to write them.
    ///
    /// `None` if somebody else holds the lock for too long, or if this CPU does, and for elements
    /// without variables.
    #[inline]
    pub(crate) fn write(&self) -> Option<Writer<'m>> {
        let lock = self.lock()?;
        let this_cpu = LockWord::this_cpu();
        let mut word = unlocked(lock)?;

        for _ in 0..ROUNDS {
            let locked = LockWord::new(word.version(), word.marks(), this_cpu);

            // Pairs with the store in `drop`: what the last writer wrote is seen.
            if lock.cmpxchg(word.0, locked.0, Acquire).is_ok() {
                // Pairs with the barrier in `read`: who sees what is written from here on sees that
                // the lock is held.
                smp_mb(Write);
                return Some(Writer {
                    element: *self,
                    lock,
                    version: word.version(),
                    marks: word.marks(),
                });
            }
            word = unlocked(lock)?;
        }
        None
    }

    /// Reads variables.
    ///
    /// What `f` returns is of no use if variables have been written meanwhile: then it is called
    /// again. `None` if there is no end of it, if this CPU is about to write them, and for elements
    /// without variables.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnMut(&Reader<'m>) -> R) -> Option<R> {
        self.read_then(f, |lock, word| lock.load(Relaxed) == word.0)
    }

    /// Reads variables and makes some of them unset, if all of these are set, in one step.
    ///
    /// `None` if one of them is not set, and where [`Element::read`] gives it.
    pub(crate) fn take<R>(
        &self,
        vars: impl IntoIterator<Item = usize>,
        mut f: impl FnMut(&Reader<'m>) -> R,
    ) -> Option<R> {
        let mut marks = 0;

        for var in vars {
            marks |= Some(mark(var)).filter(|mark| *mark != 0)?;
        }
        self.read_then(
            |vars| (vars.word.marks() & marks == marks).then(|| f(vars)),
            |lock, word| {
                word.marks() & marks != marks
                    || lock
                        .cmpxchg(word.0, word.with_marks(word.marks() & !marks).0, Relaxed)
                        .is_ok()
            },
        )?
    }

    /// Makes a variable set again that was taken, with the value that it has.
    pub(crate) fn untake(&self, var: usize) {
        let mark = mark(var);

        self.read_then(
            |_| (),
            |lock, word| {
                lock.cmpxchg(word.0, word.with_marks(word.marks() | mark).0, Relaxed)
                    .is_ok()
            },
        );
    }

    /// Reads variables until `still` says that nobody has written any.
    #[inline]
    fn read_then<R>(
        &self,
        mut f: impl FnMut(&Reader<'m>) -> R,
        still: impl Fn(&Atomic<u64>, LockWord) -> bool,
    ) -> Option<R> {
        let lock = self.lock()?;

        for _ in 0..ROUNDS {
            let word = unlocked(lock)?;
            let result = f(&Reader {
                element: *self,
                word,
            });

            // Pairs with the barrier in `write`.
            smp_mb(Read);
            if still(lock, word) {
                return Some(result);
            }
        }
        None
    }

    #[inline]
    fn lock(&self) -> Option<&'m Atomic<u64>> {
        self.word(self.shape().lock?)
    }

    #[inline]
    fn var_word(&self, var: usize) -> Option<&'m Atomic<u64>> {
        self.word(self.shape().var(var)?)
    }

    /// The words of a string or a stack.
    #[inline]
    fn string_words(&self, slot: usize) -> &'m [Atomic<u64>] {
        self.shape()
            .string(slot)
            .map_or(&[], |start| self.words(start, STRING_WORDS))
    }
}

/// Waits until nobody holds the lock, not too long and not for this CPU.
#[inline]
fn unlocked(lock: &Atomic<u64>) -> Option<LockWord> {
    // Pairs with the store in `drop`: what the last writer wrote is seen.
    let word = LockWord(lock.load(Acquire));

    if word.owner() == 0 {
        Some(word)
    } else {
        wait(lock)
    }
}

#[cold]
#[inline(never)]
fn wait(lock: &Atomic<u64>) -> Option<LockWord> {
    for _ in 0..ROUNDS {
        // As in `unlocked`.
        let word = LockWord(lock.load(Acquire));

        if word.owner() == 0 {
            return Some(word);
        }
        if word.owner() == LockWord::this_cpu() {
            return None;
        }
        cpu_relax();
    }
    None
}

/// Writes the variables of an element, and reads them.
///
/// Others see all of it or nothing. They wait meanwhile, so this should not take long, and
/// preemption should be off.
pub(crate) struct Writer<'m> {
    element: Element<'m>,
    lock: &'m Atomic<u64>,
    version: u32,
    marks: u16,
}

impl Writer<'_> {
    /// Whether a variable is set.
    #[inline]
    pub(crate) fn is_set(&self, var: usize) -> bool {
        self.marks & mark(var) != 0
    }

    /// A variable: 0 if it was never set.
    #[inline]
    pub(crate) fn var(&self, var: usize) -> u64 {
        self.element
            .var_word(var)
            .map_or(0, |word| word.load(Relaxed))
    }

    /// Sets a variable.
    #[inline]
    pub(crate) fn set_var(&mut self, var: usize, value: u64) {
        if let Some(word) = self.element.var_word(var) {
            word.store(value, Relaxed);
            self.marks |= mark(var);
        }
    }

    /// Sets a string: what is in front of the first NUL, and not more than there is room for with a
    /// NUL behind it.
    pub(crate) fn set_string(&mut self, slot: usize, text: &[u8]) {
        let words = self.element.string_words(slot);
        let room = size_of_val(words).saturating_sub(1);
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = text.get(..room).unwrap_or(text);
        let mut chunks = text.chunks(size_of::<u64>());

        for word in words {
            let mut value = [0; size_of::<u64>()];
            let chunk = chunks.next().unwrap_or_default();

            for (to, from) in value.iter_mut().zip(chunk) {
                *to = *from;
            }
            word.store(u64::from_ne_bytes(value), Relaxed);
            if chunk.len() < size_of::<u64>() {
                break;
            }
        }
    }

    /// Sets a stack, as far as there is room for it: its length, then the addresses.
    pub(crate) fn set_stack(&mut self, slot: usize, stack: &[usize]) {
        let Some((length, words)) = self.element.string_words(slot).split_first() else {
            return;
        };

        // CAST: Addresses and lengths have 64 bits at most.
        length.store(stack.len().min(words.len()) as u64, Relaxed);
        for (word, address) in words.iter().zip(stack) {
            word.store(*address as u64, Relaxed);
        }
    }
}

impl Drop for Writer<'_> {
    #[inline]
    fn drop(&mut self) {
        let word = LockWord::new(self.version.wrapping_add(1), self.marks, 0);

        // Pairs with the loads in `unlocked` and the compare-and-exchange in `write`.
        self.lock.store(word.0, Release);
    }
}

/// Reads the variables of an element, while they may change.
pub(crate) struct Reader<'m> {
    element: Element<'m>,
    word: LockWord,
}

impl Reader<'_> {
    /// What the word of the lock is, if nobody writes meanwhile.
    pub(super) fn lock_word(&self) -> LockWord {
        self.word
    }

    /// A variable, if it is set.
    #[inline]
    pub(crate) fn var(&self, var: usize) -> Option<u64> {
        let word = self.element.var_word(var)?;

        self.word.is_marked(var).then(|| word.load(Relaxed))
    }

    /// Copies a string; what is behind its NUL stays as it is.
    pub(crate) fn copy_string(&self, slot: usize, text: &mut [u64; STRING_WORDS]) {
        for (to, from) in text.iter_mut().zip(self.element.string_words(slot)) {
            *to = from.load(Relaxed);
            if has_nul(*to) {
                break;
            }
        }
    }

    /// Copies a stack: its length, then the addresses.
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

/// Whether a byte of a word is zero.
#[inline]
fn has_nul(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;

    word.wrapping_sub(LOW) & !word & (LOW << 7) != 0
}
