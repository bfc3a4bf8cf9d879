// SPDX-License-Identifier: GPL-2.0

//! Tests of what a histogram is compiled to.

use super::*;

#[kunit_tests(hist_program)]
mod tests {
    use super::*;

    #[test]
    fn one_number_is_plain() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, word(8)?)?;
        let program = compile(&spec, &[])?;

        assert!(program.path == HitPath::Plain(Leaf::U32(8)));
        // Variables do not matter, as long as nothing refers to them.
        assert!(stamps()?.program.path == HitPath::Plain(Leaf::U32(0)));
        assert_eq!(spec.key_words(), 1);
        assert!(
            program.layout
                == Layout {
                    key_words: 1,
                    n_sums: 1,
                    n_vars: 0,
                    string_slots: 0,
                    first_shown: 0,
                    comm: false,
                }
        );
        assert!(program.sort_by.len() == 1);
        Ok(())
    }

    #[test]
    fn keys_have_places() -> Result {
        let mut spec = spec()?;
        let comm = Field::property(HitProperty::Comm)?;
        let stack = Field::property(HitProperty::Stack)?;

        add_key(&mut spec, comm)?;
        add_key(&mut spec, number(4, 2, true, Modifier::None)?)?;
        add_key(&mut spec, stack)?;
        assert_eq!(spec.n_keys(), KEYS_MAX);
        spec.n_sort_keys = 2;
        spec.sort_keys = [
            SortKey {
                field_idx: 2,
                descending: true,
            },
            SortKey {
                field_idx: 1,
                descending: false,
            },
        ];
        let program = compile(&spec, &[])?;
        let place = |word, words, kind| KeyPlace { word, words, kind };

        assert!(
            program.keys.as_slice()
                == [
                    place(0, 2, KeyKind::String),
                    place(2, 1, KeyKind::Number { signed: true }),
                    place(3, STACK_DEPTH, KeyKind::Stack),
                ]
        );
        assert_eq!(program.layout.key_words, 3 + STACK_DEPTH);
        assert_eq!(spec.key_words(), 3 + STACK_DEPTH);
        assert!(program.path == HitPath::Large);
        assert!(
            program.sort_by.as_slice()
                == [
                    SortBy {
                        value: SortValue::Key {
                            word: 2,
                            order: KeyOrder::Signed,
                        },
                        descending: true,
                    },
                    SortBy {
                        value: SortValue::Key {
                            word: 0,
                            order: KeyOrder::Str { words: 2 },
                        },
                        descending: false,
                    },
                ]
        );
        Ok(())
    }

    /// Checks that the target of a pointer is not read, and that its bytes are not compared as a
    /// string.
    #[test]
    fn pointers_are_numbers() -> Result {
        let mut spec = spec()?;
        let mut pointer = source(8, 8, false, RecordKind::PtrString)?;

        pointer.string = true;
        add_key(&mut spec, recorded(pointer)?)?;
        spec.sort_keys[0].field_idx = 1;
        let program = compile(&spec, &[])?;

        assert!(program.path == HitPath::Plain(Leaf::U64(8)));
        assert!(
            program.sort_by.as_slice()
                == [SortBy {
                    value: SortValue::Key {
                        word: 0,
                        order: KeyOrder::Unsigned,
                    },
                    descending: false,
                }]
        );
        Ok(())
    }

    #[test]
    fn expressions_are_compiled() -> Result {
        let mut spec = spec()?;
        // b * 2 + a / 4
        let product = || binary(Operator::Mult, word(4)?, Field::constant(2)?);
        let quotient = binary(Operator::Div, word(0)?, Field::constant(4)?)?;
        let sum = binary(Operator::Plus, product()?, quotient)?;
        let difference = binary(Operator::Minus, product()?, word(0)?)?;

        add(&mut spec, sum)?;
        add(&mut spec, difference)?;
        add_key(&mut spec, word(8)?)?;
        let hist = hist(spec)?;
        let ops = hist
            .program
            .code
            .steps
            .iter()
            .map(|step| (step.op, step.to));

        assert!(ops.eq([
            (Op::Mul, 0),
            (Op::Shift, 1),
            (Op::Add, 0),
            (Op::Mul, 0),
            (Op::Sub, 0)
        ]));
        assert!(
            hist.program.sums.as_slice()
                == [
                    Value::Steps { from: 0, to: 3 },
                    Value::Chain { from: 3, to: 5 }
                ]
        );

        for a in [8, 9] {
            let record = words([a, 10, 1]);
            hit(&hist, &Fake::new(record.as_flattened()))?;
        }
        let rows = hist.map.snapshot()?;
        let row = rows.row(0).ok_or(EINVAL)?;

        assert_eq!(row.sum(1), 2 * 22);
        assert_eq!(row.sum(2), (20 - 8) + (20 - 9));
        Ok(())
    }

    #[test]
    fn field_variables_take_no_room() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, word(0)?)?;
        spec.field_vars.push(
            FieldVar {
                var: own_var(b"field", 0)?,
                val: word(4)?,
            },
            GFP_KERNEL,
        )?;
        add_ref(&mut spec, Owner::Own, 0, false)?;
        let program = compile(&spec, &[])?;

        assert_eq!(program.layout.n_vars, 0);
        assert!(program.place(0).var.is_none());
        assert_eq!(program.numbers.len(), 1);
        assert_eq!(program.numbers[0].slot, 0);
        Ok(())
    }

    #[test]
    fn what_makes_no_sense() -> Result {
        // No keys.
        let mut bad = spec()?;
        assert_eq!(error(&bad), Some(EINVAL));

        // A string as a value.
        add(&mut bad, string(0)?)?;
        add_key(&mut bad, word(0)?)?;
        assert_eq!(error(&bad), Some(EINVAL));

        // Too long a key.
        let mut bad = spec()?;
        for _ in 0..2 {
            let dynamic = source(0, 4, false, RecordKind::DynString)?;
            add_key(&mut bad, recorded(dynamic)?)?;
        }
        assert_eq!(error(&bad), Some(EINVAL));

        // A reference to a histogram with a number as key.
        let mut bad = spec()?;
        let other = stamps()?;
        let idx = add_ref(&mut bad, owner(&other), 0, false)?;
        let field = Field::reference(idx, &bad.refs[idx], false)?;
        add(&mut bad, field)?;
        add_key(&mut bad, string(0)?)?;
        assert_eq!(compile(&bad, &[other]).err(), Some(EINVAL));

        // A reference to a variable that is not there.
        let mut bad = spec()?;
        let other = stamps()?;
        let idx = add_ref(&mut bad, owner(&other), 1, false)?;
        let field = Field::reference(idx, &bad.refs[idx], false)?;
        add(&mut bad, field)?;
        add_key(&mut bad, word(0)?)?;
        assert_eq!(compile(&bad, &[other]).err(), Some(EINVAL));
        Ok(())
    }
}
