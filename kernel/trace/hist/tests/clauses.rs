// SPDX-License-Identifier: GPL-2.0

//! Tests of the clauses of a command.

use kernel::prelude::*;

#[kunit_tests(hist_clauses)]
mod tests {
    use super::*;
    use crate::{
        builder::PARAMS_AT,
        command::{
            clauses::{
                definitions,
                CommandClauses, //
            },
            ErrorKind,
            ParseError,
            Span, //
        },
        limits::{
            ACTIONS_MAX,
            VARS_MAX, //
        },
    };

    fn parse(text: &str) -> Result<CommandClauses<'_>, ParseError> {
        CommandClauses::parse(Span::new(text.as_bytes(), PARAMS_AT))
    }

    /// Returns the text of a clause and its column.
    fn seen(span: Option<Span<'_>>) -> Option<(&[u8], usize)> {
        span.map(|span| (span.bytes(), span.at()))
    }

    /// Returns `true` if the command fails with `errno` and logs nothing.
    fn fails(text: &str, errno: Error) -> bool {
        let ok = parse(text).is_err_and(|error| error == ParseError::from(errno));

        if !ok {
            pr_err!("failed: [{text}]\n");
        }
        ok
    }

    /// Returns `true` if the error `kind` is logged, in the column of the `^` in `marked`, for the
    /// command that is `marked` without it.
    fn logs(marked: &str, kind: ErrorKind) -> Result<bool> {
        let mut text = KVec::new();
        let mut at = 0;

        for (i, byte) in marked.bytes().enumerate() {
            if byte == b'^' {
                at = PARAMS_AT + i;
            } else {
                text.push(byte, GFP_KERNEL)?;
            }
        }

        let clauses = CommandClauses::parse(Span::new(&text, PARAMS_AT));
        let result = clauses.and_then(|clauses| definitions(&clauses.assignments).map(|_| ()));
        let error = ParseError {
            errno: EINVAL,
            entry: Some((kind, at)),
        };
        Ok(result == Err(error))
    }

    #[test]
    fn all_clauses() -> Result {
        let text =
            "keys=pid:vals=a,b:sort=a:name=x y:clock= mono :size=512:pause:t=$u,v=w:nohitcount";
        let clauses = parse(text).map_err(|error| error.errno)?;

        assert_eq!(seen(Some(clauses.keys)), Some((&b"pid"[..], 10)));
        assert_eq!(seen(clauses.vals), Some((&b"a,b"[..], 19)));
        assert_eq!(seen(clauses.sort), Some((&b"a"[..], 28)));
        // The name is kept with its word.
        assert_eq!(seen(clauses.name), Some((&b"name=x y"[..], 30)));
        assert_eq!(seen(clauses.clock), Some((&b"mono"[..], 46)));
        assert_eq!(clauses.map_bits, Some(9));
        assert!(clauses.pause && clauses.no_hitcount && !clauses.cont && !clauses.clear);
        assert_eq!(clauses.assignments.len(), 1);
        assert_eq!(clauses.actions.len(), 0);

        let defs = definitions(&clauses.assignments).map_err(|error| error.errno)?;
        let [t, v] = &defs[..] else {
            return Err(EINVAL);
        };
        assert!(t.name.is(b"t") && t.expr.is(b"$u"));
        assert!(v.name.is(b"v") && v.expr.is(b"w"));
        assert_eq!(text.as_bytes().get(v.expr.at() - PARAMS_AT), Some(&b'w'));
        Ok(())
    }

    #[test]
    fn other_words() -> Result {
        let clauses = parse("NOHC:values=a:val=b:key=x:keys=y:cont:clear").map_err(|f| f.errno)?;

        assert!(clauses.no_hitcount && clauses.cont && clauses.clear && !clauses.pause);
        // The last one counts.
        assert!(clauses.keys.is(b"y"));
        assert!(clauses.vals.is_some_and(|vals| vals.is(b"b")));
        assert!(parse("keys=a:continue").is_ok_and(|clauses| clauses.cont));
        assert_eq!(clauses.map_bits, None);
        assert!(clauses.clock.is_none() && clauses.name.is_none() && clauses.sort.is_none());
        Ok(())
    }

    #[test]
    fn unknown_words() {
        for text in [
            "",
            "vals=a",
            "keys=a:",
            ":keys=a",
            "keys=a:nohc",
            "keys=a: pause",
            "keys=a:pause ",
            "keys=a:clear-hist",
            "keys=a:onmatch",
            "keys=a:onmatched(s.e).x(y)",
            "keys=a:onless($x).save(y)",
        ] {
            assert!(fails(text, EINVAL));
        }
        // An unknown clause is a variable.
        assert!(parse("keys=a:key_s=b").is_ok_and(|clauses| clauses.assignments.len() == 1));
        assert!(parse("keys=a:onmax($x).save(y.buckets=4)")
            .is_ok_and(|clauses| clauses.actions.is_empty() && clauses.assignments.len() == 1));
    }

    #[test]
    fn sizes() {
        for (text, bits) in [
            ("keys=a:size=65", 7),
            ("keys=a:size=128", 7),
            ("keys=a:size=129", 8),
            ("keys=a:size=0x1000", 12),
            ("keys=a:size=010000", 12),
            ("keys=a:size=+2048", 11),
            ("keys=a:size=131072", 17),
        ] {
            assert!(parse(text).is_ok_and(|clauses| clauses.map_bits == Some(bits)));
        }
        for text in [
            "keys=a:size=0",
            "keys=a:size=1",
            "keys=a:size=64",
            "keys=a:size=131073",
            "keys=a:size=0x8000000000000001",
            "keys=a:size=0xffffffffffffffff",
            "keys=a:size=12k",
            "keys=a:size=-1",
            "keys=a:size= 256",
        ] {
            assert!(fails(text, EINVAL));
        }
        assert!(fails("keys=a:size=18446744073709551616", ERANGE));
    }

    #[test]
    fn actions() -> Result {
        let mut text = KVec::new();

        text.extend_from_slice(b"keys=a", GFP_KERNEL)?;
        for _ in 0..ACTIONS_MAX {
            text.extend_from_slice(b":onchange($x).save(y)", GFP_KERNEL)?;
        }
        let span = Span::new(&text, PARAMS_AT);
        assert!(
            CommandClauses::parse(span).is_ok_and(|clauses| clauses.actions.len() == ACTIONS_MAX)
        );

        text.extend_from_slice(b":onmax($x).save(y)", GFP_KERNEL)?;
        let span = Span::new(&text, PARAMS_AT);
        assert!(CommandClauses::parse(span).is_err_and(|error| error == ParseError::from(EINVAL)));
        Ok(())
    }

    #[test]
    fn empty_assignments() -> Result {
        assert!(logs("keys=a:^sort=", ErrorKind::EmptyAssignment)?);
        assert!(logs("^keys=", ErrorKind::EmptyAssignment)?);
        // The first of two that look the same is not wrong.
        assert!(logs("keys=a:x=b:^x=", ErrorKind::EmptyAssignment)?);
        Ok(())
    }

    #[test]
    fn malformed_definitions() -> Result {
        assert!(logs("keys=a:x=b,^c", ErrorKind::MalformedAssignment)?);
        assert!(logs("keys=a:x=b,^", ErrorKind::MalformedAssignment)?);
        assert!(logs("keys=a:x=b,^,y=c", ErrorKind::MalformedAssignment)?);
        assert!(logs("keys=a:b=b,^b", ErrorKind::MalformedAssignment)?);
        Ok(())
    }

    #[test]
    fn too_many_variables() -> Result {
        let mut text = KVec::new();

        text.extend_from_slice(b"keys=a", GFP_KERNEL)?;
        for _ in 0..VARS_MAX {
            text.extend_from_slice(b":x=y", GFP_KERNEL)?;
        }
        let end = PARAMS_AT + text.len();
        {
            let all =
                CommandClauses::parse(Span::new(&text, PARAMS_AT)).map_err(|error| error.errno)?;
            let defs = definitions(&all.assignments).map_err(|error| error.errno)?;
            assert_eq!(defs.len(), VARS_MAX);
        }

        text.extend_from_slice(b":z=y", GFP_KERNEL)?;
        let result = CommandClauses::parse(Span::new(&text, PARAMS_AT));
        let entry = Some((ErrorKind::TooManyVars, end + 1));
        assert!(result.is_err_and(|error| error.entry == entry));

        // The same in two clauses: the one that is too many is known by its name.
        let first = Span::new(b"a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9", 0);
        let second = Span::new(b"j=0,k=1,l=2,m=3,n=4,o=5,p=6,q=7", 100);
        let result = definitions(&[first, second]);
        let entry = Some((ErrorKind::TooManyVars, 128));
        assert!(result.is_err_and(|error| error.entry == entry));
        Ok(())
    }
}
