// SPDX-License-Identifier: GPL-2.0

//! Tests of numbers: rounded keys, and values that are not sums.

use super::*;

#[kunit_tests(hist_numbers)]
mod tests {
    use super::*;

    #[test]
    fn rounded_keys() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, number(0, 4, true, Modifier::Buckets(10))?)?;
        add_key(&mut spec, number(4, 4, false, Modifier::Log2)?)?;
        let hist = hist(spec)?;
        let record = words([0u32.wrapping_sub(3), 5]);

        hit(&hist, &Fake::new(record.as_flattened()))?;
        let rows = hist.map.snapshot()?;
        assert_eq!(rows.row(0).ok_or(EINVAL)?.key(), [0u64.wrapping_sub(10), 3]);
        assert!(hist.program.keys[0].kind == KeyKind::Number { signed: true });
        assert!(hist.program.keys[1].kind == KeyKind::Number { signed: false });
        Ok(())
    }

    #[test]
    fn statistics() -> Result {
        use Modifier::*;

        let mut spec = spec()?;

        for (signed, offset) in [(false, 4), (true, 8)] {
            for modifier in [Min, Max, Avg] {
                add(&mut spec, number(offset, 4, signed, modifier)?)?;
            }
        }
        add(&mut spec, word(4)?)?;
        add_key(&mut spec, word(0)?)?;
        let hist = hist(spec)?;
        let shown = |hist: &Histogram| {
            let mut rows = hist.map.snapshot()?;

            rows.show_folds(&hist.program.folds);
            let row = rows.row(0).ok_or(EINVAL)?;
            Ok::<[u64; 8], Error>(core::array::from_fn(|i| row.sum(i)))
        };
        let minus = |n: u64| 0u64.wrapping_sub(n);
        let hits = |all: &[(u32, i32)]| {
            for (a, b) in all {
                // CAST: Two's complement.
                let record = words([1, *a, *b as u32]);

                hit(&hist, &Fake::new(record.as_flattened()))?;
            }
            shown(&hist)
        };

        assert!(hist.program.extremes);
        assert_eq!(hits(&[(0, 0)])?, [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            hits(&[(7, -4), (u32::MAX, 9), (5, -10)])?,
            [
                4,
                0,
                u32::MAX.into(),
                (12 + u64::from(u32::MAX)) / 4,
                minus(10),
                9,
                // -5 / 4
                minus(1),
                12 + u64::from(u32::MAX)
            ]
        );
        hist.map.clear(|| ());
        assert_eq!(
            hits(&[(6, -2)])?,
            [1, 6, 6, 6, minus(2), minus(2), minus(2), 6]
        );
        Ok(())
    }

    #[test]
    fn folds() {
        for signed in [false, true] {
            let (min, max) = (Fold::Min { signed }, Fold::Max { signed });
            let numbers = [0, 1, 2, i64::MAX as u64, 1 << 63, (1 << 63) + 1, u64::MAX];

            for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
                let less = if signed { (a as i64) < b as i64 } else { a < b };

                assert_eq!((max.rank(a) < max.rank(b)), less);
                assert_eq!((min.rank(a) > min.rank(b)), less);
            }
            for n in numbers {
                for fold in [min, max] {
                    assert_eq!(fold.rank(n).map(|rank| fold.shown(rank, 1)), Some(n));
                    assert_eq!(fold.shown(0, 0), 0);
                }
            }
        }
        let signed = Fold::Avg { signed: true };

        assert_eq!(signed.shown(0u64.wrapping_sub(7), 2), 0u64.wrapping_sub(3));
        assert_eq!(signed.shown(1 << 63, 1), 1 << 63);
        assert_eq!(Fold::Avg { signed: false }.shown(u64::MAX, 2), u64::MAX / 2);
        assert_eq!(Fold::Avg { signed: false }.shown(5, 0), 0);
        // The hits were taken.
        assert_eq!(Fold::Max { signed: false }.shown(5, 0), 5);
    }
}
