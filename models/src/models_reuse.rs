// SPDX-License-Identifier: GPL-2.0

//! Maps whose elements are used again for other keys.

use crate::{
    map::{
        Busy,
        Element,
        Layout,
        Map,
        Polls,
        VarSet, //
    },
    models_map::plain,
};
use kernel::{
    model::{
        self,
        random,
        shared,
        spawn,
        Check::{
            All,
            Every,
            Random, //
        },
        Model, //
    },
    sync::{
        rcu,
        Arc, //
    },
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("reuse_same_key", All(2), same_key),
    Model::new("reuse_other_key", All(2), other_key),
    Model::new("reuse_bucket", All(1), bucket),
    Model::new("reuse_version", All(2), version),
    Model::new("reuse_stale", All(2), stale),
    Model::new("reuse_again", All(2), again),
    Model::new("reuse_take", All(2), take_while_full),
    Model::new("reuse_keep", All(2), keep),
    Model::new("reuse_copy", All(2), copy),
    Model::new("reuse_read", All(2), read),
    Model::new("reuse_clear", All(2), clear),
    Model::new("reuse_clear_late", All(2), clear_late),
    Model::with_cases("reuse_interrupt", All(1), 60, interrupt),
    Model::new("reuse_storm", Random(20_000), storm),
    Model::new("reuse_storm_long_keys", Random(10_000), storm_long_keys),
];

/// Returns the set of the variable that another histogram takes.
fn once() -> VarSet {
    VarSet::NONE.with(0)
}

const fn with_var(key_words: usize) -> Layout {
    Layout {
        n_vars: 1,
        ..plain(key_words)
    }
}

/// Creates a map of `2^bits` elements. A key of one word is its own hash: small ones share a
/// bucket.
fn map_of(bits: u32, key_words: usize) -> Arc<Map> {
    let map = Map::with_reuse_and_seed(bits, with_var(key_words), 0, 1).expect("there is memory");

    map.keep_for(once());
    shared(map)
}

fn map(bits: u32) -> Arc<Map> {
    map_of(bits, 1)
}

/// Returns the value that the variable of a key has.
fn value(key: &[u64]) -> u64 {
    !key[0]
}

/// Counts a hit of a key, and returns `true` if it has an element then.
fn hit(map: &Map, key: &[u64]) -> bool {
    let element = map.hit_live(
        key,
        |_| (),
        |_, vars| {
            if let Some(vars) = vars {
                vars.put(0, value(key));
                vars.mark(once());
            }
        },
    );

    element.is_some()
}

/// Takes the variable of a key.
fn take(map: &Map, key: &[u64]) -> bool {
    let Some(element) = map.lookup_live(key) else {
        return false;
    };
    let taken = element.consume(
        &mut Polls::new(),
        once(),
        || false,
        |vars| {
            if !element.is_of(key) {
                return None;
            }
            vars.var(0)
        },
    );

    if let Ok(Some(taken)) = taken {
        assert_eq!(taken, value(key));
        return true;
    }
    false
}

/// Returns the keys, each of which must occur once.
fn keys(map: &Map) -> Vec<u64> {
    let snapshot = map.snapshot().expect("there is memory");
    let mut keys: Vec<_> = snapshot
        .rows()
        .map(|row| {
            let key = row.key();

            assert!(row.var(0).is_none_or(|var| var == value(key)));
            key[0]
        })
        .collect();

    keys.sort();
    assert!(keys.windows(2).all(|two| two[0] != two[1]), "{keys:?}");
    keys
}

/// Checks after all threads have finished that each element can be used for one key.
fn check(map: &Map, size: usize) {
    let keys = keys(map);

    assert!(keys.len() <= size, "{keys:?}");
    // Each bucket gets one, twice.
    for n in 0..4 * size as u64 {
        assert!(hit(
            map,
            &[n << (63 - size.trailing_zeros()) | n << 20 | 1 << 19]
        ));
    }
    assert_eq!(map.len(), size);
}

/// Creates a full map whose variables have been taken.
fn full(bits: u32) -> Arc<Map> {
    let map = map(bits);

    for n in 1..=1 << bits {
        assert!(hit(&map, &[n << 60]));
        assert!(take(&map, &[n << 60]));
    }
    map
}

