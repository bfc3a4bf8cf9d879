// SPDX-License-Identifier: GPL-2.0

//! The table of a histogram.

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    sync::Arc, //
};

use super::{
    key,
    value, //
};
use crate::{
    action::{
        ActionKind,
        Handler,
        Track, //
    },
    data::Hist,
    field::{
        Field,
        Flags,
        VarKind, //
    },
    map::{
        Row,
        Snapshot, //
    },
    out::Out,
    program::{
        KeyKind,
        VarPlace, //
    }, //
};

/// More than most rows take.
const ROW_ROOM: usize = 192;

/// What is written into a row behind the values.
enum Extra {
    /// The variable that a handler watches.
    Track {
        label: &'static [u8],
        place: VarPlace,
        signed: bool,
    },
    /// What `save()` has kept.
    Saved {
        name: KVec<u8>,
        place: VarPlace,
        signed: bool,
    },
}

/// The rows of a histogram, as they were when it was read.
struct Rows {
    snapshot: Snapshot,
    keys: KVec<key::Column>,
    values: KVec<value::Column>,
    extras: KVec<Extra>,
    /// Hits and drops.
    hits: u64,
    drops: u64,
}

/// A table.
pub(crate) struct Table {
    hist: Arc<Hist>,
    /// The line of the trigger.
    info: Out,
    rows: Option<Rows>,
}

impl Table {
    /// A table without rows, which [`Table::fill`] gets.
    pub(crate) fn new(hist: Arc<Hist>, info: Out) -> Self {
        Self {
            hist,
            info,
            rows: None,
        }
    }

    /// Number of parts: a head, the rows, the totals.
    pub(crate) fn len(&self) -> usize {
        self.rows
            .as_ref()
            .map_or(0, |rows| rows.snapshot.len())
            .saturating_add(2)
    }

    /// Copies the map, and sorts the copy.
    pub(crate) fn fill(&mut self) -> Result {
        let hist = &*self.hist;
        // While events happen, rows and counters are not of the very same moment.
        let (hits, drops) = (hist.map.hits(), hist.map.drops());
        let mut snapshot = hist.map.snapshot()?;

        snapshot.sort(hist.program.sort_by())?;
        let mut values = value_columns(hist)?;

        for column in values.iter_mut().filter(|c| c.format.needs_stat()) {
            for row in snapshot.rows() {
                column.count(row.sum(column.sum));
            }
        }
        self.rows = Some(Rows {
            keys: key_columns(hist)?,
            extras: extras(hist)?,
            values,
            snapshot,
            hits,
            drops,
        });
        Ok(())
    }

    /// Writes the part `pos` of this, the `n`th table of a file.
    pub(crate) fn show(&self, pos: usize, n: usize, m: &SeqFile) -> Result {
        let mut out = Out::with_room(ROW_ROOM);
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
        } else {
            self.write_snapshots(&mut out, rows);
            out.put(b"\nTotals:\n    Hits: ");
            out.unsigned(rows.hits, 0);
            out.put(b"\n    Entries: ");
            // CAST: A length.
            out.unsigned(rows.snapshot.len() as u64, 0);
            out.put(b"\n    Dropped: ");
            out.unsigned(rows.drops, 0);
            out.put(b"\n");
        }
        m.write(out.bytes()?);
        Ok(())
    }

    /// Writes what a `snapshot()` was taken for.
    fn write_snapshots(&self, out: &mut Out, rows: &Rows) {
        for action in &self.hist.spec.actions {
            let ActionKind::Snapshot(snapshot) = &action.kind else {
                continue;
            };
            let (what, track) = match &action.handler {
                Handler::OnMax(track) => (b"onmax".as_slice(), track),
                Handler::OnChange(track) => (b"onchange".as_slice(), track),
                Handler::OnMatch { .. } => continue,
            };

            snapshot.condition().with_taken(|taken| {
                out.put(b"\nSnapshot taken (see tracing/snapshot).  Details:\n");
                out.put(b"\ttriggering value { ");
                out.put(what);
                out.put(b"(");
                out.put(track.var_str.to_bytes());
                out.put(b") }: ");
                key::number(out, taken.value, is_signed(&self.hist, track), 10);
                out.put(b"\ttriggered by event with key: ");
                key::write_keys(out, &rows.keys, taken.key, taken.comm);
                out.put(b"\n");
            });
        }
    }
}

impl Rows {
    fn write(&self, out: &mut Out, row: &Row<'_>) {
        key::write_keys(out, &self.keys, row.key(), row.comm());
        for (i, column) in self.values.iter().enumerate() {
            if i > 0 || column.sum > 0 {
                out.put(b" ");
            }
            column.write(out, row.sum(column.sum));
        }
        for extra in &self.extras {
            match extra {
                Extra::Track {
                    label,
                    place,
                    signed,
                } => {
                    out.put(label);
                    key::number(out, variable(row, *place), *signed, 10);
                }
                Extra::Saved {
                    name,
                    place,
                    signed,
                } => {
                    out.put(b"  ");
                    out.put(name);
                    out.put(b": ");
                    write_saved(out, row, *place, *signed);
                }
            }
        }
        out.put(b"\n");
    }
}

