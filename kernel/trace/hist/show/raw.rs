// SPDX-License-Identifier: GPL-2.0

//! The `hist_raw` file of an event: its histograms for programs.
//!
//! A table is a line with the names of its columns and a line for each element, with tabs in
//! between and no padding. Tables are separated by an empty line. Rows are in no order.
//!
//! If the file is open for reading and writing, what is read is taken: the counts and sums of each
//! element are exchanged for zero. So each hit is in one reading, and the sums over all readings
//! are those of the hits. The least and the largest values stay, as they are of all hits.
//!
//! A table is taken after the memory for its copy is allocated.

use super::{
    columns::{
        bucket,
        key_columns,
        number,
        until_nul,
        value_columns,
        write_symbol,
        KeyColumn,
        KeyFormat,
        ValueColumn, //
    },
    hits, //
};
use crate::{
    histogram::Histogram,
    hit::eval::part_end,
    map::{
        Fold,
        Row,
        Snapshot, //
    },
    registry::HistCommand,
    text_buf::TextBuf, //
};
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    sync::Arc,
    trace::{
        builtin::event_seq::EventSeqFile,
        event_file::{
            EventFile,
            Locked, //
        },
        trigger::TriggersMut, //
    },
};

/// Number of rows that are written at once.
const ROWS: usize = 8;

/// Initial size of the text of so many rows, in bytes. It grows if they are longer.
const ROOM: usize = 512;

/// The `hist_raw` file.
pub(crate) struct RawFile;

/// One reading of it.
pub(crate) struct RawReading {
    tables: KVec<RawTable>,
}

struct RawTable {
    hist: Arc<Histogram>,
    columns: Option<RawColumns>,
    rows: Option<RawRows>,
}

struct RawRows {
    snapshot: Snapshot,
    /// The rows are what was taken, so those without a hit are of no use.
    taken: bool,
}

/// The columns of a table.
pub(crate) struct RawColumns {
    pub(crate) keys: KVec<KeyColumn>,
    pub(crate) values: KVec<ValueColumn>,
}

#[vtable]
impl EventSeqFile for RawFile {
    type Text = RawReading;

    fn collect<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> Result<RawReading> {
        let mut tables = KVec::new();

        for trigger in file.triggers::<HistCommand>(lists) {
            let hist = trigger.data().hist.clone();

            let table = RawTable {
                hist,
                columns: None,
                rows: None,
            };

            tables.push(table, GFP_KERNEL)?;
        }
        Ok(RawReading { tables })
    }

