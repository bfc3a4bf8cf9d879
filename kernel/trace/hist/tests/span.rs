// SPDX-License-Identifier: GPL-2.0

//! Tests of the spans of a command: what they are cut into, and where each is.

use kernel::{
    prelude::*,
    trace::builtin::dynevent::is_space, //
};

#[kunit_tests(hist_span)]
mod tests {
    use super::is_space;
    use crate::command::Span;

    /// Returns the text of a span and its column.
    fn seen(span: Span<'_>) -> (&[u8], usize) {
        (span.bytes(), span.at())
    }

    #[test]
    fn cutting() {
        let span = Span::new(b"abcd", 5);

        assert_eq!(seen(span.from(1)), (&b"bcd"[..], 6));
        assert_eq!(seen(span.to(1)), (&b"a"[..], 5));
        assert_eq!(seen(span.from(4)), (&b""[..], 9));
        // Less is left than is asked for.
        assert_eq!(seen(span.from(9)), (&b""[..], 9));
        assert_eq!(seen(span.to(9)), (&b"abcd"[..], 5));
    }

    #[test]
    fn splitting() {
        let (first, rest) = Span::new(b"a=b=c", 10).split(b'=');
        assert_eq!(seen(first), (&b"a"[..], 10));
        assert_eq!(rest.map(seen), Some((&b"b=c"[..], 12)));

        let (first, rest) = Span::new(b"a=", 10).split(b'=');
        assert_eq!(seen(first), (&b"a"[..], 10));
        assert_eq!(rest.map(seen), Some((&b""[..], 12)));

        let (first, rest) = Span::new(b"a", 10).split(b'=');
        assert_eq!(seen(first), (&b"a"[..], 10));
        assert!(rest.is_none());
    }

    #[test]
    fn lists() {
        let mut spans = Span::new(b"a,,bc,", 5).spans(b',');

        assert_eq!(spans.next().map(seen), Some((&b"a"[..], 5)));
        assert_eq!(spans.next().map(seen), Some((&b""[..], 7)));
        assert_eq!(spans.next().map(seen), Some((&b"bc"[..], 8)));
        assert_eq!(spans.next().map(seen), Some((&b""[..], 11)));
        assert!(spans.next().is_none());
        assert!(spans.next().is_none());

        let mut spans = Span::new(b"", 5).spans(b',');
        assert_eq!(spans.next().map(seen), Some((&b""[..], 5)));
        assert!(spans.next().is_none());
    }

    #[test]
    fn trimming() {
        assert_eq!(seen(Span::new(b" \ta b\n ", 5).trim()), (&b"a b"[..], 7));
        assert_eq!(seen(Span::new(b"ab", 5).trim()), (&b"ab"[..], 5));
        assert!(Span::new(b" \t ", 5).trim().is_empty());
        assert!(Span::new(b"", 5).trim().is_empty());
        for byte in [b'!', b'a', 0, 0x08, 0x0e, 0x1f, 0x9f, 0xa1] {
            assert!(!is_space(byte));
        }
        // Latin 1 has one more, which C takes for white space.
        for byte in [b' ', b'\t', b'\n', 0x0b, 0x0c, b'\r', 0xa0] {
            assert!(is_space(byte));
        }
        assert_eq!(seen(Span::new(b"\xa0ab\xa0", 5).trim()), (&b"ab"[..], 6));
    }

    #[test]
    fn prefixes() {
        let span = Span::new(b"onmax($x)", 20);

        assert_eq!(
            span.strip_prefix(b"onmax(").map(seen),
            Some((&b"$x)"[..], 26))
        );
        assert!(span.strip_prefix(b"onmatch(").is_none());
        assert!(span.is(b"onmax($x)"));
        assert!(!span.is(b"onmax"));
        assert_eq!(span.find(b'('), Some(5));
        assert_eq!(Span::new(b"a)b)", 0).rfind(b')'), Some(3));
    }

    #[test]
    fn c_strings() {
        let copy = Span::new(b"ab", 0).to_c_string();
        assert!(copy.is_ok_and(|copy| copy.to_bytes() == b"ab"));
        assert!(Span::new(b"a\0b", 0).to_c_string().is_err());
    }
}
