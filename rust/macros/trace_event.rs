// SPDX-License-Identifier: GPL-2.0

//! Trace events that are declared in Rust.
//!
//! [`parse`] has the grammar. The generated code is short, and the rest is in
//! `kernel::trace::static_event`: [`class`] generates the parts of a class, [`event`] a tracepoint
//! and an event, [`custom`] their replacement if the tracepoint is a foreign one, [`print`] the
//! print format and the code that prints, [`format`] takes a format apart. [`foreign`] declares
//! tracepoints of C, and [`value`] is for the types of arguments and fields.

mod c_args;
mod class;
mod custom;
mod event;
mod foreign;
mod format;
mod parse;
mod print;
mod value;

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    format_ident,
    quote,
    quote_spanned, //
};
use syn::{
    Attribute,
    Error,
    Ident,
    Result, //
};

use self::parse::{
    Class,
    Event,
    Item, //
};
pub(crate) use self::{
    foreign::declare_trace,
    parse::Input,
    value::trace_value, //
};

/// Returns the path of the generic part, `kernel::trace::static_event`.
fn root() -> TokenStream {
    root_at(Span::call_site())
}

/// Returns the path of the generic part, with errors in its code reported at `at`.
fn root_at(at: Span) -> TokenStream {
    quote_spanned!(at=> ::kernel::trace::static_event)
}

/// Returns the attributes of all generated items that users are not to see.
fn hidden() -> TokenStream {
    quote! {
        #[cfg(CONFIG_EVENT_TRACING)]
        #[doc(hidden)]
        #[allow(
            non_upper_case_globals,
            non_camel_case_types,
            non_snake_case,
            improper_ctypes,
            improper_ctypes_definitions,
            unused_braces,
            unused_parens,
            clippy::cast_lossless,
            clippy::double_parens,
            clippy::too_many_arguments
        )]
    }
}

/// Returns the name of a generated item that belongs to the class or event `of`.
fn name(prefix: &str, of: &Ident) -> Ident {
    format_ident!("__{}_{}", prefix, of, span = of.span())
}

/// Returns the documentation of a declaration, for the generated items that users see.
fn docs(attrs: &[Attribute]) -> Vec<&Attribute> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident("doc"))
        .collect()
}

/// Prefixes all generated items with the attributes of a declaration, other than its documentation:
/// a declaration that is configured out has no event, and lint levels apply to its code as well.
fn with_attrs(attrs: &[Attribute], made: TokenStream) -> Result<TokenStream> {
    let attrs: Vec<_> = attrs
        .iter()
        .filter(|attr| !attr.path().is_ident("doc"))
        .collect();
    if attrs.is_empty() {
        return Ok(made);
    }
    let file: syn::File = syn::parse2(made)?;
    let mut out = TokenStream::new();

    for item in file.items {
        // A macro call has no lints.
        let attrs = attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg") || !matches!(item, syn::Item::Macro(_)));

        out.extend(quote!(#(#attrs)* #item));
    }
    Ok(out)
}

/// Returns `true` if events share a class: those on foreign tracepoints if `custom`, otherwise the
/// others.
fn is_shared(class: &Class, items: &[Item], custom: bool) -> bool {
    items.iter().any(|item| match item {
        Item::Event(event) => {
            event.own.is_none() && event.of == class.name && event.options.custom == custom
        }
        _ => false,
    })
}

/// Returns the class of this name among those declared before, or an error if it is none of them.
fn class_above<'a>(classes: &[&'a Class], name: &Ident) -> Result<&'a Class> {
    let found = classes.iter().copied().find(|class| class.name == *name);

    found.ok_or_else(|| Error::new(name.span(), format!("no class `{name}` is declared above")))
}

/// Expands `trace_event!`.
pub(crate) fn trace_event(input: Input) -> Result<TokenStream> {
    let system = input.system.value();
    let mut out = TokenStream::new();
    let mut classes: Vec<&Class> = Vec::new();

    for item in &input.items {
        match item {
            Item::Class(class) => {
                let custom = is_shared(class, &input.items, true);
                let other = !custom || is_shared(class, &input.items, false);
                let mut made = class::class(class, c_args::is_of_c(class, &input.items))?;
                if other {
                    made.extend(class::object(class, &input.system, false)?);
                }
                if custom {
                    made.extend(class::object(class, &input.system, true)?);
                }
                out.extend(with_attrs(&class.attrs, made)?);
                classes.push(class);
            }
            Item::Event(event) => {
                let mut made = TokenStream::new();
                let (class, of_c) = match event {
                    Event { own: Some(own), .. } => {
                        let of_c = c_args::is_event_of_c(event);

                        made.extend(class::class(own, of_c)?);
                        made.extend(class::object(own, &input.system, event.options.custom)?);
                        (own, of_c)
                    }
                    Event { of, .. } => {
                        let class = class_above(&classes, of)?;

                        (class, c_args::is_of_c(class, &input.items))
                    }
                };
                made.extend(event::event(&system, event, class, of_c)?);
                out.extend(with_attrs(&event.attrs, made)?);
            }
            Item::Tracepoint(tracepoint) => {
                let made = event::tracepoint(&system, tracepoint)?;
                out.extend(with_attrs(&tracepoint.attrs, made)?);
            }
        }
    }
    Ok(out)
}
