// SPDX-License-Identifier: GPL-2.0

//! Values: what is summed up.

use kernel::prelude::*;

use super::Build;
use crate::{
    field::{
        Field,
        Flags, //
    },
    log::ErrorKind,
    text::Piece,
    VALS_MAX, //
};

/// Modifiers that only a key can have.
const KEY_MODIFIERS: Flags = Flags::BUCKET
    .with(Flags::LOG2)
    .with(Flags::SYM)
    .with(Flags::SYM_OFFSET)
    .with(Flags::SYSCALL);

impl Build<'_, '_> {
    /// Makes the values: the hit count, and the fields of `vals=`.
    ///
    /// A `hitcount` in the list is the one that there is anyway; only another one is a value of its
    /// own.
    pub(super) fn create_vals(&mut self) -> Result {
        self.push_val(Field::hitcount()?)?;

        if let Some(vals) = self.attrs.vals {
            self.create_listed_vals(vals)?;
        }
        if self.spec.no_hitcount && self.spec.n_vals <= 1 {
            self.log.error(ErrorKind::NeedNohcVal, 0);
            return Err(ENOENT);
        }
        Ok(())
    }

    fn create_listed_vals(&mut self, vals: Piece<'_>) -> Result {
        let mut had_hitcount = false;
        let mut rest = Some(vals);

        for _ in 0..VALS_MAX {
            let Some(list) = rest.filter(|_| self.spec.n_vals < VALS_MAX) else {
                break;
            };
            let (val, behind) = list.split(b',');

            rest = behind;
            if val.is(b"hitcount") && !had_hitcount {
                had_hitcount = true;
                continue;
            }
            self.create_val(val)?;
        }
        match rest {
            Some(rest) if !rest.is(b"hitcount") => Err(EINVAL),
            _ => Ok(()),
        }
    }

    fn create_val(&mut self, text: Piece<'_>) -> Result {
        let field = self.whole(text, Flags::NONE, None)?;

        if field.flags.any(KEY_MODIFIERS.with(Flags::STACKTRACE)) {
            return Err(self.log.wrong(ErrorKind::BadFieldModifier, text));
        }
        if self.is_text(&field) {
            return Err(self.log.wrong(ErrorKind::InvalidStrOperand, text));
        }
        self.push_val(field)
    }

    /// Adds a value or a variable.
    pub(super) fn push_val(&mut self, field: Field) -> Result {
        self.spec.fields.push(field, GFP_KERNEL)?;
        self.spec.n_vals = self.spec.n_vals.wrapping_add(1);
        Ok(())
    }
}
