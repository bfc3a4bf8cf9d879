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
    spanned::Spanned,
    token,
    Attribute,
    Error,
    Expr,
    Ident,
    LitStr,
    Local,
    Result,
    Stmt,
    Token,
    Type,
    Visibility, //
};

mod options;

pub(super) use self::options::Options;

use self::options::{
    twice,
    words, //
};

mod kw {
    syn::custom_keyword!(system);
    syn::custom_keyword!(class);
    syn::custom_keyword!(event);
    syn::custom_keyword!(tracepoint);
    syn::custom_keyword!(faultable);
    syn::custom_keyword!(export);
    syn::custom_keyword!(custom);
    syn::custom_keyword!(fields);
    syn::custom_keyword!(print);
    syn::custom_keyword!(attach);
    syn::custom_keyword!(detach);
    syn::custom_keyword!(cap_any);
    syn::custom_keyword!(permission);
    syn::custom_keyword!(count);
    syn::custom_keyword!(task);
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
    /// Span of the keyword for a pointer to `const` in C, if given.
    pub(super) constant: Option<Span>,
    pub(super) ty: Type,
}

/// Fields and print format, with the arguments that the fields are computed from.
pub(super) struct Class {
    /// None if it is that of a single event, which has them.
    pub(super) attrs: Vec<Attribute>,
    pub(super) name: Ident,
    pub(super) args: Vec<Arg>,
    pub(super) body: Body,
}

/// The contents of the braces of a class.
pub(super) struct Body {
    /// The count of a record for perf, if it is not 1.
    pub(super) count: Option<Expr>,
    /// The task whose perf events get the record, beside those of the current one.
    pub(super) task: Option<Expr>,
    /// Values that several fields use.
    pub(super) locals: Vec<Local>,
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
    pub(super) options: Options,
}

pub(super) struct Field {
    pub(super) name: Ident,
    pub(super) kind: Kind,
    /// The type for C, if it is not that of the Rust type.
    pub(super) ty: Option<LitStr>,
    pub(super) filter: Option<Ident>,
    /// `true` if the value is an iterator of elements.
    pub(super) each: bool,
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

/// BPF has functions for as many.
pub(super) const MAX_ARGS: usize = 12;

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
    if args.len() > MAX_ARGS {
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
        let constant: Option<Token![const]> = input.parse()?;
        Ok(Self {
            name,
            constant: constant.map(|token| token.span),
            ty: input.parse()?,
        })
    }
}

/// Parses the attributes of a declaration, which must be allowed in front of every generated item.
fn attributes(input: ParseStream<'_>) -> Result<Vec<Attribute>> {
    let attrs = input.call(Attribute::parse_outer)?;

    for attr in &attrs {
        let known = ["doc", "cfg", "allow", "warn", "deny"];
        if !known.iter().any(|name| attr.path().is_ident(name)) {
            return Err(Error::new(
                attr.span(),
                "only doc comments, `cfg` and lint attributes are allowed here",
            ));
        }
    }
    Ok(attrs)
}

/// Returns `true` if this is a valid name of a system: as a directory, and in the commands of
/// tracefs.
fn is_system(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse::<kw::system>()?;
        input.parse::<Token![:]>()?;
        let system: LitStr = input.parse()?;
        input.parse::<Token![;]>()?;
        if !is_system(&system.value()) {
            return Err(Error::new(
                system.span(),
                "the name of a system has letters, digits, `_` and `-`, and does not begin \
                 with a digit or `-`",
            ));
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
        let attrs = attributes(input)?;
        let vis: Visibility = input.parse()?;
        let options = words(input)?;
        let look = input.lookahead1();

        if look.peek(kw::class) {
            options.none_for(input, "a class")?;
            class(input, attrs, &vis).map(Self::Class)
        } else if look.peek(kw::tracepoint) {
            tracepoint(input, attrs, vis, options).map(Self::Tracepoint)
        } else if look.peek(kw::event) {
            event(input, attrs, vis, options).map(Self::Event)
        } else {
            Err(look.error())
        }
    }
}

fn class(input: ParseStream<'_>, attrs: Vec<Attribute>, vis: &Visibility) -> Result<Class> {
    let class = input.parse::<kw::class>()?;
    if let Visibility::Public(_) | Visibility::Restricted(_) = vis {
        return Err(Error::new(
            class.span,
            "a class is for this macro call only",
        ));
    }

    Ok(Class {
        attrs,
        name: input.parse()?,
        args: args(input)?,
        body: body(input, None)?,
    })
}

