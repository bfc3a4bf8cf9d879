// SPDX-License-Identifier: GPL-2.0

//! Files of an event whose text is generated when they are read: `hist`, `hist_raw`, `hist_debug`.
//!
//! C creates these files with the directory of the event, for operations that it finds by the name
//! of a static. An [`EventSeqFile`] and a static [`FileOperations`] of it implement one.
//!
//! The text of one reading is collected with `event_mutex` held, when the file is read from its
//! start. Longer operations, and all writes, happen without the mutex. So the text is consistent
//! however it is read, and a slow reader does not block others.
//!
//! C headers: [`include/linux/seq_file.h`](srctree/include/linux/seq_file.h),
//! [`kernel/trace/trace.h`](srctree/kernel/trace/trace.h).

use crate::{
    bindings,
    error::{
        from_result,
        to_result,
        VTABLE_DEFAULT_ERROR, //
    },
    fs::{
        file::flags::{
            O_ACCMODE,
            O_RDWR, //
        },
        File, //
    },
    ioctl::_IOW,
    prelude::*,
    seq_file::SeqFile,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        poll::PollTable,
        Arc,
        SetOnce, //
    },
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex,
        removal::UnregisterScope,
        trigger::TriggersMut, //
    },
    uaccess::UserSlice, //
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ptr::NonNull, //
};

mod event_inode;
mod gate;
mod poll_limit;
mod wake;

pub use self::wake::wake_pollers;
#[doc(hidden)]
pub use self::wake::PollKey;
use self::{
    event_inode::{
        event_of,
        open_event,
        release_event, //
    },
    poll_limit::PollLimit,
    wake::{
        look_for_pollers,
        wait_for_hits, //
    },
};

/// The command that sets the shortest time between two wake-ups, `HIST_IOCSPOLLINTERVAL`.
const SET_POLL_INTERVAL: u32 = _IOW::<u32>(b'*' as u32, 0x20);

/// The text of a file.
#[vtable]
pub trait EventSeqFile: Sized + 'static {
    /// The data of one reading. It is dropped when the file is closed or read from its start again.
    type Text: Send + 'static;

    /// Collects the data to show. Should be short. May sleep.
    ///
    /// # Errors
    ///
    /// They are told to the reader, as are those of the functions below.
    fn collect<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> Result<Self::Text>;

    /// Prepares the data for being written, once. Called without locks. May sleep.
    ///
    /// `take` says that the file was opened for writing as well, which can mean that what is read
    /// is removed.
    fn prepare(text: &mut Self::Text, take: bool) -> Result;

    /// Writes the item with this number, counted from 0.
    ///
    /// Returns `false` if no item is left, in which case nothing must be written. Called without
    /// locks, and again for the same item if that has not fit in the buffer. May sleep.
    fn show(text: &Self::Text, item: usize, m: &SeqFile) -> Result<bool>;

    /// Returns the number of hits that the text covers. With this function the file can be polled:
    /// see [`FileOperations`].
    fn hits<'h>(_file: EventFile<Locked<'h>>, _lists: &TriggersMut<'h>) -> u64 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The operations of a file, for a static.
///
/// - It cannot be opened if the event no longer exists, which is `ENODEV`, or if the kernel is
///   locked down, `EPERM`. As long as it is open the instance cannot be removed.
/// - What is read from its start is the state of that moment, or `ENODEV` if the event no longer
///   exists.
/// - Polling a file with [`EventSeqFile::hits`] returns `EPOLLIN` if their number is another one
///   than at the last reading from the start (at first: than 0), `EPOLLPRI` if it is another one
///   than at the last reading or polling (at first: than at the opening), and `EPOLLERR` if the
///   event no longer exists. Waiters are woken by [`wake_pollers`], and when an event is removed.
/// - The ioctl `HIST_IOCSPOLLINTERVAL` sets the shortest time between two reports of news to
///   pollers of this open file. What happens in between is reported afterwards.
///
/// In C it is a `struct file_operations`.
#[repr(transparent)]
pub struct FileOperations<T> {
    fops: bindings::file_operations,
    _text: PhantomData<fn(T)>,
}

