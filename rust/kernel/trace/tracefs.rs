// SPDX-License-Identifier: GPL-2.0

//! Files in tracefs.
//!
//! - [`create_file`] makes a file with operations of its own, see [`FileOps`].
//! - [`create_seq_file`] makes one whose text is written by [`Show`].
//!
//! Both are in the root of tracefs.
//!
//! C header: [`include/linux/tracefs.h`](srctree/include/linux/tracefs.h).

mod file_ops;
mod seq;

pub use self::{
    file_ops::FileOps,
    seq::Show, //
};

use self::{
    file_ops::FileVTable,
    seq::SeqVTable, //
};
use super::pin_module;
use crate::{
    bindings,
    module::this_module,
    prelude::*, //
};
use core::ptr::NonNull;

/// A file in tracefs, which is removed when this is dropped.
///
/// Whoever has it open goes on using it. The drop sleeps.
///
/// # Invariants
///
/// `dentry` is a file that was made by `tracefs_create_file()` and was not removed.
#[must_use = "the file is removed if this is dropped"]
pub struct File {
    dentry: NonNull<bindings::dentry>,
}

// SAFETY: A file can be removed by any thread.
unsafe impl Send for File {}
// SAFETY: There is nothing to do with a shared reference.
unsafe impl Sync for File {}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it was made and not removed.
        unsafe { remove(self.dentry) };
    }
}

/// Makes a file. Sleeps.
///
/// `mode` are its permission bits. A module that has made a file cannot be unloaded: nothing in
/// tracefs keeps a file from being opened while its code goes.
///
/// # Errors
///
/// `ENODEV` if it cannot be made.
pub fn create_file<T: FileOps>(name: &CStr, mode: u16) -> Result<File> {
    pin_module(this_module::<T::OwnerModule>())?;
    // SAFETY: The operations take no data, and they are in a module that stays.
    unsafe { create(name, mode, FileVTable::<T>::get()) }
}

/// Makes a file that shows the text of `T`. Sleeps. See [`create_file`].
pub fn create_seq_file<T: Show>(name: &CStr, mode: u16) -> Result<File> {
    pin_module(this_module::<T::OwnerModule>())?;
    // SAFETY: The operations take no data, and they are in a module that stays.
    unsafe { create(name, mode, SeqVTable::<T>::get()) }
}

// The symbols that the following functions use are not all exported, so they must not be inlined
// into modules.

/// # Safety
///
/// `fops` must be fine for a file without data, and its code stay for good.
#[inline(never)]
unsafe fn create(name: &CStr, mode: u16, fops: &'static bindings::file_operations) -> Result<File> {
    // SAFETY: The name is a string that C copies; with the mask the mode is that of a regular file.
    // Without a parent the file is in the root. The caller promises fitting operations.
    let dentry = unsafe {
        bindings::tracefs_create_file(
            name.as_char_ptr(),
            mode & 0o7777,
            core::ptr::null_mut(),
            core::ptr::null_mut(),
            fops,
        )
    };

    // INVARIANT: It was just made.
    NonNull::new(dentry)
        .map(|dentry| File { dentry })
        .ok_or(ENODEV)
}

/// # Safety
///
/// `dentry` must have been made by `tracefs_create_file()`, and is not used any more afterwards.
#[inline(never)]
unsafe fn remove(dentry: NonNull<bindings::dentry>) {
    // SAFETY: Promised by the caller.
    unsafe { bindings::tracefs_remove(dentry.as_ptr()) };
}
