// SPDX-License-Identifier: GPL-2.0

//! Variables: `name=expression`.

use kernel::prelude::*;

use super::{
    Build,
    VarDef, //
};
use crate::{
    field::Flags,
    log::{
        ErrorKind,
        Fault, //
    },
    text::Piece,
    VARS_MAX, //
};

/// Cuts clauses of comma-separated definitions into the definitions.
///
/// No more definitions of a clause are read than there can be variables.
pub(crate) fn definitions<'a>(assignments: &[Piece<'a>]) -> Result<KVec<VarDef<'a>>, Fault> {
    let mut defs = KVec::new();

    for clause in assignments {
        for definition in clause.pieces(b',').take(VARS_MAX) {
            let (name, expr) = definition.split(b'=');
            let expr = expr.ok_or(Fault::new(ErrorKind::MalformedAssignment, name))?;

            if defs.len() >= VARS_MAX {
                return Err(Fault::new(ErrorKind::TooManyVars, name));
            }
            defs.push(VarDef { name, expr }, GFP_KERNEL)?;
        }
    }
    Ok(defs)
}

impl Build<'_, '_> {
    /// Makes the variables that the command defines.
    pub(super) fn create_vars(&mut self) -> Result {
        for i in 0..self.defs.len() {
            let Some(&VarDef { name, expr }) = self.defs.get(i) else {
                break;
            };

            self.create_var(name, expr)?;
        }
        Ok(())
    }

    fn create_var(&mut self, name: Piece<'_>, expr: Piece<'_>) -> Result {
        if !self.remove && self.defined(name.bytes()) {
            return Err(self.log.wrong(ErrorKind::DuplicateVar, name));
        }

        let mut field = self.whole(expr, Flags::VAR, Some(name))?;
        if field
            .flags
            .any(Flags::GRAPH | Flags::PERCENT | Flags::BUCKET | Flags::LOG2)
        {
            return Err(self.log.wrong(ErrorKind::BadFieldModifier, expr));
        }
        if field.flags.any(Flags::EXECNAME) {
            field.make_execname()?;
        }
        self.push_val(field)
    }
}
