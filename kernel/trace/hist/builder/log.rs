// SPDX-License-Identifier: GPL-2.0

//! The `error_log` of an instance, for the errors of one command.

use kernel::{
    prelude::*,
    str::CString,
    trace::{
        event_file::{
            EventFile,
            Locked, //
        },
        instance::Instance, //
    },
};

use crate::{
    command::{
        error::{
            ErrorKind,
            ParseError,
            TEXTS, //
        },
        span::Span, //
    },
    text_buf::joined,
};

/// The prefix of the parameters of a command in the log.
const PREFIX: &[u8] = b"hist:";

/// The column that the parameters of a command begin in.
pub(crate) const PARAMS_AT: usize = PREFIX.len();

/// The log for the errors of a command.
pub(crate) struct Log<'h> {
    instance: Instance<'h>,
    location: CString,
    command: CString,
    /// The column of the caret under all errors, if the command was created for a part of the
    /// user's.
    column: Option<usize>,
}

impl<'h> Log<'h> {
    /// The log for a command of the event `file`, of which `params` is what follows `hist:`.
    pub(crate) fn new(file: EventFile<Locked<'h>>, params: &[u8]) -> Result<Self> {
        Ok(Self {
            instance: file.instance(),
            location: joined(&[
                PREFIX,
                file.system().to_bytes(),
                b":",
                file.name().to_bytes(),
            ])?,
            command: joined(&[PREFIX, params])?,
            column: None,
        })
    }

    /// Returns the log for a command that is created for the text in column `at` of this one.
    pub(crate) fn nested(&self, at: usize) -> Result<Self> {
        Ok(Self {
            instance: self.instance,
            location: joined(&[self.location.to_bytes()])?,
            command: joined(&[self.command.to_bytes()])?,
            column: Some(self.column.unwrap_or(at)),
        })
    }

    /// Logs an error in column `at`.
    pub(crate) fn report_at(&self, kind: ErrorKind, at: usize) {
        let at = self.column.unwrap_or(at);

        self.instance.log_error(
            &self.location,
            &self.command,
            &TEXTS,
            // CAST: The discriminant.
            kind as u8,
            at.try_into().unwrap_or(u16::MAX),
        );
    }

    /// Logs an error in `span`. Returns `EINVAL` for the caller to return.
    pub(crate) fn report(&self, kind: ErrorKind, span: Span<'_>) -> Error {
        self.report_at(kind, span.at());
        EINVAL
    }

    /// Logs an error if it is one that is logged. Returns its errno.
    pub(crate) fn parse_error(&self, error: ParseError) -> Error {
        if let Some((kind, at)) = error.entry {
            self.report_at(kind, at);
        }
        error.errno
    }
}
