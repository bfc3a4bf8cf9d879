// SPDX-License-Identifier: GPL-2.0

//! Variables: finding them by name, and referring to them.
//!
//! A variable belongs to a histogram. Histograms of other events of the instance, and its own
//! actions, use it by a [reference](VarRef): the value is looked up in the element with the key of
//! the referring histogram's hit, so the keys of both must be of the same shape.
//!
//! Everything runs with `event_mutex` held.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::{
        event_file::EventFile,
        trigger::Lists, //
    },
};

use super::{
    action::parse::Clause,
    build::Build,
    data::{
        Hist,
        Spec, //
    },
    field::{
        Field,
        Flags,
        Owner,
        Var,
        VarKind,
        VarRef, //
    },
    log::ErrorKind,
    registry::{
        self,
        Defined, //
    },
    text::{
        c_string,
        Piece, //
    },
    trigger::Histogram,
    VARS_MAX, //
};

/// Marks that a reference takes over from the variable.
const TAKEN_OVER: Flags = Flags::TIMESTAMP
    .with(Flags::TIMESTAMP_USECS)
    .with(Flags::STACKTRACE);

/// Which variable of a histogram.
#[derive(Clone, Copy)]
enum WhichVar {
    /// One that the command defines, an index into [`Spec::fields`].
    Field(usize),
    /// One that stands for a field that an action uses, an index into [`Spec::field_vars`].
    FieldVar(usize),
}

/// A variable that has been found.
pub(crate) struct FoundVar {
    owner: Owner,
    which: WhichVar,
    /// The column that the name was found in.
    at: usize,
}

impl FoundVar {
    /// A variable of another histogram: the field `index`.
    fn of_other(hist: Arc<Hist>, index: usize, at: usize) -> Self {
        Self {
            owner: Owner::Other(hist),
            which: WhichVar::Field(index),
            at,
        }
    }

    /// The newest of the variables that stand for fields in the histogram that is being made.
    pub(crate) fn last_field_var(spec: &Spec, at: usize) -> Self {
        Self {
            owner: Owner::Own,
            which: WhichVar::FieldVar(spec.field_vars.len().wrapping_sub(1)),
            at,
        }
    }

    /// The histogram that has it; `own` is the one that is being made.
    fn spec<'s>(&'s self, own: &'s Spec) -> &'s Spec {
        match &self.owner {
            Owner::Own => own,
            Owner::Other(hist) => &hist.spec,
        }
    }

    /// The variable; `own` is the histogram that is being made.
    pub(crate) fn field<'s>(&'s self, own: &'s Spec) -> Option<&'s Field> {
        let spec = self.spec(own);

        match self.which {
            WhichVar::Field(i) => spec.fields.get(i),
            WhichVar::FieldVar(i) => spec.field_vars.get(i).map(|pair| &pair.var),
        }
    }

    /// What it holds; `own` is the histogram that is being made.
    pub(crate) fn kind(&self, own: &Spec) -> VarKind {
        let spec = self.spec(own);
        // What a variable that stands for a field holds is known from the field.
        let stored = match self.which {
            WhichVar::Field(i) => spec.fields.get(i),
            WhichVar::FieldVar(i) => spec.field_vars.get(i).map(|pair| &pair.val),
        };

        stored.map_or(VarKind::Number, |field| spec.var_kind(field))
    }
}

impl Spec {
    /// The index of the variable of this name among the fields.
    pub(crate) fn var_index(&self, name: &[u8]) -> Option<usize> {
        self.fields
            .iter()
            .position(|field| field.is_var_named(name))
    }

    /// What the variable that a field is stored in holds.
    pub(crate) fn var_kind(&self, field: &Field) -> VarKind {
        field.var_kind(|i| self.refs.get(i).map_or(VarKind::Number, |r| r.kind))
    }

    /// Whether the first keys of this histogram can be those of a histogram `other`: each is a
    /// number, a string or a stack as the other is.
    fn has_keys_of(&self, other: &Self) -> bool {
        self.n_keys() >= other.n_keys()
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(a, b)| a.key_kind() == b.key_kind())
    }
}

impl Field {
    /// Whether it is the variable of this name.
    fn is_var_named(&self, name: &[u8]) -> bool {
        self.flags.any(Flags::VAR)
            && self
                .var
                .as_ref()
                .is_some_and(|var| var.name.to_bytes() == name)
    }

    /// What a key is: the mark of a string, of a stack, or none.
    fn key_kind(&self) -> Flags {
        self.flags.and(Flags::STRING | Flags::STACKTRACE)
    }
}

/// The first histogram of the event that defines a variable of this name, and its index.
fn file_var(file: EventFile<'_>, lists: &Lists<'_>, name: &[u8]) -> Option<(Arc<Hist>, usize)> {
    file.triggers::<Histogram>(lists).find_map(|trigger| {
        let hist = &trigger.data().hist;

        Some((hist.clone(), hist.spec.var_index(name)?))
    })
}

