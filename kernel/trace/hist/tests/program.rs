// SPDX-License-Identifier: GPL-2.0

//! Tests of compiled histograms: of what they are made of.

mod hits;

use core::cell::Cell;
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc,
    trace::event_file::FieldKind, //
};

use crate::{
    action::{
        Action,
        ActionKind,
        Handler,
        Track, //
    },
    data::{
        FieldVar,
        Hist,
        SortKey,
        Spec, //
    },
    field::{
        Field,
        Flags,
        Func,
        Operand,
        Operator,
        Owner,
        Source,
        Var,
        VarKind,
        VarRef, //
    },
    map::{
        Comm,
        KeyOrder,
        Layout,
        Map,
        SortBy,
        SortValue, //
    },
    program::{
        op::{
            Leaf,
            Op,
            Value, //
        },
        KeyKind,
        KeyPlace,
        Program,
        Shape, //
    },
    text::c_string,
    update::{
        moment::Moment,
        pad::{
            PadUse,
            Scratch, //
        },
        record,
        save_stack, //
    },
    KEYS_MAX,
    STACK_DEPTH,
    VARS_MAX, //
};

use super::eval::{
    words_of,
    Fake, //
};

/// A field of the record.
fn source(offset: u32, size: u32, signed: bool, kind: FieldKind) -> Result<Source> {
    Ok(Source {
        name: c_string(b"field")?,
        ty: c_string(b"type")?,
        offset,
        size,
        signed,
        kind,
        string: matches!(
            kind,
            FieldKind::StaticString | FieldKind::DynString | FieldKind::RelDynString
        ),
    })
}

/// A number of the record.
fn number(offset: u32, size: u32, signed: bool, flags: Flags) -> Result<Field> {
    Field::new(
        Some(source(offset, size, signed, FieldKind::Number)?),
        flags,
    )
}

/// An `u32` of the record.
fn word(offset: u32, flags: Flags) -> Result<Field> {
    number(offset, 4, false, flags)
}

/// A `char[16]` of the record.
fn string(offset: u32, flags: Flags) -> Result<Field> {
    let source = source(offset, 16, false, FieldKind::StaticString)?;

    Field::new(Some(source), flags | Flags::STRING)
}

/// The field as the variable of this number.
fn var(mut field: Field, idx: usize) -> Result<Field> {
    field.flags |= Flags::VAR;
    field.var = Some(Var {
        name: c_string(b"var")?,
        idx,
    });
    Ok(field)
}

/// An expression of two operands.
fn binary(func: Func, left: Operand, right: Operand) -> Result<Field> {
    let mut field = Field::constant(0, Flags::NONE)?;

    field.flags = Flags::EXPR;
    field.func = func;
    field.operator = Operator::Plus;
    field.operands = [Some(left), Some(right)];
    Ok(field)
}

fn operand(field: Field) -> Result<Operand> {
    Ok(Operand::Field(KBox::new(field, GFP_KERNEL)?))
}

/// A histogram with a hit count and no keys.
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
        timestamps: false,
        usecs: false,
        map_bits: 7,
        actions: KVec::new(),
        field_vars: KVec::new(),
        save_vars: KVec::new(),
        n_map_vars: VARS_MAX,
    };

    add(&mut spec, Field::hitcount()?)?;
    Ok(spec)
}

/// Adds a value or a variable.
fn add(spec: &mut Spec, field: Field) -> Result {
    spec.n_vals += 1;
    spec.fields.push(field, GFP_KERNEL)?;
    Ok(())
}

/// Adds a key, after all values.
fn add_key(spec: &mut Spec, mut field: Field) -> Result {
    field.flags |= Flags::KEY;
    spec.fields.push(field, GFP_KERNEL)?;
    Ok(())
}

