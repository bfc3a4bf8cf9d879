// SPDX-License-Identifier: GPL-2.0

//! Handing a record to whoever listens to an event.
//!
//! The record is put together in the buffer of the first listener that has room for it, and checked
//! there. The other listeners get their copies from that one, and all of them are committed only
//! then: either every listener that has room gets the same record, or none gets any.
//!
//! Nothing may fault while the buffers of listeners are open. So a short payload is copied to the
//! stack first, and the pages of a longer one are faulted in first; if one is gone again when the
//! payload is copied the writer is told so.

use super::{
    event::{
        listens,
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

/// Where a payload is.
pub(crate) enum Payload<'a, 'b> {
    /// In the kernel.
    Copied(&'a [u8]),
    /// In the writer's memory, faulted in.
    User(&'a IovIterSource<'b>),
}

impl Payload<'_, '_> {
    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::User(iov) => iov.len(),
        }
    }

    /// Copies it without faulting; `false` if not all of it could be.
    #[inline]
    fn copy_to(&self, to: &mut [u8]) -> bool {
        match self {
            Self::Copied(bytes) => copy(to, bytes),
            Self::User(iov) => iov.with_snapshot(|iov| iov.copy_nofault(to)) == to.len(),
        }
    }
}

/// Copies a payload to where there is room for as much.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) -> bool {
    if to.len() != from.len() {
        return false;
    }
    to.copy_from_slice(from);
    true
}

/// Hands a record to the listeners of `event`.
///
/// # Errors
///
/// `EFAULT` if the writer's memory cannot be read or the record is not valid, `E2BIG` if it is too
/// long for everybody. Nobody has got it then.
#[inline]
pub(crate) fn deliver(event: &UserEvent, payload: Payload<'_, '_>) -> Result {
    let len = payload.len();
    let guard = ReadGuard::new();
    let mut first: Option<Room<'_>> = None;
    let mut too_long = false;

    for listener in event.trace().listeners(&guard) {
        let source = match &mut first {
            Some(first) => first,
            // Made in its place: it is moved as little as possible.
            None => {
                first = reserve(listener, &guard, len, &mut too_long);
                if let Some(first) = &mut first {
                    if !payload.copy_to(first.payload())
                        || !validate::record(event.validators(), first.record())
                    {
                        return Err(EFAULT);
                    }
                }
                continue;
            }
        };

        if let Some(mut room) = reserve(listener, &guard, len, &mut too_long) {
            if copy(room.payload(), source.payload()) {
                room.commit();
            }
        }
    }

    match first {
        Some(room) => room.commit(),
        None if too_long => return Err(E2BIG),
        None => {}
    }
    Ok(())
}

/// Makes room with a listener, if it wants the record and can take it. `too_long` is set if it
/// wants it but is too small.
#[inline(always)]
fn reserve<'g>(
    listener: Listener<'g>,
    guard: &'g ReadGuard,
    len: usize,
    too_long: &mut bool,
) -> Option<Room<'g>> {
    match listener {
        Listener::File(file) if file.is_recording() => match file.reserve(guard, len) {
            Some(room) => Some(Room::Trace(room)),
            None => {
                *too_long |= len > file.max_payload();
                None
            }
        },
        Listener::Perf(perf) if perf.is_active() => match perf.reserve(len) {
            Some(room) => Some(Room::Perf(room)),
            None => {
                *too_long |= len > perf::MAX_PAYLOAD;
                None
            }
        },
        _ => None,
    }
}
