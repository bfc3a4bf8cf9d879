// SPDX-License-Identifier: GPL-2.0

//! Tests of what is recorded, and printed, of texts, socket addresses, the context and names.

use super::{
    printed,
    Memory, //
};
use crate::{
    bindings,
    prelude::*,
    trace::trace_event, //
};

trace_event! {
    system: "rust_kunit";

    /// With a text.
    event rust_kunit_text(from: &str) {
        fields {
            text: text = fmt!("{from}"),
        }
        print("text=%s", text)
    }

    /// With socket addresses.
    event rust_kunit_address(address: &[u8], fixed: &[u8; 28]) {
        fields {
            address: [u8] = address,
            near: rel [u8] = address,
            fixed: [u8; 28] = *fixed,
        }
        print("%pISpc %pIS %pISpfsc", address, near, fixed)
    }

    /// With the context.
    event rust_kunit_context(number: u32) {
        fields {
            number: u32 = number,
        }
        print("hard=%d soft=%d irq=%d", in_hardirq(), in_softirq(), in_irq())
    }

    /// With names of numbers of 64 bits.
    event rust_kunit_flags(number: u64) {
        fields {
            number: u64 = number,
            signed: i32 = -1,
        }
        print(
            "%s %s %s",
            flags(number, "|", [(1, "low"), (0x1_0000_0000, "high")]),
            symbolic(number, WIDE),
            symbolic(signed, [(-1, "minus")])
        )
    }
}

const WIDE: [(u64, &str); 3] = [
    (1, "one"),
    (0x1_0000_0001, "both"),
    (0x8000_0000_0000_0000, "highest"),
];

/// Room for a record, which is aligned as one in a buffer.
#[repr(align(8))]
struct Record<const N: usize>([u8; N]);

