// SPDX-License-Identifier: GPL-2.0

//! Long keys, which are not in the elements.
//!
//! A key has room for the longest possible string or stack, but hardly any is that long. So a key
//! that may be long is kept without the zeroes at its end, and the element says where it is.
//!
//! In a small map each element has room for a key of full length. The elements of a large one share
//! memory that is handed out in order. Half of what keys of full length would need is allocated
//! with the map. When a quarter of that is used, the rest is requested, and allocated by a work
//! item. Keys of full length that are inserted faster than that, or while the rest cannot be
//! allocated, find no room and are drops.
//!
//! An element that was prepared but not published keeps its room. If its next key is longer, the
//! rest of the room for a key of full length is added, which is elsewhere. So no element ever has
//! more. With the second part allocated, each free element has room for its key.

use kernel::{
    alloc::flags::{
        __GFP_NORETRY,
        __GFP_NOWARN, //
    },
    impl_has_work,
    irq_work::IrqWorkQueuer,
    new_work,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    },
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

use super::{
    slab,
    words::OwnLine, //
};
use crate::limits::{
    KEY_WORDS_MAX,
    MAP_BITS_MAX,
    WORD, //
};

/// Keys with more words than this are long.
const SHORT_WORDS: usize = 8;

/// Returns `true` if keys of at most this many words are kept in the arena.
#[inline]
pub(crate) fn are_long(key_words: usize) -> bool {
    key_words > SHORT_WORDS
}

/// Returns the key without the zeroes at its end.
#[inline]
pub(super) fn trimmed(key: &[u64]) -> &[u64] {
    let len = key.iter().rposition(|word| *word != 0);

    key.get(..len.map_or(0, |last| last.wrapping_add(1)))
        .unwrap_or(key)
}

/// Most words that keys of full length take in a small map: 8 MiB.
pub(super) const SMALL: usize = 1 << 20;

/// The place of a long key, and the number of words reserved for it.
///
/// | Bits | |
/// | --- | --- |
/// | 63..36 | position of the first part |
/// | 35..8 | position of the second part, or 0: the first part of the element precedes it |
/// | 7..0 | size of the first part |
///
/// A second part is as large as the first one lacks to hold a key of full length.
#[derive(Clone, Copy)]
pub(super) struct KeySpan(pub(super) u64);

/// The bits of a size, and those of a position.
const SIZE_BITS: u32 = 8;
const PLACE_BITS: u32 = 28;

const SIZE_MASK: u64 = (1 << SIZE_BITS) - 1;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
const FIRST_SHIFT: u32 = SIZE_BITS + PLACE_BITS;

// The largest arena has the words of one more key.
kernel::static_assert!(KEY_WORDS_MAX < 1 << SIZE_BITS);
kernel::static_assert!(KEY_WORDS_MAX * ((1 << MAP_BITS_MAX) + 1) < 1 << PLACE_BITS);

impl KeySpan {
    fn new(start: usize, size: usize) -> Self {
        // CAST: `Sizes::new` has checked that the bits are enough.
        Self((start as u64) << FIRST_SHIFT | size as u64)
    }

    /// Returns the place with a second part.
    fn with_second(self, start: usize) -> Self {
        // CAST: As above.
        Self(self.0 | (start as u64) << SIZE_BITS)
    }

    /// Returns the position and the size of the first part.
    #[inline]
    fn first(self) -> (usize, usize) {
        // CAST: These are the bits of the two.
        (
            (self.0 >> FIRST_SHIFT) as usize,
            (self.0 & SIZE_MASK) as usize,
        )
    }

    /// Returns the position of the second part, or 0.
    fn second(self) -> usize {
        // CAST: These are its bits.
        ((self.0 >> SIZE_BITS) & PLACE_MASK) as usize
    }
}

/// Memory for the long keys of a map.
pub(super) struct KeyArena {
    /// Size of a key of full length.
    key_words: usize,
    /// Size of the room that each element of a small map has, or 0 in a large one.
    own: usize,
    early: KVVec<Atomic<u64>>,
    extension: Arc<Extension>,
    /// The place of the next key, counted over both parts.
    next: OwnLine<Atomic<usize>>,
    queuer: Pin<KBox<IrqWorkQueuer<Extension>>>,
}

/// It was requested, and is not allocated yet.
const REQUESTED: u32 = u32::MAX;

/// Number of insertions to wait before retrying a failed allocation: a request queues a work item,
/// and if that is the event of the histogram, each would cause the next.
const RETRY_AFTER: u32 = 1000;

/// The part that is allocated on demand.
#[pin_data]
struct Extension {
    words: SetOnce<KVVec<Atomic<u64>>>,
    /// Its size in words.
    size: usize,
    /// 0 if it can be requested, [`REQUESTED`] if it was; or how many requests are still to be
    /// skipped.
    requested: Atomic<u32>,
    #[pin]
    work: Work<Self>,
}

impl_has_work! {
    impl HasWork<Self> for Extension { self.work }
}

/// The sizes of the parts, in words.
struct Sizes {
    /// [`KeyArena::own`].
    own: usize,
    /// [`KeyArena::early`].
    early: usize,
    /// [`KeyArena::extension`].
    extension: usize,
}

impl Sizes {
    /// Computes the sizes for `count` keys of `key_words` words. The map is small if these are
    /// `small` words at most.
    fn new(count: u32, key_words: usize, small: usize) -> Result<Self> {
        let all = key_words.checked_mul(count as usize).ok_or(ENOMEM)?;
        let end = all.checked_add(key_words).ok_or(ENOMEM)?;

        if key_words >= 1 << SIZE_BITS || end >= 1 << PLACE_BITS {
            return Err(ENOMEM);
        }

        let (own, early) = if all <= small {
            (key_words, all)
        } else {
            (0, all.wrapping_sub(all / 2))
        };

        Ok(Self {
            own,
            early,
            // The key that would be in both parts is in this one.
            extension: (all / 2).checked_add(key_words).ok_or(ENOMEM)?,
        })
    }
}

