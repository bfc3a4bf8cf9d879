// SPDX-License-Identifier: GPL-2.0

//! Finds variables, and refers to them.
//!
//! A variable is a value that an element keeps. Histograms of other events of the instance, and its
//! own actions, use it by a [reference](VarRef): the value is looked up in the element with the key
//! of the referring histogram's hit, so the keys of both must be of the same kinds.

use kernel::{
    prelude::*,
    sync::Arc,
    trace::event_file::{
        EventFile,
        Locked, //
    },
};

use super::Builder;
use crate::{
    command::{
        action::ActionClause,
        expr::EventName,
        ErrorKind,
        Span, //
    },
    histogram::Histogram,
    limits::VARS_MAX,
    registry::{
        self,
        HistCommand,
        Lookup, //
    },
    spec::{
        field::{
            Field,
            Type, //
        },
        Owner,
        Spec,
        Var,
        VarKind,
        VarRef, //
    },
    text_buf::c_string, //
};

/// The position of a variable in the description of its histogram.
#[derive(Clone, Copy)]
enum WhichVar {
    /// One that the command defines, an index into [`Spec::fields`].
    Field(usize),
    /// One that stands for a field that an action uses, an index into [`Spec::field_vars`].
    FieldVar(usize),
}

/// A variable that has been found.
pub(super) struct FoundVar {
    /// The histogram that has it, if it is not the one that is being built.
    owner: Option<Arc<Histogram>>,
    which: WhichVar,
    /// The column that the name was found in.
    at: usize,
}

impl FoundVar {
    /// Returns the newest of the variables that hold fields for actions, in the histogram that is
    /// being built.
    pub(super) fn last_field_var(spec: &Spec, at: usize) -> Self {
        Self {
            owner: None,
            which: WhichVar::FieldVar(spec.field_vars.len().wrapping_sub(1)),
            at,
        }
    }

    /// Returns the description of the histogram that has the variable; `own` is the one that is
    /// being built.
    fn spec<'s>(&'s self, own: &'s Spec) -> &'s Spec {
        self.owner.as_ref().map_or(own, |hist| &hist.spec)
    }

    /// Returns the variable, and the field whose value it has.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it does not exist: a description loses no variable after that was found.
    fn var<'s>(&'s self, own: &'s Spec) -> Result<(&'s Var, &'s Field)> {
        let spec = self.spec(own);
        let found = match self.which {
            WhichVar::Field(i) => {
                let field = spec.fields.get(i);

                field.and_then(|field| Some((field.var.as_ref()?, field)))
            }
            WhichVar::FieldVar(i) => spec.field_vars.get(i).map(|pair| (&pair.var, &pair.val)),
        };

        found.ok_or(EINVAL)
    }

    /// Returns the type and the kind of the variable. The sign of a variable that holds a field
    /// for an action is not known, as in C.
    pub(super) fn ty(&self, own: &Spec) -> Result<(Type, VarKind)> {
        let (_, field) = self.var(own)?;
        let mut ty = field.ty.try_clone()?;

        ty.signed &= matches!(self.which, WhichVar::Field(_));
        Ok((ty, self.spec(own).var_kind(field)))
    }
}

/// Returns the event of this name in the instance of `file`.
pub(super) fn find_event<'h>(
    file: EventFile<Locked<'h>>,
    (system, event): EventName<'_>,
) -> Option<EventFile<Locked<'h>>> {
    // A name that does not fit in memory is not that of an event.
    let system = system.to_c_string().ok()?;
    let event = event.to_c_string().ok()?;

    file.instance().find_file(&system, &event)
}

/// Returns the first histogram of the event that defines a variable of this name, and its index.
fn file_var(
    builder: &Builder<'_, '_>,
    file: EventFile<Locked<'_>>,
    name: &[u8],
) -> Option<(Arc<Histogram>, usize)> {
    file.triggers::<HistCommand>(builder.lists)
        .find_map(|trigger| {
            let hist = &trigger.data().hist;

            Some((hist.clone(), hist.spec.var_index(name)?))
        })
}

