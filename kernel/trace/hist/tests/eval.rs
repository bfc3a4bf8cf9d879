// SPDX-License-Identifier: GPL-2.0

//! Tests of what runs when an event happens, but for maps: numbers, strings, stacks, keys.

use kernel::prelude::*;

use crate::{
    hit::eval::HitContext,
    limits::STACK_DEPTH,
    map::Comm, //
};

/// An event that happens when a test wants it to.
pub(crate) struct Fake<'a> {
    pub(crate) record: &'a [u8],
    pub(crate) time: u64,
    pub(crate) clock_in_ns: bool,
    pub(crate) comm: Comm,
    pub(crate) stack: &'a [u64],
}

impl<'a> Fake<'a> {
    pub(crate) const fn new(record: &'a [u8]) -> Self {
        Self {
            record,
            time: 0,
            clock_in_ns: true,
            comm: *b"a task\0garbage!!",
            stack: &[],
        }
    }
}

impl HitContext for Fake<'_> {
    fn record(&self) -> &[u8] {
        self.record
    }

    fn time(&self) -> u64 {
        self.time
    }

    fn clock_in_ns(&self) -> bool {
        self.clock_in_ns
    }

    fn cpu(&self) -> u32 {
        5
    }

    fn comm(&self) -> Comm {
        self.comm
    }

    fn first_comm(&self) -> Comm {
        self.comm
    }

    fn stack(&self, to: &mut [u64; STACK_DEPTH]) -> usize {
        to.fill(u64::MAX);
        for (to, from) in to.iter_mut().zip(self.stack) {
            *to = *from;
        }
        self.stack.len()
    }
}

/// Returns the words of a string in memory.
pub(crate) fn words_of<const N: usize>(text: &[u8]) -> [u64; N] {
    let mut words = [0; N];

    for (word, chunk) in words.iter_mut().zip(text.chunks(8)) {
        let mut bytes = [0; 8];

        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(bytes);
    }
    words
}

#[kunit_tests(hist_eval)]
mod tests {
    use super::*;
    use crate::{
        hit::{
            blob::{
                comm_words,
                copy_array,
                copy_stack,
                copy_string,
                cut_for_event,
                dynamic_field,
                number_of,
                relative_field,
                static_field, //
            },
            eval::{
                apply,
                load,
                Eval, //
            },
            key::convert, //
        },
        program::{
            op::{
                Code,
                HandlerCondition,
                Leaf,
                Op,
                Step,
                Value, //
            },
            snapshot_condition::{
                request,
                SnapshotCondition,
                REQUEST_WORDS, //
            },
            KeyKind,
            KeyPlace, //
        },
    };

    /// Returns a number as the 64 bits that it is handled as.
    fn bits(n: i64) -> u64 {
        // CAST: Two's complement.
        n as u64
    }

    fn code(steps: &[Step], usecs: bool) -> Result<Code> {
        let mut code = Code {
            steps: KVec::new(),
            usecs,
        };

        code.steps.extend_from_slice(steps, GFP_KERNEL)?;
        Ok(code)
    }

    #[test]
    fn loads() {
        let record: [u8; 16] = core::array::from_fn(|i| 0xf0 + i as u8);
        let at = |n: usize, len: usize| {
            let mut bytes = [0; 8];

            bytes[..len].copy_from_slice(&record[n..n + len]);
            bytes
        };
        let signed_16 = i16::from_ne_bytes([0xf3, 0xf4]);
        let signed_32 = i32::from_ne_bytes([0xf5, 0xf6, 0xf7, 0xf8]);
        let unsigned_32 = u32::from_ne_bytes([0xf5, 0xf6, 0xf7, 0xf8]);

        assert_eq!(load(Leaf::U8(2), &record), 0xf2);
        assert_eq!(load(Leaf::S8(2), &record), bits(-14));
        assert_eq!(load(Leaf::S16(3), &record), bits(signed_16.into()));
        assert_eq!(load(Leaf::U16(3), &record), bits(signed_16.into()) & 0xffff);
        assert_eq!(load(Leaf::S32(5), &record), bits(signed_32.into()));
        assert_eq!(load(Leaf::U32(5), &record), unsigned_32.into());
        assert_eq!(load(Leaf::U64(8), &record), u64::from_ne_bytes(at(8, 8)));
        assert_eq!(load(Leaf::S64(1), &record), u64::from_ne_bytes(at(1, 8)));
    }

