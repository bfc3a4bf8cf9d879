# SPDX-License-Identifier: GPL-2.0
#
# Finds public items of the kernel crate that only tests use: the unit tests, the modules of
# kernel/trace/rust_event_test and the examples in documentation. rustc takes any `pub` item
# of a library for used (scripts/lint testonly).
#
# Items are known by their names only. One that has the name of another item that is used is
# not found.
#
# Each line of unused.accept has such an item, as PATH NAME, and after a # what uses
# its counterpart in C. A line whose item is used by now, or does not exist, is an
# error.
#
# usage: unused.py TOP [--self-test]

import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stage import TEST_FILE, TEST_ITEM, end_of_item, strip  # noqa: E402

ITEM = re.compile(r"^\s*pub (?:(?:const|unsafe|async|extern \"C\") )*(?:fn|const|static|struct|enum|union|trait|type) (?:mut )?(\w+)", re.M)
DEFINED = re.compile(r"\b(?:fn|const|static|struct|enum|union|trait|type|mod|macro_rules!) (?:mut )?(\w+)")


def without_tests(text):
    """Cuts items that only a kernel with unit tests has."""
    while match := TEST_ITEM.search(text):
        end = end_of_item(text, match.end(), ";,")
        text = text[: match.start()] + text[end:]
    return text


def added(path):
    """What a patch adds to files in Rust, by file."""
    texts = {}
    name = None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("+++ "):
                name = line.split()[1].removeprefix("b/")
            elif line.startswith("+") and name.endswith(".rs"):
                texts[name] = texts.get(name, "") + line[1:]
    return texts


def sources(top):
    """The code of each file, without comments, strings and tests."""
    texts = {}
    for folder in ("rust", "kernel", "samples/rust"):
        for path in glob.glob(f"{top}/{folder}/**/*.rs", recursive=True):
            name = path[len(top) + 1 :]
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if TEST_FILE.search(name):
                continue
            # The macros write names in quotes.
            texts[name] = text if name.startswith("rust/macros/") else without_tests(strip(text))
    # A file of Linux counts by what is added to it.
    for path in glob.glob(top + "/patches/*.patch"):
        for name, text in added(path).items():
            texts[name] = texts.get(name, "") + without_tests(strip(text))
    return texts


def unused(texts):
    """The public items that nothing uses, as "PATH NAME"."""
    uses = {}
    for text in texts.values():
        for word in re.findall(r"\w+", text):
            uses[word] = uses.get(word, 0) + 1
        for word in DEFINED.findall(text):
            uses[word] -= 1
    return {
        f"{name} {item}"
        for name, text in texts.items()
        if name.startswith("rust/kernel/")
        for item in ITEM.findall(text)
        if not uses[item]
    }


def self_test():
    used = "pub fn used() {}\n"
    texts = {
        "rust/kernel/a.rs": without_tests(
            strip(
                used
                + "pub fn example() {} // example()\n"
                + "pub unsafe fn tested() {}\n"
                + "#[cfg(CONFIG_X_KUNIT_TEST)]\npub fn helper(a: [u8; 2]) -> u8 { { tested() } }\n"
                + "#[macros::kunit_tests(x)]\nmod tests { fn t() { tested(); } }\n"
                + "#[cfg(not(CONFIG_X_KUNIT_TEST))]\nfn other() { used() }\n"
            )
        )
    }
    assert unused(texts) == {"rust/kernel/a.rs example", "rust/kernel/a.rs tested"}, unused(texts)


def main():
    top = sys.argv[1]
    if sys.argv[2:] == ["--self-test"]:
        self_test()
        return 0
    found = unused(sources(top))
    accepted = set()
    bad = 0
    with open(top + "/scripts/unused.accept", encoding="utf-8") as f:
        for line in f:
            item, _, why = (part.strip() for part in line.partition("#"))
            if not item:
                continue
            accepted.add(item)
            if item not in found:
                print(f"scripts/unused.accept: {item}: is used, or is gone")
                bad = 1
            if not why:
                print(f"scripts/unused.accept: {item}: says not what uses it in C")
                bad = 1
    for item in sorted(found - accepted):
        print("{}: only tests use {}".format(*item.split()))
        bad = 1
    return bad


sys.exit(main())
