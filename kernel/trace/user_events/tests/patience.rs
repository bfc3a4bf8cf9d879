// SPDX-License-Identifier: GPL-2.0

//! Tests of the limits that switches share.

use crate::patience::{
    regained,
    shared_cost,
    shared_regained, //
};
use kernel::prelude::*;

const MS: i64 = 1_000_000;

#[kunit_tests(user_events_patience)]
mod tests {
    use super::*;

    #[test]
    fn patience_comes_back_slowly() {
        // All of it was used, or more, as a sleep can take long.
        assert_eq!(regained(0, 0), 0);
        assert_eq!(regained(-5 * MS, 0), 0);
        assert_eq!(regained(0, 8 * MS), MS);
        assert_eq!(regained(-5 * MS, 8 * MS), MS);
        // Part of it was.
        assert_eq!(regained(4 * MS, 16 * MS), 6 * MS);
        // Never more than that, and a clock that stands still does no harm.
        assert_eq!(regained(4 * MS, 1000 * MS), 10 * MS);
        assert_eq!(regained(4 * MS, i64::MAX), 10 * MS);
        assert_eq!(regained(4 * MS, -1), 4 * MS);
    }

    #[test]
    fn many_switches_wait_for_a_part_of_the_time() {
        let (mut left, mut waited, mut passed) = (10 * MS, 0, 0);

        // Each switch works for 100 us, and waits as long as it may.
        for _ in 0..10_000 {
            let patience = regained(left, MS / 10);

            waited += patience;
            passed += patience + MS / 10;
            left = 0;
        }
        assert!(waited < 10 * MS + passed / 8);
    }

    /// The time after which one more shared word may be visited.
    const VISIT: i64 = 16_000;

    #[test]
    fn visits_of_shared_words_come_back_slowly() {
        let all = (1 << 16) * VISIT;

        assert_eq!(shared_regained(0, 0), 0);
        assert_eq!(shared_regained(0, VISIT), VISIT);
        // Switches that follow each other at once lose no fraction of a visit.
        assert_eq!(
            (0..1000).fold(0, |left, _| shared_regained(left, 16)),
            VISIT
        );
        // A set with many address spaces is visited as a whole, which the next switches compensate.
        assert_eq!(shared_regained(-5 * VISIT, VISIT), -4 * VISIT);
        // Never more than that, and a clock that stands still does no harm.
        assert_eq!(shared_regained(all - 1, VISIT), all);
        assert_eq!(shared_regained(all, i64::MAX), all);
        assert_eq!(shared_regained(i64::MIN, -1), i64::MIN);
    }

    #[test]
    fn many_switches_visit_few_shared_words() {
        let (mut left, mut visits, mut passed) = (shared_regained(0, i64::MAX), 0, 0);

        // Each switch visits 2,000 words of one set, as long as it may.
        for _ in 0..30_000 {
            left = shared_regained(left, VISIT / 4);
            passed += VISIT / 4;
            if left > 0 {
                left -= shared_cost(2_000, 0);
                visits += 2_000;
            }
        }
        assert!(visits < (1 << 16) + 2_000 + passed / VISIT);
    }

    #[test]
    fn slow_visits_of_shared_words_take_a_part_of_the_time() {
        // Up to a quarter of it a visit costs the same.
        assert_eq!(shared_cost(3, 3 * VISIT / 4), 3 * VISIT);
        assert_eq!(shared_cost(3, 3 * VISIT), 12 * VISIT);
        assert_eq!(shared_cost(usize::MAX, i64::MAX), i64::MAX);

        let (mut left, mut took, mut passed) = (shared_regained(0, i64::MAX), 0, 0);

        // Each switch visits 10,000 words of one set for 100 us each, as long as it may.
        for _ in 0..64 {
            let mut time = 100 * MS;

            if left > 0 {
                left -= shared_cost(10_000, 1_000 * MS);
                took += 1_000 * MS;
                time += 1_000 * MS;
            }
            left = shared_regained(left, time);
            passed += time;
        }
        // The first switch visits all of them, and so do some later ones.
        assert!(took > 1_000 * MS && took <= 1_000 * MS + passed / 4);
    }
}
