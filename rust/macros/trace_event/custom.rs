// SPDX-License-Identifier: GPL-2.0

//! Events on tracepoints that are defined elsewhere.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Ident,
    Result, //
};

use super::{
    c_args::CArgs,
    class::c_string,
    docs,
    foreign::check_prototype,
    parse::{
        Arg,
        Event, //
    }, //
};

/// Generates the items of an event on a foreign tracepoint.
pub(super) fn custom(event: &Event, args: &[Arg], call: &Ident) -> Result<TokenStream> {
    let (attrs, vis, of) = (docs(&event.attrs), &event.vis, &event.name);
    let string = c_string(of.to_string().trim_start_matches("r#"), of.span())?;

    let check = if event.options.unchecked {
        TokenStream::new()
    } else {
        check_prototype(of, &CArgs::new(args, true)?)
    };

    Ok(quote! {
        #check

        #(#attrs)*
        #[allow(non_camel_case_types)]
        #vis enum #of {}

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
                // SAFETY: The tracepoint of this name has the prototype of the event: it was
                // compared with the header, or the declaration asserts it.
                return unsafe { #call.bind(Self::NAME) };
                #[cfg(not(CONFIG_EVENT_TRACING))]
                Err(::kernel::error::code::ENOENT)
            }
        }
    })
}
