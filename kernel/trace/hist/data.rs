// SPDX-License-Identifier: GPL-2.0

//! A histogram: its description, its program and its map.
//!
//! It is made by [`build`](super::build) and never changes afterwards, except for the contents of
//! the map and what the actions keep. It is shared by its triggers (several, if it has a name) and
//! by the histograms that refer to its variables, and refers to no event: it may outlive its
//! events.

use kernel::{
    prelude::*,
    str::CString,
    sync::{
        Arc,
        UniqueArc, //
    }, //
};

use super::{
    action::Action,
    field::{
        Field,
        Flags,
        Owner,
        VarRef, //
    },
    map::Map,
    program::Program, //
};

/// One field to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SortKey {
    /// Index into the fields that are not variables: 0 is the hit count.
    pub(crate) field_idx: usize,
    pub(crate) descending: bool,
}

/// A field that an action uses, with the variable that stands for it.
pub(crate) struct FieldVar {
    pub(crate) var: Field,
    pub(crate) val: Field,
}

/// What a histogram is, as its command says.
pub(crate) struct Spec {
    /// The hit count, the other values, the variables, the keys.
    pub(crate) fields: KVec<Field>,
    /// Number of values and variables; the keys follow.
    pub(crate) n_vals: usize,
    /// Size of the key in bytes, as C counts it.
    pub(crate) key_size: usize,
    /// References to variables, in the order of first use.
    pub(crate) refs: KVec<VarRef>,
    pub(crate) sort_keys: [SortKey; super::SORT_KEYS_MAX],
    pub(crate) n_sort_keys: usize,
    /// `name=...`, as it was written.
    pub(crate) name: Option<CString>,
    pub(crate) clock: CString,
    pub(crate) no_hitcount: bool,
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
    /// Values and variables.
    pub(crate) fn vals(&self) -> &[Field] {
        self.fields.get(..self.n_vals).unwrap_or(&[])
    }

    pub(crate) fn keys(&self) -> &[Field] {
        self.fields.get(self.n_vals..).unwrap_or(&[])
    }

    pub(crate) fn n_keys(&self) -> usize {
        self.fields.len().saturating_sub(self.n_vals)
    }

    /// The variable of this name that the command defines.
    pub(crate) fn var(&self, name: &[u8]) -> Option<&Field> {
        self.fields.get(self.var_index(name)?)
    }

    /// Whether other histograms may refer to it, or it refers to a variable.
    pub(crate) fn has_vars(&self) -> bool {
        !self.refs.is_empty() || self.fields.iter().any(|f| f.flags.any(Flags::VAR))
    }
}

/// A histogram.
///
/// It refers to others, which may refer to others in turn, and so on without a limit. So when the
/// last ones of such a chain go together, they are dropped one after the other, not each by the one
/// before, which would take as much stack as the chain is long: see [`Hist::drop`].
pub(crate) struct Hist {
    pub(crate) spec: Spec,
    pub(crate) program: Program,
    pub(crate) map: Map,
    /// The next of those without references, while they are dropped.
    gone: Option<Pin<UniqueArc<Hist>>>,
}

impl Hist {
    pub(crate) fn new(spec: Spec, program: Program, map: Map) -> Self {
        Self {
            spec,
            program,
            map,
            gone: None,
        }
    }

    /// Gives up a reference to another histogram; `None` if there are no more.
    fn take_other(&mut self) -> Option<Arc<Self>> {
        while let Some(var_ref) = self.spec.refs.pop() {
            if let Owner::Other(hist) = var_ref.owner {
                return Some(hist);
            }
        }
        self.program.sources.pop().map(|source| source.hist)
    }
}

impl Drop for Hist {
    fn drop(&mut self) {
        // Those that nobody has any more, linked by `gone`.
        let mut first: Option<Pin<UniqueArc<Self>>> = None;

        loop {
            let other = match &mut first {
                Some(hist) => hist.take_other(),
                None => self.take_other(),
            };

            if let Some(other) = other {
                if let Some(mut hist) = Arc::into_unique_or_drop(other) {
                    hist.gone = first;
                    first = Some(hist);
                }
            } else if let Some(mut hist) = first {
                // It has none left, so its own drop finds none.
                first = hist.gone.take();
            } else {
                break;
            }
        }
    }
}
