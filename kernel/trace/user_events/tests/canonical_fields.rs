// SPDX-License-Identifier: GPL-2.0

//! Tests of when two texts mean the same fields.

use kernel::prelude::*;

#[kunit_tests(user_events_signature)]
mod tests {
    use super::*;
    use crate::{
        canonical_fields::{
            is_of,
            matches,
            of_args, //
        },
        parse::fields,
        tests::{
            c_string,
            row, //
        }, //
    };
    use kernel::str::CString;

    fn is(text: &str, expected: &str) -> bool {
        let ok = of_args(Some(text.as_bytes()))
            .is_ok_and(|signature| signature[..] == *expected.as_bytes());

        row(text, ok)
    }

    /// Returns `true` if both have the same signature, whichever of them is looked up.
    fn same(a: &str, b: &str) -> Result<bool> {
        let signature_of = |text: &str| c_string(of_args(Some(text.as_bytes()))?);
        let (first, second) = (signature_of(a)?, signature_of(b)?);
        let same = first.to_bytes() == second.to_bytes();

        if is_of(&first, Some(b.as_bytes())) != same || is_of(&second, Some(a.as_bytes())) != same {
            return Err(EINVAL);
        }
        Ok(same)
    }

    /// Returns `true` if the words have the signature of `text`.
    fn words_mean(words: &[&CStr], text: &str) -> bool {
        of_args(Some(text.as_bytes()))
            .and_then(c_string)
            .is_ok_and(|signature| matches(&signature, words.iter().copied()))
    }

    /// Returns the signature that follows from the fields parsed from a text.
    fn of_fields(text: &str) -> Result<KVec<u8>> {
        let mut all = KVec::new();

        for (i, field) in fields(Some(text.as_bytes()))?.fields.iter().enumerate() {
            if i != 0 {
                all.extend_from_slice(b"; ", GFP_KERNEL)?;
            }
            all.extend_from_slice(field.ty, GFP_KERNEL)?;
            all.push(b' ', GFP_KERNEL)?;
            all.extend_from_slice(field.name, GFP_KERNEL)?;
            if field.ty.starts_with(b"struct ") {
                let size = CString::try_from_fmt(fmt!(" {}", field.size))?;
                all.extend_from_slice(size.to_bytes(), GFP_KERNEL)?;
            }
        }
        Ok(all)
    }

    #[test]
    fn canonical_form() {
        for (text, expected) in [
            ("", ""),
            ("  \t\n", ""),
            (";", ""),
            (" ;; ; ", ""),
            ("u32 a", "u32 a"),
            ("u32 a;", "u32 a"),
            (" u32 a ", "u32 a"),
            ("u32 a;u32 b", "u32 a; u32 b"),
            ("u32 a; u32 b", "u32 a; u32 b"),
            ("u32 a; u32 b;", "u32 a; u32 b"),
            ("u32  a;\t u32\nb", "u32 a; u32 b"),
            ("u32 a;;u32 b", "u32 a; u32 b"),
            (";u32 a", "u32 a"),
            ("unsigned  int   a", "unsigned int a"),
            ("struct s a 20", "struct s a 20"),
            ("struct  s\ta  20;", "struct s a 20"),
            ("struct s a +020;u8 b", "struct s a 20; u8 b"),
            ("struct s a 0;u8 b", "struct s a 0; u8 b"),
            ("struct s a 4294967295", "struct s a 4294967295"),
        ] {
            assert!(is(text, expected));
            assert!(row(text, same(text, expected) == Ok(true)));
        }
    }

    #[test]
    fn different_texts() {
        for (a, b) in [
            ("u32 a", "u32 b"),
            ("u32 a", "u64 a"),
            ("u32 a; u32 b", "u32 b; u32 a"),
            ("u64 a; u64 b", "u32 a; u32 b"),
            ("u32 a", "u32 a; u32 b"),
            ("u32 a; u32 b", "u32 a u32 b"),
            ("u32 a", ""),
            ("u32 a", "u32"),
            ("u32 a", "u32 a ;"),
            ("u32 a;u32 b", "u32 a ;u32 b"),
            ("struct my_struct a 20", "struct my_struct b 20"),
            ("struct my_struct a 20", "struct my_struct a 21"),
            ("struct my_struct a 20", "struct my_struct a"),
            ("struct my_struct a 20", "struct my_struct a 0x14"),
            ("struct my_struct a 20", "struct other a 20"),
            ("char[20] a", "char[0x14] a"),
            ("char[20] a", "char [20] a"),
            ("u32 a", "u32 A"),
        ] {
            assert!(row(b, same(a, b) == Ok(false)));
        }
    }

