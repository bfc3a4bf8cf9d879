// SPDX-License-Identifier: GPL-2.0

//! Makes what actions need.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        snapshot::ConditionalSnapshot,
        synth::EventRef, //
    },
};

use super::{
    parse::{
        Clause,
        What,
        When, //
    },
    Action,
    ActionKind,
    Handler,
    Track, //
};
use crate::{
    build::Build,
    data::{
        FieldVar,
        Spec, //
    },
    field::{
        Field,
        Flags,
        Operand, //
    },
    log::ErrorKind,
    text::{
        c_string,
        Piece, //
    },
    update::condition::SnapshotCondition,
    PARAMS_MAX,
    WORD, //
};

/// The variable that has the largest value of what `onmax()` watches.
const MAX_NAME: &[u8] = b"__max";

/// The variable that has the last value of what `onchange()` watches.
const CHANGE_NAME: &[u8] = b"__change";

impl<'a> Build<'a, '_> {
    /// Takes the clauses of the command apart.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged.
    pub(crate) fn parse_actions(&mut self) -> Result {
        for text in &self.attrs.actions {
            let clause = Clause::parse(*text, |system, event| {
                self.event(system.bytes(), event.bytes()).is_some()
            })
            .map_err(|fault| self.log.fault(fault))?;

            self.clauses.push(clause, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Makes what the actions need. The fields must have been made.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged. The caller has to give back what was
    /// made until then.
    pub(crate) fn create_actions(&mut self) -> Result {
        for i in 0..self.clauses.len() {
            self.create_action(i)?;
        }
        self.check_references()
    }

    /// Finds what the actions use, if the histogram `shared` that the command joins has made them.
    /// Nothing is made that others notice. Gives the references that are the parameters of all
    /// synthetic events.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged.
    pub(crate) fn find_actions(&mut self, shared: &Spec) -> Result<KVec<usize>> {
        let mut refs = KVec::new();

        self.joins = true;
        for i in 0..self.clauses.len() {
            let &Clause {
                when,
                what,
                name,
                ref params,
                ..
            } = self.clauses.get(i).ok_or(EINVAL)?;
            let n_params = params.len();

            // So variables get the numbers that they have there.
            self.create_handler(when)?;
            match what {
                What::Save => self.create_save(i, n_params)?,
                What::Trace => {
                    // The event is kept by the histogram that has the action.
                    let action = shared.actions.get(i).ok_or(EINVAL)?;
                    let ActionKind::Trace { event, .. } = &action.kind else {
                        return Err(EINVAL);
                    };

                    let made = self.create_params(i, n_params, when, name, event)?;

                    refs.extend_from_slice(&made, GFP_KERNEL)?;
                }
                What::Snapshot => (),
            }
        }
        Ok(refs)
    }

    fn create_action(&mut self, i: usize) -> Result {
        let &Clause {
            when,
            what,
            name,
            traced,
            params: ref texts,
        } = self.clauses.get(i).ok_or(EINVAL)?;
        let n_params = texts.len();
        let mut params = KVec::with_capacity(n_params, GFP_KERNEL)?;

        for text in texts {
            params.push(text.to_c_string()?, GFP_KERNEL)?;
        }
        // The action has a place, so that what is made for it cannot get lost.
        self.spec.actions.reserve(1, GFP_KERNEL)?;

        let handler = self.create_handler(when)?;
        let name_copy = name.to_c_string()?;
        let traced_copy = traced.map(Piece::to_c_string).transpose()?;
        let kind = match what {
            What::Save => {
                self.create_save(i, n_params)?;
                ActionKind::Save
            }
            What::Trace => self.create_trace(i, n_params, when, traced.unwrap_or(name))?,
            What::Snapshot => self.create_snapshot(&handler)?,
        };

        self.spec.actions.push(
            Action {
                handler,
                kind,
                name: name_copy,
                params,
                traced: traced_copy,
            },
            GFP_KERNEL,
        )?;
        Ok(())
    }

    /// The parameter `j` of the clause `i`.
    fn param(&self, i: usize, j: usize) -> Result<Piece<'a>> {
        self.clauses
            .get(i)
            .and_then(|clause| clause.params.get(j))
            .copied()
            .ok_or(EINVAL)
    }

    fn create_handler(&mut self, when: When<'a>) -> Result<Handler> {
        Ok(match when {
            When::OnMatch { system, event } => Handler::OnMatch {
                system: system.to_c_string()?,
                event: event.to_c_string()?,
            },
            When::OnMax(var) => Handler::OnMax(self.track(var, MAX_NAME)?),
            When::OnChange(var) => Handler::OnChange(self.track(var, CHANGE_NAME)?),
        })
    }

    /// Watches a variable of this histogram. What it is compared to is kept in a variable `kept`.
    fn track(&mut self, var: Piece<'a>, kept: &[u8]) -> Result<Track> {
        let Some(name) = var.strip_prefix(b"$") else {
            return Err(self.log.wrong(ErrorKind::OnxNotVar, var));
        };
        let found = self
            .find_own_var(None, None, name)
            .ok_or_else(|| self.log.wrong(ErrorKind::OnxVarNotFound, name))?;
        let var_ref = self.reference(&found, None, None)?;
        // CAST: Small.
        let size = WORD as u32;
        let track_var = self
            .new_var(kept, c"u64", size)
            .inspect_err(|_| self.log.error(ErrorKind::OnxVarCreateFail, 0))?;

        Ok(Track {
            var_str: var.to_c_string()?,
            var_ref,
            track_var,
        })
    }

    /// A variable that an action keeps something in.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the command or another histogram of the event defines a variable of this name,
    /// or if there are too many.
    fn new_var(&mut self, name: &[u8], ty: &CStr, size: u32) -> Result<Field> {
        if self.defined(name) {
            return Err(EINVAL);
        }

        let idx = self.add_map_var()?;

        Field::variable(c_string(name)?, idx, ty, size)
    }

    /// A variable for a field of the event, which the parameter of an action names. What is wrong
    /// is logged.
    pub(super) fn create_field_var(&mut self, name: Piece<'a>) -> Result<FieldVar> {
        if self.spec.field_vars.len() >= PARAMS_MAX {
            return Err(self.log.wrong(ErrorKind::TooManyFieldVars, name));
        }

        let val = self
            .atom(name, Flags::VAR, None)
            .and_then(|operand| match operand {
                Operand::Field(field) => Ok(KBox::into_inner(field)),
                Operand::Ref(i) => Field::reference(i, self.spec.refs.get(i).ok_or(EINVAL)?),
            })
            .inspect_err(|_| self.log.error(ErrorKind::FieldVarParseFail, name.at()))?;
        let mut var = self
            .new_var(name.bytes(), &val.ty, val.size)
            .inspect_err(|_| self.log.error(ErrorKind::VarCreateFindFail, name.at()))?;

        var.flags |= val.flags.and(Flags::STACKTRACE);
        Ok(FieldVar { var, val })
    }

    fn create_save(&mut self, i: usize, n_params: usize) -> Result {
        if !self.spec.save_vars.is_empty() {
            self.log.error(ErrorKind::TooManySaveActions, 0);
            return Err(EEXIST);
        }

        for j in 0..n_params {
            let param = self.param(i, j)?;
            let saved = self
                .create_field_var(param)
                .inspect_err(|_| self.log.error(ErrorKind::FieldVarCreateFail, param.at()))?;

            self.spec.save_vars.push(saved, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn create_snapshot(&mut self, handler: &Handler) -> Result<ActionKind> {
        let (track, larger) = match handler {
            Handler::OnMatch { .. } => return Err(EINVAL),
            Handler::OnMax(track) => (track, true),
            Handler::OnChange(track) => (track, false),
        };
        let var = self.spec.refs.get(track.var_ref).ok_or(EINVAL)?;
        let condition = SnapshotCondition::new(&self.spec, larger, var.signed)?;
        let snapshot =
            ConditionalSnapshot::enable(self.file.instance(), Arc::new(condition, GFP_KERNEL)?)?;

        Ok(ActionKind::Snapshot(Arc::new(snapshot, GFP_KERNEL)?))
    }

    fn create_trace(
        &mut self,
        i: usize,
        n_params: usize,
        when: When<'a>,
        name: Piece<'a>,
    ) -> Result<ActionKind> {
        let Some(event) = EventRef::find(&name.to_c_string()?, self.held) else {
            return Err(self.log.wrong(ErrorKind::SynthEventNotFound, name));
        };

        match self.create_params(i, n_params, when, name, &event) {
            Ok(refs) => Ok(ActionKind::Trace { event, refs }),
            Err(e) => {
                event.release(self.held);
                Err(e)
            }
        }
    }

    /// Makes references for the parameters of the clause `i`, which the event `name` gets; gives
    /// their indices.
    fn create_params(
        &mut self,
        i: usize,
        n_params: usize,
        when: When<'a>,
        name: Piece<'a>,
        event: &EventRef,
    ) -> Result<KVec<usize>> {
        let mut refs = KVec::new();

        for j in 0..n_params {
            let param = self.param(i, j)?;
            let idx = self.create_param(event, j, param, when)?;

            refs.push(idx, GFP_KERNEL)?;
        }
        if n_params != event.n_fields() {
            return Err(self.log.wrong(ErrorKind::SynthCountMismatch, name));
        }
        Ok(refs)
    }
}
