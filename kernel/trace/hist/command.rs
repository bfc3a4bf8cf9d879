// SPDX-License-Identifier: GPL-2.0

//! Commands as text: a line is cut into clauses, these into expressions and actions.
//!
//! Everything here is a function on bytes. Each part of a command is a [`Span`], which knows its
//! column: an error is shown in the `error_log` of an instance with the command and a caret under
//! the text that is wrong. Not every failure is logged: which ones are is part of the interface.

pub(crate) mod action;
pub(crate) mod clauses;
pub(crate) mod expr;

use kernel::{
    alloc::AllocError,
    prelude::*,
    str::CString,
    trace::{
        builtin::dynevent::is_space,
        instance::ErrorTexts, //
    },
};

use crate::text_buf::c_string;

/// A part of a command, and the column that it begins in.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Span<'a> {
    /// Creates a span of `text`, which begins in column `at` of the command as it is logged.
    pub(crate) const fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.text
    }

    /// Returns the column that the span begins in.
    pub(crate) const fn at(self) -> usize {
        self.at
    }

    pub(crate) const fn len(self) -> usize {
        self.text.len()
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Returns `true` if the span has this text.
    pub(crate) fn is(self, text: &[u8]) -> bool {
        self.text == text
    }

    /// Returns the text from byte `n` on, which is empty if the text is shorter.
    pub(crate) fn from(self, n: usize) -> Self {
        let n = n.min(self.text.len());

        Self {
            text: self.text.get(n..).unwrap_or(&[]),
            at: self.at.wrapping_add(n),
        }
    }

    /// Returns the first `n` bytes, or all if the text is shorter.
    pub(crate) fn to(self, n: usize) -> Self {
        Self {
            text: self.text.get(..n).unwrap_or(self.text),
            at: self.at,
        }
    }

    /// Returns the position of the first `byte`.
    pub(crate) fn find(self, byte: u8) -> Option<usize> {
        self.text.iter().position(|&b| b == byte)
    }

    /// Returns the position of the last `byte`.
    pub(crate) fn rfind(self, byte: u8) -> Option<usize> {
        self.text.iter().rposition(|&b| b == byte)
    }

    /// Splits the text at the first `byte`. Without one, the second part is `None`.
    pub(crate) fn split(self, byte: u8) -> (Self, Option<Self>) {
        match self.find(byte) {
            Some(n) => (self.to(n), Some(self.from(n.wrapping_add(1)))),
            None => (self, None),
        }
    }

    /// Returns the text after `prefix`, or `None` if it does not begin with that.
    pub(crate) fn strip_prefix(self, prefix: &[u8]) -> Option<Self> {
        self.text
            .starts_with(prefix)
            .then(|| self.from(prefix.len()))
    }

    /// Returns the span without white space at both ends.
    pub(crate) fn trim(self) -> Self {
        let start = self.text.iter().position(|b| !is_space(*b));
        let Some(start) = start else {
            return self.from(self.text.len());
        };
        let end = self.text.iter().rposition(|b| !is_space(*b));

        self.to(end.map_or(0, |n| n.wrapping_add(1))).from(start)
    }

    /// Returns the spans between the `byte`s, at least one, which may be empty.
    pub(crate) fn spans(self, byte: u8) -> impl Iterator<Item = Span<'a>> {
        let mut rest = Some(self);

        core::iter::from_fn(move || {
            let (span, behind) = rest?.split(byte);
            rest = behind;
            Some(span)
        })
    }

    /// Returns a copy as a C string.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it contains a NUL.
    pub(crate) fn to_c_string(self) -> Result<CString> {
        c_string(self.text)
    }
}

/// Defines the kinds of errors along with their texts.
macro_rules! errors {
    ($($kind:ident = $text:literal;)*) => {
        /// The errors. The number of a kind is its index in [`TEXTS`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(crate) enum ErrorKind {
            $($kind,)*
        }

        /// The text of each kind.
        pub(crate) static TEXTS: ErrorTexts<{ [$($text),*].len() }> = ErrorTexts::new([$($text),*]);
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
    NeedLog2Key = c"One key with a modifier log2=N is required for 'quantiles'";
    ReuseLosesValues = c"No values, quantiles, onmax(), onmin() or onchange() with 'reuse'";
    NeedReuseVar = c"A variable or a handler onmatch() is required for 'reuse'";
}

/// An error in a part of a command.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ParseError {
    /// The error code of the write.
    pub(crate) errno: Error,
    /// The message and the column of the caret; some errors are not logged.
    pub(crate) entry: Option<(ErrorKind, usize)>,
}

impl ParseError {
    /// Creates an error in `span`, for which the write fails with `EINVAL`.
    pub(crate) fn new(kind: ErrorKind, span: Span<'_>) -> Self {
        Self {
            errno: EINVAL,
            entry: Some((kind, span.at())),
        }
    }
}

impl From<Error> for ParseError {
    fn from(errno: Error) -> Self {
        Self { errno, entry: None }
    }
}

impl From<AllocError> for ParseError {
    fn from(_: AllocError) -> Self {
        Self::from(ENOMEM)
    }
}
