// SPDX-License-Identifier: GPL-2.0

//! Many records in one system call: `DIAG_IOCSBATCH`.
//!
//! The records of a batch are in user memory, one after the other. Each begins with its size and
//! the index of its event, which are as long as the header that the record of a listener begins
//! with. So several records are read at once, and each is written from where it was read to, in the
//! same way as one that was passed to `write()`. A long record, and one that cannot be read with
//! its neighbours, is read by itself.
//!
//! The size of a record is read once; the memory may be changed concurrently.

use super::{
    defs::{
        UserBatch,
        UserRecord, //
    },
    deliver::SHORT, //
};
use core::mem::MaybeUninit;
use kernel::{
    iov::IovIterSource,
    prelude::*,
    task::cond_resched,
    trace::HEADER_SIZE,
    uaccess::{
        access_ok,
        copy_available,
        UserPtr,
        UserSlice, //
    },
};

/// Bytes that are read at once: any short record, or about 20 of the usual length.
const READ_SIZE: usize = 512;

static_assert!(READ_SIZE >= HEADER_SIZE + SHORT);
// The header of a listener takes the place of these.
static_assert!(size_of::<UserRecord>() == HEADER_SIZE);
// A buffer begins with a record, which perf needs to be aligned.
static_assert!(align_of::<ReadBuf>() == UserRecord::ALIGN);

/// Writing one record. An error is that of `write()`.
pub(crate) trait RecordWriter {
    /// Writes a record with a short payload, which was read to memory that is aligned as perf needs
    /// it: [`HEADER_SIZE`] bytes, of which the last four are the index, and the payload.
    fn write_short(&self, record: &mut [u8]) -> Result;

    /// Writes a record from user memory, which begins with the index.
    fn write_user(&self, iov: &mut IovIterSource<'_>) -> Result;
}

/// Memory for records that are read at once.
#[repr(C, align(8))]
struct ReadBuf([MaybeUninit<u8>; READ_SIZE]);

/// A batch that is being written.
struct Batch<'a, W> {
    writer: &'a W,
    /// Address of the first record.
    start: UserPtr,
    /// Bytes of all records.
    len: usize,
    /// Offset of the next record.
    at: usize,
    /// Number of records that were handled.
    handled: isize,
    /// `true` if one of them had a listener.
    is_heard: bool,
}

/// Writes the records of a batch. Returns the number of those that were handled.
///
/// A record whose event has no listener is skipped, and counts. The first record that cannot be
/// written, for another reason, ends the batch, as does a signal, but not before the first record.
///
/// # Errors
///
/// That of the first record, as `write()` returns it, if none was handled. `EBADF` if all were
/// skipped. `EINVAL` for a record that is smaller than its head, or exceeds the batch. `EFAULT` if
/// the batch is not in user memory.
///
/// # Context
///
/// Process context, without locks. May sleep.
#[inline(never)]
pub(crate) fn write<W: RecordWriter>(writer: &W, batch: &UserBatch) -> Result<isize> {
    let start = UserPtr::from_addr(usize::try_from(batch.records()).map_err(|_| EFAULT)?);
    let len = usize::try_from(batch.len()).map_err(|_| EFAULT)?;

    if !access_ok(start, len) {
        return Err(EFAULT);
    }

    let mut batch = Batch {
        writer,
        start,
        len,
        at: 0,
        handled: 0,
        is_heard: false,
    };

    match batch.run() {
        Err(e) if batch.handled == 0 => Err(e),
        Ok(()) if batch.handled > 0 && batch.at >= len && !batch.is_heard => Err(EBADF),
        _ => Ok(batch.handled),
    }
}

impl<W: RecordWriter> Batch<'_, W> {
    fn run(&mut self) -> Result {
        let mut buf = ReadBuf([MaybeUninit::uninit(); READ_SIZE]);

        while self.at < self.len {
            if self.handled > 0 && current!().signal_pending() {
                break;
            }
            cond_resched();
            self.write_next(&mut buf)?;
        }
        Ok(())
    }

    /// Reads and writes the next records: at least one, if it succeeds.
    #[inline(always)]
    fn write_next(&mut self, buf: &mut ReadBuf) -> Result {
        let wanted = READ_SIZE.min(self.len.saturating_sub(self.at));
        let room = buf.0.get_mut(..wanted).ok_or(EFAULT)?;
        let mut data = copy_available(self.start.wrapping_byte_add(self.at), room);
        let mut is_first = true;

        while let Some(head) = data.first_chunk() {
            let size = self.checked(UserRecord::new(*head))?;

            if size > HEADER_SIZE + SHORT {
                return self.write_alone(size);
            }
            let Some(record) = data.get_mut(..size) else {
                break;
            };
            let result = self.writer.write_short(record);

            self.finish(size, result)?;
            is_first = false;
            data = data.get_mut(UserRecord::stride(size)..).unwrap_or_default();
        }

        if !is_first {
            return Ok(());
        }
        // It is incomplete, or what follows it cannot be read, and fewer bytes were copied than
        // can be read.
        let size = self.read_size()?;

        self.write_alone(size)
    }

    /// Returns the size of the next record, which was read already.
    #[inline(always)]
    fn checked(&self, record: UserRecord) -> Result<usize> {
        let size = usize::try_from(record.size()).map_err(|_| EINVAL)?;

        if size < HEADER_SIZE || size > self.len.saturating_sub(self.at) {
            return Err(EINVAL);
        }
        Ok(size)
    }

    /// Reads the size of the next record.
    #[cold]
    #[inline(never)]
    fn read_size(&self) -> Result<usize> {
        if self.len.saturating_sub(self.at) < HEADER_SIZE {
            return Err(EINVAL);
        }

        let at = self.start.wrapping_byte_add(self.at);
        let head = UserSlice::new(at, HEADER_SIZE).reader().read()?;

        self.checked(UserRecord::new(head))
    }

    /// Writes the next record, which has `size` bytes, from user memory.
    #[cold]
    #[inline(never)]
    fn write_alone(&mut self, size: usize) -> Result {
        let at = self.at.saturating_add(UserRecord::WRITE_INDEX);
        let len = size.saturating_sub(UserRecord::WRITE_INDEX);
        let at = self.start.wrapping_byte_add(at);
        let result = IovIterSource::with_user(at, len, |iov| self.writer.write_user(iov))?;

        self.finish(size, result)
    }

    /// Counts the next record, which has `size` bytes, if it was handled.
    #[inline(always)]
    fn finish(&mut self, size: usize, result: Result) -> Result {
        match result {
            Ok(()) => self.is_heard = true,
            Err(e) if e == EBADF => (),
            Err(e) => return Err(e),
        }
        self.handled = self.handled.saturating_add(1);
        self.at = self.at.saturating_add(UserRecord::stride(size));
        Ok(())
    }
}
