// SPDX-License-Identifier: GPL-2.0

//! Counters of the records of an event: written, failed, delivered, and lost by reason.
//!
//! Each trace instance, and perf, that was to have a record that was written either has got it or
//! has lost it; perf has lost it if one of its events has. What a filter does not want is not lost,
//! nor is a record of a CPU or a task that no perf event, or instance, is about. What an instance
//! overwrites later is counted there.
//!
//! # Locking
//!
//! Three counters that most records change have a part for each CPU; the others are shared. They
//! are allocated before the first listener is attached. Most of them are changed with the guard of
//! the tracepoint held. A reader sees numbers of about the same time.

use kernel::{
    percpu::PerCpuCounter,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SetOnce, //
    },
    trace::event_file::Refusal, //
};

#[cfg(CONFIG_PERF_EVENTS)]
use kernel::trace::builtin::perf::Sent;

/// The reason for which perf has not got a record.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(CONFIG_PERF_EVENTS), expect(dead_code))]
pub(crate) enum PerfLoss {
    /// It is too long for a sample, or for a buffer.
    TooLong,
    /// A buffer of perf is full or paused.
    Full,
    /// perf is in use in this context.
    Busy,
    /// Memory for it could not be allocated.
    NoMemory,
}

impl PerfLoss {
    /// Returns the reason for which perf has lost a record that was sent, if it has.
    #[cfg(CONFIG_PERF_EVENTS)]
    #[inline]
    pub(crate) fn of(sent: Sent) -> Option<Self> {
        match sent {
            Sent::Delivered => None,
            Sent::TooLong | Sent::TooLongForSome => Some(Self::TooLong),
            Sent::Full => Some(Self::Full),
            Sent::Busy => Some(Self::Busy),
        }
    }
}

/// The losses of one record.
#[derive(Clone, Copy)]
pub(crate) struct RecordLosses {
    /// The number of instances for each reason, in 16 bits.
    files: u64,
    /// That of perf.
    pub(crate) perf: Option<PerfLoss>,
}

impl RecordLosses {
    const BITS: usize = 16;

    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self {
            files: 0,
            perf: None,
        }
    }

    /// Returns `true` if nothing was lost.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.files == 0 && self.perf.is_none()
    }

    /// Counts an instance that has not got the record, unless `refusal` is `None`: nothing is lost
    /// then.
    pub(crate) fn refuse(&mut self, refusal: Option<Refusal>) {
        if let Some(refusal) = refusal {
            self.files = self.files.wrapping_add(1 << (lane(refusal) * Self::BITS));
        }
    }

    fn files(&self, lane: usize) -> u64 {
        self.files >> (lane * Self::BITS) & ((1 << Self::BITS) - 1)
    }

    /// Returns the error of a write if no listener has got the record.
    pub(crate) fn error(&self) -> Result {
        if self.files(lane(Refusal::TooLong)) != 0 || self.perf == Some(PerfLoss::TooLong) {
            Err(E2BIG)
        } else if self.perf == Some(PerfLoss::NoMemory) {
            Err(ENOMEM)
        } else {
            Ok(())
        }
    }
}

/// Returns the column of a reason.
const fn lane(refusal: Refusal) -> usize {
    match refusal {
        Refusal::TooLong => 0,
        Refusal::Off => 1,
        Refusal::Full => 2,
        Refusal::Busy => 3,
    }
}

/// The counters of an event.
///
/// Only the one of failures exists from the beginning: most events have no listener, and on a
/// machine with many CPUs the others are large.
pub(crate) struct Counts {
    failed: Atomic<u64>,
    of_listeners: SetOnce<KBox<OfListeners>>,
}

/// Those of records that have a listener.
struct OfListeners {
    /// Writes that have succeeded.
    written: PerCpuCounter,
    /// Records in instances.
    ftrace: PerCpuCounter,
    /// Records for perf.
    perf: PerCpuCounter,
    ftrace_lost: [Atomic<u64>; 4],
    perf_lost: [Atomic<u64>; 4],
}

impl Counts {
    /// Creates counters of 0.
    pub(crate) fn new() -> Self {
        Self {
            failed: Atomic::new(0),
            of_listeners: SetOnce::new(),
        }
    }

    /// Allocates the counters of [`Counts::of_listeners`], if they do not exist yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn allocate(&self) -> Result {
        if self.of_listeners.as_ref().is_none() {
            let counters = OfListeners {
                written: PerCpuCounter::new()?,
                ftrace: PerCpuCounter::new()?,
                perf: PerCpuCounter::new()?,
                ftrace_lost: [const { Atomic::new(0) }; 4],
                perf_lost: [const { Atomic::new(0) }; 4],
            };

            self.of_listeners
                .populate(KBox::new(counters, GFP_KERNEL_ACCOUNT)?);
        }
        Ok(())
    }

    /// Counts a write that has failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&self) {
        self.failed.add(1, Relaxed);
    }

    /// Returns the counters of records, which exist if the event has, or had, a listener.
    #[inline(always)]
    pub(crate) fn of_listeners(&self) -> Counting<'_> {
        Counting(self.of_listeners.as_ref().map(|counters| &**counters))
    }

    /// Shows the numbers, each after a tab.
    pub(crate) fn show(&self, m: &SeqFile) {
        let print = |n: u64| seq_print!(m, "\t{}", n);
        let counting = self.of_listeners();
        let sum =
            |of: fn(&OfListeners) -> &PerCpuCounter| counting.0.map_or(0, |all| of(all).sum());
        let print_lost = |of: fn(&OfListeners) -> &[Atomic<u64>; 4]| {
            for lane in 0..4 {
                let lost = counting.0.and_then(|all| of(all).get(lane));

                print(lost.map_or(0, |n| n.load(Relaxed)));
            }
        };

        print(sum(|all| &all.written));
        print(self.failed.load(Relaxed));
        print(sum(|all| &all.ftrace));
        print_lost(|all| &all.ftrace_lost);
        print(sum(|all| &all.perf));
        print_lost(|all| &all.perf_lost);
    }
}

/// Counts records.
#[derive(Clone, Copy)]
pub(crate) struct Counting<'e>(Option<&'e OfListeners>);

impl Counting<'_> {
    /// Counts a write that has succeeded.
    #[inline(always)]
    pub(crate) fn written(self) {
        if let Some(all) = self.0 {
            all.written.add(1);
        }
    }

    /// Counts a record in an instance.
    #[inline(always)]
    pub(crate) fn ftrace(self) {
        if let Some(all) = self.0 {
            all.ftrace.add(1);
        }
    }

    /// Counts a record for perf.
    #[cfg(CONFIG_PERF_EVENTS)]
    #[inline(always)]
    pub(crate) fn perf(self) {
        if let Some(all) = self.0 {
            all.perf.add(1);
        }
    }

    /// Counts the losses of a record that was written.
    pub(crate) fn lose(self, losses: &RecordLosses) {
        let Some(all) = self.0 else {
            return;
        };

        for (lane, count) in all.ftrace_lost.iter().enumerate() {
            let lost = losses.files(lane);

            if lost != 0 {
                count.add(lost, Relaxed);
            }
        }
        if let Some(loss) = losses.perf {
            let lane = match loss {
                PerfLoss::TooLong => 0,
                PerfLoss::Full => 1,
                PerfLoss::Busy => 2,
                PerfLoss::NoMemory => 3,
            };

            if let Some(count) = all.perf_lost.get(lane) {
                count.add(1, Relaxed);
            }
        }
    }
}