/// Returns a socket address with port 8080, and 127.0.0.1 or, in IPv6, ::1.
fn socket_address(family: u32) -> [u8; 28] {
    let mut address = [0; 28];

    // CAST: It is a small number.
    address[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    address[2..4].copy_from_slice(&8080u16.to_be_bytes());
    if family == bindings::AF_INET6 {
        // The flow, the address, and the scope.
        address[7] = 5;
        address[23] = 1;
        address[24..].copy_from_slice(&7u32.to_ne_bytes());
    } else {
        address[4..8].copy_from_slice(&[127, 0, 0, 1]);
    }
    address
}

/// Returns the printed line of a record with the first `len` bytes of a socket address, and with
/// all of it, if the last `missing` bytes of the record are cut off.
fn printed_address(family: u32, len: usize, missing: usize) -> Result<KVec<u8>> {
    let address = socket_address(family);
    let mut record = Record([0; 128]);
    // The header, two places, the array, and twice what has no fixed size.
    let size = 8 + 2 * 4 + 28 + 2 * len;

    __write_rust_kunit_address(
        Memory(&mut record.0),
        address.get(..len).ok_or(EINVAL)?,
        &address,
    );
    // SAFETY: This is a record and the function of the event.
    unsafe {
        printed(
            __output_rust_kunit_address,
            &__event_rust_kunit_address,
            &mut record.0,
            (size - missing) as c_int,
        )
    }
}

/// Returns the printed line of a record that was written in the context of these flags.
fn printed_context(flags: u8) -> Result<KVec<u8>> {
    let mut record = Record([0; 16]);

    __write_rust_kunit_context(Memory(&mut record.0), 1);
    record.0[core::mem::offset_of!(bindings::trace_entry, flags)] = flags;
    record.0[core::mem::offset_of!(bindings::trace_entry, preempt_count)] = 0xff;
    // SAFETY: This is a record and the function of the event.
    unsafe {
        printed(
            __output_rust_kunit_context,
            &__event_rust_kunit_context,
            &mut record.0,
            12,
        )
    }
}

/// Returns the printed line of a record with the names of `number`.
fn printed_flags(number: u64) -> Result<KVec<u8>> {
    let mut record = Record([0; 24]);

    __write_rust_kunit_flags(Memory(&mut record.0), number);
    // SAFETY: This is a record and the function of the event.
    unsafe {
        printed(
            __output_rust_kunit_flags,
            &__event_rust_kunit_flags,
            &mut record.0,
            24,
        )
    }
}

/// Returns `true` if a line has the name of the event, followed by these values.
fn is_line(line: &[u8], name: &str, values: &str) -> bool {
    line.strip_prefix(name.as_bytes())
        .and_then(|line| line.strip_prefix(b": "))
        .and_then(|line| line.strip_suffix(b"\n"))
        == Some(values.as_bytes())
}

#[macros::kunit_tests(rust_kernel_static_event_printed)]
mod suite {
    use super::*;

    #[test]
    fn long_texts_are_cut() -> Result {
        const LONG: &[u8] = &[b'x'; 600];
        let mut record = Record([0xff; 640]);

        __write_rust_kunit_text(Memory(&mut record.0), core::str::from_utf8(LONG)?);
        // The place of the text, 511 bytes of it, and a NUL.
        assert_eq!(record.0[8..12], (512u32 << 16 | 12).to_ne_bytes());
        assert!(record.0[12..523] == LONG[..511]);
        assert_eq!(record.0[523], 0);
        assert!(record.0[524..].iter().all(|byte| *byte == 0xff));
        Ok(())
    }

    #[test]
    fn socket_addresses() -> Result {
        let cases = [
            (
                bindings::AF_INET,
                16,
                "127.0.0.1:8080 127.0.0.1 127.0.0.1:8080",
            ),
            (
                bindings::AF_INET6,
                28,
                "[::1]:8080 0000:0000:0000:0000:0000:0000:0000:0001 [::1]:8080/5%7",
            ),
            (bindings::AF_UNIX, 28, "(einval) (einval) (einval)"),
        ];

        for (family, len, wanted) in cases {
            let line = printed_address(family, len, 0)?;
            assert!(is_line(&line, "rust_kunit_address", wanted));
        }
        Ok(())
    }

    #[test]
    fn short_socket_addresses() -> Result {
        for (family, len, fixed) in [
            (bindings::AF_INET, 15, "(einval) (einval) 127.0.0.1:8080"),
            (bindings::AF_INET, 1, "(einval) (einval) 127.0.0.1:8080"),
            (bindings::AF_INET, 0, "(einval) (einval) 127.0.0.1:8080"),
            (bindings::AF_INET6, 27, "(einval) (einval) [::1]:8080/5%7"),
            (bindings::AF_INET6, 16, "(einval) (einval) [::1]:8080/5%7"),
        ] {
            let line = printed_address(family, len, 0)?;
            assert!(is_line(&line, "rust_kunit_address", fixed));
        }

        // One that ends after the record.
        let line = printed_address(bindings::AF_INET, 16, 1)?;
        assert!(is_line(
            &line,
            "rust_kunit_address",
            "127.0.0.1:8080 (einval) 127.0.0.1:8080"
        ));
        Ok(())
    }

    #[test]
    fn contexts() -> Result {
        for (flags, wanted) in [
            (0x00, "hard=0 soft=0 irq=0"),
            (0x08, "hard=8 soft=0 irq=8"),
            (0x10, "hard=0 soft=16 irq=16"),
            (0x18, "hard=8 soft=16 irq=24"),
            (0xe7, "hard=0 soft=0 irq=0"),
        ] {
            let line = printed_context(flags)?;
            assert!(is_line(&line, "rust_kunit_context", wanted));
        }
        Ok(())
    }

    // A kernel with 32 bits compares all 64 of them.
    #[test]
    fn names_of_64_bits() -> Result {
        for (number, wanted) in [
            (1, "low one minus"),
            (0x1_0000_0001, "low|high both minus"),
            (0x1_0000_0000, "high 0x100000000 minus"),
            (0x2_0000_0001, "low|0x200000000 0x200000001 minus"),
            (1 << 63, "0x8000000000000000 highest minus"),
        ] {
            let line = printed_flags(number)?;
            assert!(is_line(&line, "rust_kunit_flags", wanted));
        }
        Ok(())
    }
}