impl<'h> Builder<'_, 'h> {
    /// Returns `true` if the histogram that is being built, or one that the event has, defines a
    /// variable of this name.
    pub(super) fn defined(&self, name: &[u8]) -> bool {
        self.spec.var_index(name).is_some() || file_var(self, self.file, name).is_some()
    }

    /// Finds a variable of a histogram that exists.
    ///
    /// If it is not qualified, the events of `onmatch()` are tried first; after them all others,
    /// but then only one may have it. It is logged if several have it.
    pub(super) fn find_event_var(
        &self,
        event: Option<EventName<'_>>,
        name: Span<'_>,
    ) -> Option<FoundVar> {
        let (hist, index) = match event {
            Some(event) => file_var(self, self.event(event)?, name.bytes())?,
            None => self.unqualified_var(name)?,
        };

        Some(FoundVar {
            owner: Some(hist),
            which: WhichVar::Field(index),
            at: name.at(),
        })
    }

    fn unqualified_var(&self, name: Span<'_>) -> Option<(Arc<Histogram>, usize)> {
        let mut found: Option<(Arc<Histogram>, usize)> = None;

        for event in self.actions.iter().filter_map(ActionClause::matched) {
            let file = self.event(event);
            let Some((hist, index)) = file.and_then(|file| file_var(self, file, name.bytes()))
            else {
                continue;
            };

            if found
                .as_ref()
                .is_some_and(|(before, i)| !Arc::ptr_eq(before, &hist) || *i != index)
            {
                self.log.report(ErrorKind::VarNotUnique, name);
                return None;
            }
            found = Some((hist, index));
        }
        if found.is_some() {
            return found;
        }

        match registry::find_var(self.held(), self.file.instance(), name.bytes()) {
            Lookup::NotFound => None,
            Lookup::Unique(hist, index) => Some((hist, index)),
            Lookup::Ambiguous => {
                self.log.report(ErrorKind::VarNotUnique, name);
                None
            }
        }
    }

    /// Returns the event of this name in the instance.
    pub(super) fn event(&self, name: EventName<'_>) -> Option<EventFile<Locked<'h>>> {
        find_event(self.file, name)
    }

    /// Returns `true` if a qualification is absent, or means the event that the histogram is for.
    pub(super) fn is_own_event(&self, event: Option<EventName<'_>>) -> bool {
        event.is_none_or(|(system, event)| {
            system.is(self.file.system().to_bytes()) && event.is(self.file.name().to_bytes())
        })
    }

    /// Finds a variable that the command itself defines.
    pub(super) fn find_own_var(
        &self,
        event: Option<EventName<'_>>,
        name: Span<'_>,
    ) -> Option<FoundVar> {
        if !self.is_own_event(event) {
            return None;
        }

        Some(FoundVar {
            owner: None,
            which: WhichVar::Field(self.spec.var_index(name.bytes())?),
            at: name.at(),
        })
    }

    /// Creates a reference to a variable, or finds the existing one, and returns its index.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if an allocation fails, or if the table is full.
    pub(super) fn reference(
        &mut self,
        found: &FoundVar,
        event: Option<EventName<'_>>,
    ) -> Result<usize> {
        let (var, field) = found.var(&self.spec)?;
        let owner = match &found.owner {
            None => Owner::Own,
            Some(hist) => Owner::Other(hist.id()),
        };

        if let Some(i) = self
            .spec
            .refs
            .iter()
            .position(|r| r.var_idx == var.idx && r.owner == owner)
        {
            return Ok(i);
        }
        if self.spec.refs.len() >= VARS_MAX {
            return Err(ENOMEM);
        }

        let event = match event {
            Some((system, event)) => Some((system.to_c_string()?, event.to_c_string()?)),
            None => None,
        };
        let refs = &found.spec(&self.spec).refs;
        let (ty, kind) = found.ty(&self.spec)?;
        let new = VarRef {
            owner,
            var_idx: var.idx,
            name: c_string(var.name.to_bytes())?,
            at: found.at,
            event,
            ty,
            usecs: field.is_usecs(refs),
            // Only of a variable that is one itself.
            constant: field.as_constant(&[]),
            read_once: false,
            kind,
        };

        if let Some(hist) = &found.owner {
            if !self.owners.iter().any(|owner| Arc::ptr_eq(owner, hist)) {
                self.owners.push(hist.clone(), GFP_KERNEL)?;
            }
        }
        self.spec.refs.push(new, GFP_KERNEL)?;
        Ok(self.spec.refs.len().wrapping_sub(1))
    }

    /// Checks that the keys fit those of all histograms that are referred to.
    ///
    /// # Errors
    ///
    /// `EINVAL`, which is logged.
    pub(super) fn check_references(&self) -> Result {
        for reference in &self.spec.refs {
            let mut owners = self.owners.iter();
            let owner = owners.find(|owner| reference.owner == Owner::Other(owner.id()));

            if owner.is_some_and(|owner| !self.spec.keys_are_compatible_with(&owner.spec)) {
                self.log.report_at(ErrorKind::HistNotFound, reference.at);
                return Err(EINVAL);
            }
        }
        Ok(())
    }

    /// Returns a new variable that an action stores a value in.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the command or another histogram of the event defines a variable of this name,
    /// or if it has too many.
    pub(super) fn new_var(&mut self, name: &[u8]) -> Result<Var> {
        let idx = self.spec.n_map_vars;

        if self.defined(name) || idx >= VARS_MAX {
            return Err(EINVAL);
        }
        self.spec.n_map_vars = idx.wrapping_add(1);
        Ok(Var {
            name: c_string(name)?,
            idx,
        })
    }
}
