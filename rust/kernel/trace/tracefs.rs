// SPDX-License-Identifier: GPL-2.0

//! Files in tracefs.
//!
//! - [`create_file`] creates a file with operations of its own, see [`FileOps`].
//! - [`create_seq_file`] creates one whose text is written by [`Show`].
//!
//! Both are in the root of tracefs. Modules can have such files: a module with an open file cannot
//! be unloaded, and a removed file cannot be opened.
//!
//! C header: [`include/linux/tracefs.h`](srctree/include/linux/tracefs.h).

mod file_ops;
mod late_open;
mod seq;

pub use self::{
    file_ops::FileOps,
    seq::{
        Changes,
        Show, //
    },
};
pub use crate::new_changes;

use self::{
    file_ops::FileVTable,
    late_open::Openable,
    seq::SeqVTable, //
};
use super::raw;
use crate::{
    bindings,
    prelude::*, //
};
use core::ptr::NonNull;

/// A file in tracefs, which is removed when this is dropped.
///
/// It can still be used where it is open. The drop sleeps; in a module it takes `trace_types_lock`.
///
/// # Invariants
///
/// `dentry` is a file that was created by `tracefs_create_file()` and was not removed.
#[must_use = "the file is removed if this is dropped"]
pub struct Entry {
    dentry: NonNull<bindings::dentry>,
    /// Permits opening a file of a module, until the module is unloaded.
    _openable: Option<Openable>,
}

// SAFETY: A file can be removed by any thread.
unsafe impl Send for Entry {}
// SAFETY: A shared reference has no methods.
unsafe impl Sync for Entry {}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it was created and not removed.
        unsafe { raw::tracefs_remove(self.dentry.as_ptr()) };
    }
}

/// Creates a file. Sleeps.
///
/// `mode` are its permission bits. A file of a module can be opened when the module is initialised.
///
/// # Errors
///
/// - `ENODEV` if it cannot be created: a file has this name, or the kernel is locked down.
/// - `ENOMEM`.
pub fn create_file<T: FileOps>(name: &CStr, mode: u16) -> Result<Entry> {
    // SAFETY: The operations take no data. They are constants in the code of the module that owns
    // them.
    unsafe { create(name, mode, FileVTable::<T>::get()) }
}

/// Creates a file that shows the text of `T`. Sleeps. See [`create_file`].
pub fn create_seq_file<T: Show>(name: &CStr, mode: u16) -> Result<Entry> {
    // SAFETY: The operations take no data. They are constants in the code of the module that owns
    // them.
    unsafe { create(name, mode, SeqVTable::<T>::get()) }
}

/// Creates a file with these operations.
///
/// # Safety
///
/// `fops` must suit a file without data, and be valid as long as their owner, or permanently.
unsafe fn create(
    name: &CStr,
    mode: u16,
    fops: &'static bindings::file_operations,
) -> Result<Entry> {
    // Built-in code is never unloaded.
    let openable = if fops.owner.is_null() {
        None
    } else {
        // SAFETY: By the safety requirements, `fops` suits a file without data and is valid as long
        // as its owner. The owner is not unloaded before its code has dropped the `Openable`, as a
        // module must not leak it.
        Some(unsafe { Openable::new(fops) }?)
    };
    let (data, fops) = match &openable {
        Some(openable) => (openable.data(), late_open::FOPS.as_raw()),
        None => (core::ptr::null_mut(), &raw const *fops),
    };
    // SAFETY: The name is a string that C copies; with the mask the mode is that of a regular file.
    // Without a parent the file is in the root. The operations fit the data.
    let dentry = unsafe {
        bindings::tracefs_create_file(
            name.as_char_ptr(),
            mode & 0o7777,
            core::ptr::null_mut(),
            data,
            fops,
        )
    };

    // INVARIANT: It was just created.
    NonNull::new(dentry)
        .map(|dentry| Entry {
            dentry,
            _openable: openable,
        })
        .ok_or(ENODEV)
}