fn tracepoint(
    input: ParseStream<'_>,
    attrs: Vec<Attribute>,
    vis: Visibility,
    mut options: Options,
) -> Result<Tracepoint> {
    let at = input.parse::<kw::tracepoint>()?.span;
    if options.custom {
        return Err(Error::new(at, "only an event can be `custom`"));
    }
    let name = input.parse()?;
    let args = args(input)?;

    if input.peek(token::Brace) {
        let inside;
        braced!(inside in input);
        options.lines(&inside)?;
        if !inside.is_empty() {
            return Err(inside.error("a tracepoint without event only has options"));
        }
        if options.cap_any || options.permission.is_some() {
            return Err(Error::new(
                at,
                "perf cannot open a tracepoint without event",
            ));
        }
    } else {
        input.parse::<Token![;]>()?;
    }

    Ok(Tracepoint {
        attrs,
        vis,
        name,
        args,
        options,
    })
}

fn event(
    input: ParseStream<'_>,
    attrs: Vec<Attribute>,
    vis: Visibility,
    mut options: Options,
) -> Result<Event> {
    input.parse::<kw::event>()?;
    let name: Ident = input.parse()?;
    let (own, of, print) = if input.peek(Token![:]) {
        input.parse::<Token![:]>()?;
        let of = input.parse()?;

        (None, of, of_class(input, &mut options)?)
    } else {
        let own = Class {
            attrs: Vec::new(),
            name: name.clone(),
            args: args(input)?,
            body: body(input, Some(&mut options))?,
        };

        (Some(own), name.clone(), None)
    };
    options.check(name.span())?;

    Ok(Event {
        attrs,
        vis,
        name,
        own,
        of,
        options,
        print,
    })
}

/// Parses the options and the print format that an event of a class has of its own.
fn of_class(input: ParseStream<'_>, options: &mut Options) -> Result<Option<Print>> {
    if input.peek(Token![;]) {
        input.parse::<Token![;]>()?;
        return Ok(None);
    }
    let inside;
    braced!(inside in input);
    options.lines(&inside)?;
    let print = if inside.is_empty() {
        None
    } else {
        Some(inside.parse()?)
    };
    end(&inside)?;
    Ok(print)
}

/// Checks that the declaration ends here.
fn end(input: ParseStream<'_>) -> Result<()> {
    if input.is_empty() {
        Ok(())
    } else {
        Err(input.error("unexpected token after the print format"))
    }
}

fn body(input: ParseStream<'_>, options: Option<&mut Options>) -> Result<Body> {
    let inside;
    braced!(inside in input);

    if let Some(options) = options {
        options.lines(&inside)?;
    }
    let (mut count, mut task, mut locals) = (None, None, Vec::new());
    loop {
        if inside.peek(Token![let]) {
            match inside.parse()? {
                Stmt::Local(local) => locals.push(local),
                other => return Err(Error::new(other.span(), "only a `let` can be here")),
            }
        } else if inside.peek(kw::count) {
            value(&inside, inside.parse::<kw::count>()?.span, &mut count)?;
        } else if inside.peek(kw::task) {
            value(&inside, inside.parse::<kw::task>()?.span, &mut task)?;
        } else {
            break;
        }
    }
    let at = inside.parse::<kw::fields>()?.span;
    let list;
    braced!(list in inside);
    let fields = Punctuated::<Field, Token![,]>::parse_terminated(&list)?;
    if fields.is_empty() {
        return Err(Error::new(at, "an event has one field at least"));
    }
    for (i, field) in fields.iter().enumerate() {
        if fields.iter().take(i).any(|other| other.name == field.name) {
            return Err(Error::new(field.name.span(), "two fields have this name"));
        }
    }
    let print = inside.parse()?;
    end(&inside)?;
    Ok(Body {
        count,
        task,
        locals,
        fields: fields.into_iter().collect(),
        print,
    })
}

/// Parses the expression that follows a word.
fn value(input: ParseStream<'_>, at: Span, value: &mut Option<Expr>) -> Result<()> {
    twice(at, value.is_some())?;
    input.parse::<Token![:]>()?;
    *value = Some(input.parse()?);
    input.parse::<Token![;]>()?;
    Ok(())
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
        let each = input.peek(Token![in]);
        if each {
            let at = input.parse::<Token![in]>()?.span;
            let is_list = matches!(
                kind,
                Kind::Dynamic {
                    what: Dynamic::Array(_),
                    ..
                }
            );
            if !is_list {
                return Err(Error::new(
                    at,
                    "only a list like `[u32]` is filled by an iterator: `=` is wanted",
                ));
            }
        } else {
            input.parse::<Token![=]>()?;
        }
        Ok(Self {
            name,
            kind,
            ty,
            filter,
            each,
            value: input.parse()?,
        })
    }
}

/// Returns `true` if the next token is `word` as a type by itself.
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
                return Err(inside.error("unexpected token after the length"));
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