    #[test]
    fn what_made_an_event_means_it() -> Result {
        for text in [
            "",
            ";",
            " ;; ",
            "u32 a",
            "u32 a;u32 b",
            "u32 a; u32 b;",
            ";;u32 a;; u32 b;;",
            "\tu32 a;\nu32 b",
            "struct s a 20",
            "struct s a 0020;struct t b +7;",
            "char[0x14] a;unsigned char[+5] b;char *c",
            "__data_loc char[] a;__rel_loc unsigned char[] b;__data_loc x c",
            "u8 a;s16 b;int c;unsigned int d;u64 e",
        ] {
            let signature = of_args(Some(text.as_bytes()))?;

            assert!(row(text, signature[..] == of_fields(text)?[..]));
        }
        assert!(of_args(None)?.is_empty());
        assert!(is_of(c"", None));
        assert!(!is_of(c"u32 a", None));
        Ok(())
    }

    #[test]
    fn long_texts() -> Result {
        let name = KVec::from_elem(b'n', 500, GFP_KERNEL)?;
        let name = core::str::from_utf8(&name).map_err(|_| EINVAL)?;

        for len in [200, 254, 255, 256, 257, 499, 500] {
            let name = name.get(..len).ok_or(EINVAL)?;
            let a = CString::try_from_fmt(fmt!("u32 {}x", name))?;
            let b = CString::try_from_fmt(fmt!("u32  {}x;", name))?;
            let c = CString::try_from_fmt(fmt!("u32 {}y", name))?;
            let signature = of_args(Some(a.to_bytes()))?;

            assert!(signature[..] == *a.to_bytes());
            assert!(of_args(Some(b.to_bytes()))?[..] == *a.to_bytes());
            assert!(of_args(Some(c.to_bytes()))?[..] != *a.to_bytes());
            assert!(is_of(&a, Some(b.to_bytes())));
            assert!(!is_of(&a, Some(c.to_bytes())));
        }
        Ok(())
    }

    #[test]
    fn words_of_dynamic_events() {
        assert!(words_mean(&[], ""));
        assert!(words_mean(&[c";"], ""));
        assert!(words_mean(&[c"u32", c"a"], "u32 a"));
        assert!(words_mean(&[c"u32", c"a;"], "u32 a"));
        assert!(words_mean(&[c"u32", c"a;", c"u64", c"b"], "u32 a; u64 b"));
        // Without a blank after the semicolon.
        assert!(words_mean(&[c"u32", c"a;u64", c"b"], "u32 a; u64 b"));
        assert!(words_mean(&[c"u32", c"a;u64", c"b;"], "u32 a; u64 b"));
        assert!(words_mean(
            &[c"struct", c"s", c"a", c"020;u8", c"b"],
            "struct s a 20;u8 b"
        ));
        assert!(words_mean(&[c"char[4]", c"s"], "char[4] s"));

        assert!(!words_mean(&[], "u32 a"));
        assert!(!words_mean(&[c"u32", c"a"], ""));
        assert!(!words_mean(&[c"u32"], "u32 a"));
        assert!(!words_mean(&[c"u32", c"a", c"b"], "u32 a"));
        assert!(!words_mean(&[c"u32", c"a", c";"], "u32 a"));
        assert!(!words_mean(&[c"u32", c"a;", c"u64"], "u32 a; u64 b"));
        assert!(!words_mean(&[c"u32", c"ab"], "u32 a"));
        assert!(!words_mean(&[c"u32", c"a"], "u32 ab"));
    }

    #[test]
    fn blanks_behind_semicolons() -> Result {
        let mut text = KVec::new();
        for _ in 0..200 {
            text.extend_from_slice(b"a;", GFP_KERNEL)?;
        }
        let signature = of_args(Some(&text))?;

        // The allocation suffices: a blank for each semicolon except the last one, which is
        // dropped.
        assert_eq!(signature.len(), 200 + 2 * 199);
        assert!(signature.capacity() < 2 * text.len());
        Ok(())
    }

    #[test]
    fn bytes_that_are_no_blanks() -> Result {
        // `isspace()` of C takes 0xa0 for one. No event has a NUL.
        for (text, accepted) in [(&b"u32 \xc3\xa0"[..], true), (b"u32 a\0b", false)] {
            assert!(of_args(Some(text))?[..] == *text);
            assert_eq!(fields(Some(text)).is_ok(), accepted);
        }
        Ok(())
    }
}
