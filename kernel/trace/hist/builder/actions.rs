// SPDX-License-Identifier: GPL-2.0

//! Creates what actions need: references, variables for the fields that are used, and histograms on
//! other events.
//!
//! Only variables are passed to a synthetic event. A field that is named stands for a variable that
//! has its value: in this histogram, if it is a field of the event.
//!
//! # Auto-created histograms
//!
//! An action can name a field of another event. As nothing can be added to a histogram that exists,
//! a new one is created there, with the keys and the filter of one that has the right keys, and
//! with a variable `synthetic_FIELD`. It is visible like any other, but need not be removed: it is
//! removed with the last histogram that refers to it.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        builtin::{
            charge,
            snapshot::ConditionalSnapshot, //
        },
        event_file::{
            EventFile,
            Locked, //
        },
        synth::{
            self,
            EventRef, //
        },
    },
};

use super::{
    references::FoundVar,
    Builder,
    Mode, //
};
use crate::{
    command::{
        action::{
            ActionClause,
            ActionKind,
            Handler, //
        },
        expr::{
            self,
            EventName,
            Qualified,
            Role, //
        },
        ErrorKind,
        Span, //
    },
    histogram::{
        Effect,
        Histogram, //
    },
    limits::PARAMS_MAX,
    program::{
        self,
        snapshot_condition::SnapshotCondition, //
    },
    registry::HistCommand,
    spec::{
        field::Type,
        Action,
        FieldVar,
        Track,
        VarKind, //
    },
    text_buf::TextBuf, //
};

/// The variable that has the largest value of what `onmax()` watches.
const MAX_NAME: &[u8] = b"__max";

/// The variable that has the smallest value of what `onmin()` watches.
const MIN_NAME: &[u8] = b"__min";

/// The variable that has the last value of what `onchange()` watches.
const CHANGE_NAME: &[u8] = b"__change";

/// The prefix of a variable for a field of another event.
const AUTO_PREFIX: &[u8] = b"synthetic_";

