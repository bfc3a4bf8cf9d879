// SPDX-License-Identifier: GPL-2.0

//! The fields of a histogram: what its keys, values and variables are computed from.
//!
//! This module has the type, its text, and what can be said about a field on its own; fields are
//! created in [`builder`](crate::builder). A reference to a variable is an index into the
//! [references] of the histogram.
//!
//! [references]: super::Spec::refs

use kernel::{
    prelude::*,
    str::CString,
    trace::event_file::{
        FieldInfo,
        FieldKind as RecordKind, //
    },
};

use super::{
    Var,
    VarKind,
    VarRef, //
};
use crate::{
    command::expr::{
        Modifier,
        Operator, //
    },
    limits::{
        COMM_LEN,
        STACK_DEPTH,
        STACK_SIZE,
        STR_MAX,
        WORD, //
    },
    text_buf::TextBuf, //
};

// CAST: All are small.
const STACK_BYTES: u32 = STACK_SIZE as u32;
const STR_BYTES: u32 = STR_MAX as u32;
const WORD_BYTES: u32 = WORD as u32;

/// The type of a value, as C has it.
pub(crate) struct Type {
    pub(crate) name: CString,
    /// In bytes, which are rounded up to words in keys.
    pub(crate) size: u32,
    pub(crate) signed: bool,
}

impl Type {
    pub(crate) fn new(name: &CStr, size: u32, signed: bool) -> Result<Self> {
        Ok(Self {
            name: CString::try_from(name)?,
            size,
            signed,
        })
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Self::new(&self.name, self.size, self.signed)
    }

    /// Returns `true` if the types are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        *self.name == *other.name && self.size == other.size && self.signed == other.signed
    }
}

/// A field of an event.
pub(crate) struct Source {
    pub(crate) name: CString,
    pub(crate) ty: Type,
    /// Its offset in the record, in bytes.
    pub(crate) offset: u32,
    pub(crate) kind: RecordKind,
    /// C treats it as a string.
    pub(crate) string: bool,
}

impl Source {
    pub(crate) fn new(info: FieldInfo<'_>) -> Result<Self> {
        Ok(Self {
            name: CString::try_from(info.name())?,
            ty: Type::new(info.ty(), info.size().try_into()?, info.is_signed())?,
            offset: info.offset().try_into()?,
            kind: info.kind(),
            string: info.is_string(),
        })
    }

    /// Returns `true` if the value is a string. A pointer to one is a number, as it may be
    /// invalid.
    pub(crate) fn is_string(&self) -> bool {
        self.string && self.kind != RecordKind::PtrString
    }

    pub(crate) fn is_stack(&self) -> bool {
        self.kind == RecordKind::Stacktrace
    }

    /// Returns the type of the value.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if that is neither a number of 1, 2, 4 or 8 bytes nor a string nor a stack, and for
    /// functions.
    fn value_type(&self, modifier: Modifier) -> Result<Type> {
        match self.kind {
            RecordKind::Stacktrace if modifier == Modifier::Stacktrace => HitProperty::Stack.ty(),
            RecordKind::StaticString => Type::new(&self.ty.name, self.ty.size, false),
            RecordKind::DynString | RecordKind::RelDynString | RecordKind::Stacktrace => {
                Type::new(&self.ty.name, STR_BYTES, false)
            }
            RecordKind::Function | RecordKind::Comm => Err(ENOMEM),
            _ if matches!(self.ty.size, 1 | 2 | 4 | 8) => self.ty.try_clone(),
            _ => Err(ENOMEM),
        }
    }
}

/// A property of a hit that is not in the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HitProperty {
    /// The number of hits: 1.
    HitCount,
    Timestamp,
    Cpu,
    /// The name of the task.
    Comm,
    Stack,
}

impl HitProperty {
    const ALL: [Self; 5] = [
        Self::HitCount,
        Self::Timestamp,
        Self::Cpu,
        Self::Comm,
        Self::Stack,
    ];

