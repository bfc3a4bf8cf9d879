// SPDX-License-Identifier: GPL-2.0

//! Tests of the lines of `set_user_event`.

use kernel::prelude::*;

#[kunit_tests(user_events_patterns)]
mod tests {
    use super::*;
    use crate::{
        patterns::{
            Pattern,
            Request, //
        },
        tests::row, //
    };

    /// Returns the pattern of a line that adds or removes one, or an error for a line without
    /// effect.
    fn pattern(line: &[u8]) -> Result<Pattern> {
        match Request::parse(line)? {
            Request::Nothing => Err(ENOENT),
            Request::Add(text) | Request::Remove(text) => Pattern::new(text),
        }
    }

    fn removes(line: &[u8]) -> bool {
        matches!(Request::parse(line), Ok(Request::Remove(_)))
    }

    #[test]
    fn lines_without_effect() {
        for line in ["", " ", "\t \r", "#", "# web_*", "  #!x"] {
            let request = Request::parse(line.as_bytes());

            assert!(row(line, matches!(request, Ok(Request::Nothing))));
        }
    }

    #[test]
    fn parts() {
        let rows: [(&str, &CStr, Option<&CStr>); 8] = [
            ("web_*", c"web_*", None),
            (" web_* ", c"web_*", None),
            ("!web_*", c"web_*", None),
            ("user_events:web", c"user_events:web", None),
            ("a traceoff:1", c"a", Some(c"traceoff:1")),
            (
                "a\t hist:keys=b if c == 1 ",
                c"a",
                Some(c"hist:keys=b if c == 1"),
            ),
            ("!a hist:keys=b", c"a", Some(c"hist:keys=b")),
            ("\\!a", c"\\!a", None),
        ];

        for (line, text, trigger) in rows {
            let Ok(pattern) = pattern(line.as_bytes()) else {
                assert!(row(line, false));
                continue;
            };

            assert!(row(line, pattern.text() == text));
            assert!(row(line, pattern.trigger() == trigger));
        }
        assert!(removes(b"!a") && removes(b" !a b"));
        assert!(!removes(b"a") && !removes(b"\\!a"));
    }

    #[test]
    fn refused() {
        for line in [
            "!",
            "! a",
            "a\0b",
            "a !traceoff",
            "a traceoff\0",
            "sched:a",
            "user_event:a",
            "\\*:a",
        ] {
            assert!(row(line, pattern(line.as_bytes()).err() == Some(EINVAL)));
        }
    }

    #[test]
    fn names() {
        let single = c"user_events";
        let multi = c"user_events_multi";
        let rows: [(&str, bool, bool); 10] = [
            ("web", true, true),
            ("w?b", true, true),
            ("*", true, true),
            (":", true, true),
            ("*:web", true, true),
            ("user_events:", true, false),
            ("user_events_multi:w*", false, true),
            ("user_events*:web", true, true),
            ("we", false, false),
            ("web_*", false, false),
        ];

        for (line, in_single, in_multi) in rows {
            let Ok(pattern) = pattern(line.as_bytes()) else {
                assert!(row(line, false));
                continue;
            };

            assert!(row(line, pattern.matches(single, c"web") == in_single));
            assert!(row(line, pattern.matches(multi, c"web") == in_multi));
        }
    }

    #[test]
    fn same_lines() -> Result {
        let line = pattern(b"a hist:keys=b")?;

        assert!(line.is_same(&pattern(b"!a  hist:keys=b ")?));
        assert!(!line.is_same(&pattern(b"a hist:keys=c")?));
        assert!(!line.is_same(&pattern(b"a")?));
        assert!(!line.is_same(&pattern(b":a hist:keys=b")?));
        assert!(line.does_same(&pattern(b"b hist:keys=b")?));
        assert!(!line.does_same(&pattern(b"b")?));
        Ok(())
    }
}
