// SPDX-License-Identifier: GPL-2.0

//! The compiler of variables and of references to them.
//!
//! It decides where variables are: in the elements, and in the scratch memory of a hit.

use super::{
    index,
    Compiler, //
};
use crate::{
    histogram::Histogram,
    limits::{
        BLOBS_MAX,
        VARS_MAX, //
    },
    map::VarSet,
    program::{
        op::{
            BlobOrigin,
            BlobSlot,
            BlobVar,
            KeptBlob,
            KeptNumber,
            NumberVar,
            ReferredBlob,
            ReferredVar, //
        },
        ReferredHist,
        VarPlace, //
    },
    spec::{
        field::{
            Field,
            FieldKind,
            HitProperty, //
        },
        HistogramId,
        Owner,
        VarKind,
        VarRef, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc,
    trace::event_file::FieldKind as RecordKind, //
};

impl Compiler<'_> {
    /// Assigns places in the elements to the variables that the command defines, and resolves
    /// references.
    pub(super) fn references(&mut self) -> Result {
        // Aliases are to references of other histograms, so those precede them.
        for var_ref in &self.spec.refs {
            let scratch = match var_ref.owner {
                Owner::Own => None,
                Owner::Other(id) => self.reference(var_ref, id)?,
            };

            self.refs.push(scratch, GFP_KERNEL)?;
        }

        for field in self.spec.vals() {
            if let Some(var) = &field.var {
                self.keep(var.idx, self.spec.var_kind(field))?;
            }
        }
        for field_var in &self.spec.field_vars {
            // No element has it, so it has no slot.
            let kind = self.spec.var_kind(&field_var.val).map(|()| 0);

            self.put(field_var.var.idx, VarPlace { var: None, kind })?;
        }
        Ok(())
    }

    /// Resolves a reference to a variable of another histogram, which has a slot. Returns the blob
    /// of the scratch memory that it also has if it is a string or a stack.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the histogram is not one of the owners, or has no such variable in its elements.
    /// The builder adds the owner before the reference, and only finds variables of commands, which
    /// elements have.
    fn reference(&mut self, var_ref: &VarRef, id: HistogramId) -> Result<Option<u32>> {
        let mut owners = self.owners.iter();
        let hist = owners.find(|owner| owner.id() == id).ok_or(EINVAL)?;
        let place = hist.program.place(var_ref.var_idx);
        let kept = kept(place.kind)?;
        let scratch = kept.map(|_| self.new_scratch()).transpose()?;
        let var = place.var.ok_or(EINVAL)?;
        let read = ReferredVar {
            place: index(var)?,
            slot: index(self.refs.len())?,
            blob: kept
                .zip(scratch)
                .map(|(at, scratch)| ReferredBlob { at, scratch }),
        };
        let source = self.source(hist)?;

        if var_ref.read_once {
            source.once = source.once.with(var);
        }
        source.plain &= read.blob.is_none();
        source.plain_reusing &= read.blob.is_none();
        source.reads.push(read, GFP_KERNEL)?;
        Ok(scratch)
    }

    /// Returns the references to the variables of `hist`, which may be none.
    fn source(&mut self, hist: &Arc<Histogram>) -> Result<&mut ReferredHist> {
        let program = &mut self.program;
        let mut sources = program.sources.iter();
        let i = match sources.position(|source| Arc::ptr_eq(&source.hist, hist)) {
            Some(i) => i,
            None => {
                // The other one may have fewer keys: then the first ones are looked up. The builder
                // has checked this, and logged the error.
                if !self.spec.keys_are_compatible_with(&hist.spec) {
                    return Err(EINVAL);
                }

                let (keys, other_keys) = (&program.keys, &hist.program.keys);
                let same_key = keys.len() == other_keys.len()
                    && keys.iter().zip(other_keys).all(|(a, b)| a.words == b.words);
                let source = ReferredHist {
                    hist: hist.clone(),
                    same_key,
                    plain: same_key && !hist.map.reuses(),
                    plain_reusing: same_key && hist.map.reuses(),
                    once: VarSet::NONE,
                    reads: KVec::new(),
                };

                program.sources.push(source, GFP_KERNEL)?;
                program.sources.len().wrapping_sub(1)
            }
        };

        // It exists: it was found, or pushed last.
        program.sources.get_mut(i).ok_or(EINVAL)
    }

    /// Sets the place of a variable.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a number that is too large. The builder numbers at most `VARS_MAX` variables.
    fn put(&mut self, idx: usize, place: VarPlace) -> Result {
        let places = &mut self.program.places;

        if idx >= self.spec.n_map_vars.max(VARS_MAX) {
            return Err(EINVAL);
        }
        while places.len() <= idx {
            places.push(VarPlace::NONE, GFP_KERNEL)?;
        }
        if let Some(slot) = places.get_mut(idx) {
            *slot = place;
        }
        Ok(())
    }

    /// Assigns a place in the elements to a variable. Returns its number there, and the slot of
    /// its blob if it is one.
    pub(super) fn keep(&mut self, idx: usize, kind: VarKind) -> Result<(u32, Option<BlobSlot>)> {
        let layout = &mut self.program.layout;
        let var = layout.n_vars;
        let kind = kind.map(|()| {
            let n = layout.string_slots;

            layout.string_slots = n.wrapping_add(1);
            n
        });

        layout.n_vars = var.wrapping_add(1);
        self.put(
            idx,
            VarPlace {
                var: Some(var),
                kind,
            },
        )?;
        Ok((index(var)?, kept(kind)?))
    }

    /// Returns the blob of the scratch memory that has the value of a reference, if that is a blob.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the reference does not exist: no description has such an index.
    pub(super) fn blob_of_ref(&self, idx: usize) -> Result<Option<u32>> {
        self.refs.get(idx).copied().ok_or(EINVAL)
    }

    /// Returns a blob of the scratch memory that nothing else uses.
    ///
    /// # Errors
    ///
    /// `EINVAL` if none is left. Each reference takes one at most, and so does the stack.
    fn new_scratch(&mut self) -> Result<u32> {
        let n = self.n_scratch;

        if n >= BLOBS_MAX {
            return Err(EINVAL);
        }
        self.n_scratch = n.wrapping_add(1);
        index(n)
    }

    /// Returns the blob of the scratch memory that has the stack that led to the event.
    fn stack(&mut self) -> Result<u32> {
        if let Some(stack) = self.stack {
            return Ok(stack);
        }
        let stack = self.new_scratch()?;

        self.stack = Some(stack);
        Ok(stack)
    }

    /// Returns the origin of the blob of a field, or `None` for a number.
    pub(super) fn blob(&mut self, field: &Field) -> Result<Option<BlobOrigin>> {
        Ok(match &field.kind {
            FieldKind::Ref(i) | FieldKind::Alias(i) => {
                self.blob_of_ref(*i)?.map(BlobOrigin::Scratch)
            }
            FieldKind::FirstComm(_) => Some(BlobOrigin::FirstComm),
            FieldKind::Property(HitProperty::Comm, _) => Some(BlobOrigin::Comm),
            FieldKind::Property(HitProperty::Stack, _) => Some(BlobOrigin::Scratch(self.stack()?)),
            FieldKind::Recorded(source) => {
                let offset = source.offset;

                match source.kind {
                    RecordKind::Stacktrace => Some(BlobOrigin::Recorded { offset }),
                    RecordKind::StaticString => Some(BlobOrigin::Static {
                        offset,
                        size: source.ty.size,
                    }),
                    RecordKind::DynString => Some(BlobOrigin::Dynamic { offset }),
                    RecordKind::RelDynString => Some(BlobOrigin::Relative { offset }),
                    _ => None,
                }
            }
            _ => None,
        })
    }

    pub(super) fn variables(&mut self) -> Result {
        for field in self.spec.vals() {
            if let Some(var) = &field.var {
                self.variable(var.idx, field)?;
            }
        }
        for field_var in &self.spec.field_vars {
            self.variable(field_var.var.idx, &field_var.val)?;
        }
        Ok(())
    }

    /// Compiles the assignment of `field` to the variable `idx`.
    fn variable(&mut self, idx: usize, field: &Field) -> Result {
        let place = self.program.place(idx);
        let mut refs = self.spec.refs.iter();
        let reference = refs.position(|r| r.owner == Owner::Own && r.var_idx == idx);

        if let Some(blob) = self.blob(field)? {
            let scratch = match (reference, blob) {
                (None, _) => None,
                (_, BlobOrigin::Scratch(scratch)) => Some(scratch),
                _ => Some(self.new_scratch()?),
            };
            let var = BlobVar {
                blob,
                scratch: scratch.filter(|scratch| blob != BlobOrigin::Scratch(*scratch)),
                kept: kept_blob(place)?,
            };

            if let Some(resolved) = reference.and_then(|n| self.refs.get_mut(n)) {
                *resolved = scratch;
            }
            self.program.blobs.push(var, GFP_KERNEL)?;
            return Ok(());
        }

        let value = self.value(field)?;
        let slot = index(reference.unwrap_or_else(|| {
            let n = self.n_slots;

            self.n_slots = n.wrapping_add(1);
            n
        }))?;
        let program = &mut self.program;

        program
            .numbers
            .push(NumberVar { value, slot }, GFP_KERNEL)?;
        // Those that only actions use have no place.
        if let Some(var) = place.var {
            let place = index(var)?;
            let number = KeptNumber { value, slot, place };

            program.kept_numbers.push(number, GFP_KERNEL)?;
            program.kept_vars = program.kept_vars.with(var);
        }
        Ok(())
    }
}

/// Returns the form of a blob in an element, or `None` for a number.
fn kept(kind: VarKind<usize>) -> Result<Option<BlobSlot>> {
    Ok(match kind {
        VarKind::Number => None,
        VarKind::Comm => Some(BlobSlot::Comm),
        VarKind::String(n) => Some(BlobSlot::String(index(n)?)),
        VarKind::Stack(n) => Some(BlobSlot::Stack(index(n)?)),
    })
}

/// Returns the place of a blob in elements, if any.
fn kept_blob(place: VarPlace) -> Result<Option<KeptBlob>> {
    let (Some(var), Some(at)) = (place.var, kept(place.kind)?) else {
        return Ok(None);
    };

    Ok(Some(KeptBlob {
        place: index(var)?,
        at,
    }))
}