    pub(crate) fn by_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|property| property.name() == name)
    }

    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::HitCount => b"hitcount",
            Self::Timestamp => b"common_timestamp",
            Self::Cpu => b"common_cpu",
            Self::Comm => b"common_comm",
            Self::Stack => b"common_stacktrace",
        }
    }

    fn ty(self) -> Result<Type> {
        // CAST: Small.
        let int = size_of::<c_int>() as u32;
        let (name, size) = match self {
            Self::HitCount | Self::Timestamp => (c"u64", WORD_BYTES),
            Self::Cpu => (c"unsigned int", int),
            Self::Comm => (c"char[]", STR_BYTES),
            Self::Stack => (c"unsigned long[]", STACK_BYTES),
        };

        Type::new(name, size, false)
    }
}

/// An operation on one or two operands.
pub(crate) struct Expr {
    pub(crate) left: Field,
    /// The operation on `left` and another operand. Without one, `left` is negated.
    pub(crate) right: Option<(Operator, Field)>,
    /// Of a division the divisor, if that is a constant.
    pub(crate) divisor: Option<u64>,
    /// Its text in a command.
    pub(crate) text: CString,
    /// It is a time in microseconds, as its first operand is.
    pub(crate) usecs: bool,
}

/// The origin of a value that is computed from no other field.
pub(crate) enum Origin {
    /// A field of the event.
    Recorded(Source),
    /// A property of the hit, and the other name of it that the event has, if that was used.
    Property(HitProperty, Option<CString>),
}

/// The kind of a field.
pub(crate) enum FieldKind {
    /// A field of the event.
    Recorded(Source),
    /// A property of the hit, and the other name of it that the event has, if that was used.
    Property(HitProperty, Option<CString>),
    Const(u64),
    /// The value of a variable, by the index of the reference.
    Ref(usize),
    /// A variable that stands for the one that this reference is to.
    Alias(usize),
    /// A number that is rounded as the modifier says.
    Rounded(KBox<Field>),
    Expr(KBox<Expr>),
    /// The name of the task that had the first hit: a variable of `common_pid.execname`, which is
    /// this field.
    FirstComm(Source),
}

/// A key, a value or a variable of a histogram, or an operand of one.
pub(crate) struct Field {
    pub(crate) kind: FieldKind,
    pub(crate) modifier: Modifier,
    pub(crate) ty: Type,
    /// The variable that has the value, if it is one that the command defines.
    pub(crate) var: Option<Var>,
}

/// The name of a field, in parts that follow each other.
pub(crate) type Label<'a> = [&'a [u8]; 5];

/// Returns the label that is only `name`.
fn alone(name: &[u8]) -> Label<'_> {
    [name, b"", b"", b"", b""]
}

impl Field {
    fn with_type(kind: FieldKind, ty: Type) -> Self {
        Self {
            kind,
            modifier: Modifier::None,
            ty,
            var: None,
        }
    }

    /// Creates a field that is a field of the event or a property of the hit.
    ///
    /// # Errors
    ///
    /// `ENOMEM` for a field of the event that has no [value](Source::value_type).
    pub(crate) fn new(origin: Origin, modifier: Modifier) -> Result<Self> {
        let (kind, ty) = match origin {
            Origin::Recorded(source) => {
                let ty = source.value_type(modifier)?;

                (FieldKind::Recorded(source), ty)
            }
            Origin::Property(property, name) => {
                (FieldKind::Property(property, name), property.ty()?)
            }
        };
        let mut field = Self::with_type(kind, ty);

        if modifier.is_rounding() {
            let mut ty = field.ty.try_clone()?;

            ty.signed &= modifier != Modifier::Log2;
            field = Self::with_type(FieldKind::Rounded(KBox::new(field, GFP_KERNEL)?), ty);
        }
        field.modifier = modifier;
        Ok(field)
    }

    /// Creates a field that is a property of the hit.
    pub(crate) fn property(property: HitProperty) -> Result<Self> {
        Self::new(Origin::Property(property, None), Modifier::None)
    }

