// SPDX-License-Identifier: GPL-2.0

//! The map of a histogram: publishing elements, the free list, long keys, clearing.

use crate::map::{
    Fold,
    Layout,
    Map, //
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
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        rcu,
        Arc, //
    },
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("map_same_key", All(4), same_key),
    Model::new("map_other_key", All(3), other_key),
    Model::new("map_copy", Every, copy),
    Model::new("map_fold_copy", Every, fold_copy),
    Model::new("map_fold_take", All(2), fold_take),
    Model::new("map_spread", All(2), spread),
    Model::with_cases("map_spread_clear", All(2), 2, spread_clear),
    Model::new("map_free_list", All(2), free_list),
    Model::new("map_free_list_take", All(2), free_list_take),
    Model::new("map_free_list_again", All(2), free_list_again),
    Model::new("map_full", All(2), full),
    Model::new("map_long_keys", All(2), long_keys),
    Model::new("map_late_keys", All(2), late_keys),
    Model::with_cases("map_clear", All(3), 2, clear),
    Model::with_cases("map_interrupt", Every, 30, interrupt),
    Model::new("map_storm", Random(40_000), storm),
    Model::new("map_storm_long_keys", Random(20_000), storm_long_keys),
    Model::new("map_storm_clear", Random(20_000), storm_clear),
];

/// Returns the layout of keys of `key_words` words and a hit count, and nothing else.
pub(crate) const fn plain(key_words: usize) -> Layout {
    Layout {
        key_words,
        n_sums: 1,
        n_vars: 0,
        string_slots: 0,
        first_shown: 0,
        comm: false,
    }
}

/// Creates a map of `2^bits` elements. A key of one word is its own hash: its high bits are the
/// slot.
pub(crate) fn map(bits: u32, layout: Layout) -> Arc<Map> {
    shared(Map::with_seed(bits, layout, 0, 1).expect("there is memory"))
}

/// Counts a hit of a key, and returns `true` if it has an element then.
fn hit(map: &Map, key: &[u64]) -> bool {
    let element = match key {
        [word] => {
            if map.count_u64(*word) {
                return true;
            }
            map.insert_u64(*word, |_| ())
        }
        _ => map.hit(key, false, |_| ()),
    };

    if let Some(element) = element {
        element.add(0, 1);
    }
    element.is_some()
}

/// Returns the keys and sums.
fn contents(map: &Map) -> Vec<(Vec<u64>, u64)> {
    let snapshot = map.snapshot().expect("there is memory");
    let mut rows: Vec<_> = snapshot
        .rows()
        .map(|row| (row.key().to_vec(), row.sum(0)))
        .collect();

    rows.sort();
    rows
}

/// Checks the map after all threads have finished: each key is unique, and the counters match the
/// hits.
fn check(map: &Map, hits: u64, drops: u64) {
    let rows = contents(map);

    // No key is zero.
    assert!(rows.iter().all(|(key, _)| key[0] != 0), "{rows:?}");
    assert!(rows.windows(2).all(|two| two[0].0 != two[1].0), "{rows:?}");
    assert_eq!(rows.iter().map(|(_, n)| n).sum::<u64>(), hits, "{rows:?}");
    assert_eq!((map.hits(), map.drops()), (hits, drops));
}

/// Checks that two insertions of the same key of several words lead to one element.
fn same_key() {
    const KEY: [u64; 2] = [5, 6];
    let map = map(1, plain(2));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &KEY)));

    assert!(hit(&map, &KEY));
    other.join();
    check(&map, 2, 0);
    // One of them may have prepared an element in vain.
    assert!(hit(&map, &[7, 8]));
    check(&map, 3, 0);
}

/// Checks two insertions of keys that have the same first slot, and a search for the key of the
/// other.
fn other_key() {
    // Four elements, as one of three may be prepared in vain for a moment.
    let map = map(2, plain(1));
    let its_map = map.clone();
    let other = spawn(1, move || {
        assert!(hit(&its_map, &[1]));
        hit(&its_map, &[2])
    });

    assert!(hit(&map, &[2]));
    if let Some(element) = map.lookup_u64(1) {
        assert_eq!(element.key_word(0), 1);
    }
    assert!(other.join());
    assert_eq!(contents(&map), [(vec![1], 1), (vec![2], 2)]);
    check(&map, 3, 0);
}

