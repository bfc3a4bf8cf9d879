// SPDX-License-Identifier: GPL-2.0

//! Which trigger a line means: the one made by a line with the same text, or by one that says the
//! same in other words.
//!
//! The name, the fields with all that they are computed from, the sort order, the actions and the
//! filter are compared; the size and the clock are not. For a line that joins a named histogram,
//! what the actions use is compared as well.

use kernel::{
    str::CString,
    trace::trigger::{
        Filter,
        Trigger, //
    },
};

use super::Histogram;
use crate::{
    action::{
        parse::{
            Clause,
            What,
            When, //
        },
        Action,
        ActionKind,
        Handler, //
    },
    build::Build,
    data::{
        FieldVar,
        Spec, //
    },
    field::{
        Field,
        Flags,
        Func,
        Operand,
        Source, //
    },
    text::Piece,
};

/// The trigger of the event that a line means. What the line would make is in `build`, without
/// actions or with.
pub(super) fn find<'b>(
    build: &'b Build<'_, '_>,
    filter: Option<&Filter<'_>>,
) -> Option<&'b Trigger<Histogram>> {
    let filter = filter.map(|filter| filter.text().to_bytes());

    build
        .file
        .triggers::<Histogram>(build.lists)
        .find(|trigger| {
            trigger.filter().map(|text| text.to_bytes()) == filter
                && same(&build.spec, &build.clauses, &trigger.data().hist.spec)
        })
}

/// Whether a line that makes `new`, with the handlers and actions `clauses`, means the histogram
/// `old`.
pub(crate) fn same(new: &Spec, clauses: &[Clause<'_>], old: &Spec) -> bool {
    same_name(&new.name, &old.name)
        && new.n_vals == old.n_vals
        && new.fields.len() == old.fields.len()
        && new
            .fields
            .iter()
            .zip(&old.fields)
            .all(|(a, b)| same_field((a, new), (b, old)))
        && new.sort_keys.get(..new.n_sort_keys) == old.sort_keys.get(..old.n_sort_keys)
        && clauses.len() == old.actions.len()
        && clauses
            .iter()
            .zip(&old.actions)
            .all(|(a, b)| same_action(a, b))
}

/// Whether the actions of `new` use the fields and variables that those of `old` do, which are
/// written alike. `refs` are the references of `new` that are the parameters of synthetic events.
pub(crate) fn same_uses(new: &Spec, refs: &[usize], old: &Spec) -> bool {
    let old_refs = old.actions.iter().flat_map(|action| match &action.kind {
        ActionKind::Trace { refs, .. } => refs.as_slice(),
        _ => &[],
    });

    same_vals(&new.save_vars, new, &old.save_vars, old)
        && same_vals(&new.field_vars, new, &old.field_vars, old)
        && refs.len() == old_refs.clone().count()
        && refs
            .iter()
            .zip(old_refs)
            .all(|(a, b)| same_ref((*a, new), (*b, old)))
}

/// Whether variables stand for the same fields.
fn same_vals(a: &[FieldVar], new: &Spec, b: &[FieldVar], old: &Spec) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| same_field((&a.val, new), (&b.val, old)))
}

/// A field, and the histogram that it is in.
type FieldOf<'a> = (&'a Field, &'a Spec);

fn same_field((a, new): FieldOf<'_>, (b, old): FieldOf<'_>) -> bool {
    a.flags == b.flags
        && a.func == b.func
        && (a.func != Func::VarRef || same_ref((a.ref_idx, new), (b.ref_idx, old)))
        // What is of the moment is so by any name.
        && (a.flags.any(Flags::CPU | Flags::COMM) || same_source(&a.source, &b.source))
        // A stack of the record has another size with the modifier, which makes no difference.
        && (a.size == b.size || a.func == Func::Stack)
        && a.signed == b.signed
        && a.var.as_ref().map(|var| var.name.to_bytes())
            == b.var.as_ref().map(|var| var.name.to_bytes())
        && a.buckets == b.buckets
        && a.constant == b.constant
        && a.operator == b.operator
        && a.operands
            .iter()
            .zip(&b.operands)
            .all(|(a, b)| match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => same_operand((a, new), (b, old)),
                _ => false,
            })
}

fn same_operand((a, new): (&Operand, &Spec), (b, old): (&Operand, &Spec)) -> bool {
    match (a, b) {
        (Operand::Field(a), Operand::Field(b)) => same_field((a, new), (b, old)),
        (Operand::Ref(a), Operand::Ref(b)) => same_ref((*a, new), (*b, old)),
        _ => false,
    }
}

/// Whether two references, by their indices, are to the same variable of the same histogram.
fn same_ref((a, new): (usize, &Spec), (b, old): (usize, &Spec)) -> bool {
    match (new.refs.get(a), old.refs.get(b)) {
        (Some(a), Some(b)) => a.var_idx == b.var_idx && a.owner.same(&b.owner),
        _ => false,
    }
}

fn same_source(a: &Option<Source>, b: &Option<Source>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            *a.name == *b.name
                && *a.ty == *b.ty
                && a.offset == b.offset
                && a.size == b.size
                && a.signed == b.signed
        }
        _ => false,
    }
}

fn same_name(a: &Option<CString>, b: &Option<CString>) -> bool {
    a.as_ref().map(|name| name.to_bytes()) == b.as_ref().map(|name| name.to_bytes())
}

fn same_action(new: &Clause<'_>, old: &Action) -> bool {
    let is = |piece: Piece<'_>, text: &CString| piece.is(text.to_bytes());

    let handlers = match (new.when, &old.handler) {
        (
            When::OnMatch { system, event },
            Handler::OnMatch {
                system: old_system,
                event: old_event,
            },
        ) => is(system, old_system) && is(event, old_event),
        (When::OnMax(var), Handler::OnMax(track))
        | (When::OnChange(var), Handler::OnChange(track)) => is(var, &track.var_str),
        _ => false,
    };
    let kinds = matches!(
        (new.what, &old.kind),
        (What::Save, ActionKind::Save)
            | (What::Trace, ActionKind::Trace { .. })
            | (What::Snapshot, ActionKind::Snapshot(_))
    );

    handlers
        && kinds
        && is(new.subject(), old.traced.as_ref().unwrap_or(&old.name))
        && new.params.len() == old.params.len()
        && new.params.iter().zip(&old.params).all(|(a, b)| is(*a, b))
}
