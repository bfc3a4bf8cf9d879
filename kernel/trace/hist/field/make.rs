// SPDX-License-Identifier: GPL-2.0

//! How fields are made: what a field is determines its size, its type and its function.

use kernel::{
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    trace::event_file::{
        FieldInfo,
        FieldKind, //
    },
};

use super::{
    Field,
    Flags,
    Func,
    Operand,
    Operator,
    Source,
    Var,
    VarRef, //
};
use crate::{
    STACK_SIZE,
    STR_MAX,
    WORD, //
};

// CAST: All are small.
const STACK_BYTES: u32 = STACK_SIZE as u32;
const STR_BYTES: u32 = STR_MAX as u32;
const WORD_BYTES: u32 = WORD as u32;

impl Source {
    pub(crate) fn new(info: FieldInfo<'_>) -> Result<Self> {
        Ok(Self {
            name: CString::try_from(info.name())?,
            ty: CString::try_from(info.ty())?,
            offset: info.offset().try_into()?,
            size: info.size().try_into()?,
            signed: info.is_signed(),
            kind: info.kind(),
            string: info.is_string(),
        })
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            name: CString::try_from(&*self.name)?,
            ty: CString::try_from(&*self.ty)?,
            ..*self
        })
    }

    /// Whether its value is a string. A pointer to one is a number, as it is not known whether it
    /// can be followed.
    pub(crate) fn is_text(&self) -> bool {
        self.string && self.kind != FieldKind::PtrString
    }
}

impl Field {
    /// A field with nothing but flags, a function, a type and a size.
    fn blank(flags: Flags, func: Func, ty: &CStr, size: u32) -> Result<Self> {
        Ok(Self {
            flags,
            func,
            source: None,
            buckets: 0,
            ty: CString::try_from(ty)?,
            operands: [None, None],
            operator: Operator::None,
            size,
            signed: false,
            var: None,
            name: None,
            system: None,
            event: None,
            ref_idx: 0,
            constant: 0,
        })
    }

    /// A field of the event, or of the moment as the flags say.
    ///
    /// # Errors
    ///
    /// `ENOMEM` for a field of the event whose value is neither a number of 1, 2, 4 or 8 bytes nor
    /// a string nor a stack, and for functions.
    pub(crate) fn new(source: Option<Source>, flags: Flags) -> Result<Self> {
        let mut field = if flags.any(Flags::STACKTRACE) {
            let func = match source {
                Some(_) => Func::Stack,
                None => Func::Nop,
            };
            Self::blank(flags, func, c"unsigned long[]", STACK_BYTES)?
        } else if flags.any(Flags::LOG2 | Flags::BUCKET) {
            Self::rounded(source.as_ref().map(Source::try_clone).transpose()?, flags)?
        } else if flags.any(Flags::HITCOUNT) {
            Self::blank(flags, Func::Counter, c"u64", WORD_BYTES)?
        } else if flags.any(Flags::TIMESTAMP) {
            Self::blank(flags, Func::Timestamp, c"u64", WORD_BYTES)?
        } else if flags.any(Flags::CPU) {
            // CAST: Small.
            let size = size_of::<c_int>() as u32;
            Self::blank(flags, Func::Cpu, c"unsigned int", size)?
        } else if flags.any(Flags::COMM) {
            Self::blank(flags, Func::Comm, c"char[]", STR_BYTES)?
        } else {
            Self::recorded(source.as_ref().ok_or(EINVAL)?, flags)?
        };

        field.source = source;
        Ok(field)
    }

    /// A number of another field, rounded to a power of two or to a bucket.
    fn rounded(source: Option<Source>, flags: Flags) -> Result<Self> {
        let number = Self::new(source, flags.without(Flags::LOG2 | Flags::BUCKET))?;
        let (func, signed) = if flags.any(Flags::LOG2) {
            (Func::Log2, false)
        } else {
            (Func::Bucket, number.signed)
        };
        let mut field = Self::blank(flags, func, &number.ty, number.size)?;

        field.signed = signed;
        field.operands[0] = Some(Operand::Field(KBox::new(number, GFP_KERNEL)?));
        Ok(field)
    }

