// SPDX-License-Identifier: GPL-2.0

//! The compiler: from the description of a histogram to its program.

mod actions;
mod number;
mod vars;

use self::vars::Resolved;
use super::{
    bit,
    op::{
        Code,
        Kept,
        KeptNumber,
        KeyPart,
        NumberVar,
        Save,
        SavedStack,
        Step,
        TextVar,
        Value,
        Watch, //
    },
    KeyKind,
    KeyPlace,
    Param,
    Program,
    ReferredHist,
    Shape,
    VarPlace,
    KEY_WORDS_MAX,
    SLOTS_MAX,
    SMALL_WORDS, //
};
use crate::{
    action::{
        Action,
        ActionKind,
        Handler, //
    },
    data::Spec,
    field::{
        Field,
        Flags,
        Func, //
    },
    map::{
        KeyOrder,
        Layout,
        Marks,
        SortBy,
        SortValue, //
    },
    update::{
        moment::COMM_LEN,
        pad::PadUse, //
    },
    STACK_DEPTH,
    WORD, //
};
use kernel::prelude::*;

/// A histogram that is being compiled.
struct Compiler<'a> {
    spec: &'a Spec,
    refs: KVec<Resolved>,
    keys: KVec<KeyPlace>,
    places: KVec<VarPlace>,
    steps: KVec<Step>,
    key_parts: KVec<KeyPart>,
    sums: KVec<Value>,
    sources: KVec<ReferredHist>,
    numbers: KVec<NumberVar>,
    kept_numbers: KVec<KeptNumber>,
    kept_marks: Marks,
    texts: KVec<TextVar>,
    watches: KVec<Watch>,
    saves: KVec<Save>,
    params: KVec<KVec<Param>>,
    stack: Option<u32>,
    key_words: usize,
    n_slots: usize,
    n_scratch: usize,
    n_vars: usize,
    n_strings: usize,
}

pub(super) fn compile(spec: &Spec) -> Result<Program> {
    let mut c = Compiler {
        spec,
        refs: KVec::new(),
        keys: KVec::new(),
        places: KVec::new(),
        steps: KVec::new(),
        key_parts: KVec::new(),
        sums: KVec::new(),
        sources: KVec::new(),
        numbers: KVec::new(),
        kept_numbers: KVec::new(),
        kept_marks: Marks::NONE,
        texts: KVec::new(),
        watches: KVec::new(),
        saves: KVec::new(),
        params: KVec::new(),
        stack: None,
        key_words: 0,
        n_slots: spec.refs.len(),
        n_scratch: 0,
        n_vars: 0,
        n_strings: 0,
    };

    c.keys()?;
    c.references()?;
    c.values()?;
    c.variables()?;
    c.actions()?;
    c.finish()
}

/// A count or an index as programs have it.
fn index(n: usize) -> Result<u32> {
    Ok(u32::try_from(n)?)
}

/// Number of words that a key takes in the whole key.
pub(super) fn words_of_key(key: &Field) -> usize {
    let bytes = if key.flags.any(Flags::STACKTRACE) {
        return STACK_DEPTH;
    } else if key.func == Func::Comm {
        COMM_LEN
    } else if key.flags.any(Flags::STRING) {
        key.size as usize
    } else {
        return 1;
    };

    bytes.div_ceil(WORD).max(1)
}

