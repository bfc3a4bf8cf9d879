// SPDX-License-Identifier: GPL-2.0

//! Atoms: constants, fields, and references to variables.

use kernel::{
    prelude::*,
    trace::event_file::FieldKind, //
};

use super::Build;
use crate::{
    expr::{
        self,
        number::parse_u64,
        Modifier,
        Qualified,
        Root, //
    },
    field::{
        Field,
        Flags,
        Operand,
        Source, //
    },
    log::ErrorKind,
    text::Piece, //
};

/// Modifiers that compute another number.
const ROUNDING: Flags = Flags::LOG2.with(Flags::BUCKET);

/// Modifiers that say how a number is rounded or shown.
const NUMBER_MODIFIERS: Flags = ROUNDING
    .with(Flags::HEX)
    .with(Flags::SYM)
    .with(Flags::SYM_OFFSET)
    .with(Flags::SYSCALL)
    .with(Flags::TIMESTAMP_USECS)
    .with(Flags::PERCENT)
    .with(Flags::GRAPH);

impl<'a> Build<'a, '_> {
    /// Makes a field of what has no operator, or refers to a variable; an alias of the reference if
    /// the field is to be the variable `var`. `flags` say what the field is used for.
    pub(crate) fn atom(
        &mut self,
        text: Piece<'_>,
        flags: Flags,
        var: Option<Piece<'_>>,
    ) -> Result<Operand> {
        let field = if text.bytes().first().is_some_and(u8::is_ascii_digit) {
            let value = parse_u64(text.bytes())
                .map_err(|_| self.log.wrong(ErrorKind::ExpectNumber, text))?;

            Field::constant(value, flags)?
        } else {
            let target = expr::qualified(text);

            match self.local_field(target) {
                Some(definition) => self.field(expr::qualified(definition).name, flags)?,
                None => match self.find_reference(target) {
                    Some(idx) if var.is_none() => return Ok(Operand::Ref(idx)),
                    Some(idx) => Field::alias(idx, self.spec.refs.get(idx).ok_or(EINVAL)?)?,
                    None => self.field(target.name, flags)?,
                },
            }
        };

        Ok(Operand::Field(KBox::new(field, GFP_KERNEL)?))
    }

    /// What a variable of the same command is defined as, if that is a field of the event.
    ///
    /// A variable that is an expression, or a reference, cannot be used in the command that defines
    /// it, except by actions.
    fn local_field(&self, target: Qualified<'_>) -> Option<Piece<'a>> {
        let name = expr::variable(target.name)?;
        let (system, event) = target.event.unzip();

        if !self.is_own_event(system, event) {
            return None;
        }
        self.defs
            .iter()
            .filter(|def| def.name.is(name.bytes()))
            .map(|def| def.expr)
            .find(|expr| {
                matches!(expr::root(*expr), Root::Atom)
                    && expr::variable(expr::qualified(*expr).name).is_none()
            })
    }

    /// Refers to a variable of another histogram. It is logged if there is none, provided that it
    /// is a reference at all.
    fn find_reference(&mut self, target: Qualified<'_>) -> Option<usize> {
        let name = expr::variable(target.name)?;
        let (system, event) = target.event.unzip();
        let idx = self
            .find_event_var(system, event, name)
            .and_then(|found| self.reference(&found, system, event).ok());

        if idx.is_none() {
            self.log.error(ErrorKind::VarNotFound, name.at());
        }
        idx
    }

    /// Makes a field of `name[.modifier]`: one of the moment, or one of the event.
    fn field(&mut self, text: Piece<'_>, mut flags: Flags) -> Result<Field> {
        let (name, modifier_text) = text.split(b'.');
        let modifier = match modifier_text {
            Some(modifier) => {
                Modifier::parse(name, modifier, flags).map_err(|f| self.log.fault(f))?
            }
            None => Modifier::default(),
        };
        let mut source = None;

        flags |= modifier.flags;
        if let Some(kind) = of_the_moment(name.bytes()) {
            flags |= kind;
        } else {
            let found = self.source(name)?;

            match found.kind {
                _ if found.size > 0 => source = Some(found),
                // Without a place in the record it stands for something of the moment.
                FieldKind::Cpu => {
                    flags |= Flags::CPU;
                    source = Some(found);
                }
                FieldKind::Comm => {
                    flags |= Flags::COMM | Flags::STRING;
                    source = Some(found);
                }
                _ => flags |= Flags::STACKTRACE,
            }
        }
        if flags.any(Flags::TIMESTAMP) {
            self.spec.timestamps = true;
            self.spec.usecs |= flags.any(Flags::TIMESTAMP_USECS);
        }

        let is_stack = source
            .as_ref()
            .is_some_and(|source| source.kind == FieldKind::Stacktrace);
        if modifier.flags.any(Flags::STACKTRACE) && !is_stack {
            return Err(self.log.wrong(ErrorKind::BadFieldModifier, text));
        }
        // The first bytes of a string can be shown as a number, as in C. Those of a stack are
        // addresses of the kernel.
        let wrong = if is_stack || flags.any(Flags::STACKTRACE) {
            NUMBER_MODIFIERS
        } else if flags.any(Flags::COMM) || source.as_ref().is_some_and(Source::is_text) {
            ROUNDING
        } else {
            Flags::NONE
        };
        if modifier.flags.any(wrong) {
            let wrong = modifier_text.unwrap_or(text);
            return Err(self.log.wrong(ErrorKind::BadFieldModifier, wrong));
        }

        let mut field = Field::new(source, flags)?;
        field.buckets = modifier.buckets;
        Ok(field)
    }

    /// The field of the event with this name: one that is in the record, or one of those that stand
    /// for the processor, the name of the task, and the stack.
    fn source(&self, name: Piece<'_>) -> Result<Source> {
        let text = name.to_c_string()?;
        let found = self.file.field(&text).filter(|field| {
            field.size() != 0
                || matches!(
                    field.kind(),
                    FieldKind::Cpu | FieldKind::Comm | FieldKind::Stacktrace
                )
        });

        match found {
            Some(info) => Source::new(info),
            None => Err(self.log.wrong(ErrorKind::FieldNotFound, name)),
        }
    }
}

/// The flags of a field that is not one of the event, by its name.
fn of_the_moment(name: &[u8]) -> Option<Flags> {
    match name {
        b"common_timestamp" => Some(Flags::TIMESTAMP),
        b"common_stacktrace" => Some(Flags::STACKTRACE),
        b"common_cpu" => Some(Flags::CPU),
        b"common_comm" => Some(Flags::COMM | Flags::STRING),
        b"hitcount" => Some(Flags::HITCOUNT),
        _ => None,
    }
}
