// SPDX-License-Identifier: GPL-2.0

//! Takes a clause `handler(...).action(...)` apart.

use kernel::prelude::*;

use crate::{
    log::{
        ErrorKind,
        Fault, //
    },
    text::Piece,
    PARAMS_MAX, //
};

/// Shortest name that can be a parameter.
const PARAM_LEN_MIN: usize = 2;

/// What is before the dot.
#[expect(
    clippy::enum_variant_names,
    reason = "these are the names of the handlers"
)]
#[derive(Clone, Copy)]
pub(crate) enum When<'a> {
    /// `onmatch(system.event)`
    OnMatch { system: Piece<'a>, event: Piece<'a> },
    /// `onmax(variable)`
    OnMax(Piece<'a>),
    /// `onchange(variable)`
    OnChange(Piece<'a>),
}

/// Which action it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Save,
    Trace,
    Snapshot,
}

/// A clause, as it was written.
pub(crate) struct Clause<'a> {
    pub(crate) when: When<'a>,
    pub(crate) what: What,
    /// The word before the second parenthesis.
    pub(crate) name: Piece<'a>,
    pub(crate) params: KVec<Piece<'a>>,
    /// The event of `trace(event,...)`, which is not among the parameters.
    pub(crate) traced: Option<Piece<'a>>,
}

impl<'a> Clause<'a> {
    /// Takes `text` apart, which begins with the name of a handler. `known` tells whether there is
    /// an event.
    ///
    /// What follows the closing parenthesis of the action does not matter.
    pub(crate) fn parse(
        text: Piece<'a>,
        known: impl FnOnce(Piece<'a>, Piece<'a>) -> bool,
    ) -> Result<Self, Fault> {
        let (when, action) = if let Some(text) = text.strip_prefix(b"onmatch(") {
            on_match(text, known)?
        } else if let Some(text) = text.strip_prefix(b"onmax(") {
            let (var, action) = watched(text)?;

            (When::OnMax(var), action)
        } else if let Some(text) = text.strip_prefix(b"onchange(") {
            let (var, action) = watched(text)?;

            (When::OnChange(var), action)
        } else {
            return Err(EINVAL.into());
        };

        Self::action(when, action)
    }

    /// Takes the text behind the parenthesis of the handler apart.
    fn action(when: When<'a>, text: Piece<'a>) -> Result<Self, Fault> {
        let (_, Some(text)) = text.split(b'.') else {
            return Err(no_action());
        };
        let (name, Some(text)) = text.split(b'(') else {
            return Err(no_action());
        };
        let (text, behind) = text.split(b')');
        let what = match name.bytes() {
            b"save" => What::Save,
            b"snapshot" => What::Snapshot,
            _ => What::Trace,
        };
        let mut clause = Self {
            when,
            what,
            name,
            params: KVec::new(),
            traced: None,
        };

        match what {
            What::Save => clause.add_params(text)?,
            What::Trace => {
                clause.add_params(text)?;
                return Ok(clause);
            }
            What::Snapshot if behind.is_none() => {
                return Err(Fault::new(ErrorKind::NoClosingParen, text));
            }
            What::Snapshot => (),
        }
        if matches!(when, When::OnMatch { .. }) {
            return Err(Fault::new(ErrorKind::ActionMismatch, name));
        }
        Ok(clause)
    }

    fn add_params(&mut self, text: Piece<'a>) -> Result<(), Fault> {
        let mut first = self.name.is(b"trace");

        for param in text.pieces(b',') {
            if self.params.len() >= PARAMS_MAX {
                return Err(at_start(ErrorKind::TooManyParams));
            }

            let param = param.trim();

            if param.len() < PARAM_LEN_MIN {
                return Err(Fault::new(ErrorKind::InvalidParam, param));
            }
            if first {
                self.traced = Some(param);
                first = false;
            } else {
                self.params.push(param, GFP_KERNEL)?;
            }
        }
        Ok(())
    }

    /// The event of `onmatch()`: its system and its name.
    pub(crate) fn matched(&self) -> Option<(Piece<'a>, Piece<'a>)> {
        match self.when {
            When::OnMatch { system, event } => Some((system, event)),
            _ => None,
        }
    }

    /// What the action is about: the synthetic event, if it makes one.
    pub(crate) fn subject(&self) -> Piece<'a> {
        self.traced.unwrap_or(self.name)
    }
}

/// A fault that no piece of the command is to blame for.
fn at_start(kind: ErrorKind) -> Fault {
    Fault::new(kind, Piece::new(b"", 0))
}

fn no_action() -> Fault {
    at_start(ErrorKind::ActionNotFound)
}

fn on_match<'a>(
    text: Piece<'a>,
    known: impl FnOnce(Piece<'a>, Piece<'a>) -> bool,
) -> Result<(When<'a>, Piece<'a>), Fault> {
    let (matched, Some(action)) = text.split(b')') else {
        return Err(Fault::new(ErrorKind::NoClosingParen, text));
    };
    let (system, Some(event)) = matched.split(b'.') else {
        return Err(Fault::new(ErrorKind::SubsysNotFound, matched));
    };

    if !known(system, event) {
        return Err(Fault::new(ErrorKind::InvalidSubsysEvent, event));
    }
    Ok((When::OnMatch { system, event }, action))
}

/// What is watched, and what follows.
fn watched(text: Piece<'_>) -> Result<(Piece<'_>, Piece<'_>), Fault> {
    match text.split(b')') {
        (var, Some(action)) => Ok((var, action)),
        (_, None) => Err(EINVAL.into()),
    }
}
