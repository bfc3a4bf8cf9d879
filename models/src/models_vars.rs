// SPDX-License-Identifier: GPL-2.0

//! The variables of an element and their lock.

use crate::{
    limits::STRING_WORDS,
    map::{
        Busy,
        Element,
        Layout,
        Map,
        Polls,
        VarSet, //
    },
    models_map::{
        map,
        plain, //
    },
};
use kernel::{
    model::{
        self,
        random,
        spawn,
        Check::{
            All,
            Every,
            Random, //
        },
        Model, //
    },
    sync::Arc,
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("vars_read", All(3), read),
    Model::new("vars_write", All(3), write),
    Model::new("vars_overwrite", All(3), overwrite),
    Model::new("vars_overwrite_take", All(3), overwrite_take),
    Model::new("vars_copy", All(2), copy),
    Model::new("vars_take", All(2), take),
    Model::new("vars_restore", All(2), restore),
    Model::new("vars_one", All(3), one),
    Model::with_cases("vars_one_interrupt", All(1), 24, one_interrupt),
    Model::with_cases("vars_interrupt", All(1), 24, interrupt),
    Model::new("vars_storm", Random(40_000), storm),
];

const VARS: Layout = Layout {
    n_vars: 2,
    ..plain(1)
};

/// Creates a map with one element, and two variables that belong together.
fn with_vars() -> Arc<Map> {
    let map = map(1, VARS);

    assert!(map.insert_u64(1, |_| ()).is_some());
    set(&map, 1);
    map
}

fn element(map: &Map) -> Element<'_> {
    map.lookup_u64(1).expect("it is there")
}

/// Sets both variables. Returns `true` if the lock was taken.
fn set(map: &Map, n: u64) -> bool {
    let Some(mut writer) = element(map).write(&mut Polls::new()) else {
        return false;
    };

    writer.set_var(0, n);
    writer.set_var(1, !n);
    true
}

/// Reads both variables.
fn get(map: &Map) -> Option<u64> {
    let (a, b) = element(map).read(|vars| (vars.var(0), vars.var(1)))?;

    assert_eq!(a.map(|a| !a), b);
    a
}

/// Checks that reading during a write returns values that belong together.
fn read() {
    let map = with_vars();
    let its_map = map.clone();
    let other = spawn(1, move || assert!(set(&its_map, 2)));

    assert!(get(&map).is_some_and(|n| n == 1 || n == 2));
    other.join();
    assert_eq!(get(&map), Some(2));
}

/// Checks that two writers can keep a maximum and count.
fn write() {
    let map = with_vars();
    let add = |map: &Map| {
        let element = element(map);
        let mut writer = element
            .write(&mut Polls::new())
            .expect("the other one comes to its end");
        let n = writer.var(0);

        assert_eq!(writer.var(1), !n);
        writer.set_var(0, n + 1);
        writer.set_var(1, !(n + 1));
    };
    let its_map = map.clone();
    let other = spawn(1, move || add(&its_map));

    add(&map);
    other.join();
    assert_eq!(get(&map), Some(3));
}

/// Sets both variables, unless another one is doing that.
fn overwrite_with(map: &Map, n: u64) {
    if let Some(mut writer) = element(map).overwrite() {
        writer.put(0, n);
        writer.put(1, !n);
        writer.mark(both());
    }
}

/// Checks that one of two concurrent overwrites is the last, and neither waits.
fn overwrite() {
    let map = with_vars();
    let its_map = map.clone();
    let other = spawn(1, move || overwrite_with(&its_map, 2));

    overwrite_with(&map, 3);
    assert!(get(&map).is_none_or(|n| n == 2 || n == 3));
    other.join();
    assert!(get(&map).is_some_and(|n| n == 2 || n == 3));
}

/// Checks that an overwritten value is taken, or stays, and that the new value is not lost if the
/// old one is taken.
fn overwrite_take() {
    let map = with_vars();
    let its_map = map.clone();
    let other = spawn(1, move || overwrite_with(&its_map, 2));
    let mut taken = vec![take_both(&map)];

    other.join();
    taken.push(take_both(&map));
    let taken: Vec<_> = taken.into_iter().flatten().collect();

    assert!(taken == [2] || taken == [1, 2], "{taken:?}");
}

/// Checks that a copy of the map has values that belong together.
fn copy() {
    let map = with_vars();
    let its_map = map.clone();
    let other = spawn(1, move || assert!(set(&its_map, 2)));

    for row in map.snapshot().expect("there is memory").rows() {
        assert_eq!(row.var(0).map(|a| !a), row.var(1));
    }
    other.join();
}

fn both() -> VarSet {
    VarSet::NONE.with(0).with(1)
}

fn take_both(map: &Map) -> Option<u64> {
    let (a, b) = element(map)
        .consume(
            &mut Polls::new(),
            both(),
            || false,
            |vars| Some((vars.var(0)?, vars.var(1)?)),
        )
        .expect("the other one comes to its end")?;

    assert_eq!(!a, b);
    Some(a)
}

