// SPDX-License-Identifier: GPL-2.0

//! Tests of the groups of users.

use kernel::prelude::*;

#[kunit_tests(user_events_faults)]
mod tests {
    use crate::faults::{
        group,
        GROUPS, //
    };

    /// Checks that no group has many more users than others, whatever the seed.
    #[test]
    fn users_are_spread() {
        const USERS: u32 = 800;

        for seed in [0, 1, 0x8000_0000_0000_0000, 0x1234_5678_9abc_def0] {
            for first in [1, 1000, 100_000, 2_000_000_000] {
                let mut counts = [0; GROUPS];

                for user in first..first + USERS {
                    if let Some(count) = counts.get_mut(group(user, seed)) {
                        *count += 1;
                    }
                }
                assert_eq!(counts.iter().sum::<u32>(), USERS);
                for count in counts {
                    assert!((50..=200).contains(&count));
                }
            }
        }
    }
}
