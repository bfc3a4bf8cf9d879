// SPDX-License-Identifier: GPL-2.0

//! Tests of the requests and of the arithmetic of enable bits.

use kernel::prelude::*;

#[kunit_tests(user_events_defs)]
mod tests {
    use super::*;
    use crate::defs::{
        EnableBit,
        UserBatch,
        UserRecord,
        UserReg,
        UserUnreg,
        Width,
        DIAG_IOCSBATCH,
        DIAG_IOCSDEL,
        DIAG_IOCSREG,
        DIAG_IOCSUNREG, //
    };
    use kernel::transmute::FromBytes;

    const LONG: usize = size_of::<usize>();

    /// Returns a request as a process would write it.
    fn reg(bit: u8, size: u8, flags: u16, addr: u64) -> Option<UserReg> {
        let mut bytes = [0u8; size_of::<UserReg>()];

        bytes[0] = 28;
        bytes[4] = bit;
        bytes[5] = size;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes[8..16].copy_from_slice(&addr.to_ne_bytes());
        bytes[16..24].copy_from_slice(&0x1122_3344_5566u64.to_ne_bytes());
        UserReg::from_bytes_copy(&bytes)
    }

    fn errno(bit: u8, size: u8, flags: u16, addr: u64) -> Option<Error> {
        reg(bit, size, flags, addr)?.enable_bit().err()
    }

    fn target(addr: usize, bit: u8, width: Width, long: usize, big: bool) -> Option<(usize, u32)> {
        Some(EnableBit::new(addr, bit, width)?.target_on(long, big))
    }

    #[test]
    fn ioctl_numbers() {
        let size = (LONG as u32) << 16;

        assert_eq!(DIAG_IOCSREG, 0xc000_2a00 | size);
        assert_eq!(DIAG_IOCSDEL, 0x4000_2a01 | size);
        assert_eq!(DIAG_IOCSUNREG, 0x4000_2a02 | size);
        assert_eq!(DIAG_IOCSBATCH, 0x4000_2a03 | size);
    }

    #[cfg(CONFIG_COMPAT)]
    #[test]
    fn ioctl_numbers_of_32_bits() {
        use crate::defs::{
            COMPAT_DIAG_IOCSBATCH,
            COMPAT_DIAG_IOCSDEL,
            COMPAT_DIAG_IOCSREG,
            COMPAT_DIAG_IOCSUNREG, //
        };

        assert_eq!(COMPAT_DIAG_IOCSREG, 0xc004_2a00);
        assert_eq!(COMPAT_DIAG_IOCSDEL, 0x4004_2a01);
        assert_eq!(COMPAT_DIAG_IOCSUNREG, 0x4004_2a02);
        assert_eq!(COMPAT_DIAG_IOCSBATCH, 0x4004_2a03);
    }

    #[test]
    fn batch_values() -> Result {
        let mut bytes = [0u8; size_of::<UserBatch>()];

        bytes[0] = 16;
        bytes[4..8].copy_from_slice(&0xffff_fff0u32.to_ne_bytes());
        bytes[8..].copy_from_slice(&0x1122_3344_5566u64.to_ne_bytes());

        let batch = UserBatch::from_bytes_copy(&bytes).ok_or(EINVAL)?;
        assert_eq!(batch.len(), 0xffff_fff0);
        assert_eq!(batch.records(), 0x1122_3344_5566);

        let mut head = [0xff; size_of::<UserRecord>()];
        head[..4].copy_from_slice(&20u32.to_ne_bytes());
        assert_eq!(UserRecord::new(head).size(), 20);
        Ok(())
    }

    #[test]
    fn records_are_aligned() {
        for (size, stride) in [(8, 8), (9, 16), (15, 16), (16, 16), (17, 24)] {
            assert_eq!(UserRecord::stride(size), stride);
        }
        assert!(UserRecord::stride(usize::MAX) >= usize::MAX - UserRecord::ALIGN);
    }

