// SPDX-License-Identifier: GPL-2.0

//! Tracepoints that are defined in C: `declare_trace!`.

use proc_macro2::TokenStream;
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    parenthesized,
    parse::{
        Parse,
        ParseStream, //
    },
    punctuated::Punctuated,
    Attribute,
    Error,
    Ident,
    Result,
    Token,
    Visibility, //
};

use super::{
    c_args::CArgs,
    class::{
        c_string,
        declared, //
    },
    docs,
    event::implementation,
    parse::{
        Arg,
        MAX_ARGS, //
    },
    root, //
};

/// The method of finding a tracepoint when a probe is attached.
#[derive(PartialEq, Eq)]
enum Lookup {
    /// By its symbol.
    Linked,
    /// By its name, in the kernel proper.
    ByName,
    /// By its name, in the kernel proper or a module; nothing is compared with a header.
    Unchecked,
}

/// A tracepoint.
struct Declared {
    attrs: Vec<Attribute>,
    lookup: Lookup,
    faultable: bool,
    vis: Visibility,
    name: Ident,
    args: Vec<Arg>,
}

/// All that one macro call declares.
pub(crate) struct Foreign(Vec<Declared>);

impl Parse for Declared {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut lookup, mut faultable) = (Lookup::Linked, false);
        let mut attrs = Vec::new();

        for attr in input.call(Attribute::parse_outer)? {
            if attr.path().is_ident("faultable") {
                attr.meta.require_path_only()?;
                faultable = true;
            } else if attr.path().is_ident("by_name") {
                lookup = by_name(&attr)?;
            } else {
                attrs.push(attr);
            }
        }
        let vis = input.parse()?;
        input.parse::<Token![unsafe]>()?;
        input.parse::<Token![fn]>()?;
        let name: Ident = input.parse()?;
        let inside;
        parenthesized!(inside in input);
        let args: Vec<_> = Punctuated::<Arg, Token![,]>::parse_terminated(&inside)?
            .into_iter()
            .collect();
        input.parse::<Token![;]>()?;
        if args.len() > MAX_ARGS {
            return Err(Error::new(
                name.span(),
                "a tracepoint has twelve arguments at most",
            ));
        }
        Ok(Self {
            attrs,
            lookup,
            faultable,
            vis,
            name,
            args,
        })
    }
}

/// Parses `#[by_name]` or `#[by_name(unchecked)]`.
fn by_name(attr: &Attribute) -> Result<Lookup> {
    if attr.meta.require_path_only().is_ok() {
        return Ok(Lookup::ByName);
    }
    let word: Ident = attr.parse_args()?;

    if word == "unchecked" {
        Ok(Lookup::Unchecked)
    } else {
        Err(Error::new(
            word.span(),
            "expected `by_name` or `by_name(unchecked)`",
        ))
    }
}

impl Parse for Foreign {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut tracepoints = Vec::new();

        while !input.is_empty() {
            tracepoints.push(input.parse()?);
        }
        Ok(Self(tracepoints))
    }
}

/// Returns the name of an object that C has for a tracepoint.
fn of_c(prefix: &str, name: &Ident) -> Ident {
    Ident::new(
        &format!("__{prefix}_{}", name.to_string().trim_start_matches("r#")),
        name.span(),
    )
}

/// Generates the comparison of a tracepoint's prototype with that in the header of C.
pub(super) fn check_prototype(name: &Ident, c_args: &CArgs<'_>) -> TokenStream {
    let root = root();
    let iterator = of_c("traceiter", name);
    let types = c_args.types();

    quote_spanned! { name.span()=>
        #[cfg(CONFIG_EVENT_TRACING)]
        const _: unsafe extern "C" fn(*mut #root::c_void #(, #types)*) -> #root::c_int =
            ::kernel::bindings::#iterator;
    }
}

impl Declared {
    /// Generates the function that hits the tracepoint.
    fn hit(&self, c_args: &CArgs<'_>) -> TokenStream {
        let Self {
            attrs, vis, name, ..
        } = self;
        let tracepoint = of_c("tracepoint", &self.name);
        let call = Ident::new(
            &format!(
                "rust_do_trace_{}",
                name.to_string().trim_start_matches("r#")
            ),
            name.span(),
        );
        let (declared, passed) = (declared(&self.args), c_args.passed());
        let names = self.args.iter().map(|arg| &arg.name);

        quote! {
            #(#attrs)*
            #[inline(always)]
            #[allow(dead_code, clippy::too_many_arguments)]
            #vis unsafe fn #name(#declared) {
                #[cfg(CONFIG_EVENT_TRACING)]
                {
                    // SAFETY: The key of a tracepoint of C can always be read.
                    let should_trace = unsafe {
                        ::kernel::jump_label::static_branch_unlikely!(
                            ::kernel::bindings::#tracepoint,
                            ::kernel::bindings::tracepoint,
                            key
                        )
                    };

                    if should_trace {
                        // SAFETY: The caller guarantees that it is okay to hit this tracepoint.
                        unsafe { ::kernel::bindings::#call(#passed) };
                    }
                }
                #[cfg(not(CONFIG_EVENT_TRACING))]
                {
                    let _ = (#(#names,)*);
                }
            }
        }
    }

    fn expand(&self) -> Result<TokenStream> {
        let root = root();
        let Self { vis, name, .. } = self;
        let c_args = CArgs::new(&self.args, true)?;
        let string = c_string(name.to_string().trim_start_matches("r#"), name.span())?;
        let symbol = of_c("tracepoint", &self.name);
        let linked = self.lookup == Lookup::Linked;
        let hit = linked.then(|| self.hit(&c_args));
        let check =
            (self.lookup != Lookup::Unchecked).then(|| check_prototype(&self.name, &c_args));
        let found = match self.lookup {
            Lookup::Linked => quote! {
                // SAFETY: It is one that this code is linked with.
                Ok(unsafe { #root::linked(&raw mut ::kernel::bindings::#symbol) })
            },
            Lookup::ByName => quote!(#root::find_built_in(#string)),
            Lookup::Unchecked => quote! {
                #root::find(#string, ::kernel::module::this_module::<crate::LocalModule>())
            },
        };
        let implementation = implementation(name, &self.args, &c_args, self.faultable, found);
        let attrs = docs(&self.attrs);
        let cfgs: Vec<_> = self
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg"))
            .collect();
        let (check, implementation) = (
            check.map(|check| quote!(#(#cfgs)* #check)),
            quote!(#(#cfgs)* #implementation),
        );

        Ok(quote! {
            #hit

            #(#cfgs)*
            #(#attrs)*
            #[doc = ""]
            #[doc = "A tracepoint of C. It has no values."]
            #[allow(dead_code, non_camel_case_types)]
            #vis enum #name {}

            #check
            #implementation
        })
    }
}

/// Expands `declare_trace!`.
pub(crate) fn declare_trace(input: Foreign) -> Result<TokenStream> {
    input.0.iter().map(Declared::expand).collect()
}
