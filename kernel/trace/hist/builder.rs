// SPDX-License-Identifier: GPL-2.0

//! Builds the description of a histogram from the clauses of a command.
//!
//! Errors are logged where they are found, in the `error_log` of the instance. The order in which a
//! command is parsed is part of the interface: the definitions, then values, variables, keys, the
//! sort order, and the actions.
//!
//! # Locking
//!
//! Everything runs with `event_mutex` held.

mod actions;
mod fields;
mod references;

use kernel::{
    prelude::*,
    str::CString,
    sync::Arc,
    trace::{
        builtin::charge,
        event_file::{
            EventFile,
            Locked, //
        },
        event_mutex::Held,
        instance::Instance,
        trigger::TriggersMut, //
    },
};

use crate::{
    command::{
        action::{
            ActionClause,
            Handler, //
        },
        clauses::{
            definitions,
            CommandClauses,
            VarDef, //
        },
        ErrorKind,
        ParseError,
        Span,
        TEXTS, //
    },
    histogram::{
        Effect,
        Histogram, //
    },
    limits::SORT_KEYS_MAX,
    spec::{
        SortKey,
        Spec, //
    },
    text_buf::joined, //
};

/// The clock of histograms that do not ask for one.
const CLOCK_DEFAULT: &CStr = c"global";

/// Logarithm of the number of elements of a map if no size is given.
const MAP_BITS_DEFAULT: u32 = 11;

/// The purpose of a description.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To create a histogram, or to change its trigger.
    Create,
    /// To join a named histogram, which has the actions already, so they are only compared.
    JoinNamed,
    /// To find the histogram that is to be removed.
    Remove,
}

/// Creates a histogram on another event, which is described by a command.
type AutoCreate<'h> = fn(EventFile<Locked<'h>>, &mut TriggersMut<'h>, &Log<'h>, &[u8]) -> Result;

/// A description that is being built.
pub(crate) struct Builder<'a, 'h> {
    /// The event that it is for.
    pub(crate) file: EventFile<Locked<'h>>,
    /// The triggers of all events; auto-created histograms are attached to others.
    pub(crate) lists: &'a mut TriggersMut<'h>,
    pub(crate) log: &'a Log<'h>,
    pub(crate) clauses: &'a CommandClauses<'a>,
    /// The handlers and actions of the command.
    pub(crate) actions: &'a [ActionClause<Span<'a>>],
    /// The definitions of the command, while fields are created; empty when actions are.
    defs: KVec<VarDef<'a>>,
    mode: Mode,
    auto_create: AutoCreate<'h>,
    /// The description, as far as it is built.
    pub(crate) spec: Spec,
    /// The effects of the actions. If no histogram is created in the end, the caller has to release
    /// them.
    pub(crate) effects: KVec<Effect>,
    /// The histograms that the description refers to.
    pub(crate) owners: KVec<Arc<Histogram>>,
}

/// Parses the handlers and actions of a command for `file`.
///
/// # Errors
///
/// The error has been logged if it is one that is logged.
pub(crate) fn parse_actions<'a>(
    file: EventFile<Locked<'_>>,
    log: &Log<'_>,
    clauses: &CommandClauses<'a>,
) -> Result<KVec<ActionClause<Span<'a>>>> {
    let mut actions = KVec::new();

    for text in &clauses.actions {
        let known = |system, event| references::find_event(file, (system, event)).is_some();
        let clause = ActionClause::parse(*text, known).map_err(|e| log.parse_error(e))?;

        actions.push(clause, GFP_KERNEL)?;
    }
    Ok(actions)
}