    #[test]
    fn loads_end_with_the_record() {
        let record = [0xff; 8];

        assert_eq!(load(Leaf::U64(0), &record), u64::MAX);
        assert_eq!(load(Leaf::U64(1), &record), 0);
        assert_eq!(load(Leaf::U32(4), &record), 0xffff_ffff);
        assert_eq!(load(Leaf::U32(5), &record), 0);
        assert_eq!(load(Leaf::U8(7), &record), 0xff);
        assert_eq!(load(Leaf::U8(8), &record), 0);
        assert_eq!(load(Leaf::U16(u32::MAX), &record), 0);
        assert_eq!(load(Leaf::U16(0), &[]), 0);
    }

    #[test]
    fn arithmetic_wraps() {
        assert_eq!(apply(&Op::Add, u64::MAX, 2), 1);
        assert_eq!(apply(&Op::Sub, 1, 3), bits(-2));
        assert_eq!(apply(&Op::Mul, 1 << 63, 3), 1 << 63);
        assert_eq!(apply(&Op::Neg, 5, 0), bits(-5));
        assert_eq!(apply(&Op::Neg, 1 << 63, 0), 1 << 63);
        assert_eq!(apply(&Op::Shift, 100, 3), 12);
    }

    #[test]
    fn division_truncates() {
        let unsigned = Op::Div {
            left_signed: false,
            right_signed: false,
        };
        let signed = Op::Div {
            left_signed: true,
            right_signed: true,
        };
        let left = Op::Div {
            left_signed: true,
            right_signed: false,
        };

        for n in 0..100 {
            for divisor in 1..20 {
                assert_eq!(apply(&unsigned, n, divisor), n / divisor);
            }
        }
        assert_eq!(apply(&unsigned, 1 << 20, 3), 349_525);
        assert_eq!(apply(&unsigned, 7, 0), u64::MAX);
        assert_eq!(apply(&signed, bits(-7), 0), u64::MAX);
        assert_eq!(apply(&unsigned, bits(-2), 2), bits(-2) / 2);
        assert_eq!(apply(&signed, bits(-7), 2), bits(-3));
        assert_eq!(apply(&signed, bits(-7), bits(-2)), 3);
        assert_eq!(apply(&signed, 7, bits(-2)), bits(-3));
        assert_eq!(apply(&signed, 1 << 63, bits(-1)), 1 << 63);
        assert_eq!(apply(&left, bits(-7), 2), bits(-3));
        assert_eq!(apply(&left, bits(-7), u64::MAX), 0);
    }

    #[test]
    fn logarithms() {
        let cases = [
            (0, 0),
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (1024, 10),
            (1025, 11),
            (1 << 63, 63),
            ((1 << 63) + 1, 64),
            (u64::MAX, 64),
        ];

        for (n, log) in cases {
            assert_eq!(apply(&Op::Log2, n, 0), log);
        }
    }

