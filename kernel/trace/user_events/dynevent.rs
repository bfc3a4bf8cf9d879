// SPDX-License-Identifier: GPL-2.0

//! User events in `dynamic_events`: `u:name type field; ...`.
//!
//! All callbacks but `create` run with `event_mutex` held.

use super::{
    canonical_fields,
    defs::{
        MULTI_SYSTEM,
        PREFIX,
        SYSTEM, //
    },
    event::UserEvent,
    parse::is_space,
    print_fmt::Declaration,
    registry::{
        self,
        RegisterFlags, //
    },
};
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::ArcBorrow,
    trace::{
        builtin::dynevent::{
            Args,
            Operations, //
        },
        event_mutex::Held, //
    },
};

#[vtable]
impl Operations for UserEvent {
    /// Creates the event that a line describes. It persists until it is deleted, as it has no use
    /// yet.
    fn create(command: &CStr) -> Result {
        let text = command.to_bytes().strip_prefix(PREFIX).ok_or(ECANCELED)?;
        let start = text.iter().position(|b| !is_space(*b));
        let text = start.and_then(|at| text.get(at..)).unwrap_or_default();
        let wanted = RegisterFlags {
            persist: true,
            multi: false,
        };

        let event = registry::get()?.find_or_create(text, wanted)?;

        event.make_persistent();
        Ok(())
    }

    fn show(&self, m: &SeqFile, _held: Held<'_>) {
        m.write(PREFIX);
        m.write(self.name());
        seq_print!(m, "{}\n", Declaration(self.canonical_fields()));
    }

    fn is_busy(&self, _held: Held<'_>) -> bool {
        UserEvent::is_busy(self)
    }

    fn free(this: ArcBorrow<'_, Self>, held: Held<'_>) -> Result {
        registry::get()?.delete_one(&this, held)
    }

    /// Returns `true` if `-:name` means this event: every event of the name, as with the other
    /// dynamic events, or with fields the one that has them.
    fn matches(
        &self,
        system: Option<&CStr>,
        event: &CStr,
        args: Args<'_>,
        _held: Held<'_>,
    ) -> bool {
        // Either name of a system means events of both.
        &**self.name() == event.to_bytes()
            && system.is_none_or(|name| [SYSTEM, MULTI_SYSTEM].contains(&name))
            && (args.is_empty() || canonical_fields::matches(self.canonical_fields(), args))
    }
}
