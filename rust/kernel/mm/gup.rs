// SPDX-License-Identifier: GPL-2.0

//! Reaching the pages of a user address space from the kernel.
//!
//! The functions here work on any address space whose mmap lock is held, not only on that of the
//! current task. [`pin_page_nofault`] finds a page only if it is present and writeable already, and
//! so does not wait for I/O. Otherwise [`fault_in_writeable`] faults the page in, which may take
//! long and may release the lock in between. [`set_bit_nofault`] is a faster way than
//! [`pin_page_nofault`] for a bit in anonymous memory, and [`test_bit_nofault`] reads one.
//! [`fault_in_nowait`] and [`copy_nowait`] are faults that do not depend on a server in user space.
//!
//! C header: [`include/linux/mm.h`](srctree/include/linux/mm.h).
//!
//! Reference: <https://docs.kernel.org/core-api/pin_user_pages.html>
//!
//! [`pin_page_nofault`]: MmapReadGuard::pin_page_nofault
//! [`set_bit_nofault`]: MmapReadGuard::set_bit_nofault
//! [`test_bit_nofault`]: MmapReadGuard::test_bit_nofault
//! [`fault_in_writeable`]: MmapReadGuard::fault_in_writeable
//! [`fault_in_nowait`]: MmapReadGuard::fault_in_nowait
//! [`copy_nowait`]: MmapReadGuard::copy_nowait

use super::{
    virt::{
        flags as vma_flags,
        VmaRef, //
    },
    MmapReadGuard, //
};
use crate::{
    bindings,
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};
use core::ptr::{
    self,
    NonNull, //
};

