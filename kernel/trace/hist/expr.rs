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
//! There is no white space, and parentheses are for the minus sign only. Operators of the same rank
//! are applied from the left to the right, so the last one is the root of the expression.
//!
//! Everything here is a function on bytes and numbers. Fields are made of expressions in
//! [`build`](super::build).

pub(crate) mod number;

use kernel::prelude::*;

use super::{
    field::{
        Flags,
        Func,
        Operator, //
    },
    log::{
        ErrorKind,
        Fault, //
    },
    text::Piece, //
};
use number::parse_u64;

/// Divisors up to this one have a function of their own in C, whose name `hist_debug` shows.
const DIV_SHIFT_MAX: u64 = 1 << 20;

/// What is at the root of an expression.
#[derive(Clone, Copy)]
pub(crate) enum Root<'a> {
    /// No operator.
    Atom,
    /// A minus sign in front of everything.
    Negation,
    /// An operator between two expressions.
    Binary {
        operator: Operator,
        left: Piece<'a>,
        right: Piece<'a>,
    },
}

/// Finds the root of an expression.
pub(crate) fn root(text: Piece<'_>) -> Root<'_> {
    let minus = last_minus(text.bytes());
    if minus == Some(0) {
        return Root::Negation;
    }

    // `None` is less than any position, so the operator that comes last wins.
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

/// Where the last minus sign is, other than that of a modifier `.sym-offset`.
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

/// The expression behind a minus sign, the first character of `text`.
///
/// # Errors
///
/// `EINVAL` if it is not in parentheses, or if something is behind them.
pub(crate) fn negated(text: Piece<'_>) -> Result<Piece<'_>, Fault> {
    let rest = text.from(1);

    rest.find(b'(').ok_or(EINVAL)?;
    let rest = rest.from(1);
    let close = rest.rfind(b')').ok_or(EINVAL)?;
    if close.wrapping_add(1) != rest.len() {
        return Err(Fault::new(ErrorKind::UnaryMinusSubexpr, rest));
    }
    Ok(rest.to(close))
}

/// A name, and the event that it belongs to if it says so.
#[derive(Clone, Copy)]
pub(crate) struct Qualified<'a> {
    /// System and event.
    pub(crate) event: Option<(Piece<'a>, Piece<'a>)>,
    pub(crate) name: Piece<'a>,
}

/// Splits `system.event.name`. With less than two dots there is a name only.
pub(crate) fn qualified(text: Piece<'_>) -> Qualified<'_> {
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

/// The name of the variable that `text` refers to, if it is a reference.
pub(crate) fn variable(text: Piece<'_>) -> Option<Piece<'_>> {
    text.strip_prefix(b"$").filter(|name| !name.is_empty())
}

/// A modifier of a field, behind the dot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Modifier {
    pub(crate) flags: Flags,
    /// Width of the buckets, or 0.
    pub(crate) buckets: u64,
}

impl Modifier {
    /// Reads the modifier `text` of the field `name`, which is used for what `role` says.
    pub(crate) fn parse(name: Piece<'_>, text: Piece<'_>, role: Flags) -> Result<Self, Fault> {
        let flags = match text.bytes() {
            b"hex" => Flags::HEX,
            b"sym" => Flags::SYM,
            b"sym-offset" => Flags::SYM_OFFSET,
            b"execname" if name.is(b"common_pid") => Flags::EXECNAME,
            b"syscall" => Flags::SYSCALL,
            b"stacktrace" => Flags::STACKTRACE,
            b"log2" => Flags::LOG2,
            b"usecs" => Flags::TIMESTAMP_USECS,
            b"percent" if !role.any(Flags::VAR | Flags::KEY) => Flags::PERCENT,
            b"graph" if !role.any(Flags::VAR | Flags::KEY) => Flags::GRAPH,
            _ => return Self::parse_buckets(text),
        };

        Ok(Self { flags, buckets: 0 })
    }

    /// Reads `buckets=width`.
    fn parse_buckets(text: Piece<'_>) -> Result<Self, Fault> {
        let wrong = |text| Fault::new(ErrorKind::BadFieldModifier, text);
        let rest = text.strip_prefix(b"bucket").ok_or_else(|| wrong(text))?;
        let rest = rest.strip_prefix(b"s").unwrap_or(rest);
        let width = rest.strip_prefix(b"=").ok_or_else(|| wrong(rest))?;

        match parse_u64(width.bytes()) {
            Ok(buckets) if buckets > 0 => Ok(Self {
                flags: Flags::BUCKET,
                buckets,
            }),
            _ => Err(wrong(width)),
        }
    }
}

/// The value of an operation on constants; a quotient is rounded down.
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
        Operator::None | Operator::UnaryMinus => Err(EINVAL),
    }
}

/// How an operation is done; `divisor` is that of a division, if it is a constant.
pub(crate) fn function(operator: Operator, divisor: Option<u64>) -> Func {
    match (operator, divisor) {
        (Operator::Plus, _) => Func::Plus,
        (Operator::Minus, _) => Func::Minus,
        (Operator::UnaryMinus, _) => Func::UMinus,
        (Operator::Mult, _) => Func::Mult,
        (Operator::Div, Some(divisor)) if divisor.is_power_of_two() => Func::DivPower2,
        (Operator::Div, Some(divisor)) if divisor <= DIV_SHIFT_MAX => Func::DivMultShift,
        (Operator::Div, Some(_)) => Func::DivNotPower2,
        (Operator::Div, None) => Func::Div,
        (Operator::None, _) => Func::Nop,
    }
}

/// The character of an operator between two operands.
pub(crate) fn sign(operator: Operator) -> &'static [u8] {
    match operator {
        Operator::Plus => b"+",
        Operator::Minus | Operator::UnaryMinus => b"-",
        Operator::Mult => b"*",
        Operator::Div => b"/",
        Operator::None => b"",
    }
}