impl<'h> Build<'_, 'h> {
    /// Whether the histogram that is being made, or one that the event has, defines a variable of
    /// this name.
    pub(crate) fn defined(&self, name: &[u8]) -> bool {
        self.spec.var_index(name).is_some() || file_var(self.file, self.lists, name).is_some()
    }

    /// Finds a variable of a histogram that exists.
    ///
    /// If it is not qualified, the events of `onmatch()` are tried first; after them all others,
    /// but then only one may have it. It is logged if there are several.
    pub(crate) fn find_event_var(
        &self,
        system: Option<Piece<'_>>,
        event: Option<Piece<'_>>,
        name: Piece<'_>,
    ) -> Option<FoundVar> {
        let (hist, index) = match (system, event) {
            (Some(system), Some(event)) => {
                self.var_of_event(system.bytes(), event.bytes(), name.bytes())?
            }
            _ => self.unqualified_var(name)?,
        };

        Some(FoundVar::of_other(hist, index, name.at()))
    }

    fn unqualified_var(&self, name: Piece<'_>) -> Option<(Arc<Hist>, usize)> {
        let mut found: Option<(Arc<Hist>, usize)> = None;

        for (system, event) in self.clauses.iter().filter_map(Clause::matched) {
            let Some((hist, index)) =
                self.var_of_event(system.bytes(), event.bytes(), name.bytes())
            else {
                continue;
            };

            if found
                .as_ref()
                .is_some_and(|(before, i)| !Arc::ptr_eq(before, &hist) || *i != index)
            {
                self.log.error(ErrorKind::VarNotUnique, name.at());
                return None;
            }
            found = Some((hist, index));
        }
        if found.is_some() {
            return found;
        }

        match registry::find_var(self.held, self.file.instance(), name.bytes()) {
            Defined::Nowhere => None,
            Defined::Once(hist, index) => Some((hist, index)),
            Defined::Often => {
                self.log.error(ErrorKind::VarNotUnique, name.at());
                None
            }
        }
    }

    /// A variable of this event's histograms.
    fn var_of_event(&self, system: &[u8], event: &[u8], name: &[u8]) -> Option<(Arc<Hist>, usize)> {
        file_var(self.event(system, event)?, self.lists, name)
    }

    /// The event of this name in the instance.
    pub(crate) fn event(&self, system: &[u8], event: &[u8]) -> Option<EventFile<'h>> {
        // A name that does not fit in memory is not that of an event.
        let system = c_string(system).ok()?;
        let event = c_string(event).ok()?;

        self.file.instance().find_file(&system, &event)
    }

    /// Whether a qualification, if there is one, means the event that the histogram is for.
    pub(crate) fn is_own_event(&self, system: Option<Piece<'_>>, event: Option<Piece<'_>>) -> bool {
        match (system, event) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(system), Some(event)) => {
                system.is(self.file.system().to_bytes()) && event.is(self.file.name().to_bytes())
            }
        }
    }

    /// Finds a variable that the command itself defines.
    pub(crate) fn find_own_var(
        &self,
        system: Option<Piece<'_>>,
        event: Option<Piece<'_>>,
        name: Piece<'_>,
    ) -> Option<FoundVar> {
        if !self.is_own_event(system, event) {
            return None;
        }

        Some(FoundVar {
            owner: Owner::Own,
            which: WhichVar::Field(self.spec.var_index(name.bytes())?),
            at: name.at(),
        })
    }

    /// Refers to a variable; gives the index of the reference, which may exist already.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there is no memory or no room for one more.
    pub(crate) fn reference(
        &mut self,
        found: &FoundVar,
        system: Option<Piece<'_>>,
        event: Option<Piece<'_>>,
    ) -> Result<usize> {
        let var = found.field(&self.spec).ok_or(EINVAL)?;
        let Var { name, idx } = var.var.as_ref().ok_or(EINVAL)?;

        if let Some(i) = self
            .spec
            .refs
            .iter()
            .position(|r| r.var_idx == *idx && r.owner.same(&found.owner))
        {
            return Ok(i);
        }
        if self.spec.refs.len() >= VARS_MAX {
            return Err(ENOMEM);
        }

        let copy = |piece: Option<Piece<'_>>| piece.map(Piece::to_c_string).transpose();
        let new = VarRef {
            owner: found.owner.clone(),
            var_idx: *idx,
            flags: Flags::VAR_REF | var.flags.and(TAKEN_OVER),
            name: c_string(name.to_bytes())?,
            system: copy(system)?,
            event: copy(event)?,
            ty: c_string(var.ty.to_bytes())?,
            size: var.size,
            signed: var.signed,
            read_once: false,
            kind: found.kind(&self.spec),
            at: found.at,
        };

        self.spec.refs.push(new, GFP_KERNEL)?;
        Ok(self.spec.refs.len().wrapping_sub(1))
    }

    /// Checks that the keys fit those of all histograms that are referred to.
    ///
    /// # Errors
    ///
    /// `EINVAL`, which is logged.
    pub(crate) fn check_references(&self) -> Result {
        for reference in &self.spec.refs {
            if let Owner::Other(hist) = &reference.owner {
                if !self.spec.has_keys_of(&hist.spec) {
                    self.log.error(ErrorKind::HistNotFound, reference.at);
                    return Err(EINVAL);
                }
            }
        }
        Ok(())
    }

    /// The number of a new variable.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there are too many.
    pub(crate) fn add_map_var(&mut self) -> Result<usize> {
        let idx = self.spec.n_map_vars;

        if idx >= VARS_MAX {
            return Err(EINVAL);
        }
        self.spec.n_map_vars = idx.wrapping_add(1);
        Ok(idx)
    }
}

impl Owner {
    /// Whether both are the same histogram.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own, Self::Own) => true,
            (Self::Other(a), Self::Other(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
