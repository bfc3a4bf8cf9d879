// SPDX-License-Identifier: GPL-2.0

//! Tests of where fields are in a record, and of what else follows from their types.

use kernel::prelude::*;

#[kunit_tests(user_events_layout)]
mod tests {
    use super::*;
    use crate::{
        defs::{
            HEADER_SIZE,
            MAX_FIELD_ARRAY_SIZE,
            MAX_RECORD_SIZE, //
        },
        parse::fields,
        tests::row,
        types::Origin, //
    };
    use kernel::{
        str::CString,
        trace::builtin::field::FilterKind, //
    };

    /// Returns size, sign and elements of a field of this type, if it is the only one.
    fn one(ty: &str) -> Result<(u32, bool, u32)> {
        let text = CString::try_from_fmt(fmt!("{} a", ty))?;
        let layout = fields(Some(text.to_bytes()))?;
        let field = layout.fields.first().ok_or(EINVAL)?;

        if field.ty != ty.as_bytes() || field.offset != HEADER_SIZE {
            return Err(EINVAL);
        }
        Ok((field.size, field.signed, field.len))
    }

    /// Returns the size of the payload with one struct, and another one if `second` is not 0.
    fn structs(first: u32, second: u32) -> Result<usize> {
        let text = match second {
            0 => CString::try_from_fmt(fmt!("struct s a {}", first)),
            _ => CString::try_from_fmt(fmt!("struct s a {};struct t b {}", first, second)),
        }?;

        let layout = fields(Some(text.to_bytes()))?;

        Ok(layout.min_size)
    }

    fn filter_is(field: &str, expected: fn(&FilterKind) -> bool) -> bool {
        let ok = fields(Some(field.as_bytes()))
            .is_ok_and(|layout| layout.fields.first().is_some_and(|f| expected(&f.filter)));

        row(field, ok)
    }

    #[test]
    fn no_fields() -> Result {
        for text in [None, Some(&b""[..]), Some(&b" ;; "[..])] {
            let layout = fields(text)?;

            assert!(layout.fields.is_empty() && layout.validators.is_empty());
            assert_eq!(layout.min_size, 0);
        }
        Ok(())
    }

    #[test]
    fn types() {
        for (ty, size, signed, len) in [
            ("s8", 1, true, 0),
            ("u8", 1, false, 0),
            ("char", 1, true, 0),
            ("unsigned char", 1, false, 0),
            ("s16", 2, true, 0),
            ("u16", 2, false, 0),
            ("short", 2, true, 0),
            ("unsigned short", 2, false, 0),
            ("s32", 4, true, 0),
            ("u32", 4, false, 0),
            ("int", 4, true, 0),
            ("unsigned int", 4, false, 0),
            ("s64", 8, true, 0),
            ("u64", 8, false, 0),
            ("char[20]", 20, true, 20),
            ("unsigned char[20]", 20, false, 20),
            ("char[0x14]", 20, true, 20),
            ("char[020]", 16, true, 16),
            (
                "char[1024]",
                MAX_FIELD_ARRAY_SIZE,
                true,
                MAX_FIELD_ARRAY_SIZE,
            ),
            ("__data_loc char[]", 4, true, 0),
            ("__data_loc unsigned char[]", 4, true, 0),
            ("__rel_loc unsigned int", 4, true, 0),
            ("__rel_loc u8[]", 4, true, 0),
        ] {
            assert!(row(ty, one(ty) == Ok((size, signed, len))));
        }
    }

    #[test]
    fn offsets() -> Result {
        let layout = fields(Some(
            b"u8 a;u64 b;char[3] c;struct s d 5;__rel_loc u8[] e;u16 f",
        ))?;
        let expected = [(8, 1), (9, 8), (17, 3), (20, 5), (25, 4), (29, 2)];

        assert_eq!(layout.fields.len(), expected.len());
        for (field, (offset, size)) in layout.fields.iter().zip(expected) {
            assert_eq!(field.offset, offset);
            assert_eq!(field.size, size);
        }
        assert_eq!(layout.min_size, 23);
        Ok(())
    }

    #[test]
    fn largest_record() {
        let max = MAX_RECORD_SIZE - HEADER_SIZE;
        let size = max as usize;

        assert_eq!(structs(max, 0), Ok(size));
        assert_eq!(structs(max + 1, 0), Err(EINVAL));
        assert_eq!(structs(max - 1, 1), Ok(size));
        assert_eq!(structs(max, 1), Err(EINVAL));
        assert_eq!(structs(1, max), Err(EINVAL));
        // These sums do not fit 31 bits or 32 bits.
        assert_eq!(structs(i32::MAX as u32, 0), Err(EINVAL));
        assert_eq!(structs(i32::MAX as u32, i32::MAX as u32), Err(EINVAL));
        assert_eq!(structs(u32::MAX, 0), Err(EINVAL));
        assert_eq!(structs(8, u32::MAX - 8), Err(EINVAL));
        assert_eq!(structs(8, u32::MAX - 16), Err(EINVAL));
    }

    #[test]
    fn no_offset_wraps() {
        let text = b"oob struct a a 2147483647;__data_loc char[] c;struct b b 2147483647";

        assert!(fields(Some(&text[4..])).is_err());
    }

    #[test]
    fn validators() -> Result {
        let layout = fields(Some(
            b"u8 x;__data_loc char[] a;__rel_loc u8[] b;struct __data_loc_char c 4;\
              __rel_loc unsigned char[] d;__data_loc __rel_loc e",
        ))?;
        let expected = [
            (9, Origin::Record, true),
            (13, Origin::Word, false),
            (21, Origin::Word, true),
            (25, Origin::Record, false),
        ];

        assert_eq!(layout.validators.len(), expected.len());
        for (v, (offset, origin, string)) in layout.validators.iter().zip(expected) {
            assert_eq!(v.offset, offset);
            assert_eq!(v.origin, origin);
            assert_eq!(v.string, string);
        }
        Ok(())
    }

    #[test]
    fn filters_of_strings() {
        for field in ["char[8] a", "unsigned char[8] a"] {
            assert!(filter_is(field, |f| matches!(f, FilterKind::StaticString)));
        }
        for field in [
            "__data_loc char[] a",
            "__data_loc unsigned char[] a",
            "__data_loc mychar a",
            "__data_loc __rel_loc_char a",
        ] {
            assert!(filter_is(field, |f| matches!(f, FilterKind::DynString)));
        }
        for field in ["__rel_loc char[] a", "__rel_loc __data_loc_char a"] {
            assert!(filter_is(field, |f| matches!(f, FilterKind::RelDynString)));
        }
    }

    #[test]
    fn filters_of_all_else() {
        // A word in the text does not determine the filter kind.
        for field in [
            "u32 a",
            "char a",
            "char *p",
            "struct s a 8",
            "struct __data_loc_char a 4",
            "struct __rel_loc_char a 4",
            "struct char[8] a 8",
            "struct __data_loc_cpumask_t a 4",
            "__data_loc cpumask_t[] a",
            "__data_loc u32[] a",
            "__rel_loc u8[] a",
        ] {
            assert!(filter_is(field, |f| matches!(f, FilterKind::Other)));
        }
    }
}
