// SPDX-License-Identifier: GPL-2.0

//! The parameters of an action that makes a synthetic event.
//!
//! What is passed is always a variable. A field that is named stands for a variable that is made of
//! it: in this histogram, if it is a field of the event, else in a [helper](super::helper).

use kernel::{
    prelude::*,
    trace::synth::{
        self,
        EventRef, //
    },
};

use super::parse::When;
use crate::{
    build::Build,
    field::{
        Field,
        VarKind, //
    },
    log::ErrorKind,
    text::Piece,
    var::FoundVar, //
};

/// A parameter, and what it is qualified by.
#[derive(Clone, Copy)]
struct Param<'a> {
    system: Option<Piece<'a>>,
    event: Option<Piece<'a>>,
    /// A field, or a variable with a dollar sign.
    name: Piece<'a>,
}

impl<'a> Param<'a> {
    /// Takes a parameter apart: `name` or `system.event.name`.
    fn parse(text: Piece<'a>) -> Result<Self> {
        let (system, Some(rest)) = text.split(b'.') else {
            return Ok(Self {
                system: None,
                event: None,
                name: text,
            });
        };
        let (event, name) = rest.split(b'.');

        Ok(Self {
            system: Some(system),
            event: Some(event),
            name: name.ok_or(EINVAL)?,
        })
    }

    /// Where to look beyond this event: at what it is qualified by, else at the event of
    /// `onmatch()`.
    fn elsewhere(&self, when: When<'a>) -> (Option<Piece<'a>>, Option<Piece<'a>>) {
        match (self.system, when) {
            (None, When::OnMatch { system, event }) => (Some(system), Some(event)),
            _ => (self.system, self.event),
        }
    }
}

impl<'a> Build<'a, '_> {
    /// Makes a reference for the parameter that the field `position` of the event gets; gives its
    /// index.
    pub(super) fn create_param(
        &mut self,
        event: &EventRef,
        position: usize,
        text: Piece<'a>,
        when: When<'a>,
    ) -> Result<usize> {
        let param = Param::parse(text)?;
        let found = match param.name.strip_prefix(b"$") {
            Some(name) => self.param_var(param, name, when)?,
            None => self.param_field(param, when)?,
        };
        let var = found.field(&self.spec).ok_or(EINVAL)?;

        if !event
            .field(position, self.held)
            .is_some_and(|field| fits(&field, var, found.kind(&self.spec)))
        {
            return Err(self.log.wrong(ErrorKind::SynthTypeMismatch, param.name));
        }
        self.reference(&found, param.system, param.event)
    }

    fn param_var(&self, param: Param<'a>, name: Piece<'a>, when: When<'a>) -> Result<FoundVar> {
        self.find_own_var(param.system, param.event, name)
            .or_else(|| {
                let (system, event) = param.elsewhere(when);

                self.find_event_var(system, event, name)
            })
            .ok_or_else(|| self.log.wrong(ErrorKind::ParamNotFound, name))
    }

    /// The variable of a field, of this event or of the other one. Any error is `EINVAL`, as in C;
    /// the log tells more.
    fn param_field(&mut self, param: Param<'a>, when: When<'a>) -> Result<FoundVar> {
        if self.is_own_event(param.system, param.event) {
            match self.create_field_var(param.name) {
                Ok(made) => {
                    self.spec.field_vars.push(made, GFP_KERNEL)?;
                    return Ok(FoundVar::last_field_var(&self.spec, param.name.at()));
                }
                // It has been logged. The field may be one of the other event.
                Err(_) => (),
            }
        }

        match param.elsewhere(when) {
            (Some(system), Some(event)) => self
                .helper_var(system, event, param.name)
                .map_err(|_| EINVAL),
            _ => Err(EINVAL),
        }
    }
}

/// Whether a field of a synthetic event can be given the value of a variable.
///
/// Texts and numbers are never taken for each other. An array of fixed size takes a string whose
/// type has the same name or the same size.
fn fits(field: &synth::Field<'_>, var: &Field, kind: VarKind) -> bool {
    // CAST: Both are small.
    let same_size = field.size() == var.size as usize;
    let same_type = *field.ty() == *var.ty;

    match kind {
        VarKind::Stack(()) => field.is_stack(),
        VarKind::String(()) | VarKind::Comm => {
            field.is_string() && (field.is_dynamic() || same_type || same_size)
        }
        VarKind::Number => {
            !(field.is_string() || field.is_stack())
                && (same_type || (same_size && field.is_signed() == var.signed))
        }
    }
}