// SAFETY: It is never changed.
unsafe impl<T> Sync for FileOperations<T> {}

/// The state of an open file.
///
/// # Invariants
///
/// `file` is the open file that this belongs to; `reading` is accessed with the lock of its
/// `seq_file` only.
struct Reader<T: EventSeqFile> {
    /// The number of hits at the last reading from the start.
    last_read: Atomic<u64>,
    /// And at the last reading or polling.
    last_seen: Atomic<u64>,
    /// It has been polled. Changed with `event_mutex` held, as the limit is.
    polled: Atomic<bool>,
    limit: SetOnce<Arc<PollLimit>>,
    file: *mut bindings::file,
    reading: UnsafeCell<Reading<T>>,
}

/// The state of a reading. C locks.
struct Reading<T: EventSeqFile> {
    text: Option<T::Text>,
    item: usize,
    /// The number of items, when it is known.
    end: Option<usize>,
    /// The size of the buffer, if the item has just not fit in it.
    too_small: Option<usize>,
    /// The hits before this reading, for polling, once something has been written.
    news: Option<News>,
}

/// The meaning of a reading for pollers of the file.
struct News {
    /// The number of hits.
    hits: u64,
    /// `last_seen` when that was the number.
    seen: u64,
    /// The last report before, with a limit.
    report: Option<i64>,
}

impl<T: EventSeqFile> FileOperations<T> {
    /// Creates the operations.
    #[expect(clippy::new_without_default, reason = "what is made is for a static")]
    pub const fn new() -> Self {
        Self {
            fops: bindings::file_operations {
                open: Some(Self::open),
                read: Some(bindings::seq_read),
                llseek: Some(bindings::seq_lseek),
                release: Some(Self::release),
                poll: if T::HAS_HITS { Some(Self::poll) } else { None },
                unlocked_ioctl: if T::HAS_HITS { Some(Self::ioctl) } else { None },
                compat_ioctl: if T::HAS_HITS {
                    bindings::compat_ptr_ioctl
                } else {
                    None
                },
                ..pin_init::zeroed()
            },
            _text: PhantomData,
        }
    }

    const SEQ: bindings::seq_operations = bindings::seq_operations {
        start: Some(Self::start),
        stop: Some(Self::stop),
        next: Some(Self::next),
        show: Some(Self::show),
    };

    fn hits<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> u64 {
        if T::HAS_HITS {
            T::hits(file, lists)
        } else {
            0
        }
    }

    /// Calls `f` with the event of an open file and with `event_mutex` held. Returns `None` if the
    /// event no longer exists.
    ///
    /// # Safety
    ///
    /// `file` must be a file that `tracing_open_file_tr()` has succeeded for, and not be released
    /// concurrently.
    unsafe fn with_event<R>(
        file: *mut bindings::file,
        f: impl for<'h> FnOnce(EventFile<Locked<'h>>, &TriggersMut<'h>) -> R,
    ) -> Option<R> {
        let guard = event_mutex::lock();
        let held = guard.held();
        let _permission = UnregisterScope::none(held);

        // SAFETY: The mutex is held. By the safety requirements, the event file of `file`, which is
        // counted, is not freed.
        let event = NonNull::new(unsafe { event_of(file, held) })?;
        // SAFETY: It is not on its way out, so it is in the list of its instance, which it leaves
        // with the mutex held only.
        let event = unsafe { EventFile::from_raw(event, held) };
        // SAFETY: It was just locked, and a file operation is not called by one of a trigger.
        let lists = unsafe { TriggersMut::new(held) };

        Some(f(event, &lists))
    }

    /// Called to open the file.
    ///
    /// # Safety
    ///
    /// `inode` must be that of the file of an event, and `file` be being opened with it.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the safety requirements, `inode` is that of the file of an event, with which
        // `file` is being opened.
        let ret = unsafe { open_event(inode, file) };
        if ret != 0 {
            return ret;
        }

