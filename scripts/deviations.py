# SPDX-License-Identifier: GPL-2.0
#
# Whether every row of Documentation/trace/rust/deviations.rst names a test, and
# every test that is named, or that is named after a row, is there.
#
# A last column may have:
#
#   ``CASE``             ROW__CASE in one of the selftests, ROW with _ for -
#   ``FILE.c``: ``CASE`` a case of this selftest
#   KUnit: ``SUITE`` or ``SUITE.CASE``
#   ``DIR/FILE``         a file in the selftests' folder
#   ``scripts/lint CHECK``
#
# usage: deviations.py TOP

import glob
import re
import sys

top = sys.argv[1]
rst = top + "/Documentation/trace/rust/deviations.rst"
tests = top + "/tools/testing/selftests/user_events_rust/"
problems = []


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


# Rows: the first column, and the last one as one line.
rows = {}
for row in re.split(r"\n   \* - ", read(rst))[1:]:
    cells = re.split(r"\n     - ", row)
    name = cells[0].strip()
    if name == "Row":
        if cells[-1].split("\n")[0].strip() != "Test":
            problems.append("a table has no column of tests at its end")
        continue
    # Only what is indented belongs to the cell.
    lines = cells[-1].split("\n")
    cell = [lines[0]]
    for line in lines[1:]:
        if not line.startswith("       "):
            break
        cell.append(line)
    rows[name] = " ".join(" ".join(cell).split())

cases = {}
for path in glob.glob(tests + "*.c"):
    name = path[len(tests):]
    cases[name] = set(re.findall(r"^TEST_F(?:_TIMEOUT)?\(\w+, (\w+)", read(path), re.M))
everywhere = set().union(*cases.values())

suites = {}
for path in glob.glob(top + "/kernel/**/*.rs", recursive=True) + glob.glob(top + "/rust/**/*.rs", recursive=True):
    text = read(path)
    for suite in re.findall(r"kunit_tests\((\w+)\)", text):
        suites[suite] = set(re.findall(r"#\[test\]\s+fn (\w+)", text))

named = set()
for row, cell in rows.items():
    prefix = row.replace("-", "_") + "__"
    kind = ""
    found = 0
    for before, what in re.findall(r"([^`]*)``([^`]*)``", cell):
        if "KUnit:" in before:
            kind = "KUnit"
        elif ";" in before:
            kind = ""
        if what.startswith("scripts/lint "):
            ok = "\ncheck_%s()" % what.split()[1] in read(top + "/scripts/lint")
        elif kind == "KUnit":
            suite, _, case = what.partition(".")
            ok = suite in suites and (not case or case in suites[suite])
        elif "/" in what:
            ok = bool(glob.glob(tests + what))
        elif what.endswith(".c"):
            kind = what
            if what not in cases:
                problems.append(f"{row}: there is no {what}")
            continue
        elif kind.endswith(".c"):
            ok = what in cases.get(kind, ())
        else:
            ok = prefix + what in everywhere
            named.add(prefix + what)
        found += 1
        if not ok:
            problems.append(f"{row}: there is no test {what}")
    if not found and not (row.startswith("kept-") and cell.startswith("None: ")):
        problems.append(f"{row}: names no test")

for case in sorted(everywhere):
    if "__" in case and case not in named:
        problems.append(f"{case}: no row names it")

if len(rows) < 40:
    problems.append(f"only {len(rows)} rows were found")
for problem in problems:
    print(f"{rst[len(top) + 1:]}: {problem}")
sys.exit(bool(problems))
