// SPDX-License-Identifier: GPL-2.0

//! Tests of maps whose elements are used again for other keys.

use kernel::prelude::*;

use super::plain;
use crate::{
    limits::{
        COMM_LEN,
        MAP_BITS_MIN,
        STRING_WORDS, //
    },
    map::{
        Layout,
        Map,
        Polls,
        VarSet, //
    }, //
};

const LAYOUT: Layout = Layout {
    n_vars: 2,
    string_slots: 1,
    comm: true,
    ..plain(1)
};

/// Number of elements.
const SIZE: u64 = 1 << MAP_BITS_MIN;

/// Returns the set of the first variable, which is taken.
fn once() -> VarSet {
    VarSet::NONE.with(0)
}

/// Creates a map whose first variable another histogram takes.
fn map(layout: Layout) -> Result<Map> {
    let map = Map::with_reuse(MAP_BITS_MIN, layout)?;

    map.keep_for(once());
    Ok(map)
}

/// Counts a hit of a key, and returns `true` if it has an element then.
fn hit(map: &Map, key: &[u64]) -> bool {
    let word = key.first().copied().unwrap_or(0);
    let element = map.hit_live(
        key,
        |comm| comm.fill(word as u8),
        |_, vars| {
            if let Some(vars) = vars {
                vars.set_var(0, !word);
                vars.set_var(1, word);
                vars.set_string(0, &word.to_ne_bytes());
            }
        },
    );

    element.is_some()
}

/// Takes the first variable of a key.
fn take(map: &Map, key: &[u64]) -> Option<u64> {
    let element = map.lookup_live(key)?;

    element
        .consume(
            &mut Polls::new(),
            once(),
            || false,
            |vars| element.is_of(key).then(|| vars.var(0)).flatten(),
        )
        .ok()?
}

#[kunit_tests(hist_map_reuse)]
mod tests {
    use super::*;

    #[test]
    fn many_keys() -> Result {
        let map = map(LAYOUT)?;

        for key in 1..=50 * SIZE {
            assert!(hit(&map, &[key]));
            assert!(hit(&map, &[key]));
            assert_eq!(take(&map, &[key]), Some(!key));
            assert_eq!(take(&map, &[key]), None);
        }
        assert_eq!((map.hits(), map.drops()), (100 * SIZE, 0));

        let snapshot = map.snapshot()?;

        // One is free if a bucket was full.
        assert!((SIZE - 2..=SIZE).contains(&(map.len() as u64)));
        assert_eq!(map.reused(), Some((50 * SIZE - map.len() as u64, 0)));
        assert_eq!(snapshot.len(), map.len());
        for row in snapshot.rows() {
            let [key] = *row.key() else {
                return Err(EINVAL);
            };

            // The previous contents of an element are removed.
            assert_eq!((row.sum(0), row.var(0), row.var(1)), (2, None, Some(key)));
            assert_eq!(row.comm(), [key as u8; COMM_LEN]);
            assert_eq!(row.string(0).len(), STRING_WORDS);
        }
        Ok(())
    }

    /// Checks that elements with awaited variables stay.
    #[test]
    fn what_waits_stays() -> Result {
        let map = map(LAYOUT)?;

        for key in 1..=8 {
            assert!(hit(&map, &[key]));
        }
        for key in 9..=20 * SIZE {
            assert!(hit(&map, &[key]));
            assert!(take(&map, &[key]).is_some());
        }
        let taken = (1..=8).filter(|key| take(&map, &[*key]).is_some()).count();

        let reused = 20 * SIZE - map.len() as u64;

        assert_eq!(map.reused(), Some((reused, 8 - taken as u64)));
        // Four of eight in one of 256 buckets are not to be expected.
        assert!(taken >= 6);
        Ok(())
    }

    /// Checks that elements whose variables are no longer awaited are reused like others.
    #[test]
    fn what_waited_goes() -> Result {
        let map = map(LAYOUT)?;

        for key in 1..=SIZE / 2 {
            assert!(hit(&map, &[key]));
        }
        // Four of them are in one bucket with one seed in 26.
        let before = map.reused().map(|(_, lost)| lost);

        map.keep_for(VarSet::NONE);
        for key in SIZE + 1..=8 * SIZE {
            assert!(hit(&map, &[key]));
        }
        assert!(map.reused().is_some_and(|(reused, _)| reused > SIZE));
        assert_eq!(map.reused().map(|(_, lost)| lost), before);
        Ok(())
    }

    /// Checks that some keys are lost if the variables of all are awaited.
    #[test]
    fn all_wait() -> Result {
        let map = map(LAYOUT)?;

        for key in 1..=4 * SIZE {
            assert!(hit(&map, &[key]));
        }
        let taken = (1..=4 * SIZE).filter(|key| take(&map, &[*key]) == Some(!*key));
        let taken = taken.count() as u64;

        assert_eq!(map.len() as u64, taken);
        assert_eq!(map.reused(), Some((4 * SIZE - taken, 4 * SIZE - taken)));
        assert_eq!((map.hits(), map.drops()), (4 * SIZE, 0));
        assert!(taken > SIZE * 3 / 4);
        Ok(())
    }

