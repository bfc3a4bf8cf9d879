// SPDX-License-Identifier: GPL-2.0

//! Handing a record to whoever listens to an event.
//!
//! The record is put together in the buffer of the first listener that has room for it, and checked
//! there before anybody gets it: either every listener that has room gets the same record, or none
//! gets any.
//!
//! Nothing may fault while the buffer of a listener is open. So a short payload is copied to the
//! stack first. The pages of a longer one are faulted in first, the first listener copies it from
//! there, and the others from the first; if a page is gone again when it is copied the writer is
//! told so.
//!
//! perf comes last, and the first record is committed before the next is begun if that is possible:
//! triggers run at the commit, they may write records of their own, and perf's buffers and some of
//! ftrace's can be used by one at a time.

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
        ring_buffer,
        tracepoint::ReadGuard, //
    },
};

#[cfg(CONFIG_PERF_EVENTS)]
use kernel::trace::perf;

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
                #[cfg(CONFIG_PERF_EVENTS)]
                Listener::Perf(_) => listens::PERF,
                Listener::Other => listens::OTHER,
            }
    })
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
    // The first record, while the others are copied from it.
    let mut source: Option<ring_buffer::Reservation<'_>> = None;
    let mut delivered = false;
    let mut too_long = false;
    #[cfg(CONFIG_PERF_EVENTS)]
    let mut perf = None;

    for listener in event.trace().listeners(&guard) {
        let file = match listener {
            Listener::File(file) if file.is_recording() => file,
            #[cfg(CONFIG_PERF_EVENTS)]
            Listener::Perf(listener) if listener.is_active() => {
                perf = Some(listener);
                continue;
            }
            _ => continue,
        };
        let Some(mut room) = file.reserve(&guard, len) else {
            too_long |= len > file.max_payload();
            continue;
        };

        if let Some(source) = &mut source {
            if !copy(room.payload_mut(), source.payload_mut()) {
                continue;
            }
        } else {
            if !payload.copy_to(room.payload_mut()) {
                return Err(EFAULT);
            }
            if !delivered && !validate::record(event.validators(), room.record()) {
                return Err(EFAULT);
            }
            delivered = true;
            if let Payload::User(_) = payload {
                source = Some(room);
                continue;
            }
        }
        room.commit();
    }

    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(perf) = perf {
        too_long |= len > perf::MAX_PAYLOAD;

        if let Some(mut room) = perf.reserve(len) {
            let copied = match &mut source {
                Some(source) => copy(room.payload_mut(), source.payload_mut()),
                None => payload.copy_to(room.payload_mut()),
            };
            let valid =
                copied && (delivered || validate::record(event.validators(), room.record()));

            if valid {
                room.commit();
                delivered = true;
            } else if !delivered {
                return Err(EFAULT);
            }
        }
    }
    if let Some(source) = source {
        source.commit();
    }

    if delivered || !too_long {
        Ok(())
    } else {
        Err(E2BIG)
    }
}