/// Checks that a concurrent copy has whole keys and names.
fn copy() {
    const KEY: [u64; 2] = [5, 6];
    let map = map(
        1,
        Layout {
            comm: true,
            ..plain(2)
        },
    );
    let its_map = map.clone();
    let other = spawn(1, move || {
        assert!(its_map.hit(&KEY, false, |comm| comm.fill(b'x')).is_some());
    });

    for row in map.snapshot().expect("there is memory").rows() {
        assert_eq!(row.key(), KEY);
        assert_eq!(row.comm(), [b'x'; 16]);
    }
    other.join();
    assert_eq!(map.len(), 1);
}

const FOLDS: [Fold; 2] = [Fold::Min { signed: false }, Fold::Sum];

/// Creates a map with an element of the key 1 that has no hit yet, with the sums of [`FOLDS`].
fn map_of_folds() -> Arc<Map> {
    let map = map(
        1,
        Layout {
            n_sums: 3,
            ..plain(1)
        },
    );

    assert!(map.insert_u64(1, |_| ()).is_some());
    map
}

/// Counts a hit with these values.
fn fold(map: &Map, values: [u64; 2]) {
    let element = map.lookup_u64(1).expect("it has an element");

    element.fold(&FOLDS, values.into_iter());
}

/// Checks that a hit which is counted in a copy has its extremes there.
fn fold_copy() {
    let map = map_of_folds();
    let its_map = map.clone();
    let other = spawn(1, move || fold(&its_map, [4, 10]));
    let mut snapshot = map.snapshot().expect("there is memory");

    snapshot.show_folds(&FOLDS);
    for row in snapshot.rows() {
        assert!(row.sum(0) == 0 || row.sum(1) == 4);
    }
    other.join();
}

/// Checks that each of two hits during a take is taken once, with its extremes.
fn fold_take() {
    let map = map_of_folds();
    let job = |map: Arc<Map>, value: u64| move || fold(&map, [value, 10]);
    let first = spawn(1, job(map.clone(), 4));
    let second = spawn(2, job(map.clone(), 6));
    let take = || {
        let mut snapshot = map.take(&FOLDS).expect("there is memory");

        snapshot.show_folds(&FOLDS);
        let row = snapshot.row(0).expect("there is a row");
        assert!(row.sum(0) == 0 || matches!(row.sum(1), 4 | 6));
        [row.sum(0), row.sum(1), row.sum(2)]
    };
    let some = take();

    first.join();
    second.join();
    let rest = take();
    assert_eq!(some[0] + rest[0], 2);
    assert_eq!(some[2] + rest[2], 20);
    assert_eq!(rest[1], 4);
}

/// Creates a map whose hit counts have a part for each CPU.
pub(crate) fn map_of_counts(bits: u32) -> Arc<Map> {
    let map = Map::with_seed(bits, plain(1), 0, 1).expect("there is memory");

    shared(map.spread())
}

/// Checks that each hit is taken once, whatever CPU it is on: the one that adds the key, and later
/// ones.
fn spread() {
    let map = map_of_counts(1);
    let job = |map: Arc<Map>| move || assert!(hit(&map, &[1]));
    let taken = |map: &Map| {
        let snapshot = map.take(&[]).expect("there is memory");

        snapshot.rows().map(|row| row.sum(0)).sum::<u64>()
    };

    assert!(hit(&map, &[1]) && hit(&map, &[1]));
    let first = spawn(1, job(map.clone()));
    let second = spawn(2, job(map.clone()));
    let some = taken(&map);

    first.join();
    second.join();
    assert!((2..=4).contains(&some));
    assert_eq!(contents(&map), [(vec![1], 4 - some)]);
    assert_eq!(taken(&map), 4 - some);
    assert_eq!(taken(&map), 0);
    assert!(hit(&map, &[1]));
    assert_eq!(contents(&map), [(vec![1], 1)]);
    assert_eq!(map.hits(), 5);
}

fn spread_clear(case: usize) {
    clear_of(map_of_counts(1), case);
}

