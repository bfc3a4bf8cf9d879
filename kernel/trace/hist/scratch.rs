// SPDX-License-Identifier: GPL-2.0

//! Scratch memory for hits that need much of it.
//!
//! Each CPU has a buffer for each of four nesting levels, which all histograms share: a hit that
//! writes a synthetic event is still running while the histograms of that event are hit, and so on,
//! so the number of levels is also what keeps such a chain, or a cycle, from using up the kernel
//! stack. A hit that finds all levels taken is dropped.
//!
//! The buffers exist as long as a histogram needs them.
//!
//! Dividing and lending the memory is `inline(always)`: memory whose address no function gets is
//! in registers, see [`hit`](mod@crate::hit).

use crate::{
    limits::{
        BLOBS_MAX,
        KEY_WORDS_MAX,
        PARAMS_MAX,
        SLOTS_MAX,
        SMALL_WORDS,
        STRING_WORDS, //
    },
    map::Polls,
    program::snapshot_condition::REQUEST_WORDS, //
};
use kernel::{
    percpu::{
        ScratchGuard,
        ScratchPool, //
    },
    prelude::*,
    sync::{
        global_lock,
        Arc, //
    },
};

/// Words of a buffer, see [`Scratch`]: what the largest histogram can need, as all share the pool.
const WORDS: usize =
    KEY_WORDS_MAX + REQUEST_WORDS + SLOTS_MAX + PARAMS_MAX + BLOBS_MAX * STRING_WORDS;

/// The scratch pool, if it exists, and the number of users.
struct SharedPool {
    pool: Option<Arc<ScratchPool>>,
    users: usize,
}

global_lock! {
    // SAFETY: `init` is called before the commands are registered. All users are histograms that
    // those commands created.
    unsafe(uninit) static HIST_SCRATCH: Mutex<SharedPool> = SharedPool {
        pool: None,
        users: 0,
    };
}

/// Prepares the shared pool.
///
/// # Safety
///
/// It must be called once, before the commands are registered.
pub(crate) unsafe fn init() {
    // SAFETY: By the safety requirements, this is the only call.
    unsafe { HIST_SCRATCH.init() };
}

/// A use of the shared pool, which exists as long as it has one. May only be dropped where sleeping
/// is allowed.
pub(crate) struct ScratchRef(Arc<ScratchPool>);

impl ScratchRef {
    /// Creates the pool if it does not exist. May sleep.
    pub(crate) fn new() -> Result<Self> {
        let mut shared = HIST_SCRATCH.lock();
        let pool = match &shared.pool {
            Some(pool) => pool.clone(),
            None => Arc::new(ScratchPool::new(WORDS)?, GFP_KERNEL)?,
        };

        shared.pool = Some(pool.clone());
        shared.users = shared.users.wrapping_add(1);
        Ok(Self(pool))
    }

    /// Returns the buffer of this level, or `None` if all levels are in use. In any context.
    #[inline]
    pub(crate) fn enter(&self) -> Option<ScratchGuard<'_>> {
        self.0.enter()
    }
}

impl Drop for ScratchRef {
    fn drop(&mut self) {
        let mut shared = HIST_SCRATCH.lock();

        shared.users = shared.users.saturating_sub(1);
        if shared.users == 0 {
            shared.pool = None;
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
    pub(crate) blobs: Blobs<'a>,
    /// The polls of the locks of elements that are left to the hit.
    pub(crate) polls: &'a mut Polls,
}

impl<'a> Scratch<'a> {
    /// Splits a buffer into its parts. The key has `key_words` words.
    #[inline]
    pub(crate) fn new(
        buffer: &'a mut [u64],
        key_words: usize,
        polls: &'a mut Polls,
    ) -> Option<Self> {
        // The rest is known when this is compiled.
        let buffer = buffer.first_chunk_mut::<WORDS>()?;
        let (key, buffer) = buffer.split_at_mut_checked(KEY_WORDS_MAX)?;
        let (other, buffer) = buffer.split_at_mut_checked(REQUEST_WORDS)?;
        let (slots, buffer) = buffer.split_at_mut_checked(SLOTS_MAX)?;
        let (params, blobs) = buffer.split_at_mut_checked(PARAMS_MAX)?;

        Some(Self {
            key: key.get_mut(..key_words)?,
            other,
            slots,
            params,
            blobs: Blobs(blobs),
            polls,
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
            blobs: self.blobs.lend(),
            polls: self.polls,
        }
    }
}

/// Scratch memory of a small histogram.
pub(crate) struct Small {
    /// The key, then the slots.
    words: [u64; SMALL_WORDS],
    polls: Polls,
}

impl Small {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            words: [0; SMALL_WORDS],
            polls: Polls::new(),
        }
    }

    /// Splits the memory into its parts. The key has `key_words` words.
    #[inline(always)]
    pub(crate) fn scratch(&mut self, key_words: usize) -> Option<Scratch<'_>> {
        let (key, slots) = self.words.split_at_mut_checked(key_words)?;

        Some(Scratch {
            key,
            other: &mut [],
            slots,
            params: &mut [],
            blobs: Blobs(&mut []),
            polls: &mut self.polls,
        })
    }
}

/// The blobs of the scratch memory.
pub(crate) struct Blobs<'a>(&'a mut [u64]);

impl Blobs<'_> {
    /// Returns the same memory, as [`Scratch::lend`] does.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Blobs<'_> {
        Blobs(self.0)
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
