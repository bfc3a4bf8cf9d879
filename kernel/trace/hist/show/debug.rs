// SPDX-License-Identifier: GPL-2.0

//! The `hist_debug` file of an event: the structure of its histograms.

use core::{
    fmt::{
        self,
        Write, //
    },
    ptr, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        builtin::event_seq::EventSeqFile,
        event_file::{
            EventFile,
            FieldKind as RecordKind,
            Locked, //
        },
        trigger::TriggersMut, //
    },
};

use crate::{
    command::{
        action::Handler,
        expr::{
            Modifier,
            Operator, //
        },
    },
    histogram::Histogram,
    registry::{
        self,
        HistCommand, //
    },
    spec::{
        field::{
            Expr,
            Field,
            FieldKind,
            HitProperty,
            Source,
            Type, //
        },
        Action,
        FieldVar,
        HistogramId,
        Owner,
        Track,
        Var,
        VarRef, //
    },
    text_buf::TextBuf, //
};

/// The lines of C for the kind of a field.
const FLAG_KEY: &[u8] = b"        HIST_FIELD_FL_KEY\n";
const FLAG_VAR: &[u8] = b"        HIST_FIELD_FL_VAR\n";
const FLAG_VAR_REF: &[u8] = b"        HIST_FIELD_FL_VAR_REF\n";
const FLAG_HITCOUNT: &[u8] = b"        VAL: HIST_FIELD_FL_HITCOUNT\n";
const FLAG_NONE: &[u8] = b"        VAL: normal u64 value\n";
const FLAG_ALIAS: &[u8] = b"        HIST_FIELD_FL_ALIAS\n";
const FLAG_CONST: &[u8] = b"        HIST_FIELD_FL_CONST\n";

/// Divisors up to this one have a function of their own in C.
const DIV_SHIFT_MAX: u64 = 1 << 20;

/// The `hist_debug` file.
pub(crate) struct DebugFile;

#[vtable]
impl EventSeqFile for DebugFile {
    type Text = KVec<TextBuf>;

    fn collect<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> Result<Self::Text> {
        let mut texts = KVec::new();

        for trigger in file.triggers::<HistCommand>(lists) {
            let mut out = TextBuf::new();

            if !texts.is_empty() {
                out.put(b"\n\n");
            }
            out.put(b"# event histogram\n#\n# trigger info: ");
            registry::write_line(trigger, |text| out.put(text));
            out.put(b"#\n\n");
            // A `TextBuf` keeps in mind if it has failed.
            let _ = write_hist(&mut out, &trigger.data().hist);
            out.bytes()?;
            texts.push(out, GFP_KERNEL)?;
        }
        Ok(texts)
    }

    fn prepare(_text: &mut Self::Text, _take: bool) -> Result {
        Ok(())
    }

    fn show(text: &Self::Text, pos: usize, m: &kernel::seq_file::SeqFile) -> Result<bool> {
        let Some(out) = text.get(pos) else {
            return Ok(false);
        };
        m.write(out.bytes()?);
        Ok(true)
    }
}

fn write_hist(out: &mut TextBuf, hist: &Arc<Histogram>) -> fmt::Result {
    let spec = &hist.spec;

    write!(out, "hist_data: ")?;
    pointer(out, hist.id())?;
    write!(out, "\n\n  n_vals: {}\n", spec.n_vals)?;
    writeln!(out, "  n_keys: {}", spec.n_keys())?;
    writeln!(out, "  n_fields: {}", spec.fields.len())?;

    out.put(b"\n  val fields:\n");
    for (i, field) in spec.vals().iter().enumerate() {
        writeln!(out, "\n    hist_data->fields[{i}]:")?;
        write_field(out, hist, field, false)?;
    }

    out.put(b"\n  key fields:\n");
    for (i, field) in spec.keys().iter().enumerate() {
        writeln!(out, "\n    hist_data->fields[{}]:", spec.n_vals + i)?;
        write_field(out, hist, field, true)?;
    }

    if !spec.refs.is_empty() {
        out.put(b"\n  variable reference fields:\n");
    }
    for (i, var_ref) in spec.refs.iter().enumerate() {
        writeln!(out, "\n    hist_data->var_refs[{i}]:")?;
        write_ref(out, hist, i, var_ref)?;
    }

    if !spec.field_vars.is_empty() {
        out.put(b"\n  field variables:\n");
    }
    for (i, field_var) in spec.field_vars.iter().enumerate() {
        if !write_field_var(out, field_var, "field_vars", i)? {
            return Ok(());
        }
    }

    if !spec.actions.is_empty() {
        out.put(b"\n  action tracking variables (for onmax()/onchange()/onmatch()):\n");
    }
    for (i, action) in spec.actions.iter().enumerate() {
        write_action(out, hist, i, action)?;
    }

    if !spec.save_vars.is_empty() {
        out.put(b"\n  save action variables (save() params):\n");
    }
    for (i, field_var) in spec.save_vars.iter().enumerate() {
        if !write_field_var(out, field_var, "save_vars", i)? {
            return Ok(());
        }
    }
    Ok(())
}