    pub(crate) fn constant(value: u64) -> Result<Self> {
        let ty = Type::new(c"u64", WORD_BYTES, false)?;

        Ok(Self::with_type(FieldKind::Const(value), ty))
    }

    /// Creates a field that is an expression, which has the type of its first operand.
    pub(crate) fn expression(expr: Expr) -> Result<Self> {
        let ty = expr.left.ty.try_clone()?;

        Ok(Self::with_type(
            FieldKind::Expr(KBox::new(expr, GFP_KERNEL)?),
            ty,
        ))
    }

    /// Creates a field with the value of the variable that the reference number `idx` is to, or an
    /// alias of it.
    pub(crate) fn reference(idx: usize, var_ref: &VarRef, alias: bool) -> Result<Self> {
        let kind = if alias {
            FieldKind::Alias(idx)
        } else {
            FieldKind::Ref(idx)
        };

        Ok(Self::with_type(kind, var_ref.ty.try_clone()?))
    }

    /// Converts `common_pid.execname` to the name itself. Only a field of the event has that
    /// modifier; any other field is returned as it is.
    pub(crate) fn into_first_comm(self) -> Result<Self> {
        Ok(match self.kind {
            FieldKind::Recorded(source) => Self {
                kind: FieldKind::FirstComm(source),
                ty: HitProperty::Comm.ty()?,
                ..self
            },
            kind => Self { kind, ..self },
        })
    }

    /// Returns the field of the event, if the field is one.
    pub(crate) fn source(&self) -> Option<&Source> {
        match &self.kind {
            FieldKind::Recorded(source) | FieldKind::FirstComm(source) => Some(source),
            FieldKind::Rounded(number) => number.source(),
            _ => None,
        }
    }

    /// Returns the property of the hit, if the field is one or is rounded from one.
    pub(crate) fn as_property(&self) -> Option<HitProperty> {
        match &self.kind {
            FieldKind::Property(property, _) => Some(*property),
            FieldKind::Rounded(number) => number.as_property(),
            _ => None,
        }
    }

    /// Returns `true` for the hit count without a modifier.
    pub(super) fn is_hitcount(&self) -> bool {
        self.modifier == Modifier::None && self.as_property() == Some(HitProperty::HitCount)
    }

    /// Returns the kind of a variable that has the value of this field.
    ///
    /// `of_ref` says what the reference with this index holds.
    pub(crate) fn var_kind(&self, of_ref: impl FnOnce(usize) -> VarKind) -> VarKind {
        match &self.kind {
            FieldKind::FirstComm(_) => VarKind::Comm,
            // The value belongs to another element, so it is copied.
            FieldKind::Ref(i) | FieldKind::Alias(i) => match of_ref(*i) {
                VarKind::Comm => VarKind::String(()),
                kind => kind,
            },
            FieldKind::Property(HitProperty::Stack, _) => VarKind::Stack(()),
            FieldKind::Property(HitProperty::Comm, _) => VarKind::String(()),
            FieldKind::Recorded(source) if source.is_stack() => VarKind::Stack(()),
            FieldKind::Recorded(source) if source.is_string() => VarKind::String(()),
            _ => VarKind::Number,
        }
    }

    /// Returns the kind of the value of a field that is no reference. That of a reference is taken
    /// for a number.
    pub(super) fn own_kind(&self) -> VarKind {
        self.var_kind(|_| VarKind::Number)
    }

    /// Returns `true` if the field is a stack. References are not resolved.
    pub(crate) fn is_stack(&self) -> bool {
        self.own_kind() == VarKind::Stack(())
    }

    /// Returns `true` if the field is a time in microseconds.
    pub(crate) fn is_usecs(&self, refs: &[VarRef]) -> bool {
        match &self.kind {
            FieldKind::Expr(expr) => expr.usecs,
            FieldKind::Ref(i) | FieldKind::Alias(i) => refs.get(*i).is_some_and(|r| r.usecs),
            _ => self.modifier == Modifier::Usecs,
        }
    }

