// SPDX-License-Identifier: GPL-2.0

//! Commands as text: a line is cut into clauses, these into expressions and actions.
//!
//! Everything here is a function on bytes. Each part of a command is a [`span::Span`], which knows
//! its column, for the caret in the `error_log`.

pub(crate) mod action;
pub(crate) mod clauses;
pub(crate) mod error;
pub(crate) mod expr;
pub(crate) mod span;