impl<'a, 'h> Builder<'a, 'h> {
    /// Creates an empty description of a histogram for `file`.
    pub(crate) fn new(
        file: EventFile<Locked<'h>>,
        lists: &'a mut TriggersMut<'h>,
        log: &'a Log<'h>,
        clauses: &'a CommandClauses<'a>,
        actions: &'a [ActionClause<Span<'a>>],
        mode: Mode,
        auto_create: AutoCreate<'h>,
    ) -> Result<Self> {
        let clock = match clauses.clock {
            Some(clock) => clock.to_c_string()?,
            None => CString::try_from(CLOCK_DEFAULT)?,
        };
        let spec = Spec {
            fields: KVec::new(),
            n_vals: 0,
            key_size: 0,
            refs: KVec::new(),
            sort_keys: [SortKey::default(); SORT_KEYS_MAX],
            n_sort_keys: 0,
            name: clauses.name.map(Span::to_c_string).transpose()?,
            clock,
            no_hitcount: clauses.no_hitcount,
            quantiles: clauses.quantiles.is_some(),
            reuse: clauses.reuse.is_some(),
            timestamps: false,
            usecs: false,
            map_bits: clauses.map_bits.unwrap_or(MAP_BITS_DEFAULT),
            actions: KVec::new(),
            field_vars: KVec::new(),
            save_vars: KVec::new(),
            n_map_vars: 0,
        };

        Ok(Self {
            file,
            lists,
            log,
            clauses,
            actions,
            defs: KVec::new(),
            mode,
            auto_create,
            spec,
            effects: KVec::new(),
            owners: KVec::new(),
        })
    }

    pub(crate) fn held(&self) -> Held<'h> {
        self.lists.held()
    }

    /// Creates the fields and the sort order. References are looked up first at the events of
    /// `onmatch()`, but nothing is created for actions.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged.
    pub(crate) fn create_fields(&mut self) -> Result {
        self.defs = definitions(&self.clauses.assignments).map_err(|e| self.log.parse_error(e))?;
        let result = self
            .create_vals()
            .and_then(|()| self.create_vars())
            .and_then(|()| self.create_keys());
        self.defs.clear();
        result?;

        self.check_quantiles()?;
        self.check_reuse()?;
        self.check_references()?;
        self.create_sort_keys()?;
        self.number_vars();
        Ok(())
    }

    /// Checks that a key exists from which quantiles can be computed, if the command asks for
    /// them.
    fn check_quantiles(&self) -> Result {
        match self.clauses.quantiles {
            Some(clause) if self.spec.parts_key().is_none() => {
                Err(self.log.report(ErrorKind::NeedLog2Key, clause))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a histogram that reuses elements has only variables in them.
    fn check_reuse(&self) -> Result {
        let Some(clause) = self.clauses.reuse else {
            return Ok(());
        };
        let mut values = self.spec.vals().iter().skip(1);
        let has_values = values.any(|value| value.var.is_none());
        let has_vars = self.spec.fields.iter().any(|field| field.var.is_some());
        let compares = self
            .actions
            .iter()
            .any(|action| !matches!(action.handler, Handler::OnMatch { .. }));

        if has_values || compares || self.clauses.quantiles.is_some() {
            return Err(self.log.report(ErrorKind::ReuseLosesValues, clause));
        }
        if !has_vars && self.actions.is_empty() {
            return Err(self.log.report(ErrorKind::NeedReuseVar, clause));
        }
        Ok(())
    }

    /// Logs that the histogram of this name is a different one, and returns the error for the
    /// write.
    pub(crate) fn named_mismatch(&self) -> Error {
        let at = self.clauses.name.map_or(0, Span::at);

        self.log.report_at(ErrorKind::NamedMismatch, at);
        EINVAL
    }

    /// Assigns numbers to the variables, in the order of the fields.
    fn number_vars(&mut self) {
        let vars = self.spec.fields.iter_mut().filter_map(|f| f.var.as_mut());
        let mut n = 0;

        for var in vars {
            var.idx = n;
            n = n.wrapping_add(1);
        }
        self.spec.n_map_vars = n;
    }
}

/// The prefix of the parameters of a command in the log.
const PREFIX: &[u8] = b"hist:";

/// The column that the parameters of a command begin in.
pub(crate) const PARAMS_AT: usize = PREFIX.len();

/// The log for the errors of a command.
pub(crate) struct Log<'h> {
    held: Held<'h>,
    instance: Instance<'h>,
    location: CString,
    command: CString,
    /// The column of the caret under all errors, if the command was created for a part of the
    /// user's.
    column: Option<usize>,
}

impl<'h> Log<'h> {
    /// Creates the log for a command of the event `file`, with `params` as the text after `hist:`.
    pub(crate) fn new(file: EventFile<Locked<'h>>, params: &[u8], held: Held<'h>) -> Result<Self> {
        Ok(Self {
            held,
            instance: file.instance(),
            location: joined(&[
                PREFIX,
                file.system().to_bytes(),
                b":",
                file.name().to_bytes(),
            ])?,
            command: joined(&[PREFIX, params])?,
            column: None,
        })
    }

    /// Returns the log for a command that is created for the text in column `at` of this one.
    pub(crate) fn nested(&self, at: usize) -> Result<Self> {
        Ok(Self {
            held: self.held,
            instance: self.instance,
            location: joined(&[self.location.to_bytes()])?,
            command: joined(&[self.command.to_bytes()])?,
            column: Some(self.column.unwrap_or(at)),
        })
    }

    /// Logs an error in column `at`, unless it is one for lack of memory: the line is executed
    /// again when memory is available.
    pub(crate) fn report_at(&self, kind: ErrorKind, at: usize) {
        if charge::is_missing(self.held) {
            return;
        }

        let at = self.column.unwrap_or(at);

        self.instance.log_error(
            &self.location,
            &self.command,
            &TEXTS,
            // CAST: The discriminant.
            kind as u8,
            at.try_into().unwrap_or(u16::MAX),
        );
    }

    /// Logs an error in `span`. Returns `EINVAL` for the caller to return.
    pub(crate) fn report(&self, kind: ErrorKind, span: Span<'_>) -> Error {
        self.report_at(kind, span.at());
        EINVAL
    }

    /// Logs an error if it has an entry for the log, and returns its errno.
    pub(crate) fn parse_error(&self, error: ParseError) -> Error {
        if let Some((kind, at)) = error.entry {
            self.report_at(kind, at);
        }
        error.errno
    }
}
