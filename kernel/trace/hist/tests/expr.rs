// SPDX-License-Identifier: GPL-2.0

//! Tests of expressions: operators, constants, names, modifiers, and what fields are called.

use kernel::prelude::*;

#[kunit_tests(hist_expr)]
mod tests {
    use super::*;
    use crate::{
        command::{
            expr::{
                fold,
                is_statistic,
                negated,
                parse_u64,
                qualified,
                root,
                sign,
                variable,
                Modifier,
                Operator,
                Role,
                Root, //
            },
            ErrorKind,
            ParseError,
            Span, //
        },
        limits::STACK_SIZE,
        spec::field::{
            Expr,
            Field,
            HitProperty,
            Origin,
            Source,
            Type, //
        },
        text_buf::{
            c_string,
            TextBuf, //
        },
    };
    use kernel::trace::event_file::FieldKind as RecordKind;

    /// Most operators that are evaluated here.
    const DEPTH: u32 = 8;

    fn span(text: &str) -> Span<'_> {
        Span::new(text.as_bytes(), 0)
    }

    /// Evaluates an expression of constants.
    fn eval(text: Span<'_>, depth: u32) -> Result<u64> {
        let depth = depth.checked_sub(1).ok_or(E2BIG)?;

        match root(text) {
            Root::Atom => parse_u64(text.bytes()),
            Root::Negation => {
                let inner = negated(text).map_err(|error| error.errno)?;
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
            let found = eval(span(text), DEPTH);

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
            assert!(matches!(root(span(text)), Root::Atom));
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
                root(span(text)),
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
                root(span(text)),
                Root::Binary { operator: found, .. } if found == operator
            ));
            assert_eq!(text.as_bytes().get(1..2), Some(sign(operator)));
        }
    }

    #[test]
    fn negations() {
        assert!(negated(span("-(a+b)")).is_ok_and(|inner| inner.is(b"a+b") && inner.at() == 2));
        assert!(negated(span("-()")).is_ok_and(|inner| inner.is_empty()));
        let error = ParseError::new(ErrorKind::UnaryMinusSubexpr, span("-(1)+2").from(2));
        assert!(negated(span("-(1)+2")).is_err_and(|found| found == error));
        for text in ["-a", "-(a", "-a)", "-"] {
            assert!(negated(span(text)).is_err_and(|found| found == ParseError::from(EINVAL)));
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

    /// Returns `true` if a function of C of this name computes the field, as `hist_debug` shows
    /// it.
    #[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
    fn is_function(field: &Field, name: &str) -> bool {
        crate::show::debug::function(field) == name
    }

    #[cfg(not(CONFIG_HIST_TRIGGERS_DEBUG))]
    fn is_function(_field: &Field, _name: &str) -> bool {
        true
    }

    /// Returns `1 operator 1`, as if it had this divisor.
    fn expression(operator: Operator, divisor: Option<u64>) -> Result<Field> {
        Field::expression(Expr {
            left: Field::constant(1)?,
            right: Some((operator, Field::constant(1)?)),
            divisor,
            text: c_string(b"1")?,
            usecs: false,
        })
    }

    #[test]
    fn division_functions() -> Result {
        for (divisor, func) in [
            (None, "div"),
            (Some(1), "div_power2"),
            (Some(1 << 40), "div_power2"),
            (Some(3), "div_mult_shift"),
            (Some((1 << 20) - 1), "div_mult_shift"),
            (Some((1 << 20) + 1), "div_not_power2"),
        ] {
            assert!(is_function(&expression(Operator::Div, divisor)?, func));
        }
        assert!(is_function(&expression(Operator::Mult, None)?, "mult"));
        Ok(())
    }

    #[test]
    fn names() {
        let whole = qualified(span("sched.sched_waking.$ts0"));
        assert!(whole.name.is(b"$ts0") && whole.name.at() == 19);
        assert!(whole
            .event
            .is_some_and(|(s, e)| s.is(b"sched") && e.is(b"sched_waking")));
        // Everything after the second dot is the name.
        assert!(qualified(span("a.b.c.d")).name.is(b"c.d"));
        for text in ["a", "$a", "a.hex", ""] {
            let whole = qualified(span(text));
            assert!(whole.event.is_none() && whole.name.is(text.as_bytes()));
        }

        assert!(variable(span("$a")).is_some_and(|name| name.is(b"a") && name.at() == 1));
        assert!(variable(span("$")).is_none());
        assert!(variable(span("a$")).is_none());
    }

    #[test]
    fn modifiers() {
        let parse = |name, text, role| Modifier::parse(span(name), span(text), role);
        let wrong = |text, from| {
            let text = span(text).from(from);
            Err(ParseError::new(ErrorKind::BadFieldModifier, text))
        };

        assert_eq!(parse("a", "hex", Role::Key), Ok(Modifier::Hex));
        assert_eq!(parse("a", "sym", Role::Key), Ok(Modifier::Sym));
        assert_eq!(parse("a", "sym-offset", Role::Key), Ok(Modifier::SymOffset));
        assert_eq!(
            parse("common_pid", "execname", Role::Key),
            Ok(Modifier::ExecName)
        );
        assert_eq!(parse("pid", "execname", Role::Key), wrong("execname", 0));
        assert_eq!(parse("a", "percent", Role::Value), Ok(Modifier::Percent));
        assert_eq!(parse("a", "percent", Role::Key), wrong("percent", 0));
        assert_eq!(parse("a", "graph", Role::Var), wrong("graph", 0));
        assert_eq!(parse("a", "graphs", Role::Value), wrong("graphs", 0));
        assert_eq!(parse("a", "symXoffset", Role::Key), wrong("symXoffset", 0));
        assert_eq!(parse("a", "", Role::Key), wrong("", 0));
        assert_eq!(parse("a", "log2", Role::Key), Ok(Modifier::Log2));
        for (text, bits) in [("log2=1", 1), ("log2=3", 3), ("log2=0x5", 5)] {
            assert_eq!(parse("a", text, Role::Key), Ok(Modifier::Log2Parts(bits)));
        }
        for text in ["log2=", "log2=0", "log2=6", "log2=-1", "log2=x", "log2=2 "] {
            assert_eq!(parse("a", text, Role::Key), wrong(text, 0));
        }
        assert_eq!(parse("a", "log22", Role::Key), wrong("log22", 0));
        for (text, modifier) in [
            ("min", Modifier::Min),
            ("max", Modifier::Max),
            ("avg", Modifier::Avg),
        ] {
            assert_eq!(parse("a", text, Role::Value), Ok(modifier));
            assert_eq!(parse("a", text, Role::Key), wrong(text, 0));
            assert_eq!(parse("a", text, Role::Var), wrong(text, 0));
        }
        assert_eq!(parse("a", "min.hex", Role::Value), wrong("min.hex", 0));
        for text in ["a.min", "a.max", "a.avg", "s.e.a.min"] {
            assert!(is_statistic(span(text)));
        }
        // The last one is a field that is called so, of an event.
        for text in ["a", "min", "a.hex", "a+b.min", "$a.min", "s.e.min"] {
            assert!(!is_statistic(span(text)));
        }
        assert_eq!(parse("a", "hex.sym", Role::Key), wrong("hex.sym", 0));

        assert_eq!(
            parse("a", "buckets=10", Role::Key),
            Ok(Modifier::Buckets(10))
        );
        assert_eq!(
            parse("a", "bucket=0x10", Role::Key),
            Ok(Modifier::Buckets(16))
        );
        assert_eq!(parse("a", "buckets", Role::Key), wrong("buckets", 7));
        assert_eq!(parse("a", "bucketsx=1", Role::Key), wrong("bucketsx=1", 7));
        assert_eq!(parse("a", "buckets=0", Role::Key), wrong("buckets=0", 8));
        assert_eq!(parse("a", "bucket=", Role::Key), wrong("bucket=", 7));
    }

    fn source(kind: RecordKind, size: u32, signed: bool) -> Result<Source> {
        Ok(Source {
            name: c_string(b"field")?,
            ty: Type::new(c"type", size, signed)?,
            offset: 8,
            kind,
            string: matches!(
                kind,
                RecordKind::StaticString
                    | RecordKind::DynString
                    | RecordKind::RelDynString
                    | RecordKind::PtrString
                    | RecordKind::Comm
            ),
        })
    }

    fn recorded(kind: RecordKind, size: u32, signed: bool, modifier: Modifier) -> Result<Field> {
        Field::new(Origin::Recorded(source(kind, size, signed)?), modifier)
    }

    #[test]
    fn recorded_fields() -> Result {
        for (kind, size, signed, func, bytes) in [
            (RecordKind::Number, 1, true, "s8", 1),
            (RecordKind::Number, 2, false, "u16", 2),
            (RecordKind::Number, 4, true, "s32", 4),
            (RecordKind::Number, 8, false, "u64", 8),
            (RecordKind::PtrString, 8, false, "u64", 8),
            (RecordKind::StaticString, 16, true, "string", 16),
            (RecordKind::DynString, 4, true, "dynstring", 256),
            (RecordKind::RelDynString, 4, true, "reldynstring", 256),
            (RecordKind::Stacktrace, 4, false, "stack", 256),
        ] {
            let field = recorded(kind, size, signed, Modifier::None)?;
            let text = !matches!(kind, RecordKind::Number | RecordKind::PtrString);

            assert!(is_function(&field, func));
            assert_eq!(field.ty.size, bytes);
            assert_eq!(field.ty.name.to_bytes(), b"type");
            assert_eq!(field.ty.signed, signed && !text);
        }
        for (kind, size) in [
            (RecordKind::Number, 3),
            (RecordKind::Number, 16),
            (RecordKind::Function, 8),
        ] {
            let field = recorded(kind, size, false, Modifier::None);
            assert!(field.is_err_and(|e| e == ENOMEM));
        }
        Ok(())
    }

    #[test]
    fn properties_of_hits() -> Result {
        for (label, func, ty, size) in [
            ("hitcount", "counter", "u64", 8),
            ("common_timestamp", "timestamp", "u64", 8),
            ("common_cpu", "cpu", "unsigned int", 4),
            ("common_comm", "comm", "char[]", 256),
            (
                "common_stacktrace",
                "nop",
                "unsigned long[]",
                STACK_SIZE as u32,
            ),
        ] {
            let property = HitProperty::by_name(label.as_bytes()).ok_or(EINVAL)?;
            let field = Field::property(property)?;

            assert!(is_function(&field, func));
            assert_eq!(field.ty.size, size);
            assert_eq!(field.ty.name.to_bytes(), ty.as_bytes());
            assert!(!field.ty.signed && field.is_called(label.as_bytes(), &[]));
        }
        Ok(())
    }

    /// Returns `true` if the field has this text in an expression.
    fn reads(field: &Field, text: &[u8]) -> bool {
        let mut out = TextBuf::new();

        field.write_operand(&mut out, &[]);
        out.bytes() == Ok(text)
    }

    #[test]
    fn texts() -> Result {
        let number = |modifier| recorded(RecordKind::Number, 4, true, modifier);
        let field = number(Modifier::Buckets(10))?;

        assert!(is_function(&field, "bucket"));
        assert!(field.ty.signed && !field.has_vars());
        assert!(field.is_called(b"field", &[]) && reads(&field, b"field.buckets=10"));

        let field = number(Modifier::Log2)?;
        assert!(is_function(&field, "log2"));
        assert!(!field.ty.signed && reads(&field, b"field.log2"));

        let field = number(Modifier::Log2Parts(3))?;
        assert!(is_function(&field, "log2"));
        assert!(field.ty.signed && reads(&field, b"field.log2=3"));
        assert!(reads(&number(Modifier::Avg)?, b"field.avg"));

        let field = Field::new(
            Origin::Property(HitProperty::HitCount, None),
            Modifier::Log2,
        )?;
        assert!(is_function(&field, "log2"));
        assert!(reads(&field, b"hitcount.log2"));

        let field = Field::new(
            Origin::Property(HitProperty::Timestamp, None),
            Modifier::Usecs,
        )?;
        assert!(field.is_usecs(&[]) && reads(&field, b"common_timestamp.usecs"));

        assert!(reads(&number(Modifier::SymOffset)?, b"field.sym-offset"));

        let field = Field::constant(42)?;
        assert!(field.is_called(b"", &[]) && reads(&field, b"42"));

        // Of stacks the text says only what has been written.
        let stack = |modifier| recorded(RecordKind::Stacktrace, 4, false, modifier);
        assert!(reads(
            &Field::property(HitProperty::Stack)?,
            b"common_stacktrace"
        ));
        assert!(reads(&stack(Modifier::Stacktrace)?, b"field.stacktrace"));
        assert!(reads(&stack(Modifier::None)?, b"field"));
        Ok(())
    }

    #[test]
    fn expression_texts() -> Result {
        let time = Origin::Property(HitProperty::Timestamp, None);
        let expr = Field::expression(Expr {
            left: Field::new(time, Modifier::Usecs)?,
            right: Some((Operator::Minus, Field::constant(1)?)),
            divisor: None,
            text: c_string(b"common_timestamp.usecs-$ts0")?,
            usecs: true,
        })?;

        // The unit is that of the operands and not said again.
        assert!(reads(&expr, b"common_timestamp.usecs-$ts0"));
        assert!(expr.is_called(b"common_timestamp.usecs-$ts0", &[]));
        assert_eq!(expr.ty.name.to_bytes(), b"u64");
        Ok(())
    }

    #[test]
    fn names_of_first_tasks() -> Result {
        let field = recorded(RecordKind::Number, 4, true, Modifier::ExecName)?;
        let field = field.into_first_comm()?;

        assert!(is_function(&field, "execname"));
        assert_eq!(field.ty.size, 256);
        assert!(!field.ty.signed && reads(&field, b"field.execname"));
        Ok(())
    }
}
