// SPDX-License-Identifier: GPL-2.0

//! Files of modules.
//!
//! A file can be looked up, be removed with its module, and only then be opened by the task that
//! has looked it up: in contrast to debugfs, tracefs does not wait for that. So the operations that
//! the inode of such a file refers to are in the kernel crate, and the inode identifies the file by
//! a number only. Opening it looks for that number among the existing files, takes a reference to
//! the module, and continues with the operations of the module. The file system drops the reference
//! after the open file was released.
//!
//! A patch of `fs/tracefs` would need a proxy for each of its files, as in debugfs. No module of C
//! needs that: the only one with a file (`remote_test.c`) is never unloaded.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h).

use crate::{
    bindings,
    module_ref::ModuleRef,
    prelude::*,
    trace::raw, //
};
use core::{
    cell::UnsafeCell,
    mem, //
};

/// A file that exists.
#[derive(Clone, Copy)]
struct Entry {
    id: usize,
    fops: *const bindings::file_operations,
}

/// All existing files of modules.
///
/// # Invariants
///
/// - `files` and `last_id` are only accessed with `trace_types_lock` held.
/// - The operations of an entry are valid as long as it is, and in the code of their owner.
struct Files {
    files: UnsafeCell<KVec<Entry>>,
    last_id: UnsafeCell<usize>,
}

// SAFETY: By the type invariant a lock is held for each access.
unsafe impl Sync for Files {}

static FILES: Files = Files {
    files: UnsafeCell::new(KVec::new()),
    last_id: UnsafeCell::new(0),
};

/// Holds `trace_types_lock`, which C opens the files of tracefs with as well. It is taken inside of
/// `event_mutex`. A lock of this module would have to be initialised when the kernel boots, and
/// nothing in the kernel crate is run then.
///
/// # Invariants
///
/// The current task has locked it for this instance; only one instance is locked at a time.
struct Locked;

impl Locked {
    fn new() -> Self {
        raw::trace_types_lock();
        // INVARIANT: Just locked.
        Self
    }

    fn files(&mut self) -> &mut KVec<Entry> {
        // SAFETY: The lock is held as long as `self`, which is borrowed exclusively.
        unsafe { &mut *FILES.files.get() }
    }

    fn next_id(&mut self) -> usize {
        // SAFETY: As above.
        let last = unsafe { &mut *FILES.last_id.get() };

        // A number that is used again, in a far future, is that of a file of its own.
        *last = last.wrapping_add(1);
        *last
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the current task has it locked.
        unsafe { raw::trace_types_unlock() };
    }
}

/// A file that can be opened, until this is dropped. Tasks that have it open continue to use it.
pub(super) struct Openable {
    id: usize,
}

impl Openable {
    /// Lists the operations of a file that can be opened until this is dropped.
    ///
    /// # Safety
    ///
    /// `fops` must be valid until this is dropped, and until references to their owner that were
    /// taken before then are dropped. They must suit a file without data.
    pub(super) unsafe fn new(fops: *const bindings::file_operations) -> Result<Self> {
        let mut locked = Locked::new();
        let id = locked.next_id();

        // INVARIANT: By the safety requirements, `fops` suits a file without data and is valid
        // until this is dropped and references to its owner are released.
        locked.files().push(Entry { id, fops }, GFP_KERNEL)?;
        Ok(Self { id })
    }

    /// Returns the data of the inode.
    pub(super) fn data(&self) -> *mut c_void {
        core::ptr::without_provenance_mut(self.id)
    }
}

impl Drop for Openable {
    fn drop(&mut self) {
        let mut locked = Locked::new();
        let files = locked.files();

        if let Some(i) = files.iter().position(|entry| entry.id == self.id) {
            // The order does not matter.
            let last = files.len() - 1;
            files.swap(i, last);
            files.truncate(last);
        }
    }
}

/// The operations that the inode of a file of a module refers to.
pub(super) static FOPS: FileOperations = FileOperations(bindings::file_operations {
    open: Some(open),
    ..pin_init::zeroed()
});

/// Operations that are never changed.
pub(super) struct FileOperations(bindings::file_operations);

// SAFETY: They are never changed, and have no owner.
unsafe impl Sync for FileOperations {}

impl FileOperations {
    pub(super) fn as_raw(&self) -> *const bindings::file_operations {
        &raw const self.0
    }
}

/// Called to open the file: replaces the operations by those that are listed.
///
/// # Safety
///
/// `file` must be one that is being opened, and `inode` be created for [`Openable::data`].
unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: By the safety requirements, `inode` was created for the data of an `Openable`. The
    // field is set once.
    let id = unsafe { (*inode).i_private }.addr();

    let mut locked = Locked::new();
    let Some(entry) = locked.files().iter().find(|entry| entry.id == id).copied() else {
        return ENOENT.to_errno();
    };
    // SAFETY: By the invariant of `Files` the operations are valid as long as the entry.
    let owner = unsafe { (*entry.fops).owner };
    // SAFETY: They are in its code, so it is not freed before the entry is taken away.
    let Some(module) = (unsafe { ModuleRef::get_raw(owner) }) else {
        return ENODEV.to_errno();
    };
    drop(locked);

    // The reference is that of `f_op` now: `fops_put()` drops it, after the release or when opening
    // fails.
    mem::forget(module);
    // SAFETY: The file is the opener's; the operations it has had so far have no owner. The new
    // ones are valid as long as their owner is referenced.
    unsafe {
        (*file).f_op = entry.fops;
        match (*entry.fops).open {
            Some(open) => open(inode, file),
            None => 0,
        }
    }
}
