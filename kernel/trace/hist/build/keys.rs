// SPDX-License-Identifier: GPL-2.0

//! Keys: what tells elements of the map apart.

use kernel::prelude::*;

use super::Build;
use crate::{
    field::{
        Field,
        Flags, //
    },
    log::ErrorKind,
    text::Piece,
    KEYS_MAX,
    KEY_SIZE_MAX,
    WORD, //
};

impl Build<'_, '_> {
    /// Makes the keys, and lays them out.
    pub(super) fn create_keys(&mut self) -> Result {
        let keys = self.attrs.keys;

        for key in keys.pieces(b',').take(KEYS_MAX) {
            self.create_key(key)?;
        }
        if keys.pieces(b',').nth(KEYS_MAX).is_some() {
            return Err(EINVAL);
        }
        Ok(())
    }

    fn create_key(&mut self, text: Piece<'_>) -> Result {
        let mut field = if text.is(b"stacktrace") {
            Field::new(None, Flags::KEY | Flags::STACKTRACE)?
        } else {
            self.whole(text, Flags::KEY, None)?
        };

        if field.has_vars() {
            return Err(self.log.wrong(ErrorKind::InvalidRefKey, text));
        }

        field.size = field
            .size
            // CAST: Small.
            .checked_next_multiple_of(WORD as u32)
            .ok_or(EINVAL)?;
        // CAST: A `usize` has 32 bits at least.
        self.spec.key_size = self.spec.key_size.saturating_add(field.size as usize);
        if self.spec.key_size > KEY_SIZE_MAX {
            return Err(EINVAL);
        }
        self.spec.fields.push(field, GFP_KERNEL)?;
        Ok(())
    }
}
