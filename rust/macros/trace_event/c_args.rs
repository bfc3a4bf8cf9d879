// SPDX-License-Identifier: GPL-2.0

//! The arguments as the `extern "C"` functions of an event have them.
//!
//! C has a tracepoint too if it is exported, or not of this macro call. Then its functions have the
//! types of C, by which `CONFIG_CFI` checks calls from and to C, and convert them.

use proc_macro2::TokenStream;
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    spanned::Spanned,
    Error,
    Result, //
};

use super::{
    class::{
        declared,
        passed, //
    },
    parse::{
        Arg,
        Class,
        Event,
        Item, //
    },
    root,
    root_at, //
};

/// Arguments of an `extern "C"` function.
pub(super) struct CArgs<'a> {
    args: &'a [Arg],
    /// The tracepoint exists in C as well.
    of_c: bool,
}

impl<'a> CArgs<'a> {
    /// Creates the view of `args`; `of_c` is set if C has the tracepoint.
    ///
    /// # Errors
    ///
    /// An argument is `const`, and C does not have the tracepoint.
    pub(super) fn new(args: &'a [Arg], of_c: bool) -> Result<Self> {
        match args.iter().find_map(|arg| arg.constant) {
            Some(at) if !of_c => Err(Error::new(
                at,
                "only an argument of a tracepoint that C has as well can be `const`",
            )),
            _ => Ok(Self { args, of_c }),
        }
    }

    /// Returns the types of the arguments in the function that C calls.
    pub(super) fn types(&self) -> Vec<TokenStream> {
        let root = root();

        self.args
            .iter()
            .map(|Arg { ty, constant, .. }| {
                let constant = constant.is_some();

                if self.of_c {
                    quote_spanned!(ty.span()=> <#ty as #root::CArgument<#constant>>::C)
                } else {
                    quote!(#ty)
                }
            })
            .collect()
    }

    /// Returns the parameters of the function that C calls.
    pub(super) fn declared(&self) -> TokenStream {
        if !self.of_c {
            return declared(self.args);
        }
        let names = self.args.iter().map(|arg| &arg.name);
        let types = self.types();

        quote!(#(#names: #types),*)
    }

    /// Generates the statements that convert the parameters from C to Rust at the start of the
    /// function.
    pub(super) fn taken(&self) -> TokenStream {
        if !self.of_c {
            return TokenStream::new();
        }
        let taken = self.args.iter().map(|Arg { name, ty, constant }| {
            let (root, constant) = (root_at(ty.span()), constant.is_some());

            quote_spanned! { ty.span()=>
                // SAFETY: The tracepoint was hit with a value that the declaration is about: C
                // keeps to the prototype, and Rust has converted a value of the type.
                let #name: #ty = unsafe { #root::from_c::<#ty, #constant>(#name) };
            }
        });

        quote!(#(#taken)*)
    }

    /// Returns the expressions that code with arguments of Rust passes to the function.
    pub(super) fn passed(&self) -> TokenStream {
        if !self.of_c {
            return passed(self.args);
        }
        let passed = self.args.iter().map(|Arg { name, ty, constant }| {
            let (root, constant) = (root_at(ty.span()), constant.is_some());

            quote_spanned!(ty.span()=> #root::into_c::<#ty, #constant>(#name))
        });

        quote!(#(#passed),*)
    }
}

/// Returns `true` if C has one of the tracepoints of a class. All events of a class share its
/// probes, so all of them have the types of C then.
pub(super) fn is_of_c(class: &Class, items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Event(event) => {
            event.own.is_none()
                && event.of == class.name
                && (event.options.custom || event.options.export)
        }
        _ => false,
    })
}

/// Returns `true` if C has the tracepoint of an event that has a class of its own.
pub(super) fn is_event_of_c(event: &Event) -> bool {
    event.options.custom || event.options.export
}
