// SPDX-License-Identifier: GPL-2.0

//! Tests of the grammar: which texts describe an event and which do not.

use kernel::prelude::*;

#[kunit_tests(user_events_parse)]
mod tests {
    use super::*;
    use crate::{
        defs::{
            MULTI_SUFFIX_MAX,
            NAME_MAX, //
        },
        parse::{
            check_name,
            fields,
            split, //
        },
        tests::row, //
    };

    /// Returns `true` if all texts are accepted, or all are refused, according to `accepted`.
    fn all(texts: &[&str], accepted: bool) -> bool {
        texts.iter().all(|text| {
            let result = fields(Some(text.as_bytes()));
            let ok = match &result {
                Ok(_) => accepted,
                Err(e) => !accepted && *e == EINVAL,
            };

            row(text, ok)
        })
    }

    fn name_of(len: usize) -> Result<KVec<u8>> {
        Ok(KVec::from_elem(b'n', len, GFP_KERNEL)?)
    }

    #[test]
    fn descriptions() {
        assert_eq!(split(b"ev"), Ok((&b"ev"[..], None)));
        assert_eq!(split(b"ev "), Ok((&b"ev"[..], Some(&b""[..]))));
        assert_eq!(split(b"ev u32 a"), Ok((&b"ev"[..], Some(&b"u32 a"[..]))));
        assert_eq!(split(b"ev  u32 a"), Ok((&b"ev"[..], Some(&b" u32 a"[..]))));
        assert_eq!(split(b" ev"), Ok((&b""[..], Some(&b"ev"[..]))));
        assert_eq!(split(b""), Ok((&b""[..], None)));
        // Flags would follow a colon, and none exist.
        assert_eq!(split(b"ev:"), Err(EINVAL));
        assert_eq!(split(b"ev:flag u32 a"), Err(EINVAL));
        assert_eq!(split(b":ev"), Err(EINVAL));
        assert_eq!(split(b"ev\n"), Ok((&b"ev"[..], None)));
        assert_eq!(
            split(b"ev u32 a\n\n"),
            Ok((&b"ev"[..], Some(&b"u32 a"[..])))
        );
        assert_eq!(split(b"\n"), Ok((&b""[..], None)));
        assert_eq!(
            split(b"ev u32 a:b"),
            Ok((&b"ev"[..], Some(&b"u32 a:b"[..])))
        );
    }

    #[test]
    fn names() {
        for name in [
            "a",
            "_",
            "0",
            "__test_event",
            "a.b",
            "na-me",
            "1st",
            "Provider_L5K1Goption",
            "enabled",
            "filters",
            "x.",
            "x..",
            ".a",
            "...",
            "-a",
            "a*",
            "a,b",
            "a%s",
            "a\"",
            "a\\",
            "a;b",
            "a@b",
            "a+b",
            "a~b",
            "a#b",
            "a$b",
            "a\u{e4}",
            "\u{4e8b}\u{4ef6}",
            // Two of its bytes are 0xa0, which is a blank for `isspace()` of C.
            "\u{1f820}",
        ] {
            assert!(row(name, check_name(name.as_bytes(), false).is_ok()));
            assert!(row(name, check_name(name.as_bytes(), true).is_ok()));
        }
        for name in [
            "",
            "a/b",
            "/",
            "a:b",
            "a b",
            "a\nb",
            "a\tb",
            "a\u{7f}",
            "a\u{85}",
            "a\u{9b}",
            "a\u{a0}",
            "a\u{2028}",
        ] {
            assert!(row(name, check_name(name.as_bytes(), false) == Err(EINVAL)));
            assert!(row(name, check_name(name.as_bytes(), true) == Err(EINVAL)));
        }
        for name in [
            &b"a\xe4"[..],
            b"\xc3",
            b"\xa0a",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
        ] {
            assert_eq!(check_name(name, false), Err(EINVAL));
        }
        // With a suffix it is another name.
        for name in [&b"enable"[..], b"filter", b".", b".."] {
            assert_eq!(check_name(name, false), Err(EINVAL));
            assert_eq!(check_name(name, true), Ok(()));
        }
    }

    #[test]
    fn long_names() -> Result {
        let multi_max = NAME_MAX - MULTI_SUFFIX_MAX;

        assert_eq!(check_name(&name_of(NAME_MAX)?, false), Ok(()));
        assert_eq!(check_name(&name_of(NAME_MAX + 1)?, false), Err(EINVAL));
        assert_eq!(check_name(&name_of(multi_max)?, true), Ok(()));
        assert_eq!(check_name(&name_of(multi_max + 1)?, true), Err(EINVAL));
        Ok(())
    }

    #[test]
    fn separators() {
        assert!(all(
            &[
                "",
                " ",
                ";",
                ";;",
                " ; ;",
                "u32 a",
                "u32 a;",
                "u32 a;u32 b",
                "u32 a; u32 b",
                "u32 a;  u32 b",
                "u32 a;\tu32 b",
                "u32 a;\n u32 b;",
                "u32 a;;u32 b",
                ";u32 a",
                "  u32 a",
            ],
            true
        ));
        assert!(all(
            &[
                "u32  a",
                "u32 a ",
                "u32 a ;u32 b",
                "u32 a  ",
                "u32",
                "u32 ",
                "u32\ta",
                "u32\na",
                "u32 a\n",
                "u32 a\t",
                "u32 a;u32",
                "a",
                "u32 a b",
            ],
            false
        ));
    }

