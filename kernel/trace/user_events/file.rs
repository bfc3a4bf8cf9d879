// SPDX-License-Identifier: GPL-2.0

//! The file `user_events_data`: registering events and writing records.
//!
//! Every open file has a table of the events that were registered through it. A record begins with
//! the index of its event in that table. The table only grows and is read without a lock.

use super::{
    append_vec::{
        AppendVec,
        Chunk, //
    },
    batch::RecordWriter,
    deliver::{
        self,
        Attempt,
        Buffer,
        Long,
        SHORT, //
    },
    event::{
        EventUse,
        UserEvent, //
    },
    ioctl,
    seed, //
};
use core::{
    mem::MaybeUninit,
    num::NonZeroU16, //
};
use kernel::{
    alloc::{
        flags::__GFP_NOWARN,
        Flags, //
    },
    fs::{
        File,
        Kiocb, //
    },
    hash_table::{
        OpenTable,
        Slots, //
    },
    iov::IovIterSource,
    new_mutex,
    prelude::*,
    sync::Mutex,
    trace::{
        tracefs::{
            self,
            FileOps, //
        },
        HEADER_SIZE, //
    },
};

/// Bytes of the index that a record begins with.
const INDEX: usize = size_of::<i32>();

/// A short record is copied to the stack so that its payload is where that of a complete record is.
/// The index has so many bytes before it, and the header takes the place of both.
const BEFORE: usize = HEADER_SIZE - INDEX;

/// Number of attempts to fault in the pages of a long payload: a page may have been evicted again
/// before the copy.
const FAULT_IN_ATTEMPTS: usize = 2;

/// An open `user_events_data`.
#[pin_data]
pub(crate) struct DataFile {
    events: AppendVec<EventUse>,
    #[pin]
    index: Mutex<Index>,
}

// Every file has a slot for each of its events.
static_assert!(size_of::<Option<(NonZeroU16, u16)>>() == 4);

/// The indices in [`DataFile::events`]. All indices below the sum of both lengths are in `table` or
/// in `claims`.
struct Index {
    /// Index of each event, by [`EventUse::id`].
    ///
    /// No larger than the number of trace events.
    table: OpenTable<(NonZeroU16, u16)>,
    /// Indices of registrations that are not complete.
    claims: KVec<Claim>,
}

/// An index that is not in the table yet.
struct Claim {
    index: u16,
    /// The event, if the claim has users. They hold a use of it.
    id: Option<NonZeroU16>,
    /// Number of registrations that want the index.
    users: usize,
}

/// Memory for a claim. It is allocated, and freed, without the lock of the [`Index`]: with an
/// inherited file another process may be the one that has to wait for memory.
enum Memory {
    None,
    Slots(Slots<(NonZeroU16, u16)>),
    Claims(KVec<Claim>),
    Events(Chunk<EventUse>),
}

/// Memory that is lacking for a claim.
enum Lack {
    /// So many slots of the table.
    Slots(usize),
    /// Room for so many claims.
    Claims(usize),
    /// That of the element with this index.
    Event(u16),
}

impl Lack {
    fn allocate(self) -> Result<Memory> {
        Ok(match self {
            Self::Slots(count) => Memory::Slots(Slots::new(count, GFP_KERNEL_ACCOUNT)?),
            Self::Claims(count) => Memory::Claims(KVec::with_capacity(count, GFP_KERNEL_ACCOUNT)?),
            Self::Event(index) => Memory::Events(Chunk::of(index.into())?),
        })
    }
}

impl Index {
    /// Returns the index of an event, or the memory without which it can have none. Until
    /// [`Index::settle`], the index is not assigned to another event.
    fn claim(&mut self, id: NonZeroU16, events: &AppendVec<EventUse>) -> Result<Result<u16, Lack>> {
        if let Some((_, index)) = self.table.get(id) {
            return Ok(Ok(*index));
        }
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.id == Some(id)) {
            claim.users += 1;
            return Ok(Ok(claim.index));
        }

        // For all claims, in any order.
        if let Some(count) = self.table.growth(self.claims.len().saturating_add(1))? {
            return Ok(Err(Lack::Slots(count)));
        }
        let unused = self.claims.iter_mut().filter(|claim| claim.users == 0);
        if let Some(claim) = unused.min_by_key(|claim| claim.index) {
            claim.id = Some(id);
            claim.users = 1;
            return Ok(Ok(claim.index));
        }

