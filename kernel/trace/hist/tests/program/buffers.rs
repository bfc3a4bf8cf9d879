// SPDX-License-Identifier: GPL-2.0

//! Tests of which histograms use the buffers of the scratch pool, and of their size.

use super::*;

#[kunit_tests(hist_buffers)]
mod tests {
    use super::*;

    /// Checks that a hit of plain and small histograms needs no buffer of the scratch pool, and so
    /// none of its levels.
    #[test]
    fn most_hits_need_no_buffer() -> Result {
        let stamps = stamps()?;
        let mut count = spec()?;
        let mut small = spec()?;
        let mut text = spec()?;

        add_key(&mut count, word(0)?)?;
        assert!(hist(count)?.scratch.is_none());
        assert!(stamps.scratch.is_none());

        let ts = add_ref(&mut small, owner(&stamps), 0, true)?;
        let ts = Field::reference(ts, &small.refs[ts], false)?;
        let time = Field::property(HitProperty::Timestamp)?;

        add(&mut small, binary(Operator::Minus, time, ts)?)?;
        add_key(&mut small, word(0)?)?;
        assert!(hist_with(small, &[stamps])?.scratch.is_none());

        add_key(&mut text, string(0)?)?;
        add_key(&mut text, Field::property(HitProperty::Stack)?)?;
        assert!(hist(text)?.scratch.is_some());
        Ok(())
    }

    /// Checks that a buffer has room for the strings of all references that a histogram can have,
    /// and how large it is.
    #[test]
    fn buffer_of_all_strings() -> Result {
        let mut one = spec()?;
        let mut two = spec()?;
        let mut record = [0; 4 + 16 * VARS_MAX];

        for idx in 0..VARS_MAX {
            let at = 4 + 16 * idx;

            record[at..][..4].copy_from_slice(b"text");
            // CAST: Both are small.
            record[at + 4] = b'a' + idx as u8;
            add(&mut one, var(string(at as u32)?, idx)?)?;
        }
        add_key(&mut one, word(0)?)?;
        let one = hist(one)?;

        for idx in 0..VARS_MAX {
            let i = add_ref(&mut two, owner(&one), idx, false)?;

            two.refs[i].kind = one.program.place(idx).kind.map(|_| ());
            let alias = Field::reference(i, &two.refs[i], true)?;
            add(&mut two, var(alias, idx)?)?;
        }
        add_key(&mut two, word(0)?)?;
        let two = hist_with(two, &[one.clone()])?;
        let context = Fake::new(&record);

        assert!(two.scratch.is_some());
        hit(&one, &context)?;
        assert_eq!(hit(&two, &context)?, Some(0));

        let element = two.map.lookup(&[0]).ok_or(EINVAL)?;

        for idx in 0..VARS_MAX {
            let mut text = [0; 32];
            let expected = *record[4 + 16 * idx..].first_chunk::<8>().ok_or(EINVAL)?;

            element
                .read(|vars| vars.copy_string(idx, &mut text))
                .ok_or(EBUSY)?;
            assert_eq!(text[0].to_ne_bytes(), expected);
        }

        let pool = ScratchRef::new()?;
        let size = pool.enter().map(|buffer| size_of_val(&*buffer));

        assert_eq!(size, Some(6152));
        Ok(())
    }
}
