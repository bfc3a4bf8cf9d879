// SPDX-License-Identifier: GPL-2.0

//! Tests of the columns of keys and values.

use kernel::prelude::*;

use super::same;
use crate::{
    command::expr::Modifier,
    program::{
        KeyKind,
        KeyPlace, //
    },
    show::{
        columns::{
            hundredths,
            write_keys,
            KeyColumn,
            KeyFormat,
            ValueColumn,
            ValueFormat, //
        },
        raw::write_escaped, //
    },
    text_buf::TextBuf, //
};

/// Returns the text that `write` appends.
fn text(write: impl FnOnce(&mut TextBuf)) -> Result<KVec<u8>> {
    let mut out = TextBuf::new();
    let mut copy = KVec::new();

    write(&mut out);
    copy.extend_from_slice(out.bytes()?, GFP_KERNEL)?;
    Ok(copy)
}

fn name(name: &[u8]) -> TextBuf {
    let mut text = TextBuf::new();

    text.put(name);
    text
}

/// Returns the column of a key that is called `k`, in the first word.
fn column(format: KeyFormat, words: usize) -> KeyColumn {
    KeyColumn {
        name: name(b"k"),
        format,
        place: KeyPlace {
            word: 0,
            words,
            kind: KeyKind::Stack,
        },
    }
}

fn key_text(format: KeyFormat, key: &[u64]) -> Result<KVec<u8>> {
    let column = column(format, key.len());

    text(|out| column.write(out, key, b"bash\0\0\0\0\0\0\0\0\0\0\0\0"))
}

/// Returns the words of a string.
fn words(string: &[u8]) -> [u64; 4] {
    let mut words = [0; 4];

    for (word, bytes) in words.iter_mut().zip(string.chunks(8)) {
        let mut all = [0; 8];

        for (to, from) in all.iter_mut().zip(bytes) {
            *to = *from;
        }
        *word = u64::from_ne_bytes(all);
    }
    words
}

#[kunit_tests(hist_columns)]
mod cases {
    use super::*;

    #[test]
    fn raw_strings() -> Result {
        for (string, is) in [
            (b"".as_slice(), b"".as_slice()),
            (b"plain \xc3\xa4", b"plain \xc3\xa4"),
            (b"\t", b"\\011"),
            (b"a\nb\\c\x7f", b"a\\012b\\134c\\177"),
        ] {
            assert!(same(&text(|out| write_escaped(out, string))?, is));
        }
        Ok(())
    }

    #[test]
    fn numbers() -> Result {
        for (n, width, is) in [
            (0, 1, b"0".as_slice()),
            (9, 0, b"9"),
            (10, 0, b"10"),
            (99, 0, b"99"),
            (100, 0, b"100"),
            (1005, 10, b"      1005"),
            (12345678901, 10, b"12345678901"),
            (u64::MAX, 0, b"18446744073709551615"),
        ] {
            assert!(same(&text(|out| out.unsigned(n, width))?, is));
        }
        for (n, width, is) in [
            (-1, 10, b"        -1".as_slice()),
            (i64::MIN, 0, b"-9223372036854775808"),
            (7, 3, b"  7"),
        ] {
            assert!(same(&text(|out| out.signed(n, width))?, is));
        }
        for (n, width, is) in [
            (0, 0, b"0".as_slice()),
            (0xdead, 10, b"      dead"),
            (u64::MAX, 3, b"ffffffffffffffff"),
        ] {
            assert!(same(&text(|out| out.hex(n, width))?, is));
        }
        Ok(())
    }

    #[test]
    fn keys_of_numbers() -> Result {
        use KeyFormat::*;

        for (format, n, is) in [
            (
                Number { signed: false },
                u64::MAX,
                b"k: 18446744073709551615".as_slice(),
            ),
            (Number { signed: true }, u64::MAX, b"k:         -1"),
            (Number { signed: false }, 42, b"k:         42"),
            (Hex, 255, b"k: ff"),
            (
                ExecName { signed: true },
                7,
                b"k: bash            [         7]",
            ),
            (
                Syscall { signed: true },
                1 << 40,
                b"k: unknown_syscall               [1099511627776]",
            ),
            (Log2, 3, b"k: ~ 2^3 "),
            (Log2, 12, b"k: ~ 2^12"),
            (
                Parts {
                    bits: 2,
                    signed: false,
                },
                40,
                b"k: ~ 40-47",
            ),
            (
                Parts {
                    bits: 2,
                    signed: false,
                },
                7 << 61,
                b"k: ~ 16140901064495857664-18446744073709551615",
            ),
            (
                Parts {
                    bits: 2,
                    signed: true,
                },
                -47i64 as u64,
                b"k: ~ -47--40",
            ),
            (
                Parts {
                    bits: 5,
                    signed: true,
                },
                0,
                b"k: ~ 0-0",
            ),
            (
                Buckets {
                    width: 10,
                    signed: false,
                },
                20,
                b"k: ~ 20-29",
            ),
            (
                Buckets {
                    width: 10,
                    signed: true,
                },
                -10i64 as u64,
                b"k: ~ -10--1",
            ),
            // Bounds that do not fit in 64 bits with a sign.
            (
                Buckets {
                    width: 10,
                    signed: true,
                },
                9223372036854775800,
                b"k: ~ 9223372036854775800-9223372036854775809",
            ),
            (
                Buckets {
                    width: 10,
                    signed: true,
                },
                1 << 63,
                b"k: ~ -9223372036854775810--9223372036854775801",
            ),
            (
                Buckets {
                    width: u64::MAX,
                    signed: true,
                },
                1 << 63,
                b"k: ~ -18446744073709551615--1",
            ),
            (
                Buckets {
                    width: 1 << 63,
                    signed: true,
                },
                0,
                b"k: ~ 0-9223372036854775807",
            ),
        ] {
            assert!(same(&key_text(format, &[n])?, is));
        }
        Ok(())
    }