        let index = u16::try_from(self.table.count().saturating_add(self.claims.len()))?;
        if !events.has_room(index.into()) {
            return Ok(Err(Lack::Event(index)));
        }
        let claim = Claim {
            index,
            id: Some(id),
            users: 1,
        };
        Ok(match self.claims.push_within_capacity(claim) {
            Ok(()) => Ok(index),
            Err(_) => Err(Lack::Claims(
                self.claims.len().saturating_add(1).saturating_mul(2),
            )),
        })
    }

    /// Adds the memory. Returns what is to be freed: what was in use until now, or `memory` if
    /// another thread was faster.
    fn extend(&mut self, memory: Memory, events: &AppendVec<EventUse>) -> Memory {
        match memory {
            Memory::Slots(slots) if slots.count() > self.table.slots() => {
                Memory::Slots(self.table.resize(slots))
            }
            Memory::Claims(mut claims) if claims.capacity() > self.claims.capacity() => {
                for claim in self.claims.drain_all() {
                    // The new vector has more room.
                    let _ = claims.push_within_capacity(claim);
                }
                Memory::Claims(core::mem::replace(&mut self.claims, claims))
            }
            Memory::Events(chunk) => events.add(chunk).map_or(Memory::None, Memory::Events),
            memory => memory,
        }
    }

    /// Ends a reservation by [`Index::claim`]. With `keep` the event has the index from now on.
    /// Returns `true` if it did not have it before.
    fn settle(&mut self, index: u16, keep: bool) -> bool {
        let Some(at) = self.claims.iter().position(|claim| claim.index == index) else {
            return false;
        };

        if keep {
            if let Ok(Claim { id: Some(id), .. }) = self.claims.remove(at) {
                self.table.insert_within_capacity((id, index));
            }
            return true;
        }
        if let Some(claim) = self.claims.get_mut(at) {
            claim.users = claim.users.saturating_sub(1);
            if claim.users == 0 {
                claim.id = None;
            }
        }
        // The last indices are released; other unused claims remain and are reused.
        while let Some(at) = self.last_unused() {
            if self.claims.remove(at).is_err() {
                break;
            }
        }
        false
    }

    /// Returns the place of the last index in the claims, if it is unused.
    fn last_unused(&self) -> Option<usize> {
        let last = self
            .table
            .count()
            .saturating_add(self.claims.len())
            .checked_sub(1)?;

        self.claims
            .iter()
            .position(|claim| claim.users == 0 && usize::from(claim.index) == last)
    }
}

impl DataFile {
    /// Assigns an index to `event`, which keeps a present one.
    ///
    /// `publish` is called with the index, without a lock, and with nothing left that could fail
    /// but itself. If it fails a new index is not given.
    pub(crate) fn add(&self, event: EventUse, publish: impl FnOnce(u32) -> Result) -> Result {
        let i = self.claim(event.id()?)?;
        let result = publish(u32::from(i));
        let mut index = self.index.lock();

        // A task that finds the event in the table may use the index.
        if index.settle(i, result.is_ok()) {
            self.events.set(usize::from(i), event);
        } else {
            drop(index);
            drop(event);
        }
        result
    }

    /// Returns the index of an event, as [`Index::claim`] does, with the memory that it takes.
    fn claim(&self, id: NonZeroU16) -> Result<u16> {
        let mut memory = Memory::None;

        loop {
            let mut index = self.index.lock();
            let freed = index.extend(memory, &self.events);
            let claimed = index.claim(id, &self.events);

            drop(index);
            drop(freed);
            match claimed? {
                Ok(index) => return Ok(index),
                Err(lack) => memory = lack.allocate()?,
            }
        }
    }

    /// Returns the event of a record whose payload has `len` bytes, if it has a listener.
    #[inline(always)]
    fn listened(&self, index: [u8; INDEX], len: usize) -> Result<&UserEvent> {
        let index = usize::try_from(i32::from_ne_bytes(index)).map_err(|_| EINVAL)?;
        let event = self.events.get(index).ok_or(ENOENT)?;

        if len < event.min_size() {
            event.counts().fail();
            return Err(EINVAL);
        }
        if !event.trace().is_enabled() {
            return Err(EBADF);
        }
        Ok(event)
    }