/// Checks that two hits of a key without an element lead, in a full map, to one element with its
/// value.
fn same_key() {
    let map = full(1);
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    assert!(hit(&map, &[5]));
    other.join();
    assert_eq!(keys(&map).iter().filter(|key| **key == 5).count(), 1);
    assert!(take(&map, &[5]));
    assert!(!take(&map, &[5]));
    assert_eq!((map.hits(), map.drops()), (4, 0));
    check(&map, 2);
}

/// Checks hits of two new keys of one bucket in a full map.
fn other_key() {
    let map = full(1);
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    assert!(hit(&map, &[6]));
    other.join();
    assert_eq!(keys(&map), [5, 6]);
    assert!(take(&map, &[5]) && take(&map, &[6]));
    assert_eq!(map.reused(), Some((2, 0)));
    check(&map, 2);
}

/// Checks hits of new keys of a full bucket, in a map that has room.
fn bucket() {
    let map = map(3);

    for key in 1..=3 {
        assert!(hit(&map, &[key]));
    }
    assert!(take(&map, &[2]));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    // 2 is replaced first, then one of those that are still to be taken.
    assert!(hit(&map, &[5]));
    other.join();
    assert_eq!(keys(&map), [1, 3, 5]);
    assert_eq!(map.reused(), Some((1, 0)));
    assert!(hit(&map, &[6]));
    assert_eq!(map.reused(), Some((2, 1)));
    check(&map, 8);
}

/// Checks two hits of a key, one of which takes the element that is in its bucket already.
fn version() {
    let map = map(1);

    assert!(hit(&map, &[1]) && take(&map, &[1]));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    assert!(hit(&map, &[5]));
    other.join();
    assert_eq!(keys(&map).iter().filter(|key| **key == 5).count(), 1);
    check(&map, 2);
}

/// Checks a search for a key in an element that is reused for another key, where both have parts
/// of it.
fn stale() {
    let map = map_of(1, 2);

    for key in [[1, 1], [2, 2]] {
        assert!(hit(&map, &key) && take(&map, &key));
    }
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5, 5])));

    assert!(hit(&map, &[1, 5]));
    other.join();
    assert!(take(&map, &[5, 5]) && take(&map, &[1, 5]));
}

/// Checks a hit of a key whose element is reused for another key at the same time.
fn again() {
    let map = full(1);
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    // Neither is lost, as the map has two elements and one of them is free for 5 in any case.
    assert!(hit(&map, &[1 << 60]));
    other.join();
    assert!(take(&map, &[5]) && take(&map, &[1 << 60]));
    assert_eq!(map.drops(), 0);
    check(&map, 2);
}

/// Checks that a variable is either taken or lost while its element is reused for another key.
fn take_while_full() {
    let map = map(1);

    assert!(hit(&map, &[1]) && hit(&map, &[2]));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));
    let taken = take(&map, &[1]) as u64 + take(&map, &[2]) as u64;

    other.join();
    let (reused, lost) = map.reused().expect("it is such a map");

    assert!(taken + lost >= 2 && taken <= 2, "{taken} {lost}");
    assert_eq!(reused, 1);
    assert!(take(&map, &[5]));
    check(&map, 2);
}

/// Checks that an element whose variable was taken is reused, not one with a variable.
fn keep() {
    let map = map(1);

    assert!(hit(&map, &[1]) && hit(&map, &[2]) && take(&map, &[2]));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &[5])));

    assert!(take(&map, &[1]));
    other.join();
    assert!(take(&map, &[5]));
    assert_eq!(map.reused(), Some((1, 0)));
    check(&map, 2);
}

/// Checks that a concurrent copy has keys with their variables.
fn copy() {
    let map = map_of(1, 2);

    assert!(hit(&map, &[1, 1]) && hit(&map, &[2, 2]) && take(&map, &[1, 1]));
    let its_map = map.clone();
    let other = spawn(1, move || {
        hit(&its_map, &[5, 5]);
    });
    let snapshot = map.snapshot().expect("there is memory");

    for row in snapshot.rows() {
        let [a, b] = *row.key() else {
            panic!("a key of two words");
        };

        assert_eq!(a, b);
        assert!(row.var(0).is_none_or(|var| var == value(&[a])));
        assert!(a != 2 || row.sum(0) == 1);
    }
    other.join();
    // One that is being copied cannot be retired, so another one may have to be, and of only two
    // none may be left.
    match map.drops() {
        0 => assert!(matches!(keys(&map)[..], [2, 5] | [5])),
        _ => assert!(!keys(&map).contains(&5)),
    }
}

