// SPDX-License-Identifier: GPL-2.0

//! A clause `handler(...).action(...)`.

use kernel::{
    prelude::*,
    str::CString, //
};

use super::{
    ErrorKind,
    ParseError,
    Span, //
};
use crate::{
    limits::PARAMS_MAX,
    text_buf::TextBuf, //
};

/// Shortest name that can be a parameter.
const PARAM_LEN_MIN: usize = 2;

/// The part in front of the dot, which says when the action runs.
#[expect(
    clippy::enum_variant_names,
    reason = "these are the names of the handlers"
)]
#[derive(Clone, Copy)]
pub(crate) enum Handler<T> {
    /// `onmatch(system.event)`: whenever all references have a value; their variables are looked up
    /// at this event.
    OnMatch { system: T, event: T },
    /// `onmax(variable)`: when the variable is larger than it ever was in the element.
    OnMax(T),
    /// `onmin(variable)`: when the variable is smaller than it ever was in the element.
    OnMin(T),
    /// `onchange(variable)`: when the variable has changed.
    OnChange(T),
}

impl<T> Handler<T> {
    /// Returns the word for the handler.
    pub(crate) fn name(&self) -> &'static [u8] {
        match self {
            Self::OnMatch { .. } => b"onmatch",
            Self::OnMax(_) => b"onmax",
            Self::OnMin(_) => b"onmin",
            Self::OnChange(_) => b"onchange",
        }
    }

    /// Returns the variable that the handler watches, if it does.
    pub(crate) fn watched(&self) -> Option<&T> {
        match self {
            Self::OnMatch { .. } => None,
            Self::OnMax(var) | Self::OnMin(var) | Self::OnChange(var) => Some(var),
        }
    }
}

/// The kind of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ActionKind {
    /// Variables are stored in the element.
    Save,
    /// A synthetic event is emitted.
    Trace,
    /// The buffers of the instance are swapped for a snapshot.
    Snapshot,
}

/// A clause. Its texts are [`Span`]s of a command, or copies.
pub(crate) struct ActionClause<T> {
    pub(crate) handler: Handler<T>,
    pub(crate) kind: ActionKind,
    /// The word before the second parenthesis.
    pub(crate) name: T,
    pub(crate) params: KVec<T>,
    /// The event of `trace(event,...)`, which is not among the parameters.
    pub(crate) traced: Option<T>,
}

impl<T> ActionClause<T> {
    /// Returns the subject of the action: the synthetic event if it emits one, otherwise its name.
    pub(crate) fn subject(&self) -> &T {
        self.traced.as_ref().unwrap_or(&self.name)
    }
}

impl<'a> ActionClause<Span<'a>> {
    /// Parses `text`, which begins with the name of a handler. `known` returns `true` for events
    /// that exist.
    ///
    /// Text after the closing parenthesis of the action is ignored.
    pub(crate) fn parse(
        text: Span<'a>,
        known: impl FnOnce(Span<'a>, Span<'a>) -> bool,
    ) -> Result<Self, ParseError> {
        // Texts that begin otherwise are no clauses of actions for `CommandClauses`.
        let (name, Some(text)) = text.split(b'(') else {
            return Err(EINVAL.into());
        };
        let (handler, action) = match name.bytes() {
            b"onmatch" => on_match(text, known)?,
            b"onmax" => on_watched(text, Handler::OnMax)?,
            b"onmin" => on_watched(text, Handler::OnMin)?,
            b"onchange" => on_watched(text, Handler::OnChange)?,
            _ => return Err(EINVAL.into()),
        };

        Self::action(handler, action)
    }

    /// Parses the text after the parenthesis of the handler.
    fn action(handler: Handler<Span<'a>>, text: Span<'a>) -> Result<Self, ParseError> {
        let (_, Some(text)) = text.split(b'.') else {
            return Err(at_start(ErrorKind::ActionNotFound));
        };
        let (name, Some(text)) = text.split(b'(') else {
            return Err(at_start(ErrorKind::ActionNotFound));
        };
        let (text, behind) = text.split(b')');
        let kind = match name.bytes() {
            b"save" => ActionKind::Save,
            b"snapshot" => ActionKind::Snapshot,
            _ => ActionKind::Trace,
        };
        let mut clause = Self {
            handler,
            kind,
            name,
            params: KVec::new(),
            traced: None,
        };

        match kind {
            ActionKind::Save => clause.add_params(text)?,
            ActionKind::Trace => {
                clause.add_params(text)?;
                return Ok(clause);
            }
            ActionKind::Snapshot if behind.is_none() => {
                return Err(ParseError::new(ErrorKind::NoClosingParen, text));
            }
            ActionKind::Snapshot => (),
        }
        if matches!(handler, Handler::OnMatch { .. }) {
            return Err(ParseError::new(ErrorKind::ActionMismatch, name));
        }
        Ok(clause)
    }

