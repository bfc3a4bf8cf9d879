// SPDX-License-Identifier: GPL-2.0

//! The grammar of trace events.

use proc_macro2::Span;
use syn::{
    braced,
    bracketed,
    parenthesized,
    parse::{
        Parse,
        ParseStream, //
    },
    punctuated::Punctuated,
    token,
    Attribute,
    Error,
    Expr,
    Ident,
    LitStr,
    Path,
    Result,
    Token,
    Type,
    Visibility, //
};

mod kw {
    syn::custom_keyword!(system);
    syn::custom_keyword!(class);
    syn::custom_keyword!(event);
    syn::custom_keyword!(tracepoint);
    syn::custom_keyword!(fields);
    syn::custom_keyword!(print);
    syn::custom_keyword!(attach);
    syn::custom_keyword!(detach);
    syn::custom_keyword!(filter);
    syn::custom_keyword!(rel);
    syn::custom_keyword!(bitmask);
    syn::custom_keyword!(cpumask);
    syn::custom_keyword!(text);
}

/// All that one macro call declares.
pub(crate) struct Input {
    pub(super) system: LitStr,
    pub(super) items: Vec<Item>,
}

pub(super) enum Item {
    Class(Class),
    Event(Event),
    Tracepoint(Tracepoint),
}

/// An argument of a tracepoint.
pub(super) struct Arg {
    pub(super) name: Ident,
    pub(super) ty: Type,
}

/// Fields and print format, with the arguments that the fields are made of.
pub(super) struct Class {
    pub(super) name: Ident,
    pub(super) args: Vec<Arg>,
    pub(super) fields: Vec<Field>,
    pub(super) print: Print,
}

/// An event, with a class of its own or one that it shares.
pub(super) struct Event {
    pub(super) attrs: Vec<Attribute>,
    pub(super) vis: Visibility,
    pub(super) name: Ident,
    pub(super) own: Option<Class>,
    pub(super) of: Ident,
    pub(super) options: Options,
    pub(super) print: Option<Print>,
}

/// A tracepoint without event.
pub(super) struct Tracepoint {
    pub(super) attrs: Vec<Attribute>,
    pub(super) vis: Visibility,
    pub(super) name: Ident,
    pub(super) args: Vec<Arg>,
}

#[derive(Default)]
pub(super) struct Options {
    pub(super) condition: Option<Expr>,
    pub(super) attach: Option<Path>,
    pub(super) detach: Option<Path>,
}

pub(super) struct Field {
    pub(super) name: Ident,
    pub(super) kind: Kind,
    /// The type for C, if it is not that of the Rust type.
    pub(super) ty: Option<LitStr>,
    pub(super) filter: Option<Ident>,
    pub(super) value: Expr,
}

pub(super) enum Kind {
    Value(Type),
    Struct(Type),
    Array(Type, Expr),
    Chars(Expr),
    Dynamic { what: Dynamic, relative: bool },
}

pub(super) enum Dynamic {
    Array(Type),
    Str,
    Text,
    Bitmask,
    Cpumask,
}

pub(super) struct Print {
    pub(super) format: LitStr,
    pub(super) args: Vec<Expr>,
}

fn args(input: ParseStream<'_>) -> Result<Vec<Arg>> {
    let inside;
    let paren = parenthesized!(inside in input);
    let args = Punctuated::<Arg, Token![,]>::parse_terminated(&inside)?;

    if args.is_empty() {
        return Err(Error::new(
            paren.span.join(),
            "a tracepoint has one argument at least",
        ));
    }
    if args.len() > 12 {
        return Err(Error::new(
            paren.span.join(),
            "a tracepoint has twelve arguments at most",
        ));
    }
    Ok(args.into_iter().collect())
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self {
            name,
            ty: input.parse()?,
        })
    }
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse::<kw::system>()?;
        input.parse::<Token![:]>()?;
        let system: LitStr = input.parse()?;
        input.parse::<Token![;]>()?;
        if system.value().is_empty() || system.value().contains(['/', '\0', ':']) {
            return Err(Error::new(system.span(), "this is not a name for a system"));
        }

        let mut items = Vec::new();
        while !input.is_empty() {
            items.push(input.parse()?);
        }
        Ok(Self { system, items })
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let look = input.lookahead1();

        if look.peek(kw::class) {
            let class = input.parse::<kw::class>()?;
            if let Visibility::Public(_) | Visibility::Restricted(_) = vis {
                return Err(Error::new(
                    class.span,
                    "a class is for this macro call only",
                ));
            }
            let name = input.parse()?;
            let args = args(input)?;
            let (_, fields, print) = body(input, false)?;
            return Ok(Self::Class(Class {
                name,
                args,
                fields,
                print,
            }));
        }
        if look.peek(kw::tracepoint) {
            input.parse::<kw::tracepoint>()?;
            let name = input.parse()?;
            let args = args(input)?;
            input.parse::<Token![;]>()?;
            return Ok(Self::Tracepoint(Tracepoint {
                attrs,
                vis,
                name,
                args,
            }));
        }
        if !look.peek(kw::event) {
            return Err(look.error());
        }
        input.parse::<kw::event>()?;
        let name: Ident = input.parse()?;

        if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            let of = input.parse()?;
            let (options, print) = if input.peek(Token![;]) {
                input.parse::<Token![;]>()?;
                (Options::default(), None)
            } else {
                let inside;
                braced!(inside in input);
                let options = options(&inside)?;
                let print = if inside.is_empty() {
                    None
                } else {
                    Some(inside.parse()?)
                };
                end(&inside)?;
                (options, print)
            };
            return Ok(Self::Event(Event {
                attrs,
                vis,
                name,
                own: None,
                of,
                options,
                print,
            }));
        }

        let args = args(input)?;
        let (options, fields, print) = body(input, true)?;
        Ok(Self::Event(Event {
            attrs,
            vis,
            own: Some(Class {
                name: name.clone(),
                args,
                fields,
                print,
            }),
            of: name.clone(),
            name,
            options,
            print: None,
        }))
    }
}

