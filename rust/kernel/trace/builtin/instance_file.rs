// SPDX-License-Identifier: GPL-2.0

//! Files that each instance has, with lines that can be read and written.
//!
//! C creates these files with the instance, for operations that it finds by the name of a static.
//! An [`InstanceFile`] and a static [`FileOperations`] of it implement one. So they are for
//! built-in code only.
//!
//! C header: [`include/linux/seq_file.h`](srctree/include/linux/seq_file.h)

use crate::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    fs::file::flags::{
        O_ACCMODE,
        O_RDONLY,
        O_TRUNC, //
    },
    page::PAGE_SIZE,
    prelude::*,
    seq_file::SeqFile,
    trace::{
        instance::InstanceRef,
        raw, //
    },
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};

/// The lines of a file. All functions may sleep, and are called without a lock of tracing.
pub trait InstanceFile: Sized + 'static {
    /// Writes the whole text. Called again if the text has not fit in the buffer.
    fn show(instance: &InstanceRef, m: &SeqFile) -> Result;

    /// Processes a line that was written to the file, without its newline.
    fn line(instance: &InstanceRef, line: &[u8]) -> Result;

    /// Removes all lines. Called when the file is opened with `O_TRUNC`.
    fn clear(instance: &InstanceRef);
}

/// The operations of a file, for a static.
///
/// - It cannot be opened if the kernel is locked down, which is `EPERM`, or if the instance is
///   being removed, `ENODEV`. As long as it is open the instance cannot be removed.
/// - The end of a write ends a line. If a line is refused, those before it are not.
/// - A line, with its newline, has less than a page: else it is refused with `EINVAL`.
///
/// In C it is a `struct file_operations`.
#[repr(transparent)]
pub struct FileOperations<T> {
    fops: bindings::file_operations,
    _file: PhantomData<fn(T)>,
}

// SAFETY: It is never changed.
unsafe impl<T> Sync for FileOperations<T> {}

/// Number of bytes that one write takes.
const WRITE_MAX: usize = 16 * PAGE_SIZE;

impl<T: InstanceFile> FileOperations<T> {
    /// Creates the operations.
    #[expect(clippy::new_without_default, reason = "what is made is for a static")]
    pub const fn new() -> Self {
        Self {
            fops: bindings::file_operations {
                open: Some(Self::open),
                read: Some(bindings::seq_read),
                write: Some(Self::write),
                llseek: Some(bindings::seq_lseek),
                release: Some(Self::release),
                ..pin_init::zeroed()
            },
            _file: PhantomData,
        }
    }

    /// Called to open the file.
    ///
    /// # Safety
    ///
    /// The private data of `inode` must be the instance, which is not freed before the file is
    /// removed, and `file` be being opened.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the safety requirements.
        let instance = unsafe { instance_of(inode) };

        let Some(instance) = NonNull::new(instance) else {
            return ENODEV.to_errno();
        };
        // SAFETY: C looks for an instance at this address.
        let ret = unsafe { raw::tracing_check_open_get_tr(instance.as_ptr()) };
        if ret != 0 {
            return ret;
        }
        // SAFETY: This is the reference that was just taken. It is dropped if the opening fails.
        let instance = unsafe { InstanceRef::from_raw(instance) };
        // SAFETY: The file is being opened.
        let flags = unsafe { (*file).f_flags };

