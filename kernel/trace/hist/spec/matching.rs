// SPDX-License-Identifier: GPL-2.0

//! Which descriptions are the same: of a line with the same text, or of one that says the same in
//! other words.
//!
//! The name, the fields with all that they are computed from, the sort order, `quantiles`, `reuse`
//! and the actions are compared; the size, the clock and `nohitcount` are not. For a line that
//! joins a named histogram, the fields and variables that the actions use are compared as well.

use kernel::str::CString;

use super::{
    field::{
        Field,
        FieldKind,
        Source, //
    },
    FieldVar,
    Spec, //
};
use crate::command::{
    action::ActionClause,
    Span, //
};

impl Spec {
    /// Returns `true` if a line with this description, and with the handlers and actions
    /// `clauses`, means the histogram `old`.
    pub(crate) fn is_same(&self, clauses: &[ActionClause<Span<'_>>], old: &Self) -> bool {
        bytes(&self.name) == bytes(&old.name)
            && self.n_vals == old.n_vals
            && self.fields.len() == old.fields.len()
            && self
                .fields
                .iter()
                .zip(&old.fields)
                .all(|(a, b)| same_field((a, self), (b, old)))
            && self.sort_keys() == old.sort_keys()
            && self.quantiles == old.quantiles
            && self.reuse == old.reuse
            && clauses.len() == old.actions.len()
            && clauses
                .iter()
                .zip(&old.actions)
                .all(|(a, b)| a.is_same(&b.clause))
    }

    /// Returns `true` if the actions use the same fields and variables as the actions of `old`,
    /// which have the same text.
    pub(crate) fn uses_same(&self, old: &Self) -> bool {
        same_vals(&self.save_vars, self, &old.save_vars, old)
            && same_vals(&self.field_vars, self, &old.field_vars, old)
            && self.actions.len() == old.actions.len()
            && self.actions.iter().zip(&old.actions).all(|(a, b)| {
                a.refs.len() == b.refs.len()
                    && a.refs
                        .iter()
                        .zip(&b.refs)
                        .all(|(a, b)| same_ref((*a, self), (*b, old)))
            })
    }

    /// Returns `true` if the first keys of this histogram can be those of `other`: each pair are
    /// both numbers, strings or stacks.
    pub(crate) fn keys_are_compatible_with(&self, other: &Self) -> bool {
        self.n_keys() >= other.n_keys()
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(a, b)| a.own_kind() == b.own_kind())
    }

    /// Returns `true` if the keys have the types of those of `other`.
    pub(crate) fn has_same_key_types(&self, other: &Self) -> bool {
        self.n_keys() == other.n_keys()
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(a, b)| a.ty.is_same(&b.ty))
    }
}

fn bytes(text: &Option<CString>) -> Option<&[u8]> {
    text.as_ref().map(|text| text.to_bytes())
}

/// Returns `true` if variables hold the same fields.
fn same_vals(a: &[FieldVar], new: &Spec, b: &[FieldVar], old: &Spec) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| same_field((&a.val, new), (&b.val, old)))
}

fn same_field((a, new): (&Field, &Spec), (b, old): (&Field, &Spec)) -> bool {
    // A stack of the record is the same with the modifier.
    (a.modifier == b.modifier || a.is_stack())
        && a.var.as_ref().map(|var| var.name.to_bytes())
            == b.var.as_ref().map(|var| var.name.to_bytes())
        && match (&a.kind, &b.kind) {
            (FieldKind::Recorded(a), FieldKind::Recorded(b))
            | (FieldKind::FirstComm(a), FieldKind::FirstComm(b)) => same_source(a, b),
            // By any name.
            (FieldKind::Property(a, _), FieldKind::Property(b, _)) => a == b,
            (FieldKind::Const(a), FieldKind::Const(b)) => a == b,
            (FieldKind::Ref(a), FieldKind::Ref(b)) | (FieldKind::Alias(a), FieldKind::Alias(b)) => {
                same_ref((*a, new), (*b, old))
            }
            (FieldKind::Rounded(a), FieldKind::Rounded(b)) => same_field((a, new), (b, old)),
            (FieldKind::Expr(a), FieldKind::Expr(b)) => {
                a.divisor == b.divisor
                    && same_field((&a.left, new), (&b.left, old))
                    && match (&a.right, &b.right) {
                        (Some((a_operator, a)), Some((b_operator, b))) => {
                            a_operator == b_operator && same_field((a, new), (b, old))
                        }
                        (a, b) => a.is_none() && b.is_none(),
                    }
            }
            _ => false,
        }
}

/// Returns `true` if two references, by their indices, are to the same variable of the same
/// histogram.
fn same_ref((a, new): (usize, &Spec), (b, old): (usize, &Spec)) -> bool {
    match (new.refs.get(a), old.refs.get(b)) {
        (Some(a), Some(b)) => a.var_idx == b.var_idx && a.owner == b.owner,
        _ => false,
    }
}

fn same_source(a: &Source, b: &Source) -> bool {
    *a.name == *b.name && a.ty.is_same(&b.ty) && a.offset == b.offset && a.kind == b.kind
}
