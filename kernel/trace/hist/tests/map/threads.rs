// SPDX-License-Identifier: GPL-2.0

//! Tests of the map in the hands of several threads: work items of an unbound queue.

use kernel::{
    percpu::ScratchPool,
    prelude::*,
    processor::cpu_relax,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        rcu,
        Arc,
        Completion, //
    },
    workqueue, //
};

use super::{
    contents,
    hit,
    is_consistent,
    plain, //
};
use crate::{
    limits::{
        MAP_BITS_MAX,
        MAP_BITS_MIN,
        STRING_WORDS, //
    },
    map::{
        Element,
        Layout,
        Map,
        Polls,
        VarSet, //
    }, //
};

/// Number of threads.
pub(super) const THREADS: u64 = 6;

/// The state that threads share.
#[pin_data]
struct Team {
    /// Threads that have not started, and that have not ended.
    to_come: Atomic<u64>,
    to_go: Atomic<u64>,
    failed: Atomic<u64>,
    #[pin]
    done: Completion,
}

impl Team {
    fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                to_come: Atomic::new(THREADS),
                to_go: Atomic::new(THREADS),
                failed: Atomic::new(0),
                done <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Waits for the other threads for a while, so that all begin at once with enough CPUs.
    fn come(&self) {
        self.to_come.fetch_sub(1, Full);
        for _ in 0..10_000 {
            if self.to_come.load(Relaxed) == 0 {
                break;
            }
            cpu_relax();
        }
    }

    fn go(&self, ok: bool) {
        if !ok {
            self.failed.add(1, Relaxed);
        }
        if self.to_go.fetch_sub(1, Full) == 1 {
            self.done.complete_all();
        }
    }
}

/// Runs a job in all threads, each with its number, and returns `true` if all jobs do. `meanwhile`
/// runs at the same time.
pub(super) fn together(
    job: impl Fn(u64) -> bool + Send + Sync + 'static,
    meanwhile: impl FnOnce(),
) -> Result<bool> {
    let team = Team::new()?;
    let job = Arc::new(job, GFP_KERNEL)?;

    for n in 0..THREADS {
        let (its_team, job) = (team.clone(), job.clone());
        let spawned = workqueue::system_dfl().try_spawn(GFP_KERNEL, move || {
            its_team.come();
            its_team.go(job(n));
        });

        if spawned.is_err() {
            team.come();
            team.go(false);
        }
    }
    meanwhile();
    team.done.wait_for_completion();
    Ok(team.failed.load(Relaxed) == 0)
}

/// Returns a number of a permutation of the numbers below a power of two, which differs between
/// threads.
fn shuffled(n: u64, thread: u64, count: u64) -> u64 {
    n.wrapping_mul(2 * thread + 1).wrapping_add(thread * 77) & (count - 1)
}

/// Writes a number to two variables, and a string that depends on it. Returns `false` if the
/// variables cannot be locked.
fn write_all(element: Element<'_>, n: u64) -> bool {
    // CAST: Digits repeat.
    let text = [b'a' + (n % 26) as u8; 100];

    let Some(mut writer) = element.write(&mut Polls::new()) else {
        return false;
    };
    writer.set_var(0, n);
    writer.set_string(0, text.get(..(n % 100) as usize).unwrap_or(&[]));
    writer.set_var(1, !n);
    true
}

/// Returns `true` if two variables and the words of a string belong together.
fn belong_together(a: u64, b: u64, words: &[u64]) -> bool {
    let mut bytes = words.iter().flat_map(|word| word.to_ne_bytes());

    // CAST: As above.
    a == !b
        && bytes
            .by_ref()
            .take((a % 100) as usize)
            .all(|byte| byte == b'a' + (a % 26) as u8)
        && bytes.next() == Some(0)
}

const WITH_VARS: Layout = Layout {
    n_vars: 3,
    string_slots: 1,
    ..plain(1)
};

#[kunit_tests(hist_map_threads)]
mod tests {
    use super::*;

    #[test]
    fn the_same_new_keys() -> Result {
        const KEYS: u64 = 1024;

        // The map has more elements than keys: others may have one that they prepared in vain.
        for (bits, words) in [(11, 1), (11, 3), (11, 40)] {
            let map = Arc::new(Map::new(bits, plain(words))?, GFP_KERNEL)?;
            let its_map = map.clone();

            let ok = together(
                move |thread| {
                    (0..2 * KEYS).all(|n| {
                        let n = shuffled(n, thread, KEYS);
                        // Keys of several words must not be seen before all of them are written.
                        let mut key = [0; 40];
                        key[..3].copy_from_slice(&[n, n << 32, !n]);

                        its_map
                            .hit(&key[..words], false, |_| ())
                            .map(|e| e.add(0, 1))
                            .is_some()
                    })
                },
                || (),
            )?;

            assert!(ok);
            assert_eq!(map.hits(), 2 * KEYS * THREADS);
            assert_eq!(map.drops(), 0);
            assert!(is_consistent(&map)?);

            let contents = contents(&map)?;
            assert_eq!(contents.len() as u64, KEYS);
            assert!(contents.iter().all(|(_, n)| *n == 2 * THREADS));
        }
        Ok(())
    }

