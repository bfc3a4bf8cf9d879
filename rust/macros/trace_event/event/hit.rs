// SPDX-License-Identifier: GPL-2.0

//! A tracepoint: its objects, and the functions that hit it.

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
    Attribute,
    Ident,
    Result,
    Visibility, //
};

use super::{
    super::{
        c_args::CArgs,
        class::{
            c_string,
            declared,
            passed, //
        },
        docs,
        hidden,
        name,
        parse::{
            Arg,
            Options, //
        },
        root, //
    },
    hooks,
    implementation, //
};

/// The items of a tracepoint that exist in all configurations.
pub(super) struct Public<'a> {
    pub(super) system: &'a str,
    pub(super) attrs: &'a [Attribute],
    pub(super) vis: &'a Visibility,
    pub(super) name: &'a Ident,
    pub(super) args: &'a [Arg],
    pub(super) options: &'a Options,
    /// The functions have the types of C.
    pub(super) of_c: bool,
}

/// The condition of a tracepoint, as the code that hits it has it.
struct Condition {
    /// The code in front of the block with the call.
    when: Option<TokenStream>,
    /// The expression that tells if RCU must watch.
    watched: TokenStream,
    /// The type that keeps the probes.
    guard: TokenStream,
    might_fault: Option<TokenStream>,
    /// The condition, for a kernel without tracing.
    unused: Option<TokenStream>,
}

