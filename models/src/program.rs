// SPDX-License-Identifier: GPL-2.0

//! The part of programs that the condition of a snapshot needs.

pub(crate) mod op;
pub(crate) mod snapshot_condition;
