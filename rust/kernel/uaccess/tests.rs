// SPDX-License-Identifier: GPL-2.0

//! Tests of what accesses user memory: [`uaccess`], the parts of [`iov`] that deal with page
//! faults, and [`mm::gup`].
//!
//! KUnit creates an address space for the thread of a test on request, so these tests run on real
//! user memory, which is not present before it is first touched.
//!
//! [`uaccess`]: crate::uaccess
//! [`iov`]: crate::iov
//! [`mm::gup`]: crate::mm::gup

use macros::kunit_tests;

#[kunit_tests(rust_user_memory)]
mod user_memory {
    use crate::{
        bindings,
        iov::IovIterSource,
        mm::MmWithUser,
        page::PAGE_SIZE,
        prelude::*,
        sync::aref::ARef,
        uaccess::{
            access_ok,
            copy_available,
            copy_struct_from_user,
            strndup_user,
            UserPtr,
            UserSlice, //
        }, //
    };
    use core::{
        mem::MaybeUninit,
        ptr, //
    };

    /// Maps a new page, which is not present yet, and returns its address.
    fn map_page() -> Result<usize> {
        // SAFETY: The current task runs a KUnit test, since only tests call this. It is a thread of
        // its own, for which an address space does no harm.
        let addr = unsafe {
            bindings::kunit_vm_mmap(
                bindings::kunit_get_current_test(),
                ptr::null_mut(),
                0,
                PAGE_SIZE,
                (bindings::PROT_READ | bindings::PROT_WRITE) as usize,
                (bindings::MAP_PRIVATE | bindings::MAP_ANONYMOUS) as usize,
                0,
            )
        };

        // Errors are at the very end of the address space.
        match addr {
            0 => Err(ENOMEM),
            _ if !access_ok(UserPtr::from_addr(addr), PAGE_SIZE) => Err(ENOMEM),
            _ => Ok(addr),
        }
    }

    /// Maps a new page and writes `data` to its beginning.
    fn map_bytes(data: &[u8]) -> Result<UserPtr> {
        let ptr = UserPtr::from_addr(map_page()?);

        UserSlice::new(ptr, data.len()).writer().write_slice(data)?;
        Ok(ptr)
    }

    fn mm() -> Result<ARef<MmWithUser>> {
        current!().mm().map(ARef::from).ok_or(EINVAL)
    }

    #[test]
    fn access_ok_knows_the_limit() -> Result {
        let addr = map_page()?;

        assert!(access_ok(UserPtr::from_addr(addr), PAGE_SIZE));
        #[cfg(CONFIG_X86_64)]
        assert!(!access_ok(UserPtr::from_addr(usize::MAX - 7), 8));
        Ok(())
    }

