// SPDX-License-Identifier: GPL-2.0

//! The context of a hit: its record, the time, the task.

use crate::{
    limits::STACK_DEPTH,
    map::Comm, //
};
use kernel::{
    prelude::*,
    stacktrace,
    trace::trigger::Hit, //
};

/// Number of functions that a stack leaves out at its top: those between the event and the one that
/// saves it.
///
/// C leaves out five, one of which is its trigger. It is the same here: all is inlined in what C
/// calls.
const STACK_SKIP: u32 = 5;

/// An occurrence of an event.
pub(crate) trait HitContext {
    /// The record.
    fn record(&self) -> &[u8];

    /// The time stamp.
    fn time(&self) -> u64;

    /// Returns `true` if time stamps are in nanoseconds.
    fn clock_in_ns(&self) -> bool;

    fn cpu(&self) -> u32;

    /// The name of the current task.
    fn comm(&self) -> Comm;

    /// The name that a new element keeps: that of the current task, or what stands for the idle
    /// task of a CPU.
    fn first_comm(&self) -> Comm;

    /// Writes the addresses of the stack that led to the event to the beginning of `to`, and
    /// returns their number. This has to be inlined in what C calls, see [`STACK_SKIP`].
    fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize;
}

impl HitContext for Hit<'_> {
    #[inline]
    fn record(&self) -> &[u8] {
        Hit::record(self)
    }

    #[inline]
    fn time(&self) -> u64 {
        self.timestamp()
    }

    #[inline]
    fn clock_in_ns(&self) -> bool {
        Hit::clock_in_ns(self)
    }

    #[inline]
    fn cpu(&self) -> u32 {
        Hit::cpu(self)
    }

    #[inline]
    fn comm(&self) -> Comm {
        current!().comm_bytes()
    }

    fn first_comm(&self) -> Comm {
        if current!().pid() == 0 {
            return *b"<idle>\0\0\0\0\0\0\0\0\0\0";
        }
        HitContext::comm(self)
    }

    #[inline(always)]
    fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize {
        <[usize]>::mut_from_bytes(to.as_mut_bytes())
            .map_or(0, |addresses| stacktrace::save(addresses, STACK_SKIP))
    }
}
