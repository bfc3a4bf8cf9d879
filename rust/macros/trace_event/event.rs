// SPDX-License-Identifier: GPL-2.0

//! Tracepoints and their events.

mod hit;
mod hooks;

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::quote;
use syn::{
    spanned::Spanned,
    visit_mut::{
        self,
        VisitMut, //
    },
    Ident,
    Lifetime,
    Result,
    Type,
    TypeReference, //
};

use self::hit::{
    hit,
    Public, //
};
use super::{
    c_args::CArgs,
    class::{
        c_string,
        object_name, //
    },
    custom,
    hidden,
    name,
    parse::{
        Arg,
        Class,
        Event,
        Tracepoint, //
    },
    print,
    root, //
};

/// Names all elided lifetimes `'a`.
struct NameLifetimes;

impl VisitMut for NameLifetimes {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            reference.lifetime = Some(Lifetime::new("'a", reference.and_token.span()));
        }
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = Lifetime::new("'a", lifetime.span());
        }
    }

    // The lifetimes in it are bound in it.
    fn visit_type_bare_fn_mut(&mut self, _: &mut syn::TypeBareFn) {}
}

/// Returns the arguments as a tuple type with the lifetime `'a`.
fn tuple(args: &[Arg]) -> TokenStream {
    let types = args.iter().map(|arg| {
        let mut ty: Type = arg.ty.clone();
        NameLifetimes.visit_type_mut(&mut ty);
        ty
    });

    quote!((#(#types,)*))
}

/// Generates the implementation of `Target` for `name`.
pub(super) fn implementation(
    name: &Ident,
    args: &[Arg],
    c_args: &CArgs<'_>,
    faultable: bool,
    tracepoint: TokenStream,
) -> TokenStream {
    let root = root();
    let tuple = tuple(args);
    let (declared, taken) = (c_args.declared(), c_args.taken());
    let names = args.iter().map(|arg| &arg.name);
    let data = Ident::new("data", Span::mixed_site());
    let guard = (!faultable).then(|| {
        let guard = Ident::new("_guard", Span::mixed_site());

        quote!(let #guard = #root::ProbeGuard::new();)
    });

    quote! {
        #[cfg(CONFIG_EVENT_TRACING)]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        // SAFETY: The function has the prototype of the tracepoint, and calls what its data is.
        unsafe impl ::kernel::trace::probe::Target for #name {
            type Args<'a> = #tuple;

            #[inline]
            fn tracepoint() -> ::kernel::error::Result<#root::TracepointRef> {
                #tracepoint
            }

            fn function<__Probe: ::kernel::trace::probe::Probe<Self>>() -> *const () {
                unsafe extern "C" fn call<__Probe: ::kernel::trace::probe::Probe<#name>>(
                    #data: *mut #root::c_void,
                    #declared
                ) {
                    #guard
                    #taken

                    // SAFETY: A registration registers this with its probe, which it keeps.
                    let #data = unsafe { &*#data.cast_const().cast::<__Probe>() };
                    #data.hit((#(#names,)*));
                }
                call::<__Probe> as *const ()
            }
        }
    }
}

/// Generates an event of a class that was generated before. `of_c` is set if C has tracepoints of
/// the class.
pub(super) fn event(system: &str, event: &Event, class: &Class, of_c: bool) -> Result<TokenStream> {
    let root = root();
    let hidden = hidden();
    let of = &event.name;
    let call = name("event", of);
    let tracepoint = name("tracepoint", of);
    let object = object_name(class, event.options.custom);
    let (origin, rest) = if event.options.custom {
        let string = c_string(of.to_string().trim_start_matches("r#"), of.span())?;
        (
            quote!(Custom(#string)),
            custom::custom(event, &class.args, &call)?,
        )
    } else {
        let public = Public {
            system,
            attrs: &event.attrs,
            vis: &event.vis,
            name: of,
            args: &class.args,
            options: &event.options,
            of_c,
        };
        (quote!(Tracepoint(&#tracepoint)), hit(public)?)
    };
    let (prints, output) = match &event.print {
        Some(print) => (of, print::output(of, class, print)?),
        None => (&class.name, TokenStream::new()),
    };
    let (functions, format) = (name("functions", prints), name("print_fmt", prints));
    let cap_any = event.options.cap_any;
    let permission = hooks::permission(&event.options);

    Ok(quote! {
        #output

        #hidden
        static #call: #root::Call = #root::Call::new(
            #root::Origin::#origin,
            &#object,
            &#functions,
            #format.as_char_ptr(),
            #cap_any,
            #permission,
        );

        #[cfg(CONFIG_EVENT_TRACING)]
        #root::__event_pointer!(#call);

        #rest
    })
}

/// Generates a tracepoint without event.
pub(super) fn tracepoint(system: &str, tracepoint: &Tracepoint) -> Result<TokenStream> {
    hit(Public {
        system,
        attrs: &tracepoint.attrs,
        vis: &tracepoint.vis,
        name: &tracepoint.name,
        args: &tracepoint.args,
        options: &tracepoint.options,
        of_c: tracepoint.options.export,
    })
}