        // SAFETY: The file is being opened; the instance is valid until it is released.
        let result = to_result(unsafe {
            bindings::single_open(file, Some(Self::show), instance.as_raw().cast())
        });
        if let Err(e) = result {
            return e.to_errno();
        }
        if flags & O_ACCMODE != O_RDONLY && flags & O_TRUNC != 0 {
            T::clear(&instance);
        }
        // `release` drops it.
        core::mem::forget(instance);
        0
    }

    /// Called to release the file.
    ///
    /// # Safety
    ///
    /// [`open`](Self::open) must have succeeded for `inode` and `file`, which are not used any
    /// more.
    unsafe extern "C" fn release(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the safety requirements, `single_open()` has succeeded for it.
        let ret = unsafe { bindings::single_release(inode, file) };

        // SAFETY: `open` has taken a reference, which is dropped here.
        unsafe { bindings::trace_array_put(instance_of(inode)) };
        ret
    }

    /// Called to write the text.
    ///
    /// # Safety
    ///
    /// `m` must be a `seq_file` that [`open`](Self::open) has opened, whose lock is held.
    unsafe extern "C" fn show(m: *mut bindings::seq_file, _data: *mut c_void) -> c_int {
        // SAFETY: By the safety requirements the private data is the instance.
        let instance = unsafe { borrow((*m).private.cast()) };
        // SAFETY: By the safety requirements, `m` is valid and its lock is held.
        let m = unsafe { SeqFile::from_raw(m) };

        from_result(|| T::show(instance.as_deref().ok_or(ENODEV)?, m).map(|()| 0))
    }

    /// Called for a write to the file.
    ///
    /// # Safety
    ///
    /// `file` must be a file that [`open`](Self::open) has succeeded for, and `pos` be valid.
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        text: *const c_char,
        len: usize,
        pos: *mut bindings::loff_t,
    ) -> isize {
        // SAFETY: By the safety requirements the private data is the `seq_file`.
        let m: *mut bindings::seq_file = unsafe { (*file).private_data.cast() };
        // SAFETY: As above, and its private data is the instance.
        let instance = unsafe { borrow((*m).private.cast()) };
        let text = UserPtr::from_ptr(text.cast_mut().cast());

        let result = instance
            .as_deref()
            .ok_or(ENODEV)
            .and_then(|instance| Self::write_lines(instance, text, len));
        match result {
            Ok(n) => {
                // SAFETY: By the safety requirements, `pos` is valid.
                unsafe { *pos = (*pos).wrapping_add(n as bindings::loff_t) };
                // CAST: The length is at most `WRITE_MAX`.
                n as isize
            }
            Err(e) => e.to_errno() as isize,
        }
    }

    /// Processes the lines of a write, and returns the number of bytes that were used.
    fn write_lines(instance: &InstanceRef, text: UserPtr, len: usize) -> Result<usize> {
        let mut copy = KVVec::new();

        UserSlice::new(text, len.min(WRITE_MAX)).read_all(&mut copy, GFP_KERNEL)?;
        // The rest of the last line is for the next write.
        if len > WRITE_MAX {
            let end = copy.iter().rposition(|b| *b == b'\n').ok_or(EINVAL)?;

            copy.truncate(end.saturating_add(1));
        }
        // SAFETY: The instance is kept.
        to_result(unsafe { bindings::tracing_update_buffers(instance.as_raw()) })?;

        for line in copy.split(|b| *b == b'\n') {
            if line.len() >= PAGE_SIZE - 1 {
                return Err(EINVAL);
            }
            T::line(instance, line)?;
        }
        Ok(copy.len())
    }
}

/// Returns the instance that the inode is for, or null.
///
/// # Safety
///
/// `inode` must be that of a file of an instance.
unsafe fn instance_of(inode: *mut bindings::inode) -> *mut bindings::trace_array {
    // SAFETY: By the safety requirements; C sets it once.
    unsafe { (*inode).i_private.cast() }
}

/// Borrows the instance of an open file, which keeps its reference.
///
/// # Safety
///
/// `instance` must be null, or one that the open file has a reference to.
unsafe fn borrow(instance: *mut bindings::trace_array) -> Option<ManuallyDrop<InstanceRef>> {
    // SAFETY: By the safety requirements a reference exists, which is not dropped here.
    NonNull::new(instance).map(|ptr| ManuallyDrop::new(unsafe { InstanceRef::from_raw(ptr) }))
}
