// SPDX-License-Identifier: GPL-2.0

//! The order of rows: `sort=field[.descending],...`.
//!
//! The line of a trigger shows a field with its own modifier here, which is accepted as well.

use kernel::prelude::*;

use super::Build;
use crate::{
    data::SortKey,
    field::Flags,
    line::write_field,
    log::ErrorKind,
    out::Out,
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

            if text.bytes().first() == Some(&b'.') {
                return Err(wrong(ErrorKind::EmptySortField));
            }
            *key = self.sort_key(text)?;
        }

        self.spec.sort_keys = sort_keys;
        self.spec.n_sort_keys = n;
        Ok(())
    }

    /// Parses `field[.ascending|.descending]`, where a field is named by its label or by the text
    /// that the line of the trigger has for it.
    ///
    /// # Errors
    ///
    /// The error has been logged.
    fn sort_key(&self, text: Piece<'_>) -> Result<SortKey> {
        let (field, descending) = split_direction(text);

        if let Some(field_idx) = self.sort_field(field)? {
            return Ok(SortKey {
                field_idx,
                descending,
            });
        }

        // As in C, where the name ends at the first dot.
        let (name, modifier) = text.split(b'.');

        Err(match modifier {
            Some(modifier) if self.sort_field(name)?.is_some() => {
                self.log.wrong(ErrorKind::InvalidSortModifier, modifier)
            }
            _ => self.log.wrong(ErrorKind::InvalidSortField, name),
        })
    }

    /// Returns the index of the field of this label or, if there is none, of this text.
    fn sort_field(&self, name: Piece<'_>) -> Result<Option<usize>> {
        if name.is(b"hitcount") {
            return Ok(Some(0));
        }

        let fields = || {
            self.spec
                .fields
                .iter()
                .filter(|field| !field.flags.any(Flags::VAR))
                .enumerate()
                .skip(1)
        };

        if let Some((i, _)) = fields().find(|(_, field)| field.is_called(name.bytes())) {
            return Ok(Some(i));
        }
        for (i, field) in fields() {
            let mut text = Out::new();

            write_field(&mut text, field);
            if name.is(text.bytes()?) {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }
}

/// Splits the direction off, which ascends by default. Returns `true` with it if it descends.
fn split_direction(text: Piece<'_>) -> (Piece<'_>, bool) {
    let directions: [(&[u8], bool); 2] = [(b".ascending", false), (b".descending", true)];

    for (suffix, descending) in directions {
        if let Some(field) = text.bytes().strip_suffix(suffix) {
            return (text.to(field.len()), descending);
        }
    }
    (text, false)
}