/// Splits a parameter `name` or `system.event.name`, of a field or of a variable with a dollar
/// sign.
fn param(text: Span<'_>) -> Result<Qualified<'_>> {
    let param = expr::qualified(text);

    if param.event.is_none() && text.find(b'.').is_some() {
        return Err(EINVAL);
    }
    Ok(param)
}

/// Returns the event at which to look for a parameter if it is not of this one: that of its
/// qualification, or that of `onmatch()`.
fn elsewhere<'a>(param: Qualified<'a>, handler: Handler<Span<'a>>) -> Option<EventName<'a>> {
    match handler {
        Handler::OnMatch { system, event } => param.event.or(Some((system, event))),
        _ => param.event,
    }
}

impl<'a, 'h> Builder<'a, 'h> {
    /// Creates the resources of the actions. The fields must have been created.
    ///
    /// If the command joins the histogram `shared`, that has created it, and it is only found out
    /// which variables and fields the actions would use here. Nothing is created that others
    /// notice.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged.
    pub(crate) fn create_actions(&mut self, shared: Option<&Histogram>) -> Result {
        if shared.is_some() {
            self.mode = Mode::JoinNamed;
        }
        for (i, clause) in self.actions.iter().enumerate() {
            self.create_action(i, clause, shared)?;
        }
        match shared {
            Some(_) => Ok(()),
            None => self.check_references(),
        }
    }

    fn create_action(
        &mut self,
        i: usize,
        clause: &ActionClause<Span<'a>>,
        shared: Option<&Histogram>,
    ) -> Result {
        let (handler, kind, subject) = (clause.handler, clause.kind, *clause.subject());
        let copy = clause.to_owned()?;

        // The effect has a place, so that it cannot get lost.
        self.effects.reserve(1, GFP_KERNEL)?;

        let mut refs = KVec::new();
        let track = self.create_track(handler)?;
        let effect = match (kind, shared.map(|hist| hist.effects.get(i))) {
            (ActionKind::Save, _) => {
                self.create_save(clause)?;
                Some(Effect::Nothing)
            }
            (ActionKind::Trace, None) => {
                let name = subject.to_c_string()?;
                let event = EventRef::find(&name, self.held())
                    .ok_or_else(|| self.log.report(ErrorKind::SynthEventNotFound, subject))?;

                match self.create_params(clause, &event) {
                    Ok(created) => refs = created,
                    Err(e) => {
                        event.release(self.held());
                        return Err(e);
                    }
                }
                Some(Effect::Trace(event))
            }
            // The event is kept by the histogram that has the action.
            (ActionKind::Trace, Some(Some(Effect::Trace(event)))) => {
                refs = self.create_params(clause, event)?;
                None
            }
            // Not reached: the histogram that is joined has the actions of the command.
            (ActionKind::Trace, Some(_)) => return Err(EINVAL),
            // It has a track: `ActionClause::parse` refuses a snapshot for `onmatch()`.
            (ActionKind::Snapshot, None) => {
                Some(self.create_snapshot(handler, track.as_ref().ok_or(EINVAL)?)?)
            }
            (ActionKind::Snapshot, Some(_)) => None,
        };

        if let Some(effect) = effect.filter(|_| shared.is_none()) {
            self.effects.push(effect, GFP_KERNEL)?;
        }
        self.spec.actions.push(
            Action {
                clause: copy,
                track,
                refs,
            },
            GFP_KERNEL,
        )?;
        Ok(())
    }

    /// Creates the watch of a variable of this histogram, if the handler has one.
    fn create_track(&mut self, handler: Handler<Span<'a>>) -> Result<Option<Track>> {
        let (var, kept) = match handler {
            Handler::OnMatch { .. } => return Ok(None),
            Handler::OnMax(var) => (var, MAX_NAME),
            Handler::OnMin(var) => (var, MIN_NAME),
            Handler::OnChange(var) => (var, CHANGE_NAME),
        };
        let Some(name) = var.strip_prefix(b"$") else {
            return Err(self.log.report(ErrorKind::OnxNotVar, var));
        };
        let found = self
            .find_own_var(None, name)
            .ok_or_else(|| self.log.report(ErrorKind::OnxVarNotFound, name))?;
        let var_ref = self.reference(&found, None)?;
        let var = self
            .new_var(kept)
            .inspect_err(|_| self.log.report_at(ErrorKind::OnxVarCreateFail, 0))?;

        Ok(Some(Track { var_ref, var }))
    }

    /// Creates a variable for a field of the event, which the parameter of an action names. Errors
    /// are logged.
    fn create_field_var(&mut self, name: Span<'a>) -> Result<FieldVar> {
        if self.spec.field_vars.len() >= PARAMS_MAX {
            return Err(self.log.report(ErrorKind::TooManyFieldVars, name));
        }

        let val = self
            .atom(name, Role::Var, false)
            .inspect_err(|_| self.log.report_at(ErrorKind::FieldVarParseFail, name.at()))?;
        let var = self
            .new_var(name.bytes())
            .inspect_err(|_| self.log.report_at(ErrorKind::VarCreateFindFail, name.at()))?;

        Ok(FieldVar { var, val })
    }

    fn create_save(&mut self, clause: &ActionClause<Span<'a>>) -> Result {
        if !self.spec.save_vars.is_empty() {
            self.log.report_at(ErrorKind::TooManySaveActions, 0);
            return Err(EEXIST);
        }

        for param in &clause.params {
            let saved = self.create_field_var(*param).inspect_err(|_| {
                self.log
                    .report_at(ErrorKind::FieldVarCreateFail, param.at())
            })?;

            self.spec.save_vars.push(saved, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn create_snapshot(&mut self, handler: Handler<Span<'a>>, track: &Track) -> Result<Effect> {
        let var = self.spec.var_ref(track.var_ref)?;
        let condition = program::condition(&handler, var.ty.signed);
        let condition = SnapshotCondition::new(condition, self.spec.key_words())?;
        let snapshot =
            ConditionalSnapshot::enable(self.file.instance(), Arc::new(condition, GFP_KERNEL)?)?;

        Ok(Effect::Snapshot(Arc::new(snapshot, GFP_KERNEL)?))
    }

    /// Creates references for the parameters of the clause, which are passed to the event. Returns
    /// their indices.
    fn create_params(
        &mut self,
        clause: &ActionClause<Span<'a>>,
        event: &EventRef,
    ) -> Result<KVec<usize>> {
        let mut refs = KVec::new();

        for (position, param) in clause.params.iter().enumerate() {
            let idx = self.create_param(event, position, *param, clause.handler)?;

            refs.push(idx, GFP_KERNEL)?;
        }
        if refs.len() != event.n_fields() {
            let subject = *clause.subject();

            return Err(self.log.report(ErrorKind::SynthCountMismatch, subject));
        }
        Ok(refs)
    }

    /// Creates a reference for the parameter that is passed to the field `position` of the event.
    /// Returns its index.
    fn create_param(
        &mut self,
        event: &EventRef,
        position: usize,
        text: Span<'a>,
        handler: Handler<Span<'a>>,
    ) -> Result<usize> {
        let param = param(text)?;
        let found = match param.name.strip_prefix(b"$") {
            Some(name) => self.param_var(param, name, handler)?,
            None => self.param_field(param, handler)?,
        };
        let (ty, kind) = found.ty(&self.spec)?;

        if !event
            .field(position, self.held())
            .is_some_and(|field| fits(&field, &ty, kind))
        {
            return Err(self.log.report(ErrorKind::SynthTypeMismatch, param.name));
        }
        self.reference(&found, param.event)
    }

    fn param_var(
        &self,
        param: Qualified<'a>,
        name: Span<'a>,
        handler: Handler<Span<'a>>,
    ) -> Result<FoundVar> {
        self.find_own_var(param.event, name)
            .or_else(|| self.find_event_var(elsewhere(param, handler), name))
            .ok_or_else(|| self.log.report(ErrorKind::ParamNotFound, name))
    }

    /// Returns the variable of a field, of this event or of the other one. Any error is `EINVAL`,
    /// as in C, unless memory is to be waited for; the log has the reason.
    fn param_field(
        &mut self,
        param: Qualified<'a>,
        handler: Handler<Span<'a>>,
    ) -> Result<FoundVar> {
        if self.is_own_event(param.event) {
            // An error has been logged. The field may be one of the other event.
            if let Ok(created) = self.create_field_var(param.name) {
                self.spec.field_vars.push(created, GFP_KERNEL)?;
                return Ok(FoundVar::last_field_var(&self.spec, param.name.at()));
            }
        }

        let event = elsewhere(param, handler).ok_or(EINVAL)?;

        self.auto_var(event, param.name).map_err(|_| {
            if charge::is_missing(self.held()) {
                ENOMEM
            } else {
                EINVAL
            }
        })
    }

    /// Finds a variable for a field of another event, or creates one. Errors are logged.
    fn auto_var(&mut self, event: EventName<'_>, field: Span<'_>) -> Result<FoundVar> {
        let Some(file) = self.event(event) else {
            return Err(self.log.report(ErrorKind::EventFileNotFound, field));
        };
        let Some(command) = self.auto_command(file, field)? else {
            return Err(self.log.report(ErrorKind::HistNotFound, field));
        };

        let mut name = TextBuf::new();
        name.put(AUTO_PREFIX);
        name.put(field.bytes());
        let name = Span::new(name.bytes()?, field.at());

        if let Some(found) = self.find_event_var(Some(event), name) {
            return Ok(found);
        }
        if self.mode == Mode::JoinNamed {
            // The histogram that has the name uses one of another instance.
            return Err(self.named_mismatch());
        }

        // Errors in it are logged in the column of the field.
        self.log
            .nested(field.at())
            .and_then(|log| (self.auto_create)(file, self.lists, &log, command.bytes()?))
            .inspect_err(|_| self.log.report_at(ErrorKind::HistCreateFail, field.at()))?;
        self.find_event_var(Some(event), name)
            .ok_or_else(|| self.log.report(ErrorKind::SynthVarNotFound, field))
    }

    /// Returns the command of an auto-created histogram, or `None` without a histogram to copy.
    fn auto_command(
        &self,
        file: EventFile<Locked<'h>>,
        field: Span<'_>,
    ) -> Result<Option<TextBuf>> {
        let mut triggers = file.triggers::<HistCommand>(self.lists);
        let Some(like) =
            triggers.find(|trigger| self.spec.has_same_key_types(&trigger.data().hist.spec))
        else {
            return Ok(None);
        };
        let spec = &like.data().hist.spec;
        let mut command = TextBuf::new();

        command.put(b"keys=");
        command.list(spec.keys(), |out, key| key.write_operand(out, &spec.refs));
        command.put(b":");
        command.put(AUTO_PREFIX);
        command.put(field.bytes());
        command.put(b"=");
        command.put(field.bytes());
        if spec.reuse {
            command.put(b":reuse");
        }
        if let Some(filter) = like.filter() {
            command.put(b" if ");
            command.put(filter.to_bytes());
        }
        command.bytes()?;
        Ok(Some(command))
    }
}

/// Returns `true` if the value of a variable can be passed to a field of a synthetic event.
///
/// Texts and numbers are never taken for each other. An array of fixed size takes a string whose
/// type has the same name or the same size.
fn fits(field: &synth::Field<'_>, ty: &Type, kind: VarKind) -> bool {
    // CAST: Both are small.
    let same_size = field.size() == ty.size as usize;
    let same_type = *field.ty() == *ty.name;

    match kind {
        VarKind::Stack(()) => field.is_stack(),
        VarKind::String(()) | VarKind::Comm => {
            field.is_string() && (field.is_dynamic() || same_type || same_size)
        }
        VarKind::Number => {
            !(field.is_string() || field.is_stack())
                && (same_type || (same_size && field.is_signed() == ty.signed))
        }
    }
}
