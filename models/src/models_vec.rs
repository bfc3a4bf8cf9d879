// SPDX-License-Identifier: GPL-2.0

//! user_events: the vector that grows while it is read.

use crate::user_events::append_vec::{
    AppendVec,
    Chunk, //
};
use kernel::{
    model::{
        shared,
        spawn,
        Check::All,
        Model, //
    },
    prelude::*,
    sync::Mutex, //
};

pub(crate) const MODELS: &[Model] = &[
    Model::new("vec_append", All(3), vec_append),
    Model::new("vec_two_writers", All(3), vec_two_writers),
];

/// Adds memory for an element of a vector.
fn reserve<T>(vec: &AppendVec<T>, i: usize) {
    if !vec.has_room(i) {
        assert!(vec.add(Chunk::of(i).expect("memory")).is_none());
    }
}

/// Checks that a reader of a growing vector sees an element as a whole, or not at all.
fn vec_append() {
    let vec = shared(AppendVec::<KVec<u64>>::new());
    let its_vec = vec.clone();
    let other = spawn(1, move || {
        // The second one is in another chunk.
        for i in [0, 4] {
            let mut element = KVec::new_checked();

            element.push(7 + i as u64, GFP_KERNEL).expect("memory");
            reserve(&its_vec, i);
            assert!(its_vec.set(i, element));
        }
    });

    for i in [4, 0] {
        if let Some(element) = vec.get(i) {
            assert_eq!(element[0], 7 + i as u64);
        }
    }
    other.join();
    assert_eq!(vec.get(4).map(|element| element[0]), Some(11));
}

/// Checks that two threads can append, one at a time as is required, while a third reads.
fn vec_two_writers() {
    let vec = shared((AppendVec::<u64>::new(), Mutex::new(0)));
    let append = |vec: &(AppendVec<u64>, Mutex<usize>), value| {
        let mut len = vec.1.lock();

        reserve(&vec.0, *len);
        assert!(vec.0.set(*len, value));
        *len += 1;
    };
    let jobs: Vec<_> = [10, 20]
        .into_iter()
        .zip(1..)
        .map(|(value, cpu)| {
            let vec = vec.clone();

            spawn(cpu, move || append(&vec, value))
        })
        .collect();

    // The second one is not visible without the first one.
    if let Some(second) = vec.0.get(1) {
        assert_eq!(vec.0.get(0).map(|first| first + second), Some(30));
    }
    for job in jobs {
        job.join();
    }
    assert_eq!(vec.0.get(0).zip(vec.0.get(1)).map(|(a, b)| a + b), Some(30));
}
