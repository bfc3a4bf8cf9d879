// SPDX-License-Identifier: GPL-2.0

//! The file `user_events_losses`: what became of the records of each event.
//!
//! The columns are described in `Documentation/trace/rust/user_events.rst`.

use super::registry;
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    trace::tracefs::{
        self,
        Show, //
    },
};

/// The first line, with the columns of [`Counts`](super::counts::Counts) after the name.
const HEADER: &CStr = c"event\twritten\tfailed\
    \tftrace\tftrace_too_long\tftrace_off\tftrace_full\tftrace_busy\
    \tperf\tperf_too_long\tperf_full\tperf_busy\tperf_no_memory\n";

struct Losses;

#[vtable]
impl Show for Losses {
    fn show(m: &SeqFile) -> Result {
        m.write(HEADER.to_bytes());
        registry::get()?.for_each(|event| {
            m.write(event.trace().name().to_bytes());
            event.counts().show(m);
            m.write(b"\n");
        });
        Ok(())
    }
}

/// Creates the file.
pub(crate) fn create() -> Result<tracefs::Entry> {
    tracefs::create_seq_file::<Losses>(c"user_events_losses", 0o440)
}