    /// Checks that each key is assigned an element, whatever the order of the keys is. In the
    /// order of the search for an element, all keys can be in one half of the buckets.
    #[test]
    fn all_wait_where_the_search_is() -> Result {
        const SEEDS: [(u64, u64); 3] = [
            (0x65a9_cee6_d209_85a2, 0xde74_134b_34e1_f2b3),
            (0x7c6b_4bc2_0459_6004, 0x8d55_337a_a665_6c4b),
            (0x72ed_9709_71ea_5a7f, 0x0a39_2ffb_da34_15f3),
        ];

        for (start, factor) in SEEDS {
            let map = Map::with_reuse_and_seed(MAP_BITS_MIN, LAYOUT, start, factor)?;

            map.keep_for(once());
            for key in 1..=5000 {
                hit(&map, &[key]);
            }
            assert_eq!((map.hits(), map.drops()), (5000, 0));
        }
        Ok(())
    }

    /// Checks that successive keys are in many buckets, whatever the factor of the hash is.
    #[test]
    fn sequence() -> Result {
        const START: u64 = 0x243f_6a88_85a3_08d3;
        const LOW: u64 = 0x9e37_79b9;
        // Near to multiples of 1, 1/2, 1/3, 1/4 and 1/5 of 2^64.
        const FACTORS: [u64; 6] = [
            LOW,
            (0x8000_0000 << 32) | LOW,
            (0x5555_5555 << 32) | LOW,
            (0x4000_0000 << 32) | LOW,
            (0x3333_3333 << 32) | LOW,
            (0xffff_ffff << 32) | LOW,
        ];

        for factor in FACTORS {
            for stride in [1, 8, 4096] {
                let map = Map::with_reuse_and_seed(MAP_BITS_MIN, LAYOUT, START, factor)?;

                map.keep_for(once());
                for key in 1..=4 * SIZE {
                    assert!(hit(&map, &[key * stride]));
                }
                assert_eq!(map.drops(), 0);
                assert!(map.len() as u64 > SIZE * 3 / 4);
            }
        }
        Ok(())
    }

    /// Checks the order of replacement in a full bucket of three keys: first those whose variable
    /// was taken, then the oldest.
    #[test]
    fn full_bucket() -> Result {
        // Small keys are in the first bucket.
        let map = Map::with_reuse_and_seed(MAP_BITS_MIN, LAYOUT, 0, 1)?;
        let is_there = |key| map.lookup_live(&[key]).is_some();

        map.keep_for(once());
        for key in 1..=3 {
            assert!(hit(&map, &[key]));
        }
        assert!(take(&map, &[2]).is_some());
        assert!(hit(&map, &[4]));
        assert!(is_there(1) && !is_there(2) && is_there(3) && is_there(4));
        assert_eq!(map.reused(), Some((1, 0)));
        assert!(hit(&map, &[5]));
        assert!(!is_there(1) && is_there(3) && is_there(4) && is_there(5));
        assert_eq!(map.reused(), Some((2, 1)));
        assert_eq!(map.len(), 3);
        Ok(())
    }

    /// Checks that variables which nothing takes do not keep an element.
    #[test]
    fn what_nothing_takes_goes() -> Result {
        let map = Map::with_reuse(MAP_BITS_MIN, LAYOUT)?;

        for key in 1..=4 * SIZE {
            assert!(hit(&map, &[key]));
        }
        assert_eq!(map.reused(), Some((4 * SIZE - map.len() as u64, 0)));
        Ok(())
    }

    #[test]
    fn long_keys() -> Result {
        const WORDS: usize = 40;
        let map = Map::with_reuse(MAP_BITS_MIN, plain(WORDS))?;
        let key = |n: u64| {
            let mut key = [0; WORDS];

            if let Some(words) = key.get_mut(..1 + n as usize % WORDS) {
                words.fill(n);
            }
            key
        };

        for n in 1..=20 * SIZE {
            let element = map.hit_live(&key(n), |_| (), |_, _| ());

            assert!(element.is_some_and(|element| element.is_of(&key(n))));
            assert!(map.lookup_live(&key(n)).is_some());
        }
        assert_eq!(map.drops(), 0);
        for row in map.snapshot()?.rows() {
            assert_eq!(row.key(), key(row.key().first().copied().unwrap_or(0)));
        }
        Ok(())
    }

    /// Checks that the functions for other maps count nothing, and that clearing leaves nothing.
    #[test]
    fn closed_and_cleared() -> Result {
        let map = map(LAYOUT)?;

        assert!(map.insert_u64(1, |_| ()).is_none());
        assert!(map.lookup_u64(1).is_none() && !map.count_u64(1));
        assert!(map.hit_live(&[1, 2], |_| (), |_, _| ()).is_none());
        assert_eq!((map.hits(), map.drops()), (0, 2));
        for key in 1..=2 * SIZE {
            assert!(hit(&map, &[key]));
        }
        map.clear(|| assert!(!hit(&map, &[1])));
        assert_eq!((map.hits(), map.len()), (0, 0));
        assert_eq!(map.reused(), Some((0, 0)));
        for key in 1..=SIZE / 2 {
            assert!(hit(&map, &[key]));
            assert_eq!(take(&map, &[key]), Some(!key));
        }
        // Those in a full bucket are retired although others are free.
        let (reused, lost) = map.reused().unwrap_or_default();

        assert_eq!(map.len() as u64 + reused, SIZE / 2);
        assert_eq!(lost, 0);
        Ok(())
    }
}
