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
mod table;

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    trace::{
        builtin::event_seq::EventSeqFile,
        event_file::{
            EventFile,
            Locked, //
        },
        trigger::TriggersMut, //
    },
};

use self::table::Table;
use crate::{
    attached::{
        self,
        HistCommand, //
    },
    text_buf::TextBuf,
};

/// The `hist` file.
pub(crate) struct HistFile;

/// One reading of it.
pub(crate) struct Reading {
    tables: KVec<Table>,
}

#[vtable]
impl EventSeqFile for HistFile {
    type Text = Reading;

    fn collect<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> Result<Reading> {
        let mut tables = KVec::new();

        for trigger in file.triggers::<HistCommand>(lists) {
            let mut info = TextBuf::new();

            attached::line(trigger, |text| info.put(text));
            info.bytes()?;
            tables.push(Table::new(trigger.data().hist.clone(), info), GFP_KERNEL)?;
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

/// The number of hits of all histograms of an event.
fn hits<'h>(file: EventFile<Locked<'h>>, lists: &TriggersMut<'h>) -> u64 {
    file.triggers::<HistCommand>(lists)
        .map(|trigger| trigger.data().hist.map.hits())
        .fold(0, u64::wrapping_add)
}
