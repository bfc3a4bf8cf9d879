// SPDX-License-Identifier: GPL-2.0

//! The compiler of handlers and actions.

use super::{
    index,
    vars::kept_text,
    Compiler, //
};
use crate::{
    action::{
        ActionKind,
        Handler, //
    },
    field::VarKind,
    program::{
        op::{
            Condition,
            Save,
            Watch, //
        },
        Param, //
    },
};
use kernel::prelude::*;

impl Compiler<'_> {
    pub(super) fn actions(&mut self) -> Result {
        for save in &self.spec.save_vars {
            let place = self.place_of(save)?;
            let save = match self.text(&save.val)? {
                Some(text) => Save::Text {
                    text,
                    kept: kept_text(place)?.ok_or(EINVAL)?,
                },
                None => Save::Number {
                    value: self.value(&save.val)?,
                    place: index(place.var.ok_or(EINVAL)?)?,
                },
            };

            self.saves.push(save, GFP_KERNEL)?;
        }

        for (i, action) in self.spec.actions.iter().enumerate() {
            let mut params = KVec::new();

            match &action.handler {
                Handler::OnMatch { .. } => (),
                Handler::OnMax(track) => {
                    let signed = self
                        .spec
                        .refs
                        .get(track.var_ref)
                        .is_some_and(|var| var.signed);

                    self.watch(i, Condition::Larger { signed })?;
                }
                Handler::OnChange(_) => self.watch(i, Condition::Other)?,
            }
            if let ActionKind::Trace { refs, .. } = &action.kind {
                for idx in refs {
                    params.push(self.param(*idx)?, GFP_KERNEL)?;
                }
            }
            self.params.push(params, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn watch(&mut self, i: usize, condition: Condition) -> Result {
        let action = self.spec.actions.get(i).ok_or(EINVAL)?;
        let (Handler::OnMax(track) | Handler::OnChange(track)) = &action.handler else {
            return Err(EINVAL);
        };
        let idx = track.track_var.var.as_ref().ok_or(EINVAL)?.idx;
        let place = self.places.get(idx).and_then(|place| place.var);
        let resolved = self.refs.get(track.var_ref).ok_or(EINVAL)?;

        self.watches.push(
            Watch {
                action: index(i)?,
                slot: index(track.var_ref)?,
                scratch: resolved.scratch,
                stack: matches!(resolved.kind, VarKind::Stack(())),
                place: index(place.ok_or(EINVAL)?)?,
                condition,
                save: matches!(action.kind, ActionKind::Save),
            },
            GFP_KERNEL,
        )?;
        Ok(())
    }

    fn param(&self, idx: usize) -> Result<Param> {
        let resolved = self.refs.get(idx).ok_or(EINVAL)?;

        Ok(match (resolved.kind, resolved.scratch) {
            (VarKind::Number, _) => Param::Number(index(idx)?),
            (VarKind::Stack(()), Some(scratch)) => Param::Stack(scratch),
            (_, Some(scratch)) => Param::String(scratch),
            (_, None) => return Err(EINVAL),
        })
    }
}
