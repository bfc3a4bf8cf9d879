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
use crate::limits::WORD;

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

/// Memory for the long keys of a map.
pub(super) struct KeyArena {
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

        // An element keeps a position and a size in 32 bits each.
        u32::try_from(all).map_err(|_| ENOMEM)?;

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

    /// Returns the words of a key, or none if they are not in the arena.
    #[inline]
    pub(super) fn get(&self, start: usize, len: usize) -> &[Atomic<u64>] {
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

    /// Reserves room for a key of the element `index`, and returns its position and size in words.
    /// In any context.
    pub(super) fn reserve(&self, index: u32, len: usize) -> Option<(usize, usize)> {
        if self.own != 0 {
            return Some((self.own.wrapping_mul(index as usize), self.own));
        }

        let mut next = self.next.0.load(Relaxed);

        loop {
            let (start, end) = self.after(next, len)?;

            match self.next.0.cmpxchg(next, end, Relaxed) {
                Ok(_) => return Some((start, len)),
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
