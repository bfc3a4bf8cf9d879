// SPDX-License-Identifier: GPL-2.0

//! The condition of a snapshot, and the cause of the last one.

use super::op::HandlerCondition;
use crate::limits::{
    COMM_WORDS,
    KEY_WORDS_MAX, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SeqCount, //
    },
    trace::builtin::snapshot, //
};

/// The condition of the action `snapshot()`, and what met it last.
///
/// An element whose handler runs asks for a snapshot. It is taken if its value is also the largest
/// of all elements, or differs from that of the last snapshot.
///
/// One CPU at a time writes the remembered values, with interrupts disabled, as C calls [`update`]
/// under a lock.
///
/// [`update`]: snapshot::Condition::update
pub(crate) struct SnapshotCondition {
    condition: HandlerCondition,
    /// Counts the writes to the rest.
    writes: SeqCount,
    is_taken: Atomic<bool>,
    value: Atomic<u64>,
    comm: [Atomic<u64>; COMM_WORDS],
    key: KVec<Atomic<u64>>,
}

/// A request for a snapshot: the value, the name of the task that had the first hit of the element,
/// and the key.
///
/// It is an array so that it can be a part of the scratch memory of a hit.
pub(crate) type Request = [u64; REQUEST_WORDS];

/// Size of a [`Request`].
pub(crate) const REQUEST_WORDS: usize = 1 + COMM_WORDS + KEY_WORDS_MAX;

/// Builds a request.
pub(crate) fn request<'a>(
    to: &'a mut Request,
    value: u64,
    comm: [u64; COMM_WORDS],
    key: &[u64],
) -> &'a Request {
    let (first, rest) = to.split_at_mut(1 + COMM_WORDS);
    let words = [&[value], comm.as_slice()];

    for (to, word) in first.iter_mut().zip(words.into_iter().flatten()) {
        *to = *word;
    }
    for (to, word) in rest.iter_mut().zip(key) {
        *to = *word;
    }
    to
}

/// The cause of the last snapshot.
pub(crate) struct Taken<'a> {
    pub(crate) value: u64,
    /// The whole key.
    pub(crate) key: &'a [u64],
    /// The name of the task that had the first hit of the element.
    pub(crate) comm: &'a [u8],
}

impl SnapshotCondition {
    /// Creates the condition for keys of `words` words.
    pub(crate) fn new(condition: HandlerCondition, words: usize) -> Result<Self> {
        let mut key = KVec::with_capacity(words, GFP_KERNEL)?;

        for _ in 0..words {
            key.push(Atomic::new(0), GFP_KERNEL)?;
        }
        Ok(Self {
            condition,
            writes: SeqCount::new(),
            is_taken: Atomic::new(false),
            value: Atomic::new(0),
            comm: [const { Atomic::new(0) }; COMM_WORDS],
            key,
        })
    }

    /// Calls `f` with the cause of the last snapshot, if any.
    pub(crate) fn with_taken<R>(&self, f: impl FnOnce(&Taken<'_>) -> R) -> Option<R> {
        let mut key = [0; KEY_WORDS_MAX];
        let mut comm = [0; COMM_WORDS];

        let value = self.writes.read(|| {
            for (to, from) in key.iter_mut().zip(&self.key) {
                *to = from.load(Relaxed);
            }
            for (to, from) in comm.iter_mut().zip(&self.comm) {
                *to = from.load(Relaxed);
            }
            self.last_value()
        })?;

        Some(f(&Taken {
            value,
            key: key.get(..self.key.len()).unwrap_or(&key),
            comm: comm.as_bytes(),
        }))
    }

    /// Returns the value of the last snapshot, if any.
    fn last_value(&self) -> Option<u64> {
        self.is_taken
            .load(Relaxed)
            .then(|| self.value.load(Relaxed))
    }

    /// Returns `true` if a snapshot is to be taken, and stores the cause. Runs on one CPU at a
    /// time.
    pub(crate) fn ask(&self, request: &Request) -> bool {
        let [value, ..] = request;

        if !self.condition.holds(*value, self.last_value()) {
            return false;
        }
        self.remember(request);
        true
    }

    fn remember(&self, request: &Request) {
        let places = [core::slice::from_ref(&self.value), &self.comm, &self.key];

        self.writes.write(|| {
            self.is_taken.store(true, Relaxed);
            for (to, from) in places.into_iter().flatten().zip(request) {
                to.store(*from, Relaxed);
            }
        });
    }
}

impl snapshot::Condition for SnapshotCondition {
    type Context = Request;

    fn update(&self, request: &Request) -> bool {
        self.ask(request)
    }
}