    #[test]
    fn registration_values() -> Result {
        let request = reg(31, 4, 3, 0x1000).ok_or(EINVAL)?;
        let bit = request.enable_bit()?;

        assert_eq!(bit.addr(), 0x1000);
        assert_eq!(bit.bit(), 31);
        assert_eq!(bit.bytes(), 4);
        assert_eq!(request.name_args(), 0x1122_3344_5566);
        assert!(request.is_persist() && request.is_multi_format());
        assert_eq!(UserReg::WRITE_INDEX, 24);

        let request = reg(0, 4, 0, 0x1004).ok_or(EINVAL)?;
        assert!(!request.is_persist() && !request.is_multi_format());
        assert!(request.enable_bit().is_ok());
        Ok(())
    }

    #[test]
    fn registration_errors() {
        for flags in [4, 7, 0x100, 0x8000] {
            assert_eq!(errno(0, 4, flags, 0x1000), Some(EINVAL));
        }
        for size in [0, 1, 2, 3, 5, 6, 7, 9, 16, 128, 255] {
            assert_eq!(errno(0, size, 0, 0x1000), Some(EINVAL));
        }
        for addr in [0x1001, 0x1002, 0x1003] {
            assert_eq!(errno(0, 4, 0, addr), Some(EINVAL));
        }
        for bit in [32, 63, 64, 255] {
            assert_eq!(errno(bit, 4, 0, 0x1000), Some(EINVAL));
        }
        // An invalid number is detected before an invalid address.
        assert_eq!(errno(32, 4, 0, u64::MAX - 3), Some(EINVAL));
    }

    #[test]
    fn registration_of_8_bytes() {
        if LONG < 8 {
            assert_eq!(errno(0, 8, 0, 0x1000), Some(EINVAL));
            return;
        }
        assert_eq!(errno(0, 8, 0, 0x1000), None);
        assert_eq!(errno(63, 8, 0, 0x1000), None);
        assert_eq!(errno(64, 8, 0, 0x1000), Some(EINVAL));
        for addr in [0x1001, 0x1002, 0x1004, 0x1006] {
            assert_eq!(errno(0, 8, 0, addr), Some(EINVAL));
        }
    }

    #[test]
    fn unregistration() -> Result {
        let mut bytes = [0u8; size_of::<UserUnreg>()];

        bytes[0] = 16;
        bytes[4] = 17;
        bytes[8..16].copy_from_slice(&0x1003u64.to_ne_bytes());

        let request = UserUnreg::from_bytes_copy(&bytes).ok_or(EINVAL)?;
        assert!(request.validate().is_ok());
        assert_eq!(request.disable_addr(), 0x1003);
        assert_eq!(request.disable_bit(), 17);

        for reserved in [5, 6, 7] {
            let mut bytes = bytes;

            bytes[reserved] = 1;
            let request = UserUnreg::from_bytes_copy(&bytes).ok_or(EINVAL)?;
            assert_eq!(request.validate(), Err(EINVAL));
        }
        Ok(())
    }

    /// Checks the bits of the long at 0x1000 that the bits of three words are: the one of 64 bits,
    /// and those of 32 bits at its start and in its middle.
    fn check_targets(long: usize, big: bool, start: u32, middle: u32) -> bool {
        let half = 0x1000 + 4;
        let middle_long = if long == 4 { half } else { 0x1000 };

        [0u8, 1, 31].iter().all(|bit| {
            let nr = u32::from(*bit);

            target(0x1000, *bit, Width::Bits32, long, big) == Some((0x1000, start + nr))
                && target(half, *bit, Width::Bits32, long, big) == Some((middle_long, middle + nr))
        })
    }

    #[test]
    fn targets() {
        assert!(check_targets(8, false, 0, 32));
        assert!(check_targets(8, true, 32, 0));
        assert!(check_targets(4, false, 0, 0));
        assert!(check_targets(4, true, 0, 0));

        for big in [false, true] {
            for bit in [0u8, 31, 32, 63] {
                let expected = Some((0x1008, u32::from(bit)));

                assert_eq!(target(0x1008, bit, Width::Bits64, 8, big), expected);
            }
        }
    }

