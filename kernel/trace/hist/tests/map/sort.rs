// SPDX-License-Identifier: GPL-2.0

//! Tests of the order of rows.

use core::cmp::Ordering;
use kernel::prelude::*;

use super::plain;
use crate::map::{
    KeyOrder,
    Layout,
    Map,
    Row,
    Snapshot,
    SortBy,
    SortValue, //
};

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

fn sum(index: usize, signed: bool) -> SortBy {
    SortBy {
        value: SortValue::Sum { index, signed },
        descending: false,
    }
}

fn key(word: usize, order: KeyOrder) -> SortBy {
    SortBy {
        value: SortValue::Key { word, order },
        descending: false,
    }
}

fn down(by: SortBy) -> SortBy {
    SortBy {
        descending: true,
        ..by
    }
}

/// The specification of the sort.
fn compare(a: &Row<'_>, b: &Row<'_>, by: &[SortBy]) -> Ordering {
    for by in by {
        let order = match by.value {
            SortValue::Sum {
                index,
                signed: true,
            } => (a.sum(index) as i64).cmp(&(b.sum(index) as i64)),
            SortValue::Sum { index, .. } => a.sum(index).cmp(&b.sum(index)),
            SortValue::Key { word, order } => match order {
                KeyOrder::Unsigned => a.key().get(word).cmp(&b.key().get(word)),
                KeyOrder::Signed => signed(a, word).cmp(&signed(b, word)),
                KeyOrder::Str { words } => text(a, word, words).cmp(text(b, word, words)),
                KeyOrder::None => Ordering::Equal,
            },
        };
        let order = if by.descending {
            order.reverse()
        } else {
            order
        };

        if order != Ordering::Equal {
            return order;
        }
    }
    a.key().cmp(b.key())
}

fn signed(row: &Row<'_>, word: usize) -> Option<i64> {
    row.key().get(word).map(|word| *word as i64)
}

/// The bytes of a string in front of its NUL.
fn text<'a>(row: &Row<'a>, word: usize, words: usize) -> impl Iterator<Item = u8> + 'a {
    let key: &'a [u64] = row.key();

    key[word..word + words]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take_while(|byte| *byte != 0)
}

/// Returns `true` if the rows are in order and have each key of the map once.
fn is_right(map: &Map, snapshot: &Snapshot, by: &[SortBy]) -> bool {
    let ascends = |a: &Row<'_>, b: &Row<'_>| compare(a, b, by) == Ordering::Less;
    let pairs = (1..snapshot.len()).all(|at| match (snapshot.row(at - 1), snapshot.row(at)) {
        (Some(a), Some(b)) => ascends(&a, &b),
        _ => false,
    });

    // As no two rows are equal, this is a permutation if all are of the map and none is missing.
    pairs
        && snapshot.len() == map.len()
        && snapshot.rows().count() == snapshot.len()
        && snapshot.row(snapshot.len()).is_none()
        && snapshot.rows().all(|row| {
            map.lookup(row.key())
                .is_some_and(|element| element.sum(0) == row.sum(0))
        })
}

/// Sorts a map by each of these, and checks it.
fn sorts(map: &Map, orders: &[&[SortBy]]) -> Result<bool> {
    let mut snapshot = map.snapshot()?;

    for (n, by) in orders.iter().enumerate() {
        // On top of what the order before has left, and from the beginning.
        snapshot.sort(by)?;
        let mut other = map.snapshot()?;
        other.sort(by)?;

        if !is_right(map, &snapshot, by) || !is_right(map, &other, by) {
            pr_err!("order {} is wrong\n", n);
            return Ok(false);
        }
    }
    Ok(true)
}

#[kunit_tests(hist_map_sort)]
mod tests {
    use super::*;

