// SPDX-License-Identifier: GPL-2.0

//! The file `user_events_data`: registering events and writing records.
//!
//! Every open file has a table of the events that were registered through it. A record begins with
//! the index of its event in that table. The table only grows and is read without a lock.

use super::{
    append_vec::AppendVec,
    event::{
        EventUse,
        UserEvent, //
    },
    ioctl,
    probe::{
        self,
        Buffer,
        SHORT, //
    },
    seed,
    table::OpenTable, //
};
use core::{
    mem::MaybeUninit,
    num::NonZeroU16, //
};
use kernel::{
    fs::{
        File,
        Kiocb, //
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

/// How often the pages of a long payload are faulted in: one may have gone again when it is copied.
const TRIES: usize = 2;

/// An open `user_events_data`.
#[pin_data]
pub(crate) struct DataFile {
    events: AppendVec<EventUse>,
    /// Index of each event in `events`, by [`EventUse::id`].
    ///
    /// No larger than there can be trace events.
    #[pin]
    index: Mutex<OpenTable<(NonZeroU16, u16)>>,
}

impl DataFile {
    /// Gives `event` an index, the one it has if it is in the table already.
    ///
    /// `publish` is called with the index while nobody else can get one, and with nothing left that
    /// could fail but itself; then a new index is not given.
    pub(crate) fn add(&self, event: EventUse, publish: impl FnOnce(u32) -> Result) -> Result {
        let mut index = self.index.lock();
        let id = event.id()?;

        if let Some((_, i)) = index.get(id) {
            return publish(u32::from(*i));
        }

        let i = u16::try_from(index.len())?;
        index.reserve(1)?;
        self.events.reserve(usize::from(i))?;
        publish(u32::from(i))?;

        index.insert_within_capacity((id, i));
        self.events.set(usize::from(i), event);
        Ok(())
    }

    /// The event of a record whose payload has `len` bytes, if somebody listens to it.
    #[inline(always)]
    fn listened(&self, index: [u8; INDEX], len: usize) -> Result<&UserEvent> {
        let index = usize::try_from(i32::from_ne_bytes(index)).map_err(|_| EINVAL)?;
        let event = self.events.get(index).ok_or(ENOENT)?;

        if len < event.min_size() {
            return Err(EINVAL);
        }
        if !event.trace().is_enabled() {
            return Err(EBADF);
        }
        Ok(event)
    }

    /// Writes a record that was read to a [`Buffer`]: [`BEFORE`] bytes, the index, and the payload.
    ///
    /// Not inlined, as [`write_any`](Self::write_any): the stacks that triggers save leave out as
    /// many functions as C has between `trace_event_buffer_commit()` and the file operation, which
    /// are one of these and one more.
    #[inline(never)]
    fn write_short(&self, record: &mut [u8]) -> Result {
        let (head, payload) = record.split_first_chunk::<HEADER_SIZE>().ok_or(EFAULT)?;
        let index = head.last_chunk().ok_or(EFAULT)?;
        let event = self.listened(*index, payload.len())?;

        probe::deliver(event, record)
    }

    /// Writes a record that is long, or that was not read as a whole.
    #[cold]
    #[inline(never)]
    fn write_any(&self, iov: &mut IovIterSource<'_>) -> Result {
        let total = iov.len();
        let mut buffer = Buffer([0; HEADER_SIZE + SHORT]);
        // All of a short record at once, of a longer one the index only.
        let wanted = if total <= INDEX + SHORT { total } else { INDEX };
        let record = buffer.0.get_mut(..BEFORE + wanted).ok_or(EFAULT)?;
        let (_, data) = record.split_first_chunk_mut::<BEFORE>().ok_or(EFAULT)?;
        let got = iov.copy_from_iter(data);
        let index = data.first_chunk().filter(|_| got >= INDEX).ok_or(EFAULT)?;
        let len = total - INDEX;
        let event = self.listened(*index, len)?;

        if wanted == total {
            if got != total {
                return Err(EFAULT);
            }
            return probe::deliver(event, record);
        }
        for _ in 0..TRIES {
            // Not more than a listener could take.
            let readable = len.min(probe::longest_payload(event));

            if !iov.fault_in_readable(readable) {
                return Err(EFAULT);
            }
            if probe::deliver_long(event, iov)? {
                return Ok(());
            }
        }
        Err(EFAULT)
    }
}

#[vtable]
impl FileOps for DataFile {
    type Data = Pin<KBox<Self>>;

    fn open(_file: &File) -> Result<Self::Data> {
        KBox::try_pin_init(
            try_pin_init!(Self {
                events: AppendVec::new(),
                index <- new_mutex!(OpenTable::with_seed(seed()), "DataFile::index"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Writes one record: the index of its event, as 4 bytes in native order, and the payload. The
    /// position does not matter.
    ///
    /// # Errors
    ///
    /// `EFAULT` without a whole index, if the memory cannot be read and if the record is not valid;
    /// `EINVAL` for a negative index or less than the fields need; `ENOENT` for an index that has
    /// not been given out; `EBADF` if nobody listens; `E2BIG` if nobody who listens has room for
    /// it.
    #[inline(always)]
    fn write_iter(kiocb: Kiocb<'_, Self::Data>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        let file = kiocb.file().get_ref();
        let total = iov.len();
        let mut buffer = Buffer([MaybeUninit::uninit(); HEADER_SIZE + SHORT]);

        match iov.peek_short::<BEFORE>(&mut buffer.0) {
            Some(record) => file.write_short(record)?,
            None => file.write_any(iov)?,
        }
        Ok(total)
    }

    fn ioctl(data: Pin<&Self>, _file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::native(data.get_ref(), cmd, arg)
    }

    #[cfg(CONFIG_COMPAT)]
    fn compat_ioctl(data: Pin<&Self>, _file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::compat(data.get_ref(), cmd, arg)
    }
}

/// Makes the file.
pub(crate) fn create() -> Result<tracefs::File> {
    tracefs::create_file::<DataFile>(c"user_events_data", 0o640)
}
