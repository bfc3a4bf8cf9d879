// SPDX-License-Identifier: GPL-2.0

//! Operations on a bare [`UserPtr`].
//!
//! These are for objects in user space whose extent is part of what has to be found out: a struct
//! whose size the program passes, a string that ends at its NUL. Where the length is known, use a
//! [`UserSlice`].
//!
//! C headers: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h),
//! [`include/linux/string.h`](srctree/include/linux/string.h).

use super::{
    UserPtr,
    UserSlice, //
};
use crate::{
    bindings,
    prelude::*,
    str::CString,
    transmute::FromBytes, //
};
use core::{
    mem::MaybeUninit,
    slice, //
};

/// Returns `true` if the `len` bytes at `ptr` are in the part of the address space that belongs to
/// user space.
///
/// The memory need not be mapped, and [`UserSlice`] checks the range by itself on each access. It
/// is of use to refuse an address early that is only accessed later. On architectures where user
/// space has an address space of its own, it is always true.
///
/// # Examples
///
/// ```no_run
/// use kernel::uaccess::{
///     access_ok,
///     UserPtr, //
/// };
///
/// fn check(addr: usize) -> Result {
///     if !access_ok(UserPtr::from_addr(addr), 8) {
///         return Err(EFAULT);
///     }
///     Ok(())
/// }
/// ```
#[inline]
pub fn access_ok(ptr: UserPtr, len: usize) -> bool {
    // SAFETY: `access_ok()` has no requirements: it compares the address with a limit, and does not
    // access memory.
    unsafe { bindings::access_ok(ptr.as_const_ptr(), len) }
}

/// Copies a structure from user space, with the `size` that user space knows it by.
///
/// This is how an interface can be extended: new fields are added at the end of the struct, zero
/// means for them what was done before they existed, and the program says how large the struct is
/// that it passes.
///
/// - If `size` is the size of `T`, then it is copied as it is.
/// - If `size` is smaller, then the program is older than the kernel: the rest of `T` is zeroed.
/// - If `size` is larger, then the program is newer than the kernel: what the kernel does not know
///   must be zero.
///
/// Callers should check that `size` is neither smaller than the first version of the struct was,
/// nor unreasonably large: the time this takes is proportional to it.
///
/// Fails with [`E2BIG`] if a byte beyond what `T` describes is not zero, and with [`EFAULT`] if the
/// memory cannot be read.
///
/// # Context
///
/// Process context. May sleep.
///
/// # Examples
///
/// ```no_run
/// use kernel::{
///     page::PAGE_SIZE,
///     transmute::FromBytes,
///     uaccess::{
///         copy_struct_from_user,
///         UserPtr, //
///     }, //
/// };
///
/// #[repr(C)]
/// struct Args {
///     fd: u32,
///     flags: u32,
///     // Since version 2.
///     timeout: u64,
/// }
///
/// // SAFETY: All bit patterns are valid for integers.
/// unsafe impl FromBytes for Args {}
///
/// fn args(ptr: UserPtr, size: usize) -> Result<Args> {
///     if size > PAGE_SIZE {
///         return Err(E2BIG);
///     }
///     if size < core::mem::offset_of!(Args, timeout) {
///         return Err(EINVAL);
///     }
///     copy_struct_from_user(ptr, size)
/// }
/// ```
pub fn copy_struct_from_user<T: FromBytes>(ptr: UserPtr, size: usize) -> Result<T> {
    let known = size.min(size_of::<T>());

    if size > known {
        let rest = ptr.wrapping_byte_add(known);

        // SAFETY: `check_zeroed_user()` has no requirements: it checks the address range by itself.
        match unsafe { bindings::check_zeroed_user(rest.as_const_ptr(), size - known) } {
            0 => return Err(E2BIG),
            err if err < 0 => return Err(Error::from_errno(err)),
            _ => {}
        }
    }

    let mut out = MaybeUninit::<T>::zeroed();

    // SAFETY: `out` is valid for writing `size_of::<T>()` bytes, and `known` is not more. As in
    // `UserSliceReader::read()`, the `_copy_from_user` variant skips the check of the kernel
    // pointer, which is known to be right.
    let left =
        unsafe { bindings::_copy_from_user(out.as_mut_ptr().cast(), ptr.as_const_ptr(), known) };
    if left != 0 {
        return Err(EFAULT);
    }

    // SAFETY: All bytes are initialized, first with zeroes and then in part from user space. Since
    // `T` implements `FromBytes`, any bit pattern is a valid value.
    Ok(unsafe { out.assume_init() })
}

