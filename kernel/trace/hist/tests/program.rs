// SPDX-License-Identifier: GPL-2.0

//! Tests of compiled histograms: of their structure.

mod hits;
mod string_keys;

use core::cell::Cell;
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc,
    trace::event_file::FieldKind as RecordKind, //
};

use crate::{
    command::{
        action::{
            ActionClause,
            ActionKind, //
        },
        expr::{
            Modifier,
            Operator, //
        },
        Span, //
    },
    histogram::{
        Histogram,
        HistogramParts, //
    },
    hit::{
        eval::HitContext,
        record,
        refs::{
            restore_vars,
            Stamp, //
        },
        save_stack, //
    },
    limits::{
        KEYS_MAX,
        STACK_DEPTH,
        VARS_MAX, //
    },
    map::{
        Comm,
        Fold,
        KeyOrder,
        Layout,
        SortBy,
        SortValue, //
    },
    program::{
        compile::compile,
        op::{
            Leaf,
            Op,
            Value, //
        },
        HitPath,
        KeyKind,
        KeyPlace, //
    },
    scratch::{
        Scratch,
        ScratchRef, //
    },
    spec::{
        field::{
            Expr,
            Field,
            FieldKind,
            Moment,
            Source,
            Type, //
        },
        Action,
        FieldVar,
        Owner,
        SortKey,
        Spec,
        Track,
        Var,
        VarKind,
        VarRef, //
    },
    text_buf::c_string, //
};

use super::eval::{
    words_of,
    Fake, //
};

/// Returns a field of the record.
fn source(offset: u32, size: u32, signed: bool, kind: RecordKind) -> Result<Source> {
    Ok(Source {
        name: c_string(b"field")?,
        ty: Type::new(c"type", size, signed)?,
        offset,
        kind,
        string: matches!(
            kind,
            RecordKind::StaticString | RecordKind::DynString | RecordKind::RelDynString
        ),
    })
}

fn recorded(source: Source) -> Result<Field> {
    Field::new(FieldKind::Recorded(source), Modifier::None)
}

/// Returns a number of the record.
fn number(offset: u32, size: u32, signed: bool, modifier: Modifier) -> Result<Field> {
    let source = source(offset, size, signed, RecordKind::Number)?;

    Field::new(FieldKind::Recorded(source), modifier)
}

/// Returns a `u32` of the record.
fn word(offset: u32) -> Result<Field> {
    number(offset, 4, false, Modifier::None)
}

/// Returns a `char[16]` of the record.
fn string(offset: u32) -> Result<Field> {
    recorded(source(offset, 16, false, RecordKind::StaticString)?)
}

/// Returns a variable of this number.
fn own_var(name: &[u8], idx: usize) -> Result<Var> {
    Ok(Var {
        name: c_string(name)?,
        idx,
    })
}

/// Returns the field as the variable of this number.
fn var(mut field: Field, idx: usize) -> Result<Field> {
    field.var = Some(own_var(b"var", idx)?);
    Ok(field)
}

/// Returns an expression of two operands.
fn binary(operator: Operator, left: Field, right: Field) -> Result<Field> {
    Field::expression(Expr {
        operator,
        left,
        right: Some(right),
        divisor: None,
        text: c_string(b"")?,
        usecs: false,
    })
}

/// Returns a clause of an action.
fn clause(text: &[u8]) -> Result<ActionClause<CString>> {
    let clause = ActionClause::parse(Span::new(text, 0), |_, _| true);

    clause.map_err(|error| error.errno)?.to_owned()
}

/// Returns a histogram with a hit count and no keys.
fn spec() -> Result<Spec> {
    let mut spec = Spec {
        fields: KVec::new(),
        n_vals: 0,
        key_size: 0,
        refs: KVec::new(),
        sort_keys: [SortKey::default(); 2],
        n_sort_keys: 1,
        name: None,
        clock: CString::try_from(c"global")?,
        no_hitcount: false,
        quantiles: false,
        reuse: false,
        timestamps: false,
        usecs: false,
        map_bits: 7,
        actions: KVec::new(),
        field_vars: KVec::new(),
        save_vars: KVec::new(),
        n_map_vars: VARS_MAX,
    };

    add(&mut spec, Field::moment(Moment::HitCount)?)?;
    Ok(spec)
}

/// Adds a value or a variable.
fn add(spec: &mut Spec, field: Field) -> Result {
    spec.n_vals += 1;
    spec.fields.push(field, GFP_KERNEL)?;
    Ok(())
}

/// Adds a key, after all values.
fn add_key(spec: &mut Spec, field: Field) -> Result {
    spec.fields.push(field, GFP_KERNEL)?;
    Ok(())
}

/// Adds a reference, and returns its index.
fn add_ref(spec: &mut Spec, owner: Owner, var_idx: usize, read_once: bool) -> Result<usize> {
    let idx = spec.refs.len();

    spec.refs.push(
        VarRef {
            owner,
            var_idx,
            name: c_string(b"var")?,
            event: None,
            ty: Type::new(c"u64", 8, false)?,
            usecs: false,
            constant: None,
            read_once,
            at: 0,
            kind: VarKind::Number,
        },
        GFP_KERNEL,
    )?;
    Ok(idx)
}

/// Returns the owner of a reference to a variable of another histogram.
fn owner(hist: &Arc<Histogram>) -> Owner {
    Owner::Other(hist.id())
}

/// Creates a histogram that can be hit.
fn hist(spec: Spec) -> Result<Arc<Histogram>> {
    hist_with(spec, &[])
}