    /// What is in the record.
    fn recorded(source: &Source, flags: Flags) -> Result<Self> {
        let text = |func, size| Self::blank(flags | Flags::STRING, func, &source.ty, size);

        match source.kind {
            FieldKind::StaticString => text(Func::String, source.size),
            FieldKind::DynString => text(Func::DynString, STR_BYTES),
            FieldKind::RelDynString => text(Func::RelDynString, STR_BYTES),
            FieldKind::Stacktrace => {
                let flags = flags | Flags::STACKTRACE;
                Self::blank(flags, Func::Stack, &source.ty, STR_BYTES)
            }
            FieldKind::Function | FieldKind::Comm => Err(ENOMEM),
            _ => {
                let func = match (source.size, source.signed) {
                    (8, true) => Func::S64,
                    (8, false) => Func::U64,
                    (4, true) => Func::S32,
                    (4, false) => Func::U32,
                    (2, true) => Func::S16,
                    (2, false) => Func::U16,
                    (1, true) => Func::S8,
                    (1, false) => Func::U8,
                    _ => return Err(ENOMEM),
                };
                let mut field = Self::blank(flags, func, &source.ty, source.size)?;

                field.signed = source.signed;
                Ok(field)
            }
        }
    }

    /// The hit count, which every histogram has.
    pub(crate) fn hitcount() -> Result<Self> {
        Self::new(None, Flags::HITCOUNT)
    }

    /// A constant.
    pub(crate) fn constant(value: u64, flags: Flags) -> Result<Self> {
        let mut field = Self::blank(flags | Flags::CONST, Func::Const, c"u64", WORD_BYTES)?;

        field.constant = value;
        Ok(field)
    }

    /// An expression, without its operands and its text. It is of the type, size and sign of
    /// `like`, its first operand.
    pub(crate) fn expression(
        operator: Operator,
        func: Func,
        flags: Flags,
        like: &Facts<'_>,
    ) -> Result<Self> {
        let mut field = Self::blank(flags | Flags::EXPR, func, like.ty, like.size)?;

        field.signed = like.signed;
        field.operator = operator;
        Ok(field)
    }

    /// A value that is read from the variable that the reference `idx` is to.
    pub(crate) fn reference(idx: usize, var_ref: &VarRef) -> Result<Self> {
        let mut field = Self::blank(var_ref.flags, Func::VarRef, &var_ref.ty, var_ref.size)?;

        field.refer(idx, var_ref)?;
        Ok(field)
    }

    /// A variable that stands for the one that the reference `idx` is to.
    pub(crate) fn alias(idx: usize, var_ref: &VarRef) -> Result<Self> {
        let flags = Flags::ALIAS | Flags::VAR | var_ref.flags.without(Flags::VAR_REF);
        let mut field = Self::blank(flags, Func::VarRef, &var_ref.ty, var_ref.size)?;

        field.operands[0] = Some(Operand::Ref(idx));
        field.refer(idx, var_ref)?;
        Ok(field)
    }

    fn refer(&mut self, idx: usize, var_ref: &VarRef) -> Result {
        let copy = |name: &Option<CString>| name.as_deref().map(CString::try_from).transpose();

        self.ref_idx = idx;
        self.signed = var_ref.signed;
        self.name = Some(CString::try_from(&*var_ref.name)?);
        self.system = copy(&var_ref.system)?;
        self.event = copy(&var_ref.event)?;
        Ok(())
    }

    /// A variable that no clause defines: an action keeps something in it. `C` does not tell its
    /// sign.
    pub(crate) fn variable(name: CString, idx: usize, ty: &CStr, size: u32) -> Result<Self> {
        let mut field = Self::blank(Flags::VAR, Func::Nop, ty, size)?;

        field.var = Some(Var { name, idx });
        Ok(field)
    }

    /// Makes a variable that holds `common_pid.execname` one that holds the name itself.
    pub(crate) fn make_execname(&mut self) -> Result {
        self.flags = Flags::STRING | Flags::VAR | Flags::EXECNAME;
        self.size = STR_BYTES;
        self.signed = false;
        self.ty = CString::try_from(c"char[]")?;
        self.func = Func::ExecName;
        Ok(())
    }
}

/// What an expression has to know about an operand.
pub(crate) struct Facts<'a> {
    pub(crate) flags: Flags,
    pub(crate) ty: &'a CStr,
    pub(crate) size: u32,
    pub(crate) signed: bool,
    /// Whether it is a string or a stack.
    pub(crate) text: bool,
}

impl Field {
    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts {
            flags: self.flags,
            ty: &self.ty,
            size: self.size,
            signed: self.signed,
            text: self.flags.any(Flags::STRING | Flags::STACKTRACE),
        }
    }

    /// Whether a variable takes part in it.
    pub(crate) fn has_vars(&self) -> bool {
        self.flags.any(Flags::VAR | Flags::VAR_REF)
            || self.operands.iter().flatten().any(|operand| match operand {
                Operand::Field(field) => field.has_vars(),
                Operand::Ref(_) => true,
            })
    }
}

impl VarRef {
    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts {
            flags: self.flags,
            ty: &self.ty,
            size: self.size,
            signed: self.signed,
            text: self.kind != super::VarKind::Number,
        }
    }
}
