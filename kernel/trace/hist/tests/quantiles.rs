// SPDX-License-Identifier: GPL-2.0

//! Tests of parts of powers of two, and of quantiles.

use crate::{
    hit::eval::{
        apply,
        part_end, //
    },
    program::op::Op,
    show::quantiles::quantiles, //
};
use kernel::prelude::*;

/// Returns the exact quantiles of sorted numbers.
fn exact(numbers: &[u64]) -> [u64; 4] {
    [500, 900, 990, 999].map(|thousandths| {
        let rank = (numbers.len() * thousandths).div_ceil(1000).max(1);

        numbers[rank - 1]
    })
}

/// Returns the quantiles of the parts of sorted numbers.
fn of_parts(numbers: &[u64], bits: u32, signed: bool) -> [u64; 4] {
    let part = |n: &u64| apply(&Op::Part { signed }, *n, bits.into());

    quantiles(numbers.iter().map(|n| (part(n), 1)), bits, signed)
}

#[kunit_tests(hist_quantiles)]
mod cases {
    use super::*;

    /// Returns a number as the 64 bits that it is handled as.
    fn bits(n: i64) -> u64 {
        // CAST: Two's complement.
        n as u64
    }

    /// Finds the part of a number by search: powers of two are cut into `2^k` parts of one width,
    /// or of width 1 if they have fewer numbers.
    fn part_of(n: u64, k: u32) -> (u64, u64) {
        let mut start = 1u64;

        if n == 0 {
            return (0, 0);
        }
        while n / 2 >= start {
            start *= 2;
        }
        let width = (start >> k).max(1);
        let nth = (n - start) / width;

        (start + nth * width, start + (nth * width + (width - 1)))
    }

    #[test]
    fn parts() {
        let near = (0..64).flat_map(|power| {
            let n = 1u64 << power;

            // Around 2^0 these are also the largest numbers.
            (0..70).flat_map(move |i| [n.wrapping_add(i), n.wrapping_sub(i)])
        });
        let numbers = Iterator::chain(near, 0..5000);

        for k in 1..=5 {
            let (unsigned, signed) = (Op::Part { signed: false }, Op::Part { signed: true });

            for n in numbers.clone() {
                let (start, end) = part_of(n, k);

                assert_eq!(apply(&unsigned, n, k.into()), start);
                assert_eq!(part_end(start, k, false), end);
                // Half of the width of a part is `1/2^(k+1)` of its lowest number at most.
                assert!((end - start).div_ceil(2) <= start >> (k + 1));
                if n > 0 && n < 1 << 63 {
                    assert_eq!(apply(&signed, n, k.into()), start);
                    assert_eq!(part_end(start, k, true), end);

                    let lowest = apply(&signed, n.wrapping_neg(), k.into());

                    assert_eq!(lowest, end.wrapping_neg());
                    assert_eq!(part_end(lowest, k, true), start.wrapping_neg());
                }
            }
            assert_eq!(apply(&signed, bits(i64::MIN), k.into()), bits(i64::MIN));
            assert_eq!(part_end(bits(i64::MIN), k, true), bits(i64::MIN));
            assert_ne!(apply(&signed, bits(i64::MIN + 1), k.into()), bits(i64::MIN));
        }
    }

    #[test]
    fn few_numbers() {
        assert_eq!(quantiles([].into_iter(), 3, false), [0; 4]);
        assert_eq!(of_parts(&[0], 3, false), [0; 4]);
        assert_eq!(of_parts(&[7], 3, true), [7; 4]);
        assert_eq!(of_parts(&[1, 2], 3, false), [1, 2, 2, 2]);
        assert_eq!(of_parts(&[1, 2, 3], 3, false), [2, 3, 3, 3]);
        assert_eq!(of_parts(&[u64::MAX], 5, false)[0] >> 58, u64::MAX >> 58);
    }

    #[test]
    fn ranks_do_not_overflow() {
        let parts = [(1, u64::MAX / 2), (2, u64::MAX / 2)];

        assert_eq!(quantiles(parts.into_iter(), 3, false), [1, 2, 2, 2]);
    }

    /// Checks that quantiles differ from the exact ones by `1/2^(bits+1)` at most.
    #[test]
    fn errors_are_bounded() -> Result {
        let mut state = 1u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };

        for round in 0..300 {
            let mut numbers = KVec::new();

            // Of all magnitudes, or of some.
            for _ in 0..1 + round {
                let n = random();
                let magnitude = if round % 2 == 0 { random() % 64 } else { 50 };

                numbers.push(n >> magnitude, GFP_KERNEL)?;
            }
            numbers.sort_unstable();
            for bits in 1..=5 {
                let results = of_parts(&numbers, bits, false);

                for (is, should) in results.into_iter().zip(exact(&numbers)) {
                    assert!(is.abs_diff(should) <= should >> (bits + 1));
                }
            }

            // The same below zero.
            for n in numbers.iter_mut() {
                *n = (*n >> 1).wrapping_neg();
            }
            numbers.sort_unstable_by_key(|n| *n as i64);
            for bits in 1..=5 {
                let results = of_parts(&numbers, bits, true);

                for (is, should) in results.into_iter().zip(exact(&numbers)) {
                    let (is, should) = (is as i64, should as i64);

                    assert!(is <= 0);
                    assert!(is.abs_diff(should) <= should.unsigned_abs() >> (bits + 1));
                }
            }
        }
        Ok(())
    }
}
