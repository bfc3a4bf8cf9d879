// SPDX-License-Identifier: GPL-2.0

//! What fields are called.
//!
//! The *label* of a field is shown in front of its values and names it in `sort=`. Its *text* is
//! how a command has it, with the modifier.

use kernel::str::CString;

use super::{
    Field,
    Flags,
    Operand,
    VarRef, //
};
use crate::{
    out::Out,
    STACK_SIZE, //
};

impl Flags {
    /// The modifier that they come from: the first one, if there are several.
    pub(crate) fn modifier(self) -> Option<&'static str> {
        [
            (Self::HEX, "hex"),
            (Self::SYM, "sym"),
            (Self::SYM_OFFSET, "sym-offset"),
            (Self::EXECNAME, "execname"),
            (Self::SYSCALL, "syscall"),
            (Self::LOG2, "log2"),
            (Self::BUCKET, "buckets"),
            (Self::TIMESTAMP_USECS, "usecs"),
            (Self::PERCENT, "percent"),
            (Self::GRAPH, "graph"),
            (Self::STACKTRACE, "stacktrace"),
        ]
        .iter()
        .find(|(flag, _)| self.any(*flag))
        .map(|(_, word)| *word)
    }
}

/// What a field is called, in parts that follow each other.
pub(crate) type Label<'a> = [&'a [u8]; 5];

/// The label of a variable that may be qualified.
fn variable<'a>(
    system: &'a Option<CString>,
    event: &'a Option<CString>,
    name: &'a CString,
) -> Label<'a> {
    let name = name.to_bytes();

    match (system, event) {
        (Some(system), Some(event)) => [system.to_bytes(), b".", event.to_bytes(), b".$", name],
        _ => alone(name),
    }
}

/// The label that is only `name`.
fn alone(name: &[u8]) -> Label<'_> {
    [name, b"", b"", b"", b""]
}

impl Field {
    /// What it is called. Constants have no name.
    pub(crate) fn label(&self) -> Label<'_> {
        if let Some(source) = &self.source {
            return alone(source.name.to_bytes());
        }
        if self.flags.any(Flags::LOG2 | Flags::BUCKET) {
            if let [Some(Operand::Field(number)), _] = &self.operands {
                return number.label();
            }
        }
        if self.flags.any(Flags::CPU) {
            return alone(b"common_cpu");
        }
        if self.flags.any(Flags::COMM) {
            return alone(b"common_comm");
        }
        if self.flags.any(Flags::EXPR | Flags::VAR_REF | Flags::ALIAS) {
            return match &self.name {
                Some(name) => variable(&self.system, &self.event, name),
                None => alone(b""),
            };
        }
        alone(if self.flags.any(Flags::TIMESTAMP) {
            b"common_timestamp"
        } else if self.flags.any(Flags::STACKTRACE) {
            b"common_stacktrace"
        } else if self.flags.any(Flags::HITCOUNT) {
            b"hitcount"
        } else {
            b""
        })
    }

    /// Whether it is called `name`.
    pub(crate) fn is_called(&self, mut name: &[u8]) -> bool {
        for part in self.label() {
            match name.strip_prefix(part) {
                Some(rest) => name = rest,
                None => return false,
            }
        }
        name.is_empty()
    }

    /// Writes what it is called.
    pub(crate) fn put_label(&self, out: &mut Out) {
        for part in self.label() {
            out.put(part);
        }
    }

    /// Writes it as an expression has it.
    pub(crate) fn put_text(&self, out: &mut Out) {
        if self.flags.any(Flags::CONST) {
            return out.unsigned(self.constant, 0);
        }
        if self.flags.any(Flags::VAR_REF) && self.system.is_none() {
            out.put(b"$");
        }
        self.put_label(out);
        if self.flags.any(Flags::EXPR | Flags::VAR_REF) {
            return;
        }
        self.put_modifier(out, !self.is_plain_stack());
    }

    /// Writes its modifier, if `shown`, and how wide its buckets are, if it has any.
    pub(crate) fn put_modifier(&self, out: &mut Out, shown: bool) {
        if let Some(word) = self.flags.modifier().filter(|_| shown) {
            out.put(b".");
            out.put(word.as_bytes());
        }
        if self.buckets > 0 {
            out.put(b"=");
            out.unsigned(self.buckets, 0);
        }
    }

    /// Whether it is a stack that was asked for without a modifier.
    fn is_plain_stack(&self) -> bool {
        // CAST: Small.
        self.flags.any(Flags::STACKTRACE)
            && (self.source.is_none() || self.size != STACK_SIZE as u32)
    }
}

impl VarRef {
    /// What the variable is called.
    pub(crate) fn label(&self) -> Label<'_> {
        variable(&self.system, &self.event, &self.name)
    }

    /// Writes it as an expression has it.
    pub(crate) fn put_text(&self, out: &mut Out) {
        if self.system.is_none() {
            out.put(b"$");
        }
        for part in self.label() {
            out.put(part);
        }
    }
}
