// SPDX-License-Identifier: GPL-2.0

//! Events on tracepoints that are defined elsewhere.

use proc_macro2::TokenStream;
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    visit::{
        self,
        Visit, //
    },
    Ident,
    Result,
    TypeReference, //
};

use super::{
    class::c_string,
    docs,
    parse::{
        Arg,
        Event, //
    }, //
};

/// Whether there is a reference in a type.
struct HasReference(bool);

impl<'ast> Visit<'ast> for HasReference {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.0 = true;
        visit::visit_type_reference(self, reference);
    }
}

/// An error with kCFI, if `of` is a tracepoint that C knows too and has references: what C calls
/// has the types of C there, and those of references of Rust have another hash.
pub(super) fn refuse_with_cfi(of: &Ident, args: &[Arg]) -> TokenStream {
    let mut found = HasReference(false);

    for arg in args {
        found.visit_type(&arg.ty);
    }
    if !found.0 {
        return TokenStream::new();
    }
    quote_spanned! { of.span()=>
        #[cfg(CONFIG_CFI)]
        ::core::compile_error!("with CONFIG_CFI a tracepoint that C has too takes no references");
    }
}

/// What is there about an event whose tracepoint is somebody else's.
pub(super) fn custom(event: &Event, args: &[Arg], call: &Ident) -> Result<TokenStream> {
    let (attrs, vis, of) = (docs(&event.attrs), &event.vis, &event.name);
    let no_cfi = refuse_with_cfi(of, args);
    let string = c_string(of.to_string().trim_start_matches("r#"), of.span())?;

    Ok(quote! {
        #no_cfi

        #(#attrs)*
        #[allow(non_camel_case_types)]
        #vis struct #of;

        #[allow(dead_code)]
        impl #of {
            /// The name, which is that of the tracepoint as well.
            #vis const NAME: &'static ::kernel::str::CStr = #string;

            /// Binds the event to the tracepoint, before which it cannot be enabled. Sleeps.
            ///
            /// # Errors
            ///
            /// `ENOENT` if the kernel proper has no such tracepoint.
            #vis fn bind() -> ::kernel::error::Result {
                #[cfg(CONFIG_EVENT_TRACING)]
                // SAFETY: Who declared the event promised that the tracepoint of this name has the
                // prototype of the event.
                return unsafe { #call.bind(Self::NAME) };
                #[cfg(not(CONFIG_EVENT_TRACING))]
                Err(::kernel::error::code::ENOENT)
            }
        }
    })
}