impl Compiler<'_> {
    fn keys(&mut self) -> Result {
        for key in self.spec.keys() {
            let word = index(self.key_words)?;
            let words = words_of_key(key);
            let (part, kind) = if key.flags.any(Flags::STACKTRACE) {
                let part = match &key.source {
                    Some(source) => KeyPart::Recorded {
                        word,
                        offset: source.offset,
                    },
                    None => KeyPart::Stack {
                        word,
                        scratch: self.stack()?,
                    },
                };
                (part, KeyKind::Stack)
            } else if let Some(text) = self.text(key)? {
                let part = KeyPart::String {
                    word,
                    words: index(words)?,
                    text,
                };
                (part, KeyKind::String)
            } else {
                let value = self.value(key)?;
                let signed = self.signed(key);
                (KeyPart::Number { word, value }, KeyKind::Number { signed })
            };

            self.key_parts.push(part, GFP_KERNEL)?;
            self.keys.push(
                KeyPlace {
                    word: self.key_words,
                    words,
                    kind,
                },
                GFP_KERNEL,
            )?;
            self.key_words = self.key_words.saturating_add(words);
        }

        if self.key_words == 0 || self.key_words > KEY_WORDS_MAX {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// The sums. The first is the hit count.
    fn values(&mut self) -> Result {
        for (i, field) in self.spec.vals().iter().enumerate() {
            if i == 0 || field.flags.any(Flags::VAR) {
                continue;
            }
            if self.text(field)?.is_some() {
                return Err(EINVAL);
            }
            let value = self.value(field)?;

            self.sums.push(value, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Says in which order rows are.
    fn sort_by(&self) -> Result<KVec<SortBy>> {
        let mut sort_by = KVec::new();
        let n = self.spec.n_sort_keys.min(self.spec.sort_keys.len());
        let n_sums = self.sums.len().wrapping_add(1);

        for sort_key in self.spec.sort_keys.get(..n).unwrap_or(&[]) {
            let idx = sort_key.field_idx;
            let value = match idx.checked_sub(n_sums) {
                None => SortValue::Sum {
                    index: idx,
                    signed: self.spec.vals().get(idx).is_some_and(|field| field.signed),
                },
                Some(n) => {
                    let key = self.keys.get(n).ok_or(EINVAL)?;

                    SortValue::Key {
                        word: key.word,
                        order: order(key),
                    }
                }
            };

            sort_by.push(
                SortBy {
                    value,
                    descending: sort_key.descending,
                },
                GFP_KERNEL,
            )?;
        }
        Ok(sort_by)
    }

    fn shape(&self) -> Shape {
        let effects = self
            .spec
            .actions
            .iter()
            .any(|action| !matches!(action.kind, ActionKind::Save));
        let plain = self.spec.refs.is_empty()
            && self.spec.actions.is_empty()
            && self.numbers.len() == self.kept_numbers.len()
            && self.texts.is_empty();

        if plain {
            if let [KeyPart::Number {
                value: Value::Leaf(leaf),
                ..
            }] = self.key_parts.as_slice()
            {
                if leaf.is_recorded() {
                    return Shape::Plain(*leaf);
                }
            }
        }
        if self.key_words.saturating_add(self.n_slots) <= SMALL_WORDS
            && self.n_scratch == 0
            && self.texts.is_empty()
            && !self
                .saves
                .iter()
                .any(|save| matches!(save, Save::Text { .. }))
            && self.sources.iter().all(|source| source.same_key)
            && !effects
        {
            Shape::Small
        } else {
            Shape::Large
        }
    }

    /// The first string of an element that `save()` keeps. These are the last ones, and only they
    /// are shown.
    fn first_saved_string(&self) -> usize {
        let strings = self.saves.iter().filter_map(|save| match save {
            Save::Text { kept, .. } => match kept.at {
                Kept::String(n) | Kept::Stack(n) => Some(n as usize),
                Kept::Comm => None,
            },
            Save::Number { .. } => None,
        });

        strings.min().unwrap_or(self.n_strings)
    }

    /// Where the stack that led to the event is saved. If it is used once, as the key, that is
    /// there.
    fn saved_stack(&mut self) -> Option<SavedStack> {
        let stack = self.stack?;
        let only_key = self.texts.is_empty() && self.saves.is_empty() && self.n_scratch == 1;

        if let ([part @ KeyPart::Stack { .. }], true) = (self.key_parts.as_mut_slice(), only_key) {
            *part = KeyPart::Saved;
            return Some(SavedStack::Key);
        }
        Some(SavedStack::Text(stack))
    }

    fn finish(mut self) -> Result<Program> {
        if self.n_slots > SLOTS_MAX {
            return Err(EINVAL);
        }
        let sort_by = self.sort_by()?;
        let shape = self.shape();
        let stack = self.saved_stack();
        let pads = match shape {
            Shape::Large => Some(PadUse::new()?),
            _ => None,
        };
        let spec = self.spec;
        let actions = |which: fn(&Action) -> bool| {
            let bits = spec.actions.iter().enumerate();

            bits.filter(|(_, action)| which(action))
                .fold(0, |set, (i, _)| set | bit(i))
        };

        Ok(Program {
            shape,
            layout: Layout {
                key_words: self.key_words,
                n_sums: self.sums.len().wrapping_add(1),
                n_vars: self.n_vars,
                string_slots: self.n_strings,
                first_shown: self.first_saved_string(),
                comm: spec.fields.iter().any(|f| f.flags.any(Flags::EXECNAME)),
            },
            sort_by,
            counts_only: self.sums.is_empty() && self.n_vars == 0,
            stores: self.n_vars > 0,
            stores_numbers_only: self.texts.iter().all(|text| text.kept.is_none())
                && self.watches.is_empty(),
            always: actions(|action| matches!(action.handler, Handler::OnMatch { .. })),
            effects: actions(|action| !matches!(action.kind, ActionKind::Save)),
            keys: self.keys,
            places: self.places,
            code: Code {
                steps: self.steps,
                usecs: spec.usecs,
            },
            key_parts: self.key_parts,
            sums: self.sums,
            sources: self.sources,
            stack,
            numbers: self.numbers,
            kept_numbers: self.kept_numbers,
            kept_marks: self.kept_marks,
            texts: self.texts,
            watches: self.watches,
            saves: self.saves,
            params: self.params,
            pads,
        })
    }
}

/// How a key is ordered.
fn order(key: &KeyPlace) -> KeyOrder {
    match key.kind {
        KeyKind::Number { signed: false } => KeyOrder::Unsigned,
        KeyKind::Number { signed: true } => KeyOrder::Signed,
        KeyKind::String => KeyOrder::Str { words: key.words },
        KeyKind::Stack => KeyOrder::None,
    }
}
