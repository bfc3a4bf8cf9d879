// SPDX-License-Identifier: GPL-2.0

//! The class of events: the record, its fields, and the probes that write it.

mod write;

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    format_ident,
    quote,
    quote_spanned, //
};
use std::ffi::CString;
use syn::{
    spanned::Spanned,
    Error,
    Ident,
    LitCStr,
    LitStr,
    Result, //
};

use self::write::{
    probe,
    write, //
};
use super::{
    c_args::CArgs,
    hidden,
    name,
    parse::{
        Arg,
        Class,
        Dynamic,
        Field,
        Kind, //
    },
    print::{
        self,
        Piece, //
    },
    root, //
};

/// Returns `text` as a literal of a C string, or an error if it contains a NUL.
pub(super) fn c_string(text: &str, span: Span) -> Result<LitCStr> {
    let text = CString::new(text).map_err(|_| Error::new(span, "this contains a NUL"))?;

    Ok(LitCStr::new(&text, span))
}

/// Returns the arguments as parameters in the declaration of a function.
pub(super) fn declared(args: &[Arg]) -> TokenStream {
    let args = args.iter().map(|Arg { name, ty, .. }| quote!(#name: #ty));

    quote!(#(#args),*)
}

/// Returns the arguments as they are passed in the call of a function.
pub(super) fn passed(args: &[Arg]) -> TokenStream {
    let args = args.iter().map(|Arg { name, .. }| name);

    quote!(#(#args),*)
}

/// Returns the name of a structure in C, which is that in Rust, or an error if `ty` is not a plain
/// path.
fn structure(ty: &syn::Type) -> Result<String> {
    match ty {
        syn::Type::Path(path) => match path.path.segments.last() {
            Some(last) if last.arguments.is_empty() && path.qself.is_none() => {
                Some(syn::ext::IdentExt::unraw(&last.ident).to_string())
            }
            _ => None,
        },
        _ => None,
    }
    .ok_or_else(|| Error::new(ty.span(), "write the type as in C: `as \"struct name\"`"))
}

/// Returns the integer type of Rust that has the size and sign of the C type `text`, if that is
/// known.
fn integer(text: &str) -> Option<&'static str> {
    let words: Vec<_> = text.split_whitespace().collect();

    Some(match words.join(" ").as_str() {
        "u8" | "__u8" | "uint8_t" | "char" | "unsigned char" => "u8",
        "s8" | "__s8" | "int8_t" | "signed char" => "i8",
        "u16" | "__u16" | "uint16_t" | "__le16" | "__be16" | "umode_t" | "unsigned short"
        | "unsigned short int" => "u16",
        "s16" | "__s16" | "int16_t" | "short" | "short int" => "i16",
        "u32" | "__u32" | "uint32_t" | "__le32" | "__be32" | "unsigned" | "unsigned int"
        | "dev_t" | "gfp_t" | "uid_t" | "gid_t" => "u32",
        "s32" | "__s32" | "int32_t" | "int" | "signed int" | "pid_t" => "i32",
        "u64" | "__u64" | "uint64_t" | "__le64" | "__be64" | "unsigned long long" => "u64",
        "s64" | "__s64" | "int64_t" | "long long" | "loff_t" | "ktime_t" | "time64_t" => "i64",
        "unsigned long" | "unsigned long int" | "size_t" | "uintptr_t" => "usize",
        "long" | "long int" | "ssize_t" => "isize",
        "bool" => "bool",
        _ => return None,
    })
}

impl Field {
    /// Returns the name of the record's member for this field.
    pub(super) fn member(&self) -> Ident {
        let name = syn::ext::IdentExt::unraw(&self.name);

        match self.kind {
            Kind::Dynamic { relative: true, .. } => {
                format_ident!("__rel_loc_{}", name, span = self.name.span())
            }
            Kind::Dynamic { .. } => format_ident!("__data_loc_{}", name, span = self.name.span()),
            _ => self.name.clone(),
        }
    }

    /// Returns the type of the record's member for this field.
    fn ty(&self) -> TokenStream {
        let root = root();

        match &self.kind {
            Kind::Value(ty) => quote_spanned!(ty.span()=> <#ty as #root::Scalar>::Bits),
            Kind::Struct(ty) => quote!(#ty),
            Kind::Array(ty, len) => quote!([#ty; #len]),
            Kind::Chars(len) => quote!([u8; #len]),
            Kind::Dynamic { .. } => quote!(u32),
        }
    }

    /// Checks that C can read the field as its declared type.
    ///
    /// Filters and histograms read a field as the words in its type say. So a type that is given,
    /// or the name of a structure, must not have those of another kind of field.
    fn check_type(&self) -> Result<()> {
        let (text, span) = match (&self.ty, &self.kind) {
            (Some(ty), _) => (ty.value(), ty.span()),
            (None, Kind::Struct(ty)) => (structure(ty)?, ty.span()),
            (None, _) => return Ok(()),
        };
        let wrong = |message: &str| Err(Error::new(span, message));
        let is_string = matches!(
            self.kind,
            Kind::Chars(_)
                | Kind::Dynamic {
                    what: Dynamic::Str | Dynamic::Text,
                    ..
                }
        );
        let is_cpumask = matches!(
            self.kind,
            Kind::Dynamic {
                what: Dynamic::Cpumask,
                ..
            }
        );
        let is_plain = matches!(self.kind, Kind::Value(_) | Kind::Struct(_));

        if text.trim().is_empty()
            || !text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '*'))
        {
            return wrong("a type of C has letters, digits, `_`, `*` and spaces");
        }
        if text.contains("__data_loc") || text.contains("__rel_loc") {
            return wrong("only a field of variable size says where it is");
        }
        if text.contains("cpumask_t") && !is_cpumask {
            return wrong("only a `cpumask` field is a `cpumask_t`");
        }
        if text.contains("char") && !is_string && !is_plain {
            return wrong("an array of `char` is a string: use `[char; N]` or `str`");
        }
        if text.contains('*') && !matches!(self.kind, Kind::Value(_)) {
            return wrong("only a field with a single value is a pointer");
        }
        Ok(())
    }

    /// Generates the comparison of the field's type with the C type that it declares, if that is a
    /// known integer.
    fn compare_type(&self) -> TokenStream {
        let Some(text) = &self.ty else {
            return TokenStream::new();
        };
        let Some(known) = integer(&text.value()) else {
            return TokenStream::new();
        };
        let root = root();
        let known = Ident::new(known, text.span());
        let (size, signed) = match &self.kind {
            Kind::Value(ty)
            | Kind::Array(ty, _)
            | Kind::Dynamic {
                what: Dynamic::Array(ty),
                ..
            } => (
                quote!(::core::mem::size_of::<<#ty as #root::Scalar>::Bits>()),
                quote!(<#ty as #root::Scalar>::SIGNED),
            ),
            Kind::Struct(ty) => (quote!(::core::mem::size_of::<#ty>()), quote!(false)),
            _ => return TokenStream::new(),
        };

        quote_spanned! { text.span()=>
            const _: () = {
                ::core::assert!(
                    #size == ::core::mem::size_of::<#known>(),
                    "what has this name in C has another size"
                );
                ::core::assert!(
                    #signed == <#known as #root::Scalar>::SIGNED,
                    "what has this name in C is signed and this is not, or the other way round"
                );
            };
        }
    }

    /// Returns the filter type of the field, for filters and histograms.
    fn filter(&self) -> Result<TokenStream> {
        let Some(ident) = &self.filter else {
            return Ok(quote!(Auto));
        };
        let variant = match ident.to_string().as_str() {
            "ptr_string" => "PtrString",
            "function" => "Function",
            "cpu" => "Cpu",
            _ => {
                return Err(Error::new(
                    ident.span(),
                    "expected `ptr_string`, `function` or `cpu`",
                ))
            }
        };
        if !matches!(self.kind, Kind::Value(_)) {
            return Err(Error::new(
                ident.span(),
                "only a field with a single value has another filter",
            ));
        }
        let variant = Ident::new(variant, ident.span());
        Ok(quote!(#variant))
    }

    /// Returns `true` if C reads the field as a pointer.
    fn is_pointer(&self) -> bool {
        let filter = self.filter.as_ref().map(Ident::to_string);

        matches!(filter.as_deref(), Some("ptr_string" | "function"))
            || self.ty.as_ref().is_some_and(|ty| ty.value().contains('*'))
    }

    /// Checks the size of one that C reads as a pointer.
    fn pointer_check(&self, ty: &syn::Type) -> Option<TokenStream> {
        let root = root();
        // The token that turns it into a pointer.
        let at = match (&self.ty, &self.filter) {
            (Some(text), _) if text.value().contains('*') => text.span(),
            (_, Some(filter)) => filter.span(),
            _ => self.name.span(),
        };

        self.is_pointer().then(|| {
            quote_spanned! { at=>
                const _: () = ::core::assert!(
                    ::core::mem::size_of::<<#ty as #root::Scalar>::Bits>()
                        == ::core::mem::size_of::<usize>(),
                    "a field that is a pointer in C has the size of one"
                );
            }
        })
    }

    /// Returns the declared name of the field's type in C, or `text` if none is declared.
    fn plain(&self, text: &str) -> Piece {
        Piece::Text(match &self.ty {
            Some(text) => text.value(),
            None => text.into(),
        })
    }

    /// Returns the declared name of the field's type in C, or that of `ty` if none is declared.
    fn named(&self, ty: &syn::Type) -> Piece {
        let root = root();

        match &self.ty {
            Some(text) => Piece::Text(text.value()),
            None => Piece::Str(quote_spanned!(ty.span()=> <#ty as #root::Scalar>::NAME)),
        }
    }

    /// Returns the C type of a field of variable size, and an expression that is `true` if its
    /// elements are signed.
    fn span_type(&self, what: &Dynamic, relative: bool) -> (Vec<Piece>, TokenStream) {
        let prefix = if relative {
            "__rel_loc "
        } else {
            "__data_loc "
        };
        let mut signed = quote!(false);
        let element = match what {
            Dynamic::Array(ty) => {
                signed = element_signed(ty);
                self.named(ty)
            }
            Dynamic::Str | Dynamic::Text => self.plain("char"),
            Dynamic::Bitmask => self.plain("unsigned long"),
            Dynamic::Cpumask => self.plain("cpumask_t"),
        };
        let mut pieces = vec![Piece::Text(prefix.into()), element];

        if !matches!(what, Dynamic::Cpumask) {
            pieces.push(Piece::Text("[]".into()));
        }
        (pieces, signed)
    }

    /// Generates the `trace_event_fields` of the field.
    fn description(&self) -> Result<TokenStream> {
        let root = root();
        let span = self.name.span();
        let name = c_string(&syn::ext::IdentExt::unraw(&self.name).to_string(), span)?;
        self.check_type()?;
        let compare = self.compare_type();
        let filter = self.filter()?;
        let filter = quote!(#root::FilterType::#filter);

        let (pieces, make) = match &self.kind {
            Kind::Value(ty) => {
                let check = self.pointer_check(ty);
                (
                    vec![self.named(ty)],
                    quote_spanned!(ty.span()=> {
                        #check
                        #root::FieldSpec::value::<#ty>(__TYPE.as_char_ptr(), #name, #filter)
                    }),
                )
            }
            Kind::Struct(ty) => (
                vec![match &self.ty {
                    Some(text) => Piece::Text(text.value()),
                    None => Piece::Text(format!("struct {}", structure(ty)?)),
                }],
                quote_spanned!(ty.span()=>
                    #root::FieldSpec::structure::<#ty>(__TYPE.as_char_ptr(), #name, #filter)),
            ),
            Kind::Array(ty, len) => {
                let signed = element_signed(ty);
                (
                    vec![
                        self.named(ty),
                        Piece::Text("[".into()),
                        Piece::Num(quote!((#len) as i128)),
                        Piece::Text("]".into()),
                    ],
                    quote_spanned!(ty.span()=> #root::FieldSpec::array::<#ty, { #len }>(
                        __TYPE.as_char_ptr(), #name, #signed, #filter)),
                )
            }
            Kind::Chars(len) => (
                vec![
                    self.plain("char"),
                    Piece::Text("[".into()),
                    Piece::Num(quote!((#len) as i128)),
                    Piece::Text("]".into()),
                ],
                quote!(#root::FieldSpec::array::<u8, { #len }>(
                    __TYPE.as_char_ptr(), #name, false, #filter)),
            ),
            Kind::Dynamic { what, relative } => {
                let (pieces, signed) = self.span_type(what, *relative);
                (
                    pieces,
                    quote!(#root::FieldSpec::span(__TYPE.as_char_ptr(), #name, #signed, #filter)),
                )
            }
        };
        let text = print::text(&pieces);

        Ok(quote!({
            static __TYPE: #text;
            #compare
            #make
        }))
    }
}

/// Generates an expression for the signedness of array elements, with a check that `ty` is allowed
/// in arrays.
fn element_signed(ty: &syn::Type) -> TokenStream {
    let root = root();

    quote_spanned! { ty.span()=> {
        // It is a constant for each type.
        #[allow(clippy::assertions_on_constants)]
        const _: () = ::core::assert!(
            <#ty as #root::Scalar>::IN_ARRAYS,
            "an array has integers, `bool` or pointers"
        );
        <#ty as #root::Scalar>::SIGNED
    }}
}

/// Generates the parts of a class other than its object. `of_c` is set if C has tracepoints of the
/// class.
pub(super) fn class(class: &Class, of_c: bool) -> Result<TokenStream> {
    let c_args = CArgs::new(&class.args, of_c)?;
    let root = root();
    let hidden = hidden();
    let record = name("record", &class.name);
    let fields = name("fields", &class.name);
    let members = class.body.fields.iter().map(|field| {
        let (name, ty) = (field.member(), field.ty());
        quote!(#name: #ty)
    });
    let descriptions = class
        .body
        .fields
        .iter()
        .map(Field::description)
        .collect::<Result<Vec<_>>>()?;
    let count = descriptions.len() + 1;
    let write = write(class);
    let file_probe = probe(class, &c_args, "probe", "FileSink");
    let perf_probe = probe(class, &c_args, "perf", "PerfSink");
    let print = print::output(&class.name, class, &class.body.print)?;

    Ok(quote! {
        #hidden
        #[repr(C)]
        #[allow(dead_code)]
        struct #record {
            __header: ::kernel::bindings::trace_entry,
            #(#members,)*
            __data: [u8; 0],
        }

        #hidden
        static #fields: [#root::FieldSpec; #count] = [
            #(#descriptions,)*
            #root::FieldSpec::end(),
        ];

        #write
        #file_probe
        #perf_probe
        #print
    })
}

/// Returns the name of the object of a class. Events on foreign tracepoints have an object of their
/// own.
pub(super) fn object_name(class: &Class, custom: bool) -> Ident {
    let prefix = if custom {
        "custom_class"
    } else {
        "event_class"
    };

    name(prefix, &class.name)
}

/// Generates the object by which C identifies a class.
pub(super) fn object(class: &Class, system: &LitStr, custom: bool) -> Result<TokenStream> {
    let root = root();
    let hidden = hidden();
    let object = object_name(class, custom);
    let fields = name("fields", &class.name);
    let (file, perf) = (name("probe", &class.name), name("perf", &class.name));
    let system = c_string(&system.value(), system.span())?;

    Ok(quote! {
        #hidden
        static #object: #root::Class = {
            #[cfg(CONFIG_PERF_EVENTS)]
            const PERF: *const () = #perf as *const ();
            #[cfg(not(CONFIG_PERF_EVENTS))]
            const PERF: *const () = ::core::ptr::null();

            // SAFETY: This is the address of the static, and the probes are those of the class.
            unsafe {
                #root::Class::new(
                    &raw const #object,
                    #system,
                    &#fields,
                    #file as *const (),
                    PERF,
                    #custom,
                )
            }
        };
    })
}