    /// Returns the value of the field, if that is a constant or the value of a variable that is
    /// one.
    pub(crate) fn as_constant(&self, refs: &[VarRef]) -> Option<u64> {
        match &self.kind {
            FieldKind::Const(n) => Some(*n),
            FieldKind::Ref(i) => refs.get(*i)?.constant,
            _ => None,
        }
    }

    /// Returns `true` if the field contains a variable.
    pub(crate) fn has_vars(&self) -> bool {
        self.var.is_some()
            || match &self.kind {
                FieldKind::Ref(_) | FieldKind::Alias(_) => true,
                FieldKind::Expr(expr) => {
                    let right = expr.right.as_ref().map(|(_, right)| right);

                    expr.left.has_vars() || right.is_some_and(Self::has_vars)
                }
                _ => false,
            }
    }

    /// Returns the number of words of the field as a key.
    pub(crate) fn key_words(&self) -> usize {
        let bytes = match self.own_kind() {
            VarKind::Number => return 1,
            VarKind::Stack(()) => return STACK_DEPTH,
            _ if self.as_property() == Some(HitProperty::Comm) => COMM_LEN,
            _ => self.ty.size as usize,
        };

        bytes.div_ceil(WORD).max(1)
    }

    /// Returns the name of the field, which precedes its values and is used in `sort=`. Constants
    /// have no name.
    pub(crate) fn label<'a>(&'a self, refs: &'a [VarRef]) -> Label<'a> {
        match &self.kind {
            FieldKind::Recorded(source) | FieldKind::FirstComm(source) => {
                alone(source.name.to_bytes())
            }
            FieldKind::Property(_, Some(name)) => alone(name.to_bytes()),
            FieldKind::Property(property, None) => alone(property.name()),
            FieldKind::Rounded(number) => number.label(refs),
            FieldKind::Expr(expr) => alone(expr.text.to_bytes()),
            FieldKind::Ref(i) | FieldKind::Alias(i) => match refs.get(*i) {
                Some(var_ref) => var_ref.label(),
                None => alone(b""),
            },
            FieldKind::Const(_) => alone(b""),
        }
    }

    /// Returns `true` if the field is called `name`.
    pub(crate) fn is_called(&self, mut name: &[u8], refs: &[VarRef]) -> bool {
        for part in self.label(refs) {
            match name.strip_prefix(part) {
                Some(rest) => name = rest,
                None => return false,
            }
        }
        name.is_empty()
    }
}

impl VarRef {
    /// Returns the name of the variable.
    fn label(&self) -> Label<'_> {
        let name = self.name.to_bytes();

        match &self.event {
            Some((system, event)) => [system.to_bytes(), b".", event.to_bytes(), b".$", name],
            None => alone(name),
        }
    }
}

impl Field {
    pub(super) fn write_key(&self, out: &mut TextBuf, refs: &[VarRef]) {
        if !self.is_stack() {
            return self.write(out, refs);
        }
        match self.source() {
            Some(source) => {
                out.put(source.name.to_bytes());
                out.put(b".stacktrace");
            }
            None => out.put(HitProperty::Stack.name()),
        }
    }

    /// Writes the field as in a command; a variable with its name.
    pub(crate) fn write(&self, out: &mut TextBuf, refs: &[VarRef]) {
        if let Some(var) = &self.var {
            out.put(var.name.to_bytes());
            out.put(b"=");
        }
        match self.as_property() {
            Some(property @ (HitProperty::Cpu | HitProperty::Comm)) => out.put(property.name()),
            _ => self.write_base(out, refs),
        }
        if self.modifier != Modifier::Stacktrace {
            self.write_modifier(out);
        }
    }

    /// Writes the field as in an expression.
    pub(crate) fn write_operand(&self, out: &mut TextBuf, refs: &[VarRef]) {
        self.write_base(out, refs);
        self.write_modifier(out);
    }

    /// Writes the name of the field.
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
