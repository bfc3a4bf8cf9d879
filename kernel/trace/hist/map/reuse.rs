// SPDX-License-Identifier: GPL-2.0

//! Maps whose elements can be used again for other keys.
//!
//! When no element is left, a new key gets that of another one: of a key none of whose variables is
//! still to be taken by another histogram, or, if a search finds none, of any key. So no hit is
//! dropped for lack of room.
//!
//! # States of an element
//!
//! 1. Unused: it is in the free list, or being prepared by one context.
//! 2. In use: it has a key, and is in the bucket of the key. From just before it gets there until
//!    its variables are stored it is locked.
//! 3. Retired: it is still in a bucket, but not to be used. The CPU that removes it from the bucket
//!    owns it.
//!
//! The word of its lock says that an element is in use: in the other two states it names an owner
//! that is no CPU. Both changes of state increment the version, and only an element that is not
//! being written to can be retired. The key changes while it is unused. So a hit that finds its key
//! in an element, and then takes the lock of the version that it had seen before, writes to an
//! element of its key. If the version has changed it looks for the key again.
//!
//! A reader pins the element that it copies. It may be retired, but gets no other key until then: a
//! copy, and the sums that are taken with it, belong to one key.
//!
//! A bucket changes as a whole, so a key that was not found in it can only be added if nothing else
//! was. If the lock was taken first, nothing of this waits, and each loop has a bound.

mod hits;

use kernel::{
    percpu::PerCpuCounter,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        barrier::{
            smp_mb,
            Full,
            Read,
            Write, //
        }, //
    },
};

use super::{
    buckets::{
        Bucket,
        Buckets,
        ENTRIES, //
    },
    element::{
        Comm,
        Element,
        Elements, //
    },
    vars::{
        Changed,
        Writer, //
    },
    words::{
        LockWord,
        OwnLine,
        VarSet, //
    },
};

/// Maximum number of attempts of a hit to find its key, and to change a bucket that others change
/// at the same time, before it is a drop. Each attempt that fails means that another hit has
/// changed the bucket or the element; the limit bounds the time of a hit, which may be one of an
/// NMI.
const BUCKET_ATTEMPTS: usize = 16;

/// Number of buckets that are looked at to find an element whose variables have been taken, and of
/// those that are looked at again to find any.
const STEPS: usize = 128;

/// The parts of a map whose elements can be used again.
pub(super) struct Reuse {
    pub(super) buckets: Buckets,
    /// Number of buckets that one search looks at.
    steps: u32,
    /// Like the gate of other maps, which is closed here.
    pub(super) gate: Atomic<u32>,
    /// The variables that other histograms take: their marks.
    awaited: Atomic<u64>,
    /// The element that is copied, as its number plus one: it is not used for another key. 0: none.
    pinned: Atomic<u32>,
    /// The next bucket to take an element from.
    hand: OwnLine<Atomic<u32>>,
    /// Number of keys that have lost their element.
    reused: PerCpuCounter,
    /// Number of those with a variable that was still to be taken.
    lost: PerCpuCounter,
}

/// An element in use, with the word of its lock before its key was compared.
#[derive(Clone, Copy)]
struct Live<'m> {
    index: u32,
    element: Element<'m>,
    word: LockWord,
}

impl<'m> Live<'m> {
    /// Locks the element, unless another hit is writing to it or has just done so.
    ///
    /// # Errors
    ///
    /// [`Changed`] if it may be used for another key by now.
    #[inline(always)]
    fn lock(self) -> Result<Locked<'m>, Changed> {
        let vars = self.element.overwrite_since(self.word)?;

        Ok((self.element, vars))
    }

    /// Locks the element as [`Live::lock`] does, and keeps it locked after the return.
    fn keep(self) -> Result<Kept, Changed> {
        let (_, vars) = self.lock()?;
        let locked = vars.is_some();

        if let Some(vars) = vars {
            vars.keep_locked();
        }
        Ok(Kept {
            index: self.index,
            locked,
        })
    }
}

/// An element that is found for a hit, locked if it can be written to.
type Locked<'m> = (Element<'m>, Option<Writer<'m>>);

/// The same in less space: functions return it in registers.
#[derive(Clone, Copy)]
struct Kept {
    index: u32,
    locked: bool,
}

impl Kept {
    /// Creates the result for an element that its hit has locked.
    fn claimed(index: u32) -> Self {
        Self {
            index,
            locked: true,
        }
    }