    #[test]
    fn few_rows() -> Result {
        for count in 0..=3u64 {
            let map = Map::new(7, plain(1))?;

            for key in 0..count {
                map.insert_u64(100 - key, |_| ()).ok_or(EINVAL)?;
            }
            assert!(sorts(
                &map,
                &[
                    &[],
                    &[sum(0, false)],
                    &[down(key(0, KeyOrder::Unsigned))],
                    // A missing column does not matter.
                    &[
                        sum(9, false),
                        key(9, KeyOrder::Signed),
                        down(key(0, KeyOrder::Signed))
                    ],
                ]
            )?);
        }
        Ok(())
    }

    #[test]
    fn numbers() -> Result {
        // Sizes around those where the way of sorting changes, and values of all widths.
        for count in [31, 32, 33, 300, 2000] {
            for mask in [1, 0xff, 0xffff, 0xff00_0000_0000_00ff, u64::MAX] {
                let map = Map::new(
                    11,
                    Layout {
                        n_sums: 2,
                        ..plain(2)
                    },
                )?;
                let mut random = Random(count ^ mask);

                for _ in 0..count {
                    let words = [random.next() & mask, random.next() % 7];
                    let element = map.insert(&words, |_| ()).ok_or(EINVAL)?;

                    element.add(0, random.next() & mask);
                    element.add(1, random.next() % 3);
                }
                assert!(sorts(
                    &map,
                    &[
                        &[sum(0, false)],
                        &[down(sum(0, false))],
                        &[sum(0, true)],
                        &[down(sum(0, true))],
                        &[sum(1, false), down(sum(0, true))],
                        &[down(sum(1, false)), key(0, KeyOrder::Signed)],
                        &[key(1, KeyOrder::Unsigned), down(key(0, KeyOrder::Unsigned))],
                        &[key(0, KeyOrder::None), key(1, KeyOrder::Signed)],
                        &[],
                    ]
                )?);
            }
        }
        Ok(())
    }

    #[test]
    fn texts() -> Result {
        let map = Map::new(11, plain(5))?;
        let mut random = Random(7);

        for n in 0..1500u64 {
            // Some begin alike, some end early with anything behind the NUL, some have bytes that
            // are negative as a `char`.
            let mut bytes = [b'a'; 32];
            let end = (random.next() % 33) as usize;

            for byte in bytes.iter_mut().skip((random.next() % 30) as usize) {
                *byte = [b'a', b'b', 0xff, 0x80][(random.next() % 4) as usize];
            }
            if let Some(byte) = bytes.get_mut(end) {
                *byte = 0;
            }

            let mut words = [n % 2; 5];
            for (word, chunk) in words.iter_mut().skip(1).zip(bytes.chunks(8)) {
                *word = chunk
                    .try_into()
                    .map(u64::from_ne_bytes)
                    .map_err(|_| EINVAL)?;
            }
            map.insert(&words, |_| ()).ok_or(EINVAL)?;
        }

        let text = key(1, KeyOrder::Str { words: 4 });
        assert!(sorts(
            &map,
            &[
                &[text],
                &[down(text)],
                &[key(0, KeyOrder::Unsigned), text],
                &[down(key(0, KeyOrder::Unsigned)), down(text)],
                &[text, down(key(0, KeyOrder::Unsigned))],
            ]
        )?);

        // More words than the key has.
        let mut snapshot = map.snapshot()?;
        snapshot.sort(&[key(1, KeyOrder::Str { words: usize::MAX })])?;
        assert!(is_right(&map, &snapshot, &[text]));
        Ok(())
    }

    #[test]
    fn equal_values_are_ordered_by_key() -> Result {
        let map = Map::new(12, plain(1))?;
        let mut random = Random(3);

        for _ in 0..4000 {
            map.insert_u64(random.next(), |_| ())
                .ok_or(EINVAL)?
                .add(0, 5);
        }

        let mut snapshot = map.snapshot()?;
        snapshot.sort(&[down(sum(0, false))])?;
        let ascends =
            (1..snapshot.len()).all(|at| match (snapshot.row(at - 1), snapshot.row(at)) {
                (Some(a), Some(b)) => a.key() < b.key(),
                _ => false,
            });
        assert!(ascends);
        assert_eq!(snapshot.len(), 4000);
        Ok(())
    }
}
