// SPDX-License-Identifier: GPL-2.0

//! Tests of the time that switches wait.

use crate::patience::regained;
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
}
