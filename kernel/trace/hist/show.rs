// SPDX-License-Identifier: GPL-2.0

//! The `hist` file of an event: a table for each of its histograms.
//!
//! The histograms are collected with `event_mutex` held. Then the maps are copied and the copies
//! sorted without it, and the rows are written as they are read. So all rows and totals of a table
//! are from one moment, and a large table does not block other users of tracing.

pub(crate) mod columns;
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
pub(crate) mod debug;
pub(crate) mod quantiles;
pub(crate) mod raw;

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

use self::{
    columns::{
        key_columns,
        number,
        until_nul,
        value_columns,
        write_keys,
        write_stack,
        KeyColumn,
        ValueColumn, //
    },
    quantiles::Quantiles, //
};
use crate::{
    command::action::Handler,
    histogram::{
        Effect,
        Histogram, //
    },
    map::{
        Row,
        Snapshot, //
    },
    program::VarPlace,
    registry::{
        self,
        HistCommand, //
    },
    spec::{
        Track,
        Var,
        VarKind, //
    },
    text_buf::TextBuf, //
};

/// The `hist` file.
pub(crate) struct HistFile;

/// One reading of it.
pub(crate) struct Reading {
    tables: KVec<HistTable>,
}

#[vtable]
impl EventSeqFile for HistFile {
    type Text = Reading;

    fn collect<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> Result<Reading> {
        let mut tables = KVec::new();

        for trigger in file.triggers::<HistCommand>(lists) {
            let mut info = TextBuf::new();

            registry::write_line(trigger, |text| info.put(text));
            info.bytes()?;
            tables.push(
                HistTable::new(trigger.data().hist.clone(), info),
                GFP_KERNEL,
            )?;
        }
        Ok(Reading { tables })
    }

    fn prepare(reading: &mut Reading, _take: bool) -> Result {
        for table in reading.tables.iter_mut() {
            table.fill()?;
        }
        Ok(())
    }

