// SPDX-License-Identifier: GPL-2.0

//! Text files in tracefs.
//!
//! A file whose text is about something that [changes](Changes) can be polled.
//!
//! C header: [`include/linux/seq_file.h`](srctree/include/linux/seq_file.h).

use crate::{
    bindings,
    error::{
        from_result,
        VTABLE_DEFAULT_ERROR, //
    },
    fs,
    module::this_module,
    prelude::*,
    seq_file::SeqFile,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        poll::{
            PollCondVar,
            PollTable, //
        },
        LockClassKey, //
    },
};
use core::marker::PhantomData;

/// The text of a file.
#[vtable]
pub trait Show: Sized + 'static {
    /// Writes the whole text.
    ///
    /// It is called again if the text has not fit in the buffer.
    fn show(m: &SeqFile) -> Result;

    /// Returns the changes of the subject of the text. With this function, polling the file
    /// returns `EPOLLPRI` if a change occurred after the last reading from the start (at first:
    /// after the opening), in addition to the events of any file. Other files cannot be added to
    /// an epoll set.
    ///
    /// # Errors
    ///
    /// The file then never changes.
    fn changes() -> Result<&'static Changes> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// A number of changes, and the queue of the pollers that wait for one.
#[pin_data]
pub struct Changes {
    count: Atomic<i32>,
    #[pin]
    pollers: PollCondVar,
}

impl Changes {
    /// Creates an initialiser, for [`new_changes!`](crate::new_changes).
    pub fn new(name: &'static CStr, key: Pin<&'static LockClassKey>) -> impl PinInit<Self> {
        pin_init!(Self {
            count: Atomic::new(0),
            pollers <- PollCondVar::new(name, key),
        })
    }

    /// Wakes the pollers, after a change of the text. Any context but NMI.
    pub fn notify(&self) {
        // A poller adds itself to the queue before it reads the count, and the waking takes the
        // lock of the queue: so either of them sees the other.
        self.count.add(1, Relaxed);
        self.pollers.notify_all();
    }

    fn count(&self) -> i32 {
        self.count.load(Relaxed)
    }
}

/// Creates an initialiser of [`Changes`](crate::trace::tracefs::Changes) with a name and a lock
/// class of its own.
#[macro_export]
macro_rules! new_changes {
    ($($name:literal)?) => {
        $crate::trace::tracefs::Changes::new(
            $crate::optional_name!($($name)?), $crate::static_lock_class!()
        )
    };
}

/// The operations of `T` for C.
pub(super) struct SeqVTable<T>(PhantomData<T>);

impl<T: Show> SeqVTable<T> {
    const VTABLE: bindings::file_operations = bindings::file_operations {
        open: Some(Self::open),
        read: Some(bindings::seq_read),
        llseek: Some(bindings::seq_lseek),
        release: Some(bindings::single_release),
        poll: if T::HAS_CHANGES {
            Some(Self::poll)
        } else {
            None
        },
        owner: this_module::<T::OwnerModule>().as_ptr(),
        ..pin_init::zeroed()
    };

    pub(super) const fn get() -> &'static bindings::file_operations {
        &Self::VTABLE
    }

    /// Called to open the file.
    ///
    /// # Safety
    ///
    /// `file` must be a file with these operations that is being opened.
    unsafe extern "C" fn open(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the safety requirements, the file is valid; `show` takes no data.
        let ret = unsafe { bindings::single_open(file, Some(Self::show), core::ptr::null_mut()) };

        if ret == 0 {
            // SAFETY: That has created a `seq_file`.
            unsafe { Self::take_note((*file).private_data.cast()) };
        }
        ret
    }

    /// Marks the changes up to now as known, which are not reported to pollers then.
    ///
    /// # Safety
    ///
    /// `m` must be valid.
    unsafe fn take_note(m: *mut bindings::seq_file) {
        if T::HAS_CHANGES {
            if let Ok(changes) = T::changes() {
                // SAFETY: By the safety requirements.
                unsafe { Self::noted(m) }.store(changes.count(), Relaxed);
            }
        }
    }

    /// Returns the number of changes that the reader knows of.
    ///
    /// # Safety
    ///
    /// `m` must be valid during `'a`.
    unsafe fn noted<'a>(m: *mut bindings::seq_file) -> &'a Atomic<i32> {
        // SAFETY: By the safety requirements `m` is valid. C leaves the field to the owner of the
        // operations, and all accesses are atomic ones.
        unsafe { Atomic::from_ptr(&raw mut (*m).poll_event) }
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
        // SAFETY: By the safety requirements, `open` has created a `seq_file`, which is valid as
        // long as the file.
        let noted = unsafe { Self::noted((*file).private_data.cast()) };
        let mut events = bindings::DEFAULT_POLLMASK;

        if T::HAS_CHANGES {
            if let Ok(changes) = T::changes() {
                // SAFETY: By the safety requirements, `wait` is null or valid.
                let wait = unsafe { PollTable::from_raw(wait) };

                // SAFETY: By the safety requirements the file is valid, and it is in no `fdget_pos`
                // region.
                wait.register_wait(unsafe { fs::File::from_raw_file(file) }, &changes.pollers);
                if changes.count() != noted.load(Relaxed) {
                    events |= bindings::EPOLLPRI;
                }
            }
        }
        events
    }

    /// Called to write the text.
    ///
    /// # Safety
    ///
    /// `m` must be valid and not be accessed by another thread.
    unsafe extern "C" fn show(m: *mut bindings::seq_file, _data: *mut c_void) -> c_int {
        // Before the text is written, so that each later change is reported.
        //
        // SAFETY: By the safety requirements, `m` is valid.
        unsafe { Self::take_note(m) };
        // SAFETY: By the safety requirements, `m` is valid and not accessed by another thread.
        let m = unsafe { SeqFile::from_raw(m) };

        from_result(|| T::show(m).map(|()| 0))
    }
}
