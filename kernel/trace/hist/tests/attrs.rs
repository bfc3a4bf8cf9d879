// SPDX-License-Identifier: GPL-2.0

//! Tests of the clauses of a command.

use kernel::prelude::*;

#[kunit_tests(hist_attrs)]
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
    fn seen(piece: Option<Span<'_>>) -> Option<(&[u8], usize)> {
        piece.map(|piece| (piece.bytes(), piece.at()))
    }

    /// Returns `true` if the command fails with `errno` and logs nothing.
    fn fails(text: &str, errno: Error) -> bool {
        let ok = parse(text).is_err_and(|fault| fault == ParseError::from(errno));

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

        let attrs = CommandClauses::parse(Span::new(&text, PARAMS_AT));
        let result = attrs.and_then(|attrs| definitions(&attrs.assignments).map(|_| ()));
        let fault = ParseError {
            errno: EINVAL,
            entry: Some((kind, at)),
        };
        Ok(result == Err(fault))
    }

    #[test]
    fn all_clauses() -> Result {
        let text =
            "keys=pid:vals=a,b:sort=a:name=x y:clock= mono :size=512:pause:t=$u,v=w:nohitcount";
        let attrs = parse(text).map_err(|fault| fault.errno)?;

        assert_eq!(seen(Some(attrs.keys)), Some((&b"pid"[..], 10)));
        assert_eq!(seen(attrs.vals), Some((&b"a,b"[..], 19)));
        assert_eq!(seen(attrs.sort), Some((&b"a"[..], 28)));
        // The name is kept with its word.
        assert_eq!(seen(attrs.name), Some((&b"name=x y"[..], 30)));
        assert_eq!(seen(attrs.clock), Some((&b"mono"[..], 46)));
        assert_eq!(attrs.map_bits, Some(9));
        assert!(attrs.pause && attrs.no_hitcount && !attrs.cont && !attrs.clear);
        assert_eq!(attrs.assignments.len(), 1);
        assert_eq!(attrs.actions.len(), 0);

        let defs = definitions(&attrs.assignments).map_err(|fault| fault.errno)?;
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
        let attrs = parse("NOHC:values=a:val=b:key=x:keys=y:cont:clear").map_err(|f| f.errno)?;

        assert!(attrs.no_hitcount && attrs.cont && attrs.clear && !attrs.pause);
        // The last one counts.
        assert!(attrs.keys.is(b"y"));
        assert!(attrs.vals.is_some_and(|vals| vals.is(b"b")));
        assert!(parse("keys=a:continue").is_ok_and(|attrs| attrs.cont));
        assert_eq!(attrs.map_bits, None);
        assert!(attrs.clock.is_none() && attrs.name.is_none() && attrs.sort.is_none());
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
        assert!(parse("keys=a:key_s=b").is_ok_and(|attrs| attrs.assignments.len() == 1));
        assert!(parse("keys=a:onmax($x).save(y.buckets=4)")
            .is_ok_and(|attrs| attrs.actions.is_empty() && attrs.assignments.len() == 1));
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
            assert!(parse(text).is_ok_and(|attrs| attrs.map_bits == Some(bits)));
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
        let piece = Span::new(&text, PARAMS_AT);
        assert!(CommandClauses::parse(piece).is_ok_and(|attrs| attrs.actions.len() == ACTIONS_MAX));

        text.extend_from_slice(b":onmax($x).save(y)", GFP_KERNEL)?;
        let piece = Span::new(&text, PARAMS_AT);
        assert!(CommandClauses::parse(piece).is_err_and(|fault| fault == ParseError::from(EINVAL)));
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
                CommandClauses::parse(Span::new(&text, PARAMS_AT)).map_err(|fault| fault.errno)?;
            let defs = definitions(&all.assignments).map_err(|fault| fault.errno)?;
            assert_eq!(defs.len(), VARS_MAX);
        }

        text.extend_from_slice(b":z=y", GFP_KERNEL)?;
        let result = CommandClauses::parse(Span::new(&text, PARAMS_AT));
        let entry = Some((ErrorKind::TooManyVars, end + 1));
        assert!(result.is_err_and(|fault| fault.entry == entry));

        // The same in two clauses: the one that is too many is known by its name.
        let first = Span::new(b"a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9", 0);
        let second = Span::new(b"j=0,k=1,l=2,m=3,n=4,o=5,p=6,q=7", 100);
        let result = definitions(&[first, second]);
        let entry = Some((ErrorKind::TooManyVars, 128));
        assert!(result.is_err_and(|fault| fault.entry == entry));
        Ok(())
    }
}