    fn show(reading: &Reading, mut pos: usize, m: &SeqFile) -> Result<bool> {
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

/// Returns the number of hits of all histograms of an event.
fn hits<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> u64 {
    file.triggers::<HistCommand>(lists)
        .map(|trigger| trigger.data().hist.map.hits())
        .fold(0, u64::wrapping_add)
}

/// More than most rows take.
const ROW_ROOM: usize = 192;

/// A variable at the end of a row: one that a handler watches, or one of `save()`.
struct Extra {
    /// The text in front of it.
    label: TextBuf,
    place: VarPlace,
    signed: bool,
    saved: bool,
}

/// The rows of a histogram, as they were when it was read.
struct Rows {
    snapshot: Snapshot,
    keys: KVec<KeyColumn>,
    values: KVec<ValueColumn>,
    extras: KVec<Extra>,
    quantiles: Option<Quantiles>,
    /// Hits and drops.
    hits: u64,
    drops: u64,
    /// Keys that have lost their element, and those that had a variable still to be taken.
    reused: Option<(u64, u64)>,
}

/// A table.
pub(crate) struct HistTable {
    hist: Arc<Histogram>,
    /// The line of the trigger.
    info: TextBuf,
    rows: Option<Rows>,
}

impl HistTable {
    /// Creates a table without rows, which [`HistTable::fill`] adds.
    pub(crate) fn new(hist: Arc<Histogram>, info: TextBuf) -> Self {
        Self {
            hist,
            info,
            rows: None,
        }
    }

    /// Returns the number of parts, which are a head, the rows, the quantiles and the totals.
    pub(crate) fn len(&self) -> usize {
        self.rows
            .as_ref()
            .map_or(0, |rows| {
                let quantiles = rows.quantiles.as_ref().map_or(0, Quantiles::len);

                rows.snapshot.len().saturating_add(quantiles)
            })
            .saturating_add(2)
    }

    /// Copies the map, and sorts the copy.
    pub(crate) fn fill(&mut self) -> Result {
        let hist = &*self.hist;
        let mut snapshot = hist.map.snapshot()?;
        // After the rows, as in C: a hit counts itself before its row, so that rows do not show
        // more hits than the totals do.
        let (hits, drops) = (hist.map.hits(), hist.map.drops());

        snapshot.show_folds(&hist.program.folds);
        snapshot.sort(&hist.program.sort_by)?;
        let mut values = value_columns(hist, false)?;

        for column in values.iter_mut().filter(|c| c.format.needs_stat()) {
            for row in snapshot.rows() {
                column.count(row.sum(column.sum));
            }
        }
        self.rows = Some(Rows {
            keys: key_columns(hist)?,
            extras: extras(hist)?,
            quantiles: Quantiles::new(hist, &snapshot)?,
            values,
            snapshot,
            hits,
            drops,
            reused: hist.map.reused(),
        });
        Ok(())
    }

    /// Writes the part `pos` of this, the `n`th table of a file.
    pub(crate) fn show(&self, pos: usize, n: usize, m: &SeqFile) -> Result {
        let mut out = TextBuf::with_room(ROW_ROOM);
        let Some(rows) = &self.rows else {
            return Ok(());
        };

        if pos == 0 {
            if n > 0 {
                out.put(b"\n\n");
            }
            out.put(b"# event histogram\n#\n# trigger info: ");
            out.put(self.info.bytes()?);
            out.put(b"#\n\n");
        } else if let Some(row) = rows.snapshot.row(pos.wrapping_sub(1)) {
            rows.write(&mut out, &row);
        } else if let Some((quantiles, n)) = rows.quantiles_at(pos.wrapping_sub(1)) {
            quantiles.write(&mut out, n, &rows.snapshot, &rows.keys);
        } else {
            self.write_snapshots(&mut out, rows);
            out.put(b"\nTotals:\n    Hits: ");
            out.unsigned(rows.hits, 0);
            out.put(b"\n    Entries: ");
            // CAST: A length.
            out.unsigned(rows.snapshot.len() as u64, 0);
            out.put(b"\n    Dropped: ");
            out.unsigned(rows.drops, 0);
            if let Some((reused, lost)) = rows.reused {
                out.put(b"\n    Reused: ");
                out.unsigned(reused, 0);
                out.put(b"\n    Lost: ");
                out.unsigned(lost, 0);
            }
            out.put(b"\n");
        }
        m.write(out.bytes()?);
        Ok(())
    }

    /// Writes the hits that snapshots were taken for.
    fn write_snapshots(&self, out: &mut TextBuf, rows: &Rows) {
        let hist = &self.hist;

        for (action, effect) in hist.spec.actions.iter().zip(&hist.effects) {
            let Effect::Snapshot(snapshot) = effect else {
                continue;
            };
            let handler = &action.clause.handler;
            let Some(var) = handler.watched() else {
                continue;
            };
            let signed = action.track.as_ref().is_some_and(|t| is_signed(hist, t));

            snapshot.condition().with_taken(|taken| {
                out.put(b"\nSnapshot taken (see tracing/snapshot).  Details:\n");
                out.put(b"\ttriggering value { ");
                out.put(handler.name());
                out.put(b"(");
                out.put(var.to_bytes());
                out.put(b") }: ");
                number(out, taken.value, signed, 10);
                out.put(b"\ttriggered by event with key: ");
                write_keys(out, &rows.keys, taken.key, taken.comm);
                out.put(b"\n");
            });
        }
    }
}

impl Rows {
    /// Returns the quantiles and the number of the line of them that is the part `pos`, counted
    /// after the head.
    fn quantiles_at(&self, pos: usize) -> Option<(&Quantiles, usize)> {
        let quantiles = self.quantiles.as_ref()?;
        let n = pos.checked_sub(self.snapshot.len())?;

        (n < quantiles.len()).then_some((quantiles, n))
    }

    fn write(&self, out: &mut TextBuf, row: &Row<'_>) {
        write_keys(out, &self.keys, row.key(), row.comm());
        for (i, column) in self.values.iter().enumerate() {
            if i > 0 || column.sum > 0 {
                out.put(b" ");
            }
            column.write(out, row.sum(column.sum));
        }
        for extra in &self.extras {
            out.append(&extra.label);
            if extra.saved {
                write_saved(out, row, extra.place, extra.signed);
            } else {
                number(out, variable(row, extra.place), extra.signed, 10);
            }
        }
        out.put(b"\n");
    }
}

/// Returns `true` if the variable that a handler watches is signed.
fn is_signed(hist: &Histogram, track: &Track) -> bool {
    hist.spec
        .refs
        .get(track.var_ref)
        .is_some_and(|var| var.ty.signed)
}

fn variable(row: &Row<'_>, place: VarPlace) -> u64 {
    place.var.and_then(|var| row.var(var)).unwrap_or(0)
}

fn write_saved(out: &mut TextBuf, row: &Row<'_>, place: VarPlace, signed: bool) {
    let is_set = place.var.is_some_and(|var| row.var(var).is_some());

    match place.kind {
        VarKind::Number => number(out, variable(row, place), signed, 10),
        // The output of C for a string that was not saved yet.
        _ if !is_set => out.left(b"(null)", 32),
        VarKind::String(string) => {
            out.left(until_nul(row.string(string).as_bytes()), 32);
        }
        VarKind::Stack(string) => {
            out.put(b"\n");
            write_stack(out, stack(row.string(string)));
        }
        VarKind::Comm => out.left(until_nul(row.comm()), 32),
    }
}

/// Returns the addresses of a stack, whose words begin with their number and may end with
/// addresses of a deeper stack.
fn stack(words: &[u64]) -> &[u64] {
    let Some((len, addresses)) = words.split_first() else {
        return &[];
    };

    usize::try_from(*len)
        .ok()
        .and_then(|len| addresses.get(..len))
        .unwrap_or(addresses)
}

fn extras(hist: &Histogram) -> Result<KVec<Extra>> {
    let mut extras = KVec::new();
    let extra = |label: &[&[u8]], var: &Var, signed, saved| {
        let mut text = TextBuf::new();

        for part in label {
            text.put(part);
        }
        Extra {
            label: text,
            place: hist.program.place(var.idx),
            signed,
            saved,
        }
    };

    for (action, effect) in hist.spec.actions.iter().zip(&hist.effects) {
        let label: &[u8] = match &action.clause.handler {
            Handler::OnMax(_) => b"\n\tmax: ",
            Handler::OnMin(_) => b"\n\tmin: ",
            Handler::OnChange(_) => b"\n\tchanged: ",
            Handler::OnMatch { .. } => continue,
        };

        if matches!(effect, Effect::Snapshot(_)) {
            continue;
        }
        if let Some(track) = &action.track {
            let signed = is_signed(hist, track);

            extras.push(extra(&[label], &track.var, signed, false), GFP_KERNEL)?;
        }
        for saved in &hist.spec.save_vars {
            let label = [b"  ".as_slice(), saved.var.name.to_bytes(), b": "];
            let signed = saved.val.ty.signed;

            extras.push(extra(&label, &saved.var, signed, true), GFP_KERNEL)?;
        }
    }
    Ok(extras)
}
