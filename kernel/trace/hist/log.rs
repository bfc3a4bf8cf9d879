// SPDX-License-Identifier: GPL-2.0

//! What is wrong with a command, for the `error_log` of its instance.
//!
//! The log shows the command and a caret under the text that is wrong. Not every failure is logged:
//! which ones are is part of the interface.

use kernel::{
    alloc::AllocError,
    prelude::*,
    str::CString,
    trace::{
        event_file::EventFile,
        instance::{
            ErrorTexts,
            Instance, //
        },
    },
};

use super::text::{
    joined,
    Piece, //
};

/// What commands are logged with in front of their parameters.
const PREFIX: &[u8] = b"hist:";

/// The column that the parameters of a command begin in.
pub(crate) const PARAMS_AT: usize = PREFIX.len();

/// Defines the kinds of errors along with their texts.
macro_rules! errors {
    ($($kind:ident = $text:literal;)*) => {
        /// What can be wrong. The number of a kind is its index in [`TEXTS`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(crate) enum ErrorKind {
            $($kind,)*
        }

        /// The text of each kind.
        static TEXTS: ErrorTexts<{ [$($text),*].len() }> = ErrorTexts::new([$($text),*]);
    };
}

errors! {
    DuplicateVar = c"Variable already defined";
    VarNotUnique = c"Variable name not unique, need to use fully qualified name \
        (subsys.event.var) for variable";
    TooManyVars = c"Too many variables defined";
    MalformedAssignment = c"Malformed assignment";
    NamedMismatch = c"Named hist trigger doesn't match existing named trigger (includes variables)";
    TriggerExists = c"Hist trigger already exists";
    TriggerNotFound = c"Can't clear or continue a nonexistent hist trigger";
    SetClockFail = c"Couldn't set trace_clock";
    BadFieldModifier = c"Invalid field modifier";
    TooManySubexpr = c"Too many subexpressions (3 max)";
    TimestampMismatch = c"Timestamp units in expression don't match";
    TooManyFieldVars = c"Too many field variables defined";
    EventFileNotFound = c"Event file not found";
    HistNotFound = c"Matching event histogram not found";
    HistCreateFail = c"Couldn't create histogram for field";
    SynthVarNotFound = c"Couldn't find synthetic variable";
    SynthEventNotFound = c"Couldn't find synthetic event";
    SynthTypeMismatch = c"Param type doesn't match synthetic event field type";
    SynthCountMismatch = c"Param count doesn't match synthetic event field count";
    FieldVarParseFail = c"Couldn't parse field variable";
    VarCreateFindFail = c"Couldn't create or find variable";
    OnxNotVar = c"For onmax(x) or onchange(x), x must be a variable";
    OnxVarNotFound = c"Couldn't find onmax or onchange variable";
    OnxVarCreateFail = c"Couldn't create onmax or onchange variable";
    FieldVarCreateFail = c"Couldn't create field variable";
    TooManyParams = c"Too many action params";
    ParamNotFound = c"Couldn't find param";
    InvalidParam = c"Invalid action param";
    ActionNotFound = c"No action found";
    TooManySaveActions = c"Can't have more than one save() action per hist";
    ActionMismatch = c"Handler doesn't support action";
    NoClosingParen = c"No closing paren found";
    SubsysNotFound = c"Missing subsystem";
    InvalidSubsysEvent = c"Invalid subsystem or event name";
    InvalidRefKey = c"Using variable references in keys not supported";
    VarNotFound = c"Couldn't find variable";
    FieldNotFound = c"Couldn't find field";
    EmptyAssignment = c"Empty assignment";
    InvalidSortModifier = c"Invalid sort modifier";
    EmptySortField = c"Empty sort field";
    TooManySortFields = c"Too many sort fields (Max = 2)";
    InvalidSortField = c"Sort field must be a key or a val";
    InvalidStrOperand = c"String type can not be an operand in expression";
    ExpectNumber = c"Expecting numeric literal";
    UnaryMinusSubexpr = c"Unary minus not supported in sub-expressions";
    DivisionByZero = c"Division by zero";
    NeedNohcVal = c"Non-hitcount value is required for 'nohitcount'";
}

/// Why a part of a command is refused.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fault {
    /// What the write fails with.
    pub(crate) errno: Error,
    /// What is logged, and the column of the caret; some faults are not logged.
    pub(crate) entry: Option<(ErrorKind, usize)>,
}

impl Fault {
    /// A fault of the text `text`, for which the write fails with `EINVAL`.
    pub(crate) fn new(kind: ErrorKind, text: Piece<'_>) -> Self {
        Self {
            errno: EINVAL,
            entry: Some((kind, text.at())),
        }
    }
}

impl From<Error> for Fault {
    fn from(errno: Error) -> Self {
        Self { errno, entry: None }
    }
}

impl From<AllocError> for Fault {
    fn from(_: AllocError) -> Self {
        Self::from(ENOMEM)
    }
}

/// Where the errors of a command go.
pub(crate) struct Log<'h> {
    instance: Instance<'h>,
    location: CString,
    command: CString,
    /// Where the caret is under all errors, if the command is not the user's but was made for a
    /// part of it.
    column: Option<usize>,
}

impl<'h> Log<'h> {
    /// The log for a command of the event `file`, of which `params` is what follows `hist:`.
    pub(crate) fn new(file: EventFile<'h>, params: &[u8]) -> Result<Self> {
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

    /// The log for a command that is made for what is in column `at` of this one.
    pub(crate) fn nested(&self, at: usize) -> Result<Self> {
        Ok(Self {
            instance: self.instance,
            location: joined(&[self.location.to_bytes()])?,
            command: joined(&[self.command.to_bytes()])?,
            column: Some(self.column.unwrap_or(at)),
        })
    }

    /// Logs an error in column `at`.
    pub(crate) fn error(&self, kind: ErrorKind, at: usize) {
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

    /// Logs that the text `text` is wrong, and returns `EINVAL` for the caller to return.
    pub(crate) fn wrong(&self, kind: ErrorKind, text: Piece<'_>) -> Error {
        self.error(kind, text.at());
        EINVAL
    }

    /// Logs a fault if it is one that is logged, and returns its errno.
    pub(crate) fn fault(&self, fault: Fault) -> Error {
        if let Some((kind, at)) = fault.entry {
            self.error(kind, at);
        }
        fault.errno
    }
}