/// Whether the variable that a handler watches is signed.
fn is_signed(hist: &Hist, track: &Track) -> bool {
    hist.spec
        .refs
        .get(track.var_ref)
        .is_some_and(|var| var.signed)
}

fn variable(row: &Row<'_>, place: VarPlace) -> u64 {
    place.var.and_then(|var| row.var(var)).unwrap_or(0)
}

fn write_saved(out: &mut Out, row: &Row<'_>, place: VarPlace, signed: bool) {
    let is_set = place.var.is_some_and(|var| row.var(var).is_some());

    match place.kind {
        VarKind::Number => key::number(out, variable(row, place), signed, 10),
        // What C prints for a string that was not saved yet.
        _ if !is_set => out.left(b"(null)", 32),
        VarKind::String(string) => {
            out.left(key::until_nul(row.string(string).as_bytes()), 32);
        }
        VarKind::Stack(string) => {
            out.put(b"\n");
            key::write_stack(out, stack(row.string(string)));
        }
        VarKind::Comm => out.left(key::until_nul(row.comm()), 32),
    }
}

/// The addresses of a stack, whose words begin with their number. What is behind them is left over
/// from a deeper stack.
fn stack(words: &[u64]) -> &[u64] {
    let Some((len, addresses)) = words.split_first() else {
        return &[];
    };

    usize::try_from(*len)
        .ok()
        .and_then(|len| addresses.get(..len))
        .unwrap_or(addresses)
}

/// What a field heads its column with.
fn label(field: &Field) -> Result<KVec<u8>> {
    let mut out = Out::new();

    field.put_label(&mut out);
    let mut label = KVec::new();
    label.extend_from_slice(out.bytes()?, GFP_KERNEL)?;
    Ok(label)
}

fn key_columns(hist: &Hist) -> Result<KVec<key::Column>> {
    let mut columns = KVec::new();

    for (key, place) in hist.spec.keys().iter().zip(hist.program.keys()) {
        let signed = matches!(place.kind, KeyKind::Number { signed: true });
        let mut name = label(key)?;

        if key.flags.any(Flags::STACKTRACE) && key.source.is_some() {
            name.extend_from_slice(b".stacktrace", GFP_KERNEL)?;
        }
        columns.push(
            key::Column {
                name,
                format: key::Format::new(key.flags, signed, key.buckets),
                word: place.word,
                words: place.words,
            },
            GFP_KERNEL,
        )?;
    }
    Ok(columns)
}

fn value_columns(hist: &Hist) -> Result<KVec<value::Column>> {
    let mut columns = KVec::new();
    let values = hist
        .spec
        .vals()
        .iter()
        .filter(|field| !field.flags.any(Flags::VAR));

    for (sum, field) in values.enumerate() {
        if sum == 0 && hist.spec.no_hitcount {
            continue;
        }
        columns.push(
            value::Column {
                name: label(field)?,
                format: value::Format::new(field.flags, field.signed),
                sum,
                max: 0,
                total: 0,
            },
            GFP_KERNEL,
        )?;
    }
    Ok(columns)
}

fn extras(hist: &Hist) -> Result<KVec<Extra>> {
    let mut extras = KVec::new();
    let place_of = |field: &Field| {
        let var = field.var.as_ref()?;

        Some(hist.program.place(var.idx))
    };

    for action in &hist.spec.actions {
        let (label, track): (&'static [u8], _) = match &action.handler {
            Handler::OnMax(track) => (b"\n\tmax: ", track),
            Handler::OnChange(track) => (b"\n\tchanged: ", track),
            Handler::OnMatch { .. } => continue,
        };

        if matches!(action.kind, ActionKind::Snapshot(_)) {
            continue;
        }
        if let Some(place) = place_of(&track.track_var) {
            let track = Extra::Track {
                label,
                place,
                signed: is_signed(hist, track),
            };
            extras.push(track, GFP_KERNEL)?;
        }
        for saved in &hist.spec.save_vars {
            let (Some(place), Some(var)) = (place_of(&saved.var), &saved.var.var) else {
                continue;
            };
            let mut name = KVec::new();

            name.extend_from_slice(var.name.to_bytes(), GFP_KERNEL)?;
            let saved = Extra::Saved {
                name,
                place,
                signed: saved.val.signed,
            };
            extras.push(saved, GFP_KERNEL)?;
        }
    }
    Ok(extras)
}