    /// Writes a record with a short payload that was read to memory which is aligned as a
    /// [`Buffer`]: [`BEFORE`] bytes, the index, and the payload.
    ///
    /// Not inlined, as [`write_any`](Self::write_any): the stacks that triggers save leave out as
    /// many functions as C has between `trace_event_buffer_commit()` and the file operation, which
    /// are one of these and one more.
    #[inline(never)]
    fn write_short(&self, record: &mut [u8]) -> Result {
        let (head, payload) = record.split_first_chunk::<HEADER_SIZE>().ok_or(EFAULT)?;
        let index = head.last_chunk().ok_or(EFAULT)?;
        let event = self.listened(*index, payload.len())?;

        count_failure(event, deliver::deliver(event, record))
    }

    /// Writes a record without sleeping.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if the memory is not present. Otherwise those of a write.
    #[inline(never)]
    fn write_nowait(&self, iov: &mut IovIterSource<'_>) -> Result {
        let mut buffer = Buffer([MaybeUninit::uninit(); HEADER_SIZE + SHORT]);

        match iov.peek_short_nofault::<BEFORE>(&mut buffer.0) {
            Some(record) => self.write_short(record),
            None => self.write_any(iov, false),
        }
    }

    /// Writes a record that is long, or that was not read as a whole. If the memory must not be
    /// waited for (`wait`), the error is `EAGAIN` in place of `EFAULT`.
    #[cold]
    #[inline(never)]
    fn write_any(&self, iov: &mut IovIterSource<'_>, wait: bool) -> Result {
        let total = iov.len();
        let mut buffer = Buffer([0; HEADER_SIZE + SHORT]);
        // All of a short record at once, of a longer one the index only.
        let wanted = if total <= INDEX + SHORT { total } else { INDEX };
        let record = buffer.0.get_mut(..BEFORE + wanted).ok_or(EFAULT)?;
        let (_, data) = record.split_first_chunk_mut::<BEFORE>().ok_or(EFAULT)?;
        let absent = if wait || total < INDEX {
            EFAULT
        } else {
            EAGAIN
        };
        let got = if wait {
            iov.copy_from_iter(data)
        } else {
            iov.copy_nofault(data)
        };
        let index = data.first_chunk().filter(|_| got >= INDEX).ok_or(absent)?;
        let len = total - INDEX;
        let event = self.listened(*index, len)?;
        let result = if wanted != total && wait {
            write_long(event, iov)
        } else if wanted != total {
            write_long_nowait(event, iov)
        } else if got != total {
            Err(absent)
        } else {
            deliver::deliver(event, record)
        };

        count_failure(event, result)
    }
}

/// Counts a record that was not written, unless it is tried again or has no listener.
#[inline(always)]
fn count_failure(event: &UserEvent, result: Result) -> Result {
    if let Err(e) = result {
        if e != EAGAIN && e != EBADF {
            event.counts().fail();
        }
    }
    result
}

/// Writes a record with a long payload, which is the rest of `iov`.
fn write_long(event: &UserEvent, iov: &mut IovIterSource<'_>) -> Result {
    let mut attempt = Attempt::first();

    for _ in 0..FAULT_IN_ATTEMPTS {
        // Not more than a listener could take.
        let readable = iov.len().min(deliver::longest_payload(event));

        if !iov.fault_in_readable(readable) {
            return Err(EFAULT);
        }
        match deliver::deliver_long(event, iov, &mut attempt)? {
            Long::Written => return Ok(()),
            Long::Absent => (),
            Long::WantsBuffer => match buffer_for(iov.len(), GFP_KERNEL) {
                Ok(mut buffer) => {
                    return write_buffered(event, iov.len(), &mut buffer, EFAULT, |to| {
                        iov.copy_from_iter(to)
                    });
                }
                Err(_) => attempt.without_memory(),
            },
        }
    }
    Err(EFAULT)
}