    #[inline(always)]
    fn of(self, elements: &Elements) -> Option<Locked<'_>> {
        let element = elements.get(self.index)?;
        let vars = if self.locked {
            Some(element.writer_again()?)
        } else {
            None
        };

        Some((element, vars))
    }
}

/// A bucket in which a key was looked for, as it was then.
#[derive(Clone, Copy)]
struct Searched {
    at: usize,
    bucket: Bucket,
}

/// An element that is not used for another key as long as this exists.
pub(super) struct Pin<'m>(&'m Atomic<u32>);

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        // Pairs with the load in `is_pinned`: the next key is stored after the changes of the sums.
        self.0.store(0, Release);
    }
}

impl Reuse {
    pub(super) fn new(bits: u32) -> Result<Self> {
        let buckets = Buckets::new(bits)?;

        Ok(Self {
            // CAST: It is small.
            steps: STEPS.min(buckets.len()) as u32,
            buckets,
            gate: Atomic::new(0),
            awaited: Atomic::new(0),
            pinned: Atomic::new(0),
            hand: OwnLine(Atomic::new(0)),
            reused: PerCpuCounter::new()?,
            lost: PerCpuCounter::new()?,
        })
    }

    /// Returns `true` if the map is open to keys of this size.
    #[inline]
    fn accepts(&self, key_words: usize) -> bool {
        // Pairs with the store in `Map::open`.
        //
        // CAST: A `usize` has 32 bits at least.
        key_words != 0 && self.gate.load(Acquire) as usize == key_words
    }

    /// Empties the map, which must not be in use.
    pub(super) fn wipe(&self) {
        self.buckets.wipe();
        self.reused.reset();
        self.lost.reset();
    }