/// Checks that no element is lost or used twice if elements that were prepared in vain are freed
/// and allocated by other threads: two threads for one free element, with a link in its key word.
fn free_list() {
    let map = map(1, plain(1));
    let job = |map: Arc<Map>, own: u64| {
        move || {
            hit(&map, &[9]);
            hit(&map, &[own])
        }
    };
    let first = spawn(1, job(map.clone(), 1));
    let second = spawn(2, job(map.clone(), 2));
    let hits = u64::from(first.join()) + u64::from(second.join());

    // 9 has one of the two elements; the other one is that of 1 or 2, unless it was prepared for 9
    // both times.
    let (all, drops) = (map.hits(), map.drops());

    assert!(hits <= 1);
    assert_eq!(all + drops, 4);
    check(&map, all, drops);
    hit(&map, &[3]);
    assert_eq!(map.len(), 2);
}

/// Returns a key whose search begins at a slot of its own, in a map of 8 elements.
const fn apart(n: u64) -> [u64; 1] {
    [n << 60 | 1]
}

/// Inserts a key. When an element is prepared for it, an interrupt calls `f` and then inserts the
/// same key; so the element is freed after that.
fn in_vain(map: &Arc<Map>, key: u64, f: impl FnOnce(&Arc<Map>) + 'static) {
    let its_map = map.clone();

    // The free slot is the next that is accessed.
    model::interrupt(9, move || {
        f(&its_map);
        assert!(hit(&its_map, &apart(key)));
    });
    assert!(hit(map, &apart(key)));
    assert!(!model::interrupt_is_due());
}

/// Checks that all elements are present, and each is for one key.
fn check_all(map: &Map) {
    let hits = map.hits();

    check(map, hits, 0);
    let before = map.len();

    for n in 1..=8 {
        hit(map, &apart(n));
    }
    assert_eq!(map.len(), 8);
    check(map, hits + 8, 0);
    assert!(before < 8);
}

/// Checks the allocation of an element that another thread has just freed.
fn free_list_take() {
    let map = map(3, plain(1));

    in_vain(&map, 1, |_| ());
    let its_map = map.clone();
    let other = spawn(1, move || in_vain(&its_map, 2, |_| ()));

    assert!(hit(&map, &apart(3)));
    assert!(hit(&map, &apart(4)));
    other.join();
    check_all(&map);
}

/// Checks that an element can be allocated and freed, with another link, while another thread is
/// about to allocate it.
fn free_list_again() {
    let map = map(3, plain(1));

    in_vain(&map, 1, |map| in_vain(map, 2, |_| ()));
    let its_map = map.clone();
    let other = spawn(1, move || {
        in_vain(&its_map, 3, |map| assert!(hit(map, &apart(4))));
    });

    assert!(hit(&map, &apart(5)));
    assert!(hit(&map, &apart(6)));
    other.join();
    check_all(&map);
}

/// Checks the insertion of more keys than elements.
fn full() {
    let map = map(1, plain(1));
    let jobs: Vec<_> = [[1, 2], [3, 1]]
        .into_iter()
        .zip(1..)
        .map(|(keys, cpu)| {
            let map = map.clone();

            spawn(cpu, move || keys.map(|key| u64::from(hit(&map, &[key]))))
        })
        .collect();
    let hits: u64 = jobs.into_iter().flat_map(|job| job.join()).sum();

    check(&map, hits, 4 - hits);
    for key in 1..4 {
        hit(&map, &[key]);
    }
    assert_eq!(map.len(), 2);
}

/// Returns a key of nine words, the first `len` of which are `n`.
fn long(n: u64, len: usize) -> [u64; 9] {
    let mut key = [0; 9];

    key[..len].fill(n);
    key
}

/// Checks that two insertions of the same long key, of which a part is not stored, lead to one
/// element.
fn long_keys() {
    let map = map(1, plain(9));
    let its_map = map.clone();
    let other = spawn(1, move || assert!(hit(&its_map, &long(5, 2))));

    assert!(hit(&map, &long(5, 2)));
    other.join();
    check(&map, 2, 0);
    // One of them may have prepared an element in vain, which has room for a part of this key. For
    // the rest the second part of the memory may have to be requested first.
    let drops = u64::from(!hit(&map, &long(6, 9)));

    while model::run_work() {}
    for hits in 4 - drops..6 - drops {
        assert!(hit(&map, &long(6, 9)));
        check(&map, hits, drops);
    }
}

