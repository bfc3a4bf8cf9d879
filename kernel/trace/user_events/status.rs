// SPDX-License-Identifier: GPL-2.0

//! The file `user_events_status`: all events by name, and their listeners. Pollers are woken when
//! an event was created or removed.

use super::{
    listens,
    registry, //
};
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    trace::tracefs::{
        self,
        Changes,
        Show, //
    },
};

struct Status;

#[vtable]
impl Show for Status {
    fn changes() -> Result<&'static Changes> {
        Ok(registry::get()?.changes())
    }

    fn show(m: &SeqFile) -> Result {
        let mut active = 0u32;
        let mut busy = 0u32;

        registry::get()?.for_each(|event| {
            let status = event.status();

            m.write(event.trace().name().to_bytes());
            if status != 0 {
                seq_print!(m, " # Used by");
                for (bit, who) in [
                    (listens::FTRACE, "ftrace"),
                    (listens::PERF, "perf"),
                    (listens::OTHER, "other"),
                ] {
                    if status & bit != 0 {
                        seq_print!(m, " {}", who);
                    }
                }
                busy += 1;
            }
            seq_print!(m, "\n");
            active += 1;
        });

        seq_print!(m, "\nActive: {}\nBusy: {}\n", active, busy);
        Ok(())
    }
}

/// Creates the file.
pub(crate) fn create() -> Result<tracefs::Entry> {
    tracefs::create_seq_file::<Status>(c"user_events_status", 0o440)
}