    /// Returns the element in a bucket with this key.
    #[inline(always)]
    fn find<'m>(&self, elements: &'m Elements, bucket: Bucket, key: &[u64]) -> Option<Live<'m>> {
        match *key {
            [word] => Self::find_by(elements, bucket, |element| element.is_word(word)),
            _ => Self::find_by(elements, bucket, |element| element.has_key(key)),
        }
    }

    #[inline(always)]
    fn find_by(
        elements: &Elements,
        bucket: Bucket,
        is_it: impl Fn(&Element<'_>) -> bool,
    ) -> Option<Live<'_>> {
        for index in bucket.entries() {
            let element = elements.get(index)?;

            if let Some(word) = element.in_use() {
                if is_it(&element) {
                    return Some(Live {
                        index,
                        element,
                        word,
                    });
                }
            }
        }
        None
    }

    /// Claims an element for a key that was not found in its bucket when that was `searched`, in
    /// one attempt that nearly always succeeds; otherwise [`Reuse::find_or_claim`] is called.
    /// Returns the words of the element, which stays locked: they fit in registers.
    #[inline(never)]
    fn claim_at_once<'m>(
        &self,
        elements: &'m Elements,
        key: &[u64],
        searched: Searched,
        comm: &impl Fn(&mut Comm),
    ) -> Option<&'m [Atomic<u64>]> {
        if searched.bucket.is_full() {
            return None;
        }
        let (index, element) = if elements.slab.is_used_up() {
            self.take_first(elements)?
        } else {
            Self::take_free(elements)?
        };

        self.prepare(elements, (index, element), key, comm)?;
        if !self.publish((index, element), searched, searched.bucket) {
            Self::free(elements, index);
            return None;
        }
        Some(element.parts().1)
    }

    /// Locks the element of a key, which may be in its bucket `at`, or claims one.
    #[cold]
    #[inline(never)]
    fn find_or_claim(
        &self,
        elements: &Elements,
        key: &[u64],
        at: usize,
        comm: &impl Fn(&mut Comm),
    ) -> Option<Kept> {
        for _ in 0..BUCKET_ATTEMPTS {
            let bucket = self.buckets.load(at);

            match self.find(elements, bucket, key).map(Live::keep) {
                Some(Ok(kept)) if kept.locked || self.is_unchanged(at, bucket) => {
                    return Some(kept);
                }
                Some(_) => (),
                None => {
                    let (index, element) = self.unused(elements)?;

                    self.prepare(elements, (index, element), key, comm)?;
                    return self.add(elements, index, key, Searched { at, bucket });
                }
            }
        }
        None
    }

    /// Adds a prepared element to the bucket of its key, also if that is full or changes. The
    /// bucket may have an element of the key by then, which is returned instead.
    fn add(
        &self,
        elements: &Elements,
        index: u32,
        key: &[u64],
        mut searched: Searched,
    ) -> Option<Kept> {
        let element = elements.get(index)?;

        for _ in 0..BUCKET_ATTEMPTS {
            let bucket = self.buckets.load(searched.at);

            // Getting an element can have changed it, as other hits can.
            if bucket != searched.bucket {
                match self.find(elements, bucket, key).map(Live::keep) {
                    Some(Ok(kept)) if kept.locked || self.is_unchanged(searched.at, bucket) => {
                        Self::free(elements, index);
                        return Some(kept);
                    }
                    Some(_) => continue,
                    None => (),
                }
            }
            searched.bucket = bucket;

            let Some((rest, replaced)) = self.make_room(elements, searched) else {
                continue;
            };

            if self.publish((index, element), searched, rest) {
                if let Some(index) = replaced {
                    self.reused.add(1);
                    Self::free(elements, index);
                }
                return Some(Kept::claimed(index));
            }
        }
        Self::free(elements, index);
        None
    }

    /// Returns `true` if a bucket has not changed since it was loaded, so that an element in it
    /// whose key was compared since has this key. A locked element that has left the bucket may be
    /// about to be added, with a key that it will never have if that fails.
    fn is_unchanged(&self, at: usize, bucket: Bucket) -> bool {
        // Pairs with the barriers in `prepare` and `free`: a reader that sees what is stored in
        // place of the key sees that the element was removed.
        smp_mb(Read);
        self.buckets.load(at) == bucket
    }

    /// Prepares an element for a key.
    #[inline(always)]
    fn prepare(
        &self,
        elements: &Elements,
        (index, element): (u32, Element<'_>),
        key: &[u64],
        comm: &impl Fn(&mut Comm),
    ) -> Option<()> {
        // Pairs with the barriers in `Element::read_then` and `is_unchanged`: a reader that sees
        // the new key sees that the element was retired, maybe by another CPU, and removed.
        smp_mb(Write);
        element.wipe_sums();
        if element.set_key_inline(index, key).is_none() {
            elements.slab.free(index);
            return None;
        }
        if elements.layout.parts.comm {
            Self::set_comm(element, comm);
        }
        Some(())
    }

    #[inline(never)]
    fn set_comm(element: Element<'_>, comm: &impl Fn(&mut Comm)) {
        let mut name = Comm::default();

        comm(&mut name);
        element.set_comm(&name);
    }

    /// Adds a prepared element to the bucket of its key, together with the others in `rest`, and
    /// leaves it locked. Returns `false` if the bucket has changed since it was `searched`.
    #[inline(always)]
    fn publish(
        &self,
        (index, element): (u32, Element<'_>),
        Searched { at, bucket }: Searched,
        rest: Bucket,
    ) -> bool {
        let Some(vars) = element.use_again() else {
            return false;
        };
        let is_there = self.buckets.change(at, bucket, rest.with(index));

        if is_there {
            vars.keep_locked();
        } else {
            vars.abandon();
        }
        is_there
    }

    /// Takes a free element.
    #[inline(never)]
    fn take_free(elements: &Elements) -> Option<(u32, Element<'_>)> {
        let index = elements.slab.take()?;

        Some((index, elements.get(index)?))
    }

    /// Frees an element that has left its bucket.
    #[cold]
    #[inline(never)]
    fn free(elements: &Elements, index: u32) {
        // Pairs with the barrier in `is_unchanged`.
        smp_mb(Write);
        elements.slab.free(index);
    }

    /// Takes a free element, or that of another key.
    fn unused<'m>(&self, elements: &'m Elements) -> Option<(u32, Element<'m>)> {
        if let Some(taken) = Self::take_free(elements) {
            return Some(taken);
        }
        // Again from where `take_first` has begun, which may have retired an element there.
        let index = self.search(elements, self.hand.0.load(Relaxed).wrapping_sub(1))?;

        Some((index, elements.get(index)?))
    }

    /// Takes the oldest element of the next bucket that has any. Returns `None` if a variable of
    /// the element is awaited, or another context changes the bucket.
    ///
    /// [`Reuse::search`] finds it as well, but this is what happens nearly always.
    #[inline(always)]
    fn take_first<'m>(&self, elements: &'m Elements) -> Option<(u32, Element<'m>)> {
        // So hits at the same time begin at different buckets.
        let start = self.hand.0.fetch_add(1, Relaxed);
        let (at, bucket, passed) = self.buckets.first_used(start, self.steps)?;
        let (index, rest) = bucket.without_oldest()?;
        let element = elements.get(index)?;
        let is_retired = self.try_retire(element, false).unwrap_or(false);

        // It was retired in this bucket only if that has not changed.
        if !is_retired || self.is_pinned(index) || !self.buckets.change(at, bucket, rest) {
            return None;
        }
        self.reused.add(1);
        if passed > 0 {
            self.hand.0.fetch_add(passed, Relaxed);
        }
        Some((index, element))
    }

    /// Searches for the element of another key, from the bucket with the number `start` on: first
    /// for one without awaited variables, then for any.
    ///
    /// Both begin at the same bucket: the following ones may all be empty, if keys are added in the
    /// order of this search.
    #[inline(never)]
    fn search(&self, elements: &Elements, start: u32) -> Option<u32> {
        for any in [false, true] {
            for step in 0..self.steps {
                let at = self.buckets.nth(start.wrapping_add(step));

                for _ in 0..BUCKET_ATTEMPTS {
                    let bucket = self.buckets.load(at);
                    let Some((index, rest)) = self.retire_one(elements, bucket, any) else {
                        break;
                    };

                    // It was retired in this bucket only if that has not changed.
                    if self.buckets.change(at, bucket, rest) {
                        self.reused.add(1);
                        self.hand.0.fetch_add(step, Relaxed);
                        return Some(index);
                    }
                }
            }
        }
        self.hand.0.fetch_add(self.steps, Relaxed);
        None
    }

    /// Returns a bucket with room for an element, and the retired element that was removed from
    /// it, if any. Returns `None` if the bucket changes, or all elements are being written to.
    fn make_room(
        &self,
        elements: &Elements,
        Searched { at, bucket }: Searched,
    ) -> Option<(Bucket, Option<u32>)> {
        if !bucket.is_full() {
            return Some((bucket, None));
        }
        let (index, rest) = self.retire_one(elements, bucket, false).or_else(|| {
            // If the bucket has room by now, none has to be lost.
            let is_same = self.buckets.load(at) == bucket;

            is_same
                .then(|| self.retire_one(elements, bucket, true))
                .flatten()
        })?;

        Some((rest, Some(index)))
    }

    /// Retires the oldest element of a bucket, of `any` or of those without awaited variables. An
    /// element that is retired already qualifies; one that is pinned stays retired for others.
    /// Returns its number, and the bucket without it.
    fn retire_one(&self, elements: &Elements, bucket: Bucket, any: bool) -> Option<(u32, Bucket)> {
        for at in (0..ENTRIES).rev() {
            let Some(index) = bucket.entry(at) else {
                continue;
            };
            let element = elements.get(index)?;

            if self.retire(element, any) && !self.is_pinned(index) {
                return Some((index, bucket.without(at)));
            }
        }
        None
    }

    /// Pins the sums of an element, which keep belonging to the same key until the pin is dropped.
    /// An element that is in use after this is of that key.
    ///
    /// Only one pin may exist at a time.
    pub(super) fn pin(&self, index: u32) -> Pin<'_> {
        self.pinned.store(index.wrapping_add(1), Relaxed);
        // Pairs with the barrier in `is_pinned`: either the element is seen retired, or the CPU
        // that has retired it sees the pin.
        smp_mb(Full);
        Pin(&self.pinned)
    }

    /// Returns `true` if an element that was seen retired is pinned.
    #[inline(always)]
    fn is_pinned(&self, index: u32) -> bool {
        // Pairs with the barrier in `pin`.
        smp_mb(Full);
        // Pairs with the store that ends the pin.
        self.pinned.load(Acquire) == index.wrapping_add(1)
    }

    /// Retires an element unless it is being written to or, if not `any`, a variable of it is
    /// still awaited. Returns `true` if it is retired.
    fn retire(&self, element: Element<'_>, any: bool) -> bool {
        let retired = (0..BUCKET_ATTEMPTS).find_map(|_| self.try_retire(element, any).ok());

        retired.unwrap_or(false)
    }

    /// Tries once to retire an element, as [`Reuse::retire`] does.
    ///
    /// # Errors
    ///
    /// [`Changed`] if it was written to, or a variable was taken, at the same time.
    #[inline(always)]
    fn try_retire(&self, element: Element<'_>, any: bool) -> Result<bool, Changed> {
        let is_awaited =
            |word: LockWord| word.has_any(VarSet::from_marks(self.awaited.load(Relaxed)));
        let before = element.retire(|word| !any && is_awaited(word))?;

        if any && before.is_some_and(is_awaited) {
            self.lost.add(1);
        }
        Ok(before.is_some())
    }
}
