// SPDX-License-Identifier: GPL-2.0

//! Tests of the variables of elements.

use kernel::prelude::*;

use super::plain;
use crate::{
    limits::{
        MAP_BITS_MIN,
        STRING_WORDS,
        VARS_MAX, //
    },
    map::{
        Busy,
        Element,
        Layout,
        Map,
        Polls,
        VarSet, //
    }, //
};

const LAYOUT: Layout = Layout {
    n_vars: VARS_MAX,
    string_slots: 2,
    ..plain(1)
};

/// Returns a variable, if it is set.
fn var(element: Element<'_>, var: usize) -> Option<u64> {
    element.read(|vars| vars.var(var)).flatten()
}

/// Reads and unsets a variable.
fn take(element: Element<'_>, var: usize) -> Result<Option<u64>, Busy> {
    element.consume(
        &mut Polls::new(),
        VarSet::NONE.with(var),
        || false,
        |vars| vars.var(var),
    )
}

/// Returns the bytes of a string, up to the size of its slot.
fn bytes(words: &[u64]) -> [u8; STRING_WORDS * 8] {
    let mut bytes = [0; STRING_WORDS * 8];

    for (to, word) in bytes.chunks_mut(8).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Returns `true` if the slot has this string, read in both ways.
fn has_string(map: &Map, element: Element<'_>, slot: usize, text: &[u8]) -> Result<bool> {
    let mut words = [u64::MAX; STRING_WORDS];
    let is_it = |bytes: &[u8]| bytes.starts_with(text) && bytes.get(text.len()) == Some(&0);

    element
        .read(|vars| vars.copy_string(slot, &mut words))
        .ok_or(EBUSY)?;

    let snapshot = map.snapshot()?;
    let row = snapshot.row(0).ok_or(EINVAL)?;
    Ok(is_it(&bytes(&words)) && is_it(&bytes(row.string(slot))))
}

#[kunit_tests(hist_map_vars)]
mod tests {
    use super::*;

    #[test]
    fn set_and_unset() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;

        for i in 0..VARS_MAX {
            assert_eq!(var(element, i), None);

            let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
            assert!(!writer.is_set(i));
            writer.set_var(i, 100 + i as u64);
            assert!(writer.is_set(i));
            assert_eq!(writer.var(i), 100 + i as u64);
            drop(writer);

            assert_eq!(var(element, i), Some(100 + i as u64));
            for other in i + 1..VARS_MAX {
                assert_eq!(var(element, other), None);
            }
        }

        // No more exist.
        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        writer.set_var(VARS_MAX, 1);
        assert!(!writer.is_set(VARS_MAX));
        drop(writer);
        assert_eq!(var(element, VARS_MAX), None);

        let snapshot = map.snapshot()?;
        let row = snapshot.row(0).ok_or(EINVAL)?;
        for i in 0..VARS_MAX {
            assert_eq!(row.var(i), Some(100 + i as u64));
        }
        assert_eq!(row.var(VARS_MAX), None);
        assert_eq!((element.key_word(0), element.sum(0)), (1, 0));
        Ok(())
    }

    #[test]
    fn elements_without_variables() -> Result {
        let map = Map::new(MAP_BITS_MIN, plain(1))?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;

        assert!(element.write(&mut Polls::new()).is_none());
        assert!(element.read(|_| ()).is_none());
        assert_eq!(take(element, 0), Err(Busy));
        element.restore(&mut Polls::new(), VarSet::NONE.with(0), 0);
        assert!(map
            .snapshot()?
            .row(0)
            .is_some_and(|row| row.var(0).is_none()));
        assert!(map
            .snapshot()?
            .row(0)
            .is_some_and(|row| row.string(0).is_empty()));
        Ok(())
    }

    #[test]
    fn one_writer_at_a_time() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let other = map.insert_u64(2, |_| ()).ok_or(EINVAL)?;

        let writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        // As an interrupt of the writer would.
        assert!(element.write(&mut Polls::new()).is_none());
        assert!(element.read(|_| ()).is_none());
        assert_eq!(take(element, 0), Err(Busy));
        assert!(other.write(&mut Polls::new()).is_some());
        drop(writer);
        assert!(element.write(&mut Polls::new()).is_some());
        assert!(element.read(|_| ()).is_some());
        Ok(())
    }

    /// Checks that a hit reads again while others write, but that its attempts end, those of all
    /// elements together.
    #[test]
    fn attempts_of_a_hit_end() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let one = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let two = map.insert_u64(2, |_| ()).ok_or(EINVAL)?;
        let mut polls = Polls::new();
        // The number of attempts, during the first `writes` of which another hit writes.
        let attempts = |element: Element<'_>, polls: &mut Polls, writes: u32| {
            let mut n = 0;
            let result = element.consume(
                polls,
                VarSet::NONE,
                || false,
                |_| {
                    if n < writes {
                        drop(element.write(&mut Polls::new()));
                    }
                    n += 1;
                    Some(())
                },
            );

            (result, n)
        };

        assert_eq!(attempts(one, &mut polls, 40), (Ok(Some(())), 41));
        assert_eq!(attempts(two, &mut polls, 40), (Err(Busy), 25));
        // An element that no hit writes can be read without any left.
        assert_eq!(attempts(two, &mut polls, 0), (Ok(Some(())), 1));
        Ok(())
    }

    /// Checks that reading one number does not need the lock, also of an element that has none yet.
    #[test]
    fn one_number_at_any_time() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let read = || {
            let mut polls = Polls::new();

            element.consume(&mut polls, VarSet::NONE, || true, |vars| vars.var(0))
        };

        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        writer.set_var(0, 5);
        assert_eq!(read(), Ok(None));
        drop(writer);
        assert_eq!(read(), Ok(Some(5)));

        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        assert_eq!(read(), Ok(Some(5)));
        writer.set_var(0, 6);
        assert_eq!(read(), Ok(Some(6)));
        // What unsets it has to have the lock free.
        assert_eq!(
            element.consume(
                &mut Polls::new(),
                VarSet::NONE.with(0),
                || true,
                |vars| vars.var(0)
            ),
            Err(Busy)
        );
        drop(writer);
        assert_eq!(read(), Ok(Some(6)));
        Ok(())
    }

    #[test]
    fn read_once() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let take = |i| take(element, i).ok().flatten();

        assert_eq!(take(3), None);

        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        writer.set_var(3, 5);
        writer.set_var(4, 6);
        drop(writer);

        assert_eq!(take(3), Some(5));
        assert_eq!(take(3), None);
        assert_eq!(var(element, 3), None);
        assert_eq!(var(element, 4), Some(6));

        // One write has happened.
        element.restore(&mut Polls::new(), VarSet::NONE.with(3), 1);
        assert_eq!(take(3), Some(5));
        assert_eq!(take(VARS_MAX), None);
        assert_eq!(take(usize::MAX), None);

        // A second write sets again; a taken value remains the value.
        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;
        assert!(!writer.is_set(3));
        assert_eq!(writer.var(3), 5);
        writer.set_var(3, 8);
        drop(writer);
        assert_eq!(take(3), Some(8));

        // A reader that took the value before must not restore this one, which was used.
        element.restore(&mut Polls::new(), VarSet::NONE.with(3), 1);
        assert_eq!(take(3), None);
        element.restore(&mut Polls::new(), VarSet::NONE.with(3), 2);
        assert_eq!(take(3), Some(8));
        Ok(())
    }

    #[test]
    fn read_once_together() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let take = || {
            element
                .consume(
                    &mut Polls::new(),
                    VarSet::NONE.with(3).with(4),
                    || false,
                    |vars| Some((vars.var(3)?, vars.var(4)?)),
                )
                .ok()
                .flatten()
        };

        element.write(&mut Polls::new()).ok_or(EBUSY)?.set_var(3, 5);
        // All or none.
        assert_eq!(take(), None);
        assert_eq!(var(element, 3), Some(5));

        element.write(&mut Polls::new()).ok_or(EBUSY)?.set_var(4, 6);
        assert_eq!(take(), Some((5, 6)));
        assert_eq!((var(element, 3), var(element, 4)), (None, None));

        element.restore(&mut Polls::new(), VarSet::NONE.with(4), 2);
        assert_eq!(take(), None);
        assert_eq!(var(element, 4), Some(6));
        Ok(())
    }

    #[test]
    fn strings() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let long = [b'x'; 300];

        for n in [255, 0, 1, 7, 8, 9, 15, 16, 17, 247, 248, 249, 254, 255] {
            element
                .write(&mut Polls::new())
                .ok_or(EBUSY)?
                .set_string(0, &long[..n]);
            assert!(has_string(&map, element, 0, &long[..n])?);
            assert!(has_string(&map, element, 1, b"")?);
        }

        // Characters without room are cut off, and so are those after a NUL.
        element
            .write(&mut Polls::new())
            .ok_or(EBUSY)?
            .set_string(1, &long);
        assert!(has_string(&map, element, 1, &long[..255])?);
        element
            .write(&mut Polls::new())
            .ok_or(EBUSY)?
            .set_string(1, b"a string\0with more");
        assert!(has_string(&map, element, 1, b"a string")?);
        assert!(has_string(&map, element, 0, &long[..255])?);

        // No more exist.
        element
            .write(&mut Polls::new())
            .ok_or(EBUSY)?
            .set_string(2, b"text");
        assert!(map
            .snapshot()?
            .row(0)
            .is_some_and(|row| row.string(2).is_empty()));
        Ok(())
    }

    /// Checks that a copy has only the strings that are shown.
    #[test]
    fn strings_of_a_copy() -> Result {
        let layout = Layout {
            string_slots: 3,
            first_shown: 1,
            comm: true,
            ..LAYOUT
        };
        let map = Map::new(MAP_BITS_MIN, layout)?;
        let element = map.insert_u64(1, |comm| *comm = [b'c'; 16]).ok_or(EINVAL)?;
        let mut writer = element.write(&mut Polls::new()).ok_or(EBUSY)?;

        for (slot, text) in [b"one", b"two", b"six"].iter().enumerate() {
            writer.set_string(slot, *text);
            writer.set_var(slot, slot as u64);
        }
        drop(writer);

        let snapshot = map.snapshot()?;
        let row = snapshot.row(0).ok_or(EINVAL)?;

        assert!(row.string(0).is_empty());
        assert!(bytes(row.string(1)).starts_with(b"two\0"));
        assert!(bytes(row.string(2)).starts_with(b"six\0"));
        assert!(row.string(3).is_empty());
        assert_eq!(row.comm(), [b'c'; 16]);
        assert_eq!(row.var(2), Some(2));
        Ok(())
    }

    /// Checks that a copy has no room for the strings that are not shown.
    #[test]
    fn size_of_a_copy() -> Result {
        let size = |first_shown| {
            let layout = Layout {
                string_slots: VARS_MAX,
                first_shown,
                ..LAYOUT
            };
            let map = Map::new(MAP_BITS_MIN, layout)?;

            map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
            Ok::<_, Error>(map.snapshot()?.size())
        };
        let (none, one, all) = (size(VARS_MAX)?, size(VARS_MAX - 1)?, size(0)?);

        // A row without them has the key, the hit count, the lock and the variables.
        assert_eq!(none % (3 + VARS_MAX), 0);
        assert_eq!(none / (3 + VARS_MAX) * STRING_WORDS, one - none);
        assert_eq!((one - none) * VARS_MAX, all - none);
        Ok(())
    }

    #[test]
    fn stacks() -> Result {
        let map = Map::new(MAP_BITS_MIN, LAYOUT)?;
        let element = map.insert_u64(1, |_| ()).ok_or(EINVAL)?;
        let mut stack = [0usize; 40];

        for (n, address) in stack.iter_mut().enumerate() {
            *address = n * 3;
        }
        for n in [0, 1, 31, 32, 40, 5] {
            let addresses = stack[..n].iter().map(|address| *address as u64);
            element
                .write(&mut Polls::new())
                .ok_or(EBUSY)?
                .set_stack(1, addresses);

            let mut words = [u64::MAX; STRING_WORDS];
            element
                .read(|vars| vars.copy_stack(1, &mut words))
                .ok_or(EBUSY)?;

            let kept = n.min(STRING_WORDS - 1);
            assert_eq!(words[0], kept as u64);
            for (word, address) in words[1..].iter().zip(&stack[..kept]) {
                assert_eq!(*word, *address as u64);
            }
            assert!(words[kept + 1..].iter().all(|word| *word == u64::MAX));

            let snapshot = map.snapshot()?;
            let row = snapshot.row(0).ok_or(EINVAL)?;
            assert_eq!(row.string(1)[..=kept], words[..=kept]);
        }
        Ok(())
    }
}