fn write_flags(out: &mut TextBuf, flags: &[&[u8]]) {
    out.put(b"      flags:\n");
    for flag in flags {
        out.put(flag);
    }
}

fn write_source(out: &mut TextBuf, name: Option<&CStr>) {
    if let Some(name) = name {
        out.put(b"      ftrace_event_field name: ");
        out.put(name.to_bytes());
        out.put(b"\n");
    }
}

fn write_var(out: &mut TextBuf, var: &Var) -> fmt::Result {
    out.put(b"      var.name: ");
    out.put(var.name.to_bytes());
    writeln!(
        out,
        "\n      var.idx (into tracing_map_elt.vars[]): {}",
        var.idx
    )
}

fn write_type(out: &mut TextBuf, ty: &Type) -> fmt::Result {
    out.put(b"      type: ");
    // The output of C for a missing type.
    out.put(if ty.name.is_empty() {
        b"(null)"
    } else {
        ty.name.to_bytes()
    });
    writeln!(out, "\n      size: {}", ty.size)?;
    writeln!(out, "      is_signed: {}", u8::from(ty.signed))
}

fn write_field(out: &mut TextBuf, hist: &Arc<Histogram>, field: &Field, key: bool) -> fmt::Result {
    let flag = match &field.kind {
        _ if key => FLAG_KEY,
        _ if field.as_property() == Some(HitProperty::HitCount) => FLAG_HITCOUNT,
        _ if field.var.is_some() => FLAG_VAR,
        FieldKind::Ref(_) => FLAG_VAR_REF,
        _ => FLAG_NONE,
    };
    let second: &[u8] = match &field.kind {
        FieldKind::Alias(_) => FLAG_ALIAS,
        FieldKind::Const(_) => FLAG_CONST,
        _ => b"",
    };

    write_flags(out, &[flag, second]);
    write_source(out, source_name(field));
    if let Some(var) = &field.var {
        write_var(out, var)?;
    }
    match &field.kind {
        FieldKind::Const(n) => writeln!(out, "      constant: {n}")?,
        FieldKind::Alias(i) => {
            writeln!(out, "      var_ref_idx (into hist_data->var_refs[]): {i}")?;
        }
        FieldKind::Ref(i) => {
            if let Some(var_ref) = hist.spec.refs.get(*i) {
                write_referred(out, hist, *i, var_ref)?;
            }
        }
        _ => (),
    }
    write_type(out, &field.ty)?;
    writeln!(out, "      function: hist_field_{}()", function(field))
}

/// Returns the name of the field of the event, if the field is one.
fn source_name(field: &Field) -> Option<&CStr> {
    match &field.kind {
        FieldKind::Recorded(source) | FieldKind::FirstComm(source) => Some(&source.name),
        FieldKind::Property(_, name) => name.as_deref(),
        FieldKind::Rounded(number) => source_name(number),
        _ => None,
    }
}

fn write_ref(out: &mut TextBuf, hist: &Arc<Histogram>, i: usize, var_ref: &VarRef) -> fmt::Result {
    write_flags(out, &[FLAG_VAR_REF]);
    write_referred(out, hist, i, var_ref)?;
    write_type(out, &var_ref.ty)?;
    out.put(b"      function: hist_field_var_ref()\n");
    Ok(())
}

/// Writes the variable that the reference number `i` refers to.
fn write_referred(
    out: &mut TextBuf,
    hist: &Arc<Histogram>,
    i: usize,
    var_ref: &VarRef,
) -> fmt::Result {
    let owner = match var_ref.owner {
        Owner::Own => hist.id(),
        Owner::Other(id) => id,
    };

    out.put(b"      name: ");
    out.put(var_ref.name.to_bytes());
    writeln!(
        out,
        "\n      var.idx (into tracing_map_elt.vars[]): {}",
        var_ref.var_idx
    )?;
    out.put(b"      var.hist_data: ");
    pointer(out, owner)?;
    writeln!(out, "\n      var_ref_idx (into hist_data->var_refs[]): {i}")?;
    if let Some((system, event)) = &var_ref.event {
        out.put(b"      system: ");
        out.put(system.to_bytes());
        out.put(b"\n      event_name: ");
        out.put(event.to_bytes());
        out.put(b"\n");
    }
    Ok(())
}

