// SPDX-License-Identifier: GPL-2.0

//! The compiler of variables and of references to them.
//!
//! It decides where variables are: in the elements, and in the scratch memory of a hit.

use super::{
    index,
    Compiler, //
};
use crate::{
    action::Handler,
    data::{
        FieldVar,
        Hist, //
    },
    field::{
        Field,
        Flags,
        Func,
        Owner,
        VarKind,
        VarRef, //
    },
    map::Marks,
    program::{
        op::{
            Kept,
            KeptNumber,
            KeptText,
            NumberVar,
            Read,
            ReadText,
            Text,
            TextVar, //
        },
        ReferredHist,
        VarPlace,
        TEXTS_MAX, //
    },
    VARS_MAX, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What a reference is once it has been resolved: a slot always, and a text if it is one.
#[derive(Clone, Copy)]
pub(super) struct Resolved {
    pub(super) kind: VarKind,
    /// The text of the scratch memory.
    pub(super) scratch: Option<u32>,
}

impl Compiler<'_> {
    /// Gives places in the elements to the variables that stay there, and resolves references.
    pub(super) fn references(&mut self) -> Result {
        // Aliases are to references of other histograms, so those come first.
        for var_ref in &self.spec.refs {
            let resolved = match &var_ref.owner {
                Owner::Own => Resolved {
                    kind: VarKind::Number,
                    scratch: None,
                },
                Owner::Other(_) => self.reference(var_ref)?,
            };

            self.refs.push(resolved, GFP_KERNEL)?;
        }

        for field in self.spec.vals() {
            if let Some(idx) = own_var(field) {
                self.keep(idx, self.var_kind(field))?;
            }
        }
        for save in &self.spec.save_vars {
            self.keep(var_of(save)?, self.var_kind(&save.val))?;
        }
        for action in &self.spec.actions {
            if let Handler::OnMax(track) | Handler::OnChange(track) = &action.handler {
                // The value of a text is a number that stands for it.
                let idx = track.track_var.var.as_ref().ok_or(EINVAL)?.idx;

                self.keep(idx, VarKind::Number)?;
            }
        }
        for field_var in &self.spec.field_vars {
            // No element has it, so there is no slot.
            let kind = self.var_kind(&field_var.val).map(|()| 0);

            self.put(var_of(field_var)?, VarPlace { var: None, kind })?;
        }
        Ok(())
    }

    /// A reference to a variable of another histogram.
    fn reference(&mut self, var_ref: &VarRef) -> Result<Resolved> {
        let Owner::Other(hist) = &var_ref.owner else {
            return Err(EINVAL);
        };
        let place = hist.program.place(var_ref.var_idx);
        let kept = kept(place.kind)?;
        let scratch = kept.map(|_| self.new_scratch()).transpose()?;
        let read = Read {
            place: index(place.var.ok_or(EINVAL)?)?,
            slot: index(self.refs.len())?,
            text: kept
                .zip(scratch)
                .map(|(at, scratch)| ReadText { at, scratch }),
        };

        let once = |marks: Marks| match place.var {
            Some(var) if var_ref.read_once => marks.with(var),
            _ => marks,
        };
        let other_keys = hist.program.keys();
        // The other one may have fewer keys: then the first ones are looked up.
        let alike = self.keys.len() >= other_keys.len()
            && self
                .keys
                .iter()
                .zip(other_keys)
                .all(|(a, b)| a.kind.finds(b.kind));

        if !alike {
            return Err(EINVAL);
        }

        let source = self.source(hist)?;

        source.once = once(source.once);
        source.plain &= read.text.is_none();
        source.reads.push(read, GFP_KERNEL)?;
        Ok(Resolved {
            kind: place.kind.map(|_| ()),
            scratch,
        })
    }

    /// The references to the variables of `hist`, with none if there were none yet.
    fn source(&mut self, hist: &Arc<Hist>) -> Result<&mut ReferredHist> {
        let known = self
            .sources
            .iter()
            .position(|source| Arc::ptr_eq(&source.hist, hist));
        let i = match known {
            Some(i) => i,
            None => {
                let other_keys = hist.program.keys();
                let same_key = self.keys.len() == other_keys.len()
                    && self
                        .keys
                        .iter()
                        .zip(other_keys)
                        .all(|(a, b)| a.words == b.words);

                self.sources.push(
                    ReferredHist {
                        hist: hist.clone(),
                        same_key,
                        plain: same_key,
                        once: Marks::NONE,
                        reads: KVec::new(),
                    },
                    GFP_KERNEL,
                )?;
                self.sources.len().wrapping_sub(1)
            }
        };

        self.sources.get_mut(i).ok_or(EINVAL)
    }

    /// Says where a variable is.
    fn put(&mut self, idx: usize, place: VarPlace) -> Result {
        if idx >= self.spec.n_map_vars.max(VARS_MAX) {
            return Err(EINVAL);
        }
        while self.places.len() <= idx {
            self.places.push(VarPlace::NONE, GFP_KERNEL)?;
        }
        if let Some(slot) = self.places.get_mut(idx) {
            *slot = place;
        }
        Ok(())
    }

    /// Gives a variable a place in the elements.
    fn keep(&mut self, idx: usize, kind: VarKind) -> Result {
        let kind = kind.map(|()| self.new_string());
        let var = self.n_vars;

        self.n_vars = self.n_vars.wrapping_add(1);
        self.put(
            idx,
            VarPlace {
                var: Some(var),
                kind,
            },
        )
    }

    fn new_string(&mut self) -> usize {
        let n = self.n_strings;

        self.n_strings = self.n_strings.wrapping_add(1);
        n
    }

    fn new_scratch(&mut self) -> Result<u32> {
        let n = self.n_scratch;

        if n >= TEXTS_MAX {
            return Err(EINVAL);
        }
        self.n_scratch = n.wrapping_add(1);
        index(n)
    }

    /// The text of the scratch memory that has the stack that led to the event.
    pub(super) fn stack(&mut self) -> Result<u32> {
        if let Some(stack) = self.stack {
            return Ok(stack);
        }
        let stack = self.new_scratch()?;

        self.stack = Some(stack);
        Ok(stack)
    }

    /// What a variable with the value of `field` holds, which may be a reference that has been
    /// resolved.
    fn var_kind(&self, field: &Field) -> VarKind {
        field.var_kind(|i| self.refs.get(i).map_or(VarKind::Number, |r| r.kind))
    }

    /// How the text of a field is obtained, or `None` if it is a number.
    pub(super) fn text(&mut self, field: &Field) -> Result<Option<Text>> {
        if field.func == Func::VarRef {
            let resolved = self.refs.get(field.ref_idx).ok_or(EINVAL)?;

            return Ok(resolved.scratch.map(Text::Scratch));
        }
        match field.func {
            Func::ExecName => return Ok(Some(Text::FirstComm)),
            Func::Comm => return Ok(Some(Text::Comm)),
            _ => (),
        }
        let Some(source) = &field.source else {
            return match field.flags.any(Flags::STACKTRACE) {
                true => Ok(Some(Text::Scratch(self.stack()?))),
                false => Ok(None),
            };
        };
        let offset = source.offset;

        if field.flags.any(Flags::STACKTRACE) {
            return Ok(Some(Text::Recorded { offset }));
        }
        Ok(match field.func {
            Func::String => Some(Text::Static {
                offset,
                size: source.size,
            }),
            Func::DynString => Some(Text::Dynamic { offset }),
            Func::RelDynString => Some(Text::Relative { offset }),
            _ => None,
        })
    }

    pub(super) fn variables(&mut self) -> Result {
        for field in self.spec.vals() {
            if let Some(idx) = own_var(field) {
                self.variable(idx, field)?;
            }
        }
        for field_var in &self.spec.field_vars {
            self.variable(var_of(field_var)?, &field_var.val)?;
        }
        Ok(())
    }

    /// Compiles what gives the variable `idx` the value of `field`.
    fn variable(&mut self, idx: usize, field: &Field) -> Result {
        let place = self.places.get(idx).copied().ok_or(EINVAL)?;
        let reference = self
            .spec
            .refs
            .iter()
            .position(|var_ref| matches!(var_ref.owner, Owner::Own) && var_ref.var_idx == idx);

        if let Some(text) = self.text(field)? {
            let scratch = match (reference, text) {
                (None, _) => None,
                (_, Text::Scratch(scratch)) => Some(scratch),
                _ => Some(self.new_scratch()?),
            };

            if let Some(resolved) = reference.and_then(|n| self.refs.get_mut(n)) {
                *resolved = Resolved {
                    kind: place.kind.map(|_| ()),
                    scratch,
                };
            }
            self.texts.push(
                TextVar {
                    text,
                    scratch: scratch.filter(|scratch| text != Text::Scratch(*scratch)),
                    kept: kept_text(place)?,
                },
                GFP_KERNEL,
            )?;
            return Ok(());
        }

        let value = self.value(field)?;
        let slot = match reference {
            Some(n) => n,
            None => {
                let n = self.n_slots;

                self.n_slots = n.wrapping_add(1);
                n
            }
        };

        let slot = index(slot)?;

        self.numbers.push(NumberVar { value, slot }, GFP_KERNEL)?;
        // Those that only actions use have no place.
        if let Some(var) = place.var {
            let place = index(var)?;

            self.kept_numbers
                .push(KeptNumber { value, slot, place }, GFP_KERNEL)?;
            self.kept_marks = self.kept_marks.with(var);
        }
        Ok(())
    }

    pub(super) fn place_of(&self, var: &FieldVar) -> Result<VarPlace> {
        self.places.get(var_of(var)?).copied().ok_or(EINVAL)
    }
}

/// The number of the variable that a field is.
fn own_var(field: &Field) -> Option<usize> {
    let var = field.var.as_ref()?;

    field.flags.any(Flags::VAR).then_some(var.idx)
}

fn var_of(var: &FieldVar) -> Result<usize> {
    Ok(var.var.var.as_ref().ok_or(EINVAL)?.idx)
}

/// What an element has a text as; `None` for a number.
fn kept(kind: VarKind<usize>) -> Result<Option<Kept>> {
    Ok(match kind {
        VarKind::Number => None,
        VarKind::Comm => Some(Kept::Comm),
        VarKind::String(n) => Some(Kept::String(index(n)?)),
        VarKind::Stack(n) => Some(Kept::Stack(index(n)?)),
    })
}

/// Where elements keep a text; `None` if they do not.
pub(super) fn kept_text(place: VarPlace) -> Result<Option<KeptText>> {
    let Some(var) = place.var else {
        return Ok(None);
    };

    Ok(Some(KeptText {
        place: index(var)?,
        at: kept(place.kind)?.ok_or(EINVAL)?,
    }))
}