impl MmapReadGuard<'_> {
    /// Pins the page at `addr` for writing, if that needs no page fault.
    ///
    /// Returns [`None`] if the page is not present, or not writeable, as one that a write would
    /// have to copy first; then [`fault_in_writeable`] can change that. Also returns [`None`]
    /// without a mapping that allows writing.
    ///
    /// # Context
    ///
    /// May sleep, but does not release the mmap lock.
    ///
    /// # Examples
    ///
    /// Sets a bit in the memory of another process, faulting the page in if need be.
    ///
    /// ```no_run
    /// use kernel::{
    ///     mm::MmWithUser,
    ///     page::PAGE_SIZE, //
    /// };
    ///
    /// fn set_flag(mm: &MmWithUser, addr: usize, bit: u32) -> Result {
    ///     let mut guard = mm.mmap_read_lock();
    ///
    ///     for _ in 0..10 {
    ///         if let Some(mut page) = guard.pin_page_nofault(addr) {
    ///             return page.set_bit(addr % PAGE_SIZE, bit, true);
    ///         }
    ///         // Another process may take the page away again before the next attempt.
    ///         guard.fault_in_writeable(addr)?;
    ///     }
    ///     Err(EFAULT)
    /// }
    /// ```
    ///
    /// [`fault_in_writeable`]: MmapReadGuard::fault_in_writeable
    pub fn pin_page_nofault(&self, addr: usize) -> Option<PinnedPage> {
        self.pin_page(addr, bindings::FOLL_NOFAULT).ok()
    }

    /// Pins the page at `addr` for writing.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if that is not possible without waiting, and the errors of the fault.
    fn pin_page(&self, addr: usize, flags: c_uint) -> Result<PinnedPage> {
        let mut page: *mut bindings::page = ptr::null_mut();

        // SAFETY: By the type invariants, the mmap lock of `self.mm` is held, and the borrow of the
        // `MmWithUser` keeps `mm_users` non-zero. `page` has room for the one page asked for. With
        // a null `locked`, the lock is not released.
        let pinned = unsafe {
            bindings::pin_user_pages_remote(
                self.mm.as_raw(),
                addr,
                1,
                bindings::FOLL_WRITE | flags,
                &mut page,
                ptr::null_mut(),
            )
        };

        if pinned < 0 {
            // CAST: It is an error number.
            return Err(Error::from_errno(pinned as c_int));
        }
        if pinned != 1 {
            return Err(EAGAIN);
        }

        // INVARIANT: `pin_user_pages_remote()` has stored one page, which it has pinned for
        // writing, and that pin is not shared.
        NonNull::new(page).ok_or(EFAULT).map(|page| PinnedPage {
            page,
            written: false,
        })
    }

    /// Returns `true` if a mapping at `addr` allows writing.
    pub fn is_writeable(&self, addr: usize) -> bool {
        self.vma_lookup(addr)
            .is_some_and(|vma| vma.flags() & vma_flags::WRITE != 0)
    }

    /// Faults in the page at `addr` as writeable, if it is in an anonymous mapping, private and not
    /// of hugetlbfs, and that needs neither I/O nor user space (userfaultfd).
    ///
    /// # Errors
    ///
    /// `EAGAIN` if it does, or if the mapping is another one. I/O may have begun then, so a later
    /// attempt may succeed. `ENOMEM` if an allocation fails, `EFAULT` if the mapping does not allow
    /// writing.
    ///
    /// # Context
    ///
    /// May sleep to get memory, but does not release the mmap lock.
    pub fn fault_in_nowait(&self, addr: usize) -> Result {
        let is_anon = |vma: &VmaRef| {
            // SAFETY: The mmap lock is held, so `vma` is valid and the field does not change.
            unsafe { (*vma.as_ptr()).vm_ops.is_null() }
        };

        if self.vma_lookup(addr).is_some_and(is_anon) {
            self.pin_page(addr, bindings::FOLL_NOWAIT).map(drop)
        } else {
            Err(EAGAIN)
        }
    }

    /// Copies the page at `addr`, which is present and shared with other address spaces, so that it
    /// is writeable.
    ///
    /// This is for a page of which [`test_bit_nofault`](Self::test_bit_nofault) has just returned a
    /// bit. If it is one of a private mapping of a file, and another task takes it away just now,
    /// this may wait until the file is read, which may depend on user space. So a caller limits the
    /// number of those that may wait.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if that is not possible without waiting, `ENOMEM` and `EFAULT` as for
    /// [`fault_in_nowait`](Self::fault_in_nowait).
    ///
    /// # Context
    ///
    /// May sleep, but does not release the mmap lock.
    pub fn copy_nowait(&self, addr: usize) -> Result {
        self.pin_page(addr, bindings::FOLL_NOWAIT).map(drop)
    }

    /// Atomically sets (`on`) or clears a bit of an `unsigned long`, if that is in anonymous memory
    /// other than that of hugetlbfs, whose page is present and writeable.
    ///
    /// Returns `false`, and has changed nothing, if it is not; [`pin_page_nofault`] may find the
    /// page nevertheless. It also does if `addr` is not a multiple of the size of an `unsigned
    /// long`, or if that has no such bit.
    ///
    /// The operation is atomic with respect to atomic operations by user space, but does not order
    /// other memory accesses, like C's `set_bit()` and `clear_bit()`.
    ///
    /// # Context
    ///
    /// Does not sleep.
    ///
    /// [`pin_page_nofault`]: MmapReadGuard::pin_page_nofault
    pub fn set_bit_nofault(&self, addr: usize, bit: u32, on: bool) -> bool {
        if addr % size_of::<c_ulong>() != 0 || bit >= c_ulong::BITS {
            return false;
        }
        let Some(vma) = self.vma_lookup(addr) else {
            return false;
        };
        let flags = vma.flags();

        // As `get_user_pages()` refuses: no memory of devices. A page of a shadow stack looks
        // writeable.
        if flags & vma_flags::WRITE == 0
            || flags & (vma_flags::IO | vma_flags::PFNMAP) != 0
            // SAFETY: The mmap lock is held, so `vma` is valid and its flags do not change.
            || unsafe { bindings::vma_is_shadow_stack(vma.as_ptr()) }
        {
            return false;
        }

        let set = |walk: &mut bindings::folio_walk, folio: *mut bindings::folio| {
            // SAFETY: `walk` is that of a folio that was found.
            if !unsafe { bindings::folio_walk_pte_write(walk) } {
                return false;
            }

            // SAFETY: `walk.page` is the page at `addr`, which is mapped writeable and in no memory
            // of devices. It is not the shared zeropage, which was not asked for. The alignment
            // and the bit have been checked.
            unsafe { change_bit(walk.page, addr % PAGE_SIZE, bit, on) };

            // Only a mapped page may be marked dirty without the lock of its folio.
            //
            // SAFETY: `folio` is valid, and mapped.
            unsafe {
                if !bindings::folio_test_dirty(folio) {
                    bindings::folio_mark_dirty(folio);
                }
            }
            true
        };

        // SAFETY: `vma` was looked up for `addr`.
        unsafe { with_anon_page(vma, addr, set) }.unwrap_or(false)
    }

    /// Returns the state of a bit of an `unsigned long`, if that is in anonymous memory other than
    /// that of hugetlbfs, whose page is present.
    ///
    /// The page may be one that a write would have to copy first.
    ///
    /// Returns [`None`] if it is not, if `addr` is not a multiple of the size of an `unsigned
    /// long`, or if that has no such bit.
    ///
    /// # Context
    ///
    /// Does not sleep.
    pub fn test_bit_nofault(&self, addr: usize, bit: u32) -> Option<bool> {
        if addr % size_of::<c_ulong>() != 0 || bit >= c_ulong::BITS {
            return None;
        }

        let vma = self.vma_lookup(addr)?;
        let test = |walk: &mut bindings::folio_walk, _| {
            // SAFETY: `walk.page` is the page at `addr`, which is mapped. The alignment has been
            // checked.
            let word = unsafe { read_word(walk.page, addr % PAGE_SIZE) };

            word & (1 << bit) != 0
        };

        // SAFETY: `vma` was looked up for `addr`.
        unsafe { with_anon_page(vma, addr, test) }
    }

    /// Faults in the page at `addr` as writeable, as a write by a task of that address space would.
    ///
    /// After a success the lock is held, but it may have been released and taken again in between:
    /// what was learned about the address space before no longer counts, hence the exclusive
    /// borrow. The page may be taken away again as soon as the lock is released.
    ///
    /// Fails with [`EFAULT`] when nothing is mapped at `addr`, or it does not allow writing, and
    /// with [`EINTR`] when the current task has been killed. Other errors of the fault handler,
    /// such as [`ENOMEM`], are returned as they are. The lock is held in these cases, too.
    ///
    /// # Context
    ///
    /// May sleep, for as long as the I/O takes that brings the page in.
    pub fn fault_in_writeable(&mut self, addr: usize) -> Result {
        let mut unlocked = false;

        // SAFETY: By the type invariants, the mmap lock of `self.mm` is held for reading, and the
        // borrow of the `MmWithUser` keeps `mm_users` non-zero. `fixup_user_fault()` always returns
        // with the lock held. When it releases it in between, no reference to data under the lock
        // exists, because those borrow from `self`, which is borrowed exclusively.
        to_result(unsafe {
            bindings::fixup_user_fault(
                self.mm.as_raw(),
                addr,
                bindings::fault_flag_FAULT_FLAG_WRITE | bindings::fault_flag_FAULT_FLAG_REMOTE,
                &mut unlocked,
            )
        })
    }
}