/// Copies the readable part of the memory at `ptr` to `out`, up to the length of `out`.
///
/// Returns the bytes before the first one that cannot be read: fewer than fit, or none, instead of
/// an error.
///
/// # Context
///
/// Process context. May sleep.
///
/// # Examples
///
/// ```no_run
/// use core::mem::MaybeUninit;
/// use kernel::uaccess::{
///     copy_available,
///     UserPtr, //
/// };
///
/// fn is_readable(ptr: UserPtr) -> bool {
///     copy_available(ptr, &mut [MaybeUninit::uninit(); 1]).len() == 1
/// }
/// ```
#[inline]
pub fn copy_available(ptr: UserPtr, out: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let to = out.as_mut_ptr().cast::<u8>();

    // SAFETY: `to` is valid for writing `out.len()` bytes. As in `UserSliceReader::read_raw()`,
    // the `_copy_from_user` variant skips the check of the kernel pointer.
    let left = unsafe { bindings::_copy_from_user(to.cast(), ptr.as_const_ptr(), out.len()) };
    let copied = out.len().saturating_sub(left);

    // SAFETY: So many bytes, which are no more than `out` has, were just written, and are borrowed
    // from it.
    unsafe { slice::from_raw_parts_mut(to, copied) }
}

/// Copies a NUL-terminated string from user space into memory of its own.
///
/// `max` is the largest size that is accepted, in bytes and with the NUL. The memory is accounted
/// to the control group of the current task.
///
/// Fails with [`EINVAL`] if the string is longer, with [`EFAULT`] if it cannot be read or `max` is
/// zero, and with [`ENOMEM`] if the copy cannot be allocated.
///
/// # Context
///
/// Process context. May sleep.
///
/// # Examples
///
/// ```no_run
/// use kernel::uaccess::{
///     strndup_user,
///     UserPtr, //
/// };
///
/// const MAX_NAME: usize = 64;
///
/// fn set_name(arg: usize) -> Result {
///     let name = strndup_user(UserPtr::from_addr(arg), MAX_NAME)?;
///     pr_info!("the name is {}\n", &*name);
///     Ok(())
/// }
/// ```
pub fn strndup_user(ptr: UserPtr, max: usize) -> Result<CString> {
    // No buffer is larger, and user-mode Linux counts in an int.
    let max = max.min(c_int::MAX as usize);
    let limit = max as c_long;

    // SAFETY: `strnlen_user()` has no requirements: it checks the address range by itself.
    let size = unsafe { bindings::strnlen_user(ptr.as_const_ptr().cast(), limit) };

    // Zero stands for a fault, and what exceeds the limit for a string without an end in it.
    let size = usize::try_from(size).map_err(|_| EFAULT)?;
    if size == 0 {
        return Err(EFAULT);
    }
    if size > max {
        return Err(EINVAL);
    }

    let mut buf = KVec::new();
    UserSlice::new(ptr, size).read_all(&mut buf, GFP_KERNEL_ACCOUNT)?;

    // The string may have changed since it was measured: it ends at the first NUL that was copied,
    // and in any case where the NUL was before.
    if let Some(last) = buf.last_mut() {
        *last = 0;
    }
    let string = CStr::from_bytes_until_nul(&buf).map_err(|_| EINVAL)?;
    buf.truncate(string.to_bytes_with_nul().len());

    CString::from_vec_with_nul(buf)
}