        // SAFETY: That has succeeded, and the file is being opened.
        match unsafe { Self::open_reader(file) } {
            Ok(()) => 0,
            Err(e) => {
                // SAFETY: It was opened, and is no longer used.
                unsafe { release_event(inode, file) };
                e.to_errno()
            }
        }
    }

    /// Creates the state of an open file.
    ///
    /// # Safety
    ///
    /// As that of [`with_event`](Self::with_event), and the file must be being opened.
    unsafe fn open_reader(file: *mut bindings::file) -> Result {
        // SAFETY: By the safety requirements, the file fulfils those of `with_event`.
        let hits = unsafe { Self::with_event(file, Self::hits) }.ok_or(ENODEV)?;
        // INVARIANT: The file is being opened, and the reading is not shared yet.
        let reader = KBox::new(
            Reader::<T> {
                last_read: Atomic::new(0),
                last_seen: Atomic::new(hits),
                polled: Atomic::new(false),
                limit: SetOnce::new(),
                file,
                reading: UnsafeCell::new(Reading {
                    text: None,
                    item: 0,
                    end: None,
                    too_small: None,
                    news: None,
                }),
            },
            GFP_KERNEL_ACCOUNT,
        )?;

        // SAFETY: The file is being opened; the operations are static.
        to_result(unsafe { bindings::seq_open(file, &Self::SEQ) })?;
        // SAFETY: That has created a `seq_file`, which is not shared yet. Its private data is ours.
        unsafe { (*Self::seq_file(file)).private = KBox::into_raw(reader).cast() };
        Ok(())
    }

    /// Called to release the file.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for, of `inode`, and that is
    /// being released.
    unsafe extern "C" fn release(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The private data was set by `open_reader`, and it is no longer used.
        drop(unsafe { KBox::from_raw((*Self::seq_file(file)).private.cast::<Reader<T>>()) });
        // SAFETY: Both were opened, the former first, and are no longer used.
        unsafe {
            release_event(inode, file);
            bindings::seq_release(inode, file)
        }
    }

    /// Returns the `seq_file` of an open file.
    ///
    /// # Safety
    ///
    /// `seq_open()` must have succeeded for `file`.
    unsafe fn seq_file(file: *mut bindings::file) -> *mut bindings::seq_file {
        // SAFETY: By the safety requirements, the file is valid, and its private data is what
        // `seq_open()` has allocated.
        unsafe { (*file).private_data.cast() }
    }

    /// Returns the state of an open file.
    ///
    /// # Safety
    ///
    /// `m` must be a `seq_file` that was opened by [`open`](Self::open), and not be released during
    /// `'a`.
    unsafe fn reader<'a>(m: *mut bindings::seq_file) -> &'a Reader<T> {
        // SAFETY: The private data was set by `open_reader`, and is valid as long as the file is.
        // All that is accessed exclusively is in an `UnsafeCell`.
        unsafe { &*(*m).private.cast::<Reader<T>>() }
    }

    /// Called to poll the file.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for, and `wait` be null or
    /// valid.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        wait: *mut bindings::poll_table,
    ) -> bindings::__poll_t {
        // SAFETY: The file is open, and is not released during the call.
        let reader = unsafe { Self::reader(Self::seq_file(file)) };

        look_for_pollers();
        // SAFETY: The file is open, and `wait` is null or valid.
        let events = unsafe {
            Self::with_event(file, |event, lists| {
                let news = || reader.news(Self::hits(event, lists));

                reader.polled.store(true, Relaxed);
                match reader.limit.as_ref() {
                    None => {
                        wait_for_hits(file, wait);
                        news()
                    }
                    Some(limit) => limit.poll(
                        File::from_raw_file(file),
                        &PollTable::from_raw(wait),
                        wait.as_ref().map_or(u32::MAX, |wait| wait._key),
                        news,
                    ),
                }
            })
        };

        events.unwrap_or(bindings::EPOLLERR)
    }

    /// Called for an ioctl: sets the poll interval.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for.
    unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
        from_result(|| {
            if cmd != SET_POLL_INTERVAL {
                return Err(ENOTTY);
            }

            let arg = UserPtr::from_addr(arg);
            let interval = UserSlice::new(arg, size_of::<u32>()).reader().read()?;
            let limit = PollLimit::new(interval)?;
            // SAFETY: The file is open, and is not released during the call.
            let reader = unsafe { Self::reader(Self::seq_file(file)) };
            let guard = event_mutex::lock();
            let is_set = !reader.polled.load(Relaxed) && reader.limit.populate(limit);

            drop(guard);
            if is_set {
                Ok(0)
            } else {
                Err(EBUSY)
            }
        })
    }

    /// Returns the state of the reading.
    ///
    /// # Safety
    ///
    /// `m` must be a `seq_file` that was opened by [`open`](Self::open) and whose lock is held
    /// during `'a`, and no other reference to this may exist in that time.
    unsafe fn reading<'a>(m: *mut bindings::seq_file) -> &'a mut Reading<T> {
        // SAFETY: By the invariant of `Reader` it is accessed with the lock held only. By the
        // safety requirements, it is held, and no other reference exists.
        unsafe { &mut *Self::reader(m).reading.get() }
    }

    /// Called at the start of a read from an item; starts a new reading at the first one.
    ///
    /// # Safety
    ///
    /// `m` must be a `seq_file` that was opened by [`open`](Self::open) and whose lock is held, and
    /// `pos` be valid.
    unsafe extern "C" fn start(
        m: *mut bindings::seq_file,
        pos: *mut bindings::loff_t,
    ) -> *mut c_void {
        // SAFETY: By the safety requirements, `pos` and `m` are valid, and the lock of `m` is held.
        let (item, size) = unsafe { (*pos, (*m).size) };
        // SAFETY: By the safety requirements, `open` has created `m` and its lock is held. The
        // borrow ends here.
        let too_small = unsafe { Self::reading(m) }.too_small.take();
        // C has enlarged the buffer, and this reading was not shown yet.
        let same_reading = too_small.is_some_and(|before| size > before);

        if item == 0 && !same_reading {
            // SAFETY: By the safety requirements, `open` has created `m` and its lock is held.
            if let Err(e) = unsafe { Self::restart(m) } {
                return e.to_ptr();
            }
        }
        // SAFETY: By the safety requirements, `open` has created `m` and its lock is held. The
        // borrow ends with this function.
        unsafe { Self::reading(m) }.seek(item)
    }

    /// Begins a new reading.
    ///
    /// # Safety
    ///
    /// `m` must be a `seq_file` that was opened by [`open`](Self::open) and whose lock is held.
    unsafe fn restart(m: *mut bindings::seq_file) -> Result {
        // SAFETY: By the safety requirements, `open` has created `m` and its lock is held, so the
        // file is not released.
        let reader = unsafe { Self::reader(m) };

        // SAFETY: By the invariant of `Reader` the file is open.
        let text = unsafe {
            Self::with_event(reader.file, |event, lists| {
                // Before the text is generated, so that all later hits will be reported. One that
                // is under way may have been counted without being in it.
                let hits = Self::hits(event, lists);
                let news = News {
                    hits,
                    seen: reader.last_seen.load(Relaxed),
                    report: reader.limit.as_ref().map(|limit| limit.report()),
                };

                Ok((T::collect(event, lists)?, news))
            })
        };
        let (mut text, news) = text.ok_or(ENODEV).and_then(|text| text)?;

        // SAFETY: By the invariant of `Reader` the file is open.
        let flags = unsafe { (*reader.file).f_flags };

        T::prepare(&mut text, flags & O_ACCMODE == O_RDWR)?;
        // SAFETY: By the safety requirements, the lock is held. The borrow ends here.
        let reading = unsafe { Self::reading(m) };
        reading.text = Some(text);
        reading.end = None;
        reading.news = Some(news);
        Ok(())
    }

    /// Records a reading of which something was written. A part that was not written because an
    /// allocation failed is still reported by polling.
    fn has_read(reader: &Reader<T>, news: News) {
        reader.last_read.store(news.hits, Relaxed);
        // Pollers wait for hits after this reading, or after those that another poller has seen
        // concurrently.
        let _ = reader.last_seen.cmpxchg(news.seen, news.hits, Relaxed);
        if let (Some(limit), Some(report)) = (reader.limit.as_ref(), news.report) {
            limit.has_read(report);
        }
    }

    /// Called to advance to the next item.
    ///
    /// # Safety
    ///
    /// As that of [`start`](Self::start).
    unsafe extern "C" fn next(
        m: *mut bindings::seq_file,
        _item: *mut c_void,
        pos: *mut bindings::loff_t,
    ) -> *mut c_void {
        // SAFETY: By the safety requirements, `pos` is valid, `open` has created `m` and its lock
        // is held. The borrow ends with this function.
        unsafe {
            *pos += 1;
            Self::reading(m).seek(*pos)
        }
    }

    /// Called at the end of a read, and does nothing.
    ///
    /// # Safety
    ///
    /// None: it is unsafe because C functions are.
    unsafe extern "C" fn stop(_m: *mut bindings::seq_file, _item: *mut c_void) {}

    /// Called to write an item.
    ///
    /// # Safety
    ///
    /// As that of [`start`](Self::start), which has succeeded.
    unsafe extern "C" fn show(m: *mut bindings::seq_file, _item: *mut c_void) -> c_int {
        // SAFETY: By the safety requirements, `open` has created `m` and its lock is held. The
        // borrow ends with this function.
        let reading = unsafe { Self::reading(m) };
        let Some(text) = &reading.text else {
            return bindings::SEQ_SKIP as c_int;
        };
        // SAFETY: By the safety requirements, `m` is valid and its lock is held.
        let shown = T::show(text, reading.item, unsafe { SeqFile::from_raw(m) });

        // SAFETY: By the safety requirements, `m` is valid and its lock is held.
        let (count, size) = unsafe { ((*m).count, (*m).size) };
        // C treats this as an overflow.
        if count == size {
            reading.too_small = Some(size);
        } else if shown.is_ok() {
            if let Some(news) = reading.news.take() {
                // SAFETY: By the safety requirements, `open` has created `m` and its lock is held,
                // so the file is not released.
                Self::has_read(unsafe { Self::reader(m) }, news);
            }
        }
        from_result(|| {
            if shown? {
                Ok(0)
            } else {
                reading.end = Some(reading.item);
                Ok(bindings::SEQ_SKIP as c_int)
            }
        })
    }
}

impl<T: EventSeqFile> Reader<T> {
    /// Returns the events for pollers at this number of hits, which they have then seen.
    fn news(&self, hits: u64) -> u32 {
        let mut events = 0;

        if self.last_read.load(Relaxed) != hits {
            events |= bindings::EPOLLIN | bindings::EPOLLRDNORM;
        }
        if self.last_seen.load(Relaxed) != hits {
            self.last_seen.store(hits, Relaxed);
            events |= bindings::EPOLLPRI;
        }
        events
    }
}

impl<T: EventSeqFile> Reading<T> {
    /// Seeks to an item. Returns the pointer that C uses as an item, or null at the end.
    fn seek(&mut self, pos: bindings::loff_t) -> *mut c_void {
        let Ok(item) = usize::try_from(pos) else {
            return core::ptr::null_mut();
        };
        if self.end.is_some_and(|end| item >= end) {
            // Whatever is read from now on begins at the start.
            self.text = None;
        }
        if self.text.is_none() {
            return core::ptr::null_mut();
        }
        self.item = item;
        // C only compares it.
        core::ptr::from_mut(self).cast()
    }
}