/// Calls `f` with the page at `addr` and its folio, if that is present, anonymous, and not of
/// hugetlbfs.
///
/// The page is mapped while `f` runs, under the lock of its page table.
///
/// # Safety
///
/// `vma` must contain `addr`.
unsafe fn with_anon_page<R>(
    vma: &VmaRef,
    addr: usize,
    f: impl FnOnce(&mut bindings::folio_walk, *mut bindings::folio) -> R,
) -> Option<R> {
    // The walk would wait for the lock of the mapping.
    if vma.flags() & vma_flags::HUGETLB != 0 {
        return None;
    }

    let vma = vma.as_ptr();
    let mut walk = bindings::folio_walk::default();

    // SAFETY: A `VmaRef` is valid and the mmap lock is held. The caller guarantees that it contains
    // `addr`.
    let folio = unsafe { bindings::folio_walk_start(&mut walk, vma, addr, 0) };
    if folio.is_null() {
        return None;
    }

    // The page is mapped and stays so until `folio_walk_end()` releases the lock of the page table.
    //
    // SAFETY: `folio_walk_start()` has returned a valid folio.
    let is_anon = unsafe { bindings::folio_test_anon(folio) };
    let result = is_anon.then(|| f(&mut walk, folio));

    // SAFETY: Ends the walk that has begun above, once.
    unsafe { bindings::folio_walk_end(&mut walk, vma) };
    result
}

/// Atomically sets (`on`) or clears a bit of the `unsigned long` at `offset` of a page.
///
/// # Safety
///
/// - `page` is valid, and user space may write to it where it is mapped.
/// - `offset` is less than `PAGE_SIZE` and a multiple of the size of an `unsigned long`.
/// - An `unsigned long` has a bit with this number.
unsafe fn change_bit(page: *mut bindings::page, offset: usize, bit: u32, on: bool) {
    // CAST: An `unsigned long` has at least 32 bits.
    let bit = bit as c_ulong;

    // SAFETY: The page is valid.
    let kaddr = unsafe { bindings::kmap_local_page(page) };

    // SAFETY: `kaddr` is valid for `PAGE_SIZE` bytes and aligned to that. Since `offset` is
    // smaller, and like `PAGE_SIZE` a multiple of the size of an `unsigned long`, the latter lies
    // in the page as a whole.
    let word = unsafe { kaddr.byte_add(offset) }.cast::<c_ulong>();

    if on {
        // SAFETY: `word` is valid and aligned, and has such a bit. The operation is atomic, so it
        // does not race with accesses by user space or the kernel.
        unsafe { bindings::set_bit(bit, word) };
    } else {
        // SAFETY: As above.
        unsafe { bindings::clear_bit(bit, word) };
    }

    // SAFETY: `kaddr` was mapped above, and no other page was mapped since.
    unsafe { bindings::kunmap_local(kaddr) };
}

