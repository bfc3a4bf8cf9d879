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

/// Compares two rows, as the specification of the sort.
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
    Ordering::Equal
}

fn signed(row: &Row<'_>, word: usize) -> Option<i64> {
    row.key().get(word).map(|word| *word as i64)
}

/// Returns the bytes of a string before its NUL.
fn text<'a>(row: &Row<'a>, word: usize, words: usize) -> impl Iterator<Item = u8> + 'a {
    let key: &'a [u64] = row.key();

    key[word..word + words]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take_while(|byte| *byte != 0)
}

/// Returns `true` if the rows are in order and have each key of the map once.
fn is_right(map: &Map, snapshot: &Snapshot, by: &[SortBy]) -> Result<bool> {
    let ascends = (1..snapshot.len()).all(|at| match (snapshot.row(at - 1), snapshot.row(at)) {
        (Some(a), Some(b)) => compare(&a, &b, by) != Ordering::Greater,
        _ => false,
    });
    // By the bytes of the keys, no two of which are equal.
    let mut others = map.snapshot()?;

    others.sort(&[])?;
    let differ = (1..others.len()).all(|at| match (others.row(at - 1), others.row(at)) {
        (Some(a), Some(b)) => bytes(&a).lt(bytes(&b)),
        _ => false,
    });

    Ok(ascends
        && differ
        && all_keys(snapshot) == all_keys(&others)
        && snapshot.len() == map.len()
        && snapshot.rows().count() == snapshot.len()
        && snapshot.row(snapshot.len()).is_none()
        && snapshot.rows().all(|row| {
            map.lookup(row.key())
                .is_some_and(|element| element.sum(0) == row.sum(0))
        }))
}

/// Returns the bytes of the key of a row.
fn bytes<'a>(row: &Row<'a>) -> impl Iterator<Item = u8> + 'a {
    row.key().iter().flat_map(|word| word.to_ne_bytes())
}

/// Returns a number that depends on all keys, but not on their order.
fn all_keys(snapshot: &Snapshot) -> u64 {
    let hash = |row: Row<'_>| {
        row.key().iter().fold(1u64, |hash, word| {
            let hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);

            hash ^ hash >> 32
        })
    };

    snapshot
        .rows()
        .map(hash)
        .fold(0u64, |all, hash| all.wrapping_add(hash))
}

/// Returns the first words of the keys in their order.
fn first_words(snapshot: &Snapshot) -> impl Iterator<Item = u64> + '_ {
    snapshot
        .rows()
        .map(|row| row.key().first().copied().unwrap_or(0))
}

/// Returns a number that depends on the order of the rows.
fn fold(snapshot: &Snapshot) -> u64 {
    first_words(snapshot).fold(0u64, |all, word| all.wrapping_mul(31).wrapping_add(word))
}

