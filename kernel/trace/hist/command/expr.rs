// SPDX-License-Identifier: GPL-2.0

//! Expressions as text, and constants.
//!
//! ```text
//! expression = sum / "-(" sum ")"
//! sum        = product *( ( "+" / "-" ) product )
//! product    = atom *( ( "*" / "/" ) atom )
//! atom       = number / [ system "." event "." ] ( "$" name / name [ "." modifier ] )
//! ```
//!
//! White space is not allowed, and parentheses are for the minus sign only. Operators of the same
//! rank are applied from the left to the right, so the last one is the root of the expression.
//!
//! Fields are created from expressions in [`builder`](crate::builder).

use kernel::{
    prelude::*,
    str::kstrtox::{
        self,
        Base, //
    }, //
};

use super::{
    ErrorKind,
    ParseError,
    Span, //
};
use crate::limits::PART_BITS_MAX;

/// An operator between two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Mult,
    Div,
}

/// The root of an expression.
#[derive(Clone, Copy)]
pub(crate) enum Root<'a> {
    /// No operator.
    Atom,
    /// A minus sign in front of everything.
    Negation,
    /// An operator between two expressions.
    Binary {
        operator: Operator,
        left: Span<'a>,
        right: Span<'a>,
    },
}

/// Finds the root of an expression.
pub(crate) fn root(text: Span<'_>) -> Root<'_> {
    let minus = last_minus(text.bytes());
    if minus == Some(0) {
        return Root::Negation;
    }

    // `None` is less than any position, so the last operator wins.
    let plus = text.rfind(b'+');
    let (div, mult) = (text.rfind(b'/'), text.rfind(b'*'));
    let (operator, at) = if plus.is_some() || minus.is_some() {
        if plus > minus {
            (Operator::Plus, plus)
        } else {
            (Operator::Minus, minus)
        }
    } else if mult > div {
        (Operator::Mult, mult)
    } else {
        (Operator::Div, div)
    };

    match at {
        Some(at) => Root::Binary {
            operator,
            left: text.to(at),
            right: text.from(at.wrapping_add(1)),
        },
        None => Root::Atom,
    }
}

/// Returns the position of the last minus sign, except that of a modifier `.sym-offset`.
fn last_minus(text: &[u8]) -> Option<usize> {
    (0..text.len())
        .rev()
        .find(|at| match text.split_at_checked(*at) {
            Some((before, [b'-', behind @ ..])) => {
                !(before.ends_with(b".sym") && behind.starts_with(b"offset"))
            }
            _ => false,
        })
}

/// Returns the expression after a minus sign, the first character of `text`.
///
/// # Errors
///
/// `EINVAL` if it is not in parentheses, or if text follows them.
pub(crate) fn negated(text: Span<'_>) -> Result<Span<'_>, ParseError> {
    let rest = text.from(1);

    rest.find(b'(').ok_or(EINVAL)?;
    let rest = rest.from(1);
    let close = rest.rfind(b')').ok_or(EINVAL)?;
    if close.wrapping_add(1) != rest.len() {
        return Err(ParseError::new(ErrorKind::UnaryMinusSubexpr, rest));
    }
    Ok(rest.to(close))
}

/// The name of an event: its system and its name there.
pub(crate) type EventName<'a> = (Span<'a>, Span<'a>);

/// A name, and the event that it belongs to if it says so.
#[derive(Clone, Copy)]
pub(crate) struct Qualified<'a> {
    pub(crate) event: Option<EventName<'a>>,
    pub(crate) name: Span<'a>,
}

/// Splits `system.event.name`. With less than two dots the text is only a name.
pub(crate) fn qualified(text: Span<'_>) -> Qualified<'_> {
    let (system, rest) = text.split(b'.');

    match rest.map(|rest| rest.split(b'.')) {
        Some((event, Some(name))) => Qualified {
            event: Some((system, event)),
            name,
        },
        _ => Qualified {
            event: None,
            name: text,
        },
    }
}

/// Returns the name of the variable that `text` refers to, if it is a reference.
pub(crate) fn variable(text: Span<'_>) -> Option<Span<'_>> {
    text.strip_prefix(b"$").filter(|name| !name.is_empty())
}

/// The use of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A value, or an operand of an expression.
    Value,
    Key,
    Var,
}

/// A modifier of a field, after the dot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Modifier {
    #[default]
    None,
    Hex,
    Sym,
    SymOffset,
    ExecName,
    Syscall,
    Stacktrace,
    Log2,
    /// Equal parts of each power of two: two to the power of this, which is 1 to
    /// [`PART_BITS_MAX`].
    Log2Parts(u32),
    /// With the width, which is not 0.
    Buckets(u64),
    Usecs,
    Percent,
    Graph,
    /// The least of all hits, instead of the sum.
    Min,
    /// The largest.
    Max,
    /// The sum, shown divided by the number of hits.
    Avg,
}

impl Modifier {
    /// Parses the modifier `text` of the field `name`.
    pub(crate) fn parse(name: Span<'_>, text: Span<'_>, role: Role) -> Result<Self, ParseError> {
        Ok(match text.bytes() {
            b"hex" => Self::Hex,
            b"sym" => Self::Sym,
            b"sym-offset" => Self::SymOffset,
            b"execname" if name.is(b"common_pid") => Self::ExecName,
            b"syscall" => Self::Syscall,
            b"stacktrace" => Self::Stacktrace,
            b"log2" => Self::Log2,
            b"usecs" => Self::Usecs,
            b"percent" if role == Role::Value => Self::Percent,
            b"graph" if role == Role::Value => Self::Graph,
            b"min" if role == Role::Value => Self::Min,
            b"max" if role == Role::Value => Self::Max,
            b"avg" if role == Role::Value => Self::Avg,
            _ => match text.strip_prefix(b"log2=") {
                Some(bits) => return Self::parse_parts(text, bits),
                None => return Self::parse_buckets(text),
            },
        })
    }

    /// Parses the number of `log2=bits`.
    fn parse_parts(text: Span<'_>, bits: Span<'_>) -> Result<Self, ParseError> {
        match parse_u64(bits.bytes()) {
            // CAST: It is small.
            Ok(bits @ 1..=PART_BITS_MAX) => Ok(Self::Log2Parts(bits as u32)),
            _ => Err(ParseError::new(ErrorKind::BadFieldModifier, text)),
        }
    }

    /// Parses `buckets=width`.
    fn parse_buckets(text: Span<'_>) -> Result<Self, ParseError> {
        let error = |text| ParseError::new(ErrorKind::BadFieldModifier, text);
        let rest = text.strip_prefix(b"bucket").ok_or_else(|| error(text))?;
        let rest = rest.strip_prefix(b"s").unwrap_or(rest);
        let width = rest.strip_prefix(b"=").ok_or_else(|| error(rest))?;

        match parse_u64(width.bytes()) {
            Ok(buckets) if buckets > 0 => Ok(Self::Buckets(buckets)),
            _ => Err(error(width)),
        }
    }

    /// Returns the word for the modifier, without its number.
    pub(crate) fn word(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Hex => b"hex",
            Self::Sym => b"sym",
            Self::SymOffset => b"sym-offset",
            Self::ExecName => b"execname",
            Self::Syscall => b"syscall",
            Self::Stacktrace => b"stacktrace",
            Self::Log2 | Self::Log2Parts(_) => b"log2",
            Self::Buckets(_) => b"buckets",
            Self::Usecs => b"usecs",
            Self::Percent => b"percent",
            Self::Graph => b"graph",
            Self::Min => b"min",
            Self::Max => b"max",
            Self::Avg => b"avg",
        }
    }

    /// Returns the number of the modifier, if it has one.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Self::Log2Parts(bits) => Some(bits.into()),
            Self::Buckets(width) => Some(width),
            _ => None,
        }
    }

    /// Returns `true` if the modifier changes the computed number.
    pub(crate) fn is_rounding(self) -> bool {
        matches!(self, Self::Log2 | Self::Log2Parts(_) | Self::Buckets(_))
    }

    /// Returns `true` if a value is a statistic other than the sum over all hits.
    pub(crate) fn is_statistic(self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::Avg)
    }

    /// Returns `true` if the modifier affects how a number is rounded or shown.
    pub(crate) fn is_for_numbers(self) -> bool {
        !matches!(self, Self::None | Self::ExecName | Self::Stacktrace)
    }
}

