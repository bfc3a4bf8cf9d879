// SPDX-License-Identifier: GPL-2.0

//! Many records in one system call.

use crate::{sys, Event, Session};
use std::io::{self, Write};
use std::sync::atomic::Ordering;

/// Bytes of the size and the index that a record begins with.
const HEAD: usize = 8;
/// Each record begins at a multiple of this.
const ALIGN: usize = 8;
/// The most bytes of a batch: less than the kernel can be told, and than a `c_int` can count.
const MAX: usize = 1 << 30;

/// Records that are collected, and then written with one system call.
///
/// They may be of several events of one session. A kernel that has no batches gets them one by one.
/// Records that are not flushed are lost.
pub struct Batch {
    session: Session,
    /// Each record is a `struct user_record` and its payload, and padded.
    records: Vec<u8>,
}

impl Batch {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            records: Vec::new(),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the event is of another session,
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory) if the batch becomes larger than 1 GiB. The
    /// batch stays as it was.
    pub fn push(&mut self, event: &Event, payload: &[u8]) -> io::Result<()> {
        if !self.session.is(event.session()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !append(&mut self.records, event.index(), payload) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }

    /// Returns `true` if the batch has no records.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of bytes of the records.
    pub fn bytes(&self) -> usize {
        self.records.len()
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.records.clear();
    }

    /// Writes all records, and removes them. Records of events without a listener are left out.
    ///
    /// # Errors
    ///
    /// That of the first record that the kernel does not take. This record and those before it are
    /// removed. The others can be flushed again.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut at = 0;
        let result = self.write_from(&mut at);

        self.records.drain(..at);
        result
    }

    /// Writes the records from `at` on, which then is where those begin that are left.
    fn write_from(&self, at: &mut usize) -> io::Result<()> {
        let inner = self.session.inner();

        while let Some(record) = record_at(&self.records, *at) {
            let is_batch = inner.has_batches.load(Ordering::Relaxed);
            let result = if is_batch {
                sys::write_batch(&inner.file, &self.records[*at..])
            } else {
                // As the kernel takes it: from the index on.
                (&inner.file).write(&record[HEAD / 2..]).map(|_| 1)
            };

            match result {
                Ok(handled) => *at = skip(&self.records, *at, handled.max(1)),
                Err(e) => match e.raw_os_error() {
                    // Nothing listens to any of them.
                    Some(sys::EBADF) if is_batch => *at = self.records.len(),
                    Some(sys::EBADF) => *at = skip(&self.records, *at, 1),
                    Some(sys::ENOTTY) if is_batch => {
                        inner.has_batches.store(false, Ordering::Relaxed);
                    }
                    _ => {
                        *at = skip(&self.records, *at, 1);
                        return Err(e);
                    }
                },
            }
        }
        Ok(())
    }
}

/// Appends a record. Returns `false` if the bytes would be too many.
fn append(records: &mut Vec<u8>, index: u32, payload: &[u8]) -> bool {
    let size = payload.len().saturating_add(HEAD);

    if records.len().saturating_add(size) > MAX {
        return false;
    }
    // CAST: It is no more than `MAX`.
    records.extend_from_slice(&(size as u32).to_ne_bytes());
    records.extend_from_slice(&index.to_ne_bytes());
    records.extend_from_slice(payload);
    records.resize(records.len().next_multiple_of(ALIGN), 0);
    true
}

/// Returns the record at `at`, or `None` at the end.
fn record_at(records: &[u8], at: usize) -> Option<&[u8]> {
    let rest = records.get(at..)?;
    let size = u32::from_ne_bytes(*rest.first_chunk()?) as usize;

    rest.get(..size)
}

/// Returns the place after the next `count` records.
fn skip(records: &[u8], mut at: usize, count: usize) -> usize {
    for _ in 0..count {
        match record_at(records, at) {
            Some(record) => at += record.len().next_multiple_of(ALIGN),
            None => return records.len(),
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<u8> {
        let mut records = Vec::new();

        assert!(append(&mut records, 1, b"abcd"));
        assert!(append(&mut records, 2, b""));
        assert!(append(&mut records, 3, b"12345678"));
        records
    }

    #[test]
    fn records_are_aligned() {
        let records = three();

        assert_eq!(records.len(), 16 + 8 + 16);
        assert_eq!(records[..4], 12u32.to_ne_bytes());
        assert_eq!(records[4..8], 1u32.to_ne_bytes());
        assert_eq!(&records[8..16], b"abcd\0\0\0\0");
        assert_eq!(record_at(&records, 16).map(<[u8]>::len), Some(8));
        assert_eq!(
            record_at(&records, 24).map(|r| &r[8..]),
            Some(&b"12345678"[..])
        );
        assert_eq!(record_at(&records, 40), None);
    }

    #[test]
    fn records_are_counted() {
        let records = three();

        assert_eq!(skip(&records, 0, 0), 0);
        assert_eq!(skip(&records, 0, 1), 16);
        assert_eq!(skip(&records, 0, 2), 24);
        assert_eq!(skip(&records, 16, 2), 40);
        assert_eq!(skip(&records, 0, 9), 40);
    }

    #[test]
    fn too_many_bytes() {
        let mut records = three();
        let huge = vec![0; MAX - 40 - HEAD + 1];

        assert!(!append(&mut records, 1, &huge));
        assert_eq!(records.len(), 40);
    }
}
