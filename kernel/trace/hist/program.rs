// SPDX-License-Identifier: GPL-2.0

//! A histogram in the form that runs.
//!
//! [`compile`](compile::compile) builds it from the [`Spec`](crate::spec::Spec) once, so that a hit
//! does not have to look at fields, modifiers and types. It also decides where things are:
//!
//! - in the key: a number takes a word, a string the words of its field, `common_comm` two words,
//!   a string of varying length 32 words, a stack 31 words ([`Program::keys`]);
//! - in an element: variables and blobs ([`Program::place`], [`Program::layout`]). A variable that
//!   stands for a field of an action's parameters has no place there: nothing else can refer to it;
//! - in the scratch memory of a hit: slots, which have the values of references and variables, and
//!   blobs.

pub(crate) mod compile;
pub(crate) mod op;
pub(crate) mod snapshot_condition;

use self::op::{
    BlobVar,
    Code,
    HandlerCondition,
    KeptNumber,
    KeyPart,
    Leaf,
    NumberVar,
    ReferredVar,
    Save,
    SavedStack,
    Value,
    Watch, //
};
use crate::{
    command::action::Handler,
    histogram::Histogram,
    map::{
        Fold,
        KeyOrder,
        Layout,
        SortBy,
        VarSet, //
    },
    spec::VarKind, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The kind of a key, to show or compare it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyKind {
    /// One word, sign-extended if it is signed.
    Number { signed: bool },
    /// A string with zeros up to the end of its words.
    String,
    /// Addresses, one a word, followed by zeros.
    Stack,
}

impl KeyKind {
    /// Returns `true` for a signed number.
    pub(crate) fn is_signed(self) -> bool {
        self == Self::Number { signed: true }
    }
}

/// The place of a key in the whole key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyPlace {
    /// The word that it begins in.
    pub(crate) word: usize,
    /// Its size in words.
    pub(crate) words: usize,
    pub(crate) kind: KeyKind,
}

impl KeyPlace {
    /// Returns the order of such keys.
    pub(crate) fn order(&self) -> KeyOrder {
        match self.kind {
            KeyKind::Number { signed: false } => KeyOrder::Unsigned,
            KeyKind::Number { signed: true } => KeyOrder::Signed,
            KeyKind::String => KeyOrder::Str { words: self.words },
            KeyKind::Stack => KeyOrder::None,
        }
    }
}

/// The place of a variable in an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VarPlace {
    /// Its number there; `None` if it is only used while an event is handled.
    pub(crate) var: Option<usize>,
    /// The kind of its value, and the string slot of a blob.
    pub(crate) kind: VarKind<usize>,
}

impl VarPlace {
    const NONE: Self = Self {
        var: None,
        kind: VarKind::Number,
    };
}

/// The references to the variables of one other histogram.
pub(crate) struct ReferredHist {
    pub(crate) hist: Arc<Histogram>,
    /// Each of its keys takes as many words as that of the histogram that refers to it.
    pub(crate) same_key: bool,
    /// `same_key`, nothing that is read is a blob, and its elements stay those of their keys.
    pub(crate) plain: bool,
    /// The same, but its elements can be used again.
    pub(crate) plain_reusing: bool,
    /// The variables that are unset by being read.
    pub(crate) once: VarSet,
    pub(crate) reads: KVec<ReferredVar>,
}

/// A parameter of a synthetic event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Param {
    /// The number in this slot.
    Number(u32),
    /// A string of the scratch memory.
    String(u32),
    /// A stack of the scratch memory.
    Stack(u32),
}

/// The path that a hit takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HitPath {
    /// One field of the record is the key. The histogram has only sums, and variables that are
    /// numbers and that nothing else of the histogram refers to.
    Plain(Leaf),
    /// The scratch memory fits on the kernel stack, and nothing that runs can lead to another
    /// event.
    Small,
    /// Like `Plain`, with one variable, in a histogram whose elements can be used again.
    PlainReusing(Leaf),
    /// Like `Small`, in such a histogram.
    Reusing,
    /// It needs a buffer of the [scratch pool](crate::scratch).
    Large,
    /// Like `Large`. The key is long and ends with a string of the record, and only finding the
    /// element reads it: the words after the string need not be written.
    LargeOpen,
    /// Like `Large`, in a histogram whose elements can be used again.
    LargeReusing,
}

/// Returns the condition for which a handler runs its action. `signed` is set if the watched
/// variable is signed.
pub(crate) fn condition<T>(handler: &Handler<T>, signed: bool) -> HandlerCondition {
    match handler {
        Handler::OnMax(_) => HandlerCondition::Larger { signed },
        Handler::OnMin(_) => HandlerCondition::Smaller { signed },
        Handler::OnMatch { .. } | Handler::OnChange(_) => HandlerCondition::Other,
    }
}

/// Returns the bit of an action in a set of actions.
pub(crate) const fn bit(action: usize) -> u32 {
    // CAST: Their number is at most 8.
    1u32.wrapping_shl(action as u32)
}

/// The form of a histogram that hits run.
pub(crate) struct Program {
    pub(crate) path: HitPath,
    /// The parts of an element of the map.
    pub(crate) layout: Layout,
    /// The keys, in their order.
    pub(crate) keys: KVec<KeyPlace>,
    /// By number of the variable in the description.
    places: KVec<VarPlace>,
    /// The order of the rows.
    pub(crate) sort_by: KVec<SortBy>,
    pub(crate) code: Code,
    pub(crate) key_parts: KVec<KeyPart>,
    /// The sums but for the first, which is the hit count.
    pub(crate) sums: KVec<Value>,
    /// The combination of values that each of them is.
    pub(crate) folds: KVec<Fold>,
    /// Not all of them are added to.
    pub(crate) extremes: bool,
    pub(crate) sources: KVec<ReferredHist>,
    /// The destination of the stack that led to the event.
    pub(crate) stack: Option<SavedStack>,
    pub(crate) numbers: KVec<NumberVar>,
    /// Those numbers that stay in the element.
    pub(crate) kept_numbers: KVec<KeptNumber>,
    pub(crate) kept_vars: VarSet,
    pub(crate) blobs: KVec<BlobVar>,
    pub(crate) watches: KVec<Watch>,
    pub(crate) saves: KVec<Save>,
    /// By action: the parameters, if it generates a synthetic event.
    pub(crate) params: KVec<KVec<Param>>,
    /// Elements can be used again for other keys.
    pub(crate) reuse: bool,
    /// Only hits are counted.
    pub(crate) counts_only: bool,
    /// Variables are stored in the element.
    pub(crate) stores: bool,
    /// None of these variables is a blob, and no action watches a variable.
    pub(crate) stores_numbers_only: bool,
    /// The name of the current task is stored, and not in the scratch memory.
    pub(crate) stores_comm: bool,
    /// The actions that always run.
    pub(crate) always: u32,
    /// The actions that do more than to store something in the element.
    pub(crate) effects: u32,
}

impl Program {
    /// Returns the place in elements of the variable number `idx` of the description.
    pub(crate) fn place(&self, idx: usize) -> VarPlace {
        self.places.get(idx).copied().unwrap_or(VarPlace::NONE)
    }
}
