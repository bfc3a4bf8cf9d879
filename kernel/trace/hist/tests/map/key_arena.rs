// SPDX-License-Identifier: GPL-2.0

//! Tests of maps whose keys are long.

use kernel::{
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use super::plain;
use crate::{
    limits::MAP_BITS_MIN,
    map::{
        Layout,
        Map, //
    }, //
};

/// Size of the keys.
const WORDS: usize = 32;

/// Returns a key of `len` words and zeroes.
fn key(number: u64, len: usize) -> [u64; WORDS] {
    let mut key = [0; WORDS];

    for word in key.iter_mut().take(len) {
        *word = !number;
    }
    key
}

#[kunit_tests(hist_map_key_arena)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_with_zeroes() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(WORDS))?;

        // Keys that are the start of each other, the one of zeroes only among them.
        for len in 0..=WORDS {
            assert!(map.lookup(&key(0, len)).is_none());
            let element = map.hit(&key(0, len), false, |_| ()).ok_or(EINVAL)?;
            element.add(0, 1 + len as u64);
        }
        for len in 0..=WORDS {
            let element = map.hit(&key(0, len), false, |_| ()).ok_or(EINVAL)?;

            assert_eq!(element.sum(0), 1 + len as u64);
            for word in 0..WORDS {
                assert!((element.key_word(word) != 0) == (word < len));
            }
        }
        assert_eq!((map.len(), map.drops()), (WORDS + 1, 0));

        // Zeroes inside of a key are a part of it.
        let mut hole = key(0, WORDS);
        hole[5] = 0;
        assert!(map.lookup(&hole).is_none());
        assert!(map.hit(&hole, false, |_| ()).is_some());
        assert!(map
            .lookup(&hole)
            .is_some_and(|e| e.key_word(5) == 0 && e.key_word(6) != 0));

        // The copy has all words.
        let mut snapshot = map.snapshot()?;
        snapshot.sort(&[])?;
        assert_eq!(snapshot.len(), WORDS + 2);
        for (len, row) in snapshot.rows().take(6).enumerate() {
            assert_eq!((row.key(), row.sum(0)), (&key(0, len)[..], 1 + len as u64));
        }
        assert!(snapshot.row(6).is_some_and(|row| row.key() == hole));
        Ok(())
    }

    /// Checks that in a map of the usual size no element is without room, however fast keys
    /// arrive.
    #[test]
    fn room_for_all() -> Result {
        const BITS: u32 = 11;
        const COUNT: u64 = 1 << BITS;

        let map = Map::new(BITS, plain(WORDS))?;

        for round in 0..2 {
            for n in 0..COUNT {
                assert!(map.hit(&key(n, WORDS), false, |_| ()).is_some());
            }
            for n in 0..COUNT {
                assert!(map.lookup(&key(n, WORDS)).is_some());
            }
            assert!(map.hit(&key(COUNT, 1), false, |_| ()).is_none());
            assert_eq!((map.len() as u64, map.drops()), (COUNT, 1));
            assert_eq!(map.snapshot()?.len() as u64, COUNT);
            map.clear(|| ());
            assert!(map.lookup(&key(round, WORDS)).is_none());
        }
        Ok(())
    }

    /// Checks that all keys of a large map fit, although the second half of their memory is
    /// allocated later.
    #[test]
    fn keys_of_full_length() -> Result {
        const BITS: u32 = 10;
        const COUNT: u64 = 1 << BITS;

        let map = Map::with_seed(BITS, plain(WORDS), 1, 0x9e37_79b9_7f4a_7c15)?;

        for round in 0..2 {
            // Half of them have room at once, and the others as soon as the work item has run.
            for n in 0..COUNT {
                let mut tries = 0;

                while map.hit(&key(n, WORDS), false, |_| ()).is_none() {
                    assert!(n >= COUNT / 2 && round == 0 && tries < 10_000);
                    tries += 1;
                    fsleep(Delta::from_millis(1));
                }
            }
            assert_eq!(map.len() as u64, COUNT);
            assert!(map.hit(&key(COUNT, WORDS), false, |_| ()).is_none());
            assert!(map.hit(&key(COUNT, 1), false, |_| ()).is_none());
            for n in 0..COUNT {
                assert!(map.lookup(&key(n, WORDS)).is_some());
            }
            assert_eq!(map.snapshot()?.len() as u64, COUNT);

            // Allocated memory stays for the next time.
            map.close();
            map.wipe();
            map.open();
            assert!(map.lookup(&key(0, WORDS)).is_none());
        }
        Ok(())
    }

    /// Checks that all keys of a large map fit although elements were prepared in vain, for keys
    /// that are shorter than those that get them: while the name of the task is asked for, the
    /// same key is inserted.
    #[test]
    fn prepared_in_vain() -> Result {
        const BITS: u32 = 5;
        const COUNT: u64 = 1 << BITS;

        let layout = Layout {
            comm: true,
            ..plain(WORDS)
        };
        let map = Map::with_seed(BITS, layout, 1, 0x9e37_79b9_7f4a_7c15)?;
        let len_of = |n: u64| if n % 2 == 0 { WORDS - 1 } else { WORDS };

        for round in 0..2 {
            for n in 0..COUNT {
                let key = key(n, len_of(n));
                let insert = || map.hit(&key, false, |_| ()).is_some();
                let mut tries = 0;

                // An odd one gets the element that was not needed for the one before. Until the
                // second half of the memory is allocated, a key may find no room.
                while map
                    .hit(&key, false, |_| {
                        assert!(n % 2 == 1 || insert() || round == 0);
                    })
                    .is_none()
                {
                    assert!(round == 0 && tries < 10_000);
                    tries += 1;
                    fsleep(Delta::from_millis(1));
                }
                assert!(insert());
            }
            assert_eq!(map.len() as u64, COUNT);
            for n in 0..COUNT {
                assert!(map.lookup(&key(n, len_of(n))).is_some());
                assert!(map.lookup(&key(n, len_of(n + 1))).is_none());
            }

            // The copy has the keys as a whole.
            let snapshot = map.snapshot()?;
            assert_eq!(snapshot.len() as u64, COUNT);
            for row in snapshot.rows() {
                let n = row.key().first().map_or(0, |word| !word);

                assert!(n < COUNT && row.key() == key(n, len_of(n)));
            }

            map.close();
            map.wipe();
            map.open();
        }
        Ok(())
    }

    #[test]
    fn elements_run_out_first() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(WORDS))?;

        for n in 0..1 << MAP_BITS_MIN {
            assert!(map.hit(&key(n, WORDS / 2), false, |_| ()).is_some());
        }
        assert!(map.hit(&key(1000, 1), false, |_| ()).is_none());
        assert_eq!((map.len(), map.drops()), (1 << MAP_BITS_MIN, 1));
        Ok(())
    }
}
