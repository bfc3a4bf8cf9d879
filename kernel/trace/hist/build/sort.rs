// SPDX-License-Identifier: GPL-2.0

//! The order of rows: `sort=field[.descending],...`.

use kernel::prelude::*;

use super::Build;
use crate::{
    data::SortKey,
    field::Flags,
    log::ErrorKind,
    text::Piece,
    SORT_KEYS_MAX, //
};

impl Build<'_, '_> {
    /// Makes the sort order, which without a clause is that of the hit count.
    pub(super) fn create_sort_keys(&mut self) -> Result {
        let Some(list) = self.attrs.sort else {
            self.spec.n_sort_keys = 1;
            return Ok(());
        };
        // The clause as a whole is in front of its value.
        let clause = list.at().wrapping_sub(b"sort=".len());
        let wrong = |kind| {
            self.log.error(kind, clause);
            EINVAL
        };
        let mut sort_keys = [SortKey::default(); SORT_KEYS_MAX];
        let mut n = 0usize;
        let mut rest = Some(list);

        for key in &mut sort_keys {
            let Some((text, behind)) = rest.map(|list| list.split(b',')) else {
                break;
            };

            rest = behind;
            n = n.wrapping_add(1);
            if text.is_empty() {
                return Err(wrong(ErrorKind::EmptySortField));
            }
            if n == SORT_KEYS_MAX && rest.is_some() {
                return Err(wrong(ErrorKind::TooManySortFields));
            }

            let (name, modifier) = text.split(b'.');
            if name.is_empty() {
                return Err(wrong(ErrorKind::EmptySortField));
            }
            *key = self.sort_key(name, modifier)?;
        }

        self.spec.sort_keys = sort_keys;
        self.spec.n_sort_keys = n;
        Ok(())
    }

    fn sort_key(&self, name: Piece<'_>, modifier: Option<Piece<'_>>) -> Result<SortKey> {
        let field_idx = if name.is(b"hitcount") {
            0
        } else {
            self.spec
                .fields
                .iter()
                .filter(|field| !field.flags.any(Flags::VAR))
                .enumerate()
                .skip(1)
                .find(|(_, field)| field.is_called(name.bytes()))
                .map(|(i, _)| i)
                .ok_or_else(|| self.log.wrong(ErrorKind::InvalidSortField, name))?
        };
        let descending = match modifier.map(|modifier| (modifier, modifier.bytes())) {
            None | Some((_, b"ascending")) => false,
            Some((_, b"descending")) => true,
            Some((modifier, _)) => {
                return Err(self.log.wrong(ErrorKind::InvalidSortModifier, modifier));
            }
        };

        Ok(SortKey {
            field_idx,
            descending,
        })
    }
}