    fn add_params(&mut self, text: Span<'a>) -> Result<(), ParseError> {
        let mut first = self.name.is(b"trace");

        for param in text.spans(b',') {
            if self.params.len() >= PARAMS_MAX {
                return Err(at_start(ErrorKind::TooManyParams));
            }

            let param = param.trim();

            if param.len() < PARAM_LEN_MIN {
                return Err(ParseError::new(ErrorKind::InvalidParam, param));
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

    /// Returns the event of `onmatch()`: its system and its name.
    pub(crate) fn matched(&self) -> Option<(Span<'a>, Span<'a>)> {
        match self.handler {
            Handler::OnMatch { system, event } => Some((system, event)),
            _ => None,
        }
    }

    /// Copies the texts.
    pub(crate) fn to_owned(&self) -> Result<ActionClause<CString>> {
        let mut params = KVec::with_capacity(self.params.len(), GFP_KERNEL)?;

        for param in &self.params {
            params.push(param.to_c_string()?, GFP_KERNEL)?;
        }
        Ok(ActionClause {
            handler: match self.handler {
                Handler::OnMatch { system, event } => Handler::OnMatch {
                    system: system.to_c_string()?,
                    event: event.to_c_string()?,
                },
                Handler::OnMax(var) => Handler::OnMax(var.to_c_string()?),
                Handler::OnMin(var) => Handler::OnMin(var.to_c_string()?),
                Handler::OnChange(var) => Handler::OnChange(var.to_c_string()?),
            },
            kind: self.kind,
            name: self.name.to_c_string()?,
            params,
            traced: self.traced.map(Span::to_c_string).transpose()?,
        })
    }

    /// Returns `true` if the clause has the same meaning as `old`.
    pub(crate) fn is_same(&self, old: &ActionClause<CString>) -> bool {
        let is = |span: &Span<'_>, text: &CString| span.is(text.to_bytes());
        let same_handler = match (&self.handler, &old.handler) {
            (
                Handler::OnMatch { system, event },
                Handler::OnMatch {
                    system: old_system,
                    event: old_event,
                },
            ) => is(system, old_system) && is(event, old_event),
            (Handler::OnMax(var), Handler::OnMax(old))
            | (Handler::OnMin(var), Handler::OnMin(old))
            | (Handler::OnChange(var), Handler::OnChange(old)) => is(var, old),
            _ => false,
        };

        same_handler
            && self.kind == old.kind
            && is(self.subject(), old.subject())
            && self.params.len() == old.params.len()
            && self.params.iter().zip(&old.params).all(|(a, b)| is(a, b))
    }
}

impl ActionClause<CString> {
    /// Writes the clause as in a command.
    pub(crate) fn write(&self, out: &mut TextBuf) {
        out.put(self.handler.name());
        out.put(b"(");
        match &self.handler {
            Handler::OnMatch { system, event } => {
                out.put(system.to_bytes());
                out.put(b".");
                out.put(event.to_bytes());
            }
            Handler::OnMax(var) | Handler::OnMin(var) | Handler::OnChange(var) => {
                out.put(var.to_bytes());
            }
        }
        out.put(b").");
        out.put(self.name.to_bytes());
        out.put(b"(");
        let texts = Iterator::chain(self.traced.iter(), &self.params);

        out.list(texts, |out, param| {
            out.put(param.to_bytes());
        });
        out.put(b")");
    }
}

/// Creates an error that is not caused by one part of the command.
fn at_start(kind: ErrorKind) -> ParseError {
    ParseError::new(kind, Span::new(b"", 0))
}

fn on_match<'a>(
    text: Span<'a>,
    known: impl FnOnce(Span<'a>, Span<'a>) -> bool,
) -> Result<(Handler<Span<'a>>, Span<'a>), ParseError> {
    let (matched, Some(action)) = text.split(b')') else {
        return Err(ParseError::new(ErrorKind::NoClosingParen, text));
    };
    let (system, Some(event)) = matched.split(b'.') else {
        return Err(ParseError::new(ErrorKind::SubsysNotFound, matched));
    };

    if !known(system, event) {
        return Err(ParseError::new(ErrorKind::InvalidSubsysEvent, event));
    }
    Ok((Handler::OnMatch { system, event }, action))
}

fn on_watched<'a>(
    text: Span<'a>,
    handler: fn(Span<'a>) -> Handler<Span<'a>>,
) -> Result<(Handler<Span<'a>>, Span<'a>), ParseError> {
    match text.split(b')') {
        (var, Some(action)) => Ok((handler(var), action)),
        (_, None) => Err(EINVAL.into()),
    }
}