/// Returns `true` if `text` is a field with a modifier of a statistic.
pub(crate) fn is_statistic(text: Span<'_>) -> bool {
    let name = qualified(text).name;
    let (_, modifier) = name.split(b'.');

    matches!(root(text), Root::Atom)
        && variable(name).is_none()
        && modifier.is_some_and(|m| matches!(m.bytes(), b"min" | b"max" | b"avg"))
}

/// Parses a number: hexadecimal after `0x`, octal after another `0`, otherwise decimal.
///
/// One `+` may precede it, and one newline may follow it.
///
/// # Errors
///
/// `ERANGE` if the digits in front are too large a number, else `EINVAL` for what is no number.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64> {
    match kstrtox::parse_u64(text, Base::Auto)? {
        (value, b"" | b"\n") => Ok(value),
        _ => Err(EINVAL),
    }
}

/// Returns the value of an operation on constants. A quotient is rounded down.
///
/// # Errors
///
/// `EDOM` for a division by 0.
pub(crate) fn fold(operator: Operator, left: u64, right: u64) -> Result<u64> {
    match operator {
        Operator::Plus => Ok(left.wrapping_add(right)),
        Operator::Minus => Ok(left.wrapping_sub(right)),
        Operator::Mult => Ok(left.wrapping_mul(right)),
        Operator::Div => left.checked_div(right).ok_or(EDOM),
    }
}

/// Returns the character of an operator.
pub(crate) fn sign(operator: Operator) -> &'static [u8] {
    match operator {
        Operator::Plus => b"+",
        Operator::Minus => b"-",
        Operator::Mult => b"*",
        Operator::Div => b"/",
    }
}
