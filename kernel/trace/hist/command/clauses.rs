// SPDX-License-Identifier: GPL-2.0

//! The clauses of a command.
//!
//! ```text
//! hist:keys=common_pid:vals=bytes_req:ts0=common_timestamp:sort=hitcount:size=512:pause
//! ```
//!
//! Clauses are separated by colons. Those with an equals sign are identified by the word in front
//! of it; an unknown word is the name of a variable. If a clause is given more than once the last
//! one counts, except for variables and actions.

use kernel::prelude::*;

use super::{
    expr::parse_u64,
    ErrorKind,
    ParseError,
    Span, //
};
use crate::limits::{
    ACTIONS_MAX,
    MAP_BITS_MAX,
    MAP_BITS_MIN,
    VARS_MAX, //
};

/// The start of a clause for an action.
const HANDLERS: [&[u8]; 4] = [b"onmatch(", b"onmax(", b"onmin(", b"onchange("];

/// The clauses of a command.
pub(crate) struct CommandClauses<'a> {
    pub(crate) keys: Span<'a>,
    pub(crate) vals: Option<Span<'a>>,
    /// The value of `sort=`.
    pub(crate) sort: Option<Span<'a>>,
    /// The whole clause `name=...`.
    pub(crate) name: Option<Span<'a>>,
    pub(crate) clock: Option<Span<'a>>,
    pub(crate) pause: bool,
    pub(crate) cont: bool,
    pub(crate) clear: bool,
    pub(crate) no_hitcount: bool,
    /// The clause `quantiles`.
    pub(crate) quantiles: Option<Span<'a>>,
    /// The clause `reuse`.
    pub(crate) reuse: Option<Span<'a>>,
    /// Logarithm of the number of elements that `size=` asks for.
    pub(crate) map_bits: Option<u32>,
    /// Clauses that define variables, several in one perhaps.
    pub(crate) assignments: KVec<Span<'a>>,
    /// Clauses `handler(...).action(...)`.
    pub(crate) actions: KVec<Span<'a>>,
}

impl<'a> CommandClauses<'a> {
    /// Parses the parameters of a command, without the filter.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the command has no keys, or for an invalid clause; or the error of the size.
    pub(crate) fn parse(params: Span<'a>) -> Result<Self, ParseError> {
        let mut keys = None;
        let mut clauses = Self {
            keys: params,
            vals: None,
            sort: None,
            name: None,
            clock: None,
            pause: false,
            cont: false,
            clear: false,
            no_hitcount: false,
            quantiles: None,
            reuse: None,
            map_bits: None,
            assignments: KVec::new(),
            actions: KVec::new(),
        };

        for clause in params.spans(b':') {
            match clause.split(b'=') {
                (_, Some(value)) if value.is_empty() => {
                    return Err(ParseError::new(ErrorKind::EmptyAssignment, clause));
                }
                (word, Some(value)) => match word.bytes() {
                    b"key" | b"keys" => keys = Some(value),
                    _ => clauses.assign(clause, word, value)?,
                },
                (word, None) => clauses.word(word)?,
            }
        }

        clauses.keys = keys.ok_or(EINVAL)?;
        Ok(clauses)
    }

    /// Assigns a clause with an equals sign, between `word` and `value`.
    fn assign(
        &mut self,
        clause: Span<'a>,
        word: Span<'a>,
        value: Span<'a>,
    ) -> Result<(), ParseError> {
        match word.bytes() {
            b"val" | b"vals" | b"values" => self.vals = Some(value),
            b"sort" => self.sort = Some(value),
            b"name" => self.name = Some(clause),
            b"clock" => self.clock = Some(value.trim()),
            b"size" => self.map_bits = Some(map_bits(value.bytes())?),
            _ if self.assignments.len() >= VARS_MAX => {
                return Err(ParseError::new(ErrorKind::TooManyVars, clause));
            }
            _ => self.assignments.push(clause, GFP_KERNEL)?,
        }
        Ok(())
    }

    /// Assigns a clause without an equals sign.
    fn word(&mut self, clause: Span<'a>) -> Result<(), ParseError> {
        match clause.bytes() {
            b"nohitcount" | b"NOHC" => self.no_hitcount = true,
            b"quantiles" => self.quantiles = Some(clause),
            b"reuse" => self.reuse = Some(clause),
            b"pause" => self.pause = true,
            b"cont" | b"continue" => self.cont = true,
            b"clear" => self.clear = true,
            text => {
                if self.actions.len() >= ACTIONS_MAX
                    || !HANDLERS.iter().any(|handler| text.starts_with(handler))
                {
                    return Err(EINVAL.into());
                }
                self.actions.push(clause, GFP_KERNEL)?;
            }
        }
        Ok(())
    }
}

/// Returns the logarithm of the number of elements for `size=text`, which is rounded up to a power
/// of two.
fn map_bits(text: &[u8]) -> Result<u32> {
    let bits = parse_u64(text)?
        .checked_next_power_of_two()
        .ok_or(EINVAL)?
        .trailing_zeros();

    if (MAP_BITS_MIN..=MAP_BITS_MAX).contains(&bits) {
        Ok(bits)
    } else {
        Err(EINVAL)
    }
}

/// A definition `name=expression` of a variable.
pub(crate) struct VarDef<'a> {
    pub(crate) name: Span<'a>,
    pub(crate) expr: Span<'a>,
}

/// Splits clauses of comma-separated definitions into the definitions.
///
/// At most as many definitions of a clause are read as a histogram can have variables.
pub(crate) fn definitions<'a>(assignments: &[Span<'a>]) -> Result<KVec<VarDef<'a>>, ParseError> {
    let mut defs = KVec::new();

    for clause in assignments {
        for definition in clause.spans(b',').take(VARS_MAX) {
            let (name, expr) = definition.split(b'=');
            let expr = expr.ok_or(ParseError::new(ErrorKind::MalformedAssignment, name))?;

            if defs.len() >= VARS_MAX {
                return Err(ParseError::new(ErrorKind::TooManyVars, name));
            }
            defs.push(VarDef { name, expr }, GFP_KERNEL)?;
        }
    }
    Ok(defs)
}
