// SPDX-License-Identifier: GPL-2.0

//! Tests of clauses `handler.action`: what they are taken apart into, and what is wrong where.

use kernel::prelude::*;

#[kunit_tests(hist_action)]
mod tests {
    use super::*;
    use crate::{
        command::{
            action::{
                ActionClause,
                ActionKind,
                Handler, //
            },
            ErrorKind,
            ParseError,
            Span, //
        },
        limits::PARAMS_MAX, //
    };

    /// The column that the clauses begin in.
    const AT: usize = 5;

    fn parse(text: &[u8]) -> Result<ActionClause<Span<'_>>, ParseError> {
        ActionClause::parse(Span::new(text, AT), |system, event| {
            system.is(b"sched") && (event.is(b"sched_waking") || event.is(b"a.0"))
        })
    }

    /// Returns the error and its column.
    fn error(text: &[u8]) -> Option<(Error, Option<(ErrorKind, usize)>)> {
        parse(text).err().map(|error| (error.errno, error.entry))
    }

    /// Returns `true` if an `EINVAL` is logged with this kind where `wrong` is last in the text.
    fn wrong(text: &[u8], kind: ErrorKind, wrong: &[u8]) -> bool {
        let at = text
            .windows(wrong.len())
            .rposition(|some| some == wrong)
            .unwrap_or(usize::MAX);

        error(text) == Some((EINVAL, Some((kind, AT.wrapping_add(at)))))
    }

    fn words(spans: &[Span<'_>], expected: &[&[u8]]) -> bool {
        spans.len() == expected.len() && spans.iter().zip(expected).all(|(a, b)| a.is(b))
    }

    #[test]
    fn handlers() -> Result {
        let clause = parse(b"onmatch(sched.sched_waking).syn($a)").map_err(|f| f.errno)?;
        let Some((system, event)) = clause.matched() else {
            return Err(EINVAL);
        };
        assert!(system.is(b"sched"));
        assert!(event.is(b"sched_waking"));
        assert_eq!(event.at(), AT + b"onmatch(sched.".len());

        // The name of an event may have dots.
        let clause = parse(b"onmatch(sched.a.0).syn($a)").map_err(|f| f.errno)?;
        assert!(clause.matched().is_some_and(|(_, event)| event.is(b"a.0")));

        let clause = parse(b"onmax($lat).syn($a)").map_err(|f| f.errno)?;
        assert!(matches!(clause.handler, Handler::OnMax(var) if var.is(b"$lat")));
        assert!(clause.matched().is_none());

        // The parser does not check that it is a variable.
        let clause = parse(b"onchange(lat).syn($a)").map_err(|f| f.errno)?;
        assert!(matches!(clause.handler, Handler::OnChange(var) if var.is(b"lat")));
        Ok(())
    }

    #[test]
    fn wrong_handlers() {
        let no_paren = ErrorKind::NoClosingParen;
        assert!(wrong(
            b"onmatch(sched.sched_waking",
            no_paren,
            b"sched.sched_waking"
        ));
        assert!(wrong(
            b"onmatch(sched).syn($a)",
            ErrorKind::SubsysNotFound,
            b"sched"
        ));
        assert!(wrong(
            b"onmatch(sched.none).syn($a)",
            ErrorKind::InvalidSubsysEvent,
            b"none"
        ));
        assert_eq!(error(b"onmax($lat"), Some((EINVAL, None)));
        assert_eq!(error(b"onchange($lat"), Some((EINVAL, None)));
        assert_eq!(error(b"onless($lat).syn($a)"), Some((EINVAL, None)));
    }

    #[test]
    fn actions() -> Result {
        let clause = parse(b"onmax($x).save(a1, b1 ,c1)").map_err(|f| f.errno)?;
        assert_eq!(clause.kind, ActionKind::Save);
        assert!(words(&clause.params, &[b"a1", b"b1", b"c1"]));

        let clause = parse(b"onmin($x).save(a1)").map_err(|f| f.errno)?;
        assert!(matches!(clause.handler, Handler::OnMin(var) if var.is(b"$x")));

        let clause = parse(b"onmax($x).snapshot()").map_err(|f| f.errno)?;
        assert_eq!(clause.kind, ActionKind::Snapshot);
        assert!(clause.params.is_empty());

        let clause = parse(b"onmax($x).trace(syn,$a,b.c.d1)").map_err(|f| f.errno)?;
        assert_eq!(clause.kind, ActionKind::Trace);
        assert!(clause.traced.is_some_and(|event| event.is(b"syn")));
        assert!(clause.subject().is(b"syn"));
        assert!(words(&clause.params, &[b"$a", b"b.c.d1"]));

        let clause = parse(b"onmax($x).syn($a)").map_err(|f| f.errno)?;
        assert_eq!(clause.kind, ActionKind::Trace);
        assert!(clause.traced.is_none());
        assert!(clause.subject().is(b"syn"));
        assert!(words(&clause.params, &[b"$a"]));
        Ok(())
    }

    #[test]
    fn synthetic_events_with_names_like_actions() -> Result {
        for name in [&b"save_lat"[..], b"snapshots", b"traced"] {
            let mut text = KVec::new();
            text.extend_from_slice(b"onmatch(sched.sched_waking).", GFP_KERNEL)?;
            text.extend_from_slice(name, GFP_KERNEL)?;
            text.extend_from_slice(b"($a)", GFP_KERNEL)?;

            let clause = parse(&text).map_err(|f| f.errno)?;
            assert_eq!(clause.kind, ActionKind::Trace);
            assert!(clause.traced.is_none());
            assert!(clause.subject().is(name));
        }
        Ok(())
    }

    #[test]
    fn what_follows_does_not_matter() -> Result {
        let clause = parse(b"onmax($x)and.syn($a)and").map_err(|f| f.errno)?;
        assert!(words(&clause.params, &[b"$a"]));
        let clause = parse(b"onmax($x).syn($a").map_err(|f| f.errno)?;
        assert!(words(&clause.params, &[b"$a"]));
        Ok(())
    }

    #[test]
    fn wrong_actions() {
        let none = Some((EINVAL, Some((ErrorKind::ActionNotFound, 0))));
        assert_eq!(error(b"onmax($x)"), none);
        assert_eq!(error(b"onmax($x).syn"), none);

        let param = ErrorKind::InvalidParam;
        assert!(wrong(b"onmax($x).syn(ab,c)", param, b"c)"));
        assert!(wrong(b"onmax($x).syn()", param, b")"));
        assert!(wrong(b"onmax($x).save()", param, b")"));
        assert!(wrong(b"onmax($x).trace()", param, b")"));
        assert!(wrong(b"onmax($x).syn(ab,)", param, b")"));

        let paren = ErrorKind::NoClosingParen;
        assert!(wrong(b"onmax($x).snapshot(abc", paren, b"abc"));

        let mismatch = ErrorKind::ActionMismatch;
        assert!(wrong(b"onmatch(sched.a.0).save(ab)", mismatch, b"save(ab)"));
        assert!(wrong(
            b"onmatch(sched.a.0).snapshot()",
            mismatch,
            b"snapshot()"
        ));
        // The parameters are looked at first.
        assert!(wrong(b"onmatch(sched.a.0).save(a)", param, b"a)"));
    }

    #[test]
    fn many_params() -> Result {
        for (n, ok) in [(PARAMS_MAX, true), (PARAMS_MAX + 1, false)] {
            let mut text = KVec::new();
            text.extend_from_slice(b"onmax($x).syn(", GFP_KERNEL)?;
            for _ in 0..n - 1 {
                text.extend_from_slice(b"$a,", GFP_KERNEL)?;
            }
            text.extend_from_slice(b"$a)", GFP_KERNEL)?;

            if ok {
                assert_eq!(parse(&text).map_err(|f| f.errno)?.params.len(), n);
            } else {
                let expected = Some((EINVAL, Some((ErrorKind::TooManyParams, 0))));
                assert_eq!(error(&text), expected);
            }
        }
        Ok(())
    }
}