/// Writes a variable that holds a field. Returns `false` if the rest of the histogram is left out,
/// as C does after a variable whose value is not a field of the event.
fn write_field_var(
    out: &mut TextBuf,
    field_var: &FieldVar,
    list: &str,
    i: usize,
) -> Result<bool, fmt::Error> {
    writeln!(out, "\n    hist_data->{list}[{i}]:")?;
    writeln!(out, "\n      {list}[{i}].var:")?;
    write_flags(out, &[FLAG_VAR]);
    write_var(out, &field_var.var)?;

    let val = &field_var.val;
    writeln!(out, "\n      {list}[{i}].val:")?;
    if source_name(val).is_none() {
        return Ok(false);
    }
    write_source(out, source_name(val));
    write_type(out, &val.ty)?;
    Ok(true)
}

fn write_action(
    out: &mut TextBuf,
    hist: &Arc<Histogram>,
    i: usize,
    action: &Action,
) -> fmt::Result {
    if let Some(track) = &action.track {
        write_track(out, hist, i, track)?;
    }
    if let Handler::OnMatch { system, event } = &action.clause.handler {
        for (what, name) in [("event_system", system), ("event", event)] {
            write!(out, "\n    hist_data->actions[{i}].match_data.{what}: ")?;
            out.put(name.to_bytes());
        }
        out.put(b"\n");
    }
    Ok(())
}

fn write_track(out: &mut TextBuf, hist: &Arc<Histogram>, i: usize, track: &Track) -> fmt::Result {
    writeln!(out, "\n    hist_data->actions[{i}].track_data.var_ref:")?;
    if let Some(var_ref) = hist.spec.refs.get(track.var_ref) {
        write_ref(out, hist, track.var_ref, var_ref)?;
    }
    writeln!(out, "\n    hist_data->actions[{i}].track_data.track_var:")?;
    write_flags(out, &[FLAG_VAR]);
    write_var(out, &track.var)?;
    out.put(b"      type: u64\n      size: 8\n      is_signed: 0\n");
    out.put(b"      function: hist_field_nop()\n");
    Ok(())
}

/// Writes the number that `%p` prints in C, which only identifies the histogram.
fn pointer(out: &mut TextBuf, hist: HistogramId) -> fmt::Result {
    NoPrefix(out).write_fmt(fmt!("{:p}", ptr::without_provenance::<c_void>(hist.0)))
}

/// Omits the `0x` that the kernel's `{:p}` begins with, if it has a number. It writes its text at
/// once.
struct NoPrefix<'a>(&'a mut TextBuf);

impl Write for NoPrefix<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .put(text.strip_prefix("0x").unwrap_or(text).as_bytes());
        Ok(())
    }
}

/// Returns the name of the function of C that computes a field, without `hist_field_`.
pub(crate) fn function(field: &Field) -> &'static str {
    match &field.kind {
        FieldKind::Recorded(source) => recorded_function(source),
        FieldKind::Property(property, _) => match property {
            HitProperty::HitCount => "counter",
            HitProperty::Timestamp => "timestamp",
            HitProperty::Cpu => "cpu",
            HitProperty::Comm => "comm",
            HitProperty::Stack => "nop",
        },
        FieldKind::Const(_) => "const",
        FieldKind::Ref(_) | FieldKind::Alias(_) => "var_ref",
        FieldKind::Rounded(_) => match field.modifier {
            Modifier::Log2 | Modifier::Log2Parts(_) => "log2",
            _ => "bucket",
        },
        FieldKind::Expr(expr) => expr_function(expr),
        FieldKind::FirstComm(_) => "execname",
    }
}

fn recorded_function(source: &Source) -> &'static str {
    match (source.kind, source.ty.size, source.ty.signed) {
        (RecordKind::StaticString, ..) => "string",
        (RecordKind::DynString, ..) => "dynstring",
        (RecordKind::RelDynString, ..) => "reldynstring",
        (RecordKind::Stacktrace, ..) => "stack",
        (_, 1, true) => "s8",
        (_, 1, false) => "u8",
        (_, 2, true) => "s16",
        (_, 2, false) => "u16",
        (_, 4, true) => "s32",
        (_, 4, false) => "u32",
        (_, _, true) => "s64",
        (_, _, false) => "u64",
    }
}

fn expr_function(expr: &Expr) -> &'static str {
    let Some((operator, _)) = &expr.right else {
        return "uminus";
    };

    match (operator, expr.divisor) {
        (Operator::Plus, _) => "plus",
        (Operator::Minus, _) => "minus",
        (Operator::Mult, _) => "mult",
        (Operator::Div, None) => "div",
        (Operator::Div, Some(divisor)) if divisor.is_power_of_two() => "div_power2",
        (Operator::Div, Some(divisor)) if divisor <= DIV_SHIFT_MAX => "div_mult_shift",
        (Operator::Div, Some(_)) => "div_not_power2",
    }
}