    fn prepare(reading: &mut RawReading, take: bool) -> Result {
        let mut taken = false;

        for table in reading.tables.iter_mut() {
            table.columns = Some(RawColumns {
                keys: key_columns(&table.hist)?,
                values: value_columns(&table.hist, true)?,
            });
        }
        for table in reading.tables.iter_mut() {
            match table.fill(take) {
                Ok(()) => taken = take,
                // The hits of this table stay where they are, and it is shown without rows; those
                // of others must not be lost.
                Err(_) if taken => (),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn show(reading: &RawReading, mut pos: usize, m: &SeqFile) -> Result<bool> {
        for (n, table) in reading.tables.iter().enumerate() {
            if pos < table.len() {
                table.show(pos, n, m)?;
                return Ok(true);
            }
            pos = pos.wrapping_sub(table.len());
        }
        Ok(false)
    }

    fn hits<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> u64 {
        hits(file, lists)
    }
}

impl RawTable {
    fn fill(&mut self, take: bool) -> Result {
        let (map, program) = (&self.hist.map, &self.hist.program);
        let mut snapshot = if take {
            map.take(&program.folds)?
        } else {
            map.snapshot()?
        };

        // A quotient would lose what is taken.
        snapshot.show_extremes(&program.folds);
        self.rows = Some(RawRows {
            snapshot,
            taken: take,
        });
        Ok(())
    }

    /// Returns the number of parts, which are the names, then [`ROWS`] rows each.
    fn len(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, |rows| rows.snapshot.len());

        rows.div_ceil(ROWS).saturating_add(1)
    }

    /// Writes the part `pos` of this, the `n`th table of a file.
    fn show(&self, pos: usize, n: usize, m: &SeqFile) -> Result {
        let mut out = TextBuf::with_room(ROOM);
        let Some(columns) = &self.columns else {
            return Ok(());
        };

        match (pos.checked_sub(1), &self.rows) {
            (None, _) => {
                if n > 0 {
                    out.put(b"\n");
                }
                columns.write_names(&mut out);
            }
            (Some(part), Some(rows)) => {
                let folds = &self.hist.program.folds;

                rows.write(&mut out, columns, part.saturating_mul(ROWS), folds);
            }
            (Some(_), None) => (),
        }
        m.write(out.bytes()?);
        Ok(())
    }
}

impl RawRows {
    /// Writes the rows from `first` on, whose sums are described by `folds`.
    fn write(&self, out: &mut TextBuf, columns: &RawColumns, first: usize, folds: &[Fold]) {
        for at in first..first.saturating_add(ROWS) {
            let Some(row) = self.snapshot.row(at) else {
                return;
            };

            if !(self.taken && row.is_unused(folds)) {
                columns.write(out, &row);
            }
        }
    }
}

impl RawColumns {
    /// Writes the line with the names.
    pub(crate) fn write_names(&self, out: &mut TextBuf) {
        for (i, key) in self.keys.iter().enumerate() {
            let suffixes: &[&[u8]] = match key.format {
                KeyFormat::ExecName { .. } => &[b"", b".execname"],
                KeyFormat::Log2 => &[b".log2"],
                KeyFormat::Parts { .. } | KeyFormat::Buckets { .. } => &[b".from", b".to"],
                _ => &[b""],
            };

            for (n, suffix) in suffixes.iter().enumerate() {
                if i > 0 || n > 0 {
                    out.put(b"\t");
                }
                out.append(&key.name);
                out.put(suffix);
            }
        }
        for value in &self.values {
            out.put(b"\t");
            out.append(&value.name);
        }
        out.put(b"\n");
    }

    /// Writes the line of a row.
    pub(crate) fn write(&self, out: &mut TextBuf, row: &Row<'_>) {
        for (i, key) in self.keys.iter().enumerate() {
            if i > 0 {
                out.put(b"\t");
            }
            write_key(out, key, row.key(), row.comm());
        }
        for value in &self.values {
            out.put(b"\t");
            number(out, row.sum(value.sum), value.signed, 0);
        }
        out.put(b"\n");
    }
}

fn write_key(out: &mut TextBuf, column: &KeyColumn, key: &[u64], comm: &[u8]) {
    let words = column.words(key);
    let n = words.first().copied().unwrap_or(0);

    match column.format {
        KeyFormat::Number { signed } | KeyFormat::Syscall { signed } => number(out, n, signed, 0),
        KeyFormat::Hex => {
            number(out, n, column.place.kind.is_signed(), 0);
        }
        KeyFormat::Log2 => out.unsigned(n, 0),
        KeyFormat::Symbol { offset } => write_symbol(out, n, offset, 0),
        KeyFormat::ExecName { signed } => {
            number(out, n, signed, 0);
            out.put(b"\t");
            write_escaped(out, until_nul(comm));
        }
        KeyFormat::Stack => {
            let addresses = words.iter().take_while(|address| **address != 0);

            out.list(addresses, |out, address| {
                write_symbol(out, *address, true, 0)
            });
        }
        KeyFormat::Parts { bits, signed } => {
            number(out, n, signed, 0);
            out.put(b"\t");
            number(out, part_end(n, bits, signed), signed, 0);
        }
        KeyFormat::Buckets { width, signed } => bucket(out, n, width, signed, b"\t"),
        KeyFormat::Text => write_escaped(out, until_nul(words.as_bytes())),
    }
}

/// Writes a string without tab and newline: control characters and backslashes become a backslash
/// and three octal digits.
pub(crate) fn write_escaped(out: &mut TextBuf, text: &[u8]) {
    let special = |byte: &u8| byte.is_ascii_control() || *byte == b'\\';
    let mut rest = text;

    while let Some((at, byte)) = rest.iter().enumerate().find(|(_, byte)| special(byte)) {
        let digit = |shift| b'0' + (byte.wrapping_shr(shift) & 7);

        out.put(rest.get(..at).unwrap_or(&[]));
        out.put(&[b'\\', digit(6), digit(3), digit(0)]);
        rest = rest.get(at.wrapping_add(1)..).unwrap_or(&[]);
    }
    out.put(rest);
}
