// SPDX-License-Identifier: GPL-2.0

//! Checks of a record before any listener receives it.
//!
//! A record may say where in it further data is. Readers (filters, histograms, perf, the `trace`
//! file) rely on it: the place has to be within the record, and a string has to end with a NUL.
//!
//! The check runs once for each record, where it is assembled for the first listener, with
//! preemption off: it takes no lock, allocates nothing and cannot panic.

use super::types::Origin;

/// The check of one location word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validator {
    /// Offset of the word from the start of the record with its common header.
    pub(crate) offset: u32,
    /// The base of the offset in the word.
    pub(crate) origin: Origin,
    /// The data is a string.
    pub(crate) string: bool,
}

impl Validator {
    /// Returns `true` if the word of `record` describes data within it.
    ///
    /// An offset from the start of the record may point into the common header, as it always could;
    /// every reader knows the header anyway. A string without a byte has no NUL.
    #[inline]
    fn accepts(&self, record: &[u8]) -> bool {
        self.data(record)
            .is_some_and(|data| !self.string || data.last() == Some(&0))
    }

    /// Returns the data that the word describes, if all of it is in the record.
    #[inline]
    fn data<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let at = usize::try_from(self.offset).ok()?;
        let (word, behind) = record.get(at..)?.split_first_chunk::<4>()?;
        let word = u32::from_ne_bytes(*word);
        let offset = usize::try_from(word & 0xffff).ok()?;
        let size = usize::try_from(word >> 16).ok()?;
        let from = match self.origin {
            Origin::Record => record,
            Origin::Word => behind,
        };

        from.get(offset..)?.get(..size)
    }
}

/// Returns `true` if a record, with its common header, passes all checks.
#[inline]
pub(crate) fn record(validators: &[Validator], record: &[u8]) -> bool {
    validators.iter().all(|v| v.accepts(record))
}
