// SPDX-License-Identifier: GPL-2.0

//! Tests of the map.

mod key_arena;
mod reuse;
mod sort;
mod spread;
mod threads;
mod vars;

use kernel::{
    percpu::{
        ScratchPool,
        NESTING, //
    },
    prelude::*, //
};

use crate::{
    limits::{
        MAP_BITS_MAX,
        MAP_BITS_MIN, //
    },
    map::{
        Comm,
        Element,
        KeyOrder,
        Kind,
        Layout,
        Map,
        Polls,
        SortBy,
        SortValue, //
    }, //
};

/// Returns the layout of keys of `key_words` words and one sum, and nothing else.
const fn plain(key_words: usize) -> Layout {
    Layout {
        key_words,
        n_sums: 1,
        n_vars: 0,
        string_slots: 0,
        first_shown: 0,
        comm: false,
    }
}

/// Inserts a key and counts in its first sum.
fn hit(map: &Map, key: u64) -> Option<Element<'_>> {
    let element = map.insert_u64(key, |_| ())?;

    element.add(0, 1);
    Some(element)
}

/// Returns the keys and first sums of a map whose keys have one word, in the order of the keys.
fn contents(map: &Map) -> Result<KVVec<(u64, u64)>> {
    let mut snapshot = map.snapshot()?;
    let mut contents = KVVec::with_capacity(snapshot.len(), GFP_KERNEL)?;

    let by_key = SortBy {
        value: SortValue::Key {
            word: 0,
            order: KeyOrder::Unsigned,
        },
        descending: false,
    };

    snapshot.sort(&[by_key])?;
    for row in snapshot.rows() {
        let key = row.key().first().copied().ok_or(EINVAL)?;

        contents.push((key, row.sum(0)), GFP_KERNEL)?;
    }
    Ok(contents)
}

/// Returns `true` if all keys of a map differ, and their sums add up to the hits of the map.
fn is_consistent(map: &Map) -> Result<bool> {
    let contents = contents(map)?;
    let sum: u64 = contents.iter().map(|(_, n)| n).sum();

    if sum != map.hits() || contents.len() != map.len() {
        pr_err!("sum {}, hits {}, length {}\n", sum, map.hits(), map.len());
        return Ok(false);
    }
    Ok(contents.is_sorted_by(|(a, _), (b, _)| a < b))
}

#[kunit_tests(hist_map)]
mod tests {
    use super::*;

    #[test]
    fn what_is_impossible() {
        let small = |layout| Map::new(MAP_BITS_MIN, layout).err();

        assert_eq!(Map::new(MAP_BITS_MIN - 1, plain(1)).err(), Some(EINVAL));
        assert_eq!(Map::new(MAP_BITS_MAX + 1, plain(1)).err(), Some(EINVAL));
        assert_eq!(Map::new(u32::MAX, plain(1)).err(), Some(EINVAL));
        assert_eq!(small(plain(0)), Some(EINVAL));
        assert_eq!(
            small(Layout {
                n_vars: 17,
                ..plain(1)
            }),
            Some(EINVAL)
        );
        assert!(small(Layout {
            string_slots: usize::MAX / 16,
            ..plain(1)
        })
        .is_some());
        assert!(small(plain(usize::MAX / 64)).is_some());
    }

    #[test]
    fn size_before_it_is_allocated() -> Result {
        let with_vars = Layout {
            n_vars: 3,
            string_slots: 1,
            comm: true,
            ..plain(2)
        };

        for kind in [Kind::Plain, Kind::Spread, Kind::Reuse] {
            // A large map is not spread.
            for bits in [MAP_BITS_MIN, 10, 15] {
                for layout in [plain(1), plain(32), with_vars] {
                    let size = Map::of_kind(kind, bits, layout)?.size();

                    assert_eq!(size, Map::size_of(kind, bits, layout)?);
                }
            }
            assert_eq!(
                Map::size_of(kind, MAP_BITS_MAX + 1, plain(1)).err(),
                Some(EINVAL)
            );
        }
        Ok(())
    }