    #[test]
    fn more_keys_than_elements() -> Result {
        const KEYS: u64 = 256;
        const ROUNDS: u64 = 8;

        for round in 0..10 {
            let map = Arc::new(Map::new(MAP_BITS_MIN, plain(1))?, GFP_KERNEL)?;
            let its_map = map.clone();

            let ok = together(
                move |thread| {
                    for n in 0..KEYS * ROUNDS {
                        hit(&its_map, shuffled(n, thread + round, KEYS));
                    }
                    true
                },
                || (),
            )?;

            assert!(ok);
            assert_eq!(map.hits() + map.drops(), KEYS * ROUNDS * THREADS);
            assert!(is_consistent(&map)?);

            // No element is lost, and each present key can be found.
            for n in 0..KEYS {
                hit(&map, n);
            }
            assert_eq!(map.len(), 1 << MAP_BITS_MIN);

            let before = contents(&map)?;
            for (key, n) in &before {
                assert!(hit(&map, *key).is_some_and(|e| e.sum(0) == n + 1));
            }
            assert!(is_consistent(&map)?);
        }
        Ok(())
    }

    #[test]
    fn clearing_under_load() -> Result {
        const EVENTS: u64 = 20_000;

        let map = Arc::new(Map::new(MAP_BITS_MIN, plain(1))?, GFP_KERNEL)?;
        let its_map = map.clone();
        let mut fine = Ok(true);

        let ok = together(
            move |thread| {
                for n in 0..EVENTS {
                    // The part of a trigger, which is what clearing waits for.
                    let guard = rcu::read_lock();

                    hit(&its_map, shuffled(n, thread, 256));
                    drop(guard);
                }
                true
            },
            || {
                for _ in 0..10 {
                    map.close();
                    rcu::synchronize_rcu();
                    let before = is_consistent(&map);
                    map.wipe();
                    let wiped = map.hits() == 0 && map.len() == 0;
                    map.open();
                    rcu::synchronize_rcu();

                    fine = match (fine, before) {
                        (Ok(a), Ok(b)) => Ok(a && b && wiped),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                }
            },
        )?;

        assert!(ok);
        assert!(fine?);
        assert!(is_consistent(&map)?);
        assert!(map.hits() + map.drops() <= EVENTS * THREADS);
        Ok(())
    }

    /// Checks that an element from before a copy is in the copy, whatever is inserted
    /// concurrently.
    #[test]
    fn copies_while_keys_come() -> Result {
        const OLD: u64 = 64;
        const NEW: u64 = 20_000;

        let map = Arc::new(Map::new(MAP_BITS_MAX, plain(1))?, GFP_KERNEL)?;
        let its_map = map.clone();
        let mut lost = Ok(0);

        for n in 0..OLD {
            hit(&map, n);
        }
        let ok = together(
            move |thread| (0..NEW).all(|n| hit(&its_map, OLD + thread * NEW + n).is_some()),
            || {
                for _ in 0..200 {
                    let old = map
                        .snapshot()
                        .map(|copy| copy.rows().filter(|row| row.key()[0] < OLD).count() as u64);

                    lost = match (lost, old) {
                        (Ok(lost), Ok(old)) => Ok(lost + (OLD - old)),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                    if map.len() as u64 == OLD + THREADS * NEW {
                        break;
                    }
                }
            },
        )?;

        assert!(ok);
        assert_eq!(lost?, 0);
        Ok(())
    }

    #[test]
    fn what_is_written_together() -> Result {
        const ROUNDS: u64 = 5_000;

        let map = Arc::new(Map::new(MAP_BITS_MIN, WITH_VARS)?, GFP_KERNEL)?;
        let its_map = map.clone();
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let mut together_in_copies = Ok(true);

        assert!(write_all(element, 1));
        let ok = together(
            move |thread| {
                let Some(element) = its_map.lookup(&[1]) else {
                    return false;
                };

                for n in 0..ROUNDS {
                    if thread % 2 == 0 {
                        // A thread that does not enter stops.
                        write_all(element, n * THREADS + thread);
                        continue;
                    }

                    let mut text = [u64::MAX; STRING_WORDS];
                    let read = element.read(|vars| {
                        vars.copy_string(0, &mut text);
                        (vars.var(0), vars.var(1))
                    });

                    match read {
                        Some((Some(a), Some(b))) if !belong_together(a, b, &text) => return false,
                        Some((None, _)) | Some((_, None)) => return false,
                        _ => (),
                    }
                }
                true
            },
            || {
                for _ in 0..200 {
                    let right = map.snapshot().map(|snapshot| {
                        snapshot.rows().all(|row| match (row.var(0), row.var(1)) {
                            (Some(a), Some(b)) => belong_together(a, b, row.string(0)),
                            (None, None) => true,
                            _ => false,
                        })
                    });

                    together_in_copies = match (together_in_copies, right) {
                        (Ok(a), Ok(b)) => Ok(a && b),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                }
            },
        )?;

        assert!(ok);
        assert!(together_in_copies?);
        // No thread has left it locked.
        assert!(write_all(element, 2));
        Ok(())
    }

    /// Checks that a copy has the variables of an element that hits write all the time.
    #[test]
    fn a_hot_element_is_copied() -> Result {
        const MOST_ROUNDS: u64 = 50_000;
        const COPIES: u64 = 50;

        let map = Arc::new(Map::new(MAP_BITS_MIN, WITH_VARS)?, GFP_KERNEL)?;
        let its_map = map.clone();
        let copied_all = Arc::new(Atomic::new(0u32), GFP_KERNEL)?;
        let its_copied_all = copied_all.clone();
        let pool = ScratchPool::new(1)?;
        let mut with_vars = Ok(0);

        assert!(write_all(map.insert_u64(1, |_| ()).ok_or(EINVAL)?, 1));
        let ok = together(
            move |_| {
                for n in 0..MOST_ROUNDS {
                    if its_copied_all.load(Relaxed) != 0 {
                        break;
                    }
                    // As in a hit, preemption is off.
                    let buffer = pool.enter();

                    if let Some(element) = its_map.lookup(&[1]) {
                        write_all(element, n);
                    }
                    drop(buffer);
                }
                true
            },
            || {
                for _ in 0..COPIES {
                    let copy = map.snapshot();
                    let is_set = copy.map(|copy| copy.rows().all(|row| row.var(0).is_some()));

                    with_vars = match (with_vars, is_set) {
                        (Ok(n), Ok(is_set)) => Ok(n + u64::from(is_set)),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                }
                copied_all.store(1, Relaxed);
            },
        )?;

        assert!(ok);
        // A host may take the CPU away from a writer for longer than a reader waits.
        assert!(with_vars? >= COPIES / 5);
        Ok(())
    }

    #[test]
    fn a_maximum_and_what_belongs_to_it() -> Result {
        const ROUNDS: u64 = 5_000;
        const MOST_TRIES: u32 = 1_000_000;

        let map = Arc::new(Map::new(MAP_BITS_MIN, WITH_VARS)?, GFP_KERNEL)?;
        let its_map = map.clone();
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;

        let ok = together(
            move |thread| {
                let Some(element) = its_map.lookup(&[1]) else {
                    return false;
                };

                for n in 0..ROUNDS {
                    let value = shuffled(n, thread, 1 << 13);

                    let mut tries = 0..MOST_TRIES;
                    let Some(mut writer) = tries.find_map(|_| {
                        cpu_relax();
                        element.write(&mut Polls::new())
                    }) else {
                        return false;
                    };

                    if !writer.is_set(0) || writer.var(0) < value {
                        writer.set_var(0, value);
                        writer.set_var(1, !value);
                    }
                }
                true
            },
            || (),
        )?;

        assert!(ok);
        let truth = (0..ROUNDS)
            .flat_map(|n| (0..THREADS).map(move |thread| shuffled(n, thread, 1 << 13)))
            .max();
        let max = element.read(|vars| (vars.var(0), vars.var(1)));

        assert_eq!(max.and_then(|(value, _)| value), truth);
        assert_eq!(max.and_then(|(_, saved)| saved), truth.map(|value| !value));
        Ok(())
    }

    #[test]
    fn what_is_taken_once() -> Result {
        const ROUNDS: u64 = 5_000;

        let both = VarSet::NONE.with(0).with(1);
        let map = Arc::new(Map::new(MAP_BITS_MIN, WITH_VARS)?, GFP_KERNEL)?;
        let its_map = map.clone();
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;

        // Sums: 0 is what was set; 1 is what was taken, in a map of its own.
        let taken = Arc::new(Map::new(MAP_BITS_MIN, plain(1))?, GFP_KERNEL)?;
        let its_taken = taken.clone();

        let ok = together(
            move |thread| {
                let (Some(element), Some(sum)) =
                    (its_map.lookup(&[1]), its_taken.insert_u64(1, |_| ()))
                else {
                    return false;
                };

                for n in 1..ROUNDS {
                    if thread == 0 {
                        if let Some(mut writer) = element.write(&mut Polls::new()) {
                            if !writer.is_set(0) {
                                writer.set_var(0, n);
                                writer.set_var(1, !n);
                                element.add(0, n);
                            }
                        }
                    } else if let Ok(Some((n, other))) = element.consume(
                        &mut Polls::new(),
                        both,
                        || false,
                        |vars| Some((vars.var(0)?, vars.var(1)?)),
                    ) {
                        sum.add(0, n);
                        if other != !n {
                            return false;
                        }
                    }
                }
                true
            },
            || (),
        )?;

        let rest = element
            .consume(&mut Polls::new(), both, || false, |vars| vars.var(0))
            .ok()
            .flatten()
            .unwrap_or(0);
        let sum = taken.lookup(&[1]).map_or(0, |element| element.sum(0));

        assert!(ok);
        assert!(element.sum(0) > 0);
        assert_eq!(element.sum(0), sum + rest);
        Ok(())
    }
}
