// SPDX-License-Identifier: GPL-2.0

//! Tests of keys that are strings.

use super::*;

#[kunit_tests(hist_string_keys)]
mod tests {
    use super::*;

    /// Fills a record with a string of these bytes after its word.
    fn named<'a>(record: &'a mut [u8; 512], name: &[u8]) -> Result<&'a [u8]> {
        let end = 4usize.wrapping_add(name.len());

        record[..4].copy_from_slice(&u32::try_from(name.len() << 16 | 4)?.to_ne_bytes());
        record[4..end].copy_from_slice(name);
        Ok(&record[..end])
    }

    #[test]
    fn strings_of_all_lengths_are_keys() -> Result {
        for number_first in [false, true] {
            let mut spec = spec()?;

            if number_first {
                add_key(&mut spec, Field::property(HitProperty::Cpu)?)?;
            }
            add_key(
                &mut spec,
                recorded(source(0, 4, false, RecordKind::DynString)?)?,
            )?;
            let hist = hist(spec)?;
            let mut record = [0; 512];

            assert!(hist.program.path == HitPath::LargeOpen);
            // The longest first, so that its words are where shorter ones end.
            for len in Iterator::chain(0..34usize, 240..260).rev() {
                let name = [b'x'; 260];

                for _ in 0..2 {
                    let record = named(&mut record, &name[..len])?;

                    assert_eq!(hit(&hist, &Fake::new(record))?, Some(0));
                }
            }
            // From 255 bytes on they are cut.
            let rows = hist.map.snapshot()?;

            assert_eq!(rows.len(), 34 + 16);
            for row in rows.rows() {
                let bytes = row.key()[usize::from(number_first)..].as_bytes();
                let len = bytes.iter().position(|byte| *byte == 0).ok_or(EINVAL)?;

                assert!(bytes[..len].iter().all(|byte| *byte == b'x'));
                assert!(bytes[len..].iter().all(|byte| *byte == 0));
                assert_eq!(row.sum(0), if len == 255 { 10 } else { 2 });
            }
        }
        Ok(())
    }

    #[test]
    fn long_strings_are_found_by_others() -> Result {
        let mut one = spec()?;
        let name = || -> Result<Field> { recorded(source(0, 4, false, RecordKind::DynString)?) };

        add(&mut one, var(Field::property(HitProperty::Timestamp)?, 0)?)?;
        add_key(&mut one, name()?)?;
        let one = hist(one)?;

        let mut two = spec()?;
        let idx = add_ref(&mut two, owner(&one), 0, false)?;
        let field = Field::reference(idx, &two.refs[idx], false)?;

        add(&mut two, field)?;
        add_key(&mut two, name()?)?;
        let two = hist_with(two, &[one.clone()])?;

        assert!(one.program.path == HitPath::LargeOpen);
        assert!(two.program.path == HitPath::Large);
        for len in [0usize, 1, 7, 8, 9, 100, 248, 255] {
            let mut record = [0; 512];
            let record = named(&mut record, &[b'y'; 255][..len])?;
            let mut context = Fake::new(record);

            context.time = 9;
            assert_eq!(hit(&two, &context)?, None);
            hit(&one, &context)?;
            assert_eq!(hit(&two, &context)?, Some(0));
        }
        Ok(())
    }

    #[test]
    fn keys_of_other_sizes_are_found() -> Result {
        // common_comm, and a string of 32 bytes.
        let mut one = spec()?;
        let time = Field::property(HitProperty::Timestamp)?;
        add(&mut one, var(time, 0)?)?;
        add_key(&mut one, Field::property(HitProperty::Comm)?)?;
        let one = hist(one)?;

        let mut two = spec()?;
        let idx = add_ref(&mut two, owner(&one), 0, false)?;
        let field = Field::reference(idx, &two.refs[idx], false)?;
        let long = source(0, 32, false, RecordKind::StaticString)?;
        add(&mut two, field)?;
        add_key(&mut two, recorded(long)?)?;
        let two = hist_with(two, &[one.clone()])?;

        let mut record = [0; 32];
        record[..6].copy_from_slice(b"a task");
        let mut context = Fake::new(&record);
        context.time = 9;
        hit(&one, &context)?;
        assert_eq!(hit(&two, &context)?, Some(0));
        assert_eq!(two.map.snapshot()?.row(0).ok_or(EINVAL)?.sum(1), 9);

        let mut other = record;
        other[6] = b'!';
        assert_eq!(hit(&two, &Fake::new(&other))?, None);
        other = [b'a'; 32];
        assert_eq!(hit(&two, &Fake::new(&other))?, None);
        Ok(())
    }
}
