// SPDX-License-Identifier: GPL-2.0

//! The code that writes records: the values of the fields, and the probes of a class.

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
    spanned::Spanned,
    Ident, //
};

use super::{
    super::{
        c_args::CArgs,
        hidden,
        name,
        parse::{
            Class,
            Dynamic,
            Field,
            Kind, //
        },
        root, //
    },
    declared,
    passed, //
};

/// Generates the statements that write a field of fixed size.
fn put_fixed(field: &Field, offset: &TokenStream, entry: &Ident, local: &Ident) -> TokenStream {
    let root = root();
    let value = &field.value;
    let at = value.span();
    let stored = field.ty();

    match &field.kind {
        // By its type the size is a constant, whatever the names of the arguments.
        Kind::Chars(_) => quote! {
            let #local: &[u8] = #root::str_source(#value);
            // SAFETY: This is the offset and the size of the field.
            unsafe { #entry.put_chars(#offset, ::core::mem::size_of::<#stored>(), #local) };
        },
        Kind::Value(ty) => {
            let bits = quote_spanned!(at=> #root::bits::<#ty>(#local));
            quote_spanned! { at=>
                let #local: #ty = #value;
                // SAFETY: This is the offset and the type of the field.
                unsafe { #entry.put::<#stored>(#offset, #bits) };
            }
        }
        _ => quote_spanned! { at=>
            let #local: #stored = #value;
            // SAFETY: This is the offset and the type of the field.
            unsafe { #entry.put::<#stored>(#offset, #local) };
        },
    }
}

/// The source of a field of variable size.
struct Source {
    /// The expression that creates it.
    value: TokenStream,
    /// Its size in bytes.
    size: TokenStream,
    /// The method that writes it.
    put: TokenStream,
}

/// Generates the source of a field of variable size, which is in the variable `local`.
fn source(field: &Field, what: &Dynamic, local: &Ident) -> Source {
    let root = root();
    let value = &field.value;
    let at = value.span();
    let (value, size, put) = match what {
        Dynamic::Array(ty) if field.each => (
            quote_spanned!(at=> #root::each_source::<#ty, _>(#value)),
            quote!(#root::each_len::<#ty>(&#local)),
            quote!(put_each),
        ),
        Dynamic::Array(ty) => (
            quote_spanned!(at=> #root::array_source::<#ty>(#value)),
            quote!(::core::mem::size_of_val(#local)),
            quote!(put_data),
        ),
        Dynamic::Str => (
            quote_spanned!(at=> #root::str_source(#value)),
            quote!(#local.len().saturating_add(1)),
            quote!(put_data),
        ),
        Dynamic::Text => (
            quote_spanned!(at=> #root::text_source(#value)),
            quote!(#root::text_len(#local)),
            quote!(put_text),
        ),
        Dynamic::Bitmask => (
            quote_spanned!(at=> #root::bitmask_source(#value)),
            quote!(#local.size()),
            quote!(put_bits),
        ),
        Dynamic::Cpumask => (
            quote_spanned!(at=> #root::cpumask_source(#value)),
            quote!(#local.size()),
            quote!(put_bits),
        ),
    };

    Source { value, size, put }
}

/// Returns the count that a hit has in perf, and the task that it is counted for.
fn perf_has(class: &Class) -> (TokenStream, TokenStream) {
    let root = root();
    let count = match &class.body.count {
        Some(count) => quote_spanned!(count.span()=> #root::perf_count(#count)),
        None => quote!(1),
    };
    let task = match &class.body.task {
        Some(task) => quote_spanned!(task.span()=> #root::perf_task(#task)),
        None => quote!(None),
    };

    (count, task)
}

/// The code for the fields of a record, in the order in which it runs.
#[derive(Default)]
struct Steps {
    /// The values of the fields of variable size, and their names.
    sources: Vec<TokenStream>,
    names: Vec<Ident>,
    /// The places of these fields.
    spans: Vec<TokenStream>,
    puts: Vec<TokenStream>,
}

impl Steps {
    fn new(class: &Class, layout: &Ident, entry: &Ident) -> Self {
        let record = name("record", &class.name);
        let site = Span::mixed_site();
        let mut steps = Self::default();

        for (i, field) in class.body.fields.iter().enumerate() {
            let member = field.member();
            let offset = quote!(::core::mem::offset_of!(#record, #member));
            let local = format_ident!("value_{}", i, span = site);
            let span = format_ident!("span_{}", i, span = site);

            let Kind::Dynamic { what, relative } = &field.kind else {
                steps.puts.push(put_fixed(field, &offset, entry, &local));
                continue;
            };
            let Source { value, size, put } = source(field, what, &local);

            steps.sources.push(value);
            steps.spans.push(quote!(let #span = #layout.add(#size);));
            steps.puts.push(quote! {
                // SAFETY: This is the offset of the field, and the span was added for this source.
                unsafe {
                    #entry.put_span(#offset, #relative, #span);
                    #entry.#put(#span, #local);
                }
            });
            steps.names.push(local);
        }
        steps
    }
}

/// Generates the function that writes a record to its destination.
pub(super) fn write(class: &Class) -> TokenStream {
    let root = root();
    let hidden = hidden();
    let write = name("write", &class.name);
    let record = name("record", &class.name);
    let (args, names_of_args) = (declared(&class.args), passed(&class.args));
    let site = Span::mixed_site();
    let (layout, slot, entry, target, to) = (
        Ident::new("layout", site),
        Ident::new("slot", site),
        Ident::new("entry", site),
        Ident::new("target", site),
        Ident::new("__Target", site),
    );
    let Steps {
        sources,
        names,
        spans,
        puts,
    } = Steps::new(class, &layout, &entry);
    // Spans that never change need no `mut`.
    let mutable = (!spans.is_empty()).then(|| quote!(mut));
    let types = class.body.fields.iter().map(Field::ty);
    let locals = &class.body.locals;
    let (count, task) = perf_has(class);

    quote! {
        #hidden
        #[inline(always)]
        fn #write<#to: #root::Sink>(#target: #to, #args) {
            const __GAPS: bool = ::core::mem::size_of::<#record>()
                != ::core::mem::size_of::<::kernel::bindings::trace_entry>()
                    #( + ::core::mem::size_of::<#types>() )*;

            // Those that only probes and conditions use.
            let _ = (#names_of_args,);
            #(#locals)*

            // A `match` keeps what the sources borrow from.
            match (#(#sources,)*) {
                (#(#names,)*) => {
                    let #mutable #layout = #root::Layout::<#record>::new(
                        ::core::mem::offset_of!(#record, __data)
                    );
                    #(#spans)*
                    let mut #slot = #root::slot();
                    let Some(mut #entry) = #layout.reserve(#target, &mut #slot) else {
                        return;
                    };
                    if __GAPS {
                        #entry.clear();
                    }
                    #(#puts)*
                    #entry.commit(#count, #task);
                }
            }
        }
    }
}

/// Generates a function that the tracepoint calls as its probe.
pub(super) fn probe(class: &Class, c_args: &CArgs<'_>, prefix: &str, target: &str) -> TokenStream {
    let root = root();
    let hidden = hidden();
    let probe = name(prefix, &class.name);
    let write = name("write", &class.name);
    let target = Ident::new(target, Span::call_site());
    let (args, taken, passed) = (c_args.declared(), c_args.taken(), passed(&class.args));
    let site = Span::mixed_site();
    let (data, guard, to) = (
        Ident::new("data", site),
        Ident::new("guard", site),
        Ident::new("to", site),
    );
    let cfg = (prefix == "perf").then(|| quote!(#[cfg(CONFIG_PERF_EVENTS)]));
    let new = if prefix == "perf" && class.body.task.is_some() {
        quote!(for_task)
    } else {
        quote!(new)
    };

    quote! {
        #cfg
        #hidden
        unsafe extern "C" fn #probe(#data: *mut #root::c_void, #args) {
            let #guard = #root::ProbeGuard::new();

            // SAFETY: C registers this as the probe of the class, with what the type is about.
            if let Some(#to) = unsafe { #root::#target::#new(#data, &#guard) } {
                #taken
                #write(#to, #passed);
            }
        }
    }
}
