// SPDX-License-Identifier: GPL-2.0

//! The limits that all switches share.
//!
//! One write to a file can switch every event. So what a switch has used of a limit is regained
//! slowly, and the next switch has the rest only:
//!
//! - All processes together are waited for [`PATIENCE`] at most, so that processes that are busy
//!   cannot prolong a switch.
//! - A child shares the enable bits of its parent, so the words are bits times processes, while
//!   only the sum of both was paid for. Only [`MAX_SHARED`] of these words are visited, and fewer
//!   if each takes longer than [`VISIT`] / [`SHARE`], as on a slow machine.

use kernel::{
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SetOnce, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
};

/// The time that a switch waits for processes, in all.
const PATIENCE: Delta = Delta::from_millis(10);

/// One part in so many of the time that passes is added again to what is left of it.
const REGAIN: i64 = 8;

/// Number of words that are visited in address spaces that share a set with one that was visited
/// before.
const MAX_SHARED: i64 = 1 << 16;

/// The time in ns after which one more of these words may be visited.
const VISIT: i64 = 16_000;

/// Visits of shared words take one part in so many of the time of switches that follow each other.
const SHARE: i64 = 4;

/// The rest of [`PATIENCE`] in ns, at the end of the last switch. Written under `event_mutex`.
static LEFT: Atomic<i64> = Atomic::new(PATIENCE.as_nanos());

/// The rest of [`MAX_SHARED`] times [`VISIT`] then. It is negative after a switch that has visited
/// too many. Written under `event_mutex`.
static SHARED_LEFT: Atomic<i64> = Atomic::new(MAX_SHARED * VISIT);

/// That end, in ns after [`FIRST`].
static ENDED: Atomic<i64> = Atomic::new(0);

/// The beginning of the first switch.
static FIRST: SetOnce<Instant<Monotonic>> = SetOnce::new();

/// The time that it waits each time, at least: on a busy machine it may become more.
const PAUSE: Delta = Delta::from_micros(100);

/// Returns the time in ns since the first switch.
fn clock() -> i64 {
    FIRST.populate(Instant::now());
    FIRST.as_ref().map_or(0, |first| first.elapsed().as_nanos())
}

/// Returns the rest of [`PATIENCE`] when `passed` has passed since `left` was left, all in ns.
pub(super) fn regained(left: i64, passed: i64) -> i64 {
    left.max(0)
        .saturating_add(passed.max(0) / REGAIN)
        .min(PATIENCE.as_nanos())
}

/// Returns what is left of [`MAX_SHARED`] times [`VISIT`] some time after so much was left, both in
/// ns.
pub(super) fn shared_regained(left: i64, passed: i64) -> i64 {
    left.saturating_add(passed.max(0)).min(MAX_SHARED * VISIT)
}

/// Returns what visits of so many shared words cost that have taken some time, both in ns.
pub(super) fn shared_cost(count: usize, took: i64) -> i64 {
    let count = i64::try_from(count).unwrap_or(i64::MAX);

    count.saturating_mul(VISIT).max(took.saturating_mul(SHARE))
}

/// The part of the limits that a switch may still use.
pub(super) struct Patience {
    /// The time that it may wait.
    time: Delta,
    /// [`VISIT`] for each shared word that it may visit.
    shared: i64,
}

impl Patience {
    /// Returns the patience of a switch that begins now. The caller holds `event_mutex`, also when
    /// it calls [`Patience::keep`].
    pub(super) fn begin() -> Self {
        let passed = clock().saturating_sub(ENDED.load(Relaxed));

        Self {
            time: Delta::from_nanos(regained(LEFT.load(Relaxed), passed)),
            shared: shared_regained(SHARED_LEFT.load(Relaxed), passed),
        }
    }

    /// Returns `true` if the switch may still wait.
    pub(super) fn is_left(&self) -> bool {
        self.time > Delta::ZERO
    }

    /// Returns `true` if the switch may still visit shared words.
    pub(super) fn may_visit_shared(&self) -> bool {
        self.shared > 0
    }

    /// Notes that the switch has visited so many shared words since `begin`. It may be more than
    /// were left.
    pub(super) fn visited_shared(&mut self, count: usize, begin: Instant<Monotonic>) {
        let cost = shared_cost(count, begin.elapsed().as_nanos());

        self.shared = self.shared.saturating_sub(cost);
    }

    /// Waits a little, or returns `false` if the switch may not wait any longer.
    pub(super) fn pause(&mut self) -> bool {
        if !self.is_left() {
            return false;
        }
        let begin = Instant::<Monotonic>::now();

        fsleep(PAUSE);
        self.time -= begin.elapsed();
        true
    }

    /// Keeps the rest for the next switch, at the end of this one.
    pub(super) fn keep(self) {
        LEFT.store(self.time.as_nanos(), Relaxed);
        SHARED_LEFT.store(self.shared, Relaxed);
        ENDED.store(clock(), Relaxed);
    }
}
