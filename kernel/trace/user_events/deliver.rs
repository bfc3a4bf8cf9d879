// SPDX-License-Identifier: GPL-2.0

//! Delivery of a record to the listeners of an event.
//!
//! The record is built in the buffer of the first listener that has room for it, and checked there
//! before any listener receives it: either every listener that has room receives the same record,
//! or none does.
//!
//! Nothing may fault while the buffer of a listener is open. So a short payload is copied to the
//! stack first. The pages of a longer one are faulted in first, the first listener copies it from
//! there, and the others from the first. If a page is absent again when it is copied, it is faulted
//! in once more. A payload that is too long for the memory that perf has for records is copied to
//! memory that is allocated for it, if perf wants it.
//!
//! perf is the last, and each record is committed before the next is begun: triggers run at the
//! commit, they may write records of their own, and perf's buffers and some of ftrace's can be used
//! by one at a time. Only that record stays open which the others copy a longer payload from. If
//! triggers run at a commit, the payload is copied to memory that is allocated for it, and no
//! record stays open.

use super::{
    counts::RecordLosses,
    event::UserEvent,
    validate::{
        self,
        Validator, //
    },
};
use kernel::{
    iov::IovIterSource,
    prelude::*,
    trace::{
        builtin::{
            event::{
                Listener,
                Listeners, //
            },
            ring_buffer::{
                Reservation,
                ReservationStorage, //
            },
        },
        event_file::{
            EventFile,
            EventFileId,
            Listening, //
        },
        tracepoint::ReadGuard,
        HEADER_SIZE, //
    },
};

#[cfg(CONFIG_PERF_EVENTS)]
use super::counts::{
    Counting,
    PerfLoss, //
};
#[cfg(CONFIG_PERF_EVENTS)]
use kernel::trace::builtin::perf::{
    self,
    Sent, //
};

/// Copies a payload to a buffer of the same size, or does nothing if the sizes differ.
///
/// Most payloads have few bytes: these are two words or four, which may overlap, in place of a
/// call.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    if to.len() != from.len() {
        return;
    }
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
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