/// Sorts a map by each of `orders`, and returns `true` if the rows are right, whatever their order
/// was before.
fn sorts(map: &Map, orders: &[&[SortBy]]) -> Result<bool> {
    let mut snapshot = map.snapshot()?;

    for (n, by) in orders.iter().enumerate() {
        // On top of what the order before has left, and from the beginning.
        snapshot.sort(by)?;
        let mut other = map.snapshot()?;
        other.sort(by)?;

        // Whatever the order was.
        let is_same = snapshot
            .rows()
            .map(|row| row.key())
            .eq(other.rows().map(|row| row.key()));

        if !is_same || !is_right(map, &snapshot, by)? {
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
                    let element = map.hit(&words, false, |_| ()).ok_or(EINVAL)?;

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
            // Some begin alike, some end early with anything after the NUL, some have bytes that
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
            map.hit(&words, false, |_| ()).ok_or(EINVAL)?;
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
        assert!(is_right(&map, &snapshot, &[text])?);
        Ok(())
    }

    /// Checks the order of equal rows. The orders in this test and the next ones are those of
    /// `sort()` in `lib/sort.c`, run on rows in the order of the bytes of their keys.
    #[test]
    fn equal_rows() -> Result {
        let orders: [&[u64]; 8] = [
            &[2, 1],
            &[3, 2, 1],
            &[2, 4, 3, 1],
            &[4, 2, 5, 3, 1],
            &[2, 4, 5, 6, 3, 1],
            &[4, 2, 5, 6, 7, 3, 1],
            &[2, 4, 5, 6, 7, 8, 3, 1],
            &[4, 2, 5, 6, 7, 8, 9, 3, 1],
        ];

        for (count, order) in (2..).zip(orders) {
            let map = Map::new(7, plain(1))?;

            for key in (1..=count).rev() {
                map.insert_u64(key, |_| ()).ok_or(EINVAL)?.add(0, 5);
            }
            for by in [sum(0, false), down(sum(0, false)), key(0, KeyOrder::None)] {
                let mut snapshot = map.snapshot()?;

                snapshot.sort(&[by])?;
                assert!(first_words(&snapshot).eq(order.iter().copied()));
            }
        }
        Ok(())
    }

    #[test]
    fn some_equal_rows() -> Result {
        let orders: [(u64, bool, &[u64]); 6] = [
            (2, false, &[1, 2]),
            (7, false, &[7, 4, 1, 6, 3, 5, 2]),
            (7, true, &[2, 5, 3, 6, 4, 7, 1]),
            (12, false, &[1, 4, 7, 10, 12, 9, 6, 3, 8, 11, 5, 2]),
            (13, false, &[13, 1, 10, 4, 7, 9, 12, 6, 3, 8, 11, 5, 2]),
            (13, true, &[11, 8, 2, 5, 9, 12, 3, 6, 4, 10, 13, 7, 1]),
        ];

        for (count, descending, order) in orders {
            let map = Map::new(7, plain(1))?;
            let by = SortBy {
                descending,
                ..sum(0, false)
            };

            for key in 1..=count {
                let element = map.insert_u64(key, |_| ()).ok_or(EINVAL)?;

                element.add(0, (key - 1) * 5 % 3);
            }
            let mut snapshot = map.snapshot()?;

            snapshot.sort(&[by])?;
            assert!(first_words(&snapshot).eq(order.iter().copied()));
        }
        Ok(())
    }

    #[test]
    fn many_equal_rows() -> Result {
        let layout = Layout {
            n_sums: 2,
            ..plain(1)
        };
        let map = Map::new(10, layout)?;

        for key in 1..=1000u64 {
            let element = map.insert_u64(key, |_| ()).ok_or(EINVAL)?;

            element.add(0, key * key % 7);
            element.add(1, key % 11);
        }
        let mut snapshot = map.snapshot()?;

        snapshot.sort(&[down(sum(0, false))])?;
        assert_eq!(fold(&snapshot), 0x42ed_606d_b1ed_6fbe);
        snapshot.sort(&[down(sum(0, false)), sum(1, false)])?;
        assert_eq!(fold(&snapshot), 0xa000_fe04_ed7d_0478);
        Ok(())
    }

    #[test]
    fn equal_texts() -> Result {
        let map = Map::new(8, plain(2))?;
        let text = key(1, KeyOrder::Str { words: 1 });

        for n in 0..200u64 {
            let byte = [b'a', b'b', b'c'][(n % 3) as usize];
            let word = u64::from_ne_bytes([byte, 0, 0, 0, 0, 0, 0, 0]);

            map.hit(&[n, word], false, |_| ()).ok_or(EINVAL)?;
        }
        let mut snapshot = map.snapshot()?;

        snapshot.sort(&[text])?;
        assert_eq!(fold(&snapshot), 0xfc1f_7ec4_0d01_aa42);
        snapshot.sort(&[down(text)])?;
        assert_eq!(fold(&snapshot), 0x79b3_d2bc_65f7_06ee);
        Ok(())
    }
}
