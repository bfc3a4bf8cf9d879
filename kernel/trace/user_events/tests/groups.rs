// SPDX-License-Identifier: GPL-2.0

//! Tests of values in groups.

use kernel::prelude::*;

#[kunit_tests(user_events_groups)]
mod tests {
    use super::*;
    use crate::patterns::Groups;
    use core::{
        cell::Cell,
        cmp::Ordering, //
    };

    /// A key that counts the comparisons.
    #[derive(Clone, Copy)]
    struct Key<'a>(u32, &'a Cell<usize>);

    impl Ord for Key<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Key<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Key<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Key<'_> {}

    /// Returns `true` if the key has these values, in this order.
    fn has(groups: &Groups<u32, u32>, key: u32, values: &[u32]) -> bool {
        groups.of(key).eq(values)
    }

    #[test]
    fn each_has_its_own_in_order() -> Result {
        let mut groups = Groups::new();

        for (key, value) in [(5, 1), (3, 2), (5, 3), (9, 4), (3, 5), (5, 6)] {
            groups.add(key, value)?;
        }
        assert_eq!(groups.len(), 6);
        assert!(has(&groups, 3, &[2, 5]));
        assert!(has(&groups, 5, &[1, 3, 6]));
        assert!(has(&groups, 9, &[4]));
        for key in [0, 4, 6, 10] {
            assert!(has(&groups, key, &[]));
        }
        assert_eq!(groups.iter().sum::<u32>(), 21);
        Ok(())
    }

    #[test]
    fn remove_first_of_one() -> Result {
        let mut groups = Groups::new();

        for (key, value) in [(1, 8), (2, 7), (2, 8), (2, 9), (3, 8)] {
            groups.add(key, value)?;
        }
        assert_eq!(groups.remove(2, |value| *value >= 8), Some(8));
        assert!(has(&groups, 2, &[7, 9]));
        assert_eq!(groups.remove(2, |value| *value == 8), None);
        assert_eq!(groups.remove(4, |_| true), None);
        assert!(has(&groups, 1, &[8]) && has(&groups, 3, &[8]));
        assert_eq!(groups.remove(2, |_| true), Some(7));
        assert_eq!(groups.remove(2, |_| true), Some(9));
        assert_eq!(groups.remove(2, |_| true), None);
        groups.add(2, 6)?;
        assert!(has(&groups, 2, &[6]));
        assert_eq!(groups.len(), 3);
        Ok(())
    }

    /// Checks that the search for the values of a key does not visit those of all others.
    #[test]
    fn logarithmic() -> Result {
        const KEYS: u32 = 1000;
        let count = Cell::new(0);
        let mut groups = Groups::new();

        for value in 0..4 * KEYS {
            groups.add(Key(value % KEYS, &count), value)?;
        }
        for key in [0, 1, KEYS / 2, KEYS - 1] {
            count.set(0);
            assert_eq!(groups.of(Key(key, &count)).count(), 4);
            // Two searches among 4,000.
            assert!(count.get() <= 2 * 13);
        }
        Ok(())
    }
}
