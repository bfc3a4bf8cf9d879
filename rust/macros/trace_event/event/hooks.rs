// SPDX-License-Identifier: GPL-2.0

//! Functions of the declaration that C calls: when the first probe of a tracepoint is added and the
//! last one removed, and when perf opens an event.
//!
//! Each is taken as a pointer to a safe function, so an `unsafe` one is an error, and in a safe
//! function, so that nothing `unsafe` is done to get it, whatever lints the declaration allows.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use super::super::{
    hidden,
    name,
    parse::Options,
    root, //
};

/// Generates the static with the hooks of a tracepoint, and the pointer to it, or null if it needs
/// none.
pub(super) fn hooks(of: &Ident, options: &Options) -> (TokenStream, TokenStream) {
    let (root, hidden, hooks) = (root(), hidden(), name("hooks", of));
    let faultable = options.faultable;

    if options.attach.is_none() && options.detach.is_none() && !faultable {
        return (TokenStream::new(), quote!(::core::ptr::null_mut()));
    }
    let attach = match &options.attach {
        Some(path) => quote!({
            extern "C" fn __attach() -> #root::c_int {
                #root::hook_result({
                    let hook: fn() -> _ = #path;
                    hook()
                })
            }
            Some(__attach)
        }),
        None => quote!(None),
    };
    let detach = match &options.detach {
        Some(path) => quote!({
            extern "C" fn __detach() {
                let hook: fn() = #path;
                hook()
            }
            Some(__detach)
        }),
        None => quote!(None),
    };

    (
        quote! {
            #hidden
            static #hooks: #root::Hooks = #root::Hooks::new(#attach, #detach, #faultable);
        },
        quote!(#hooks.as_raw()),
    )
}

/// Generates the permission check of perf events, for C.
pub(super) fn permission(options: &Options) -> TokenStream {
    let root = root();
    let Some(path) = &options.permission else {
        return quote!(None);
    };

    quote!({
        #[cfg(CONFIG_PERF_EVENTS)]
        unsafe extern "C" fn __permission(
            _: *mut ::kernel::bindings::trace_event_call,
            event: *mut ::kernel::bindings::perf_event,
        ) -> #root::c_int {
            // SAFETY: perf calls this with the event that is being opened.
            let event = unsafe { #root::perf_event(event) };

            #root::hook_result(__hook()(event))
        }
        #[cfg(CONFIG_PERF_EVENTS)]
        fn __hook() -> fn(&#root::PerfEvent) -> #root::Result {
            #path
        }
        #[cfg(CONFIG_PERF_EVENTS)]
        const PERMISSION: Option<#root::Permission> = Some(__permission);
        #[cfg(not(CONFIG_PERF_EVENTS))]
        const PERMISSION: Option<#root::Permission> = None;
        PERMISSION
    })
}
