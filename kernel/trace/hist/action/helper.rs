// SPDX-License-Identifier: GPL-2.0

//! Helpers: histograms on other events that have a variable for a field of theirs.
//!
//! An action can name a field of another event. As nothing can be added to a histogram that exists,
//! a new one is made there, with the keys and the filter of one that has the right keys, and with a
//! variable `synthetic_FIELD`. It is visible like any other, but need not be removed: it goes with
//! the last histogram that refers to it.

use kernel::{
    prelude::*,
    trace::event_file::EventFile, //
};

use crate::{
    build::Build,
    data::Spec,
    log::ErrorKind,
    out::Out,
    text::Piece,
    trigger::{
        self,
        Histogram, //
    },
    var::FoundVar, //
};

/// What is put before the name of the field to make that of the variable.
const PREFIX: &[u8] = b"synthetic_";

impl<'h> Build<'_, 'h> {
    /// Finds a variable for a field of another event, or makes one. What is wrong is logged.
    pub(super) fn helper_var(
        &mut self,
        system: Piece<'_>,
        event: Piece<'_>,
        field: Piece<'_>,
    ) -> Result<FoundVar> {
        let Some(file) = self.event(system.bytes(), event.bytes()) else {
            return Err(self.log.wrong(ErrorKind::EventFileNotFound, field));
        };
        let Some(command) = self.helper_command(file, field)? else {
            return Err(self.log.wrong(ErrorKind::HistNotFound, field));
        };

        let mut name = Out::new();
        name.put(PREFIX);
        name.put(field.bytes());
        let name = Piece::new(name.bytes()?, field.at());

        if let Some(found) = self.find_event_var(Some(system), Some(event), name) {
            return Ok(found);
        }
        if self.joins {
            // The histogram that has the name uses a helper of another instance.
            return Err(self.named_mismatch());
        }

        self.make_helper(file, command.bytes()?, field.at())
            .inspect_err(|_| self.log.error(ErrorKind::HistCreateFail, field.at()))?;
        self.find_event_var(Some(system), Some(event), name)
            .ok_or_else(|| self.log.wrong(ErrorKind::SynthVarNotFound, field))
    }

    /// The command that makes a helper, if there is a histogram to copy.
    fn helper_command(&self, file: EventFile<'_>, field: Piece<'_>) -> Result<Option<Out>> {
        let Some(like) = file
            .triggers::<Histogram>(self.lists)
            .find(|trigger| self.spec.has_keys_like(&trigger.data().hist.spec))
        else {
            return Ok(None);
        };
        let mut command = Out::new();

        for (i, key) in like.data().hist.spec.keys().iter().enumerate() {
            command.put(if i == 0 { b"keys=" } else { b"," });
            key.put_text(&mut command);
        }
        command.put(b":");
        command.put(PREFIX);
        command.put(field.bytes());
        command.put(b"=");
        command.put(field.bytes());
        if let Some(filter) = like.filter() {
            command.put(b" if ");
            command.put(filter.to_bytes());
        }
        command.bytes()?;
        Ok(Some(command))
    }

    /// Makes a helper. What goes wrong with it is logged in the column `at`.
    fn make_helper(&mut self, file: EventFile<'h>, command: &[u8], at: usize) -> Result {
        let log = self.log.nested(at)?;

        trigger::add_helper(file, self.lists, &log, command)
    }
}

impl Spec {
    /// Whether the keys have the types of those of `other`.
    fn has_keys_like(&self, other: &Self) -> bool {
        self.n_keys() == other.n_keys()
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(a, b)| *a.ty == *b.ty && a.size == b.size && a.signed == b.signed)
    }
}
