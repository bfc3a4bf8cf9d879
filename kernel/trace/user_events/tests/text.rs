// SPDX-License-Identifier: GPL-2.0

//! Tests of numbers in text, of the print format and of the declaration.

use kernel::prelude::*;

#[kunit_tests(user_events_text)]
mod tests {
    use super::*;
    use crate::{
        canonical_fields::of_args,
        num::{
            hex,
            parse_u32,
            Base, //
        },
        parse::fields,
        print_fmt,
        tests::{
            c_string,
            row, //
        }, //
    };
    use kernel::str::CString;

    fn number(text: &str, base: Base, expected: Result<u32>) -> bool {
        row(text, parse_u32(text.as_bytes(), base) == expected)
    }

    fn prints(text: &str, expected: &str) -> bool {
        let ok = fields(Some(text.as_bytes()))
            .and_then(|layout| print_fmt::text(&layout))
            .is_ok_and(|print_fmt| print_fmt[..] == *expected.as_bytes());

        row(text, ok)
    }

    fn declares(text: &str, expected: &str) -> Result<bool> {
        let signature = c_string(of_args(Some(text.as_bytes()))?)?;
        let line = CString::try_from_fmt(fmt!("u:ev{}", print_fmt::Declaration(&signature)))?;

        Ok(row(text, line.to_bytes() == expected.as_bytes()))
    }

    #[test]
    fn decimal_numbers() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("7", Ok(7)),
            ("007", Ok(7)),
            ("+7", Ok(7)),
            ("7\n", Err(EINVAL)),
            ("4294967295", Ok(u32::MAX)),
            ("4294967296", Err(ERANGE)),
            ("99999999999999999999999", Err(ERANGE)),
            ("", Err(EINVAL)),
            ("+", Err(EINVAL)),
            ("\n", Err(EINVAL)),
            ("-1", Err(EINVAL)),
            ("++1", Err(EINVAL)),
            (" 1", Err(EINVAL)),
            ("1 ", Err(EINVAL)),
            ("1a", Err(EINVAL)),
            ("0x1", Err(EINVAL)),
        ] {
            assert!(number(text, Base::Decimal, expected));
        }
    }

    #[test]
    fn numbers_of_any_base() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("00", Ok(0)),
            ("20", Ok(20)),
            ("020", Ok(16)),
            ("0x14", Ok(20)),
            ("0X1f", Ok(31)),
            ("0xFf", Ok(255)),
            ("+0x14", Ok(20)),
            ("0xffffffff", Ok(u32::MAX)),
            ("0x100000000", Err(ERANGE)),
            ("037777777777", Ok(u32::MAX)),
            ("040000000000", Err(ERANGE)),
            ("0x", Err(EINVAL)),
            ("0xg", Err(EINVAL)),
            ("x1", Err(EINVAL)),
            ("08", Err(EINVAL)),
            ("0x+1", Err(EINVAL)),
            ("aa", Err(EINVAL)),
            ("", Err(EINVAL)),
        ] {
            assert!(number(text, Base::Auto, expected));
        }
    }

    #[test]
    fn hexadecimal_numbers() {
        for (number, expected) in [
            (0, "0"),
            (9, "9"),
            (0xa, "a"),
            (0xf, "f"),
            (0x10, "10"),
            (0x1002, "1002"),
            (0xfedc_ba98_7654_3210, "fedcba9876543210"),
            (u64::MAX, "ffffffffffffffff"),
        ] {
            assert!(row(
                expected,
                hex(number, &mut [0; 16]) == expected.as_bytes()
            ));
        }
    }

    #[test]
    fn print_formats_of_one_field() {
        for (text, expected) in [
            ("", "\"\""),
            ("s64 a", "\"a=%lld\", REC->a"),
            ("u64 a", "\"a=%llu\", REC->a"),
            ("s32 a", "\"a=%d\", REC->a"),
            ("u32 a", "\"a=%u\", REC->a"),
            ("int a", "\"a=%d\", REC->a"),
            ("unsigned int a", "\"a=%u\", REC->a"),
            ("s16 a", "\"a=%d\", REC->a"),
            ("u16 a", "\"a=%u\", REC->a"),
            ("short a", "\"a=%d\", REC->a"),
            ("unsigned short a", "\"a=%u\", REC->a"),
            ("s8 a", "\"a=%d\", REC->a"),
            ("u8 a", "\"a=%u\", REC->a"),
            ("char a", "\"a=%d\", REC->a"),
            ("unsigned char a", "\"a=%u\", REC->a"),
            ("char[4] a", "\"a=%s\", REC->a"),
            ("unsigned char[4] a", "\"a=%s\", REC->a"),
            ("struct s a 4", "\"a=%llu\", REC->a"),
            ("__data_loc char[] a", "\"a=%s\", __get_str(a)"),
            ("__data_loc unsigned char[] a", "\"a=%s\", __get_str(a)"),
            ("__rel_loc char[] a", "\"a=%s\", __get_rel_str(a)"),
            ("__data_loc mychar a", "\"a=%llu\", __get_str(a)"),
            ("__data_loc u32[] a", "\"a=%llu\", REC->a"),
            ("__rel_loc u8[] a", "\"a=%llu\", REC->a"),
            ("char *p", "\"*p=%d\", REC->*p"),
        ] {
            assert!(prints(text, expected));
        }
    }

    #[test]
    fn print_formats_of_more_fields() {
        assert!(prints(
            "u32 a; __rel_loc char[] b;struct s c 3",
            "\"a=%u b=%s c=%llu\", REC->a, __get_rel_str(b), REC->c"
        ));
    }

    #[test]
    fn declarations() -> Result {
        assert!(declares("", "u:ev")?);
        assert!(declares(" ; ", "u:ev")?);
        assert!(declares("u32 a", "u:ev u32 a")?);
        assert!(declares("u32 a;u64 b;", "u:ev u32 a; u64 b")?);
        assert!(declares("struct s a 020;u8 b", "u:ev struct s a 20; u8 b")?);
        assert!(declares(
            "char[0x14] a;char *p",
            "u:ev char[0x14] a; char *p"
        )?);
        Ok(())
    }
}
