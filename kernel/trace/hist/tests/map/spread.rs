// SPDX-License-Identifier: GPL-2.0

//! Tests of hit counts with a part for each CPU.

use super::{
    contents,
    plain,
    threads::{
        together,
        THREADS, //
    },
    Map,
    MAP_BITS_MIN, //
};
use kernel::{
    percpu::Counters,
    prelude::*,
    sync::Arc, //
};

/// Counts a hit of a key, as a histogram does that only counts.
fn hit(map: &Map, key: u64) -> bool {
    map.count_u64(key) || map.hit_u64(key, true, |_| ()).is_some()
}

/// Takes the hits that a map has counted.
fn taken(map: &Map) -> Result<u64> {
    Ok(map.take(&[])?.rows().map(|row| row.sum(0)).sum())
}

#[kunit_tests(hist_map_spread)]
mod suite {
    use super::*;

    #[test]
    fn parts_are_added() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?.spread();

        for key in 0..100u64 {
            for _ in 0..=key {
                assert!(hit(&map, key));
            }
        }
        let counted = contents(&map)?;

        assert_eq!(counted.len(), 100);
        assert!(counted.iter().all(|(key, n)| *n == key + 1));
        assert_eq!(map.hits(), 5050);
        // Most are not in the element.
        assert!(map.lookup_u64(99).is_some_and(|e| e.sum(0) == 1));
        Ok(())
    }

    #[test]
    fn keys_of_any_size_have_parts() -> Result {
        for words in [1, 2, 5, 40] {
            let map = Map::new(MAP_BITS_MIN, plain(words))?.spread();
            let mut key = KVec::from_elem(0u64, words, GFP_KERNEL)?;

            for n in 0..100u64 {
                for _ in 0..=n {
                    key.fill(n);
                    assert!(map.hit(&key, true, |_| ()).is_some());
                }
                // Of the hits, the element has the first one only.
                assert!(map.lookup(&key).is_some_and(|e| e.sum(0) == 1));
            }
            assert_eq!(taken(&map)?, 5050);
            assert_eq!(taken(&map)?, 0);
            assert_eq!(map.hits(), 5050);
        }
        Ok(())
    }

    #[test]
    fn without_parts_the_element_counts() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(2))?;

        for _ in 0..3 {
            assert!(map.hit(&[1, 2], true, |_| ()).is_some());
            assert!(map.hit(&[1, 2], false, |_| ()).is_some());
        }
        assert!(map.lookup(&[1, 2]).is_some_and(|e| e.sum(0) == 3));
        assert_eq!(map.hits(), 6);
        Ok(())
    }

    #[test]
    fn other_hits_are_added() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?.spread();

        for _ in 0..3 {
            assert!(hit(&map, 7));
            super::super::hit(&map, 7).ok_or(EINVAL)?;
        }
        assert_eq!(contents(&map)?[..], [(7, 6)]);
        Ok(())
    }

    #[test]
    fn each_is_taken_once() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?.spread();

        for n in 1..=5 {
            for _ in 0..n {
                assert!(hit(&map, 1) && hit(&map, 2));
            }
            assert_eq!(contents(&map)?[..], [(1, n), (2, n)]);
            assert_eq!(taken(&map)?, 2 * n);
            assert_eq!(contents(&map)?[..], [(1, 0), (2, 0)]);
        }
        Ok(())
    }

    #[test]
    fn wiped() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?.spread();

        for _ in 0..3 {
            assert!(hit(&map, 1) && hit(&map, 2));
        }
        taken(&map)?;
        assert!(hit(&map, 2));
        map.clear(|| ());
        assert_eq!(contents(&map)?.len(), 0);
        assert!(hit(&map, 3) && hit(&map, 3));
        assert_eq!(contents(&map)?[..], [(3, 2)]);
        Ok(())
    }

    #[test]
    fn not_in_large_maps() -> Result {
        let most = Counters::MAX.ilog2();

        for (bits, is_spread) in [(most, true), (most + 1, false)] {
            let map = Map::new(bits, plain(1))?.spread();

            let size = Map::new(bits, plain(1))?.size();

            assert!((map.size() > size) == is_spread);
            for _ in 0..3 {
                assert!(hit(&map, 5));
            }
            assert_eq!(contents(&map)?[..], [(5, 3)]);
            assert_eq!(taken(&map)?, 3);
            assert_eq!(taken(&map)?, 0);
        }
        Ok(())
    }

    #[test]
    fn taken_under_load() -> Result {
        const EVENTS: u64 = 50_000;

        let map = Arc::new(Map::new(MAP_BITS_MIN, plain(1))?.spread(), GFP_KERNEL)?;
        let its_map = map.clone();
        let mut all = Ok(0);
        let ok = together(
            move |_| (0..EVENTS).all(|n| hit(&its_map, n % 3)),
            || {
                for _ in 0..200 {
                    all = match (all, taken(&map)) {
                        (Ok(all), Ok(n)) => Ok(all + n),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                }
            },
        )?;

        assert!(ok);
        assert_eq!(all? + taken(&map)?, EVENTS * THREADS);
        assert_eq!(map.hits(), EVENTS * THREADS);
        assert_eq!(map.drops(), 0);
        Ok(())
    }
}
