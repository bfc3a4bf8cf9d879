// SPDX-License-Identifier: GPL-2.0

//! Tests of what C is given for a value.

#[macros::kunit_tests(rust_kernel_trace_synth)]
mod values {
    use super::super::{
        Value,
        ValueKind,
        NOTHING,
        STACK_DEPTH,
        TEXT_WORDS, //
    };

    fn nothing() -> u64 {
        NOTHING.as_ptr().addr() as u64
    }

    fn address(text: &[u64; TEXT_WORDS]) -> u64 {
        text.as_ptr().addr() as u64
    }

    fn stack(text: &[u64; TEXT_WORDS]) -> bool {
        Value::Stack(text).word(ValueKind::Stack) == address(text)
    }

    #[test]
    fn only_what_a_field_takes() {
        let text = [0; TEXT_WORDS];

        assert_eq!(Value::Number(7).word(ValueKind::Number), 7);
        assert_eq!(Value::String(&text).word(ValueKind::String), address(&text));
        assert_eq!(Value::Stack(&text).word(ValueKind::Stack), address(&text));

        // A number is never an address, nor an address a number.
        assert_eq!(Value::Number(7).word(ValueKind::String), nothing());
        assert_eq!(Value::Number(7).word(ValueKind::Stack), nothing());
        assert_eq!(Value::String(&text).word(ValueKind::Number), 0);
        assert_eq!(Value::Stack(&text).word(ValueKind::Number), 0);

        // Nor is one text the other.
        assert_eq!(Value::String(&text).word(ValueKind::Stack), nothing());
        assert_eq!(Value::Stack(&text).word(ValueKind::String), nothing());
    }

    #[test]
    fn a_string_ends() {
        let mut text = [u64::from_ne_bytes([b'x'; 8]); TEXT_WORDS];

        assert_eq!(Value::String(&text).word(ValueKind::String), nothing());

        text[TEXT_WORDS - 1] = u64::from_ne_bytes(*b"xxxxxxx\0");
        assert_eq!(Value::String(&text).word(ValueKind::String), address(&text));

        // A NUL elsewhere is not enough to know that the text has one.
        text[0] = 0;
        text[TEXT_WORDS - 1] = u64::from_ne_bytes(*b"\0xxxxxxx");
        assert_eq!(Value::String(&text).word(ValueKind::String), nothing());
    }

    #[test]
    fn a_stack_ends_where_it_says() {
        let mut text = [1; TEXT_WORDS];

        // C finds the end of its own accord if the field has no room for a NUL.
        for n in [STACK_DEPTH - 1, STACK_DEPTH] {
            text[0] = n;
            assert!(stack(&text));
        }
        for n in [1, 2, STACK_DEPTH - 2, STACK_DEPTH + 1, u64::MAX] {
            text[0] = n;
            assert!(!stack(&text));
        }
        for n in [1, 2, STACK_DEPTH - 2] {
            let mut text = [1; TEXT_WORDS];

            text[0] = n;
            text[n as usize + 1] = 0;
            assert!(stack(&text));
        }
        // No entries are none to look for the end of.
        text[0] = 0;
        text[1] = 0;
        assert!(stack(&text));
    }
}