/// Checks that a set value is taken once.
fn take() {
    let map = with_vars();
    let its_map = map.clone();
    let writer = spawn(1, move || assert!(set(&its_map, 2)));
    let its_map = map.clone();
    let other = spawn(2, move || take_both(&its_map));
    let mut taken = vec![take_both(&map), other.join()];

    writer.join();
    taken.push(take_both(&map));
    let mut taken: Vec<_> = taken.into_iter().flatten().collect();

    taken.sort();
    assert!(taken == [2] || taken == [1, 2], "{taken:?}");
    assert_eq!(get(&map), None);
}

/// Checks that a value which was taken and restored does not exist if it was overwritten
/// concurrently.
fn restore() {
    let map = with_vars();
    let its_map = map.clone();
    let writer = spawn(1, move || {
        assert!(set(&its_map, 2));
        take_both(&its_map)
    });
    let taken = element(&map).consume(
        &mut Polls::new(),
        both(),
        || false,
        |vars| Some((vars.var(0)?, vars.version())),
    );

    if let Ok(Some((n, version))) = taken {
        assert!(n == 1 || n == 2);
        element(&map).restore(&mut Polls::new(), both(), version);
    }
    let theirs = writer.join();
    let rest = get(&map);

    // 1 is lost if 2 was written after it was taken.
    assert!(
        matches!((theirs, rest), (Some(2), None) | (None, Some(2))),
        "{theirs:?} {rest:?}"
    );
}

/// Reads the first variable alone. Never waits.
fn one_number(map: &Map) -> Result<Option<u64>, Busy> {
    element(map).consume(&mut Polls::new(), VarSet::NONE, || true, |vars| vars.var(0))
}

/// Checks that a reader of one variable gets the values in the order in which they are set, and
/// none after the last one was taken.
fn one() {
    let map = with_vars();
    let its_map = map.clone();
    let other = spawn(1, move || {
        overwrite_with(&its_map, 2);
        assert_eq!(take_both(&its_map), Some(2));
    });
    // The order of 1, 2, none.
    let place = |read: Result<Option<u64>, Busy>| match read {
        Ok(Some(n)) => n,
        Ok(None) => 3,
        Err(Busy) => panic!("it has waited"),
    };
    let first = place(one_number(&map));
    let second = place(one_number(&map));

    assert!((1..=second).contains(&first), "{first} {second}");
    other.join();
    assert!(matches!(one_number(&map), Ok(None)));
}

/// Checks that a reader of one variable that interrupts a write, anywhere, gets a value.
fn one_interrupt(after: usize) {
    let map = with_vars();
    let its_map = map.clone();

    model::interrupt(after, move || {
        assert!(matches!(one_number(&its_map), Ok(Some(1 | 2))));
    });
    let its_map = map.clone();
    let other = spawn(1, move || {
        assert!(matches!(one_number(&its_map), Ok(Some(1 | 2))));
    });

    assert!(set(&map, 2));
    assert!(matches!(one_number(&map), Ok(Some(2))));
    other.join();
    while model::interrupt_is_due() {
        assert!(matches!(one_number(&map), Ok(Some(2))));
    }
}

/// Checks a write that is interrupted, anywhere, by a read and a write, while another CPU reads.
fn interrupt(after: usize) {
    let map = with_vars();
    let its_map = map.clone();

    model::interrupt(after, move || {
        let read = element(&its_map).read(|vars| (vars.var(0), vars.var(1)));
        let written = set(&its_map, 3);

        // Both fail if the interrupted code has the lock.
        assert_eq!(read.is_some(), written);
        if let Some((a, b)) = read {
            assert_eq!(a.map(|a| !a), b);
        }
    });
    let its_map = map.clone();
    let other = spawn(1, move || get(&its_map));

    assert!(set(&map, 2));
    assert!(other.join().is_some());
    while model::interrupt_is_due() {
        assert!(get(&map).is_some());
    }
    assert!(get(&map).is_some());
}

/// Runs writers, readers, and interrupts of both.
fn storm() {
    let map = with_vars();
    let jobs: Vec<_> = (1..4)
        .map(|cpu| {
            let map = map.clone();

            spawn(cpu, move || {
                let its_map = map.clone();

                model::interrupt(random(80) as usize, move || {
                    if random(2) == 0 {
                        set(&its_map, 100 + random(100));
                    } else {
                        get(&its_map);
                    }
                });
                for n in 0..5 {
                    match random(3) {
                        0 => drop(set(&map, n)),
                        1 => drop(get(&map)),
                        _ => drop(element(&map).consume(
                            &mut Polls::new(),
                            both(),
                            || false,
                            |vars| Some((vars.var(0)?, vars.var(1)?)),
                        )),
                    }
                }
                while model::interrupt_is_due() {
                    get(&map);
                }
            })
        })
        .collect();

    for job in jobs {
        job.join();
    }
    assert!(set(&map, 7));
    assert_eq!(get(&map), Some(7));
}
