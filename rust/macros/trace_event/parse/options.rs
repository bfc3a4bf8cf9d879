// SPDX-License-Identifier: GPL-2.0

//! Options of events and tracepoints: the words in front of them, and the lines at their beginning.

use proc_macro2::Span;
use syn::{
    parenthesized,
    parse::ParseStream,
    token,
    Error,
    Expr,
    Ident,
    Path,
    Result,
    Token, //
};

use super::kw;

#[derive(Default)]
pub(in super::super) struct Options {
    /// `true` if probes may fault, and thus sleep.
    pub(in super::super) faultable: bool,
    /// `true` if modules in C can hit the tracepoint and attach probes.
    pub(in super::super) export: bool,
    /// `true` if the tracepoint is a foreign one.
    pub(in super::super) custom: bool,
    /// `true` if no header has that tracepoint, to compare its prototype with.
    pub(in super::super) unchecked: bool,
    pub(in super::super) condition: Option<Expr>,
    pub(in super::super) attach: Option<Path>,
    pub(in super::super) detach: Option<Path>,
    /// `true` if perf allows users without privileges to record their own tasks.
    pub(in super::super) cap_any: bool,
    /// The function that permits perf events.
    pub(in super::super) permission: Option<Path>,
}

/// Parses the words in front of `event` or `tracepoint`.
pub(super) fn words(input: ParseStream<'_>) -> Result<Options> {
    let mut options = Options::default();

    loop {
        if input.peek(kw::faultable) {
            let at = input.parse::<kw::faultable>()?.span;
            twice(at, options.faultable)?;
            options.faultable = true;
        } else if input.peek(kw::export) {
            let at = input.parse::<kw::export>()?.span;
            twice(at, options.export)?;
            options.export = true;
        } else if input.peek(Token![unsafe]) && input.peek2(kw::custom) {
            input.parse::<Token![unsafe]>()?;
            let at = input.parse::<kw::custom>()?.span;
            twice(at, options.custom)?;
            options.custom = true;
            options.unchecked = unchecked(input)?;
        } else {
            return Ok(options);
        }
    }
}

/// Parses an optional `(unchecked)`, and returns `true` if it is present.
fn unchecked(input: ParseStream<'_>) -> Result<bool> {
    if !input.peek(token::Paren) {
        return Ok(false);
    }
    let inside;
    parenthesized!(inside in input);
    let word: Ident = inside.parse()?;

    if word == "unchecked" && inside.is_empty() {
        Ok(true)
    } else {
        Err(Error::new(
            word.span(),
            "expected `custom` or `custom(unchecked)`",
        ))
    }
}

impl Options {
    /// Returns an error that names `what` if any of the words precedes it.
    pub(super) fn none_for(&self, input: ParseStream<'_>, what: &str) -> Result<()> {
        if self.faultable || self.export || self.custom {
            Err(input.error(format!("{what} cannot have the words in front of this")))
        } else {
            Ok(())
        }
    }

    /// Rejects options of a tracepoint on an event whose tracepoint is a foreign one.
    pub(super) fn check(&self, at: Span) -> Result<()> {
        let about_tracepoint = self.faultable
            || self.export
            || self.condition.is_some()
            || self.attach.is_some()
            || self.detach.is_some();

        if self.custom && about_tracepoint {
            Err(Error::new(at, "the tracepoint is not that of this event"))
        } else {
            Ok(())
        }
    }

    /// Parses the lines of options at the beginning of an event.
    pub(super) fn lines(&mut self, input: ParseStream<'_>) -> Result<()> {
        loop {
            if input.peek(Token![if]) {
                let at = input.parse::<Token![if]>()?.span;
                twice(at, self.condition.is_some())?;
                self.condition = Some(input.parse()?);
            } else if input.peek(kw::attach) {
                let at = input.parse::<kw::attach>()?.span;
                twice(at, self.attach.is_some())?;
                input.parse::<Token![:]>()?;
                self.attach = Some(input.parse()?);
            } else if input.peek(kw::detach) {
                let at = input.parse::<kw::detach>()?.span;
                twice(at, self.detach.is_some())?;
                input.parse::<Token![:]>()?;
                self.detach = Some(input.parse()?);
            } else if input.peek(kw::cap_any) {
                let at = input.parse::<kw::cap_any>()?.span;
                twice(at, self.cap_any)?;
                self.cap_any = true;
            } else if input.peek(kw::permission) {
                let at = input.parse::<kw::permission>()?.span;
                twice(at, self.permission.is_some())?;
                input.parse::<Token![:]>()?;
                self.permission = Some(input.parse()?);
            } else {
                return Ok(());
            }
            input.parse::<Token![;]>()?;
        }
    }
}

pub(super) fn twice(at: Span, there: bool) -> Result<()> {
    if there {
        Err(Error::new(at, "this is specified twice"))
    } else {
        Ok(())
    }
}