/// Checks the allocation of the second part of the memory while keys are inserted into it and
/// looked for.
fn late_keys() {
    let map = map(1, plain(9));
    let its_map = map.clone();

    // This uses more than a quarter of the first part, which requests the second one.
    assert!(hit(&map, &long(4, 8)));
    let worker = spawn(1, || model::run_work());
    let other = spawn(2, move || hit(&its_map, &long(5, 2)));
    let mine = hit(&map, &long(5, 2));
    let theirs = other.join();

    worker.join();
    while model::run_work() {}
    let hits = 1 + u64::from(mine) + u64::from(theirs);

    check(&map, hits, 3 - hits);
    assert!(hit(&map, &long(5, 2)));
    check(&map, hits + 1, 3 - hits);
}

/// Checks that a map can be cleared during hits, of a key that it has, or of that and a new one.
fn clear(case: usize) {
    clear_of(map(1, plain(1)), case);
}

fn clear_of(map: Arc<Map>, case: usize) {
    hit(&map, &[1]);
    hit(&map, &[1]);
    let its_map = map.clone();
    let closed = shared(Atomic::new(false));
    let its_closed = closed.clone();
    let other = spawn(1, move || {
        let mut later = 0;

        for key in 1..=1 + case as u64 {
            let guard = rcu::read_lock();

            later += u64::from(its_closed.load(Acquire));
            hit(&its_map, &[key]);
            drop(guard);
        }
        later
    });

    map.clear(|| {
        closed.store(true, Release);
        rcu::synchronize_rcu();
    });
    let later = other.join();
    let (hits, drops) = (map.hits(), map.drops());

    // The earlier ones are wiped; each of the later ones counts.
    assert!(hits + drops >= later && hits + drops <= 1 + case as u64);
    check(&map, hits, drops);
}

/// Checks an insertion that is interrupted, anywhere, by one of the same key or of another one.
fn interrupt(case: usize) {
    let (after, key) = (case / 2, [1, 2][case % 2]);
    let map = map(1, plain(1));
    let its_map = map.clone();

    model::interrupt(after, move || assert!(hit(&its_map, &[key])));
    assert!(hit(&map, &[1]));
    let mut all = 2;

    while model::interrupt_is_due() {
        // The interrupt occurs later.
        assert!(hit(&map, &[1]));
        all += 1;
    }
    check(&map, all, 0);
}

/// Runs insertions of five keys in a map of four elements, by three threads and their interrupts.
fn storm() {
    storm_of(1, |_| 0);
}

fn storm_long_keys() {
    storm_of(9, |n| if n % 2 == 0 { 3 } else { 8 });
}

fn storm_of(words: usize, len: fn(u64) -> usize) {
    let map = map(2, plain(words));
    let key = move |n: u64| match words {
        1 => vec![n],
        _ => long(n, len(n)).to_vec(),
    };
    let jobs: Vec<_> = (1..4)
        .map(|cpu| {
            let map = map.clone();

            spawn(cpu, move || {
                let mut hits = 0;
                let its_map = map.clone();

                model::interrupt(random(60) as usize, move || {
                    hit(&its_map, &key(1 + random(5)));
                });
                for _ in 0..5 {
                    hits += u64::from(hit(&map, &key(1 + random(5))));
                }
                while model::interrupt_is_due() {
                    hit(&map, &key(1));
                }
                hits
            })
        })
        .collect();
    let worker = spawn(4, || {
        for _ in 0..20 {
            model::run_work();
        }
    });
    let hits: u64 = jobs.into_iter().map(|job| job.join()).sum();

    worker.join();
    while model::run_work() {}
    assert!(map.hits() >= hits && map.hits() + map.drops() >= 18);
    check(&map, map.hits(), map.drops());
    if words == 1 {
        // No element is lost.
        for n in 1..6 {
            hit(&map, &key(n));
        }
        assert_eq!(map.len(), 4);
    }
}

fn storm_clear() {
    let map = map(2, plain(1));
    let jobs: Vec<_> = (1..4)
        .map(|cpu| {
            let map = map.clone();

            spawn(cpu, move || {
                for _ in 0..6 {
                    let guard = rcu::read_lock();

                    hit(&map, &[1 + random(5)]);
                    drop(guard);
                }
            })
        })
        .collect();

    for _ in 0..2 {
        map.clear(rcu::synchronize_rcu);
    }
    for job in jobs {
        job.join();
    }
    check(&map, map.hits(), map.drops());
    for n in 1..6 {
        hit(&map, &[n]);
    }
    assert_eq!(map.len(), 4);
}
