// SPDX-License-Identifier: GPL-2.0

//! Where the fields of an event are in its records.

use super::{
    super::{
        defs::{
            HEADER_SIZE,
            MAX_RECORD_SIZE, //
        },
        types::{
            is_signed,
            Type, //
        },
        validate::Validator, //
    },
    c_string,
    field::Field, //
};
use kernel::{
    prelude::*,
    trace::field::FieldDef, //
};

/// The records of an event.
///
/// # Invariants
///
/// - The fields follow each other without gaps; the first one is behind the common header, the last
///   one ends at or before [`MAX_RECORD_SIZE`].
/// - `min_size` is the size of all fields together.
/// - There is a validator for each location word, in the order of the fields.
pub(crate) struct Layout {
    /// The fields, in their order.
    pub(crate) fields: KVec<FieldDef>,
    /// What has to be checked in a record.
    pub(crate) validators: KVec<Validator>,
    /// Size of the smallest payload, in bytes, without the common header.
    pub(crate) min_size: usize,
}

/// Reads the fields of an event. Without `args`, or with nothing in it, there are none.
///
/// # Errors
///
/// `EINVAL` for a text that is not in the grammar, for a name that two fields have, and for fields
/// that are too large together; `ENOMEM`.
pub(crate) fn fields(args: Option<&[u8]>) -> Result<Layout> {
    // INVARIANT: No fields yet.
    let mut layout = Layout {
        fields: KVec::new(),
        validators: KVec::new(),
        min_size: 0,
    };
    let mut end = HEADER_SIZE;

    for text in args.unwrap_or_default().split(|b| *b == b';') {
        if let Some(field) = Field::parse(text)? {
            end = layout.push(field, end)?;
        }
    }

    // INVARIANT: `end` is where the last field ends.
    layout.min_size = usize::try_from(end.saturating_sub(HEADER_SIZE))?;
    Ok(layout)
}

impl Layout {
    /// Adds a field at `offset` and returns where it ends.
    fn push(&mut self, field: Field<'_>, offset: u32) -> Result<u32> {
        let end = offset
            .checked_add(field.size)
            .filter(|end| *end <= MAX_RECORD_SIZE)
            .ok_or(EINVAL)?;

        if self.fields.iter().any(|f| f.name.to_bytes() == field.name) {
            return Err(EINVAL);
        }

        if let Type::Location { origin, string } = field.ty {
            let validator = Validator {
                offset,
                origin,
                string,
            };
            self.validators.push(validator, GFP_KERNEL_ACCOUNT)?;
        }

        // INVARIANT: It begins where the last one ended and is not beyond the largest record.
        let def = FieldDef {
            ty: c_string(field.text)?,
            name: c_string(field.name)?,
            offset,
            size: field.size,
            signed: is_signed(field.text),
            len: field.ty.len(),
            filter: field.ty.filter(),
        };
        self.fields.push(def, GFP_KERNEL_ACCOUNT)?;

        Ok(end)
    }
}
