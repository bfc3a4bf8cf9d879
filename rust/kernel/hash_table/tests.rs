// SPDX-License-Identifier: GPL-2.0

//! Tests of the hash table.

use macros::kunit_tests;

#[kunit_tests(rust_hash_table)]
mod open_table {
    use crate::{
        hash_table::{
            Key,
            OpenTable,
            Slots, //
        },
        prelude::*, //
    };
    use core::num::NonZeroU16;

    /// Numbers that look random and are the same each time.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
    }

    /// A table of pairs.
    type Map<K, V> = OpenTable<(K, V)>;

    fn reserve<K: Key, V>(table: &mut Map<K, V>, additional: usize) -> Result {
        if let Some(count) = table.growth(additional)? {
            drop(table.resize(Slots::new(count, GFP_KERNEL)?));
        }
        Ok(())
    }

    fn insert<K: Key, V>(table: &mut Map<K, V>, key: K, value: V) -> Result<Option<V>> {
        reserve(table, 1)?;
        Ok(put(table, key, value))
    }

    fn put<K: Key, V>(table: &mut Map<K, V>, key: K, value: V) -> Option<V> {
        table
            .insert_within_capacity((key, value))
            .map(|(_, value)| value)
    }

    fn get<K: Key, V>(table: &Map<K, V>, key: K) -> Option<&V> {
        table.get(key).map(|(_, value)| value)
    }

    fn take<K: Key, V>(table: &mut Map<K, V>, key: K) -> Option<V> {
        table.remove(key).map(|(_, value)| value)
    }

    /// Returns `true` if the table has exactly these entries.
    fn has_just(table: &Map<u64, u64>, model: &[Option<u64>]) -> bool {
        let count = model.iter().flatten().count();
        let all_found = (0u64..)
            .zip(model)
            .all(|(key, value)| get(table, key) == value.as_ref());

        all_found
            && table.count() == count
            && table.iter().count() == count
            && table.capacity() >= count
    }

    #[test]
    fn empty_table() -> Result {
        let mut table = Map::<u64, u32>::with_seed(0);

        assert_eq!(table.count(), 0);
        assert_eq!(table.capacity(), 0);
        assert!(table.get(0).is_none());
        assert!(table.remove(0).is_none());
        assert_eq!(table.iter().count(), 0);
        assert_eq!(table.slots(), 0);
        // The table is full, so the value is returned.
        assert_eq!(put(&mut table, 1, 2), Some(2));
        assert_eq!(table.count(), 0);
        Ok(())
    }

    #[test]
    fn extreme_keys() -> Result {
        let mut table = OpenTable::with_seed(0);

        for key in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63] {
            assert!(insert(&mut table, key, !key)?.is_none());
        }
        for key in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63] {
            assert_eq!(get(&table, key), Some(&!key));
        }
        assert!(!table.contains(2));
        assert_eq!(table.count(), 5);
        Ok(())
    }

    #[test]
    fn small_keys() -> Result {
        let mut table = OpenTable::with_seed(5);

        for number in 1..=u16::MAX {
            let key = NonZeroU16::new(number).ok_or(EINVAL)?;
            assert!(insert(&mut table, key, !number)?.is_none());
        }
        assert_eq!(table.count(), usize::from(u16::MAX));
        for number in 1..=u16::MAX {
            let key = NonZeroU16::new(number).ok_or(EINVAL)?;
            assert_eq!(get(&table, key), Some(&!number));
        }
        Ok(())
    }

    #[test]
    fn replacing() -> Result {
        let mut table = OpenTable::with_seed(7);

        assert_eq!(insert(&mut table, 5, 'a')?, None);
        assert_eq!(insert(&mut table, 5, 'b')?, Some('a'));
        assert_eq!(put(&mut table, 5, 'c'), Some('b'));
        assert_eq!(table.count(), 1);
        assert_eq!(get(&table, 5), Some(&'c'));
        assert_eq!(take(&mut table, 5), Some('c'));
        assert_eq!(take(&mut table, 5), None);
        assert_eq!(table.count(), 0);
        Ok(())
    }

    #[test]
    fn room_that_was_reserved_is_there() -> Result {
        for count in [1, 2, 5, 6, 7, 12, 13, 100] {
            let mut table = OpenTable::with_seed(count);

            reserve(&mut table, count as usize)?;
            let capacity = table.capacity();
            assert!(capacity >= count as usize);

            for key in 0..count {
                assert_eq!(put(&mut table, key, key), None);
            }
            assert_eq!(table.capacity(), capacity);

            // Up to the last entry that fits, and no more.
            for key in count..capacity as u64 {
                assert_eq!(put(&mut table, key, key), None);
            }
            assert_eq!(put(&mut table, 1000, 7), Some(7));
            assert_eq!(table.count(), capacity);
            for key in 0..capacity as u64 {
                assert_eq!(get(&table, key), Some(&key));
            }
            assert!(!table.contains(1000));
        }
        Ok(())
    }

    #[test]
    fn impossible_room() {
        let mut table = Map::<u64, u64>::with_seed(1);

        assert_eq!(reserve(&mut table, usize::MAX), Err(ENOMEM));
        assert_eq!(reserve(&mut table, usize::MAX / 2), Err(ENOMEM));
        assert_eq!(table.capacity(), 0);
    }

    #[test]
    fn growth_at_least_doubles() -> Result {
        let mut table = OpenTable::with_seed(3);
        let mut growths = 0;

        for key in 0..5000u64 {
            let before = table.capacity();

            insert(&mut table, key << 12, ())?;
            if table.capacity() != before {
                growths += 1;
                assert!(table.capacity() >= 2 * before);
            }
        }
        assert!(growths < 14);
        assert_eq!(table.count(), 5000);
        Ok(())
    }

    #[test]
    fn as_a_model_does() -> Result {
        for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let mut random = Random(seed | 1);
            let mut table = OpenTable::with_seed(seed);
            let mut model = [None; 97];

            for step in 0..4000u64 {
                let key = random.next() % model.len() as u64;
                let slot = &mut model[key as usize];

                // At first insertions are more likely, later removals.
                if random.next() % 4000 >= step {
                    assert_eq!(insert(&mut table, key, step)?, slot.replace(step));
                } else {
                    assert_eq!(take(&mut table, key), slot.take());
                }
                if step % 50 == 0 {
                    assert!(has_just(&table, &model));
                }
            }
            assert!(has_just(&table, &model));
        }
        Ok(())
    }

    #[test]
    fn shrinks_when_nearly_empty() -> Result {
        let mut table = OpenTable::with_seed(11);

        for key in 0..300u64 {
            insert(&mut table, key, key)?;
        }
        let full = table.slots();
        let mut shrunk = 0;

        for key in 0..300u64 {
            assert_eq!(take(&mut table, key), Some(key));
            if let Some(count) = table.surplus() {
                assert!(count < table.slots());
                table.resize(Slots::new(count, GFP_KERNEL)?);
                shrunk += 1;
                // Neither at once again, nor does it have to grow soon.
                assert!(table.surplus().is_none());
                assert!(table.growth(table.count() / 2)?.is_none());
            }
            for rest in key + 1..300 {
                assert_eq!(get(&table, rest), Some(&rest));
            }
        }
        assert!(shrunk > 1 && table.slots() < full / 16);
        Ok(())
    }

    /// Checks that memory which was allocated for a larger table is not used.
    #[test]
    fn does_not_grow_to_shrink() -> Result {
        let mut table = OpenTable::with_seed(17);

        for key in 0..300u64 {
            insert(&mut table, key, key)?;
        }
        let late = Slots::new(table.slots() / 2, GFP_KERNEL)?;
        for key in 8..300u64 {
            assert_eq!(take(&mut table, key), Some(key));
        }
        let count = table.surplus().ok_or(EINVAL)?;

        drop(table.shrink(Slots::new(2 * count, GFP_KERNEL)?));
        assert_eq!(table.slots(), 2 * count);
        for key in 1..8u64 {
            assert_eq!(take(&mut table, key), Some(key));
        }
        assert!(table.surplus().is_some());
        // Too large.
        drop(table.shrink(late));
        assert_eq!(table.slots(), 2 * count);
        // Not smaller.
        drop(table.shrink(Slots::new(2 * count, GFP_KERNEL)?));
        assert_eq!(table.slots(), 2 * count);
        assert_eq!(get(&table, 0), Some(&0));
        // Nothing to do.
        drop(table.shrink(Slots::new(8, GFP_KERNEL)?));
        assert_eq!(table.slots(), 8);
        drop(table.shrink(Slots::new(8, GFP_KERNEL)?));
        assert_eq!(table.slots(), 8);
        Ok(())
    }

    #[test]
    fn too_few_slots_are_returned() -> Result {
        let mut table = OpenTable::with_seed(13);

        for key in 0..100u64 {
            insert(&mut table, key, key)?;
        }
        let slots = table.slots();

        table.resize(Slots::new(8, GFP_KERNEL)?);
        assert_eq!(table.slots(), slots);
        assert_eq!(table.count(), 100);
        assert!((0..100).all(|key| get(&table, key) == Some(&key)));
        Ok(())
    }

    /// Checks that a number of slots which no table can have loses no entries: the mask of one
    /// would not reach all of them.
    #[test]
    fn odd_numbers_of_slots() -> Result {
        for count in [0, 1, 9, 10, 100, 129, 200] {
            let mut table = OpenTable::with_seed(19);

            for key in 0..6u64 {
                insert(&mut table, key, key)?;
            }
            let slots = Slots::new(count, GFP_KERNEL)?;
            let got = slots.count();

            assert!(got >= count && got.is_power_of_two());
            drop(table.resize(slots));
            assert_eq!(table.slots(), got);
            assert_eq!(table.count(), 6);
            assert!((0..6).all(|key| get(&table, key) == Some(&key)));
            while table.count() < table.capacity() {
                let key = table.count() as u64;

                assert!(put(&mut table, key, key).is_none());
            }
            assert_eq!(table.iter().count(), table.count());
        }
        assert_eq!(
            Slots::<(u64, u64)>::new(usize::MAX, GFP_KERNEL).err(),
            Some(ENOMEM)
        );
        Ok(())
    }

    #[test]
    fn slots_have_all_entries() -> Result {
        let mut table = OpenTable::with_seed(17);
        let mut sum = 0;

        for key in 0..100u64 {
            insert(&mut table, key, ())?;
        }
        for at in 0..table.slots() {
            sum += table.slot(at).map_or(0, |(key, ())| *key);
        }
        assert_eq!(sum, 99 * 100 / 2);
        assert!(table.slot(table.slots()).is_none());
        Ok(())
    }
}