    /// Checks that the size includes what a large map allocates for long keys when it has many.
    #[test]
    fn size_with_what_is_allocated_later() -> Result {
        const BITS: u32 = 16;
        const WORDS: usize = 32;

        let of = |kind| Map::size_of(kind, BITS, plain(WORDS));
        let allocated = |kind| Map::of_kind(kind, BITS, plain(WORDS)).map(|map| map.size());
        let later = ((WORDS << BITS) / 2 + WORDS) * size_of::<u64>();

        assert_eq!(of(Kind::Plain)?, allocated(Kind::Plain)? + later);
        // Here each element has room for a key of full length.
        assert_eq!(of(Kind::Reuse)?, allocated(Kind::Reuse)?);
        Ok(())
    }

    #[test]
    fn hits_of_a_key() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?;

        assert_eq!((map.len(), map.hits(), map.drops()), (0, 0, 0));
        assert!(map.lookup(&[5]).is_none());

        for n in 1..=10 {
            assert!(hit(&map, 5).is_some_and(|e| e.sum(0) == n && e.key_word(0) == 5));
        }
        assert!(hit(&map, u64::MAX).is_some());
        assert!(hit(&map, 0).is_some());
        assert!(map.lookup(&[5]).is_some_and(|e| e.sum(0) == 10));
        assert!(map.lookup(&[6]).is_none());
        assert_eq!((map.len(), map.hits(), map.drops()), (3, 12, 0));

        let contents = contents(&map)?;
        assert_eq!(&contents[..], &[(0, 1), (5, 10), (u64::MAX, 1)]);

