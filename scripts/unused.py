# SPDX-License-Identifier: GPL-2.0
#
# Finds public items of the kernel crate that only tests use: the unit tests, the modules of
# kernel/trace/rust_event_test and the examples in documentation. rustc takes any `pub` item
# of a library for used (scripts/lint testonly).
#
# Items are known by their names only. One that has the name of another item that is used is
# not found. Imports, re-exports, functions of C of the same name (`bindings::` and `raw::`) and
# the implementations of a type are no uses.
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

PUBLIC = r"^\s*pub (?:(?:const|unsafe|async|extern \"C\") )*(?:fn|const|static|struct|enum|union|trait|type) (?:mut )?"
ITEM = re.compile(rf"(?:{PUBLIC}|^#\[macro_export\]\s*macro_rules! )(\w+)", re.M)
DEFINED = re.compile(r"\b(?:fn|const|static|struct|enum|union|trait|type|mod|macro_rules!) (?:mut )?(\w+)")
NO_USE = re.compile(r"\b(?:bindings|raw)::\w+|^\s*(?:pub(?:\([^)]*\))? )?use [^;]*;", re.M)
IMPL = re.compile(r"^\s*(?:unsafe )?impl\b([^{;]*)", re.M)


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


def implemented(header):
    """The type that the header of an `impl` names, or "" if it is none that has a name."""
    # The parameters, which may have bounds.
    depth = end = 0
    if header.startswith("<"):
        for end, c in enumerate(header.replace("->", "  "), 1):
            depth += (c == "<") - (c == ">")
            if depth == 0:
                break
    header = re.split(r"\bwhere\b", header[end:])[0]
    header = re.split(r"\bfor\b(?!\s*<)", header)[-1]
    path = re.match(r"\s*((?:\w+::)*)(\w+)", header)
    return path.group(2) if path else ""


def unused(texts):
    """The public items that nothing uses, as "PATH NAME"."""
    uses = {}
    for text in texts.values():
        text = NO_USE.sub("", text)
        for word in re.findall(r"\w+", text):
            uses[word] = uses.get(word, 0) + 1
        for word in DEFINED.findall(text) + [implemented(header) for header in IMPL.findall(text)]:
            uses[word] = uses.get(word, 0) - 1
    return {
        f"{name} {item}"
        for name, text in texts.items()
        if name.startswith("rust/kernel/")
        for item in ITEM.findall(text)
        if uses[item] <= 0
    }


def self_test():
    used = "pub fn used() {}\n"
    texts = {
        "rust/kernel/a.rs": without_tests(
            strip(
                used
                + "pub fn example() {} // example()\n"
                + "pub unsafe fn tested() {}\n"
                + "pub fn called() { unsafe { bindings::called() } }\n"
                + "pub struct Implemented<T>(T);\n"
                + "unsafe impl<T: Fn() -> u8> Send for Implemented<T> where T: Sync {}\n"
                + "impl Implemented<u8> { fn f() { used() } }\n"
                + "pub use a::Implemented;\n"
                + "pub struct Returned;\nimpl From<Returned> for u8 { fn f() { used() } }\n"
                + "#[cfg(CONFIG_X_KUNIT_TEST)]\npub fn helper(a: [u8; 2]) -> u8 { { tested() } }\n"
                + "#[macros::kunit_tests(x)]\nmod tests { fn t() { tested(); } }\n"
                + "#[cfg(not(CONFIG_X_KUNIT_TEST))]\nfn other() { used() }\n"
            )
        )
    }
    found = {item.split()[1] for item in unused(texts)}
    assert found == {"called", "example", "tested", "Implemented"}, found


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
