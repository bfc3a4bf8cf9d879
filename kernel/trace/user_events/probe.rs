// SPDX-License-Identifier: GPL-2.0

//! Handing a record to whoever listens to an event.
//!
//! The record is copied from the writer's memory once, into the buffer of the first listener that
//! has room for it, and checked there. The other listeners get their copies from that one, and all
//! of them are committed only then: either every listener that has room gets the same record, or
//! none gets any.
//!
//! The copy is made with page faults off, under the guard of the tracepoint. If a page of the
//! writer is not there everything is given back, the page is faulted in without the guard, and it
//! is done again.

use super::{
    event::{
        listens,
        EventUse,
        UserEvent, //
    },
    validate, //
};
use kernel::{
    iov::IovIterSource,
    prelude::*,
    trace::{
        event::Listener,
        perf,
        ring_buffer,
        tracepoint::ReadGuard, //
    },
};

/// How often the pages of one write are faulted in before giving up.
const MAX_ATTEMPTS: usize = 10;

/// The [`listens`] bits of those that listen to `event` now.
pub(crate) fn listeners(event: &UserEvent) -> u32 {
    if !event.trace().is_enabled() {
        return 0;
    }

    let guard = ReadGuard::new();

    event.trace().listeners(&guard).fold(0, |status, listener| {
        status
            | match listener {
                Listener::File(_) => listens::FTRACE,
                Listener::Perf(_) => listens::PERF,
                Listener::Other => listens::OTHER,
            }
    })
}

/// Room for a record in the buffer of a listener. Dropped, it is given back.
enum Room<'g> {
    Trace(ring_buffer::Reservation<'g>),
    Perf(perf::Reservation<'g>),
}

impl Room<'_> {
    /// The whole record, its header included.
    #[inline]
    fn record(&self) -> &[u8] {
        match self {
            Self::Trace(room) => room.record(),
            Self::Perf(room) => room.record(),
        }
    }

    /// The record without its header.
    #[inline]
    fn payload(&mut self) -> &mut [u8] {
        match self {
            Self::Trace(room) => room.payload_mut(),
            Self::Perf(room) => room.payload_mut(),
        }
    }

    #[inline]
    fn commit(self) {
        match self {
            Self::Trace(room) => room.commit(),
            Self::Perf(room) => room.commit(),
        }
    }
}

/// What became of a record.
enum Outcome {
    /// Everybody who wants it and has room for it has it.
    Delivered,
    /// Nobody has it: a page of the writer is not there.
    Absent,
    /// Nobody has it: it is not a valid record.
    Invalid,
    /// Nobody has it: it is too long for all who want it.
    TooLong,
}

/// Hands what is left of `payload` to the listeners of `event`.
///
/// # Errors
///
/// `EFAULT` if the writer's memory cannot be read or the record is not valid, `E2BIG` if it is too
/// long for everybody. Nobody has got it then.
pub(crate) fn deliver(event: &EventUse, payload: &mut IovIterSource<'_>) -> Result {
    for _ in 0..MAX_ATTEMPTS {
        match try_deliver(event, payload) {
            Outcome::Delivered => return Ok(()),
            Outcome::Invalid => return Err(EFAULT),
            Outcome::TooLong => return Err(E2BIG),
            Outcome::Absent => {}
        }
        if !payload.fault_in_readable(payload.len()) {
            break;
        }
    }
    Err(EFAULT)
}

/// Copies a payload. Both are of the same length.
fn copy(to: &mut [u8], from: &[u8]) {
    let len = to.len().min(from.len());

    if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
        to.copy_from_slice(from);
    }
}

fn try_deliver(event: &EventUse, payload: &IovIterSource<'_>) -> Outcome {
    let len = payload.len();
    let guard = ReadGuard::new();
    let mut first: Option<Room<'_>> = None;
    let mut too_long = false;

    for listener in event.trace().listeners(&guard) {
        let mut room = match listener {
            Listener::File(file) => {
                if !file.is_recording() {
                    continue;
                }
                match file.reserve(&guard, len) {
                    Some(room) => Room::Trace(room),
                    None => {
                        too_long |= len > file.max_payload();
                        continue;
                    }
                }
            }
            Listener::Perf(perf) => {
                if !perf.is_active() {
                    continue;
                }
                match perf.reserve(len) {
                    Some(room) => Room::Perf(room),
                    None => {
                        too_long |= len > perf::MAX_PAYLOAD;
                        continue;
                    }
                }
            }
            Listener::Other => continue,
        };

        if let Some(first) = &mut first {
            copy(room.payload(), first.payload());
            room.commit();
            continue;
        }

        let copied = payload.with_snapshot(|payload| payload.copy_nofault(room.payload()));
        if copied != len {
            return Outcome::Absent;
        }
        if !validate::record(event.validators(), room.record()) {
            return Outcome::Invalid;
        }
        first = Some(room);
    }

    match first {
        Some(room) => {
            room.commit();
            Outcome::Delivered
        }
        None if too_long => Outcome::TooLong,
        None => Outcome::Delivered,
    }
}
