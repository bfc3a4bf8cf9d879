// SPDX-License-Identifier: GPL-2.0

//! The description of a histogram: what its command says.
//!
//! It is created by [`builder`](crate::builder) and does not change afterwards. Other histograms
//! are identified by number, so that a description refers to no object.

pub(crate) mod field;
pub(crate) mod matching;

use kernel::{
    prelude::*,
    str::CString, //
};

use self::field::{
    Field,
    Type, //
};
use crate::{
    command::{
        action::ActionClause,
        expr::Modifier, //
    },
    limits::SORT_KEYS_MAX,
    text_buf::TextBuf, //
};

/// One field to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SortKey {
    /// Index into the fields that are not variables: 0 is the hit count.
    pub(crate) field_idx: usize,
    pub(crate) descending: bool,
}

/// A variable of a histogram.
pub(crate) struct Var {
    pub(crate) name: CString,
    /// Its number in the histogram.
    pub(crate) idx: usize,
}

/// A field that an action uses, with the variable that stands for it.
pub(crate) struct FieldVar {
    pub(crate) var: Var,
    pub(crate) val: Field,
}

/// The variable that `onmax()`, `onmin()` or `onchange()` watches.
pub(crate) struct Track {
    /// Index of the reference to the variable.
    pub(crate) var_ref: usize,
    /// The hidden variable that has the largest, the smallest or the last value.
    pub(crate) var: Var,
}

/// A handler and its action.
pub(crate) struct Action {
    pub(crate) clause: ActionClause<CString>,
    /// For `onmax()`, `onmin()` and `onchange()`.
    pub(crate) track: Option<Track>,
    /// For each field of a synthetic event the index of the reference that is its value.
    pub(crate) refs: KVec<usize>,
}

/// Identifies a histogram as long as it exists: its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HistogramId(pub(crate) usize);

/// The histogram that has the variable of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The histogram that has the reference.
    Own,
    /// Another one, which stays as long as it is referred to.
    Other(HistogramId),
}

/// A reference to a variable.
pub(crate) struct VarRef {
    pub(crate) owner: Owner,
    /// Number of the variable in its histogram.
    pub(crate) var_idx: usize,
    /// Name of the variable, without the dollar sign.
    pub(crate) name: CString,
    /// The column that the name was in, in the command as it is logged.
    pub(crate) at: usize,
    /// The system and the event that qualified the reference.
    pub(crate) event: Option<(CString, CString)>,
    pub(crate) ty: Type,
    /// The variable is a time in microseconds.
    pub(crate) usecs: bool,
    /// The value of the variable if it is defined as a constant.
    pub(crate) constant: Option<u64>,
    /// Reading it unsets the variable.
    pub(crate) read_once: bool,
    /// The kind of the value of the variable.
    pub(crate) kind: VarKind,
}

/// The kind of the value of a variable. A string and a stack are in a `Slot` of the element, which
/// is assigned when the histogram is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VarKind<Slot = ()> {
    Number,
    String(Slot),
    Stack(Slot),
    /// The name of the task that had the first hit of the element, as `common_pid.execname` saves
    /// it.
    Comm,
}

impl<Slot> VarKind<Slot> {
    /// Converts the slot with `f`.
    pub(crate) fn map<To>(self, f: impl FnOnce(Slot) -> To) -> VarKind<To> {
        match self {
            Self::Number => VarKind::Number,
            Self::String(slot) => VarKind::String(f(slot)),
            Self::Stack(slot) => VarKind::Stack(f(slot)),
            Self::Comm => VarKind::Comm,
        }
    }
}

/// The description of a histogram.
pub(crate) struct Spec {
    /// The hit count, the other values, the variables, the keys.
    pub(crate) fields: KVec<Field>,
    /// Number of values and variables; the keys follow.
    pub(crate) n_vals: usize,
    /// Size of the key in bytes, as C counts it.
    pub(crate) key_size: usize,
    /// References to variables, in the order of first use.
    pub(crate) refs: KVec<VarRef>,
    pub(crate) sort_keys: [SortKey; SORT_KEYS_MAX],
    pub(crate) n_sort_keys: usize,
    /// `name=...`, as it was written.
    pub(crate) name: Option<CString>,
    pub(crate) clock: CString,
    pub(crate) no_hitcount: bool,
    /// Quantiles are shown, of the key that is rounded to [parts](Modifier::Log2Parts) of powers of
    /// two.
    pub(crate) quantiles: bool,
    /// Elements can be used again for other keys.
    pub(crate) reuse: bool,
    /// A key, value or variable is a time stamp.
    pub(crate) timestamps: bool,
    /// Time stamps are in microseconds.
    pub(crate) usecs: bool,
    /// Logarithm of the number of elements.
    pub(crate) map_bits: u32,
    pub(crate) actions: KVec<Action>,
    pub(crate) field_vars: KVec<FieldVar>,
    pub(crate) save_vars: KVec<FieldVar>,
    /// Number of variables of all kinds, those of fields and of actions included.
    pub(crate) n_map_vars: usize,
}

