// SPDX-License-Identifier: GPL-2.0

//! Tests of the checks of a record.

use kernel::prelude::*;

#[kunit_tests(user_events_validate)]
mod tests {
    use super::*;
    use crate::{
        defs::HEADER_SIZE,
        parse::fields,
        tests::row,
        validate, //
    };

    const HEADER: usize = HEADER_SIZE as usize;

    /// Returns a location word.
    fn loc(offset: u16, size: u16) -> [u8; 4] {
        (u32::from(size) << 16 | u32::from(offset)).to_ne_bytes()
    }

    /// Returns `true` if a record passes. Its header ends with a byte that is not 0.
    fn passes(text: &str, words: &[[u8; 4]], tail: &[u8]) -> Result<bool> {
        let layout = fields(Some(text.as_bytes()))?;
        let mut record = KVec::from_elem(0xffu8, HEADER, GFP_KERNEL)?;

        for word in words {
            record.extend_from_slice(word, GFP_KERNEL)?;
        }
        record.extend_from_slice(tail, GFP_KERNEL)?;

        Ok(validate::record(&layout.validators, &record))
    }

    #[test]
    fn nothing_to_check() {
        assert!(validate::record(&[], &[]));
        assert!(passes("u32 a;char[4] b;struct __data_loc_char c 4", &[], b"") == Ok(true));
    }

    #[test]
    fn absolute_strings() -> Result {
        let text = "__data_loc char[] a";

        // The word is at 8, the string at 12; the record ends at 16.
        for (offset, size, ok) in [
            (12, 4, true),
            (12, 1, false),
            (13, 3, true),
            (15, 1, true),
            (12, 3, false),
            (12, 5, false),
            (13, 4, false),
            (16, 1, false),
            (17, 1, false),
            (0xffff, 1, false),
            (12, 0xffff, false),
            (0xffff, 0xffff, false),
            (8, 8, true),
            // The header is in reach, but does not end with a NUL here.
            (0, 16, true),
            (0, 8, false),
            (7, 1, false),
        ] {
            assert!(row(
                text,
                passes(text, &[loc(offset, size)], b"abc\0")? == ok
            ));
        }
        Ok(())
    }

    #[test]
    fn relative_strings() -> Result {
        let text = "__rel_loc char[] a";

        for (offset, size, ok) in [
            (0, 4, true),
            (1, 3, true),
            (3, 1, true),
            (0, 3, false),
            (0, 5, false),
            (1, 4, false),
            (4, 1, false),
            (5, 1, false),
            (0xffff, 1, false),
            (0, 0xffff, false),
        ] {
            assert!(row(
                text,
                passes(text, &[loc(offset, size)], b"abc\0")? == ok
            ));
        }
        Ok(())
    }

    #[test]
    fn strings_of_no_bytes() -> Result {
        // Whatever is before the place, even a NUL.
        for offset in [0, 4, 8, 12, 13, 16] {
            assert!(!passes(
                "__data_loc char[] a",
                &[loc(offset, 0)],
                b"\0\0\0\0"
            )?);
            assert!(!passes(
                "__rel_loc char[] a",
                &[loc(offset, 0)],
                b"\0\0\0\0"
            )?);
        }
        Ok(())
    }

    #[test]
    fn data_that_is_no_string() -> Result {
        for (offset, size, ok) in [
            (0, 0, true),
            (12, 0, true),
            (16, 0, true),
            (17, 0, false),
            (12, 4, true),
            (12, 5, false),
            (0, 16, true),
            (0, 17, false),
        ] {
            let text = "__data_loc u8[] a";
            assert!(row(
                text,
                passes(text, &[loc(offset, size)], b"abcd")? == ok
            ));
        }
        for (offset, size, ok) in [(0, 0, true), (4, 0, true), (5, 0, false), (0, 4, true)] {
            let text = "__rel_loc u8[] a";
            assert!(row(
                text,
                passes(text, &[loc(offset, size)], b"abcd")? == ok
            ));
        }
        Ok(())
    }

    #[test]
    fn every_word_counts() -> Result {
        let text = "__rel_loc char[] a;__data_loc u8[] b";
        let good = [loc(4, 2), loc(16, 2)];
        let first_bad = [loc(4, 9), loc(16, 2)];
        let second_bad = [loc(4, 2), loc(16, 3)];

        assert!(passes(text, &good, b"x\0")?);
        assert!(!passes(text, &first_bad, b"x\0")?);
        assert!(!passes(text, &second_bad, b"x\0")?);
        Ok(())
    }

    #[test]
    fn short_records() -> Result {
        let layout = fields(Some(b"u32 x;__data_loc u8[] a"))?;
        let record = [0u8; HEADER + 8];

        for len in 0..record.len() {
            assert!(!validate::record(&layout.validators, &record[..len]));
        }
        assert!(validate::record(&layout.validators, &record));
        Ok(())
    }
}
