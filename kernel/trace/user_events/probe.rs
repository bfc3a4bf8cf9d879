// SPDX-License-Identifier: GPL-2.0

//! Delivery of a record to the listeners of an event.
//!
//! The record is built in the buffer of the first listener that has room for it, and checked there
//! before any listener receives it: either every listener that has room receives the same record,
//! or none does.
//!
//! Nothing may fault while the buffer of a listener is open. So a short payload is copied to the
//! stack first. The pages of a longer one are faulted in first, the first listener copies it from
//! there, and the others from the first. If a page is gone again when it is copied, it is faulted
//! in once more.
//!
//! perf comes last, and the first record is committed before the next is begun if that is possible:
//! triggers run at the commit, they may write records of their own, and perf's buffers and some of
//! ftrace's can be used by one at a time.

use super::{
    event::{
        listens,
        UserEvent, //
    },
    validate::{
        self,
        Validator, //
    },
};
use kernel::{
    iov::IovIterSource,
    prelude::*,
    trace::{
        event::{
            Listener,
            Listeners, //
        },
        file::File,
        ring_buffer::{
            Reservation,
            Slot, //
        },
        tracepoint::ReadGuard,
        HEADER_SIZE, //
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

/// Copies a payload to a buffer of the same size.
///
/// Most payloads have few bytes: these are two words or four, which may overlap, in place of a
/// call.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) -> bool {
    if to.len() != from.len() {
        return false;
    }
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
    true
}

/// Copies the first and the last `N` bytes.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *to = *from;
    }
}

/// Payloads up to so many bytes are copied to the stack: most of them.
pub(crate) const SHORT: usize = 128;

/// Memory for a record with a short payload, aligned as the records of perf are.
#[repr(C, align(8))]
pub(crate) struct Buffer<T>(pub(crate) [T; HEADER_SIZE + SHORT]);