impl KeyArena {
    /// Creates an arena for keys as [`Sizes::new`] takes.
    pub(super) fn new(count: u32, key_words: usize, small: usize) -> Result<Self> {
        let Sizes {
            own,
            early,
            extension: size,
        } = Sizes::new(count, key_words, small)?;
        let early = slab::zeroed(early)?;
        let extension = Arc::pin_init(
            pin_init!(Extension {
                words: SetOnce::new(),
                size,
                requested: Atomic::new(0),
                work <- new_work!("hist::KeyArena::extension"),
            }),
            GFP_KERNEL,
        )?;

        Ok(Self {
            key_words,
            own,
            early,
            queuer: KBox::pin_init(IrqWorkQueuer::new(extension.clone()), GFP_KERNEL)?,
            extension,
            next: OwnLine(Atomic::new(0)),
        })
    }

    /// Returns the size with the extension, in bytes. A small arena never requests that.
    pub(super) fn size_of(count: u32, key_words: usize, small: usize) -> Result<usize> {
        let sizes = Sizes::new(count, key_words, small)?;
        let later = if sizes.own == 0 { sizes.extension } else { 0 };
        let words = sizes.early.checked_add(later).ok_or(ENOMEM)?;

        words.checked_mul(WORD).ok_or(ENOMEM)
    }

    /// Returns the size of what is allocated, in bytes.
    pub(super) fn size(&self) -> usize {
        let extension = self
            .extension
            .words
            .as_ref()
            .map_or(0, |words| size_of_val(&**words));

        size_of_val(&*self.early).saturating_add(extension)
    }

    /// Returns the two parts of a key of `len` words, or none if they are not in the arena.
    #[inline]
    pub(super) fn get(&self, span: KeySpan, len: usize) -> [&[Atomic<u64>]; 2] {
        let (start, size) = span.first();

        if len > size {
            return self.get_both(span, len);
        }
        [self.words(start, len), &[]]
    }

    #[cold]
    #[inline(never)]
    fn get_both(&self, span: KeySpan, len: usize) -> [&[Atomic<u64>]; 2] {
        let (start, size) = span.first();

        [
            self.words(start, size),
            self.words(span.second(), len.saturating_sub(size)),
        ]
    }

    #[inline]
    fn words(&self, start: usize, len: usize) -> &[Atomic<u64>] {
        let words = match start.checked_sub(self.early.len()) {
            None => Some((&self.early, start)),
            Some(start) => self.extension.words.as_ref().map(|words| (words, start)),
        };

        words
            .and_then(|(words, start)| words.get(start..start.wrapping_add(len)))
            .unwrap_or(&[])
    }

    /// Returns `true` if a key of `len` words would fit now.
    pub(super) fn has_room(&self, len: usize) -> bool {
        self.own != 0 || self.after(self.next.0.load(Relaxed), len).is_some()
    }

    /// Reserves room for a key of the element `index`, which has the room of `span` already, and
    /// returns the place of the key. In any context.
    pub(super) fn reserve(&self, span: KeySpan, index: u32, len: usize) -> Option<KeySpan> {
        let (_, size) = span.first();

        if len <= size || span.second() != 0 {
            return Some(span);
        }
        if self.own != 0 {
            return Some(KeySpan::new(
                self.own.wrapping_mul(index as usize),
                self.own,
            ));
        }
        if size == 0 {
            return Some(KeySpan::new(self.take(len)?, len));
        }
        let second = self.take(self.key_words.saturating_sub(size))?;

        Some(span.with_second(second))
    }

    /// Takes `len` words, and returns their position.
    fn take(&self, len: usize) -> Option<usize> {
        let mut next = self.next.0.load(Relaxed);

        loop {
            let (start, end) = self.after(next, len)?;

            match self.next.0.cmpxchg(next, end, Relaxed) {
                Ok(_) => return Some(start),
                Err(current) => next = current,
            }
        }
    }

    /// Frees all room, none of which may be in use.
    pub(super) fn wipe(&self) {
        self.next.0.store(0, Relaxed);
    }

    /// Returns the bounds of a key of `len` words if all room before `next` is taken.
    fn after(&self, next: usize, len: usize) -> Option<(usize, usize)> {
        let early = self.early.len();
        let mut start = next;
        let mut end = start.wrapping_add(len);

        if end > early / 4 {
            self.extension.request(&self.queuer);
        }
        if end <= early {
            return Some((start, end));
        }

        let extension = self.extension.words.as_ref()?;
        if start < early {
            start = early;
            end = start.wrapping_add(len);
        }
        (end <= early.wrapping_add(extension.len())).then_some((start, end))
    }
}

impl Extension {
    /// Requests the extension, if it does not exist.
    fn request(&self, queuer: &IrqWorkQueuer<Self>) {
        if self.words.as_ref().is_some() {
            return;
        }
        match self.requested.load(Relaxed) {
            0 => {
                self.requested.store(REQUESTED, Relaxed);
                queuer.queue();
            }
            REQUESTED => {}
            wait => self.requested.store(wait.wrapping_sub(1), Relaxed),
        }
    }
}

impl WorkItem for Extension {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        if this.words.as_ref().is_none() {
            // It is tried again later, so no task is killed for it.
            let flags = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;
            let Ok(words) = KVVec::zeroed(this.size, flags) else {
                this.requested.store(RETRY_AFTER, Relaxed);
                return;
            };
            this.words.populate(words);
        }
        this.requested.store(0, Relaxed);
    }
}
