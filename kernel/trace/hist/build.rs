// SPDX-License-Identifier: GPL-2.0

//! Makes the description of a histogram from the clauses of a command.
//!
//! Everything runs with `event_mutex` held. Errors are logged where they are found. The order in
//! which a command is parsed is part of the interface: the definitions, then values, variables,
//! keys, the sort order, and the actions.

mod atom;
mod expr;
mod keys;
mod sort;
mod values;
pub(crate) mod vars;

use kernel::{
    prelude::*,
    str::CString,
    trace::{
        event_file::EventFile,
        event_mutex::Held,
        trigger::Lists, //
    },
};

use super::{
    action::parse::Clause,
    attrs::Attrs,
    data::{
        SortKey,
        Spec, //
    },
    field::Flags,
    log::{
        ErrorKind,
        Log, //
    },
    text::Piece,
    SORT_KEYS_MAX, //
};

/// The clock of histograms that do not ask for one.
const CLOCK_DEFAULT: &CStr = c"global";

/// Logarithm of the number of elements of a map if no size is given.
const MAP_BITS_DEFAULT: u32 = 11;

/// A definition `name=expression`.
pub(crate) struct VarDef<'a> {
    pub(crate) name: Piece<'a>,
    pub(crate) expr: Piece<'a>,
}

/// A histogram that is being made.
pub(crate) struct Build<'a, 'h> {
    /// The event that it is for.
    pub(crate) file: EventFile<'h>,
    pub(crate) held: Held<'h>,
    /// The triggers of all events; helpers are attached to others.
    pub(crate) lists: &'a mut Lists<'h>,
    pub(crate) log: &'a Log<'h>,
    pub(crate) attrs: &'a Attrs<'a>,
    /// The handlers and actions of the command.
    pub(crate) clauses: KVec<Clause<'a>>,
    /// The definitions of the command, while fields are made; empty when actions are.
    pub(crate) defs: KVec<VarDef<'a>>,
    /// It is only made to find the one to be removed.
    pub(crate) remove: bool,
    /// A histogram of this name has the actions already, so they are only compared.
    pub(crate) joins: bool,
    /// What there is so far.
    pub(crate) spec: Spec,
}

impl<'a, 'h> Build<'a, 'h> {
    /// A histogram for `file` that has nothing yet.
    pub(crate) fn new(
        file: EventFile<'h>,
        held: Held<'h>,
        lists: &'a mut Lists<'h>,
        log: &'a Log<'h>,
        attrs: &'a Attrs<'a>,
        remove: bool,
    ) -> Result<Self> {
        let clock = match attrs.clock {
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
            name: attrs.name.map(Piece::to_c_string).transpose()?,
            clock,
            no_hitcount: attrs.no_hitcount,
            timestamps: false,
            usecs: false,
            map_bits: attrs.map_bits.unwrap_or(MAP_BITS_DEFAULT),
            actions: KVec::new(),
            field_vars: KVec::new(),
            save_vars: KVec::new(),
            n_map_vars: 0,
        };

        Ok(Self {
            file,
            held,
            lists,
            log,
            attrs,
            clauses: KVec::new(),
            defs: KVec::new(),
            remove,
            joins: false,
            spec,
        })
    }

    /// Makes the fields and the sort order. What the actions need is not made, but their handlers
    /// must be known: references are looked up first at the events of `onmatch()`.
    ///
    /// # Errors
    ///
    /// The error has been logged if it is one that is logged.
    pub(crate) fn create_fields(&mut self) -> Result {
        self.defs = vars::definitions(&self.attrs.assignments).map_err(|f| self.log.fault(f))?;
        let result = self.create_vals_vars_keys();
        self.defs.clear();
        result?;

        self.check_references()?;
        self.create_sort_keys()?;
        self.number_vars();
        Ok(())
    }

    fn create_vals_vars_keys(&mut self) -> Result {
        self.create_vals()?;
        self.create_vars()?;
        self.create_keys()
    }

    /// Logs that the histogram of this name is a different one, and returns the error for the
    /// write.
    pub(crate) fn named_mismatch(&self) -> Error {
        let at = self.attrs.name.map_or(0, Piece::at);

        self.log.error(ErrorKind::NamedMismatch, at);
        EINVAL
    }

    /// Numbers the variables in the order of the fields.
    fn number_vars(&mut self) {
        let vars = self
            .spec
            .fields
            .iter_mut()
            .filter(|field| field.flags.any(Flags::VAR))
            .filter_map(|field| field.var.as_mut());
        let mut n = 0;

        for var in vars {
            var.idx = n;
            n = n.wrapping_add(1);
        }
        self.spec.n_map_vars = n;
    }
}
