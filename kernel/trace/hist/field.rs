// SPDX-License-Identifier: GPL-2.0

//! The fields of a histogram: what its keys, values and variables are computed from.
//!
//! A field is a field of the event, a constant, a property of the moment (time, processor, task,
//! stack), a reference to a variable, or an expression of other fields. This module has the type
//! and what can be said about a field on its own; fields are made in [`build`](super::build).

mod make;
mod name;

pub(crate) use make::Facts;

use kernel::{
    prelude::*,
    str::CString,
    sync::Arc,
    trace::event_file::FieldKind, //
};

use super::data::Hist;

/// Marks of a field. The values are those of C.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Flags(u32);

impl Flags {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const HITCOUNT: Self = Self(1 << 0);
    pub(crate) const KEY: Self = Self(1 << 1);
    pub(crate) const STRING: Self = Self(1 << 2);
    pub(crate) const HEX: Self = Self(1 << 3);
    pub(crate) const SYM: Self = Self(1 << 4);
    pub(crate) const SYM_OFFSET: Self = Self(1 << 5);
    pub(crate) const EXECNAME: Self = Self(1 << 6);
    pub(crate) const SYSCALL: Self = Self(1 << 7);
    pub(crate) const STACKTRACE: Self = Self(1 << 8);
    pub(crate) const LOG2: Self = Self(1 << 9);
    pub(crate) const TIMESTAMP: Self = Self(1 << 10);
    pub(crate) const TIMESTAMP_USECS: Self = Self(1 << 11);
    pub(crate) const VAR: Self = Self(1 << 12);
    pub(crate) const EXPR: Self = Self(1 << 13);
    pub(crate) const VAR_REF: Self = Self(1 << 14);
    pub(crate) const CPU: Self = Self(1 << 15);
    pub(crate) const ALIAS: Self = Self(1 << 16);
    pub(crate) const BUCKET: Self = Self(1 << 17);
    pub(crate) const CONST: Self = Self(1 << 18);
    pub(crate) const PERCENT: Self = Self(1 << 19);
    pub(crate) const GRAPH: Self = Self(1 << 20);
    pub(crate) const COMM: Self = Self(1 << 21);

    /// Whether one of these is set.
    pub(crate) const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Both.
    pub(crate) const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Without these.
    pub(crate) const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    /// Those that both have.
    pub(crate) const fn and(self, mask: Self) -> Self {
        Self(self.0 & mask.0)
    }
}

impl core::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl core::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.with(other);
    }
}

/// The function that computes the value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Func {
    Nop,
    VarRef,
    Counter,
    Const,
    Log2,
    Bucket,
    Timestamp,
    Cpu,
    Comm,
    String,
    DynString,
    RelDynString,
    S64,
    U64,
    S32,
    U32,
    S16,
    U16,
    S8,
    U8,
    UMinus,
    Minus,
    Plus,
    Div,
    Mult,
    DivPower2,
    DivNotPower2,
    DivMultShift,
    ExecName,
    Stack,
}

/// The operator at the root of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    None,
    Plus,
    Minus,
    UnaryMinus,
    Div,
    Mult,
}

/// What a histogram has to know about a field of its event.
pub(crate) struct Source {
    pub(crate) name: CString,
    pub(crate) ty: CString,
    /// Where it begins in the record, in bytes.
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) signed: bool,
    pub(crate) kind: FieldKind,
    /// Whether C takes it for a string.
    pub(crate) string: bool,
}

/// One side of an expression.
pub(crate) enum Operand {
    /// A field that belongs to the expression.
    Field(KBox<Field>),
    /// A reference to a variable: an index into the
    /// [references](super::data::Spec::refs) of the histogram.
    Ref(usize),
}

/// What makes a field a variable.
pub(crate) struct Var {
    pub(crate) name: CString,
    /// Number of the variable in its histogram.
    pub(crate) idx: usize,
}

/// A key, a value or a variable of a histogram, or a part of one.
pub(crate) struct Field {
    pub(crate) flags: Flags,
    pub(crate) func: Func,
    /// The field of the event, if it is one.
    pub(crate) source: Option<Source>,
    /// Width of the buckets, or 0.
    pub(crate) buckets: u64,
    /// The type as C would write it.
    pub(crate) ty: CString,
    pub(crate) operands: [Option<Operand>; 2],
    pub(crate) operator: Operator,
    /// Size in bytes, which is rounded up to words in keys.
    pub(crate) size: u32,
    pub(crate) signed: bool,
    pub(crate) var: Option<Var>,
    /// The text of an expression; of an alias or a reference the name of the variable that it
    /// stands for.
    pub(crate) name: Option<CString>,
    /// What the name of an alias or a reference is qualified by.
    pub(crate) system: Option<CString>,
    pub(crate) event: Option<CString>,
    /// Index into the references of the histogram, for an alias or a reference.
    pub(crate) ref_idx: usize,
    /// The value of a constant; of a division the divisor, if that is a constant.
    pub(crate) constant: u64,
}

impl Field {
    /// What a variable with the value of this field holds.
    ///
    /// `of_ref` says what the reference with this index holds.
    pub(crate) fn var_kind(&self, of_ref: impl FnOnce(usize) -> VarKind) -> VarKind {
        match self.func {
            Func::ExecName => VarKind::Comm,
            // What is behind it belongs to another element, so it is copied.
            Func::VarRef => match of_ref(self.ref_idx) {
                VarKind::String(()) | VarKind::Comm => VarKind::String(()),
                kind @ (VarKind::Stack(()) | VarKind::Number) => kind,
            },
            _ if self.flags.any(Flags::STACKTRACE) => VarKind::Stack(()),
            Func::String | Func::DynString | Func::RelDynString | Func::Comm => VarKind::String(()),
            _ => VarKind::Number,
        }
    }
}

/// Whose variable a reference is to.
#[derive(Clone)]
pub(crate) enum Owner {
    /// The histogram that has the reference.
    Own,
    /// Another one, which stays as long as it is referred to.
    Other(Arc<Hist>),
}

/// A reference to a variable.
pub(crate) struct VarRef {
    pub(crate) owner: Owner,
    /// Number of the variable in its histogram.
    pub(crate) var_idx: usize,
    /// `VAR_REF`, and what is taken over from the variable.
    pub(crate) flags: Flags,
    /// Name of the variable, without the dollar sign.
    pub(crate) name: CString,
    /// The column that the name was in, in the command as it is logged.
    pub(crate) at: usize,
    /// How the reference was qualified.
    pub(crate) system: Option<CString>,
    pub(crate) event: Option<CString>,
    pub(crate) ty: CString,
    pub(crate) size: u32,
    pub(crate) signed: bool,
    /// Whether reading it unsets the variable.
    pub(crate) read_once: bool,
    /// What the variable holds.
    pub(crate) kind: VarKind,
}

/// What a variable holds. A string and a stack are kept in a `Slot` of the element, which is given
/// to them when the histogram is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VarKind<Slot = ()> {
    Number,
    String(Slot),
    Stack(Slot),
    /// The name of the task that had the first hit of the element, as `common_pid.execname` saves
    /// it.
    Comm,
}

impl<Slot> VarKind<Slot> {
    /// The same in another kind of slot.
    pub(crate) fn map<To>(self, f: impl FnOnce(Slot) -> To) -> VarKind<To> {
        match self {
            Self::Number => VarKind::Number,
            Self::String(slot) => VarKind::String(f(slot)),
            Self::Stack(slot) => VarKind::Stack(f(slot)),
            Self::Comm => VarKind::Comm,
        }
    }
}
