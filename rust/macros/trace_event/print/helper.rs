// SPDX-License-Identifier: GPL-2.0

//! Calls in a print format: names, arrays, times and the context.

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    ext::IdentExt,
    spanned::Spanned,
    Error,
    Expr,
    ExprLit,
    ExprPath,
    Ident,
    Lit,
    LitBool,
    LitStr,
    Result, //
};

use super::{
    super::{
        class::c_string,
        parse::{
            Dynamic,
            Field,
            Kind, //
        },
        root,
        root_at, //
    },
    c_number,
    format::Conversion,
    given,
    plain,
    quoted,
    quoted_plain,
    Code,
    Piece,
    Printer,
    Value, //
};

/// The pattern of a literal.
macro_rules! literal {
    ($kind:ident($name:ident)) => {
        Expr::Lit(ExprLit {
            lit: Lit::$kind($name),
            ..
        })
    };
}

impl<'a> Printer<'a> {
    /// Returns code for the bytes of a field that is an array or has a variable size, otherwise
    /// `None`.
    fn bytes(&self, field: &Field) -> Option<TokenStream> {
        let (line, offset) = (&self.line, self.offset(field));

        Some(match &field.kind {
            Kind::Array(ty, len) => {
                quote!(#line.array(#offset, ::core::mem::size_of::<[#ty; #len]>()))
            }
            Kind::Chars(len) => quote!(#line.array(#offset, #len)),
            Kind::Dynamic { relative, .. } => quote!(#line.data(#offset, #relative)),
            _ => return None,
        })
    }

    /// Returns the texts of an array's address and of its length, in `elements` or in bytes.
    fn array_text(&self, field: &Field, elements: bool) -> (Vec<Piece>, Vec<Piece>) {
        let name = field.name.unraw();

        match &field.kind {
            Kind::Dynamic { relative, what } => {
                let rel = if *relative { "rel_" } else { "" };
                let mut len = vec![plain(format!("__get_{rel}dynamic_array_len({name})"))];
                if elements {
                    len.push(plain(" / "));
                    len.push(self.element_size(what));
                }
                (
                    vec![plain(format!("__get_{rel}dynamic_array({name})"))],
                    len,
                )
            }
            Kind::Array(ty, len) => (
                vec![plain(format!("REC->{name}"))],
                vec![Piece::Num(if elements {
                    quote!((#len) as i128)
                } else {
                    quote!(::core::mem::size_of::<[#ty; #len]>() as i128)
                })],
            ),
            Kind::Chars(len) => (
                vec![plain(format!("REC->{name}"))],
                vec![Piece::Num(quote!((#len) as i128))],
            ),
            _ => (Vec::new(), Vec::new()),
        }
    }

    fn element_size(&self, what: &Dynamic) -> Piece {
        Piece::Num(match what {
            Dynamic::Array(ty) => quote!(::core::mem::size_of::<#ty>() as i128),
            Dynamic::Bitmask | Dynamic::Cpumask => quote!(::core::mem::size_of::<usize>() as i128),
            Dynamic::Str | Dynamic::Text => quote!(1),
        })
    }

    /// Returns the field that `expr` names, and its bytes, or an error if it is not an array.
    fn array_field(&self, expr: &Expr) -> Result<(&'a Field, TokenStream)> {
        let field = match expr {
            Expr::Path(path) => path.path.get_ident().and_then(|ident| self.field(ident)),
            _ => None,
        };

        field
            .and_then(|field| self.bytes(field).map(|bytes| (field, bytes)))
            .ok_or_else(|| {
                Error::new(
                    expr.span(),
                    "an array or a field of variable size is wanted",
                )
            })
    }

    /// Returns the text of the printed length of an array, and that part of its bytes: `count`
    /// elements of `size` bytes, or all.
    fn part(
        &self,
        count: Option<&&Expr>,
        all: Vec<Piece>,
        bytes: TokenStream,
        size: &TokenStream,
    ) -> Result<(Vec<Piece>, TokenStream)> {
        let Some(count) = count else {
            return Ok((all, bytes));
        };
        let root = root();
        let (value, code) = self.number(count)?;

        // CAST: A negative or too large number exceeds the array, of which all is printed.
        Ok((
            value.text,
            quote!(#root::part(#bytes, (#code) as usize, #size)),
        ))
    }

    /// Returns the text and the code of a field that is printed as a socket address.
    pub(super) fn socket_address(
        &self,
        expr: &Expr,
        conversion: &Conversion,
    ) -> Result<(Vec<Piece>, TokenStream)> {
        let at = expr.span();
        let root = root_at(at);
        let wrong = Error::new(at, format!("`{}` takes an array of bytes", conversion.text));
        let (field, bytes) = self.array_field(expr).map_err(|_| wrong.clone())?;
        let name = field.name.unraw();

        match &field.kind {
            Kind::Dynamic {
                what: Dynamic::Array(_),
                relative,
            } => {
                let rel = if *relative { "rel_" } else { "" };
                Ok((
                    vec![plain(format!("__get_{rel}sockaddr({name})"))],
                    quote!(#root::socket_address(#bytes)),
                ))
            }
            // One of IPv4 has to fit.
            Kind::Array(ty, len) => Ok((
                self.array_text(field, false).0,
                quote_spanned!(at=> {
                    const {
                        assert!(
                            ::core::mem::size_of::<[#ty; #len]>() >= 16,
                            "the array is too short for its conversion"
                        )
                    };
                    #root::socket_address(#bytes)
                }),
            )),
            _ => Err(wrong),
        }
    }

    /// Returns the names of a table that is a constant.
    fn table(&self, path: &ExprPath) -> (Vec<Piece>, TokenStream) {
        let at = path.span();
        let root = root_at(at);
        // The names begin with underscores, as the constant may have any other.
        let entries = quote_spanned! { at=>
            const __ENTRIES: [#root::NamedValue; (#path).len()] = {
                ::core::assert!(!(#path).is_empty(), "a table has one name at least");
                let mut entries = [#root::NamedValue::UNSET; (#path).len()];
                let mut i = 0;

                while i < entries.len() {
                    let (value, label) = (#path)[i];
                    let label = #root::Label(label).label();
                    ::core::assert!(
                        #root::NamedValue::is_plain(label),
                        "a name in a table has no control characters, `\"` and `\\`"
                    );
                    entries[i] = #root::NamedValue::new(value as i128, label);
                    i += 1;
                }
                entries
            };
        };
        let names = quote!({
            #entries
            static __LABELS: #root::Labels<{ #root::labels_size(&__ENTRIES) }> =
                #root::Labels::new(&__ENTRIES);
            static __NAMES: [#root::Name; __ENTRIES.len()] =
                #root::Name::table(&__ENTRIES, &__LABELS);
            &__NAMES
        });

        (vec![Piece::Names(quote!({ #entries &__ENTRIES }))], names)
    }

    /// Returns the names in `[(1, "a"), (2, "b")]`, or those of a table.
    fn names(&self, expr: &Expr) -> Result<(Vec<Piece>, TokenStream)> {
        let wrong = |at: Span| {
            Error::new(
                at,
                "a list like `[(1, \"one\"), (2, \"two\")]` \
                 or a constant array of such pairs is wanted",
            )
        };
        let root = root();
        if let Expr::Path(path) = expr {
            return match path.path.get_ident().and_then(|ident| self.field(ident)) {
                Some(_) => Err(wrong(expr.span())),
                None => Ok(self.table(path)),
            };
        }
        let Expr::Array(array) = expr else {
            return Err(wrong(expr.span()));
        };
        let (mut pieces, mut names) = (Vec::new(), Vec::new());

        for element in &array.elems {
            let Expr::Tuple(tuple) = element else {
                return Err(wrong(element.span()));
            };
            let mut parts = tuple.elems.iter();
            let (Some(value), Some(Expr::Lit(lit)), None) =
                (parts.next(), parts.next(), parts.next())
            else {
                return Err(wrong(element.span()));
            };
            let Lit::Str(label) = &lit.lit else {
                return Err(wrong(lit.span()));
            };
            let site = self.line_at(value.span()).span();
            let number = match value {
                Expr::Lit(lit) => match &lit.lit {
                    Lit::Int(int) => plain(c_number(&int.to_string(), int.suffix())),
                    _ => return Err(wrong(lit.span())),
                },
                value => Piece::Num(quote_spanned!(site=> (#value) as i128)),
            };
            pieces.push(plain(if pieces.is_empty() { "{ " } else { ", { " }));
            pieces.push(number);
            pieces.push(plain(", "));
            pieces.push(quoted_plain(label)?);
            pieces.push(plain(" }"));
            let label = c_string(&label.value(), label.span())?;
            let value = quote_spanned!(site=> (#value) as i128);
            names.push(quote!(#root::Name::new(#value, #label)));
        }
        if names.is_empty() {
            return Err(wrong(array.span()));
        }
        let count = names.len();
        let table = quote!({
            static __NAMES: [#root::Name; #count] = [#(#names),*];
            &__NAMES
        });
        Ok((pieces, table))
    }

    /// Returns the value of `flags(number, "|", names)`.
    fn flags(&self, value: &Expr, delimiter: &LitStr, names: &Expr) -> Result<Value> {
        let line = &self.line;
        let (value, code) = self.number(value)?;
        let (pieces, names) = self.names(names)?;
        let quoted = vec![quoted(delimiter)?];
        let delimiter = c_string(&delimiter.value(), delimiter.span())?;

        Ok(Value::string(
            call("__print_flags", [value.text, quoted, pieces]),
            quote!(#line.flags(#code, #delimiter, #names)),
        ))
    }

    /// Returns the value of `symbolic(number, names)`.
    fn symbolic(&self, value: &Expr, names: &Expr) -> Result<Value> {
        let line = &self.line;
        let (value, code) = self.number(value)?;
        let (pieces, names) = self.names(names)?;

        Ok(Value::string(
            call("__print_symbolic", [value.text, pieces]),
            quote!(#line.symbol(#code, #names)),
        ))
    }

    /// Returns the value of `hex(field)` or `hex(field, count)`, and of `hex_str`.
    fn hex(&self, kind: &str, field: &Expr, count: Option<&&Expr>) -> Result<Value> {
        let line = &self.line;
        let (field, bytes) = self.array_field(field)?;
        let (start, len) = self.array_text(field, false);
        let (len, bytes) = self.part(count, len, bytes, &quote!(1))?;
        let joined = kind == "hex_str";

        Ok(Value::string(
            call(&format!("__print_{kind}"), [start, len]),
            quote!(#line.hex(#bytes, #joined)),
        ))
    }

    /// Returns the value of `array(field)` or `array(field, count)`.
    fn array(&self, at: Span, field: &Expr, count: Option<&&Expr>) -> Result<Value> {
        let line = &self.line;
        let (field, bytes) = self.array_field(field)?;
        let (start, len) = self.array_text(field, true);
        let (piece, size) = match &field.kind {
            Kind::Array(ty, _)
            | Kind::Dynamic {
                what: Dynamic::Array(ty),
                ..
            } => (
                Piece::Num(quote!(::core::mem::size_of::<#ty>() as i128)),
                quote!(::core::mem::size_of::<#ty>()),
            ),
            Kind::Dynamic {
                what: what @ (Dynamic::Bitmask | Dynamic::Cpumask),
                ..
            } => (
                self.element_size(what),
                quote!(::core::mem::size_of::<usize>()),
            ),
            _ => return Err(Error::new(at, "an array of numbers is wanted")),
        };
        let (len, bytes) = self.part(count, len, bytes, &size)?;

        Ok(Value::string(
            call("__print_array", [start, len, vec![piece]]),
            quote!(#line.numbers(#bytes, #size)),
        ))
    }

    /// Returns the value of `hex_dump(field, prefix, kind, row, group, ascii)`.
    fn hex_dump(
        &self,
        field: &Expr,
        prefix: &LitStr,
        kind: &ExprPath,
        [row, group]: [&Expr; 2],
        ascii: &LitBool,
    ) -> Result<Value> {
        let line = &self.line;
        let (field, bytes) = self.array_field(field)?;
        let (start, len) = self.array_text(field, false);
        let (kind_text, kind) = match kind.path.get_ident().map(Ident::to_string).as_deref() {
            Some("none") => ("DUMP_PREFIX_NONE", 0u32),
            Some("address") => ("DUMP_PREFIX_ADDRESS", 1),
            Some("offset") => ("DUMP_PREFIX_OFFSET", 2),
            _ => return Err(Error::new(kind.span(), "`none`, `address` or `offset`")),
        };
        let (row_text, group_text) = (self.value(row)?.text, self.value(group)?.text);
        let quoted = vec![quoted(prefix)?];
        let prefix = c_string(&prefix.value(), prefix.span())?;
        let text = call(
            "__print_hex_dump",
            [
                quoted,
                vec![plain(kind_text)],
                row_text,
                group_text,
                start,
                len,
                vec![plain(ascii.value.to_string())],
            ],
        );

        Ok(Value::string(
            text,
            quote!(#line.hex_dump(#prefix, #kind, #row, #group, #bytes, #ascii)),
        ))
    }

    /// Returns the value of `as_c(text, value)`.
    fn as_c(&self, text: &LitStr, value: &Expr) -> Result<Value> {
        Ok(Value {
            text: vec![plain(given(text)?)],
            code: self.value(value)?.code,
            open: false,
            given: true,
        })
    }

    /// Returns the value of `size(field)`.
    fn size(&self, field: &Expr) -> Result<Value> {
        let (field, bytes) = self.array_field(field)?;

        // CAST: It is a part of a record.
        Ok(Value::number(
            self.array_text(field, false).1,
            quote!((#bytes.len() as u32)),
        ))
    }

    /// Returns the value of `ns_to_secs(number)` or `ns_without_secs(number)`.
    fn seconds(&self, at: Span, kind: &str, value: &Expr) -> Result<Value> {
        let (value, code) = self.number(value)?;
        let mut text = vec![plain("(")];
        text.extend(value.text);
        let root = root_at(at);
        let code = if kind == "ns_to_secs" {
            text.push(plain(") / 1000000000UL"));
            quote_spanned!(at=> #root::ns_to_secs(#code as u64))
        } else {
            text.push(plain(") % 1000000000UL"));
            quote_spanned!(at=> #root::ns_without_secs(#code as u64))
        };

        Ok(Value {
            text,
            code: Code::Number(code),
            open: true,
            given: false,
        })
    }

    /// Returns the value of `in_hardirq()`, `in_softirq()` or `in_irq()`.
    fn context(&self, kind: &str) -> Value {
        let line = &self.line;
        let (text, mask) = match kind {
            "in_hardirq" => ("0x8", 0x8u32),
            "in_softirq" => ("0x10", 0x10),
            _ => ("0x18", 0x18),
        };

        Value::number(
            vec![plain(format!("(REC->common_flags & {text})"))],
            quote!((#line.flags_of_header() & #mask)),
        )
    }

    /// Returns the value of a call of one of the helpers.
    pub(super) fn helper(&self, helper: &Ident, args: &[&Expr]) -> Result<Value> {
        let at = helper.span();

        match (helper.to_string().as_str(), args) {
            ("flags", [value, literal!(Str(delimiter)), names]) => {
                self.flags(value, delimiter, names)
            }
            ("symbolic", [value, names]) => self.symbolic(value, names),
            (kind @ ("hex" | "hex_str"), [field] | [field, _]) => {
                self.hex(kind, field, args.get(1))
            }
            ("array", [field] | [field, _]) => self.array(at, field, args.get(1)),
            (
                "hex_dump",
                [field, literal!(Str(prefix)), Expr::Path(kind), row, group, literal!(Bool(ascii))],
            ) => self.hex_dump(field, prefix, kind, [row, group], ascii),
            ("as_c", [literal!(Str(text)), value]) => self.as_c(text, value),
            ("size", [field]) => self.size(field),
            (kind @ ("ns_to_secs" | "ns_without_secs"), [value]) => self.seconds(at, kind, value),
            (kind @ ("in_hardirq" | "in_softirq" | "in_irq"), []) => Ok(self.context(kind)),
            (other, _) => Err(Error::new(at, wanted(other))),
        }
    }
}

/// Returns the text in C of a call of `function` with the arguments `parts`.
fn call(function: &str, parts: impl IntoIterator<Item = Vec<Piece>>) -> Vec<Piece> {
    let mut text = vec![plain(format!("{function}("))];

    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            text.push(plain(", "));
        }
        text.extend(part);
    }
    text.push(plain(")"));
    text
}

/// Returns the error text that shows the correct call of a helper.
fn wanted(helper: &str) -> String {
    match helper {
        "flags" => "this is `flags(number, \"|\", [(1, \"one\")])`".into(),
        "symbolic" => "this is `symbolic(number, [(1, \"one\")])`".into(),
        "hex" | "hex_str" | "array" => {
            format!("this is `{helper}(field)` or `{helper}(field, count)`")
        }
        "as_c" => "this is `as_c(\"text in C\", value)`".into(),
        "size" => "this is `size(field)`".into(),
        "ns_to_secs" | "ns_without_secs" => format!("this is `{helper}(number)`"),
        "in_hardirq" | "in_softirq" | "in_irq" => format!("this is `{helper}()`"),
        "hex_dump" => "this is `hex_dump(field, \"prefix\", none, 16, 1, false)`".into(),
        "len" => "`len` does not exist: `size(field)` is the size in bytes".into(),
        _ => "a print format can call `flags`, `symbolic`, `hex`, `hex_str`, `array`, \
              `hex_dump`, `size`, `ns_to_secs`, `ns_without_secs`, `in_hardirq`, \
              `in_softirq`, `in_irq` and `as_c`"
            .into(),
    }
}