/// Hands a record to the listeners of `event`. `record` is aligned as a [`Buffer`], without values
/// in its header.
///
/// Each record is committed before the next is begun.
///
/// # Errors
///
/// `EFAULT` if the record is not valid, `E2BIG` if no listener has got it and one of them because
/// it is too long, `EBADF` if only probes of other kernel code are attached, which are not called.
/// No listener has got it then.
#[inline(always)]
pub(crate) fn deliver(event: &UserEvent, record: &mut [u8]) -> Result {
    let guard = ReadGuard::new();
    let counts = event.counts().of_listeners();
    let len = record.len().saturating_sub(HEADER_SIZE);
    // Not a structure: functions get a pointer to `tally`, which would keep all of it in memory.
    let mut checks = event.validators();
    let mut is_foreign = false;
    let mut is_delivered = false;
    let mut losses = RecordLosses::new();
    #[cfg(CONFIG_PERF_EVENTS)]
    let mut perf = None;

    for listener in event.trace().listeners(&guard) {
        match listener {
            Listener::Other => is_foreign = true,
            Listener::File(file) if file.is_recording() => {
                match deliver_to(file, &guard, record, checks) {
                    Delivery::Kept => {
                        counts.ftrace();
                        is_delivered = true;
                    }
                    Delivery::Triggers => {
                        losses.refuse(file.refusal(&guard, len));
                        is_delivered = true;
                    }
                    Delivery::Lost if validate::record(checks, record) => {
                        losses.refuse(file.refusal(&guard, len));
                    }
                    _ => return Err(EFAULT),
                }
                checks = &[];
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
        is_delivered |= count_sent(counts, perf.send(record), &mut losses);
    }
    if is_foreign || !losses.is_empty() {
        return finish(event, &guard, &losses, is_delivered, is_foreign);
    }
    counts.written();
    Ok(())
}

/// Finishes the write of a record that a listener has not got.
#[cold]
#[inline(never)]
fn finish(
    event: &UserEvent,
    guard: &ReadGuard,
    losses: &RecordLosses,
    is_delivered: bool,
    is_foreign: bool,
) -> Result {
    if !is_delivered {
        losses.error()?;
        if is_foreign {
            check_own(event, guard)?;
        }
    }
    let counts = event.counts().of_listeners();

    counts.lose(losses);
    counts.written();
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

/// The end of a record for one file.
#[derive(Clone, Copy)]
enum Delivery {
    /// It is for the readers of the file.
    Kept,
    /// Only triggers of the file have got it.
    Triggers,
    /// The file has not got it.
    Lost,
    /// It does not pass the checks.
    Invalid,
}

/// Writes a record to a file, if it has space.
///
/// Not inlined: see [`write_short`](super::file::DataFile).
#[inline(never)]
fn deliver_to(
    file: EventFile<Listening<'_>>,
    guard: &ReadGuard,
    record: &[u8],
    checks: &[Validator],
) -> Delivery {
    let mut slot = ReservationStorage::new();
    let Some(payload) = record.get(HEADER_SIZE..) else {
        return Delivery::Invalid;
    };
    let Some(mut room) = file.reserve(guard, payload.len(), &mut slot) else {
        return Delivery::Lost;
    };

    copy(room.payload_mut(), payload);
    if !validate::record(checks, room.record()) {
        return Delivery::Invalid;
    }
    commit(room)
}

/// Commits a record that is valid.
#[inline(always)]
fn commit(room: Reservation<'_>) -> Delivery {
    let end = if room.is_for_readers() {
        Delivery::Kept
    } else {
        Delivery::Triggers
    };

    room.commit();
    end
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
            Listener::Perf(_) => perf::MAX_LONG_PAYLOAD,
            Listener::Other => 0,
        })
        .max()
        .unwrap_or_default()
}

/// The end of [`deliver_long`] without an error.
pub(crate) enum Long {
    /// The record was written.
    Written,
    /// The writer's memory is not present. No listener has got the record.
    Absent,
    /// The record has to be in memory of the caller, for [`deliver`]: see [`wants_buffer`]. No
    /// listener has got it, or was asked.
    WantsBuffer,
}

/// An attempt to write a record with a long payload, which may follow another one.
pub(crate) struct Attempt {
    /// The caller has no memory for the record.
    has_no_memory: bool,
    /// The last file that an attempt before has asked whether it wants the record. Asking runs
    /// triggers, so none is asked twice for one record.
    asked: Option<EventFileId>,
}

impl Attempt {
    /// Returns the first attempt to write a record.
    pub(crate) const fn first() -> Self {
        Self {
            has_no_memory: false,
            asked: None,
        }
    }

    /// Notes that the caller has no memory for the record.
    pub(crate) fn without_memory(&mut self) {
        self.has_no_memory = true;
    }
}

/// Hands a record to the listeners of `event`, whose payload is what `iov` has left. If the caller
/// has no memory for it although it is wanted, perf does not get it if that cannot do without, and
/// the others get it.
///
/// # Errors
///
/// `EFAULT` if the record is not valid; if no listener has got it, `E2BIG` if one of them has not
/// because it is too long, and `ENOMEM` if the caller has no memory; `EBADF` if only probes of
/// other kernel code are attached. No listener has got it then.
#[cold]
#[inline(never)]
pub(crate) fn deliver_long(
    event: &UserEvent,
    iov: &IovIterSource<'_>,
    attempt: &mut Attempt,
) -> Result<Long> {
    let len = iov.len();
    let guard = ReadGuard::new();

    // Writing from a buffer asks all files.
    let may_buffer = !attempt.has_no_memory && attempt.asked.is_none();

    if may_buffer && wants_buffer(event, &guard, len) {
        return Ok(Long::WantsBuffer);
    }

    let mut listeners = Recording::new(event, &guard, attempt.asked);
    let mut slot = ReservationStorage::new();
    let mut losses = RecordLosses::new();

    while let Some(file) = listeners.next_file() {
        if let Some(mut room) = file.reserve(&guard, len, &mut slot) {
            if !copy_user(room.payload_mut(), iov) {
                attempt.asked = Some(file.id());
                return Ok(Long::Absent);
            }
            if !validate::record(event.validators(), room.record()) {
                return Err(EFAULT);
            }
            copy_to_others(event, (room, file), listeners, &guard, losses);
            return Ok(Long::Written);
        }
        losses.refuse(file.refusal(&guard, len));
    }

    #[cfg_attr(not(CONFIG_PERF_EVENTS), expect(unused_mut))]
    let mut is_delivered = false;

    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(perf) = listeners.perf {
        if let Some(mut room) = perf.reserve(len) {
            if !copy_user(room.payload_mut(), iov) {
                attempt.asked = listeners.last;
                return Ok(Long::Absent);
            }
            if !validate::record(event.validators(), room.record()) {
                return Err(EFAULT);
            }
            is_delivered = count_sent(event.counts().of_listeners(), room.commit(), &mut losses);
        } else {
            losses.perf = Some(no_room(len));
        }
    }
    finish(event, &guard, &losses, is_delivered, true).map(|()| Long::Written)
}

/// Returns `true` if a record has to be in memory of the caller:
///
/// - perf wants it, whose own memory has no room for it.
/// - It has several listeners, and triggers look at it. They run when it is committed, and may
///   write records of their own. So each record should be committed before the next listener gets
///   its own, as in C, but the others copy it from the first one if it is nowhere else.
///
/// Asks no listener.
fn wants_buffer(event: &UserEvent, guard: &ReadGuard, len: usize) -> bool {
    let mut count = 0;
    let mut have_triggers = false;

    for listener in event.trace().listeners(guard) {
        match listener {
            Listener::File(file) if file.is_still_recording() => {
                count += 1;
                have_triggers |= file.has_triggers_of_records();
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            Listener::Perf(listener) if listener.is_active() => {
                if (perf::MAX_PAYLOAD + 1..=perf::MAX_LONG_PAYLOAD).contains(&len) {
                    return true;
                }
                count += 1;
            }
            _ => (),
        }
    }
    // One that no listener can take is not copied.
    have_triggers && count > 1 && len <= longest_payload(event)
}

/// Counts a record that perf has got, or keeps the reason for which perf has lost it. Returns
/// `true` if a perf event has got it.
#[cfg(CONFIG_PERF_EVENTS)]
#[inline(always)]
fn count_sent(counts: Counting<'_>, sent: Sent, losses: &mut RecordLosses) -> bool {
    losses.perf = PerfLoss::of(sent);
    if losses.perf.is_none() {
        counts.perf();
    }
    matches!(sent, Sent::Delivered | Sent::TooLongForSome)
}

/// Returns the reason for which perf has no room for a record.
#[cfg(CONFIG_PERF_EVENTS)]
fn no_room(len: usize) -> PerfLoss {
    if len > perf::MAX_LONG_PAYLOAD {
        PerfLoss::TooLong
    } else if len > perf::MAX_PAYLOAD {
        PerfLoss::NoMemory
    } else {
        PerfLoss::Busy
    }
}

/// Commits the first record, after copying it to the other listeners. `losses` has the losses so
/// far.
#[inline(always)]
fn copy_to_others(
    event: &UserEvent,
    (mut first, file): (Reservation<'_>, EventFile<Listening<'_>>),
    mut listeners: Recording<'_>,
    guard: &ReadGuard,
    mut losses: RecordLosses,
) {
    let counts = event.counts().of_listeners();
    let mut slot = ReservationStorage::new();
    let len = first.payload_mut().len();

    while let Some(file) = listeners.next_file() {
        let end = match file.reserve(guard, len, &mut slot) {
            Some(mut room) => {
                copy(room.payload_mut(), first.payload_mut());
                commit(room)
            }
            None => Delivery::Lost,
        };

        match end {
            Delivery::Kept => counts.ftrace(),
            _ => losses.refuse(file.refusal(guard, len)),
        }
    }
    #[cfg(CONFIG_PERF_EVENTS)]
    if let Some(perf) = listeners.perf {
        match perf.reserve(len) {
            Some(mut room) => {
                copy(room.payload_mut(), first.payload_mut());
                count_sent(counts, room.commit(), &mut losses);
            }
            None => losses.perf = Some(no_room(len)),
        }
    }
    match commit(first) {
        Delivery::Kept => counts.ftrace(),
        _ => losses.refuse(file.refusal(guard, len)),
    }
    counts.lose(&losses);
    counts.written();
}

/// The listeners of an event that want a record.
struct Recording<'g> {
    listeners: Listeners<'g>,
    /// The files up to this one were asked for an attempt before. `None` after that file.
    asked: Option<EventFileId>,
    /// The last file that was asked.
    #[cfg(CONFIG_PERF_EVENTS)]
    last: Option<EventFileId>,
    /// perf, once it was found.
    #[cfg(CONFIG_PERF_EVENTS)]
    perf: Option<perf::Listener<'g>>,
}

impl<'g> Recording<'g> {
    fn new(event: &'g UserEvent, guard: &'g ReadGuard, asked: Option<EventFileId>) -> Self {
        let listeners = || event.trace().listeners(guard);
        // If it listens no more, it is not known where those are that were not asked.
        let is_there = |asked: &EventFileId| {
            listeners().any(|l| matches!(l, Listener::File(file) if file.id() == *asked))
        };

        Self {
            asked: asked.filter(is_there),
            listeners: listeners(),
            #[cfg(CONFIG_PERF_EVENTS)]
            last: None,
            #[cfg(CONFIG_PERF_EVENTS)]
            perf: None,
        }
    }

    /// Returns `true` if a file wants the record. Asks it, if it was not asked before.
    fn wants(&mut self, file: EventFile<Listening<'g>>) -> bool {
        #[cfg(CONFIG_PERF_EVENTS)]
        {
            self.last = Some(file.id());
        }
        match self.asked {
            None => file.is_recording(),
            Some(asked) => {
                if asked == file.id() {
                    self.asked = None;
                }
                file.is_still_recording()
            }
        }
    }

    /// Returns the next file.
    fn next_file(&mut self) -> Option<EventFile<Listening<'g>>> {
        loop {
            match self.listeners.next()? {
                Listener::File(file) if self.wants(file) => return Some(file),
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
