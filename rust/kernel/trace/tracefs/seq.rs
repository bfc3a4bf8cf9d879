// SPDX-License-Identifier: GPL-2.0

//! Text files in tracefs.
//!
//! C header: [`include/linux/seq_file.h`](srctree/include/linux/seq_file.h).

use crate::{
    bindings,
    error::from_result,
    module::this_module,
    prelude::*,
    seq_file::SeqFile, //
};
use core::marker::PhantomData;

/// The text of a file.
#[vtable]
pub trait Show: Sized + 'static {
    /// Writes the whole text.
    ///
    /// It is called again if the text has not fit in the buffer.
    fn show(m: &SeqFile) -> Result;
}

/// The operations of `T` for C.
pub(super) struct SeqVTable<T>(PhantomData<T>);

impl<T: Show> SeqVTable<T> {
    const VTABLE: bindings::file_operations = bindings::file_operations {
        open: Some(Self::open),
        read: Some(bindings::seq_read),
        llseek: Some(bindings::seq_lseek),
        release: Some(bindings::single_release),
        owner: this_module::<T::OwnerModule>().as_ptr(),
        ..pin_init::zeroed()
    };

    pub(super) const fn get() -> &'static bindings::file_operations {
        &Self::VTABLE
    }

    /// # Safety
    ///
    /// `file` must be a file with these operations that is being opened.
    unsafe extern "C" fn open(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The caller promises a valid file; `show` takes no data.
        unsafe { bindings::single_open(file, Some(Self::show), core::ptr::null_mut()) }
    }

    /// # Safety
    ///
    /// `m` must be valid and not be accessed by another thread.
    unsafe extern "C" fn show(m: *mut bindings::seq_file, _data: *mut c_void) -> c_int {
        // SAFETY: By the safety requirements, `m` is valid and not accessed by another thread.
        let m = unsafe { SeqFile::from_raw(m) };

        from_result(|| T::show(m).map(|()| 0))
    }
}
