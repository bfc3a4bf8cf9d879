// SPDX-License-Identifier: GPL-2.0

//! Tracepoints and their events.

mod hooks;

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    spanned::Spanned,
    visit_mut::{
        self,
        VisitMut, //
    },
    Attribute,
    Ident,
    Lifetime,
    Result,
    Type,
    TypeReference,
    Visibility, //
};

use super::{
    c_args::CArgs,
    class::{
        c_string,
        declared,
        object_name,
        passed, //
    },
    custom,
    docs,
    hidden,
    name,
    parse::{
        Arg,
        Class,
        Event,
        Options,
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

    // The lifetimes in there are bound there.
    fn visit_type_bare_fn_mut(&mut self, _: &mut syn::TypeBareFn) {}
}

/// The arguments as a tuple type with the lifetime `'a`.
fn tuple(args: &[Arg]) -> TokenStream {
    let types = args.iter().map(|arg| {
        let mut ty: Type = arg.ty.clone();
        NameLifetimes.visit_type_mut(&mut ty);
        ty
    });

    quote!((#(#types,)*))
}

/// The implementation of `Event` for `name`.
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
        unsafe impl ::kernel::trace::probe::Event for #name {
            type Args<'a> = #tuple;

            #[inline]
            fn tracepoint() -> ::kernel::error::Result<#root::Found> {
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

/// The items of a tracepoint that exist in all configurations.
struct Public<'a> {
    system: &'a str,
    attrs: &'a [Attribute],
    vis: &'a Visibility,
    name: &'a Ident,
    args: &'a [Arg],
    options: &'a Options,
    /// The functions have the types of C.
    of_c: bool,
}

/// Returns the assembly that `EXPORT_SYMBOL_GPL()` generates, under the condition `when`.
fn exported(symbol: &str, when: &TokenStream) -> TokenStream {
    let section = "\t.section \".export_symbol\", \"a\"";
    let begin = format!("__export_symbol_{symbol}:\n\t.asciz \"GPL\"\n\t.byte 0");
    let (long, word) = (
        format!("\t.balign 8\n\t.quad {symbol}"),
        format!("\t.balign 4\n\t.long {symbol}"),
    );

    quote! {
        #[cfg(all(#when, target_pointer_width = "64"))]
        ::core::arch::global_asm!(#section, #begin, #long, "\t.previous");
        #[cfg(all(#when, target_pointer_width = "32"))]
        ::core::arch::global_asm!(#section, #begin, #word, "\t.previous");
    }
}

/// The tracepoint and what hits it.
fn hit(public: Public<'_>) -> Result<TokenStream> {
    let Public {
        system,
        attrs,
        vis,
        name: of,
        args,
        options,
        of_c,
    } = public;
    let c_args = CArgs::new(args, of_c)?;
    let attrs = docs(attrs);
    let root = root();
    let hidden = hidden();
    let text = of.to_string();
    let text = text.trim_start_matches("r#");
    let string = c_string(text, of.span())?;
    let tracepoint = name("tracepoint", of);
    let (iterator, stub) = (name("traceiter", of), name("probestub", of));
    let (pointer, string_static) = (name("tracepoint_ptr", of), name("tpstrtab", of));
    let check =
        format!("\t.pushsection \"__tracepoint_check\", \"a\"\n\t.asciz \"{text}\"\n\t.popsection");
    // The linker and objtool know them by their names, and each system has names of its own.
    let call = if options.export {
        text.to_owned()
    } else {
        format!("{}__{text}", system.replace('-', "_"))
    };
    let (key, trampoline) = (
        Ident::new(&format!("__SCK__tp_func_{call}"), of.span()),
        Ident::new(&format!("__SCT__tp_func_{call}"), of.span()),
    );
    let (declared_args, passed_args) = (declared(args), passed(args));
    let (declared_c, taken_c, passed_c) = (c_args.declared(), c_args.taken(), c_args.passed());
    let types = c_args.types();
    let names = args.iter().map(|arg| &arg.name).collect::<Vec<_>>();
    let function = quote!(unsafe extern "C" fn(*mut #root::c_void #(, #types)*));
    let size = text.len() + 1;
    let bytes = proc_macro2::Literal::byte_string(format!("{text}\0").as_bytes());
    let (trace, enabled) = (
        Ident::new(&format!("trace_{text}"), of.span()),
        Ident::new(&format!("trace_{text}_enabled"), of.span()),
    );
    let site = Span::mixed_site();
    let (probe, data) = (Ident::new("probe", site), Ident::new("data", site));
    let (kept, callee) = (Ident::new("_guard", site), Ident::new("function", site));
    let asm = format!(
        "\t.section \"__tracepoints_ptrs\", \"a\"\n\t.balign 4\n\t.long {{tp}} - .\n\t.previous"
    );
    // As in C, what may fault is not called where a CPU comes or goes, and need not look.
    let condition = options
        .condition
        .as_ref()
        .map(|condition| quote_spanned!(condition.span()=> (#condition)));
    let (when, watched, guard, might_fault) = if options.faultable {
        let watched = condition.clone().unwrap_or_else(|| quote!(true));
        (
            condition.map(|condition| quote!(if #condition)),
            watched,
            quote!(FaultableGuard),
            Some(quote! {
                #[cfg(CONFIG_EVENT_TRACING)]
                #root::might_fault();
            }),
        )
    } else {
        let condition = condition.map(|condition| quote!(&& #condition));
        let watched = quote!(#root::cpu_is_online() #condition);
        (Some(quote!(if #watched)), watched, quote!(CallGuard), None)
    };
    let unused = match &options.condition {
        Some(condition) => quote!(let _: bool = #condition;),
        None => TokenStream::new(),
    };

    let (hooks_static, ext) = hooks::hooks(of, options);
    let (map, run) = (name("bpf_raw_tp_map", of), name("bpf_trace", of));
    let count = args.len() as u32;
    let arguments = name("arguments", of);
    let bpf = quote! {
        // The valid arguments do not depend on the configuration.
        #[cfg(not(CONFIG_BPF_EVENTS))]
        #hidden
        #[allow(dead_code)]
        fn #arguments(#declared_args) {
            #(#root::argument_word(#names);)*
        }

        #[cfg(CONFIG_BPF_EVENTS)]
        #hidden
        unsafe extern "C" fn #run(#data: *mut #root::c_void, #declared_c) {
            #taken_c
            // SAFETY: C registers this with the link of a program.
            unsafe { #root::run_bpf(#data, [#(#root::argument_word(#names)),*]) };
        }

        #[cfg(CONFIG_BPF_EVENTS)]
        #hidden
        #[used]
        #[link_section = "__bpf_raw_tp_map"]
        static #map: #root::BpfMap =
            #root::BpfMap::new(&#tracepoint, #run as *const (), #count);
    };
    let (tracepoint_symbol, iterator_symbol, exports) = if options.export {
        let (tracepoint, iterator) = (
            format!("__tracepoint_{text}"),
            format!("__traceiter_{text}"),
        );
        let when = quote!(CONFIG_EVENT_TRACING);
        let always = [&tracepoint, &iterator].map(|symbol| exported(symbol, &when));
        let when = quote!(CONFIG_EVENT_TRACING, CONFIG_HAVE_STATIC_CALL);
        let called = [&key, &trampoline].map(|symbol| exported(&symbol.to_string(), &when));
        (
            Some(quote!(#[export_name = #tracepoint])),
            Some(quote!(#[export_name = #iterator])),
            quote! {
                // As C does: who hits it may be in C only, where that leaves no name here.
                #[cfg(CONFIG_EVENT_TRACING)]
                ::core::arch::global_asm!(#check);
                #(#always)*
                #(#called)*
            },
        )
    } else {
        (None, None, TokenStream::new())
    };
    let implementation = implementation(
        of,
        args,
        &c_args,
        options.faultable,
        quote!(Ok(#root::Found::own(&#tracepoint))),
    );
    let static_call = quote!(#[cfg(CONFIG_HAVE_STATIC_CALL)]);
    let no_static_call = quote!(#[cfg(not(CONFIG_HAVE_STATIC_CALL))]);

    Ok(quote! {
        #hidden
        #[used]
        #[link_section = "__tracepoints_strings"]
        static #string_static: [u8; #size] = *#bytes;

        #hooks_static

        #hidden
        #[used]
        #[link_section = "__tracepoints"]
        #tracepoint_symbol
        static #tracepoint: #root::Tracepoint = {
            #static_call
            let call = (#key.as_raw(), #trampoline as *const ());
            #no_static_call
            let call = (::core::ptr::null_mut(), ::core::ptr::null());

            // SAFETY: The functions are for the arguments of this tracepoint.
            unsafe {
                #root::Tracepoint::declared(
                    (&raw const #string_static).cast(),
                    call,
                    #iterator as *const (),
                    #stub as *const (),
                    #ext,
                )
            }
        };

        #[cfg(all(CONFIG_EVENT_TRACING, CONFIG_HAVE_ARCH_PREL32_RELOCATIONS))]
        ::core::arch::global_asm!(#asm, tp = sym #tracepoint);

        #[cfg(not(CONFIG_HAVE_ARCH_PREL32_RELOCATIONS))]
        #hidden
        #[used]
        #[link_section = "__tracepoints_ptrs"]
        static #pointer: #root::Pointer<#root::Tracepoint> = #root::Pointer::new(&#tracepoint);

        #hidden
        #iterator_symbol
        unsafe extern "C" fn #iterator(_: *mut #root::c_void, #declared_c) -> #root::c_int {
            // SAFETY: Who hits the tracepoint keeps its probes.
            for #probe in unsafe { #tracepoint.probes_unguarded() } {
                // SAFETY: All probes of this tracepoint are such functions.
                let #callee = unsafe {
                    ::core::mem::transmute::<*mut #root::c_void, #function>(#probe.func)
                };
                // SAFETY: This is what the probe was registered with.
                unsafe { #callee(#probe.data, #passed_args) };
            }
            0
        }

        #hidden
        unsafe extern "C" fn #stub(_: *mut #root::c_void, #declared_c) {
            let _ = (#passed_args,);
        }

        // Only data that objtool does not look at has its address.
        #[cfg(all(CONFIG_EVENT_TRACING, CONFIG_X86_KERNEL_IBT))]
        ::core::arch::global_asm!(
            "\t.pushsection .discard.ibt_endbr_noseal",
            "\t.quad {stub}",
            "\t.popsection",
            stub = sym #stub,
        );

        #static_call
        #hidden
        #[export_name = stringify!(#key)]
        static #key: #root::StaticCall = #root::StaticCall::new(#iterator as *const ());

        #static_call
        #hidden
        extern "C" {
            fn #trampoline(data: *mut #root::c_void, #declared_c);
        }

        #[cfg(all(CONFIG_EVENT_TRACING, CONFIG_HAVE_STATIC_CALL))]
        #root::__tracepoint_trampoline!(#trampoline, #iterator);

        #exports

        #bpf

        #(#attrs)*
        // It has no values, so a variable can have the same name.
        #[allow(non_camel_case_types)]
        #vis enum #of {}

        #[allow(dead_code, clippy::too_many_arguments)]
        impl #of {
            /// The name.
            #vis const NAME: &'static ::kernel::str::CStr = #string;

            /// Returns `true` if a probe is attached.
            ///
            /// A branch that is patched.
            #[inline(always)]
            #vis fn enabled() -> bool {
                #[cfg(CONFIG_EVENT_TRACING)]
                {
                    #root::__tracepoint_check_rcu!(true);
                    #root::__tracepoint_branch!(#tracepoint)
                }
                #[cfg(not(CONFIG_EVENT_TRACING))]
                false
            }

            /// Calls the probes, whether any is attached or not.
            #[inline(always)]
            #vis fn call(#declared_args) {
                #might_fault
                // Only what is used has a name there, for the tool that `make UT=1` runs.
                #[cfg(CONFIG_EVENT_TRACING)]
                // SAFETY: There is no instruction.
                unsafe {
                    ::core::arch::asm!(#check, options(nomem, nostack, preserves_flags))
                };

                #[cfg(CONFIG_EVENT_TRACING)]
                #when {
                    let #kept = #root::#guard::new();

                    #static_call
                    // SAFETY: The guard keeps the probes.
                    if let Some(#data) = unsafe { #tracepoint.first_data() } {
                        // SAFETY: The target is the function of that probe, or the iterator: see
                        // `first_data`.
                        unsafe { #trampoline(#data, #passed_c) };
                    }
                    #no_static_call
                    // SAFETY: The guard keeps the probes.
                    unsafe { #iterator(::core::ptr::null_mut(), #passed_c) };
                }
                #[cfg(not(CONFIG_EVENT_TRACING))]
                {
                    #unused
                    let _ = (#passed_args,);
                }
            }
        }

        #(#attrs)*
        ///
        /// The arguments are evaluated even if no probe is attached, other than by
        #[doc = concat!("`trace!(", stringify!(#of), "(..))`.")]
        #[inline(always)]
        #[allow(dead_code, clippy::too_many_arguments)]
        #vis fn #trace(#declared_args) {
            #might_fault
            #[cfg(CONFIG_EVENT_TRACING)]
            {
                if #root::__tracepoint_branch!(#tracepoint) {
                    #of::call(#passed_args);
                }
                #root::__tracepoint_check_rcu!(#watched);
            }
            #[cfg(not(CONFIG_EVENT_TRACING))]
            #of::call(#passed_args);
        }

        #[doc = concat!("Whether a probe is attached to [`", stringify!(#of), "`].")]
        #[inline(always)]
        #[allow(dead_code)]
        #vis fn #enabled() -> bool {
            #of::enabled()
        }

        #implementation
    })
}

/// Generates an event of a class that was generated before. `of_c` is set if C has tracepoints of
/// the class.
pub(super) fn event(system: &str, event: &Event, class: &Class, of_c: bool) -> Result<TokenStream> {
    let root = root();
    let hidden = hidden();
    let of = &event.name;
    let call = name("event", of);
    let (begin, end) = ("\t.section \"_ftrace_events\", \"aw\"", "\t.previous");
    let tracepoint = name("tracepoint", of);
    let object = object_name(class, event.options.custom);
    let (origin, rest) = if event.options.custom {
        let string = c_string(of.to_string().trim_start_matches("r#"), of.span())?;
        (quote!(Custom(#string)), custom::custom(event, &call)?)
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

        // No symbol, as C forgets the section when it has booted.
        #[cfg(all(CONFIG_EVENT_TRACING, target_pointer_width = "64"))]
        ::core::arch::global_asm!(#begin, "\t.balign 8", "\t.quad {call}", #end, call = sym #call);
        #[cfg(all(CONFIG_EVENT_TRACING, target_pointer_width = "32"))]
        ::core::arch::global_asm!(#begin, "\t.balign 4", "\t.long {call}", #end, call = sym #call);

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