/// Adds a reference, and gives its index.
fn add_ref(spec: &mut Spec, owner: Owner, var_idx: usize, read_once: bool) -> Result<usize> {
    let idx = spec.refs.len();

    spec.refs.push(
        VarRef {
            owner,
            var_idx,
            flags: Flags::VAR_REF,
            name: c_string(b"var")?,
            system: None,
            event: None,
            ty: c_string(b"u64")?,
            size: 8,
            signed: false,
            read_once,
            at: 0,
            kind: VarKind::Number,
        },
        GFP_KERNEL,
    )?;
    Ok(idx)
}

/// A histogram that can be hit.
fn hist(spec: Spec) -> Result<Arc<Hist>> {
    let program = Program::compile(&spec)?;
    let map = Map::new(spec.map_bits, *program.layout())?;

    Ok(Arc::new(Hist::new(spec, program, map), GFP_KERNEL)?)
}

/// Hits a histogram; `None` if the hit was not for it, otherwise the actions that are to run.
fn hit<M: Moment>(hist: &Hist, moment: &M) -> Result<Option<u32>> {
    let pads = PadUse::new()?;
    let mut pad = pads.enter().ok_or(EBUSY)?;

    pad.fill(0x5a5a_5a5a_5a5a_5a5a);
    save_stack(hist, moment, &mut pad);
    let mut scratch = Scratch::new(&mut pad, hist.map.layout().key_words).ok_or(EINVAL)?;

    Ok(record::<true, _>(hist, moment, &mut scratch).map(|(_, run)| run))
}

/// A record of words.
fn words<const N: usize>(words: [u32; N]) -> [[u8; 4]; N] {
    words.map(u32::to_ne_bytes)
}

/// The error that compiling gives.
fn error(spec: &Spec) -> Option<Error> {
    Program::compile(spec).err()
}

/// `keys=id:ts=common_timestamp`.
fn stamps() -> Result<Arc<Hist>> {
    let mut spec = spec()?;
    let time = Field::new(None, Flags::TIMESTAMP)?;

    add(&mut spec, var(time, 0)?)?;
    add_key(&mut spec, word(0, Flags::NONE)?)?;
    hist(spec)
}

#[kunit_tests(hist_program)]
mod tests {
    use super::*;