impl Condition {
    fn new(options: &Options) -> Self {
        let root = root();
        let unused = options
            .condition
            .as_ref()
            .map(|condition| quote!(let _: bool = #condition;));
        let condition = options
            .condition
            .as_ref()
            .map(|condition| quote_spanned!(condition.span()=> (#condition)));

        // As in C, a tracepoint that may fault is not called while a CPU is brought up or down, and
        // need not look.
        if options.faultable {
            return Self {
                watched: condition.clone().unwrap_or_else(|| quote!(true)),
                when: condition.map(|condition| quote!(if #condition)),
                guard: quote!(FaultableGuard),
                might_fault: Some(quote! {
                    #[cfg(CONFIG_EVENT_TRACING)]
                    #root::might_fault();
                }),
                unused,
            };
        }
        let condition = condition.map(|condition| quote!(&& #condition));
        let watched = quote!(#root::cpu_is_online() #condition);

        Self {
            when: Some(quote!(if #watched)),
            watched,
            guard: quote!(CallGuard),
            might_fault: None,
            unused,
        }
    }
}

/// The names of a tracepoint, and what several of its items have.
struct Parts<'a> {
    of: &'a Ident,
    args: &'a [Arg],
    options: &'a Options,
    c_args: CArgs<'a>,
    root: TokenStream,
    hidden: TokenStream,
    /// The name in C.
    text: String,
    tracepoint: Ident,
    iterator: Ident,
    stub: Ident,
    key: Ident,
    trampoline: Ident,
    static_call: TokenStream,
    no_static_call: TokenStream,
}

impl<'a> Parts<'a> {
    fn new(public: &Public<'a>) -> Result<Self> {
        let of = public.name;
        let text = of.to_string().trim_start_matches("r#").to_owned();
        // The linker and objtool know them by their names, and each system has names of its own.
        let call = if public.options.export {
            text.clone()
        } else {
            format!("{}__{text}", public.system.replace('-', "_"))
        };

        Ok(Self {
            of,
            args: public.args,
            options: public.options,
            c_args: CArgs::new(public.args, public.of_c)?,
            root: root(),
            hidden: hidden(),
            text,
            tracepoint: name("tracepoint", of),
            iterator: name("traceiter", of),
            stub: name("probestub", of),
            key: Ident::new(&format!("__SCK__tp_func_{call}"), of.span()),
            trampoline: Ident::new(&format!("__SCT__tp_func_{call}"), of.span()),
            static_call: quote!(#[cfg(CONFIG_HAVE_STATIC_CALL)]),
            no_static_call: quote!(#[cfg(not(CONFIG_HAVE_STATIC_CALL))]),
        })
    }

    /// Returns the attribute that names the symbol of an exported tracepoint, or of a part of it.
    fn symbol(&self, prefix: &str) -> Option<TokenStream> {
        let symbol = format!("__{prefix}_{}", self.text);

        self.options
            .export
            .then(|| quote!(#[export_name = #symbol]))
    }

    /// Generates the objects that C finds by their sections.
    fn statics(&self) -> TokenStream {
        let Self {
            root,
            hidden,
            text,
            tracepoint,
            iterator,
            stub,
            key,
            trampoline,
            static_call,
            no_static_call,
            ..
        } = self;
        let (pointer, string_static) = (name("tracepoint_ptr", self.of), name("tpstrtab", self.of));
        let size = text.len() + 1;
        let bytes = proc_macro2::Literal::byte_string(format!("{text}\0").as_bytes());
        let (hooks_static, ext) = hooks::hooks(self.of, self.options);
        let tracepoint_symbol = self.symbol("tracepoint");

        quote! {
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
            #root::__tracepoint_pointer!(#tracepoint);

            #[cfg(not(CONFIG_HAVE_ARCH_PREL32_RELOCATIONS))]
            #hidden
            #[used]
            #[link_section = "__tracepoints_ptrs"]
            static #pointer: #root::Pointer<#root::Tracepoint> = #root::Pointer::new(&#tracepoint);
        }
    }

    /// Generates the functions that C calls.
    fn functions(&self) -> TokenStream {
        let Self {
            root,
            hidden,
            tracepoint,
            iterator,
            stub,
            ..
        } = self;
        let iterator_symbol = self.symbol("traceiter");
        let passed_args = passed(self.args);
        let (declared_c, types) = (self.c_args.declared(), self.c_args.types());
        let function = quote!(unsafe extern "C" fn(*mut #root::c_void #(, #types)*));
        let site = Span::mixed_site();
        let (probe, callee) = (Ident::new("probe", site), Ident::new("function", site));

        quote! {
            #hidden
            #iterator_symbol
            unsafe extern "C" fn #iterator(_: *mut #root::c_void, #declared_c) -> #root::c_int {
                // SAFETY: The code that hits the tracepoint keeps its probes.
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

            #[cfg(all(CONFIG_EVENT_TRACING, CONFIG_X86_KERNEL_IBT))]
            #root::__tracepoint_no_seal!(#stub);
        }
    }

    /// Generates the static call, and the symbols that other modules link with.
    fn linked(&self) -> TokenStream {
        let Self {
            root,
            hidden,
            text,
            iterator,
            key,
            trampoline,
            static_call,
            ..
        } = self;
        let declared_c = self.c_args.declared();
        let exports = self.options.export.then(|| {
            let (key, trampoline) = (key.to_string(), trampoline.to_string());
            let (tracepoint, iterator) = (
                format!("__tracepoint_{text}"),
                format!("__traceiter_{text}"),
            );

            quote! {
                // As C does: its callers may be in C only, where that leaves no name here.
                #[cfg(CONFIG_EVENT_TRACING)]
                #root::__tracepoint_used_by_others!(#text);
                #[cfg(CONFIG_EVENT_TRACING)]
                #root::__tracepoint_export!(#tracepoint, #iterator);
                #[cfg(all(CONFIG_EVENT_TRACING, CONFIG_HAVE_STATIC_CALL))]
                #root::__tracepoint_export!(#key, #trampoline);
            }
        });

        quote! {
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
        }
    }

    /// Generates the entry that BPF programs are attached by.
    fn bpf(&self) -> TokenStream {
        let Self {
            root,
            hidden,
            tracepoint,
            ..
        } = self;
        let (map, run) = (name("bpf_raw_tp_map", self.of), name("bpf_trace", self.of));
        let arguments = name("arguments", self.of);
        let count = self.args.len() as u32;
        let names = self.args.iter().map(|arg| &arg.name).collect::<Vec<_>>();
        let declared_args = declared(self.args);
        let (declared_c, taken_c) = (self.c_args.declared(), self.c_args.taken());
        let data = Ident::new("data", Span::mixed_site());

        quote! {
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
        }
    }

    /// Generates the type of the tracepoint.
    fn user_type(&self, public: &Public<'_>, condition: &Condition) -> Result<TokenStream> {
        let Self {
            of,
            root,
            text,
            tracepoint,
            ..
        } = self;
        let (attrs, vis) = (docs(public.attrs), public.vis);
        let string = c_string(text, of.span())?;
        let call = self.user_call(vis, condition);

        Ok(quote! {
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

                #call
            }
        })
    }

    /// Generates the function that calls the probes.
    fn user_call(&self, vis: &Visibility, condition: &Condition) -> TokenStream {
        let Self {
            root,
            text,
            tracepoint,
            iterator,
            trampoline,
            static_call,
            no_static_call,
            ..
        } = self;
        let Condition {
            when,
            guard,
            might_fault,
            unused,
            ..
        } = condition;
        let (declared_args, passed_args) = (declared(self.args), passed(self.args));
        let passed_c = self.c_args.passed();
        let site = Span::mixed_site();
        let (kept, data) = (Ident::new("_guard", site), Ident::new("data", site));

        quote! {
            /// Calls the probes, whether any is attached or not.
            #[inline(always)]
            #vis fn call(#declared_args) {
                #might_fault
                // Only what is used has a name there, for the tool that `make UT=1` runs.
                #[cfg(CONFIG_EVENT_TRACING)]
                #root::__tracepoint_used!(#text);

                #[cfg(CONFIG_EVENT_TRACING)]
                #when {
                    let #kept = #root::#guard::new();

                    #static_call
                    // SAFETY: The guard keeps the probes.
                    if let Some(#data) = unsafe { #tracepoint.first_data() } {
                        // SAFETY: The target is the function of that probe, or the iterator:
                        // see `first_data`.
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
    }

    /// Generates the functions that hit the tracepoint.
    fn user_functions(&self, public: &Public<'_>, condition: &Condition) -> TokenStream {
        let Self {
            of,
            root,
            text,
            tracepoint,
            ..
        } = self;
        let Condition {
            watched,
            might_fault,
            ..
        } = condition;
        let (attrs, vis) = (docs(public.attrs), public.vis);
        let (declared_args, passed_args) = (declared(self.args), passed(self.args));
        let (trace, enabled) = (
            Ident::new(&format!("trace_{text}"), of.span()),
            Ident::new(&format!("trace_{text}_enabled"), of.span()),
        );

        quote! {
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

            #[doc = concat!("Returns `true` if a probe is attached to [`", stringify!(#of), "`].")]
            #[inline(always)]
            #[allow(dead_code)]
            #vis fn #enabled() -> bool {
                #of::enabled()
            }
        }
    }
}

/// Generates the tracepoint and the functions that hit it.
pub(super) fn hit(public: Public<'_>) -> Result<TokenStream> {
    let parts = Parts::new(&public)?;
    let condition = Condition::new(public.options);
    let (root, tracepoint) = (&parts.root, &parts.tracepoint);
    let implementation = implementation(
        public.name,
        public.args,
        &parts.c_args,
        public.options.faultable,
        quote!(Ok(#root::TracepointRef::own(&#tracepoint))),
    );
    let (statics, functions, linked, bpf) = (
        parts.statics(),
        parts.functions(),
        parts.linked(),
        parts.bpf(),
    );
    let user_type = parts.user_type(&public, &condition)?;
    let user_functions = parts.user_functions(&public, &condition);

    Ok(quote! {
        #statics
        #functions
        #linked
        #bpf
        #user_type
        #user_functions
        #implementation
    })
}
