// SPDX-License-Identifier: GPL-2.0

//! The text of a description: the command that would make it again.

use super::{
    field::{
        Field,
        FieldKind,
        Moment, //
    },
    Spec,
    VarRef, //
};
use crate::{
    command::expr::Modifier,
    text_buf::TextBuf, //
};

impl Spec {
    /// Writes the command, without a filter.
    pub(crate) fn write(&self, out: &mut TextBuf) {
        let refs = &self.refs;

        out.put(b"hist:");
        if let Some(name) = &self.name {
            out.put(name.to_bytes());
            out.put(b":");
        }

        out.put(b"keys=");
        out.list(self.keys(), |out, key| key.write_key(out, refs));

        out.put(b":vals=");
        if !self.no_hitcount {
            out.put(b"hitcount");
        }
        let (vars, values) = (
            self.vals().iter().filter(|field| field.var.is_some()),
            self.vals().iter().filter(|field| field.var.is_none()),
        );
        for (i, value) in values.skip(1).enumerate() {
            if i > 0 || !self.no_hitcount {
                out.put(b",");
            }
            value.write(out, refs);
        }

        if vars.clone().next().is_some() {
            out.put(b":");
            out.list(vars, |out, var| var.write(out, refs));
        }

        out.put(b":sort=");
        out.list(self.sort_keys(), |out, key| {
            if let Some(field) = self.sort_fields().nth(key.field_idx) {
                field.write(out, refs);
            }
            if key.descending {
                out.put(b".descending");
            }
        });

        out.put(b":size=");
        out.unsigned(1u64.wrapping_shl(self.map_bits), 0);
        if self.timestamps {
            out.put(b":clock=");
            out.put(self.clock.to_bytes());
        }
        if self.no_hitcount {
            out.put(b":nohitcount");
        }
        if self.quantiles {
            out.put(b":quantiles");
        }
        if self.reuse {
            out.put(b":reuse");
        }
        for action in &self.actions {
            out.put(b":");
            action.clause.write(out);
        }
    }
}

impl Field {
    fn write_key(&self, out: &mut TextBuf, refs: &[VarRef]) {
        if !self.is_stack() {
            return self.write(out, refs);
        }
        match self.source() {
            Some(source) => {
                out.put(source.name.to_bytes());
                out.put(b".stacktrace");
            }
            None => out.put(Moment::Stack.name()),
        }
    }

    /// Writes the field as a command has it; a variable with its name.
    pub(crate) fn write(&self, out: &mut TextBuf, refs: &[VarRef]) {
        if let Some(var) = &self.var {
            out.put(var.name.to_bytes());
            out.put(b"=");
        }
        match self.as_moment() {
            Some(moment @ (Moment::Cpu | Moment::Comm)) => out.put(moment.name()),
            _ => self.write_base(out, refs),
        }
        if self.modifier != Modifier::Stacktrace {
            self.write_modifier(out);
        }
    }

    /// Writes the field as an expression has it.
    pub(crate) fn write_operand(&self, out: &mut TextBuf, refs: &[VarRef]) {
        self.write_base(out, refs);
        self.write_modifier(out);
    }

    /// Writes what the field is called.
    pub(crate) fn write_label(&self, out: &mut TextBuf, refs: &[VarRef]) {
        for part in self.label(refs) {
            out.put(part);
        }
    }

    fn write_base(&self, out: &mut TextBuf, refs: &[VarRef]) {
        match &self.kind {
            FieldKind::Const(n) => return out.unsigned(*n, 0),
            FieldKind::Ref(i) | FieldKind::Alias(i)
                if refs.get(*i).is_some_and(|r| r.event.is_none()) =>
            {
                out.put(b"$");
            }
            _ => (),
        }
        self.write_label(out, refs);
    }

    fn write_modifier(&self, out: &mut TextBuf) {
        if self.modifier == Modifier::None {
            return;
        }
        out.put(b".");
        out.put(self.modifier.word());
        if let Some(number) = self.modifier.number() {
            out.put(b"=");
            out.unsigned(number, 0);
        }
    }
}
