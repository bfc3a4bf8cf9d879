// SPDX-License-Identifier: GPL-2.0

//! Operations of a file in tracefs.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h).

use crate::{
    bindings,
    error::VTABLE_DEFAULT_ERROR,
    fs::{
        self,
        Kiocb, //
    },
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    module::this_module,
    prelude::*,
    types::ForeignOwnable,
};
use core::marker::PhantomData;

/// Operations of a file.
///
/// A file only has the operations that are implemented, and no position that could be set.
#[vtable]
pub trait FileOps: Sized + 'static {
    /// The data of one open file.
    type Data: ForeignOwnable + Send + Sync;

    /// `true` if [`write_iter`](Self::write_iter) respects [`Kiocb::is_nowait`]: it returns
    /// `EAGAIN` where it would sleep. io_uring then calls it from the submitting task, otherwise
    /// from a worker.
    const NOWAIT: bool = false;

    /// Opens the file. May sleep; an error is returned to user space, as for all functions here.
    fn open(file: &fs::File) -> Result<Self::Data>;

    /// Called when the last reference to the open file is dropped.
    fn release(data: Self::Data) {
        drop(data);
    }

    /// Reads from the file. May sleep. Returns the number of bytes.
    fn read_iter(_kiocb: Kiocb<'_, Self::Data>, _iov: &mut IovIterDest<'_>) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Writes to the file. May sleep. Returns the number of bytes.
    fn write_iter(_kiocb: Kiocb<'_, Self::Data>, _iov: &mut IovIterSource<'_>) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Executes an ioctl. `arg` is a number or an address in user space. May sleep.
    fn ioctl(
        _data: <Self::Data as ForeignOwnable>::Borrowed<'_>,
        _file: &fs::File,
        _cmd: u32,
        _arg: usize,
    ) -> Result<isize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Executes an ioctl of a 32-bit process on a 64-bit kernel, which has none without this.
    #[cfg(CONFIG_COMPAT)]
    fn compat_ioctl(
        _data: <Self::Data as ForeignOwnable>::Borrowed<'_>,
        _file: &fs::File,
        _cmd: u32,
        _arg: usize,
    ) -> Result<isize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The operations of `T` for C.
pub(super) struct FileVTable<T>(PhantomData<T>);

impl<T: FileOps> FileVTable<T> {
    const VTABLE: bindings::file_operations = bindings::file_operations {
        open: Some(Self::open),
        release: Some(Self::release),
        read_iter: if T::HAS_READ_ITER {
            Some(Self::read_iter)
        } else {
            None
        },
        write_iter: if T::HAS_WRITE_ITER {
            Some(Self::write_iter)
        } else {
            None
        },
        unlocked_ioctl: if T::HAS_IOCTL {
            Some(Self::ioctl)
        } else {
            None
        },
        #[cfg(CONFIG_COMPAT)]
        compat_ioctl: if T::HAS_COMPAT_IOCTL {
            Some(Self::compat_ioctl)
        } else {
            None
        },
        owner: this_module::<T::OwnerModule>().as_ptr(),
        fop_flags: if T::NOWAIT {
            bindings::FOP_BUFFER_WASYNC
        } else {
            0
        },
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
        // SAFETY: By the safety requirements, the file is valid, and a file that is being opened
        // is in no `fdget_pos` region.
        let data = match T::open(unsafe { fs::File::from_raw_file(file) }) {
            Ok(data) => data,
            Err(e) => return e.to_errno(),
        };
        // SAFETY: The private data and the mode are the opener's to set.
        unsafe {
            (*file).private_data = data.into_foreign();
            if T::NOWAIT {
                (*file).f_mode |= bindings::FMODE_NOWAIT;
            }
        }

        0
    }

    /// Called to release the file.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for and that is being
    /// released.
    unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The private data was set by `open`, and it is no longer used.
        T::release(unsafe { T::Data::from_foreign((*file).private_data) });

        0
    }

    /// Called to read from the file.
    ///
    /// # Safety
    ///
    /// `kiocb` must be valid and for a file that [`open`](Self::open) has succeeded for, and `iter`
    /// be a valid iterator to write to.
    unsafe extern "C" fn read_iter(
        kiocb: *mut bindings::kiocb,
        iter: *mut bindings::iov_iter,
    ) -> isize {
        // SAFETY: By the safety requirements, `kiocb` is valid and `open` has succeeded for its
        // file, which set the private data.
        let kiocb = unsafe { Kiocb::from_raw(kiocb) };
        // SAFETY: By the safety requirements, `iter` is a valid iterator to write to.
        let iov = unsafe { IovIterDest::from_raw(iter) };

        match T::read_iter(kiocb, iov) {
            // CAST: C asks for no more than `isize::MAX` bytes.
            Ok(n) => n as isize,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// Called to write to the file.
    ///
    /// # Safety
    ///
    /// `kiocb` must be valid and for a file that [`open`](Self::open) has succeeded for, and `iter`
    /// be a valid iterator to read from.
    unsafe extern "C" fn write_iter(
        kiocb: *mut bindings::kiocb,
        iter: *mut bindings::iov_iter,
    ) -> isize {
        // SAFETY: By the safety requirements, `kiocb` is valid and `open` has succeeded for its
        // file, which set the private data.
        let kiocb = unsafe { Kiocb::from_raw(kiocb) };
        // SAFETY: By the safety requirements, `iter` is a valid iterator to read from.
        let iov = unsafe { IovIterSource::from_raw(iter) };

        match T::write_iter(kiocb, iov) {
            // CAST: C offers no more than `isize::MAX` bytes.
            Ok(n) => n as isize,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// Called for an ioctl.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for.
    unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
        // SAFETY: The private data was set by `open` and is kept until `release`.
        let data = unsafe { T::Data::borrow((*file).private_data) };
        // SAFETY: The file is valid during the call, and an ioctl is in no `fdget_pos` region.
        let file = unsafe { fs::File::from_raw_file(file) };

        match T::ioctl(data, file, cmd, arg) {
            Ok(ret) => ret as c_long,
            Err(e) => e.to_errno() as c_long,
        }
    }

    /// Called for an ioctl of a 32-bit process.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for.
    #[cfg(CONFIG_COMPAT)]
    unsafe extern "C" fn compat_ioctl(
        file: *mut bindings::file,
        cmd: c_uint,
        arg: c_ulong,
    ) -> c_long {
        // SAFETY: The private data was set by `open` and is kept until `release`.
        let data = unsafe { T::Data::borrow((*file).private_data) };
        // SAFETY: The file is valid during the call, and an ioctl is in no `fdget_pos` region.
        let file = unsafe { fs::File::from_raw_file(file) };

        match T::compat_ioctl(data, file, cmd, arg) {
            Ok(ret) => ret as c_long,
            Err(e) => e.to_errno() as c_long,
        }
    }
}
