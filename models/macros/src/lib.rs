// SPDX-License-Identifier: GPL-2.0

//! Stand-ins for the attributes of the kernel's `macros` and `pin-init`.

use proc_macro::{
    Delimiter,
    Group,
    TokenStream,
    TokenTree, //
};

/// Removes `#[pin]` from the fields of a type.
#[proc_macro_attribute]
pub fn pin_data(_: TokenStream, item: TokenStream) -> TokenStream {
    without_pin(item)
}

/// Leaves a trait or an implementation as it is.
#[proc_macro_attribute]
pub fn vtable(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Derives nothing.
#[proc_macro_derive(Zeroable)]
pub fn zeroable(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

fn without_pin(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();

    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let is_pin = group.delimiter() == Delimiter::Bracket
                    && group.stream().to_string() == "pin"
                    && matches!(out.last(), Some(TokenTree::Punct(p)) if p.as_char() == '#');

                if is_pin {
                    out.pop();
                    continue;
                }
                let mut inner = Group::new(group.delimiter(), without_pin(group.stream()));

                inner.set_span(group.span());
                out.push(inner.into());
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}