impl Spec {
    /// Returns values and variables.
    pub(crate) fn vals(&self) -> &[Field] {
        self.fields.get(..self.n_vals).unwrap_or(&[])
    }

    pub(crate) fn keys(&self) -> &[Field] {
        self.fields.get(self.n_vals..).unwrap_or(&[])
    }

    pub(crate) fn n_keys(&self) -> usize {
        self.fields.len().saturating_sub(self.n_vals)
    }

    /// Returns the index, among the keys, of the only one that is rounded to parts of powers of
    /// two.
    pub(crate) fn parts_key(&self) -> Option<usize> {
        let mut keys = self.keys().iter().enumerate();
        let mut next =
            || keys.find_map(|(i, k)| matches!(k.modifier, Modifier::Log2Parts(_)).then_some(i));

        match (next(), next()) {
            (Some(i), None) => Some(i),
            _ => None,
        }
    }

    /// Returns the fields to sort by.
    pub(crate) fn sort_keys(&self) -> &[SortKey] {
        self.sort_keys.get(..self.n_sort_keys).unwrap_or(&[])
    }

    /// Returns the hit count, the other values and the keys, as [`SortKey::field_idx`] counts
    /// them.
    pub(crate) fn sort_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.var.is_none())
    }

    /// Returns the index of the variable of this name among the fields.
    pub(crate) fn var_index(&self, name: &[u8]) -> Option<usize> {
        self.fields.iter().position(|field| {
            let var = field.var.as_ref();

            var.is_some_and(|var| var.name.to_bytes() == name)
        })
    }

    /// Returns a reference by its index.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it does not exist: no description has such an index.
    pub(crate) fn var_ref(&self, idx: usize) -> Result<&VarRef> {
        self.refs.get(idx).ok_or(EINVAL)
    }

    /// Returns the kind of a variable with the value of a field.
    pub(crate) fn var_kind(&self, field: &Field) -> VarKind {
        field.var_kind(|i| self.refs.get(i).map_or(VarKind::Number, |r| r.kind))
    }

    /// Returns `true` if other histograms may refer to this one, or it refers to a variable.
    pub(crate) fn has_vars(&self) -> bool {
        !self.refs.is_empty() || self.fields.iter().any(|field| field.var.is_some())
    }

    /// Returns `true` if this histogram refers to a variable of `id`.
    pub(crate) fn refers_to(&self, id: HistogramId) -> bool {
        self.refs.iter().any(|r| r.owner == Owner::Other(id))
    }

    /// Returns the number of words of the key. The keys must be known, the actions need not be.
    pub(crate) fn key_words(&self) -> usize {
        self.keys()
            .iter()
            .fold(0, |n, key| n.saturating_add(key.key_words()))
    }
}

impl Spec {
    /// Writes the command, without a filter.
    pub(crate) fn write(&self, out: &mut TextBuf) {
        let refs = &self.refs;

        out.put(b"hist:");
        if let Some(name) = &self.name {
            out.put(name.to_bytes());
            out.put(b":");
        }

        out.put(b"keys=");
        out.list(self.keys(), |out, key| key.write_key(out, refs));

        let (vars, values) = (
            self.vals().iter().filter(|field| field.var.is_some()),
            self.vals().iter().filter(|field| field.var.is_none()),
        );
        let values = values.skip(1);
        // The first one of a list is that of every histogram, whether it is shown in rows or not.
        let hitcount = !self.no_hitcount || values.clone().any(Field::is_hitcount);

        out.put(b":vals=");
        if hitcount {
            out.put(b"hitcount");
        }
        for (i, value) in values.enumerate() {
            if i > 0 || hitcount {
                out.put(b",");
            }
            value.write(out, refs);
        }

        if vars.clone().next().is_some() {
            out.put(b":");
            out.list(vars, |out, var| var.write(out, refs));
        }

        out.put(b":sort=");
        out.list(self.sort_keys(), |out, key| {
            if let Some(field) = self.sort_fields().nth(key.field_idx) {
                field.write(out, refs);
            }
            if key.descending {
                out.put(b".descending");
            }
        });

        out.put(b":size=");
        out.unsigned(1u64.wrapping_shl(self.map_bits), 0);
        if self.timestamps {
            out.put(b":clock=");
            out.put(self.clock.to_bytes());
        }
        if self.no_hitcount {
            out.put(b":nohitcount");
        }
        if self.quantiles {
            out.put(b":quantiles");
        }
        if self.reuse {
            out.put(b":reuse");
        }
        for action in &self.actions {
            out.put(b":");
            action.clause.write(out);
        }
    }
}