    #[test]
    fn one_number_is_plain() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, word(8, Flags::NONE)?)?;
        let program = Program::compile(&spec)?;

        assert!(program.shape == Shape::Plain(Leaf::U32(8)));
        // Variables do not matter, as long as nothing refers to them.
        assert!(stamps()?.program.shape == Shape::Plain(Leaf::U32(0)));
        assert_eq!(Program::key_words(&spec), 1);
        assert!(
            *program.layout()
                == Layout {
                    key_words: 1,
                    n_sums: 1,
                    n_vars: 0,
                    string_slots: 0,
                    first_shown: 0,
                    comm: false,
                }
        );
        assert!(program.sort_by().len() == 1);
        Ok(())
    }

    #[test]
    fn keys_have_places() -> Result {
        let mut spec = spec()?;
        let comm = Field::new(None, Flags::COMM | Flags::STRING)?;
        let stack = Field::new(None, Flags::STACKTRACE)?;

        add_key(&mut spec, comm)?;
        add_key(&mut spec, number(4, 2, true, Flags::NONE)?)?;
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
        let program = Program::compile(&spec)?;
        let place = |word, words, kind| KeyPlace { word, words, kind };

        assert!(
            program.keys()
                == [
                    place(0, 2, KeyKind::String),
                    place(2, 1, KeyKind::Number { signed: true }),
                    place(3, STACK_DEPTH, KeyKind::Stack),
                ]
        );
        assert_eq!(program.layout().key_words, 3 + STACK_DEPTH);
        assert_eq!(Program::key_words(&spec), 3 + STACK_DEPTH);
        assert!(program.shape == Shape::Large);
        assert!(
            program.sort_by()
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

    /// What a pointer points to is not looked at, nor are the bytes of it compared as a string.
    #[test]
    fn pointers_are_numbers() -> Result {
        let mut spec = spec()?;
        let mut pointer = source(8, 8, false, FieldKind::PtrString)?;

        pointer.string = true;
        add_key(&mut spec, Field::new(Some(pointer), Flags::NONE)?)?;
        spec.sort_keys[0].field_idx = 1;
        let program = Program::compile(&spec)?;

        assert!(program.shape == Shape::Plain(Leaf::U64(8)));
        assert!(
            program.sort_by()
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
        let product = || {
            binary(
                Func::Mult,
                operand(word(4, Flags::NONE)?)?,
                operand(Field::constant(2, Flags::NONE)?)?,
            )
        };
        let quotient = binary(
            Func::DivPower2,
            operand(word(0, Flags::NONE)?)?,
            operand(Field::constant(4, Flags::NONE)?)?,
        )?;
        let sum = binary(Func::Plus, operand(product()?)?, operand(quotient)?)?;
        let difference = binary(
            Func::Minus,
            operand(product()?)?,
            operand(word(0, Flags::NONE)?)?,
        )?;

        add(&mut spec, sum)?;
        add(&mut spec, difference)?;
        add_key(&mut spec, word(8, Flags::NONE)?)?;
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
        let mut buckets = number(0, 4, true, Flags::BUCKET)?;

        buckets.buckets = 10;
        add_key(&mut spec, buckets)?;
        add_key(&mut spec, number(4, 4, false, Flags::LOG2)?)?;
        let hist = hist(spec)?;
        let record = words([0u32.wrapping_sub(3), 5]);

        hit(&hist, &Fake::new(record.as_flattened()))?;
        let rows = hist.map.snapshot()?;
        assert_eq!(rows.row(0).ok_or(EINVAL)?.key(), [0u64.wrapping_sub(10), 3]);
        assert!(hist.program.keys()[0].kind == KeyKind::Number { signed: true });
        assert!(hist.program.keys()[1].kind == KeyKind::Number { signed: false });
        Ok(())
    }

    #[test]
    fn field_variables_take_no_room() -> Result {
        let mut spec = spec()?;

        add_key(&mut spec, word(0, Flags::NONE)?)?;
        spec.field_vars.push(
            FieldVar {
                var: Field::variable(c_string(b"field")?, 0, c"u32", 4)?,
                val: word(4, Flags::VAR)?,
            },
            GFP_KERNEL,
        )?;
        add_ref(&mut spec, Owner::Own, 0, false)?;
        let program = Program::compile(&spec)?;

        assert_eq!(program.layout().n_vars, 0);
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
        add(&mut bad, string(0, Flags::NONE)?)?;
        add_key(&mut bad, word(0, Flags::NONE)?)?;
        assert_eq!(error(&bad), Some(EINVAL));

        // Too long a key.
        let mut bad = spec()?;
        for _ in 0..2 {
            let dynamic = source(0, 4, false, FieldKind::DynString)?;
            add_key(&mut bad, Field::new(Some(dynamic), Flags::STRING)?)?;
        }
        assert_eq!(error(&bad), Some(EINVAL));

        // A reference to a histogram with a number as key.
        let mut bad = spec()?;
        let idx = add_ref(&mut bad, Owner::Other(stamps()?), 0, false)?;
        let field = Field::reference(idx, &bad.refs[idx])?;
        add(&mut bad, field)?;
        add_key(&mut bad, string(0, Flags::NONE)?)?;
        assert_eq!(error(&bad), Some(EINVAL));

        // A reference to a variable that is not there.
        let mut bad = spec()?;
        let idx = add_ref(&mut bad, Owner::Other(stamps()?), 1, false)?;
        let field = Field::reference(idx, &bad.refs[idx])?;
        add(&mut bad, field)?;
        add_key(&mut bad, word(0, Flags::NONE)?)?;
        assert_eq!(error(&bad), Some(EINVAL));
        Ok(())
    }
}