    #[test]
    fn scalars() {
        assert!(all(
            &[
                "s8 a",
                "u8 a",
                "char a",
                "unsigned char a",
                "s16 a",
                "u16 a",
                "short a",
                "unsigned short a",
                "s32 a",
                "u32 a",
                "int a",
                "unsigned int a",
                "s64 a",
                "u64 a",
            ],
            true
        ));
        assert!(all(
            &[
                "long a",
                "unsigned long a",
                "long long a",
                "size_t a",
                "bool a",
                "pid_t a",
                "float a",
                "u128 a",
                "u1 a",
                "U32 a",
                "signed int a",
                "unsigned u32 a",
                "unsigned a",
                "unsigned  int a",
                "unsigned int",
                "unsigned",
                "unsigned ",
                "const int a",
                "cpumask_t a",
                "u32[2] a",
                "s8[4] a",
                "u32 a 4",
                "char a 20",
            ],
            false
        ));
    }

    #[test]
    fn arrays() {
        assert!(all(
            &[
                "char[1] a",
                "char[20] a",
                "unsigned char[20] a",
                "char[0x14] a",
                "char[0X14] a",
                "unsigned char[0x14] a",
                "char[010] a",
                "char[+5] a",
                "char[1024] a",
                "char[0x400] a",
                "char[000001] a",
            ],
            true
        ));
        assert!(all(
            &[
                "char[] a",
                "char[0] a",
                "char[0x0] a",
                "char[aa] a",
                "char[1025] a",
                "char[0x401] a",
                "char[9999] a",
                "char[0x0000000000001] a",
                "char[0000001] a",
                "char[-1] a",
                "char[08] a",
                "char[0x] a",
                "char[5 a",
                "char[5",
                "char[ a",
                "char[5]zzz a",
                "char[5]] a",
                "char[5][6] a",
                "char[5\n] a",
                "char[5] a[2]",
                "unsigned char[] a",
                "char5] a",
            ],
            false
        ));
    }

    #[test]
    fn locations() {
        assert!(all(
            &[
                "__data_loc char[] a",
                "__data_loc unsigned char[] a",
                "__rel_loc char[] a",
                "__rel_loc unsigned char[] a",
                "__data_loc u8[] a",
                "__rel_loc u32 a",
                "__rel_loc u8[] a;__data_loc u32[] b",
                "__data_loc cpumask_t[] a",
                "__data_loc whatever a",
                "__data_loc char[5]zzz a",
            ],
            true
        ));
        assert!(all(
            &[
                "__data_loc",
                "__data_loc ",
                "__data_loc a",
                "__data_loc  a",
                "__data_loc  char[] a",
                "__data_loc unsigned a",
                "__data_loc unsigned  a",
                "__data_loc char[]",
                "__data_loc unsigned char[]",
                "__data_loc char[] a 4",
                "__rel_loc a",
                "__rel_loc  a",
                "__rel_loc unsigned char[]",
                "__data_loc ch\tar a",
                "__data_locchar[] a",
            ],
            false
        ));
    }

    #[test]
    fn structs() {
        assert!(all(
            &[
                "struct custom a 20",
                "struct s a 1",
                "struct s a 020",
                "struct s a +4",
                "struct __data_loc_char a 4",
                "struct char[8] a 8",
                "struct cpumask_t a 8",
                "struct a::b a 8",
            ],
            true
        ));
        assert!(all(
            &[
                "struct",
                "struct ",
                "struct s",
                "struct s a",
                "struct s a ",
                "struct s a 0",
                "struct s a 0x14",
                "struct s a 4x",
                "struct s a 4\n",
                "struct s a 4\n;u8 b",
                "struct s a -1",
                "struct s a ++4",
                "struct s a 4 4",
                "struct s a 4 ",
                "struct s a  4",
                "struct s  a 4",
                "struct  a 4",
                "struct s\tt a 4",
                "struct s a 2147483647",
                "struct s a 2147483648",
                "struct s a 4294967274",
                "struct s a 4294967295",
                "struct s a 4294967296",
                "struct s a 99999999999",
                "struct s a 18446744073709551616",
            ],
            false
        ));
    }

    #[test]
    fn field_names() {
        assert!(all(
            &[
                "u32 a_1",
                "u32 1",
                "char *p",
                "u32 a+b",
                "u32 a.b",
                "u32 a-b",
                "u32 a:b",
                "u32 common",
                "u32 common_",
                "u32 common_pidx",
                "u32 Common_pid",
                "u32 cpu",
                "u32 comm",
                "u32 common_type2",
                "u32 common_cpu",
                "u64 common_timestamp",
                "u32 common_comm",
                "u32 common_stacktrace",
                "u32 \u{e4}",
                "u32 \u{6570}",
                "struct \u{e4} a 4",
            ],
            true
        ));
        assert!(all(
            &[
                "u32 a\"b",
                "u32 a'b",
                "u32 a%s",
                "u32 a\\b",
                "u32 a,b",
                "u32 a(b",
                "u32 a)b",
                "u32 a[b",
                "u32 a]",
                "u32 a\u{1}",
                "u32 a\u{7f}",
                "u32 a\u{a0}",
                "u32 a\u{85}",
                "u32 common_type",
                "u8 common_flags",
                "u8 common_preempt_count",
                "u32 common_pid",
                "u32 a;u64 a",
                "u32 a;u32 b;char[4] a",
            ],
            false
        ));
    }
}
