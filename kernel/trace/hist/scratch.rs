// SPDX-License-Identifier: GPL-2.0

//! Scratch memory for hits that need much of it.
//!
//! Each CPU has a pad for each of four nesting levels, which all histograms share: a hit that
//! generates a synthetic event is still running while the histograms of that event are hit, and so
//! on, so the number of levels is also what keeps such a chain, or a cycle, from using up the
//! kernel stack. A hit that finds all levels taken is dropped.
//!
//! The pads exist as long as a histogram needs them.
//!
//! Dividing and lending the memory is `inline(always)`: memory whose address no function gets is
//! in registers, see [`hit`](mod@crate::hit).

use crate::{
    limits::{
        KEY_WORDS_MAX,
        PARAMS_MAX,
        SLOTS_MAX,
        SMALL_WORDS,
        STRING_WORDS,
        TEXTS_MAX, //
    },
    program::snapshot_condition::REQUEST_WORDS,
};
use kernel::{
    new_mutex,
    percpu::{
        ScratchGuard,
        ScratchPool, //
    },
    prelude::*,
    sync::{
        Arc,
        Mutex,
        SetOnce, //
    },
};

/// Words of a pad, see [`Scratch`].
const WORDS: usize =
    KEY_WORDS_MAX + REQUEST_WORDS + SLOTS_MAX + PARAMS_MAX + TEXTS_MAX * STRING_WORDS;

/// The pads, if they exist, and the number of users.
struct SharedPool {
    pads: Option<Arc<ScratchPool>>,
    users: usize,
}

/// There from [`init()`] on.
static SHARED: SetOnce<Arc<Mutex<SharedPool>>> = SetOnce::new();

/// Creates the shared pool, or does nothing if it exists.
pub(crate) fn init() -> Result {
    let shared = new_mutex!(
        SharedPool {
            pads: None,
            users: 0,
        },
        "hist_pads"
    );

    SHARED.populate(Arc::pin_init(shared, GFP_KERNEL)?);
    Ok(())
}

/// Keeps the pads there. It can be dropped where sleeping is allowed.
pub(crate) struct ScratchRef(Arc<ScratchPool>);

impl ScratchRef {
    /// Creates the pads if they do not exist. May sleep.
    pub(crate) fn new() -> Result<Self> {
        let mut shared = SHARED.as_ref().ok_or(ENODEV)?.lock();
        let pads = match &shared.pads {
            Some(pads) => pads.clone(),
            None => Arc::new(ScratchPool::new(WORDS)?, GFP_KERNEL)?,
        };

        shared.pads = Some(pads.clone());
        shared.users = shared.users.wrapping_add(1);
        Ok(Self(pads))
    }

    /// Takes a pad, or returns `None` if all levels are in use. In any context.
    #[inline]
    pub(crate) fn enter(&self) -> Option<ScratchGuard<'_>> {
        self.0.enter()
    }
}

impl Drop for ScratchRef {
    fn drop(&mut self) {
        let Some(shared) = SHARED.as_ref() else {
            return;
        };
        let mut shared = shared.lock();

        shared.users = shared.users.saturating_sub(1);
        if shared.users == 0 {
            shared.pads = None;
        }
    }
}

/// The scratch memory of a hit. The initial contents are undefined.
pub(crate) struct Scratch<'a> {
    /// As many words as the key has.
    pub(crate) key: &'a mut [u64],
    /// Room for the key in another layout, or for what asks for a snapshot.
    pub(crate) other: &'a mut [u64],
    /// The values of references and variables.
    pub(crate) slots: &'a mut [u64],
    /// Room for the parameters of a synthetic event.
    pub(crate) params: &'a mut [u64],
    pub(crate) texts: Texts<'a>,
}

impl<'a> Scratch<'a> {
    /// Splits a pad into its parts. The key has `key_words` words.
    #[inline]
    pub(crate) fn new(pad: &'a mut [u64], key_words: usize) -> Option<Self> {
        // The rest is known when this is compiled.
        let pad = pad.first_chunk_mut::<WORDS>()?;
        let (key, pad) = pad.split_at_mut_checked(KEY_WORDS_MAX)?;
        let (other, pad) = pad.split_at_mut_checked(REQUEST_WORDS)?;
        let (slots, pad) = pad.split_at_mut_checked(SLOTS_MAX)?;
        let (params, texts) = pad.split_at_mut_checked(PARAMS_MAX)?;

        Some(Self {
            key: key.get_mut(..key_words)?,
            other,
            slots,
            params,
            texts: Texts(texts),
        })
    }

    /// Returns the same memory, to pass it to a function.
    ///
    /// Memory that has never been lent is known to be unshared, and can be kept in registers.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Scratch<'_> {
        Scratch {
            key: self.key,
            other: self.other,
            slots: self.slots,
            params: self.params,
            texts: self.texts.lend(),
        }
    }
}

/// Scratch memory of a small histogram: the key, then the slots.
pub(crate) struct Small([u64; SMALL_WORDS]);

impl Small {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self([0; SMALL_WORDS])
    }

    /// Splits the memory into its parts. The key has `key_words` words.
    #[inline(always)]
    pub(crate) fn scratch(&mut self, key_words: usize) -> Option<Scratch<'_>> {
        let (key, slots) = self.0.split_at_mut_checked(key_words)?;

        Some(Scratch {
            key,
            other: &mut [],
            slots,
            params: &mut [],
            texts: Texts(&mut []),
        })
    }
}

/// The texts of the scratch memory.
pub(crate) struct Texts<'a>(&'a mut [u64]);

impl Texts<'_> {
    /// Returns the same memory, as [`Scratch::lend`] does.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Texts<'_> {
        Texts(self.0)
    }

    #[inline]
    pub(crate) fn get(&self, n: u32) -> Option<&[u64; STRING_WORDS]> {
        debug_assert!((n as usize) < self.0.len() / STRING_WORDS);
        self.0
            .get((n as usize).wrapping_mul(STRING_WORDS)..)?
            .first_chunk()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, n: u32) -> Option<&mut [u64; STRING_WORDS]> {
        debug_assert!((n as usize) < self.0.len() / STRING_WORDS);
        self.0
            .get_mut((n as usize).wrapping_mul(STRING_WORDS)..)?
            .first_chunk_mut()
    }
}
