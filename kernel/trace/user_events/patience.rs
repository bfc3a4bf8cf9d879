// SPDX-License-Identifier: GPL-2.0

//! The time that switches wait for processes.
//!
//! All processes together are waited for [`PATIENCE`] at most, so that processes that are busy
//! cannot prolong a switch. What a switch has used comes back slowly.

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

/// One part in so many of the time that passes is added again to what is left of it. One write to a
/// file can make a switch of each event.
const REGAIN: i64 = 8;

/// The rest of it in ns, at the end of the last switch. Written under `event_mutex`.
static LEFT: Atomic<i64> = Atomic::new(PATIENCE.as_nanos());

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

/// The time that a switch may still wait.
pub(super) struct Patience(Delta);

impl Patience {
    /// Returns the patience of a switch that begins now. The caller holds `event_mutex`, also when
    /// it calls [`Patience::keep`].
    pub(super) fn begin() -> Self {
        let passed = clock().saturating_sub(ENDED.load(Relaxed));

        Self(Delta::from_nanos(regained(LEFT.load(Relaxed), passed)))
    }

    /// Returns `true` if the switch may still wait.
    pub(super) fn is_left(&self) -> bool {
        self.0 > Delta::ZERO
    }

    /// Waits a little, or returns `false` if the switch may not wait any longer.
    pub(super) fn pause(&mut self) -> bool {
        if !self.is_left() {
            return false;
        }
        let begin = Instant::<Monotonic>::now();

        fsleep(PAUSE);
        self.0 -= begin.elapsed();
        true
    }

    /// Keeps the rest for the next switch, at the end of this one.
    pub(super) fn keep(self) {
        LEFT.store(self.0.as_nanos(), Relaxed);
        ENDED.store(clock(), Relaxed);
    }
}