    #[test]
    fn buckets() {
        let unsigned = Op::Bucket { signed: false };
        let signed = Op::Bucket { signed: true };

        for (n, lowest) in [(0, 0), (9, 0), (10, 10), (19, 10), (20, 20)] {
            assert_eq!(apply(&unsigned, n, 10), n / 10 * 10);
            assert_eq!(apply(&unsigned, n, 10), lowest);
            assert_eq!(apply(&signed, n, 10), lowest);
        }
        for (n, lowest) in [(-1, -10), (-10, -10), (-11, -20), (-20, -20)] {
            assert_eq!(apply(&signed, bits(n), 10), bits(lowest));
        }
        assert_eq!(apply(&unsigned, u64::MAX, 10), u64::MAX - 5);
        // The lowest one begins where no number is, which is not above zero.
        for n in [i64::MIN, i64::MIN + 1, i64::MIN + 7] {
            assert_eq!(apply(&signed, bits(n), 10), bits(i64::MIN));
        }
        assert_eq!(apply(&signed, bits(i64::MIN + 8), 10), bits(i64::MIN + 8));
        for width in [1 << 63, (1 << 63) + 1, u64::MAX] {
            assert_eq!(apply(&signed, bits(-1), width), bits(i64::MIN));
            assert_eq!(apply(&signed, bits(i64::MIN), width), bits(i64::MIN));
            assert_eq!(apply(&signed, 5, width), 0);
        }
        assert_eq!(apply(&unsigned, 7, 0), 7);
    }

    #[test]
    fn time_stamps() -> Result {
        let mut context = Fake::new(&[]);
        context.time = 1_499;
        let time = |context: &Fake<'_>, usecs: bool| {
            let code = code(&[], usecs)?;
            let eval = Eval::new(context, &code);

            Ok::<u64, Error>(eval.value(&Value::Leaf(Leaf::Time), &[]))
        };