        map.count_drop();
        assert_eq!(map.drops(), 1);
        Ok(())
    }

    #[test]
    fn sums() -> Result {
        let map = Map::new(
            MAP_BITS_MIN,
            Layout {
                n_sums: 3,
                ..plain(2)
            },
        )?;
        let one = map.hit(&[1, 2], false, |_| ()).ok_or(EINVAL)?;
        let other = map.hit(&[2, 1], false, |_| ()).ok_or(EINVAL)?;

        for sum in 0..3 {
            one.add(sum, 10 + sum as u64);
            one.add(sum, u64::MAX);
        }
        // No such sum exists, and none of the others changes.
        one.add(3, 1);
        other.add(2, 5);
        assert_eq!([one.sum(0), one.sum(1), one.sum(2)], [9, 10, 11]);
        assert_eq!(one.sum(3), 0);
        assert_eq!([other.sum(0), other.sum(1), other.sum(2)], [0, 0, 5]);

        let mut key = [0; 3];
        other.copy_key(&mut key);
        assert_eq!(key, [2, 1, 0]);
        assert_eq!((other.key_word(1), other.key_word(2)), (1, 0));
        Ok(())
    }

    #[test]
    fn keys_of_many_words() -> Result {
        for words in [2, 3, 4, 7, 63] {
            let map = Map::new(8, plain(words))?;
            let mut key = KVec::from_elem(0u64, words, GFP_KERNEL)?;

            // Each word alone changes the hash.
            assert!(map.hit(&key, false, |_| ()).is_some());
            for word in 0..words {
                key[word] = 1;
                assert!(map.lookup(&key).is_none());
                assert!(map.hit(&key, false, |_| ()).is_some());
                assert!(map
                    .hit(&key, false, |_| ())
                    .is_some_and(|e| e.key_word(word) == 1));
                key[word] = 0;
            }
            assert_eq!(map.len(), words + 1);
            assert_eq!(map.hits(), 2 * words as u64 + 1);

            // Keys of another size are not inserted.
            assert!(map.hit(&key[1..], false, |_| ()).is_none());
            assert!(map.insert_u64(0, |_| ()).is_none());
            assert!(map.hit(&[], false, |_| ()).is_none());
            assert!(map.lookup(&key[1..]).is_none());
            assert_eq!(map.drops(), 3);
            assert_eq!(map.len(), words + 1);
        }
        Ok(())
    }

    #[test]
    fn both_ways_of_insertion_are_one() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?;

        for key in 0..100 {
            hit(&map, key).ok_or(EINVAL)?;
        }
        for key in 0..100 {
            assert!(map
                .hit(&[key], false, |_| ())
                .is_some_and(|e| e.sum(0) == 1));
        }
        assert_eq!((map.len(), map.hits()), (100, 200));
        Ok(())
    }

    #[test]
    fn when_it_is_full() -> Result {
        for bits in [MAP_BITS_MIN, 10] {
            let map = Map::new(bits, plain(1))?;
            let count = 1u64 << bits;

            for key in 0..count + 50 {
                assert_eq!(hit(&map, key).is_some(), key < count);
            }
            assert_eq!((map.hits(), map.drops()), (count, 50));
            assert_eq!(map.len() as u64, count);

            // Existing keys continue to count, new ones are dropped.
            for key in 0..count + 50 {
                assert_eq!(hit(&map, key).is_some(), key < count);
            }
            assert!(contents(&map)?.iter().all(|(_, n)| *n == 2));
            assert_eq!((map.hits(), map.drops()), (2 * count, 100));
            assert!(is_consistent(&map)?);
        }
        Ok(())
    }

    #[test]
    fn keys_that_collide() -> Result {
        // With this factor the hash is what is left of the key: the tag is in its low bits, and the
        // slot in its high ones.
        let start = 0x1234_5678_9abc_def0;
        let map = Map::with_seed(MAP_BITS_MIN, plain(1), start, 1)?;

        // A hash of 0 is like any other; so are equal tags and slots.
        for key in 0..64u64 {
            assert!(hit(&map, start ^ key << 20).is_some());
        }
        // The chain wraps around at the end of the table.
        for key in 0..64u64 {
            assert!(hit(&map, start ^ (u64::MAX << 56 | key)).is_some());
        }
        assert_eq!(map.len(), 128);
        assert!(hit(&map, start ^ 64 << 20).is_none());
        for key in 0..64u64 {
            assert!(hit(&map, start ^ key << 20).is_some_and(|e| e.sum(0) == 2));
            assert!(hit(&map, start ^ (u64::MAX << 56 | key)).is_some_and(|e| e.sum(0) == 2));
        }
        assert!(is_consistent(&map)?);
        Ok(())
    }

    #[test]
    fn names_of_tasks() -> Result {
        let layout = Layout {
            comm: true,
            ..plain(1)
        };
        let map = Map::new(MAP_BITS_MIN, layout)?;
        let name = |byte| move |comm: &mut Comm| comm[..3].fill(byte);

        assert!(map
            .insert_u64(1, name(b'a'))
            .is_some_and(|e| e.comm()[..4] == *b"aaa\0"));
        // Only the first hit counts.
        assert!(map
            .insert_u64(1, name(b'b'))
            .is_some_and(|e| e.comm()[..4] == *b"aaa\0"));
        assert!(map
            .insert_u64(2, name(b'c'))
            .is_some_and(|e| e.comm()[..4] == *b"ccc\0"));

        for row in map.snapshot()?.rows() {
            let byte = if row.key() == [1] { b'a' } else { b'c' };

            assert_eq!(row.comm().len(), 16);
            assert!(row.comm()[..3].iter().all(|b| *b == byte));
        }

        // A map that does not store the name does not ask for it.
        let map = Map::new(MAP_BITS_MIN, plain(1))?;
        let mut asked = false;

        assert!(map
            .insert_u64(1, |_| asked = true)
            .is_some_and(|e| e.comm() == [0; 16]));
        assert!(!asked);
        assert!(map.snapshot()?.rows().all(|row| row.comm().is_empty()));
        Ok(())
    }

    #[test]
    fn closed() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?;

        hit(&map, 1).ok_or(EINVAL)?;
        map.close();
        assert!(hit(&map, 1).is_none());
        assert!(hit(&map, 2).is_none());
        assert!(map.lookup(&[1]).is_none());
        map.count_drop();
        assert_eq!((map.hits(), map.drops(), map.len()), (1, 3, 1));

        map.open();
        map.count_drop();
        assert_eq!(map.drops(), 4);
        assert!(hit(&map, 1).is_some_and(|e| e.sum(0) == 2));
        assert!(map.lookup(&[1]).is_some());
        Ok(())
    }

    /// Checks that hits while a map is cleared count as drops afterwards.
    #[test]
    fn cleared() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?;

        hit(&map, 1).ok_or(EINVAL)?;
        map.count_drop();
        for n in 1..4 {
            map.clear(|| {
                for _ in 0..n {
                    assert!(hit(&map, 1).is_none());
                }
            });
            assert_eq!((map.hits(), map.drops(), map.len()), (0, n, 0));
        }
        Ok(())
    }

    #[test]
    fn wiped() -> Result {
        let layout = Layout {
            n_vars: 2,
            string_slots: 1,
            comm: true,
            ..plain(2)
        };
        let map = Map::new(MAP_BITS_MIN, layout)?;

        for round in 0..3u8 {
            for key in 0..200u64 {
                let inserted = map.hit(&[key, 1], false, |comm| comm.fill(b'x' + round));

                assert_eq!(inserted.is_some(), key < 128);
                let Some(element) = inserted else {
                    continue;
                };

                assert_eq!(element.sum(0), 0);
                assert_eq!(element.comm(), [b'x' + round; 16]);
                assert!(element
                    .read(|vars| vars.var(0))
                    .is_some_and(|v| v.is_none()));

                let mut writer = element.write(&mut Polls::new()).ok_or(EINVAL)?;
                assert_eq!((writer.var(0), writer.var(1)), (0, 0));
                writer.set_var(0, 7);
                writer.set_string(0, b"text");
                drop(writer);
                element.add(0, 3);
            }
            assert_eq!((map.hits(), map.drops()), (128, 72));

            map.close();
            map.wipe();
            map.open();
            assert_eq!((map.hits(), map.drops(), map.len()), (0, 0, 0));
            assert_eq!(map.snapshot()?.len(), 0);
        }

        let element = map.hit(&[1, 1], false, |_| ()).ok_or(EINVAL)?;
        let mut text = [u64::MAX; 32];
        element.read(|vars| vars.copy_string(0, &mut text));
        assert_eq!(text[0], 0);
        assert_eq!(element.comm(), [0; 16]);
        Ok(())
    }

    #[test]
    fn nested_scratch() -> Result {
        let pool = ScratchPool::new(5)?;

        for _ in 0..2 {
            let mut guards = [const { None }; NESTING];

            for (n, guard) in guards.iter_mut().enumerate() {
                let mut buffer = pool.enter().ok_or(EBUSY)?;

                buffer.fill(n as u64);
                *guard = Some(buffer);
            }
            let fifth = pool.enter().is_some();
            let mut kept = true;

            for (n, buffer) in guards.iter().flatten().enumerate() {
                kept &= buffer.len() == 5 && buffer.iter().all(|word| *word == n as u64);
            }

            // One from the middle: the next key gets just that.
            let middle = guards[1].take().is_some();
            let again = pool.enter().map(|mut buffer| buffer.fill(99));
            let mut still = true;

            for (n, guard) in guards.iter().enumerate() {
                if let Some(buffer) = guard {
                    still &= buffer.iter().all(|word| *word == n as u64);
                }
            }
            // Preemption is on again from here on.
            drop(guards);

            assert!(!fifth);
            assert!(kept);
            assert!(middle);
            assert!(again.is_some());
            assert!(still);
        }
        assert_eq!(ScratchPool::new(0).err(), Some(EINVAL));
        assert_eq!(ScratchPool::new(4097).err(), Some(EINVAL));
        assert_eq!(ScratchPool::new(usize::MAX).err(), Some(EINVAL));
        assert!(ScratchPool::new(4096).is_ok());
        Ok(())
    }
}
