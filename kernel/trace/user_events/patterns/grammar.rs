// SPDX-License-Identifier: GPL-2.0

//! The lines of the file `set_user_event`.
//!
//! ```text
//! line    = [ "!" ] pattern [ " " trigger ]     ; "!" removes such a line
//!         / "#" any text / ""                   ; no effect
//! pattern = [ [ system ] ":" ] [ name ]         ; both are globs, an empty one stands for "*"
//! trigger = a line for the file `trigger` of an event
//! ```
//!
//! White space at both ends of a line and before the trigger has no meaning. Names of user events
//! have neither colons nor white space.

use super::super::{
    defs::{
        MULTI_SYSTEM,
        SYSTEM, //
    },
    parse::is_space, //
};
use kernel::{
    prelude::*,
    str::{
        glob::glob_match,
        CString, //
    },
};

/// A line that was written to the file.
pub(crate) enum Request<'a> {
    /// No effect.
    Nothing,
    /// Add a pattern.
    Add(LineParts<'a>),
    /// Remove a pattern.
    Remove(LineParts<'a>),
}

/// The parts of a line.
#[derive(Clone, Copy)]
pub(crate) struct LineParts<'a> {
    pattern: &'a [u8],
    trigger: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// Parses a line.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a NUL, a `!` without a pattern, and a trigger with a `!`, which would remove
    /// one of an event that was just created.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self> {
        let line = trim(line);
        if line.contains(&0) {
            return Err(EINVAL);
        }

        let (remove, rest) = match line {
            [] | [b'#', ..] => return Ok(Self::Nothing),
            [b'!', rest @ ..] => (true, rest),
            _ => (false, line),
        };
        let end = rest.iter().position(|b| is_space(*b));
        let (pattern, trigger) = rest.split_at(end.unwrap_or(rest.len()));
        let trigger = trim(trigger);
        if pattern.is_empty() || trigger.first() == Some(&b'!') {
            return Err(EINVAL);
        }
        let parts = LineParts {
            pattern,
            trigger: (!trigger.is_empty()).then_some(trigger),
        };

        Ok(if remove {
            Self::Remove(parts)
        } else {
            Self::Add(parts)
        })
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| !is_space(*b));
    let end = text.iter().rposition(|b| !is_space(*b));

    match (start, end) {
        (Some(start), Some(end)) => text.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}

/// The events that a line is about, and what is done with them.
pub(crate) struct Pattern {
    /// As it is shown.
    text: CString,
    system: CString,
    name: CString,
    /// The trigger that an event gets; it is enabled without one.
    trigger: Option<CString>,
}

impl Pattern {
    /// Creates the pattern of a line.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the system of the pattern matches no system of user events, `ENOMEM`.
    pub(crate) fn new(parts: LineParts<'_>) -> Result<Self> {
        let colon = parts.pattern.iter().position(|b| *b == b':');
        let (system, name) = match colon {
            Some(at) => {
                let (system, name) = parts.pattern.split_at(at);

                (system, name.get(1..).unwrap_or_default())
            }
            None => (&[][..], parts.pattern),
        };
        let pattern = Self {
            text: string(parts.pattern)?,
            system: glob(system)?,
            name: glob(name)?,
            trigger: parts.trigger.map(string).transpose()?,
        };

        if [SYSTEM, MULTI_SYSTEM]
            .iter()
            .any(|system| glob_match(&pattern.system, system))
        {
            Ok(pattern)
        } else {
            Err(EINVAL)
        }
    }

    /// Returns the pattern as it was written.
    pub(crate) fn text(&self) -> &CStr {
        &self.text
    }

    /// Returns the line for the file `trigger`, or `None` if events are enabled.
    pub(crate) fn trigger(&self) -> Option<&CStr> {
        self.trigger.as_deref()
    }

    /// Returns `true` if an event of this system, registered by this name, matches.
    pub(crate) fn matches(&self, system: &CStr, name: &CStr) -> bool {
        glob_match(&self.name, name) && glob_match(&self.system, system)
    }

    /// Returns `true` if both patterns do the same with their events.
    pub(crate) fn does_same(&self, other: &Self) -> bool {
        self.trigger() == other.trigger()
    }

    /// Returns `true` if both are the same line.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.text() == other.text() && self.does_same(other)
    }
}

fn string(text: &[u8]) -> Result<CString> {
    let mut copy = KVec::with_capacity(text.len().saturating_add(1), GFP_KERNEL)?;

    copy.extend_from_slice(text, GFP_KERNEL)?;
    copy.push(0, GFP_KERNEL)?;
    CString::from_vec_with_nul(copy)
}

fn glob(text: &[u8]) -> Result<CString> {
    string(if text.is_empty() { b"*" } else { text })
}
