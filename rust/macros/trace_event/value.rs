// SPDX-License-Identifier: GPL-2.0

//! `#[derive(TraceValue)]`: types of a driver as arguments of tracepoints and as fields.

use proc_macro2::TokenStream;
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    parenthesized,
    spanned::Spanned,
    token,
    Data,
    DataEnum,
    DataStruct,
    DeriveInput,
    Error,
    Fields,
    Ident,
    Result,
    Type, //
};

use super::root;

/// The type that a record has for a value, and the expression that converts it.
struct Stored {
    ty: TokenStream,
    expr: TokenStream,
}

/// Returns the integer type in `#[repr(..)]`, or an error if the type has none.
fn repr(input: &DeriveInput) -> Result<Ident> {
    const INTEGERS: [&str; 10] = [
        "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize",
    ];
    let mut found = None;

    for attr in &input.attrs {
        if attr.path().is_ident("repr") {
            attr.parse_nested_meta(|meta| {
                if let Some(ident) = meta.path.get_ident() {
                    if INTEGERS.iter().any(|name| ident == name) {
                        found = Some(ident.clone());
                    }
                }
                // The size of `align(..)`.
                if meta.input.peek(token::Paren) {
                    let inside;
                    parenthesized!(inside in meta.input);
                    inside.parse::<TokenStream>()?;
                }
                Ok(())
            })?;
        }
    }
    found.ok_or_else(|| {
        Error::new(
            input.ident.span(),
            "the enumeration needs `#[repr(..)]` with an integer of at most 64 bits",
        )
    })
}

fn enumeration(input: &DeriveInput, data: &DataEnum) -> Result<Stored> {
    let repr = repr(input)?;

    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(
                variant.fields.span(),
                "only variants without fields are numbers",
            ));
        }
    }
    Ok(Stored {
        expr: quote!(self as #repr),
        ty: quote!(#repr),
    })
}

fn structure(input: &DeriveInput, data: &DataStruct) -> Result<Stored> {
    let mut fields = data.fields.iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return Err(Error::new(
            input.ident.span(),
            "only a structure with one field is one value",
        ));
    };
    let ty: &Type = &field.ty;
    let expr = match &field.ident {
        Some(name) => quote!(self.#name),
        None => quote!(self.0),
    };

    Ok(Stored {
        ty: quote!(#ty),
        expr,
    })
}

/// Expands `#[derive(TraceValue)]`.
pub(crate) fn trace_value(input: DeriveInput) -> Result<TokenStream> {
    let root = root();
    let name = &input.ident;

    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "a type with parameters cannot be derived",
        ));
    }
    let Stored { ty, expr } = match &input.data {
        Data::Enum(data) => enumeration(&input, data)?,
        Data::Struct(data) => structure(&input, data)?,
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span(),
                "an enumeration or a structure is wanted",
            ))
        }
    };
    let scalar = quote_spanned!(name.span()=> <#ty as #root::Scalar>);

    Ok(quote! {
        #[cfg(CONFIG_EVENT_TRACING)]
        impl #root::Argument for #name {
            #[inline(always)]
            fn to_word(self) -> u64 {
                #root::Argument::to_word(#expr)
            }
        }

        #[cfg(CONFIG_EVENT_TRACING)]
        // SAFETY: `Bits` and the name are those of another type, and no arrays exist.
        unsafe impl #root::Scalar for #name {
            type Bits = #scalar::Bits;
            type Shown = #scalar::Shown;
            const NAME: &'static str = #scalar::NAME;
            const SIGNED: bool = #scalar::SIGNED;
            const IN_ARRAYS: bool = false;

            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                #root::Scalar::to_bits(#expr)
            }

            #[inline(always)]
            fn shown(bits: Self::Bits) -> Self::Shown {
                #scalar::shown(bits)
            }
        }
    })
}
