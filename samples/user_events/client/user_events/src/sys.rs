// SPDX-License-Identifier: GPL-2.0

//! The interface of the kernel: `include/uapi/linux/user_events.h`.

use std::ffi::{c_int, c_ulong, CStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;
use std::sync::Arc;

/// The bit of an enable word that the kernel sets while the event has a listener.
pub const ENABLE_BIT: u8 = 31;

/// `struct user_reg`.
#[repr(C, packed)]
struct UserReg {
    size: u32,
    enable_bit: u8,
    enable_size: u8,
    flags: u16,
    enable_addr: u64,
    name_args: u64,
    write_index: u32,
}

/// `struct user_unreg`.
#[repr(C, packed)]
struct UserUnreg {
    size: u32,
    disable_bit: u8,
    reserved: u8,
    reserved2: u16,
    disable_addr: u64,
}

/// `struct user_batch`.
#[repr(C, packed)]
struct UserBatch {
    size: u32,
    len: u32,
    records: u64,
}

/// The kernel's `_IOC_WRITE`, `_IOC_READ` and `_IOC_DIRSHIFT`, which some architectures have values
/// of their own for.
const IOC: (c_ulong, c_ulong, u32) = if cfg!(any(
    target_arch = "mips",
    target_arch = "mips32r6",
    target_arch = "mips64",
    target_arch = "mips64r6",
    target_arch = "powerpc",
    target_arch = "powerpc64",
    target_arch = "sparc",
    target_arch = "sparc64",
)) {
    (4, 2, 29)
} else {
    (1, 2, 30)
};
const IOC_WRITE: c_ulong = IOC.0;
const IOC_READ: c_ulong = IOC.1;

/// Returns `_IOC()` of the kernel for user_events, whose argument is always a pointer.
const fn ioc(direction: c_ulong, number: c_ulong) -> c_ulong {
    (direction << IOC.2)
        | ((size_of::<usize>() as c_ulong) << 16)
        | ((b'*' as c_ulong) << 8)
        | number
}

const DIAG_IOCSREG: c_ulong = ioc(IOC_READ | IOC_WRITE, 0);
const DIAG_IOCSUNREG: c_ulong = ioc(IOC_WRITE, 2);
const DIAG_IOCSBATCH: c_ulong = ioc(IOC_WRITE, 3);

/// An event that has no listener.
pub(crate) const EBADF: i32 = 9;
/// An ioctl that the kernel does not have.
pub(crate) const ENOTTY: i32 = 25;

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// Converts the result of `ioctl()`.
fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Registers an event, and returns the index to write it with.
///
/// The kernel writes to `word` until it is unregistered, or the program ends: the caller keeps or
/// leaks it.
pub(crate) fn register(file: &File, text: &CStr, word: &Arc<AtomicU32>) -> io::Result<u32> {
    let mut reg = UserReg {
        size: size_of::<UserReg>() as u32,
        enable_bit: ENABLE_BIT,
        enable_size: size_of::<AtomicU32>() as u8,
        flags: 0,
        enable_addr: word.as_ptr() as u64,
        name_args: text.as_ptr() as u64,
        write_index: 0,
    };

    // SAFETY: `reg` is the structure that this request takes, and `text` is borrowed during the
    // call. The kernel keeps the address of the word, which is only used atomically, and which
    // `Event` keeps until the kernel has dropped the address.
    check(unsafe { ioctl(file.as_raw_fd(), DIAG_IOCSREG, &raw mut reg) })?;
    Ok(reg.write_index)
}

/// Unregisters an enable word. If this succeeds, the kernel no longer writes to it.
pub(crate) fn unregister(file: &File, word: &AtomicU32) -> io::Result<()> {
    let unreg = UserUnreg {
        size: size_of::<UserUnreg>() as u32,
        disable_bit: ENABLE_BIT,
        reserved: 0,
        reserved2: 0,
        disable_addr: word.as_ptr() as u64,
    };

    // SAFETY: `unreg` is the structure that this request takes.
    check(unsafe { ioctl(file.as_raw_fd(), DIAG_IOCSUNREG, &raw const unreg) }).map(|_| ())
}

/// Writes the first of several records, and returns the number of those that were handled.
pub(crate) fn write_batch(file: &File, records: &[u8]) -> io::Result<usize> {
    let batch = UserBatch {
        size: size_of::<UserBatch>() as u32,
        len: u32::try_from(records.len()).unwrap_or(u32::MAX),
        records: records.as_ptr() as u64,
    };

    // SAFETY: `batch` is the structure that this request takes. The kernel reads no more than the
    // bytes of `records`, which are borrowed during the call.
    check(unsafe { ioctl(file.as_raw_fd(), DIAG_IOCSBATCH, &raw const batch) })
}
