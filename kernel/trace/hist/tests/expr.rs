// SPDX-License-Identifier: GPL-2.0

//! Tests of expressions: operators, constants, names, modifiers, and what fields are called.

use kernel::prelude::*;

#[kunit_tests(hist_expr)]
mod tests {
    use super::*;
    use crate::{
        expr::{
            fold,
            function,
            negated,
            number::parse_u64,
            qualified,
            root,
            sign,
            variable,
            Modifier,
            Root, //
        },
        field::{
            Field,
            Flags,
            Func,
            Operator,
            Source, //
        },
        log::{
            ErrorKind,
            Fault, //
        },
        out::Out,
        text::{
            c_string,
            Piece, //
        },
        STACK_SIZE, //
    };
    use kernel::trace::event_file::FieldKind;

    /// Most operators that are evaluated here.
    const DEPTH: u32 = 8;

    fn piece(text: &str) -> Piece<'_> {
        Piece::new(text.as_bytes(), 0)
    }

    /// Evaluates an expression of constants.
    fn eval(text: Piece<'_>, depth: u32) -> Result<u64> {
        let depth = depth.checked_sub(1).ok_or(E2BIG)?;

        match root(text) {
            Root::Atom => parse_u64(text.bytes()),
            Root::Negation => {
                let inner = negated(text).map_err(|fault| fault.errno)?;
                fold(Operator::Minus, 0, eval(inner, depth)?)
            }
            Root::Binary {
                operator,
                left,
                right,
            } => fold(operator, eval(left, depth)?, eval(right, depth)?),
        }
    }

    #[test]
    fn values() {
        for (text, value) in [
            ("123", Ok(123)),
            ("16-8-4-2", Ok(2)),
            ("64/8/4/2", Ok(1)),
            ("16-8+4+2", Ok(14)),
            ("4*3/2*2", Ok(12)),
            ("4+3*2-2", Ok(8)),
            ("4+6/2-2", Ok(5)),
            ("2*3+4*5", Ok(26)),
            ("0x10+010", Ok(24)),
            ("1-2", Ok(u64::MAX)),
            ("-(1)", Ok(u64::MAX)),
            ("-(2+3)", Ok(5u64.wrapping_neg())),
            ("-(7)-1", Ok(8u64.wrapping_neg())),
            ("18446744073709551615+2", Ok(1)),
            // Quotients are rounded down.
            ("7/3", Ok(2)),
            ("1/3", Ok(0)),
            ("999999/1000000", Ok(0)),
            ("3/0", Err(EDOM)),
            ("-(1)+2", Err(EINVAL)),
            ("-1", Err(EINVAL)),
            ("1+", Err(EINVAL)),
            ("+", Err(EINVAL)),
            ("1*-(2)", Err(EINVAL)),
        ] {
            let found = eval(piece(text), DEPTH);

            if found != value {
                pr_err!("failed: [{text}]\n");
            }
            assert_eq!(found, value);
        }
    }

    #[test]
    fn roots() {
        for text in [
            "a",
            "$a",
            "a.hex",
            "call_site.sym-offset",
            "(a)",
            "",
            "s.e.$v",
        ] {
            assert!(matches!(root(piece(text)), Root::Atom));
        }
        for (text, left, right) in [
            ("a.sym-offset-b", "a.sym-offset", "b"),
            ("a-b.sym-offset", "a", "b.sym-offset"),
            ("a.sym-off", "a.sym", "off"),
            ("sym-offset", "sym", "offset"),
            ("a+b*c", "a", "b*c"),
            ("a*b+c", "a*b", "c"),
            ("a-", "a", ""),
            ("*a", "", "a"),
        ] {
            assert!(matches!(
                root(piece(text)),
                Root::Binary { left: l, right: r, .. }
                    if l.is(left.as_bytes()) && r.is(right.as_bytes()) && r.at() == left.len() + 1
            ));
        }
        for (text, operator) in [
            ("a+b", Operator::Plus),
            ("a-b", Operator::Minus),
            ("a*b", Operator::Mult),
            ("a/b", Operator::Div),
        ] {
            assert!(matches!(
                root(piece(text)),
                Root::Binary { operator: found, .. } if found == operator
            ));
            assert_eq!(text.as_bytes().get(1..2), Some(sign(operator)));
        }
    }

    #[test]
    fn negations() {
        assert!(negated(piece("-(a+b)")).is_ok_and(|inner| inner.is(b"a+b") && inner.at() == 2));
        assert!(negated(piece("-()")).is_ok_and(|inner| inner.is_empty()));
        let fault = Fault::new(ErrorKind::UnaryMinusSubexpr, piece("-(1)+2").from(2));
        assert!(negated(piece("-(1)+2")).is_err_and(|found| found == fault));
        for text in ["-a", "-(a", "-a)", "-"] {
            assert!(negated(piece(text)).is_err_and(|found| found == Fault::from(EINVAL)));
        }
    }

    #[test]
    fn numbers() {
        for (text, value) in [
            ("0", Ok(0)),
            ("+7", Ok(7)),
            ("10\n", Ok(10)),
            ("0x1F", Ok(31)),
            ("0X1f", Ok(31)),
            ("017", Ok(15)),
            ("18446744073709551615", Ok(u64::MAX)),
            ("0xffffffffffffffff", Ok(u64::MAX)),
            ("18446744073709551616", Err(ERANGE)),
            ("0x10000000000000000", Err(ERANGE)),
            ("99999999999999999999x", Err(ERANGE)),
            ("", Err(EINVAL)),
            ("+", Err(EINVAL)),
            ("++1", Err(EINVAL)),
            ("-1", Err(EINVAL)),
            ("08", Err(EINVAL)),
            ("0x", Err(EINVAL)),
            ("0b1", Err(EINVAL)),
            ("1 ", Err(EINVAL)),
            ("1\n\n", Err(EINVAL)),
            ("1a", Err(EINVAL)),
        ] {
            let found = parse_u64(text.as_bytes());

            if found != value {
                pr_err!("failed: [{text}]\n");
            }
            assert_eq!(found, value);
        }
    }

    #[test]
    fn division_functions() {
        for (divisor, func) in [
            (None, Func::Div),
            (Some(1), Func::DivPower2),
            (Some(1 << 40), Func::DivPower2),
            (Some(3), Func::DivMultShift),
            (Some((1 << 20) - 1), Func::DivMultShift),
            (Some((1 << 20) + 1), Func::DivNotPower2),
        ] {
            assert_eq!(function(Operator::Div, divisor), func);
        }
        assert_eq!(function(Operator::Mult, None), Func::Mult);
    }

    #[test]
    fn names() {
        let whole = qualified(piece("sched.sched_waking.$ts0"));
        assert!(whole.name.is(b"$ts0") && whole.name.at() == 19);
        assert!(whole
            .event
            .is_some_and(|(s, e)| s.is(b"sched") && e.is(b"sched_waking")));
        // Everything behind the second dot is the name.
        assert!(qualified(piece("a.b.c.d")).name.is(b"c.d"));
        for text in ["a", "$a", "a.hex", ""] {
            let whole = qualified(piece(text));
            assert!(whole.event.is_none() && whole.name.is(text.as_bytes()));
        }

        assert!(variable(piece("$a")).is_some_and(|name| name.is(b"a") && name.at() == 1));
        assert!(variable(piece("$")).is_none());
        assert!(variable(piece("a$")).is_none());
    }

    #[test]
    fn modifiers() {
        let parse = |name, text, role| Modifier::parse(piece(name), piece(text), role);
        let plain = |flags| Ok(Modifier { flags, buckets: 0 });
        let buckets = |buckets| {
            Ok(Modifier {
                flags: Flags::BUCKET,
                buckets,
            })
        };
        let wrong = |text, from| {
            let text = piece(text).from(from);
            Err(Fault::new(ErrorKind::BadFieldModifier, text))
        };

        assert_eq!(parse("a", "hex", Flags::KEY), plain(Flags::HEX));
        assert_eq!(parse("a", "sym", Flags::KEY), plain(Flags::SYM));
        assert_eq!(
            parse("a", "sym-offset", Flags::KEY),
            plain(Flags::SYM_OFFSET)
        );
        assert_eq!(
            parse("common_pid", "execname", Flags::KEY),
            plain(Flags::EXECNAME)
        );
        assert_eq!(parse("pid", "execname", Flags::KEY), wrong("execname", 0));
        assert_eq!(parse("a", "percent", Flags::NONE), plain(Flags::PERCENT));
        assert_eq!(parse("a", "percent", Flags::KEY), wrong("percent", 0));
        assert_eq!(parse("a", "graph", Flags::VAR), wrong("graph", 0));
        assert_eq!(parse("a", "graphs", Flags::NONE), wrong("graphs", 0));
        assert_eq!(parse("a", "symXoffset", Flags::KEY), wrong("symXoffset", 0));
        assert_eq!(parse("a", "", Flags::KEY), wrong("", 0));
        assert_eq!(parse("a", "hex.sym", Flags::KEY), wrong("hex.sym", 0));

        assert_eq!(parse("a", "buckets=10", Flags::KEY), buckets(10));
        assert_eq!(parse("a", "bucket=0x10", Flags::KEY), buckets(16));
        assert_eq!(parse("a", "buckets", Flags::KEY), wrong("buckets", 7));
        assert_eq!(parse("a", "bucketsx=1", Flags::KEY), wrong("bucketsx=1", 7));
        assert_eq!(parse("a", "buckets=0", Flags::KEY), wrong("buckets=0", 8));
        assert_eq!(parse("a", "bucket=", Flags::KEY), wrong("bucket=", 7));
    }

    fn source(kind: FieldKind, size: u32, signed: bool) -> Result<Source> {
        Ok(Source {
            name: c_string(b"field")?,
            ty: c_string(b"type")?,
            offset: 8,
            size,
            signed,
            kind,
            string: matches!(
                kind,
                FieldKind::StaticString
                    | FieldKind::DynString
                    | FieldKind::RelDynString
                    | FieldKind::PtrString
                    | FieldKind::Comm
            ),
        })
    }

    #[test]
    fn recorded_fields() -> Result {
        for (kind, size, signed, func, bytes) in [
            (FieldKind::Number, 1, true, Func::S8, 1),
            (FieldKind::Number, 2, false, Func::U16, 2),
            (FieldKind::Number, 4, true, Func::S32, 4),
            (FieldKind::Number, 8, false, Func::U64, 8),
            (FieldKind::PtrString, 8, false, Func::U64, 8),
            (FieldKind::StaticString, 16, true, Func::String, 16),
            (FieldKind::DynString, 4, true, Func::DynString, 256),
            (FieldKind::RelDynString, 4, true, Func::RelDynString, 256),
            (FieldKind::Stacktrace, 4, false, Func::Stack, 256),
        ] {
            let field = Field::new(Some(source(kind, size, signed)?), Flags::KEY)?;
            let text = field.flags.any(Flags::STRING | Flags::STACKTRACE);

            assert_eq!((field.func, field.size), (func, bytes));
            assert_eq!(field.ty.to_bytes(), b"type");
            assert_eq!(field.signed, signed && !text);
            assert!(field.flags.any(Flags::KEY));
        }
        for (kind, size) in [
            (FieldKind::Number, 3),
            (FieldKind::Number, 16),
            (FieldKind::Function, 8),
        ] {
            let field = Field::new(Some(source(kind, size, false)?), Flags::KEY);
            assert!(field.is_err_and(|e| e == ENOMEM));
        }
        Ok(())
    }

    #[test]
    fn fields_of_the_moment() -> Result {
        for (flags, func, ty, size, label) in [
            (Flags::HITCOUNT, Func::Counter, "u64", 8, "hitcount"),
            (
                Flags::TIMESTAMP,
                Func::Timestamp,
                "u64",
                8,
                "common_timestamp",
            ),
            (Flags::CPU, Func::Cpu, "unsigned int", 4, "common_cpu"),
            (
                Flags::COMM | Flags::STRING,
                Func::Comm,
                "char[]",
                256,
                "common_comm",
            ),
            (
                Flags::STACKTRACE,
                Func::Nop,
                "unsigned long[]",
                STACK_SIZE as u32,
                "common_stacktrace",
            ),
        ] {
            let field = Field::new(None, flags)?;

            assert_eq!((field.func, field.size), (func, size));
            assert_eq!(field.ty.to_bytes(), ty.as_bytes());
            assert!(!field.signed && field.is_called(label.as_bytes()));
        }
        Ok(())
    }

    /// Whether an expression would have the field like this.
    fn reads(field: &Field, text: &[u8]) -> bool {
        let mut out = Out::new();

        field.put_text(&mut out);
        out.bytes() == Ok(text)
    }

    #[test]
    fn texts() -> Result {
        let number = || source(FieldKind::Number, 4, true);
        let mut field = Field::new(Some(number()?), Flags::KEY | Flags::BUCKET)?;

        field.buckets = 10;
        assert_eq!(field.func, Func::Bucket);
        assert!(field.signed && !field.has_vars());
        assert!(field.is_called(b"field") && reads(&field, b"field.buckets=10"));

        let field = Field::new(Some(number()?), Flags::KEY | Flags::LOG2)?;
        assert_eq!(field.func, Func::Log2);
        assert!(!field.signed && reads(&field, b"field.log2"));

        let field = Field::new(None, Flags::HITCOUNT | Flags::LOG2)?;
        assert_eq!(field.func, Func::Log2);
        assert!(reads(&field, b"hitcount.log2"));

        let field = Field::new(None, Flags::TIMESTAMP | Flags::TIMESTAMP_USECS)?;
        assert!(reads(&field, b"common_timestamp.usecs"));

        let field = Field::new(Some(number()?), Flags::SYM_OFFSET)?;
        assert!(reads(&field, b"field.sym-offset"));

        let field = Field::constant(42, Flags::NONE)?;
        assert!(field.is_called(b"") && reads(&field, b"42"));

        // Of stacks the text says only what has been written.
        let stack = || source(FieldKind::Stacktrace, 4, false);
        assert!(reads(
            &Field::new(None, Flags::STACKTRACE)?,
            b"common_stacktrace"
        ));
        assert!(reads(
            &Field::new(Some(stack()?), Flags::STACKTRACE)?,
            b"field.stacktrace"
        ));
        assert!(reads(&Field::new(Some(stack()?), Flags::KEY)?, b"field"));
        Ok(())
    }

    #[test]
    fn expression_texts() -> Result {
        let field = Field::new(None, Flags::TIMESTAMP | Flags::TIMESTAMP_USECS)?;
        let mut expr = Field::expression(
            Operator::Minus,
            Func::Minus,
            Flags::TIMESTAMP_USECS,
            &field.facts(),
        )?;

        expr.name = Some(c_string(b"common_timestamp.usecs-$ts0")?);
        // The unit is that of the operands and not said again.
        assert!(reads(&expr, b"common_timestamp.usecs-$ts0"));
        assert!(expr.is_called(b"common_timestamp.usecs-$ts0"));
        assert_eq!(expr.ty.to_bytes(), b"u64");
        Ok(())
    }

    #[test]
    fn variables() -> Result {
        let pid = source(FieldKind::Number, 4, true)?;
        let mut field = Field::new(Some(pid), Flags::VAR | Flags::EXECNAME)?;

        field.make_execname()?;
        assert_eq!((field.func, field.size), (Func::ExecName, 256));
        assert!(field.flags.any(Flags::STRING) && !field.signed && field.has_vars());

        let field = Field::variable(c_string(b"__max")?, 3, c"u64", 8)?;
        assert!(field.var.is_some_and(|var| var.idx == 3));
        assert_eq!((field.func, field.size), (Func::Nop, 8));
        Ok(())
    }
}