/// Creates a histogram that refers to others and can be hit.
fn hist_with(spec: Spec, owners: &[Arc<Histogram>]) -> Result<Arc<Histogram>> {
    let program = compile(&spec, owners)?;
    let parts = HistogramParts::new(program, spec.map_bits)?;

    Ok(Arc::new(
        Histogram::new(spec, KVec::new(), parts),
        GFP_KERNEL,
    )?)
}

/// Counts a hit, and returns the actions that are to run, or `None` if the hit was not counted.
fn hit<M: HitContext>(hist: &Histogram, moment: &M) -> Result<Option<u32>> {
    let pads = ScratchRef::new()?;
    let mut pad = pads.enter().ok_or(EBUSY)?;

    pad.fill(0x5a5a_5a5a_5a5a_5a5a);
    save_stack(hist, moment, &mut pad);
    let mut scratch = Scratch::new(&mut pad, hist.map.layout().key_words).ok_or(EINVAL)?;

    let recorded = if hist.program.path == HitPath::LargeOpen {
        record::<true, true, _>(hist, moment, &mut scratch)
    } else {
        record::<true, false, _>(hist, moment, &mut scratch)
    };

    Ok(recorded.map(|(_, run)| run))
}

/// Returns a record of words.
fn words<const N: usize>(words: [u32; N]) -> [[u8; 4]; N] {
    words.map(u32::to_ne_bytes)
}

/// Returns the error of compiling.
fn error(spec: &Spec) -> Option<Error> {
    compile(spec, &[]).err()
}

/// Creates the histogram `keys=id:ts=common_timestamp`.
fn stamps() -> Result<Arc<Histogram>> {
    let mut spec = spec()?;
    let time = Field::moment(Moment::Timestamp)?;

    add(&mut spec, var(time, 0)?)?;
    add_key(&mut spec, word(0)?)?;
    hist(spec)
}

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
        let comm = Field::moment(Moment::Comm)?;
        let stack = Field::moment(Moment::Stack)?;

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
    fn rounded_keys() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, number(0, 4, true, Modifier::Buckets(10))?)?;
        add_key(&mut spec, number(4, 4, false, Modifier::Log2)?)?;
        let hist = hist(spec)?;
        let record = words([0u32.wrapping_sub(3), 5]);

        hit(&hist, &Fake::new(record.as_flattened()))?;
        let rows = hist.map.snapshot()?;
        assert_eq!(rows.row(0).ok_or(EINVAL)?.key(), [0u64.wrapping_sub(10), 3]);
        assert!(hist.program.keys[0].kind == KeyKind::Number { signed: true });
        assert!(hist.program.keys[1].kind == KeyKind::Number { signed: false });
        Ok(())
    }

    #[test]
    fn statistics() -> Result {
        use Modifier::*;

        let mut spec = spec()?;

        for (signed, offset) in [(false, 4), (true, 8)] {
            for modifier in [Min, Max, Avg] {
                add(&mut spec, number(offset, 4, signed, modifier)?)?;
            }
        }
        add(&mut spec, word(4)?)?;
        add_key(&mut spec, word(0)?)?;
        let hist = hist(spec)?;
        let shown = |hist: &Histogram| {
            let mut rows = hist.map.snapshot()?;

            rows.show_folds(&hist.program.folds);
            let row = rows.row(0).ok_or(EINVAL)?;
            Ok::<[u64; 8], Error>(core::array::from_fn(|i| row.sum(i)))
        };
        let minus = |n: u64| 0u64.wrapping_sub(n);
        let hits = |all: &[(u32, i32)]| {
            for (a, b) in all {
                // CAST: Two's complement.
                let record = words([1, *a, *b as u32]);

                hit(&hist, &Fake::new(record.as_flattened()))?;
            }
            shown(&hist)
        };

        assert!(hist.program.extremes);
        assert_eq!(hits(&[(0, 0)])?, [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            hits(&[(7, -4), (u32::MAX, 9), (5, -10)])?,
            [
                4,
                0,
                u32::MAX.into(),
                (12 + u64::from(u32::MAX)) / 4,
                minus(10),
                9,
                // -5 / 4
                minus(1),
                12 + u64::from(u32::MAX)
            ]
        );
        hist.map.clear(|| ());
        assert_eq!(
            hits(&[(6, -2)])?,
            [1, 6, 6, 6, minus(2), minus(2), minus(2), 6]
        );
        Ok(())
    }

    #[test]
    fn folds() {
        for signed in [false, true] {
            let (min, max) = (Fold::Min { signed }, Fold::Max { signed });
            let numbers = [0, 1, 2, i64::MAX as u64, 1 << 63, (1 << 63) + 1, u64::MAX];

            for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
                let less = if signed { (a as i64) < b as i64 } else { a < b };

                assert_eq!((max.rank(a) < max.rank(b)), less);
                assert_eq!((min.rank(a) > min.rank(b)), less);
            }
            for n in numbers {
                for fold in [min, max] {
                    assert_eq!(fold.rank(n).map(|rank| fold.shown(rank, 1)), Some(n));
                    assert_eq!(fold.shown(0, 0), 0);
                }
            }
        }
        let signed = Fold::Avg { signed: true };

        assert_eq!(signed.shown(0u64.wrapping_sub(7), 2), 0u64.wrapping_sub(3));
        assert_eq!(signed.shown(1 << 63, 1), 1 << 63);
        assert_eq!(Fold::Avg { signed: false }.shown(u64::MAX, 2), u64::MAX / 2);
        assert_eq!(Fold::Avg { signed: false }.shown(5, 0), 0);
        // The hits were taken.
        assert_eq!(Fold::Max { signed: false }.shown(5, 0), 5);
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

        // A reference to a variable that does not exist.
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