/// Nothing more.
fn end(input: ParseStream<'_>) -> Result<()> {
    if input.is_empty() {
        Ok(())
    } else {
        Err(input.error("nothing is expected behind the print format"))
    }
}

fn options(input: ParseStream<'_>) -> Result<Options> {
    let mut options = Options::default();

    loop {
        if input.peek(Token![if]) {
            let at = input.parse::<Token![if]>()?.span;
            twice(at, options.condition.is_some())?;
            options.condition = Some(input.parse()?);
        } else if input.peek(kw::attach) {
            let at = input.parse::<kw::attach>()?.span;
            twice(at, options.attach.is_some())?;
            input.parse::<Token![:]>()?;
            options.attach = Some(input.parse()?);
        } else if input.peek(kw::detach) {
            let at = input.parse::<kw::detach>()?.span;
            twice(at, options.detach.is_some())?;
            input.parse::<Token![:]>()?;
            options.detach = Some(input.parse()?);
        } else {
            return Ok(options);
        }
        input.parse::<Token![;]>()?;
    }
}

fn twice(at: Span, there: bool) -> Result<()> {
    if there {
        Err(Error::new(at, "this is there already"))
    } else {
        Ok(())
    }
}

fn body(input: ParseStream<'_>, with_options: bool) -> Result<(Options, Vec<Field>, Print)> {
    let inside;
    braced!(inside in input);

    let options = if with_options {
        options(&inside)?
    } else {
        Options::default()
    };
    let at = inside.parse::<kw::fields>()?.span;
    let list;
    braced!(list in inside);
    let fields = Punctuated::<Field, Token![,]>::parse_terminated(&list)?;
    if fields.is_empty() {
        return Err(Error::new(at, "an event has one field at least"));
    }
    for (i, field) in fields.iter().enumerate() {
        if fields.iter().take(i).any(|other| other.name == field.name) {
            return Err(Error::new(
                field.name.span(),
                "there is such a field already",
            ));
        }
    }
    let print = inside.parse()?;
    end(&inside)?;
    Ok((options, fields.into_iter().collect(), print))
}

impl Parse for Field {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut filter = None;

        if input.peek(Token![#]) {
            input.parse::<Token![#]>()?;
            let attr;
            bracketed!(attr in input);
            attr.parse::<kw::filter>()?;
            let inside;
            parenthesized!(inside in attr);
            filter = Some(inside.parse()?);
        }
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let kind = input.parse()?;
        let ty = if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        input.parse::<Token![=]>()?;
        Ok(Self {
            name,
            kind,
            ty,
            filter,
            value: input.parse()?,
        })
    }
}

/// A word that is a type by itself.
fn word(input: ParseStream<'_>, word: &str) -> bool {
    let fork = input.fork();

    matches!(fork.parse::<Ident>(), Ok(ident) if ident == word)
        && !fork.peek(Token![::])
        && !fork.peek(Token![<])
}

impl Parse for Kind {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let relative = input.peek(kw::rel);
        if relative {
            input.parse::<kw::rel>()?;
        }
        for (text, what) in [
            ("str", Dynamic::Str),
            ("text", Dynamic::Text),
            ("bitmask", Dynamic::Bitmask),
            ("cpumask", Dynamic::Cpumask),
        ] {
            if word(input, text) {
                input.parse::<Ident>()?;
                return Ok(Self::Dynamic { what, relative });
            }
        }
        if input.peek(token::Bracket) {
            let inside;
            bracketed!(inside in input);
            let element: Type = inside.parse()?;
            if inside.is_empty() {
                return Ok(Self::Dynamic {
                    what: Dynamic::Array(element),
                    relative,
                });
            }
            inside.parse::<Token![;]>()?;
            let len = inside.parse()?;
            if !inside.is_empty() {
                return Err(inside.error("nothing is expected behind the length"));
            }
            if relative {
                return Err(input.error("only what is of variable size can be `rel`"));
            }
            return Ok(match &element {
                Type::Path(path) if path.path.is_ident("char") => Self::Chars(len),
                _ => Self::Array(element, len),
            });
        }
        if relative {
            return Err(input.error("only what is of variable size can be `rel`"));
        }
        if input.peek(Token![struct]) {
            input.parse::<Token![struct]>()?;
            return Ok(Self::Struct(input.parse()?));
        }
        Ok(Self::Value(input.parse()?))
    }
}

impl Parse for Print {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse::<kw::print>()?;
        let inside;
        parenthesized!(inside in input);
        let format = inside.parse()?;
        let mut args = Vec::new();
        while !inside.is_empty() {
            inside.parse::<Token![,]>()?;
            if !inside.is_empty() {
                args.push(inside.parse()?);
            }
        }
        if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
        }
        Ok(Self { format, args })
    }
}

/// Tracepoints that are defined elsewhere.
pub(crate) struct Foreign {
    pub(super) tracepoints: Vec<Tracepoint>,
}

impl Parse for Foreign {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut tracepoints = Vec::new();

        while !input.is_empty() {
            let attrs = input.call(Attribute::parse_outer)?;
            let vis = input.parse()?;
            input.parse::<Token![unsafe]>()?;
            input.parse::<kw::tracepoint>()?;
            let name = input.parse()?;
            let args = args(input)?;
            input.parse::<Token![;]>()?;
            tracepoints.push(Tracepoint {
                attrs,
                vis,
                name,
                args,
            });
        }
        Ok(Self { tracepoints })
    }
}