/// Hands a record with a short payload to the listeners of `event`. It is in a [`Buffer`], without
/// values in its header.
///
/// Each record is committed before the next is begun. No listener refuses one for its length.
///
/// # Errors
///
/// `EFAULT` if the record is not valid. No listener has got it then. `EBADF` if only probes of
/// other kernel code are attached, which are not called.
#[inline(always)]
pub(crate) fn deliver(event: &UserEvent, record: &mut [u8]) -> Result {
    let guard = ReadGuard::new();
    let mut checks = event.validators();
    let mut is_foreign = false;
    #[cfg(CONFIG_PERF_EVENTS)]
    let mut perf = None;

    for listener in event.trace().listeners(&guard) {
        match listener {
            Listener::Other => is_foreign = true,
            Listener::File(file) if file.is_recording() => {
                match deliver_to(file, &guard, record, checks) {
                    Some(true) => checks = &[],
                    Some(false) => (),
                    None => return Err(EFAULT),
                }
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            Listener::Perf(listener) if listener.is_active() => perf = Some(listener),
            _ => (),
        }
    }

    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(perf) = perf {
        if !validate::record(checks, record) {
            return Err(EFAULT);
        }
        perf.send(record);
    }
    if is_foreign {
        return check_own(event, &guard);
    }
    Ok(())
}

/// Fails with `EBADF` if all attached probes are those of other kernel code.
#[cold]
#[inline(never)]
fn check_own(event: &UserEvent, guard: &ReadGuard) -> Result {
    let mut listeners = event.trace().listeners(guard).peekable();

    if listeners.peek().is_some() && listeners.all(|l| matches!(l, Listener::Other)) {
        return Err(EBADF);
    }
    Ok(())
}

/// Writes a record to a file, if it has space. Returns `None` if the record does not pass the
/// checks.
///
/// Not inlined: see [`write_short`](super::file::DataFile).
#[inline(never)]
fn deliver_to(file: &File, guard: &ReadGuard, record: &[u8], checks: &[Validator]) -> Option<bool> {
    let payload = record.get(HEADER_SIZE..)?;
    let mut slot = Slot::new();
    let Some(mut room) = file.reserve(guard, payload.len(), &mut slot) else {
        return Some(false);
    };

    copy(room.payload_mut(), payload);
    if !validate::record(checks, room.record()) {
        return None;
    }
    room.commit();
    Some(true)
}

/// Returns the length of the longest payload that a listener of `event` could take now.
#[cold]
#[inline(never)]
pub(crate) fn longest_payload(event: &UserEvent) -> usize {
    let guard = ReadGuard::new();

    event
        .trace()
        .listeners(&guard)
        .map(|listener| match listener {
            Listener::File(file) => file.max_payload(),
            #[cfg(CONFIG_PERF_EVENTS)]
            Listener::Perf(_) => perf::MAX_PAYLOAD,
            Listener::Other => 0,
        })
        .max()
        .unwrap_or_default()
}

/// Hands a record to the listeners of `event`, whose payload is what `iov` has left.
///
/// Returns `false` if the writer's memory is not there. Nobody has got the record then.
///
/// # Errors
///
/// `EFAULT` if the record is not valid, `E2BIG` if it is too long for everybody, `EBADF` if only
/// probes of other kernel code are attached. Nobody has got it then.
#[cold]
#[inline(never)]
pub(crate) fn deliver_long(event: &UserEvent, iov: &IovIterSource<'_>) -> Result<bool> {
    let len = iov.len();
    let guard = ReadGuard::new();
    let mut listeners = Recording::new(event, &guard);
    let mut slot = Slot::new();
    let mut too_long = false;

    while let Some(file) = listeners.next_file() {
        if let Some(mut room) = file.reserve(&guard, len, &mut slot) {
            if !copy_user(room.payload_mut(), iov) {
                return Ok(false);
            }
            if !validate::record(event.validators(), room.record()) {
                return Err(EFAULT);
            }
            copy_to_others(room, listeners, &guard);
            return Ok(true);
        }
        too_long |= len > file.max_payload();
    }

    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(perf) = listeners.perf {
        too_long |= len > perf::MAX_PAYLOAD;

        if let Some(mut room) = perf.reserve(len) {
            if !copy_user(room.payload_mut(), iov) {
                return Ok(false);
            }
            if !validate::record(event.validators(), room.record()) {
                return Err(EFAULT);
            }
            room.commit();
            return Ok(true);
        }
    }
    if too_long {
        Err(E2BIG)
    } else {
        check_own(event, &guard).map(|()| true)
    }
}

/// Commits the first record, after the other listeners have got copies of it.
#[inline(always)]
fn copy_to_others(mut first: Reservation<'_>, mut listeners: Recording<'_>, guard: &ReadGuard) {
    let mut slot = Slot::new();
    let len = first.payload_mut().len();

    while let Some(file) = listeners.next_file() {
        if let Some(mut room) = file.reserve(guard, len, &mut slot) {
            if copy(room.payload_mut(), first.payload_mut()) {
                room.commit();
            }
        }
    }
    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(mut room) = listeners.perf.and_then(|perf| perf.reserve(len)) {
        if copy(room.payload_mut(), first.payload_mut()) {
            room.commit();
        }
    }
    first.commit();
}

/// The listeners of an event that want a record.
struct Recording<'g> {
    listeners: Listeners<'g>,
    /// perf, once it was found.
    #[cfg(CONFIG_PERF_EVENTS)]
    perf: Option<perf::Listener<'g>>,
}

impl<'g> Recording<'g> {
    fn new(event: &'g UserEvent, guard: &'g ReadGuard) -> Self {
        Self {
            listeners: event.trace().listeners(guard),
            #[cfg(CONFIG_PERF_EVENTS)]
            perf: None,
        }
    }

    /// Returns the next file.
    fn next_file(&mut self) -> Option<&'g File> {
        loop {
            match self.listeners.next()? {
                Listener::File(file) if file.is_recording() => return Some(file),
                #[cfg(CONFIG_PERF_EVENTS)]
                Listener::Perf(listener) if listener.is_active() => self.perf = Some(listener),
                _ => (),
            }
        }
    }
}

/// Copies a payload from the writer's memory without faulting. Returns `false` if not all of it
/// could be read.
fn copy_user(to: &mut [u8], iov: &IovIterSource<'_>) -> bool {
    iov.with_snapshot(|iov| iov.copy_nofault(to)) == to.len()
}
