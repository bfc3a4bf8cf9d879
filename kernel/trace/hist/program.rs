// SPDX-License-Identifier: GPL-2.0

//! A histogram in the form that runs.
//!
//! [`Program::compile`] makes it of the [`Spec`] once, so that a hit does not have to look at
//! fields, flags and types. It also decides where things are:
//!
//! - in the key: a number takes a word, a string the words of its field, `common_comm` two words,
//!   a string of varying length 32 words, a stack 31 words ([`Program::keys`]);
//! - in an element: variables and texts ([`Program::place`], [`Program::layout`]). A variable that
//!   stands for a field of an action's parameters has no place there: nothing else can refer to it;
//! - in the scratch memory of a hit: slots, which have the values of references and variables, and
//!   texts.

mod compile;
pub(crate) mod op;

use self::op::{
    Code,
    KeptNumber,
    KeyPart,
    NumberVar,
    Read,
    Save,
    TextVar,
    Value,
    Watch, //
};
use super::{
    data::{
        Hist,
        Spec, //
    },
    field::VarKind,
    map::{
        self,
        Layout,
        Marks,
        SortBy, //
    },
    update::pad::PadUse, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What a key is, to show or compare it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyKind {
    /// One word, sign-extended if it is signed.
    Number { signed: bool },
    /// A string with zeros up to the end of its words.
    String,
    /// Addresses, one a word, with zeros behind the last.
    Stack,
}

impl KeyKind {
    /// Whether a key of this kind can be equal to one of the other.
    pub(crate) fn finds(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Number { .. }, Self::Number { .. })
                | (Self::String, Self::String)
                | (Self::Stack, Self::Stack)
        )
    }
}

/// Where a key is in the whole key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyPlace {
    /// The word that it begins in.
    pub(crate) word: usize,
    /// How many words it takes.
    pub(crate) words: usize,
    pub(crate) kind: KeyKind,
}

/// Where a variable is in an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VarPlace {
    /// Its number there; `None` if it is only used while an event is handled.
    pub(crate) var: Option<usize>,
    /// What it holds, and where the element has it if it is a text.
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
    pub(crate) hist: Arc<Hist>,
    /// Each of its keys takes as many words as that of the histogram that refers to it.
    pub(crate) same_key: bool,
    /// `same_key`, and nothing that is read is a text.
    pub(crate) plain: bool,
    /// The variables that are unset by being read.
    pub(crate) once: Marks,
    pub(crate) reads: KVec<Read>,
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

/// How much a hit has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One field of the record is the key. There are only sums, and variables that are numbers and
    /// that nothing else of the histogram refers to.
    Plain(op::Leaf),
    /// There is little to remember: it fits on the kernel stack, and nothing that runs can lead to
    /// another event.
    Small,
    /// It needs a [pad](super::update::pad).
    Large,
}

/// Most words and slots together that the key and the numbers of a [small](Shape::Small) histogram
/// take.
pub(crate) const SMALL_WORDS: usize = 8;

/// Words of a text in the scratch memory, or in an element.
pub(crate) const TEXT_WORDS: usize = map::STRING_WORDS;

/// Most words of a key: the longest string and a stack.
pub(crate) const KEY_WORDS_MAX: usize = TEXT_WORDS + super::STACK_DEPTH;

/// Most slots: one for each reference, and one for each variable that nothing refers to.
pub(crate) const SLOTS_MAX: usize = 2 * super::VARS_MAX;

/// Most texts in the scratch memory: one for each reference, and the stack.
pub(crate) const TEXTS_MAX: usize = super::VARS_MAX + 1;

/// An action in a set of actions.
pub(crate) const fn bit(action: usize) -> u32 {
    // CAST: There are not more than 8.
    1u32.wrapping_shl(action as u32)
}

// There is room for a string, or for a whole stack with its length.
static_assert!(TEXT_WORDS * super::WORD == super::STR_MAX);
static_assert!(super::STACK_DEPTH < TEXT_WORDS);

/// What runs when the event of a histogram happens.
pub(crate) struct Program {
    pub(crate) shape: Shape,
    layout: Layout,
    keys: KVec<KeyPlace>,
    /// By number of the variable in the description.
    places: KVec<VarPlace>,
    sort_by: KVec<SortBy>,
    pub(crate) code: Code,
    pub(crate) key_parts: KVec<KeyPart>,
    /// The sums but for the first, which is the hit count.
    pub(crate) sums: KVec<Value>,
    pub(crate) sources: KVec<ReferredHist>,
    /// What gets the stack that led to the event.
    pub(crate) stack: Option<op::SavedStack>,
    pub(crate) numbers: KVec<NumberVar>,
    /// Those numbers that stay in the element.
    pub(crate) kept_numbers: KVec<KeptNumber>,
    pub(crate) kept_marks: Marks,
    pub(crate) texts: KVec<TextVar>,
    pub(crate) watches: KVec<Watch>,
    pub(crate) saves: KVec<Save>,
    /// By action: the parameters, if it makes a synthetic event.
    pub(crate) params: KVec<KVec<Param>>,
    /// There is nothing but the hit count.
    pub(crate) counts_only: bool,
    /// Variables are stored in the element.
    pub(crate) stores: bool,
    /// None of these variables is a text, and no action watches a variable.
    pub(crate) stores_numbers_only: bool,
    /// The actions that always run.
    pub(crate) always: u32,
    /// The actions that do more than to store something in the element.
    pub(crate) effects: u32,
    /// What a [large](Shape::Large) histogram needs.
    pub(crate) pads: Option<PadUse>,
}

impl Program {
    /// What elements of the map have to have room for.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The keys, in their order.
    pub(crate) fn keys(&self) -> &[KeyPlace] {
        &self.keys
    }

    /// Where elements have the variable number `idx` of the description.
    pub(crate) fn place(&self, idx: usize) -> VarPlace {
        self.places.get(idx).copied().unwrap_or(VarPlace::NONE)
    }

    /// How rows are sorted.
    pub(crate) fn sort_by(&self) -> &[SortBy] {
        &self.sort_by
    }

    /// Compiles a histogram. May sleep.
    ///
    /// # Errors
    ///
    /// - `ENOMEM` if there is no memory.
    /// - `EINVAL` if the description makes no sense: it has no keys or one that is too long, uses a
    ///   string as a number, or refers to what is not there, or to a histogram with other keys.
    pub(crate) fn compile(spec: &Spec) -> Result<Self> {
        compile::compile(spec)
    }

    /// Number of words that the key of a histogram takes. Its keys must be known, its actions need
    /// not.
    pub(crate) fn key_words(spec: &Spec) -> usize {
        spec.keys()
            .iter()
            .fold(0, |n, key| n.saturating_add(compile::words_of_key(key)))
    }
}
