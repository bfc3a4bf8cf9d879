// SPDX-License-Identifier: GPL-2.0

//! Reading from a source without page faults, and more than once.
//!
//! Code that must not sleep while it reads user memory, for instance because it fills a buffer that
//! it has reserved with preemption disabled, does so in two steps: [`fault_in_readable`] where
//! sleeping is fine, then [`copy_nofault`] where it is not. The second step may still fail, as the
//! memory can be taken away in between.
//!
//! A short record is quicker to read as a whole, to where sleeping is fine: [`peek_short`].
//!
//! C header: [`include/linux/uio.h`](srctree/include/linux/uio.h).
//!
//! [`fault_in_readable`]: IovIterSource::fault_in_readable
//! [`copy_nofault`]: IovIterSource::copy_nofault
//! [`peek_short`]: IovIterSource::peek_short

use super::IovIterSource;
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    uaccess::UserPtr, //
};
use core::{
    mem::MaybeUninit,
    ptr,
    slice, //
};

impl IovIterSource<'_> {
    /// Runs `f` on an IO vector of the `len` bytes of user memory at `ptr`, as `write(2)` passes
    /// it.
    ///
    /// As there, what exceeds `MAX_RW_COUNT` is left out.
    ///
    /// # Errors
    ///
    /// `EFAULT` if the bytes are not in the part of the address space that belongs to user space.
    /// Memory that cannot be read is noticed when it is read.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use kernel::{
    ///     iov::IovIterSource,
    ///     uaccess::UserPtr, //
    /// };
    ///
    /// fn first(ptr: UserPtr) -> Result<u8> {
    ///     let mut out = [0; 1];
    ///
    ///     match IovIterSource::with_user(ptr, 1, |iov| iov.copy_from_iter(&mut out))? {
    ///         1 => Ok(out[0]),
    ///         _ => Err(EFAULT),
    ///     }
    /// }
    /// ```
    pub fn with_user<R>(
        ptr: UserPtr,
        len: usize,
        f: impl FnOnce(&mut IovIterSource<'_>) -> R,
    ) -> Result<R> {
        let mut iter = bindings::iov_iter::default();

        // SAFETY: `iter` is valid for writes. User memory is checked on each access.
        to_result(unsafe {
            bindings::import_ubuf(
                bindings::ITER_SOURCE as c_int,
                ptr.as_mut_ptr(),
                len,
                &mut iter,
            )
        })?;

        // SAFETY: `import_ubuf()` has initialised `iter` as a valid source of user memory, which
        // may be read from at any time. It is only accessed through the reference.
        Ok(f(unsafe { IovIterSource::from_raw(&mut iter) }))
    }

    /// Faults in the next `len` bytes of user memory, so that they can be read without a page
    /// fault.
    ///
    /// Returns whether all of them are readable, which they are not if this IO vector is shorter
    /// than `len`. IO vectors that do not refer to user memory need no such preparation: for them
    /// the answer is always `true`.
    ///
    /// This is a snapshot of a moment: the memory may be unmapped when it is read.
    ///
    /// # Context
    ///
    /// May sleep.
    #[inline]
    pub fn fault_in_readable(&self, len: usize) -> bool {
        // SAFETY: By the type invariants, `self.iov` is a valid IO vector, which this call only
        // reads.
        unsafe { bindings::fault_in_iov_iter_readable(self.iov.get(), len) == 0 }
    }

    /// Reads data from this IO vector as far as that needs no page fault.
    ///
    /// Returns the number of bytes that have been copied, by which this IO vector has advanced. If
    /// this is less than the length of `out`, then the IO vector is at its end, or user memory is
    /// not present or not readable. See [`fault_in_readable`].
    ///
    /// # Context
    ///
    /// Any context in which the source may be accessed, with preemption or interrupts disabled,
    /// too. Does not sleep, allocate or take a lock. User memory is that of the current task.
    ///
    /// [`fault_in_readable`]: IovIterSource::fault_in_readable
    ///
    /// # Examples
    ///
    /// ```
    /// # use kernel::bindings;
    /// use kernel::iov::IovIterSource;
    ///
    /// /// Reads a record in two parts, neither of which may sleep.
    /// fn record(iov: &mut IovIterSource<'_>, head: &mut [u8; 2], body: &mut [u8]) -> Result {
    ///     if !iov.fault_in_readable(head.len() + body.len()) {
    ///         return Err(EFAULT);
    ///     }
    ///     if iov.copy_nofault(head) != head.len() || iov.copy_nofault(body) != body.len() {
    ///         return Err(EFAULT);
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # let mut data = *b"abcdef";
    /// # let kvec = bindings::kvec {
    /// #     iov_base: data.as_mut_ptr().cast(),
    /// #     iov_len: data.len(),
    /// # };
    /// # let mut iter = bindings::iov_iter::default();
    /// # let len = data.len();
    /// # // SAFETY: `kvec` and the bytes that it points at outlive `iter`.
    /// # unsafe { bindings::iov_iter_kvec(&mut iter, bindings::ITER_SOURCE, &kvec, 1, len) };
    /// # // SAFETY: `iter` is a valid source, only accessed through the reference.
    /// # let iov = unsafe { IovIterSource::from_raw(&mut iter) };
    /// let (mut head, mut body) = ([0; 2], [0; 3]);
    /// record(iov, &mut head, &mut body)?;
    ///
    /// assert_eq!(&head, b"ab");
    /// assert_eq!(&body, b"cde");
    /// assert_eq!(iov.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn copy_nofault(&mut self, out: &mut [u8]) -> usize {
        // SAFETY: This only counts up in the current task, and is undone below.
        unsafe { bindings::pagefault_disable() };

        let copied = self.copy_from_iter(out);

        // SAFETY: Page faults were disabled above, by the same task.
        unsafe { bindings::pagefault_enable() };

        copied
    }

    /// Reads all of this IO vector to `out`, without advancing it, with `N` zeroes in front.
    ///
    /// This is for short records, which it reads in few steps. Returns the zeroes and what was
    /// read. It is `None` if the data does not fit in `out`, if the source is not user memory, if
    /// some of it cannot be read, or on a machine where it would not be quicker: then
    /// [`copy_from_iter`] reads the data.
    ///
    /// # Context
    ///
    /// May sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// # use kernel::bindings;
    /// use core::mem::MaybeUninit;
    /// use kernel::iov::IovIterSource;
    ///
    /// fn first(iov: &mut IovIterSource<'_>) -> u8 {
    ///     if let Some([0, 0, first, ..]) = iov.peek_short::<2>(&mut [MaybeUninit::uninit(); 16]) {
    ///         return *first;
    ///     }
    ///     let mut out = [0; 1];
    ///
    ///     iov.copy_from_iter(&mut out);
    ///     out[0]
    /// }
    ///
    /// # let mut data = *b"abcdef";
    /// # let kvec = bindings::kvec {
    /// #     iov_base: data.as_mut_ptr().cast(),
    /// #     iov_len: data.len(),
    /// # };
    /// # let mut iter = bindings::iov_iter::default();
    /// # let len = data.len();
    /// # // SAFETY: `kvec` and the bytes that it points at outlive `iter`.
    /// # unsafe { bindings::iov_iter_kvec(&mut iter, bindings::ITER_SOURCE, &kvec, 1, len) };
    /// # // SAFETY: `iter` is a valid source, only accessed through the reference.
    /// # let iov = unsafe { IovIterSource::from_raw(&mut iter) };
    /// assert_eq!(first(iov), b'a');
    /// ```
    ///
    /// [`copy_from_iter`]: IovIterSource::copy_from_iter
    #[inline(always)]
    pub fn peek_short<'o, const N: usize>(
        &self,
        out: &'o mut [MaybeUninit<u8>],
    ) -> Option<&'o mut [u8]> {
        let len = self.len();
        let (zeroes, room) = out.split_first_chunk_mut()?;
        let room = room.get_mut(..len)?;

        *zeroes = [MaybeUninit::new(0); N];
        // SAFETY: By the type invariants, `self.iov` is a valid IO vector, which this call only
        // reads. The buffer has room for as many bytes as it has.
        if !unsafe { bindings::iov_iter_peek_short(room.as_mut_ptr().cast(), self.iov.get()) } {
            return None;
        }
        // SAFETY: The buffer has so many bytes, as was just checked. The first `N` of them were
        // just written, and the others by C.
        Some(unsafe { slice::from_raw_parts_mut(out.as_mut_ptr().cast(), N + len) })
    }

    /// Reads all of this IO vector as [`peek_short`](Self::peek_short) does, but returns `None`
    /// also if user memory is not present.
    ///
    /// # Context
    ///
    /// As [`copy_nofault`](Self::copy_nofault).
    ///
    /// # Examples
    ///
    /// ```
    /// use core::mem::MaybeUninit;
    /// use kernel::iov::IovIterSource;
    ///
    /// fn is_present(iov: &IovIterSource<'_>) -> bool {
    ///     iov.peek_short_nofault::<0>(&mut [MaybeUninit::uninit(); 16]).is_some()
    /// }
    /// ```
    #[inline]
    pub fn peek_short_nofault<'o, const N: usize>(
        &self,
        out: &'o mut [MaybeUninit<u8>],
    ) -> Option<&'o mut [u8]> {
        // SAFETY: This only counts up in the current task, and is undone below.
        unsafe { bindings::pagefault_disable() };

        let record = self.peek_short::<N>(out);

        // SAFETY: Page faults were disabled above, by the same task.
        unsafe { bindings::pagefault_enable() };

        record
    }

    /// Runs `f` on a copy of this IO vector, which itself does not advance.
    ///
    /// With this, the same data can be handed to several readers. Each of them sees the data as it
    /// is when it reads: user memory may have changed since the reader before.
    ///
    /// # Context
    ///
    /// Any.
    ///
    /// # Examples
    ///
    /// ```
    /// # use kernel::bindings;
    /// use kernel::iov::IovIterSource;
    ///
    /// fn read_twice(iov: &IovIterSource<'_>) -> [[u8; 4]; 2] {
    ///     let mut out = [[0; 4]; 2];
    ///     for buf in &mut out {
    ///         iov.with_snapshot(|iov| iov.copy_from_iter(buf));
    ///     }
    ///     out
    /// }
    ///
    /// # let mut data = *b"abcdef";
    /// # let kvec = bindings::kvec {
    /// #     iov_base: data.as_mut_ptr().cast(),
    /// #     iov_len: data.len(),
    /// # };
    /// # let mut iter = bindings::iov_iter::default();
    /// # let len = data.len();
    /// # // SAFETY: `kvec` and the bytes that it points at outlive `iter`.
    /// # unsafe { bindings::iov_iter_kvec(&mut iter, bindings::ITER_SOURCE, &kvec, 1, len) };
    /// # // SAFETY: `iter` is a valid source, only accessed through the reference.
    /// # let iov = unsafe { IovIterSource::from_raw(&mut iter) };
    /// assert_eq!(read_twice(iov), [*b"abcd", *b"abcd"]);
    /// assert_eq!(iov.len(), 6);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn with_snapshot<R>(&self, f: impl FnOnce(&mut IovIterSource<'_>) -> R) -> R {
        // The state of an IO vector is all in `struct iov_iter`: what it points at (the array of
        // segments, the folio queue, the data) is not changed by reading from it, and nothing in it
        // points back at itself. So C code copies it by assignment, and so does this.
        //
        // SAFETY: `self` is valid for reads, and the type is not `Sync`, so it is not written
        // concurrently. The copy fulfils the type invariants: the data may be read for the duration
        // of `'data`, which outlives the borrow of `self`, by any number of readers. The type has
        // no drop glue, and owns nothing, so it can be copied.
        let mut snapshot = unsafe { ptr::read(self) };

        f(&mut snapshot)
    }
}
