// SPDX-License-Identifier: GPL-2.0

//! The `hist_debug` file of an event: what its histograms are made of.

use core::fmt::{
    self,
    Write, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        event_file::EventFile,
        event_text::EventText,
        symbol,
        trigger::Lists, //
    },
};

use super::{
    action::{
        Action,
        Handler,
        Track, //
    },
    data::{
        FieldVar,
        Hist, //
    },
    field::{
        Field,
        Flags,
        Func,
        Owner,
        VarRef, //
    },
    line,
    out::Out,
    trigger::Histogram, //
};

/// The `hist_debug` file.
pub(crate) struct DebugFile;

#[vtable]
impl EventText for DebugFile {
    type Text = KVec<Out>;

    fn collect<'h>(file: EventFile<'h>, lists: &Lists<'h>) -> Result<Self::Text> {
        let mut texts = KVec::new();

        for trigger in file.triggers::<Histogram>(lists) {
            let mut out = Out::new();

            if !texts.is_empty() {
                out.put(b"\n\n");
            }
            out.put(b"# event histogram\n#\n# trigger info: ");
            line::write(&mut out, trigger);
            out.put(b"#\n\n");
            // An `Out` keeps in mind if it has failed.
            let _ = write_hist(&mut out, &trigger.data().hist);
            out.bytes()?;
            texts.push(out, GFP_KERNEL)?;
        }
        Ok(texts)
    }

    fn prepare(_text: &mut Self::Text) -> Result {
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

fn write_hist(out: &mut Out, hist: &Arc<Hist>) -> fmt::Result {
    let spec = &hist.spec;

    write!(out, "hist_data: ")?;
    pointer(out, Arc::as_ptr(hist).addr());
    write!(out, "\n\n  n_vals: {}\n", spec.n_vals)?;
    writeln!(out, "  n_keys: {}", spec.n_keys())?;
    writeln!(out, "  n_fields: {}", spec.fields.len())?;

    out.put(b"\n  val fields:\n");
    for (i, field) in spec.vals().iter().enumerate() {
        writeln!(out, "\n    hist_data->fields[{i}]:")?;
        write_field(out, hist, field)?;
    }

    out.put(b"\n  key fields:\n");
    for (i, field) in spec.keys().iter().enumerate() {
        writeln!(out, "\n    hist_data->fields[{}]:", spec.n_vals + i)?;
        write_field(out, hist, field)?;
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

/// What kind of field it is.
fn write_flags(out: &mut Out, flags: Flags) {
    out.put(b"      flags:\n");
    out.put(if flags.any(Flags::KEY) {
        b"        HIST_FIELD_FL_KEY\n".as_slice()
    } else if flags.any(Flags::HITCOUNT) {
        b"        VAL: HIST_FIELD_FL_HITCOUNT\n"
    } else if flags.any(Flags::VAR) {
        b"        HIST_FIELD_FL_VAR\n"
    } else if flags.any(Flags::VAR_REF) {
        b"        HIST_FIELD_FL_VAR_REF\n"
    } else {
        b"        VAL: normal u64 value\n"
    });
    if flags.any(Flags::ALIAS) {
        out.put(b"        HIST_FIELD_FL_ALIAS\n");
    } else if flags.any(Flags::CONST) {
        out.put(b"        HIST_FIELD_FL_CONST\n");
    }
}

fn write_source(out: &mut Out, field: &Field) {
    if let Some(source) = &field.source {
        out.put(b"      ftrace_event_field name: ");
        out.put(source.name.to_bytes());
        out.put(b"\n");
    }
}

fn write_var(out: &mut Out, field: &Field) -> fmt::Result {
    if let Some(var) = &field.var {
        out.put(b"      var.name: ");
        out.put(var.name.to_bytes());
        out.put(b"\n");
        writeln!(
            out,
            "      var.idx (into tracing_map_elt.vars[]): {}",
            var.idx
        )?;
    }
    Ok(())
}

fn write_type(out: &mut Out, ty: &CStr, size: u32, signed: bool) -> fmt::Result {
    out.put(b"      type: ");
    // What C prints for a type that is not there.
    out.put(if ty.is_empty() {
        b"(null)"
    } else {
        ty.to_bytes()
    });
    writeln!(out, "\n      size: {size}")?;
    writeln!(out, "      is_signed: {}", u8::from(signed))
}

fn write_field(out: &mut Out, hist: &Arc<Hist>, field: &Field) -> fmt::Result {
    write_flags(out, field.flags);
    write_source(out, field);
    write_var(out, field)?;
    if field.flags.any(Flags::CONST) {
        writeln!(out, "      constant: {}", field.constant)?;
    }
    if field.flags.any(Flags::ALIAS) {
        writeln!(
            out,
            "      var_ref_idx (into hist_data->var_refs[]): {}",
            field.ref_idx
        )?;
    }
    if field.flags.any(Flags::VAR_REF) {
        if let Some(var_ref) = hist.spec.refs.get(field.ref_idx) {
            write_referred(out, hist, field.ref_idx, var_ref)?;
        }
    }
    write_type(out, &field.ty, field.size, field.signed)?;
    writeln!(out, "      function: hist_field_{}()", field.func.name())
}

fn write_ref(out: &mut Out, hist: &Arc<Hist>, i: usize, var_ref: &VarRef) -> fmt::Result {
    write_flags(out, var_ref.flags);
    write_referred(out, hist, i, var_ref)?;
    write_type(out, &var_ref.ty, var_ref.size, var_ref.signed)?;
    out.put(b"      function: hist_field_var_ref()\n");
    Ok(())
}

/// Writes what the reference number `i` refers to.
fn write_referred(out: &mut Out, hist: &Arc<Hist>, i: usize, var_ref: &VarRef) -> fmt::Result {
    let owner = match &var_ref.owner {
        Owner::Own => hist,
        Owner::Other(owner) => owner,
    };

    out.put(b"      name: ");
    out.put(var_ref.name.to_bytes());
    writeln!(
        out,
        "\n      var.idx (into tracing_map_elt.vars[]): {}",
        var_ref.var_idx
    )?;
    out.put(b"      var.hist_data: ");
    pointer(out, Arc::as_ptr(owner).addr());
    writeln!(out, "\n      var_ref_idx (into hist_data->var_refs[]): {i}")?;
    for (what, name) in [("system", &var_ref.system), ("event_name", &var_ref.event)] {
        if let Some(name) = name {
            write!(out, "      {what}: ")?;
            out.put(name.to_bytes());
            out.put(b"\n");
        }
    }
    Ok(())
}

/// Returns `false` if the rest of the histogram is left out, as C does after a variable whose value
/// is not a field of the event.
fn write_field_var(
    out: &mut Out,
    field_var: &FieldVar,
    list: &str,
    i: usize,
) -> Result<bool, fmt::Error> {
    writeln!(out, "\n    hist_data->{list}[{i}]:")?;
    writeln!(out, "\n      {list}[{i}].var:")?;
    write_flags(out, field_var.var.flags);
    write_var(out, &field_var.var)?;

    let val = &field_var.val;
    writeln!(out, "\n      {list}[{i}].val:")?;
    if val.source.is_none() {
        return Ok(false);
    }
    write_source(out, val);
    write_type(out, &val.ty, val.size, val.signed)?;
    Ok(true)
}

fn write_action(out: &mut Out, hist: &Arc<Hist>, i: usize, action: &Action) -> fmt::Result {
    match &action.handler {
        Handler::OnMax(track) | Handler::OnChange(track) => {
            write_track(out, hist, i, track)?;
        }
        Handler::OnMatch { system, event } => {
            write!(
                out,
                "\n    hist_data->actions[{i}].match_data.event_system: "
            )?;
            out.put(system.to_bytes());
            write!(out, "\n    hist_data->actions[{i}].match_data.event: ")?;
            out.put(event.to_bytes());
            out.put(b"\n");
        }
    }
    Ok(())
}

fn write_track(out: &mut Out, hist: &Arc<Hist>, i: usize, track: &Track) -> fmt::Result {
    writeln!(out, "\n    hist_data->actions[{i}].track_data.var_ref:")?;
    if let Some(var_ref) = hist.spec.refs.get(track.var_ref) {
        write_ref(out, hist, track.var_ref, var_ref)?;
    }
    writeln!(out, "\n    hist_data->actions[{i}].track_data.track_var:")?;
    write_field(out, hist, &track.track_var)
}

fn pointer(out: &mut Out, address: usize) {
    let mut text = symbol::Name::new();

    out.put(text.hashed(address));
}

impl Func {
    /// The name that `hist_debug` shows: that of the function in C, without `hist_field_`.
    const fn name(self) -> &'static str {
        match self {
            Self::Nop => "nop",
            Self::VarRef => "var_ref",
            Self::Counter => "counter",
            Self::Const => "const",
            Self::Log2 => "log2",
            Self::Bucket => "bucket",
            Self::Timestamp => "timestamp",
            Self::Cpu => "cpu",
            Self::Comm => "comm",
            Self::String => "string",
            Self::DynString => "dynstring",
            Self::RelDynString => "reldynstring",
            Self::S64 => "s64",
            Self::U64 => "u64",
            Self::S32 => "s32",
            Self::U32 => "u32",
            Self::S16 => "s16",
            Self::U16 => "u16",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::UMinus => "uminus",
            Self::Minus => "minus",
            Self::Plus => "plus",
            Self::Div => "div",
            Self::Mult => "mult",
            Self::DivPower2 => "div_power2",
            Self::DivNotPower2 => "div_not_power2",
            Self::DivMultShift => "div_mult_shift",
            Self::ExecName => "execname",
            Self::Stack => "stack",
        }
    }
}
