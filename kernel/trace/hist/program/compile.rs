// SPDX-License-Identifier: GPL-2.0

//! The compiler: from the description of a histogram to its program.

mod numbers;
mod places;

use super::{
    bit,
    condition,
    op::{
        BlobOrigin,
        BlobSlot,
        Code,
        KeptBlob,
        KeyPart,
        Save,
        SavedStack,
        Value,
        Watch, //
    },
    HitPath,
    KeyKind,
    KeyPlace,
    Param,
    Program, //
};
use crate::{
    command::{
        action::{
            ActionKind,
            Handler, //
        },
        expr::Modifier, //
    },
    histogram::Histogram,
    limits::{
        KEY_WORDS_MAX,
        SLOTS_MAX,
        SMALL_WORDS, //
    },
    map::{
        are_long,
        Fold,
        Layout,
        SortBy,
        SortValue,
        VarSet, //
    },
    spec::{
        field::FieldKind,
        Action,
        Spec,
        Track,
        VarKind, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A histogram that is being compiled.
struct Compiler<'a> {
    spec: &'a Spec,
    /// The histograms that it refers to.
    owners: &'a [Arc<Histogram>],
    program: KBox<Program>,
    /// By reference: the blob of the scratch memory that has the value, if that is a blob.
    refs: KVec<Option<u32>>,
    /// The blob of the scratch memory that has the stack that led to the event.
    stack: Option<u32>,
    n_slots: usize,
    n_scratch: usize,
}

/// Compiles a histogram, which refers to the histograms `owners`.
///
/// # Errors
///
/// - `ENOMEM` if an allocation fails.
/// - `EINVAL` if the description is inconsistent: it has no keys or one that is too long, uses a
///   string as a number, or refers to what does not exist, or to a histogram with other keys.
///   [`builder`](crate::builder) creates no such description: the command is refused there, and
///   the reason is logged.
pub(crate) fn compile(spec: &Spec, owners: &[Arc<Histogram>]) -> Result<KBox<Program>> {
    let mut c = Compiler {
        spec,
        owners,
        program: empty(spec)?,
        refs: KVec::new(),
        stack: None,
        n_slots: spec.refs.len(),
        n_scratch: 0,
    };

    c.keys()?;
    c.references()?;
    c.values()?;
    c.variables()?;
    c.actions()?;
    c.sort_by()?;
    c.finish()
}

/// Allocates an empty program. It is too large for the stack, on which callers have others.
#[inline(never)]
fn empty(spec: &Spec) -> Result<KBox<Program>> {
    Ok(KBox::new(
        Program {
            path: HitPath::Large,
            layout: Layout {
                key_words: 0,
                n_sums: 1,
                n_vars: 0,
                string_slots: 0,
                first_shown: 0,
                comm: spec.fields.iter().any(|f| {
                    f.modifier == Modifier::ExecName || matches!(f.kind, FieldKind::FirstComm(_))
                }),
            },
            keys: KVec::new(),
            places: KVec::new(),
            sort_by: KVec::new(),
            code: Code {
                steps: KVec::new(),
                usecs: spec.usecs,
            },
            key_parts: KVec::new(),
            sums: KVec::new(),
            folds: KVec::new(),
            extremes: false,
            sources: KVec::new(),
            stack: None,
            numbers: KVec::new(),
            kept_numbers: KVec::new(),
            kept_vars: VarSet::NONE,
            blobs: KVec::new(),
            watches: KVec::new(),
            saves: KVec::new(),
            params: KVec::new(),
            reuse: spec.reuse,
            counts_only: false,
            stores: false,
            stores_numbers_only: false,
            stores_comm: false,
            always: actions(spec, |action| {
                matches!(action.clause.handler, Handler::OnMatch { .. })
            }),
            effects: actions(spec, |action| action.clause.kind != ActionKind::Save),
        },
        GFP_KERNEL,
    )?)
}

/// Converts a count or an index to the size that it has in programs.
fn index(n: usize) -> Result<u32> {
    Ok(u32::try_from(n)?)
}

/// Returns the set of the actions for which `which` returns `true`.
fn actions(spec: &Spec, which: impl Fn(&Action) -> bool) -> u32 {
    let all = spec.actions.iter().enumerate();

    all.filter(|(_, action)| which(action))
        .fold(0, |set, (i, _)| set | bit(i))
}

impl Compiler<'_> {
    fn keys(&mut self) -> Result {
        for key in self.spec.keys() {
            let at = self.program.layout.key_words;
            let words = key.key_words();
            let word = index(at)?;
            let (part, kind) = match self.blob(key)? {
                Some(BlobOrigin::Recorded { offset }) => {
                    (KeyPart::Recorded { word, offset }, KeyKind::Stack)
                }
                Some(BlobOrigin::Scratch(scratch)) => {
                    (KeyPart::Stack { word, scratch }, KeyKind::Stack)
                }
                Some(blob) => {
                    let words = index(words)?;

                    (KeyPart::String { word, words, blob }, KeyKind::String)
                }
                None => {
                    let value = self.value(key)?;
                    let signed = key.ty.signed;

                    (KeyPart::Number { word, value }, KeyKind::Number { signed })
                }
            };
            let place = KeyPlace {
                word: at,
                words,
                kind,
            };

            self.program.key_parts.push(part, GFP_KERNEL)?;
            self.program.keys.push(place, GFP_KERNEL)?;
            self.program.layout.key_words = at.saturating_add(words);
        }

        if !(1..=KEY_WORDS_MAX).contains(&self.program.layout.key_words) {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Compiles the sums, of which the first is the hit count.
    fn values(&mut self) -> Result {
        for field in self.spec.vals().iter().skip(1) {
            if field.var.is_some() {
                continue;
            }
            if self.blob(field)?.is_some() {
                return Err(EINVAL);
            }
            let value = self.value(field)?;

            let fold = fold(field.modifier, field.ty.signed);

            self.program.sums.push(value, GFP_KERNEL)?;
            self.program.folds.push(fold, GFP_KERNEL)?;
            self.program.extremes |= fold.is_extreme();
        }
        self.program.layout.n_sums = self.program.sums.len().wrapping_add(1);
        Ok(())
    }

    fn actions(&mut self) -> Result {
        for save in &self.spec.save_vars {
            let (place, slot) = self.keep(save.var.idx, self.spec.var_kind(&save.val))?;
            let save = match (self.blob(&save.val)?, slot) {
                (Some(blob), Some(at)) => Save::Blob {
                    blob,
                    kept: KeptBlob { place, at },
                },
                _ => Save::Number {
                    value: self.value(&save.val)?,
                    place,
                },
            };

            self.program.saves.push(save, GFP_KERNEL)?;
        }

        for (i, action) in self.spec.actions.iter().enumerate() {
            let mut params = KVec::new();

            if let Some(track) = &action.track {
                let watch = self.watch(i, action, track)?;

                self.program.watches.push(watch, GFP_KERNEL)?;
            }
            for idx in &action.refs {
                params.push(self.param(*idx)?, GFP_KERNEL)?;
            }
            self.program.params.push(params, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn watch(&mut self, i: usize, action: &Action, track: &Track) -> Result<Watch> {
        // The value of a blob is a number that stands for it.
        let (place, _) = self.keep(track.var.idx, VarKind::Number)?;
        let scratch = self.blob_of_ref(track.var_ref)?;
        let var = self.spec.var_ref(track.var_ref)?;

        Ok(Watch {
            action: index(i)?,
            slot: index(track.var_ref)?,
            scratch,
            stack: var.kind == VarKind::Stack(()),
            place,
            condition: condition(&action.clause.handler, var.ty.signed),
            save: action.clause.kind == ActionKind::Save,
        })
    }

    fn param(&self, idx: usize) -> Result<Param> {
        let var = self.spec.var_ref(idx)?;
        let scratch = self.blob_of_ref(idx)?;

        Ok(match (var.kind, scratch) {
            (VarKind::Number, _) => Param::Number(index(idx)?),
            (VarKind::Stack(()), Some(scratch)) => Param::Stack(scratch),
            (_, Some(scratch)) => Param::String(scratch),
            // Not reached: `references` and `variables` have assigned a blob to each of these.
            (_, None) => return Err(EINVAL),
        })
    }

    /// Compiles the order of the rows.
    fn sort_by(&mut self) -> Result {
        for sort_key in self.spec.sort_keys() {
            let idx = sort_key.field_idx;
            let value = match idx.checked_sub(self.program.layout.n_sums) {
                None => SortValue::Sum {
                    index: idx,
                    signed: self.spec.vals().get(idx).is_some_and(|val| val.ty.signed),
                },
                Some(n) => {
                    // It exists: the fields that can be sorted by are the sums and the keys.
                    let key = self.program.keys.get(n).ok_or(EINVAL)?;

                    SortValue::Key {
                        word: key.word,
                        order: key.order(),
                    }
                }
            };
            let by = SortBy {
                value,
                descending: sort_key.descending,
            };

            self.program.sort_by.push(by, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn path(&self) -> HitPath {
        let program = &self.program;
        let plain = self.spec.refs.is_empty()
            && self.spec.actions.is_empty()
            && program.numbers.len() == program.kept_numbers.len()
            && program.blobs.is_empty();

        if let [KeyPart::Number {
            value: Value::Leaf(leaf),
            ..
        }] = program.key_parts.as_slice()
        {
            if plain && leaf.is_recorded() {
                if !program.reuse {
                    return HitPath::Plain(*leaf);
                }
                if program.numbers.len() == 1 {
                    return HitPath::PlainReusing(*leaf);
                }
            }
        }

        let saves_blobs = program
            .saves
            .iter()
            .any(|save| matches!(save, Save::Blob { .. }));

        if program.layout.key_words.saturating_add(self.n_slots) <= SMALL_WORDS
            && self.n_scratch == 0
            && program.blobs.is_empty()
            && !saves_blobs
            && program.sources.iter().all(|source| source.same_key)
            && program.effects == 0
        {
            if program.reuse {
                HitPath::Reusing
            } else {
                HitPath::Small
            }
        } else if program.reuse {
            HitPath::LargeReusing
        } else if self.has_open_key() {
            HitPath::LargeOpen
        } else {
            HitPath::Large
        }
    }

    /// Returns the first string of an element that `save()` keeps. These are the last ones, and
    /// only they are shown.
    fn first_saved_string(&self) -> usize {
        let strings = self.program.saves.iter().filter_map(|save| match save {
            Save::Blob { kept, .. } => match kept.at {
                BlobSlot::String(n) | BlobSlot::Stack(n) => Some(n as usize),
                BlobSlot::Comm => None,
            },
            Save::Number { .. } => None,
        });

        strings.min().unwrap_or(self.program.layout.string_slots)
    }

    /// Returns the place where the stack that led to the event is saved. A stack that is only used
    /// as the key is saved there.
    fn saved_stack(&mut self) -> Option<SavedStack> {
        let stack = self.stack?;
        let program = &mut self.program;
        let only_key = program.blobs.is_empty() && program.saves.is_empty() && self.n_scratch == 1;

        match program.key_parts.as_mut_slice() {
            [part @ KeyPart::Stack { .. }] if only_key => {
                *part = KeyPart::Saved;
                Some(SavedStack::Key)
            }
            _ => Some(SavedStack::Blob(stack)),
        }
    }

    /// Returns `true` if only the search for the element reads a long key that ends with a string
    /// of the record.
    fn has_open_key(&self) -> bool {
        let program = &self.program;
        let is_recorded = matches!(
            program.key_parts.last(),
            Some(KeyPart::String {
                blob: BlobOrigin::Static { .. }
                    | BlobOrigin::Dynamic { .. }
                    | BlobOrigin::Relative { .. },
                ..
            })
        );

        // References are looked up by it, a snapshot shows it.
        is_recorded
            && are_long(program.layout.key_words)
            && program.sources.is_empty()
            && program.effects == 0
    }

    fn finish(mut self) -> Result<KBox<Program>> {
        // Not reached: references and variables are `VARS_MAX` each.
        if self.n_slots > SLOTS_MAX {
            return Err(EINVAL);
        }
        self.program.path = self.path();
        self.program.stack = self.saved_stack();
        self.program.layout.first_shown = self.first_saved_string();

        let mut program = self.program;

        program.stores = program.layout.n_vars > 0;
        program.counts_only = program.sums.is_empty() && !program.stores && !program.reuse;
        program.stores_numbers_only =
            program.blobs.iter().all(|blob| blob.kept.is_none()) && program.watches.is_empty();

        let saved = |save: &Save| {
            matches!(
                save,
                Save::Blob {
                    blob: BlobOrigin::Comm,
                    ..
                }
            )
        };

        program.stores_comm = program.saves.iter().any(saved)
            || program.blobs.iter().any(|var| {
                var.blob == BlobOrigin::Comm && var.kept.is_some() && var.scratch.is_none()
            });
        Ok(program)
    }
}

/// Returns the way to combine the values of a field with this modifier.
fn fold(modifier: Modifier, signed: bool) -> Fold {
    match modifier {
        Modifier::Min => Fold::Min { signed },
        Modifier::Max => Fold::Max { signed },
        Modifier::Avg => Fold::Avg { signed },
        _ => Fold::Sum,
    }
}
