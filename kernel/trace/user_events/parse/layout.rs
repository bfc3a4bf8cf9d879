// SPDX-License-Identifier: GPL-2.0

//! The places of the fields of an event in its records.

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
    field::Field, //
};
use kernel::{
    prelude::*,
    trace::builtin::field::FieldDef, //
};

/// Length of the shortest field, with its semicolon: `u8 a;`.
const MIN_FIELD_TEXT: usize = 5;

/// The records of an event, whose description is borrowed.
///
/// # Invariants
///
/// - The fields follow each other without gaps; the first one follows the common header, the last
///   one ends at or before [`MAX_RECORD_SIZE`].
/// - `min_size` is the size of all fields together.
/// - Each location word has a validator, in the order of the fields.
pub(crate) struct Layout<'a> {
    /// The fields, in their order.
    pub(crate) fields: KVec<FieldDef<'a>>,
    /// The checks of a record.
    pub(crate) validators: Pin<KBox<[Validator]>>,
    /// Size of the smallest payload, in bytes, without the common header.
    pub(crate) min_size: usize,
}

/// Parses the fields of an event, which has none if `args` is missing or empty.
///
/// # Errors
///
/// `EINVAL` for a text that is not in the grammar, for a name that two fields have, and for fields
/// that are too large together; `ENOMEM`.
pub(crate) fn fields(args: Option<&[u8]>) -> Result<Layout<'_>> {
    let args = args.unwrap_or_default();
    // Enough for all that can be in the text, the last of which needs no semicolon.
    let max = args.len().saturating_add(1) / MIN_FIELD_TEXT;
    let mut fields = KVec::with_capacity(max, GFP_KERNEL)?;
    let mut locations = 0usize;
    let mut end = HEADER_SIZE;

    for text in args.split(|b| *b == b';') {
        if let Some(field) = Field::parse(text)? {
            if matches!(field.ty, Type::Location { .. }) {
                locations = locations.saturating_add(1);
            }
            end = push(&mut fields, field, end)?;
        }
    }

    // INVARIANT: Each field begins where the one before it ends, the first one after the header,
    // and `end` is where the last one ends, at most `MAX_RECORD_SIZE`.
    Ok(Layout {
        validators: validators(&fields, locations)?,
        fields,
        min_size: usize::try_from(end.saturating_sub(HEADER_SIZE))?,
    })
}

/// Adds a field at `offset` and returns where it ends.
fn push<'a>(fields: &mut KVec<FieldDef<'a>>, field: Field<'a>, offset: u32) -> Result<u32> {
    let end = offset
        .checked_add(field.size)
        .filter(|end| *end <= MAX_RECORD_SIZE)
        .ok_or(EINVAL)?;

    if fields.iter().any(|f| f.name == field.name) {
        return Err(EINVAL);
    }

    let def = FieldDef {
        ty: field.text,
        name: field.name,
        offset,
        size: field.size,
        signed: is_signed(field.text),
        len: field.ty.len(),
        filter: field.ty.filter(),
    };
    fields.push(def, GFP_KERNEL)?;

    Ok(end)
}

/// Creates the checks of the location words among `fields`, `count` of them.
fn validators(fields: &[FieldDef<'_>], count: usize) -> Result<Pin<KBox<[Validator]>>> {
    let mut checks = fields.iter().filter_map(|field| match Type::of(field.ty) {
        Ok(Type::Location { origin, string }) => Some(Validator {
            offset: field.offset,
            origin,
            string,
        }),
        _ => None,
    });

    KBox::pin_slice(|_| checks.next().ok_or(EINVAL), count, GFP_KERNEL_ACCOUNT)
}
