// SPDX-License-Identifier: GPL-2.0

//! The line of a trigger: the command that would make it again, and whether it is paused.

use kernel::trace::trigger::Trigger;

use super::{
    action::{
        Action,
        ActionKind,
        Handler, //
    },
    data::Spec,
    field::{
        Field,
        Flags, //
    },
    out::Out,
    trigger::Histogram, //
};

/// Writes the line of a trigger, with its newline.
pub(crate) fn write(out: &mut Out, trigger: &Trigger<Histogram>) {
    pieces(trigger, |text| out.put(text));
}

/// Puts the line of a trigger, with its newline, piece by piece. Needs no memory.
pub(crate) fn pieces(trigger: &Trigger<Histogram>, mut put: impl FnMut(&[u8])) {
    put(trigger.data().line());
    if let Some(filter) = trigger.filter() {
        put(b" if ");
        put(filter.to_bytes());
    }
    put(if trigger.is_paused() {
        b" [paused]\n"
    } else {
        b" [active]\n"
    });
}

/// Writes how the lines of the triggers of a histogram begin, which is the same for all of them.
pub(crate) fn write_spec(out: &mut Out, spec: &Spec) {
    out.put(b"hist:");
    if let Some(name) = &spec.name {
        out.put(name.to_bytes());
        out.put(b":");
    }

    out.put(b"keys=");
    separated(out, spec.keys().iter(), write_key);

    out.put(b":vals=");
    if !spec.no_hitcount {
        out.put(b"hitcount");
    }
    let is_var = |field: &&Field| field.flags.any(Flags::VAR);
    let values = spec.vals().iter().skip(1).filter(|field| !is_var(field));
    for (i, value) in values.enumerate() {
        if i > 0 || !spec.no_hitcount {
            out.put(b",");
        }
        write_field(out, value);
    }

    if spec.vals().iter().any(|field| is_var(&field)) {
        out.put(b":");
        separated(out, spec.vals().iter().filter(is_var), write_field);
    }

    out.put(b":sort=");
    for (i, sort_key) in spec.sort_keys.iter().take(spec.n_sort_keys).enumerate() {
        if i > 0 {
            out.put(b",");
        }
        match sort_key.field_idx {
            0 => out.put(b"hitcount"),
            n => {
                if let Some(field) = spec.fields.iter().filter(|f| !is_var(f)).nth(n) {
                    write_field(out, field);
                }
            }
        }
        if sort_key.descending {
            out.put(b".descending");
        }
    }

    out.put(b":size=");
    out.unsigned(1u64.wrapping_shl(spec.map_bits), 0);
    if spec.timestamps {
        out.put(b":clock=");
        out.put(spec.clock.to_bytes());
    }
    if spec.no_hitcount {
        out.put(b":nohitcount");
    }
    for action in &spec.actions {
        write_action(out, spec, action);
    }
}

/// Writes all of them, with commas in between.
fn separated<T>(out: &mut Out, all: impl Iterator<Item = T>, write: impl Fn(&mut Out, T)) {
    for (i, one) in all.enumerate() {
        if i > 0 {
            out.put(b",");
        }
        write(out, one);
    }
}

fn write_key(out: &mut Out, key: &Field) {
    if !key.flags.any(Flags::STACKTRACE) {
        return write_field(out, key);
    }
    match &key.source {
        Some(source) => {
            out.put(source.name.to_bytes());
            out.put(b".stacktrace");
        }
        None => out.put(b"common_stacktrace"),
    }
}

/// Writes a field as a command has it; a variable with its name.
pub(crate) fn write_field(out: &mut Out, field: &Field) {
    if let Some(var) = &field.var {
        out.put(var.name.to_bytes());
        out.put(b"=");
    }

    if field.flags.any(Flags::CPU) {
        out.put(b"common_cpu");
    } else if field.flags.any(Flags::COMM) {
        out.put(b"common_comm");
    } else if field.flags.any(Flags::CONST) {
        out.unsigned(field.constant, 0);
    } else {
        if field.flags.any(Flags::VAR_REF | Flags::ALIAS) && field.system.is_none() {
            out.put(b"$");
        }
        field.put_label(out);
    }

    let without = Flags::VAR_REF | Flags::ALIAS | Flags::EXPR | Flags::STACKTRACE;
    field.put_modifier(out, !field.flags.any(without));
}

fn write_action(out: &mut Out, spec: &Spec, action: &Action) {
    match &action.handler {
        Handler::OnMatch { system, event } => {
            out.put(b":onmatch(");
            out.put(system.to_bytes());
            out.put(b".");
            out.put(event.to_bytes());
        }
        Handler::OnMax(track) => {
            out.put(b":onmax(");
            out.put(track.var_str.to_bytes());
        }
        Handler::OnChange(track) => {
            out.put(b":onchange(");
            out.put(track.var_str.to_bytes());
        }
    }
    out.put(b").");
    out.put(action.name.to_bytes());
    out.put(b"(");
    match &action.kind {
        ActionKind::Save => separated(out, spec.save_vars.iter(), |out, saved| {
            if let Some(var) = &saved.var.var {
                out.put(var.name.to_bytes());
            }
        }),
        ActionKind::Trace { .. } => separated(
            out,
            action.traced.iter().chain(action.params.iter()),
            |out, param| out.put(param.to_bytes()),
        ),
        ActionKind::Snapshot(_) => {}
    }
    out.put(b")");
}
