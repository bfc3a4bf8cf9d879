# SPDX-License-Identifier: GPL-2.0
#
# Finds functions in Rust that are too long to be read at once: those of more than LIMIT lines,
# from their name to the closing brace. Tests are not counted: files of tests, and items that only
# a kernel with unit tests has.
#
# usage: functions.py TOP           prints each function that is too long
#        functions.py --self-test   checks this file on planted examples

import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stage import TEST_FILE, TEST_ITEM, end_of_item, strip  # noqa: E402

FOLDERS = ("rust/macros", "rust/kernel/trace", "kernel/trace/hist", "kernel/trace/user_events")
LIMIT = 80

FUNCTION = re.compile(r"\bfn\s+([#$]?\w+)")


def functions(text):
    """The functions outside of tests, as (line, name, number of lines)."""
    text = strip(text)
    tests = [(m.start(), end_of_item(text, m.end())) for m in TEST_ITEM.finditer(text)]
    for m in FUNCTION.finditer(text):
        if any(start <= m.start() < end for start, end in tests):
            continue
        end = end_of_item(text, m.end())
        yield text.count("\n", 0, m.start()) + 1, m[1], text.count("\n", m.start(), end) + 1


def self_test():
    def of_lines(name, n):
        return f"fn {name}(a: [u8; 2]) -> u8\nwhere\n    u8: Copy,\n{{\n" + "    g('}', \"{\");\n" * (n - 5) + "}\n"

    text = (
        "impl A {\n" + of_lines("most", LIMIT) + of_lines("more", LIMIT + 1) + "}\n"
        + "trait B {\n    fn c();\n}\n"
        + "#[cfg(CONFIG_X_KUNIT_TEST)]\n" + of_lines("tested", LIMIT + 1)
        + "#[kunit_tests(x)]\nmod tests {\n" + of_lines("test", LIMIT + 1) + "}\n"
        + "// fn comment() {\n"
        + "#[cfg(not(CONFIG_X_KUNIT_TEST))]\n" + of_lines("last", LIMIT + 2)
    )
    found = [(name, lines) for _, name, lines in functions(text)]
    assert found == [("most", LIMIT), ("more", LIMIT + 1), ("c", 1), ("last", LIMIT + 2)], found


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    top = sys.argv[1]
    count = bad = 0
    for folder in FOLDERS:
        for path in sorted(glob.glob(f"{top}/{folder}.rs") + glob.glob(f"{top}/{folder}/**/*.rs", recursive=True)):
            name = path[len(top) + 1 :]
            if TEST_FILE.search(name):
                continue
            with open(path, encoding="utf-8") as f:
                for line, function, lines in functions(f.read()):
                    count += 1
                    if lines > LIMIT:
                        print(f"{name}:{line}: {function}() has {lines} lines, more than {LIMIT}")
                        bad += 1
    if not count:
        print("there is no function in " + ", ".join(FOLDERS))
    return 1 if bad or not count else 0


sys.exit(main())
