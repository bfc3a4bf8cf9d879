// SPDX-License-Identifier: GPL-2.0

//! What a histogram does besides counting: handlers, which decide when, and actions.
//!
//! A clause `handler.action` is parsed first ([`parse`]), before the fields of the histogram are
//! made, as variables are looked up at the events that `onmatch()` names. What it needs is made
//! last ([`create`]), when the variables of the histogram are known: references, variables for the
//! fields that are used ([`params`]), and histograms on other events ([`helper`]).

mod create;
mod helper;
mod params;
pub(crate) mod parse;

use kernel::{
    prelude::*,
    str::CString,
    sync::Arc,
    trace::{
        snapshot::ConditionalSnapshot,
        synth::EventRef, //
    },
};

use super::{
    field::Field,
    update::condition::SnapshotCondition, //
};

/// What a handler watches.
pub(crate) struct Track {
    /// The variable as it was written, with its dollar sign.
    pub(crate) var_str: CString,
    /// Index of the reference to it.
    pub(crate) var_ref: usize,
    /// The hidden variable that has the largest or the last value.
    pub(crate) track_var: Field,
}

/// When the action runs.
#[expect(
    clippy::enum_variant_names,
    reason = "these are the names of the handlers"
)]
pub(crate) enum Handler {
    /// Whenever all references have a value; their variables are looked up at the event.
    OnMatch { system: CString, event: CString },
    /// When the variable is larger than it ever was in the element.
    OnMax(Track),
    /// When the variable has changed.
    OnChange(Track),
}

/// What runs.
pub(crate) enum ActionKind {
    /// The [save variables](super::data::Spec::save_vars) are stored in the element.
    Save,
    /// A synthetic event is made of references.
    Trace {
        event: EventRef,
        /// For each field of the event the index of the reference that it is made of.
        refs: KVec<usize>,
    },
    /// The buffers of the instance are swapped for a snapshot.
    Snapshot(Arc<ConditionalSnapshot<SnapshotCondition>>),
}

/// A clause `handler.action`.
pub(crate) struct Action {
    pub(crate) handler: Handler,
    pub(crate) kind: ActionKind,
    /// The word before the parenthesis.
    pub(crate) name: CString,
    /// What is in the parentheses, but for the event of `trace(event,...)`.
    pub(crate) params: KVec<CString>,
    /// The event of `trace(event,...)`; without it the event is the `name`.
    pub(crate) traced: Option<CString>,
}
