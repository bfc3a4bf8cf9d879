// SPDX-License-Identifier: GPL-2.0

//! Makes the description of a histogram from the clauses of a command.
//!
//! Everything runs with `event_mutex` held. What is found wrong is logged where it is found, in the
//! order in which a command is taken apart, which is part of the interface: variables, values,
//! keys, the sort order, then the actions.

use kernel::{
    prelude::*,
    trace::{
        event_file::EventFile,
        event_mutex::Held,
        trigger::Lists, //
    },
};

use super::{
    attrs::Attrs,
    data::Spec,
    log::Log,
    text::Piece, //
};

/// A definition `name=expression`.
pub(crate) struct VarDef<'a> {
    pub(crate) name: Piece<'a>,
    pub(crate) expr: Piece<'a>,
}

/// A histogram that is being made.
pub(crate) struct Build<'a, 'h> {
    /// The event that it is for.
    pub(crate) file: EventFile<'h>,
    pub(crate) held: Held<'h>,
    /// The triggers of all events; helpers are attached to others.
    pub(crate) lists: &'a mut Lists<'h>,
    pub(crate) log: &'a Log<'h>,
    pub(crate) attrs: &'a Attrs<'a>,
    /// The definitions of the command, while fields are made; empty when actions are.
    pub(crate) defs: KVec<VarDef<'a>>,
    /// It is made only to find the one that shall be removed.
    pub(crate) remove: bool,
    /// What there is so far.
    pub(crate) spec: Spec,
}