    #[test]
    fn keys_of_text() -> Result {
        let mut is = text(|out| out.put(b"k: abcdefghij"))?;
        for _ in 10..50 {
            is.push(b' ', GFP_KERNEL)?;
        }
        assert!(same(
            &key_text(KeyFormat::Text, &words(b"abcdefghij\0xyz"))?,
            &is
        ));
        // Frames up to the first zero, each in a line.
        assert!(same(
            &key_text(KeyFormat::Stack, &[1, 2, 0, 3])?,
            b"k:\n         0x1\n         0x2\n"
        ));
        Ok(())
    }

    #[test]
    fn braces() -> Result {
        let columns = [
            column(KeyFormat::Number { signed: false }, 1),
            column(KeyFormat::Hex, 1),
        ];
        assert!(same(
            &text(|out| write_keys(out, &columns, &[16], b""))?,
            b"{ k:         16, k: 10 }"
        ));

        let stack = [column(KeyFormat::Stack, 1)];
        assert!(same(
            &text(|out| write_keys(out, &stack, &[1], b""))?,
            b"{ k:\n         0x1\n}"
        ));
        Ok(())
    }

    #[test]
    fn key_formats() {
        use KeyFormat::*;

        let number = KeyKind::Number { signed: true };

        for (modifier, kind, format) in [
            (Modifier::None, number, Number { signed: true }),
            (Modifier::Hex, KeyKind::String, Hex),
            (Modifier::Sym, number, Symbol { offset: false }),
            (Modifier::SymOffset, number, Symbol { offset: true }),
            (Modifier::Stacktrace, KeyKind::Stack, Stack),
            (Modifier::None, KeyKind::Stack, Stack),
            (Modifier::None, KeyKind::String, Text),
            (
                Modifier::Buckets(5),
                number,
                Buckets {
                    width: 5,
                    signed: true,
                },
            ),
        ] {
            assert_eq!(KeyFormat::new(modifier, kind), format);
        }
    }

    #[test]
    fn values() -> Result {
        use ValueFormat::*;

        let mut column = ValueColumn {
            name: name(b"v"),
            format: Number { signed: false },
            signed: false,
            sum: 0,
            max: 0,
            total: 0,
        };
        for n in [25, 75] {
            column.count(n);
        }
        assert_eq!((column.max, column.total), (75, 100));

        for (format, n, is) in [
            (Number { signed: false }, 25, b" v:         25".as_slice()),
            (Number { signed: true }, u64::MAX, b" v:         -1"),
            (Hex, 25, b" v:         19"),
            (Percent, 25, b" v (%):  25.00"),
            (Percent, 1, b" v (%):   1.00"),
            (Graph, 75, b" v: ####################"),
            (Graph, 25, b" v: ######              "),
            (Graph, 0, b" v:                     "),
        ] {
            column.format = format;
            assert!(same(&text(|out| column.write(out, n))?, is));
        }

        column.total = 0;
        column.max = 0;
        column.format = Percent;
        assert!(same(&text(|out| column.write(out, 1))?, b" v (%):[ERROR]"));
        column.format = Graph;
        assert!(same(
            &text(|out| column.write(out, 1))?,
            b" v:              [ERROR]"
        ));
        Ok(())
    }

    #[test]
    fn percentages() {
        for (value, total, is) in [
            (1, 3, Some(3333)),
            (0, 0, Some(0)),
            (1, 0, None),
            (u64::MAX, u64::MAX, Some(10_000)),
            (u64::MAX / 2, u64::MAX, Some(5000)),
        ] {
            assert_eq!(hundredths(value, total), is);
        }
    }
}
