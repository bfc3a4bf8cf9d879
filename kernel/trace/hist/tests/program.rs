// SPDX-License-Identifier: GPL-2.0

//! Histograms for the tests of compiled ones.

mod buffers;
mod compiled;
mod hits;
mod numbers;
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
        Polls,
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
            HitProperty,
            Origin,
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
    Field::new(Origin::Recorded(source), Modifier::None)
}

/// Returns a number of the record.
fn number(offset: u32, size: u32, signed: bool, modifier: Modifier) -> Result<Field> {
    let source = source(offset, size, signed, RecordKind::Number)?;

    Field::new(Origin::Recorded(source), modifier)
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
        left,
        right: Some((operator, right)),
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

    add(&mut spec, Field::property(HitProperty::HitCount)?)?;
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
fn hit<M: HitContext>(hist: &Histogram, context: &M) -> Result<Option<u32>> {
    let pool = ScratchRef::new()?;
    let mut buffer = pool.enter().ok_or(EBUSY)?;

    buffer.fill(0x5a5a_5a5a_5a5a_5a5a);
    save_stack(hist, context, &mut buffer);
    let (words, mut polls) = (hist.map.layout().key_words, Polls::new());
    let mut scratch = Scratch::new(&mut buffer, words, &mut polls).ok_or(EINVAL)?;

    let recorded = if hist.program.path == HitPath::LargeOpen {
        record::<true, true, _>(hist, context, &mut scratch)
    } else {
        record::<true, false, _>(hist, context, &mut scratch)
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
    let time = Field::property(HitProperty::Timestamp)?;

    add(&mut spec, var(time, 0)?)?;
    add_key(&mut spec, word(0)?)?;
    hist(spec)
}