/// Reads the `unsigned long` at `offset` of a page.
///
/// # Safety
///
/// - `page` is valid.
/// - `offset` is less than `PAGE_SIZE` and a multiple of the size of an `unsigned long`.
unsafe fn read_word(page: *mut bindings::page, offset: usize) -> c_ulong {
    // SAFETY: The page is valid.
    let kaddr = unsafe { bindings::kmap_local_page(page) };

    // SAFETY: `kaddr` is valid for `PAGE_SIZE` bytes and aligned to that, and the `unsigned long`
    // lies in the page as a whole. User space may write to it at any time, hence the volatile read.
    let word = unsafe { kaddr.byte_add(offset).cast::<c_ulong>().read_volatile() };

    // SAFETY: `kaddr` was mapped above, and no other page was mapped since.
    unsafe { bindings::kunmap_local(kaddr) };
    word
}

/// A page of a user address space that is pinned for writing.
///
/// The page stays what it is, and where it is in memory, for as long as this value exists; whether
/// it is still mapped in the address space it was found in is another question, and only certain
/// while the mmap lock is held. Do not keep it for long: pins get in the way of memory management.
///
/// User space may access the page at any time, so no reference to its contents can exist here; it
/// is only changed with atomic operations.
///
/// Dropping this value may sleep: a page that has been written to is marked dirty, under the lock
/// of its folio.
///
/// # Invariants
///
/// `page` points at a valid page, for which this value owns one pin that was taken for writing.
pub struct PinnedPage {
    page: NonNull<bindings::page>,
    /// `true` if the page has been written to and is to be marked dirty.
    written: bool,
}

// SAFETY: A pin belongs to the page, not to the task that took it, so it can be released by another
// one. The page is only mapped during a method call.
unsafe impl Send for PinnedPage {}

impl PinnedPage {
    /// Atomically sets (`on`) or clears a bit in an `unsigned long` of this page.
    ///
    /// `offset` is where the `unsigned long` is in the page, in bytes. `bit` is the number of the
    /// bit, the least significant one being 0.
    ///
    /// The operation is atomic with respect to atomic operations by user space, but does not order
    /// other memory accesses, like C's `set_bit()` and `clear_bit()`.
    ///
    /// Fails with [`EINVAL`] when `offset` is not a multiple of the size of an `unsigned long` or
    /// not in the page, or when the `unsigned long` has no such bit.
    ///
    /// # Context
    ///
    /// Any context in which a page may be mapped with `kmap_local_page()`. Does not sleep.
    pub fn set_bit(&mut self, offset: usize, bit: u32, on: bool) -> Result {
        if offset >= PAGE_SIZE || offset % size_of::<c_ulong>() != 0 || bit >= c_ulong::BITS {
            return Err(EINVAL);
        }

        // SAFETY: By the type invariants, the page is valid and was pinned for writing. The offset
        // and the bit were just checked.
        unsafe { change_bit(self.page.as_ptr(), offset, bit, on) };

        self.written = true;
        Ok(())
    }

    /// Sets or clears a bit as [`set_bit`](Self::set_bit) does, without waiting for the lock of
    /// the folio, which the drop does after that. Writeback or migration may hold the lock for
    /// long.
    ///
    /// # Errors
    ///
    /// `EBUSY` if the folio is locked, `EINVAL` as above. Nothing has changed then.
    ///
    /// # Context
    ///
    /// As above.
    pub fn try_set_bit(&mut self, offset: usize, bit: u32, on: bool) -> Result {
        if offset >= PAGE_SIZE || offset % size_of::<c_ulong>() != 0 || bit >= c_ulong::BITS {
            return Err(EINVAL);
        }

        // SAFETY: By the type invariants, the page is valid, and the pin keeps its folio.
        let folio = unsafe { bindings::page_folio(self.page.as_ptr()) };

        // SAFETY: The folio is valid.
        if !unsafe { bindings::folio_trylock(folio) } {
            return Err(EBUSY);
        }

        // SAFETY: As in `set_bit()`.
        unsafe { change_bit(self.page.as_ptr(), offset, bit, on) };

        // SAFETY: The folio is valid, and was locked above.
        unsafe {
            bindings::folio_mark_dirty(folio);
            bindings::folio_unlock(folio);
        }
        Ok(())
    }
}

impl Drop for PinnedPage {
    fn drop(&mut self) {
        let mut page = self.page.as_ptr();

        // SAFETY: By the type invariants, the page is valid and has a pin, which is given up here.
        // `page` is an array of one.
        unsafe { bindings::unpin_user_pages_dirty_lock(&mut page, 1, self.written) };
    }
}
