// SPDX-License-Identifier: GPL-2.0

//! The print format of events, and the code that prints them.
//!
//! Both are generated from the same expressions: [`Printer`] turns each into its text for tools and
//! its code.

mod helper;
mod literal;
mod operator;

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
    ext::IdentExt,
    spanned::Spanned,
    Error,
    Expr,
    Ident,
    Lit,
    Result, //
};

use self::literal::{
    c_number,
    given,
    quoted,
    quoted_plain, //
};
use super::{
    class::c_string,
    format::{
        self,
        Takes, //
    },
    hidden,
    name,
    parse::{
        Class,
        Dynamic,
        Field,
        Kind,
        Print, //
    },
    root,
    root_at, //
};

/// `test_event_printk()` has a bit for each argument but the last one of 64.
const MAX_ARGUMENTS: usize = 63;

/// A part of a text that the compiler concatenates.
#[derive(Clone)]
pub(super) enum Piece {
    Text(String),
    /// A constant string.
    Str(TokenStream),
    /// A constant number, of type `i128`.
    Num(TokenStream),
    /// The entries of a table.
    Names(TokenStream),
}

/// Generates a static of a text without its name, that is, its type and value.
pub(super) fn text(pieces: &[Piece]) -> TokenStream {
    let root = root();
    let pieces = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => quote!(#root::Piece::Text(#text)),
        Piece::Str(text) => quote!(#root::Piece::Text(#text)),
        Piece::Num(value) => quote!(#root::Piece::Num(#value)),
        Piece::Names(entries) => quote!(#root::Piece::Names(#entries)),
    });
    let pieces = quote!(&[#(#pieces),*]);

    quote!(#root::Text<{ #root::text_size(#pieces) }> = #root::Text::new(#pieces))
}

/// An expression in generated code.
enum Code {
    Number(TokenStream),
    /// A `bool`: a field, or the result of a comparison.
    Truth(TokenStream),
    /// A pointer to a string.
    Str(TokenStream),
    /// An array of so many bytes, as a slice.
    Bytes(TokenStream, TokenStream),
}

/// An expression.
struct Value {
    text: Vec<Piece>,
    code: Code,
    /// `true` if the text needs parentheses inside of another expression.
    open: bool,
    /// The text was given, and stays as it is.
    given: bool,
}

fn plain(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

impl Value {
    fn number(text: Vec<Piece>, code: TokenStream) -> Self {
        Self {
            text,
            code: Code::Number(code),
            open: false,
            given: false,
        }
    }

    fn string(text: Vec<Piece>, code: TokenStream) -> Self {
        Self {
            text,
            code: Code::Str(code),
            open: false,
            given: false,
        }
    }

    /// Returns the text as an operand of another expression, in parentheses if it needs them.
    fn inner(&self) -> Vec<Piece> {
        if self.open {
            let mut text = vec![plain("(")];
            text.extend(self.text.iter().cloned());
            text.push(plain(")"));
            text
        } else {
            self.text.clone()
        }
    }
}

/// Generates the arguments of a print format.
struct Printer<'a> {
    class: &'a Class,
    line: Ident,
}

impl<'a> Printer<'a> {
    fn field(&self, ident: &Ident) -> Option<&'a Field> {
        self.class
            .body
            .fields
            .iter()
            .find(|field| field.name == *ident)
    }

    /// Returns the identifier of the line, with errors in its code reported at `at`.
    fn line_at(&self, at: Span) -> Ident {
        Ident::new(&self.line.to_string(), self.line.span().located_at(at))
    }

    fn offset(&self, field: &Field) -> TokenStream {
        let (record, member) = (name("record", &self.class.name), field.member());

        quote!(::core::mem::offset_of!(#record, #member))
    }

    /// Returns the value of a field that is named without a helper.
    fn plain_field(&self, field: &Field, at: Span) -> Result<Value> {
        let line = &self.line_at(at);
        let offset = self.offset(field);
        let name = field.name.unraw();
        let record = format!("REC->{name}");

        Ok(match &field.kind {
            Kind::Value(ty) => {
                // Of one origin, so that errors are about the whole of it.
                let code = quote_spanned!(line.span()=> #line.get::<#ty>(#offset));
                let is_bool = matches!(ty, syn::Type::Path(path) if path.path.is_ident("bool"));

                Value {
                    text: vec![plain(record)],
                    code: if is_bool {
                        Code::Truth(code)
                    } else {
                        Code::Number(code)
                    },
                    open: false,
                    given: false,
                }
            }
            Kind::Struct(_) => {
                return Err(Error::new(at, "a structure cannot be printed"));
            }
            Kind::Chars(len) => Value::string(
                vec![plain(record)],
                quote!(#line.string(#line.array(#offset, #len))),
            ),
            Kind::Array(ty, len) => Value {
                text: vec![plain(record)],
                code: Code::Bytes(
                    quote!(#line.array(#offset, ::core::mem::size_of::<[#ty; #len]>())),
                    quote!(::core::mem::size_of::<[#ty; #len]>()),
                ),
                open: false,
                given: false,
            },
            Kind::Dynamic { what, relative } => {
                let rel = if *relative { "rel_" } else { "" };
                let data = quote!(#line.data(#offset, #relative));
                let (get, code) = match what {
                    Dynamic::Str | Dynamic::Text => ("str", quote!(#line.text(#offset, #relative))),
                    Dynamic::Bitmask => ("bitmask", quote!(#line.bits(#data))),
                    Dynamic::Cpumask => ("cpumask", quote!(#line.bits(#data))),
                    Dynamic::Array(_) => {
                        return Err(Error::new(
                            at,
                            "print this by `array`, `hex`, `hex_str` or `hex_dump`",
                        ))
                    }
                };
                Value::string(vec![plain(format!("__get_{rel}{get}({name})"))], code)
            }
        })
    }

    /// Returns the value of `expr` as a number; a comparison is 0 or 1.
    fn number(&self, expr: &Expr) -> Result<(Value, TokenStream)> {
        let value = self.value(expr)?;
        let code = match &value.code {
            Code::Number(code) => code.clone(),
            Code::Truth(code) => quote!(u32::from(#code)),
            _ => return Err(Error::new(expr.span(), "a number is wanted")),
        };

        Ok((value, code))
    }

    fn value(&self, expr: &Expr) -> Result<Value> {
        let root = root();
        let at = expr.span();

        Ok(match expr {
            Expr::Path(path) => match path.path.get_ident().and_then(|ident| self.field(ident)) {
                Some(field) => self.plain_field(field, at)?,
                None => {
                    // Errors are about the path, not about all of the macro call.
                    let site = self.line_at(at).span();

                    Value::number(
                        vec![Piece::Num(quote_spanned!(site=> (#path) as i128))],
                        quote_spanned!(at=> (#path)),
                    )
                }
            },
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => Value::number(
                    vec![plain(c_number(&int.to_string(), int.suffix()))],
                    quote!(#int),
                ),
                Lit::Str(text) => {
                    let literal = c_string(&text.value(), at)?;
                    Value::string(vec![quoted_plain(text)?], quote!(#root::c_str(#literal)))
                }
                _ => return Err(Error::new(at, "a number or a string is wanted")),
            },
            Expr::Paren(paren) => {
                let value = self.value(&paren.expr)?;
                Value {
                    text: {
                        let mut text = vec![plain("(")];
                        text.extend(value.text);
                        text.push(plain(")"));
                        text
                    },
                    code: value.code,
                    open: false,
                    given: false,
                }
            }
            Expr::Group(group) => self.value(&group.expr)?,
            Expr::Unary(unary) => self.unary(unary)?,
            Expr::Cast(cast) => self.cast(cast)?,
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::If(branch) => self.choice(branch)?,
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path.path.get_ident().is_some() => {
                    let helper = path.path.require_ident()?;
                    self.helper(helper, &call.args.iter().collect::<Vec<_>>())?
                }
                _ => return Err(Error::new(at, "only helpers can be called here")),
            },
            _ => return Err(Error::new(at, "a print format cannot have this")),
        })
    }

    /// Returns the text and the code of an argument, converted to the type that its conversion
    /// takes.
    fn argument(
        &self,
        expr: &Expr,
        conversion: &format::Conversion,
    ) -> Result<(Vec<Piece>, TokenStream)> {
        if conversion.takes == Takes::SocketAddress {
            return self.socket_address(expr, conversion);
        }
        let at = expr.span();
        // Of the same origin as the value, so that errors are about that.
        let site = self.line_at(at).span();
        let root = root_at(site);
        let value = self.value(expr)?;
        let mismatch = |what: &str| {
            Err(Error::new(
                at,
                format!("`{}` takes {what}", conversion.text),
            ))
        };
        let function = match conversion.takes {
            Takes::Int => "int",
            Takes::Long => "long",
            Takes::LongLong => "long_long",
            Takes::Address => "address",
            Takes::Str | Takes::Bytes(_) | Takes::SocketAddress => "",
        };
        let function = Ident::new(if function.is_empty() { "int" } else { function }, site);

        let code = match (conversion.takes, value.code) {
            (Takes::Int, Code::Truth(code)) => quote!(u32::from(#code)),
            (Takes::Address, Code::Number(code)) => {
                let mut text = vec![plain("(void *)")];
                text.extend(if value.open {
                    let mut text = vec![plain("(")];
                    text.extend(value.text);
                    text.push(plain(")"));
                    text
                } else {
                    value.text
                });
                if value.given {
                    text.remove(0);
                }
                return Ok((text, quote_spanned!(site=> #root::address(#code))));
            }
            (Takes::Int | Takes::Long | Takes::LongLong, Code::Number(code)) => {
                quote_spanned!(site=> #root::#function(#code))
            }
            (Takes::Str, Code::Str(code)) => code,
            (Takes::Str, Code::Number(code)) if matches!(expr, Expr::Path(_)) => {
                quote_spanned!(site=> #root::listed(#code))
            }
            (Takes::Bytes(want), Code::Bytes(code, len)) => quote_spanned!(at=> {
                const { assert!(#len >= #want, "the array is too short for its conversion") };
                (#code).as_ptr()
            }),
            (Takes::Int | Takes::Long | Takes::LongLong, _) => return mismatch("a number"),
            (Takes::Address, _) => return mismatch("an address"),
            (Takes::Str, _) => return mismatch("a string"),
            (Takes::Bytes(n), _) => return mismatch(&format!("an array of {n} bytes")),
            (Takes::SocketAddress, _) => return mismatch("an array of bytes"),
        };
        Ok((value.text, code))
    }
}

/// Returns `true` if C recognizes the text of a choice as a string of the record: by a call, or by
/// quotation marks. Otherwise `test_event_printk()` checks no more than the first field.
fn is_clearly_string(text: &[Piece]) -> bool {
    text.iter().any(|piece| match piece {
        Piece::Text(text) => {
            text.contains('"')
                || text.as_bytes().windows(2).any(|pair| {
                    pair[1] == b'(' && (pair[0].is_ascii_alphanumeric() || pair[0] == b'_')
                })
        }
        _ => false,
    })
}

/// Returns the print format, and the code of its arguments.
fn arguments(printer: &Printer<'_>, print: &Print) -> Result<(Vec<Piece>, Vec<TokenStream>)> {
    let conversions = format::conversions(&print.format)?;

    if conversions.len() != print.args.len() {
        return Err(Error::new(
            print.format.span(),
            format!(
                "this has {} conversions for {} values",
                conversions.len(),
                print.args.len()
            ),
        ));
    }
    let mut pieces = vec![quoted(&print.format)?, plain(", ")];
    let mut args = Vec::new();
    for (i, (expr, conversion)) in print.args.iter().zip(&conversions).enumerate() {
        let (text, code) = printer.argument(expr, conversion)?;
        if i > 0 {
            pieces.push(plain(", "));
        }
        pieces.extend(text);
        args.push(code);
    }
    if print.args.len() > MAX_ARGUMENTS {
        return Err(Error::new(
            print.format.span(),
            format!("at most {MAX_ARGUMENTS} values can be printed"),
        ));
    }
    Ok((pieces, args))
}

/// Generates the print format, the function that prints, and the object that refers to both.
pub(super) fn output(of: &Ident, class: &Class, print: &Print) -> Result<TokenStream> {
    let root = root();
    let hidden = hidden();
    let record = name("record", &class.name);
    let (format, output, functions) = (
        name("print_fmt", of),
        name("output", of),
        name("functions", of),
    );
    let site = Span::mixed_site();
    let printer = Printer {
        class,
        line: Ident::new("line", site),
    };
    let line = &printer.line;
    let (pieces, args) = arguments(&printer, print)?;
    let values: Vec<_> = (0..args.len())
        .map(|i| format_ident!("value_{}", i, span = site))
        .collect();
    let text = text(&pieces);
    let literal = c_string(&format!("{}\n", print.format.value()), print.format.span())?;

    Ok(quote! {
        #hidden
        static #format: #text;

        #hidden
        unsafe extern "C" fn #output(
            iter: *mut ::kernel::bindings::trace_iterator,
            _flags: #root::c_int,
            event: *mut ::kernel::bindings::trace_event,
        ) -> ::kernel::bindings::print_line_t {
            // What the declaration has is evaluated in a function that is not unsafe. Its casts are
            // also in C's print format, where they are needed.
            #[allow(clippy::unnecessary_cast)]
            #[inline(always)]
            fn __print(
                #line: &mut #root::PrintLine<'_, { ::core::mem::offset_of!(#record, __data) }>,
            ) {
                let iter = #line.as_raw();
                #(let #values = #args;)*

                // SAFETY: The iterator is that of the line. Each argument is of the type that its
                // conversion takes, and strings, arrays and socket addresses are in the record or
                // static, with all that the conversion looks at.
                unsafe {
                    ::kernel::bindings::trace_event_printf(
                        iter,
                        #root::c_str(#literal)
                        #(, #values)*
                    )
                };
            }

            // SAFETY: C calls this with a record of the event.
            let line = unsafe {
                #root::PrintLine::<{ ::core::mem::offset_of!(#record, __data) }>::new(iter, event)
            };
            let mut #line = match line {
                Ok(line) => line,
                Err(result) => return result,
            };
            __print(&mut #line);
            #line.finish()
        }

        #hidden
        static #functions: #root::Functions = #root::Functions::new(Some(#output));
    })
}