/// Writes a record as [`write_long`] does, without sleeping. The error is `EAGAIN` if the memory
/// is not present.
///
/// The payload is read before a listener is asked: triggers that need no record run then, and a
/// record that is tried again would have them run again.
fn write_long_nowait(event: &UserEvent, iov: &mut IovIterSource<'_>) -> Result {
    if iov.len() > deliver::longest_payload(event) {
        return match deliver::deliver_long(event, iov, &mut Attempt::first())? {
            Long::Written => Ok(()),
            _ => Err(EAGAIN),
        };
    }

    let mut buffer = buffer_for(iov.len(), GFP_NOWAIT).map_err(|_| EAGAIN)?;

    write_buffered(event, iov.len(), &mut buffer, EAGAIN, |to| {
        iov.copy_nofault(to)
    })
}

/// Allocates memory for a record whose payload has `len` bytes, aligned as a [`Buffer`].
fn buffer_for(len: usize, flags: Flags) -> Result<KVVec<u64>> {
    let words = HEADER_SIZE.saturating_add(len).div_ceil(size_of::<u64>());

    Ok(KVVec::from_elem(0, words, flags | __GFP_NOWARN)?)
}

/// Writes a record with a long payload of `len` bytes by way of a buffer, which `read` fills.
///
/// # Errors
///
/// `absent` if fewer bytes were read. Otherwise those of [`deliver::deliver`].
fn write_buffered(
    event: &UserEvent,
    len: usize,
    buffer: &mut [u64],
    absent: Error,
    read: impl FnOnce(&mut [u8]) -> usize,
) -> Result {
    let bytes = buffer.as_mut_bytes();
    let record = bytes
        .get_mut(..HEADER_SIZE.saturating_add(len))
        .ok_or(EFAULT)?;
    let payload = record.get_mut(HEADER_SIZE..).ok_or(EFAULT)?;

    if read(payload) != len {
        return Err(absent);
    }
    deliver::deliver(event, record)
}

impl RecordWriter for DataFile {
    #[inline(always)]
    fn write_short(&self, record: &mut [u8]) -> Result {
        DataFile::write_short(self, record)
    }

    #[inline(always)]
    fn write_user(&self, iov: &mut IovIterSource<'_>) -> Result {
        self.write_any(iov, true)
    }
}

#[vtable]
impl FileOps for DataFile {
    type Data = Pin<KBox<Self>>;

    const NOWAIT: bool = true;

    fn open(_file: &File) -> Result<Self::Data> {
        KBox::try_pin_init(
            try_pin_init!(Self {
                events: AppendVec::new(),
                index <- new_mutex!(
                    Index {
                        table: OpenTable::with_seed(seed()),
                        claims: KVec::new(),
                    },
                    "DataFile::index"
                ),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Writes one record, which is the index of its event, as 4 bytes in native order, and the
    /// payload. The position does not matter.
    ///
    /// # Errors
    ///
    /// `EFAULT` without a whole index, if the memory cannot be read and if the record is not valid;
    /// `EINVAL` for a negative index or less than the fields need; `ENOENT` for an index that was
    /// not assigned; `EBADF` without a listener; `E2BIG` if no listener has room for the record;
    /// `ENOMEM` if only perf wants it, and a long one cannot be assembled; `EAGAIN` if the memory
    /// is not present and must not be waited for.
    #[inline(always)]
    fn write_iter(kiocb: Kiocb<'_, Self::Data>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        let file = kiocb.file().get_ref();
        let total = iov.len();
        let mut buffer = Buffer([MaybeUninit::uninit(); HEADER_SIZE + SHORT]);

        if kiocb.is_nowait() {
            file.write_nowait(iov)?;
            return Ok(total);
        }
        match iov.peek_short::<BEFORE>(&mut buffer.0) {
            Some(record) => file.write_short(record)?,
            None => file.write_any(iov, true)?,
        }
        Ok(total)
    }

    fn ioctl(data: Pin<&Self>, file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::native(data.get_ref(), file, cmd, arg)
    }

    #[cfg(CONFIG_COMPAT)]
    fn compat_ioctl(data: Pin<&Self>, file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::compat(data.get_ref(), file, cmd, arg)
    }
}

/// Creates the file.
pub(crate) fn create() -> Result<tracefs::Entry> {
    tracefs::create_file::<DataFile>(c"user_events_data", 0o640)
}