    #[test]
    fn target_is_the_bit_that_a_process_sees() -> Result {
        // Both halves of a long, as 32-bit words, on this very machine.
        for bit in [0u8, 1, 15, 31] {
            for half in 0..LONG / 4 {
                let bit = EnableBit::new(0x1000 + 4 * half, bit, Width::Bits32).ok_or(EINVAL)?;
                let (addr, nr) = bit.target();
                let long = (1usize << nr).to_ne_bytes();
                let at = bit.addr() - addr;
                let word: [u8; 4] = long[at..at + 4].try_into().map_err(|_| EINVAL)?;

                assert_eq!(u32::from_ne_bytes(word), 1u32 << bit.bit());
            }
        }
        Ok(())
    }

    #[test]
    fn keys_tell_bits_apart() -> Result {
        let last = if LONG < 8 {
            0xffff_f000
        } else {
            (1usize << (LONG * 8 - 8)) - 8
        };
        let addrs = [0, 4, 8, 0x1000, 0x1004, 0x7fff_fff8, last];
        let mut keys = KVec::new();

        for addr in addrs {
            for bit in [0, 1, 31, 32, 63] {
                for bit in EnableBit::both_widths(addr, bit) {
                    let back = EnableBit::from_key(bit.key());

                    assert_eq!(back.addr(), bit.addr());
                    assert_eq!(back.bit(), bit.bit());
                    assert_eq!(back.bytes(), bit.bytes());
                    assert!(!keys.contains(&bit.key()));
                    keys.push(bit.key(), GFP_KERNEL)?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn keys_of_both_widths() -> Result {
        let bit = EnableBit::new(0x1008, 5, Width::Bits32).ok_or(EINVAL)?;
        let [narrow, wide] = bit.keys();

        assert_eq!(bit.key(), narrow);
        assert_eq!(EnableBit::from_key(wide).addr(), 0x1008);
        assert_eq!(EnableBit::from_key(wide).bit(), 5);
        assert_eq!(EnableBit::from_key(wide).bytes(), 8);
        Ok(())
    }

    /// Checks that the bits of an address that the machine ignores do not distinguish enable bits.
    #[test]
    fn address_tags() -> Result {
        let tags = cfg!(any(
            CONFIG_ARM64_TAGGED_ADDR_ABI,
            CONFIG_ADDRESS_MASKING,
            CONFIG_RISCV_ISA_SUPM
        ));
        if LONG < 8 {
            return Ok(());
        }
        let plain = EnableBit::new(0x1008, 5, Width::Bits32).ok_or(EINVAL)?;

        for tag in [
            1u64 << 56,
            1 << 57,
            0x2a << 57,
            1 << 62,
            1 << 63,
            0xff << 56,
        ] {
            // CAST: A `usize` has as many bits here.
            let addr = 0x1008 | tag as usize;
            let bit = EnableBit::new(addr, 5, Width::Bits32);

            assert_eq!(bit.is_some(), tags);
            if let Some(bit) = bit {
                // For the memory it is what the process said, for all else the same bit.
                assert_eq!(bit.addr(), addr);
                assert_eq!(bit.key(), plain.key());
                assert_eq!(bit.keys(), plain.keys());
                assert_eq!(EnableBit::from_key(bit.key()).addr(), plain.addr());
            }
        }
        // Not a tag: another word.
        let other = EnableBit::new(0x1008 | 1 << 55, 5, Width::Bits32).ok_or(EINVAL)?;
        assert!(other.key() != plain.key());
        Ok(())
    }

    #[test]
    fn both_widths_are_possible_ones() {
        assert_eq!(EnableBit::both_widths(0x1000, 31).count(), 2);
        assert_eq!(EnableBit::both_widths(0x1000, 32).count(), 1);
        assert_eq!(EnableBit::both_widths(0x1004, 0).count(), 1);
        assert_eq!(EnableBit::both_widths(0x1004, 32).count(), 0);
        assert_eq!(EnableBit::both_widths(0x1001, 0).count(), 0);
        assert_eq!(EnableBit::both_widths(0x1000, 64).count(), 0);
        assert_eq!(EnableBit::both_widths(0x1000, 255).count(), 0);
    }
}