/// Checks that each hit is in a row of its own key if a reader takes the counts while an element
/// is reused for another key.
fn read() {
    let map = map_of(1, 2);

    assert!(hit(&map, &[1, 1]) && hit(&map, &[2, 2]) && take(&map, &[1, 1]));
    let its_map = map.clone();
    let other = spawn(1, move || {
        hit(&its_map, &[5, 5]);
    });
    let mut hits = [0; 6];
    let mut read = || {
        for row in map.take(&[]).expect("there is memory").rows() {
            hits[row.key()[0] as usize] += row.sum(0);
        }
    };

    read();
    other.join();
    read();
    assert!(hits[1] <= 1 && hits[2] <= 1);
    assert!(hits[2] == 1 || !keys(&map).contains(&2));
    assert_eq!(hits[5], 1 - map.drops());
}

/// Checks that a full map can be cleared during a hit.
fn clear() {
    let map = full(1);
    let its_map = map.clone();
    let other = spawn(1, move || {
        let guard = rcu::read_lock();

        hit(&its_map, &[5]);
        drop(guard);
    });

    map.clear(rcu::synchronize_rcu);
    other.join();
    assert!(keys(&map).len() <= 1);
    check(&map, 2);
}

/// Checks that a map can be cleared during two hits of a key. A hit that enters when the map is
/// open again finds an empty one: it must not see the lock as the other one held it, and count in
/// an element that is in no bucket.
fn clear_late() {
    let map = map(1);
    let jobs: Vec<_> = (1..3)
        .map(|cpu| {
            let its_map = map.clone();

            spawn(cpu, move || {
                let guard = rcu::read_lock();

                hit(&its_map, &[5]);
                drop(guard);
            })
        })
        .collect();

    map.clear(rcu::synchronize_rcu);
    for job in jobs {
        job.join();
    }
    let snapshot = map.snapshot().expect("there is memory");
    let counted: u64 = snapshot.rows().map(|row| row.sum(0)).sum();

    assert_eq!(counted, map.hits());
    check(&map, 2);
}

/// Checks a hit in a full map that is interrupted, anywhere, by one of the same key or of another
/// one.
fn interrupt(case: usize) {
    let (after, key) = (case / 2, [5, 6][case % 2]);
    let map = full(1);
    let its_map = map.clone();

    model::interrupt(after, move || assert!(hit(&its_map, &[key])));
    assert!(hit(&map, &[5]));
    while model::interrupt_is_due() {
        // The interrupt occurs later.
        assert!(hit(&map, &[5]));
    }
    assert!(take(&map, &[5]));
    assert!(key == 5 || take(&map, &[6]));
    check(&map, 2);
}

/// Returns a key of nine words.
fn long(n: u64) -> [u64; 9] {
    let mut key = [0; 9];

    key[..1 + n as usize % 9].fill(n);
    key
}

fn storm() {
    storm_of(1);
}

fn storm_long_keys() {
    storm_of(9);
}

/// Runs hits of seven keys in a map of four elements, by three threads and their interrupts.
fn storm_of(words: usize) {
    let map = map_of(2, words);
    let any = move || {
        let n = 1 + random(7);

        match words {
            1 => vec![if n > 3 { n << 59 } else { n }],
            _ => long(n).to_vec(),
        }
    };
    let jobs: Vec<_> = (1..4)
        .map(|cpu| {
            let map = map.clone();

            spawn(cpu, move || {
                let its_map = map.clone();

                model::interrupt(random(120) as usize, move || {
                    hit(&its_map, &any());
                    take(&its_map, &any());
                });
                for _ in 0..5 {
                    hit(&map, &any());
                    take(&map, &any());
                }
                while model::interrupt_is_due() {
                    hit(&map, &any());
                }
            })
        })
        .collect();

    for row in map.snapshot().expect("there is memory").rows() {
        assert!(row.var(0).is_none_or(|var| var == value(row.key())));
    }
    for job in jobs {
        job.join();
    }
    assert!(map.hits() + map.drops() >= 18);
    keys(&map);
    if words == 1 {
        check(&map, 4);
    }
}