        assert_eq!(time(&context, false)?, 1_499);
        assert_eq!(time(&context, true)?, 1);
        context.time = 1_500;
        assert_eq!(time(&context, true)?, 2);
        context.clock_in_ns = false;
        assert_eq!(time(&context, true)?, 1_500);
        Ok(())
    }

    #[test]
    fn steps() -> Result {
        // (slot 1 - 10) * cpu
        let steps = [
            Step {
                op: Op::Neg,
                to: 0,
                left: Leaf::Const(99),
                right: Leaf::Const(0),
            },
            Step {
                op: Op::Sub,
                to: 0,
                left: Leaf::Slot(1),
                right: Leaf::Const(10),
            },
            Step {
                op: Op::Mul,
                to: 1,
                left: Leaf::Register(0),
                right: Leaf::Cpu,
            },
        ];
        let context = Fake::new(&[]);
        let code = code(&steps, false)?;
        let eval = Eval::new(&context, &code);

        assert_eq!(eval.value(&Value::Steps { from: 1, to: 3 }, &[0, 14]), 20);
        // No such slot and no such steps exist: no program has them.
        if !cfg!(debug_assertions) {
            assert_eq!(eval.value(&Value::Steps { from: 1, to: 3 }, &[]), bits(-50));
            assert_eq!(eval.value(&Value::Steps { from: 1, to: 4 }, &[]), 0);
            assert_eq!(eval.value(&Value::Leaf(Leaf::Slot(7)), &[1]), 0);
        }
        Ok(())
    }

    #[test]
    fn strings_are_copied_up_to_their_end() {
        let long = [b'x'; 64];
        let cases: [(&[u8], &[u8]); 9] = [
            (b"", b""),
            (b"a", b"a"),
            (b"1234567", b"1234567"),
            (b"12345678", b"12345678"),
            (b"123456789", b"123456789"),
            (b"12\x0045678", b"12"),
            (b"12345678\x00abc", b"12345678"),
            (b"\xff\x80\x01\x00\xff", b"\xff\x80\x01"),
            (&long, &long[..31]),
        ];

        for (from, text) in cases {
            let mut words = [u64::MAX; 4];

            copy_string(&mut words, from);
            assert_eq!(words, words_of::<4>(text));
        }
        copy_string(&mut [], b"text");
    }

    #[test]
    fn arrays_are_copied_as_a_whole() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"", b""),
            (b"1234567\x00abc", b"1234567"),
            (b"12345678", b"12345678"),
            (b"1234567890abcdef", b"1234567890abcdef"),
            (b"1234567890abcdefgh", b"1234567890abcdef"),
        ];

        for (from, text) in cases {
            let mut words = [u64::MAX; 2];

            copy_array(&mut words, from);
            assert_eq!(words, words_of::<2>(text));
        }
        copy_array(&mut [], b"text");
    }

    #[test]
    fn names_of_tasks() {
        assert_eq!(comm_words(b"a task\0garbage!!"), words_of(b"a task"));
        assert_eq!(comm_words(b"eight...\0garbage"), words_of(b"eight..."));
        assert_eq!(
            comm_words(b"fifteen letters\0"),
            words_of(b"fifteen letters")
        );
        assert_eq!(
            comm_words(b"without any end!"),
            words_of(b"without any end")
        );
    }

    #[test]
    fn fields_that_are_strings() {
        let mut record = [b'.'; 24];
        let word = |place: u32, size: u32| (size << 16 | place).to_ne_bytes();

        record[20..].copy_from_slice(b"abc\0");
        record[4..8].copy_from_slice(&word(20, 4));
        assert_eq!(static_field(&record, 20, 2), b"ab");
        assert_eq!(static_field(&record, 20, 100), b"abc\0");
        assert_eq!(static_field(&record, 25, 1), b"");
        assert_eq!(dynamic_field(&record, 4), b"abc\0");
        // The announced bytes may be missing.
        record[4..8].copy_from_slice(&word(21, 0xffff));
        assert_eq!(dynamic_field(&record, 4), b"bc\0");
        record[4..8].copy_from_slice(&word(0xffff, 8));
        assert_eq!(dynamic_field(&record, 4), b"");
        assert_eq!(dynamic_field(&record, 22), b"");
        record[4..8].copy_from_slice(&word(12, 3));
        assert_eq!(relative_field(&record, 4), b"abc");
        assert_eq!(relative_field(&record, u32::MAX), b"");
    }

    /// Checks that the length of a stack does not count an address that C does not copy.
    #[test]
    fn stacks_of_synthetic_events() {
        let mut stack = [7; 32];

        for (count, cut) in [(31, 30), (30, 30), (4, 4), (0, 0)] {
            stack[0] = count;
            cut_for_event(&mut stack);
            assert_eq!(stack[0], cut);
            assert!(stack[1..].iter().all(|word| *word == 7));
        }
    }

    #[test]
    fn recorded_stacks() {
        const SIZE: usize = size_of::<usize>();
        let mut stack = [0; 40 * SIZE];
        let mut put = |n: usize, word: usize| {
            stack[n * SIZE..][..SIZE].copy_from_slice(&word.to_ne_bytes());
            stack
        };
        let mut to = [7; 4];

        put(1, 11);
        put(2, 12);
        let bytes = put(0, 2);
        assert_eq!(copy_stack(&mut to, &bytes), 2);
        assert_eq!(to, [11, 12, 0, 0]);
        // Fewer than it says.
        let bytes = put(0, 9);
        assert_eq!(copy_stack(&mut to, &bytes), 2);
        assert_eq!(copy_stack(&mut to, &bytes[..2 * SIZE]), 1);
        assert_eq!(to, [11, 0, 0, 0]);
        let bytes = put(0, 0);
        assert_eq!(copy_stack(&mut to, &bytes), 0);
        assert_eq!(copy_stack(&mut to, &[]), 0);
        // More than fit, and more than can exist.
        for n in 1..40 {
            put(n, n);
        }
        let bytes = put(0, usize::MAX);
        assert_eq!(copy_stack(&mut to, &bytes), 4);
        let mut large = [7; 40];
        assert_eq!(copy_stack(&mut large, &bytes), STACK_DEPTH);
        assert_eq!(large[STACK_DEPTH..], [0; 40 - STACK_DEPTH]);
    }

    #[test]
    fn texts_have_numbers() {
        let a = number_of(&words_of::<4>(b"a"));

        assert_eq!(a, number_of(&words_of::<4>(b"a")));
        assert!(a != number_of(&words_of::<4>(b"b")));
        assert!(a != number_of(&words_of::<4>(b"\0a")));
        assert!(number_of(&[0; 4]) != 0);
    }

    #[test]
    fn keys_of_other_sizes() {
        let places = |words: usize| {
            [
                KeyPlace {
                    word: 0,
                    words,
                    kind: KeyKind::String,
                },
                KeyPlace {
                    word: words,
                    words: 1,
                    kind: KeyKind::Number { signed: false },
                },
            ]
        };
        let mut other = [9; 8];
        let short = [words_of::<2>(b"short")[0], 0, 42];

        assert_eq!(
            convert(&short, &places(2), &places(4), &mut other),
            Some([short[0], 0, 0, 0, 42].as_slice())
        );
        assert_eq!(
            convert(&short, &places(2), &places(1), &mut other),
            Some([short[0], 42].as_slice())
        );
        // An array that is full has no NUL.
        let eight = [words_of::<2>(b"12345678")[0], 0, 42];
        assert_eq!(
            convert(&eight, &places(2), &places(1), &mut other),
            Some([eight[0], 42].as_slice())
        );
        let nine = words_of::<2>(b"123456789");
        let nine = [nine[0], nine[1], 42];
        assert_eq!(convert(&nine, &places(2), &places(1), &mut other), None);
        // No room.
        assert_eq!(
            convert(&short, &places(2), &places(4), &mut other[..4]),
            None
        );
    }

    #[test]
    fn conditions() {
        let unsigned = HandlerCondition::Larger { signed: false };
        let signed = HandlerCondition::Larger { signed: true };

        for condition in [unsigned, signed, HandlerCondition::Other] {
            assert!(!condition.holds(0, None));
            assert!(condition.holds(1, None));
            assert!(condition.holds(2, Some(1)));
            assert!(!condition.holds(2, Some(2)));
        }
        assert!(!unsigned.holds(1, Some(2)));
        assert!(HandlerCondition::Other.holds(1, Some(2)));
        assert!(unsigned.holds(bits(-1), Some(2)));
        assert!(!signed.holds(bits(-1), Some(2)));
        assert!(signed.holds(bits(-1), Some(bits(-2))));
        assert!(signed.holds(bits(-5), None));
        assert!(!signed.holds(bits(-5), Some(0)));

        let unsigned = HandlerCondition::Smaller { signed: false };
        let signed = HandlerCondition::Smaller { signed: true };

        for condition in [unsigned, signed] {
            // The first one is the smallest, whatever it is.
            assert!(condition.holds(0, None));
            assert!(condition.holds(7, None));
            assert!(condition.holds(1, Some(2)));
            assert!(!condition.holds(2, Some(2)));
            assert!(!condition.holds(3, Some(2)));
        }
        assert!(signed.holds(bits(-1), Some(0)));
        assert!(!unsigned.holds(bits(-1), Some(0)));
    }

    #[test]
    fn snapshots_are_for_larger_values() -> Result {
        let larger = HandlerCondition::Larger { signed: false };
        let condition = SnapshotCondition::new(larger, 2)?;
        let mut memory = [0; REQUEST_WORDS];
        let comm = comm_words(b"a task\0\0\0\0\0\0\0\0\0\0");
        let mut ask = |value, key: &[u64]| condition.ask(request(&mut memory, value, comm, key));

        assert_eq!(condition.with_taken(|_| ()), None);
        assert!(!ask(0, &[1, 2]));
        assert_eq!(condition.with_taken(|_| ()), None);
        assert!(ask(7, &[1, 2]));
        assert!(!ask(7, &[3, 4]));
        assert!(!ask(6, &[3, 4]));

        let taken = condition.with_taken(|taken| {
            assert_eq!(taken.comm, b"a task\0\0\0\0\0\0\0\0\0\0");
            (taken.value, taken.key[0], taken.key[1], taken.key.len())
        });
        assert_eq!(taken, Some((7, 1, 2, 2)));

        assert!(ask(8, &[3, 4]));
        let taken = condition.with_taken(|taken| (taken.value, taken.key[1]));
        assert_eq!(taken, Some((8, 4)));
        Ok(())
    }
}