    #[test]
    fn copy_struct_of_other_sizes() -> Result {
        let ptr = map_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9])?;

        // The same size, an older program, and one that passes nothing.
        assert_eq!(copy_struct_from_user::<[u8; 4]>(ptr, 4)?, [1, 2, 3, 4]);
        assert_eq!(copy_struct_from_user::<[u8; 4]>(ptr, 3)?, [1, 2, 3, 0]);
        assert_eq!(copy_struct_from_user::<[u8; 4]>(ptr, 0)?, [0; 4]);

        // A newer program, which uses what the kernel does not know, or does not.
        assert_eq!(copy_struct_from_user::<[u8; 4]>(ptr, 5), Err(E2BIG));
        assert!(copy_struct_from_user::<[u8; 8]>(ptr, 11).is_ok());
        assert_eq!(copy_struct_from_user::<[u8; 8]>(ptr, 12), Err(E2BIG));

        // Nothing is mapped at the address 0.
        let null = UserPtr::from_addr(0);
        assert_eq!(copy_struct_from_user::<[u8; 4]>(null, 4), Err(EFAULT));
        assert_eq!(copy_struct_from_user::<[u8; 4]>(null, 5), Err(EFAULT));
        Ok(())
    }

    #[test]
    fn strndup_counts_the_nul() -> Result {
        let ptr = map_bytes(b"abc\0def")?;

        assert_eq!(strndup_user(ptr, 100)?.to_bytes(), b"abc");
        assert_eq!(strndup_user(ptr, 4)?.to_bytes(), b"abc");
        assert_eq!(strndup_user(ptr, 3).err(), Some(EINVAL));
        // The length that User-Mode Linux finds is one, and too long.
        let nothing = if cfg!(CONFIG_UML) { EINVAL } else { EFAULT };
        assert_eq!(strndup_user(ptr, 0).err(), Some(nothing));
        assert_eq!(strndup_user(ptr.wrapping_byte_add(3), 1)?.to_bytes(), b"");
        assert_eq!(strndup_user(ptr, usize::MAX)?.to_bytes(), b"abc");
        assert_eq!(strndup_user(UserPtr::from_addr(0), 100).err(), Some(EFAULT));
        Ok(())
    }

    #[test]
    fn copy_available_copies_what_there_is() -> Result {
        let ptr = map_bytes(b"abc")?;
        let mut out = [MaybeUninit::uninit(); 8];

        assert_eq!(copy_available(ptr, &mut out), b"abc\0\0\0\0\0");
        assert_eq!(copy_available(ptr, &mut out[..2]), b"ab");
        assert_eq!(copy_available(ptr, &mut []), b"");
        assert!(copy_available(UserPtr::from_addr(0), &mut out).is_empty());
        Ok(())
    }

    #[test]
    fn peek_short_nofault_needs_a_page() -> Result {
        let ptr = UserPtr::from_addr(map_page()?);
        let mut out = [MaybeUninit::uninit(); 12];

        IovIterSource::with_user(ptr, 8, |iov| {
            assert!(iov.peek_short_nofault::<4>(&mut out).is_none());
            assert!(iov.fault_in_readable(8));
            if cfg!(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) {
                let record = iov.peek_short_nofault::<4>(&mut out);

                assert_eq!(record.as_deref(), Some(&[0; 12][..]));
            }
            assert_eq!(iov.len(), 8);
        })
    }

    #[test]
    fn copy_nofault_needs_a_page() -> Result {
        let ptr = UserPtr::from_addr(map_page()?);
        let mut buf = [0xff; 8];

        IovIterSource::with_user(ptr, 8, |iov| {
            assert_eq!(iov.copy_nofault(&mut buf), 0);
            assert_eq!(iov.len(), 8);

            assert!(iov.fault_in_readable(8));
            // The source has only 8 bytes.
            assert!(!iov.fault_in_readable(9));

            assert_eq!(iov.with_snapshot(|iov| iov.copy_nofault(&mut buf)), 8);
            assert_eq!(iov.len(), 8);
            assert_eq!(iov.copy_nofault(&mut buf[..3]), 3);
            assert_eq!(iov.len(), 5);
        })?;
        assert_eq!(buf, [0; 8]);

        IovIterSource::with_user(UserPtr::from_addr(0), 8, |iov| {
            assert!(!iov.fault_in_readable(8));
            assert_eq!(iov.copy_nofault(&mut buf), 0);
        })
    }

    /// Reads `sizes` bytes one after the other, from `ptr` on, by one call.
    fn peek_segments(ptr: UserPtr, sizes: &[usize], out: &mut [MaybeUninit<u8>]) -> Option<usize> {
        let mut segments = [const {
            bindings::iovec {
                iov_base: ptr::null_mut(),
                iov_len: 0,
            }
        }; 4];
        let mut iter = bindings::iov_iter::default();
        let mut len = 0;

        for (segment, size) in segments.iter_mut().zip(sizes) {
            segment.iov_base = ptr.wrapping_byte_add(len).as_mut_ptr();
            segment.iov_len = *size;
            len += size;
        }
        // SAFETY: `iter` is valid for writes, and the segments outlive it. User memory is checked
        // on each access.
        unsafe {
            bindings::iov_iter_init(
                &mut iter,
                bindings::ITER_SOURCE,
                segments.as_ptr(),
                segments.len(),
                len,
            )
        };
        // SAFETY: `iov_iter_init()` has initialised `iter` as a valid source of user memory, which
        // may be read from at any time. It is only accessed through the reference.
        let iov = unsafe { IovIterSource::from_raw(&mut iter) };
        let record = iov.peek_short::<4>(out)?;

        assert_eq!(iov.len(), len);
        assert_eq!(record.len(), 4 + len);
        assert_eq!(record[..4], [0; 4]);
        // Each byte is one more than the one before it.
        assert!(record[4..].iter().zip(1..).all(|(byte, n)| *byte == n));
        Some(len)
    }

    #[test]
    fn peek_short_reads_all() -> Result {
        let bytes: [u8; 64] = core::array::from_fn(|i| i as u8 + 1);
        let ptr = map_bytes(&bytes)?;
        let out = &mut [MaybeUninit::uninit(); 4 + 40];

        if !cfg!(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) {
            assert_eq!(peek_segments(ptr, &[4], out), None);
            return Ok(());
        }
        for size in 0..=40 {
            assert_eq!(peek_segments(ptr, &[size], out), Some(size));
            assert_eq!(
                peek_segments(ptr, &[0, size / 3, 0, size / 2], out),
                Some(size / 3 + size / 2)
            );
        }
        // More than fit.
        assert_eq!(peek_segments(ptr, &[41], out), None);
        assert_eq!(peek_segments(ptr, &[40, 1], out), None);
        // Nothing is mapped at the address 0.
        assert_eq!(peek_segments(UserPtr::from_addr(0), &[1], out), None);
        assert_eq!(peek_segments(UserPtr::from_addr(0), &[0], out), Some(0));
        #[cfg(CONFIG_X86_64)]
        assert_eq!(
            peek_segments(UserPtr::from_addr(usize::MAX - 63), &[8], out),
            None
        );

        // As by `write(2)`, and after something was read.
        IovIterSource::with_user(ptr, 8, |iov| {
            assert!(iov
                .peek_short::<0>(out)
                .is_some_and(|read| *read == bytes[..8]));
            assert_eq!(iov.copy_from_iter(&mut [0; 1]), 1);
            assert!(iov.peek_short::<0>(out).is_none());
            assert_eq!(iov.len(), 7);
        })
    }

    #[test]
    fn pin_needs_a_page() -> Result {
        let addr = map_page()?;
        let mm = mm()?;
        let mut guard = mm.mmap_read_lock();

        assert!(guard.pin_page_nofault(addr).is_none());
        guard.fault_in_writeable(addr)?;
        assert!(guard.pin_page_nofault(addr).is_some());

        assert_eq!(guard.fault_in_writeable(0), Err(EFAULT));
        assert!(guard.pin_page_nofault(0).is_none());
        Ok(())
    }

    #[test]
    fn pinned_page_set_bit() -> Result {
        const WORD: usize = size_of::<c_ulong>();

        let addr = map_page()?;
        let mm = mm()?;

        let word = |offset| -> Result<c_ulong> {
            UserSlice::new(UserPtr::from_addr(addr + offset), WORD)
                .reader()
                .read()
        };

        let mut guard = mm.mmap_read_lock();
        guard.fault_in_writeable(addr)?;
        // Any address in the page stands for the page.
        let mut page = guard.pin_page_nofault(addr + 17).ok_or(EFAULT)?;
        drop(guard);

        page.set_bit(WORD, 0, true)?;
        page.set_bit(WORD, c_ulong::BITS - 1, true)?;
        page.set_bit(WORD, 5, true)?;
        page.set_bit(WORD, 5, false)?;
        page.set_bit(PAGE_SIZE - WORD, 4, true)?;

        assert_eq!(page.set_bit(1, 0, true), Err(EINVAL));
        assert_eq!(page.set_bit(PAGE_SIZE, 0, true), Err(EINVAL));
        assert_eq!(page.set_bit(0, c_ulong::BITS, true), Err(EINVAL));
        drop(page);

        assert_eq!(word(0)?, 0);
        assert_eq!(word(WORD)?, 1 | 1 << (c_ulong::BITS - 1));
        assert_eq!(word(PAGE_SIZE - WORD)?, 1 << 4);
        Ok(())
    }
}
