# SPDX-License-Identifier: GPL-2.0
#
# Checks that every row of Documentation/trace/rust/deviations.rst names a test,
# and that every test that is named, or that is named after a row, exists and is
# run.
#
# A last column may have:
#
#   ``CASE``             ROW__CASE in one of the selftests, ROW with _ for -
#   ``FILE.c``: ``CASE`` a case of this selftest; so for ``FILE.sh``
#   KUnit: ``SUITE`` or ``SUITE.CASE``
#   ``DIR/FILE``         a file in one of the selftests' folders
#   ``scripts/lint CHECK``
#   None: WHY            a row that cannot be tested, and why
#
# The last two sections, "What a program that works can notice" and "What no program
# that works can notice", name rows like *this*: each row once.
#
# usage: deviations.py TOP

import glob
import os
import re
import sys

top = sys.argv[1]
rst = top + "/Documentation/trace/rust/deviations.rst"
folders = [top + "/tools/testing/selftests/" + d for d in ("user_events_rust", "hist_rust", "rust_trace", "binder_trace")]
problems = []


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cases_of(path):
    """The cases that a selftest runs, without the mark of those that fail on the C kernel."""
    text = read(path)
    if path.endswith(".c"):
        return set(re.findall(r"^TEST_F(?:_TIMEOUT)?\(\w+, (\w+)", text, re.M))
    if path.endswith(".py"):
        return set(re.findall(r"^@rule\(.*?^def (\w+)\(", text, re.M | re.S))
    functions = set(re.findall(r"^(\w+)\(\) [{(]", text, re.M))
    # The names may continue in the next lines. "case:program" needs that program.
    run = re.findall(r"^run_tests ((?:.*\\\n)*.*)$", text, re.M)
    names = [word.split(":")[0] for words in run for word in words.replace("\\\n", " ").split()]
    for name in sorted(functions - set(names)):
        if name.startswith("dev_") or "__" in name:
            problems.append(f"{name} in {os.path.basename(path)} is not run")
    return {re.sub("^dev_", "", name) for name in names if name in functions}


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
    if name in rows:
        problems.append(f"{name}: there are two rows of this name")
    rows[name] = " ".join(" ".join(cell).split())

# The same file name may be in two folders.
cases = {}
for folder in folders:
    for path in glob.glob(folder + "/*.c") + glob.glob(folder + "/*_test.sh") + glob.glob(folder + "/compare.py"):
        cases.setdefault(os.path.basename(path), set()).update(cases_of(path))
everywhere = set().union(*cases.values())

suites = {}
for path in glob.glob(top + "/kernel/**/*.rs", recursive=True) + glob.glob(top + "/rust/**/*.rs", recursive=True):
    text = read(path)
    for suite in re.findall(r"kunit_tests\((\w+)\)", text):
        suites[suite] = set(re.findall(r"#\[test\]\s+fn (\w+)", text))

named = set()
for row, cell in rows.items():
    prefix = row.replace("-", "_") + "__"
    if cell.startswith("None"):
        if not re.match(r"None: \w.*\.$", cell):
            problems.append(f"{row}: has no test, and does not say why")
        continue
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
            ok = any(glob.glob(folder + "/" + what) for folder in folders)
        elif what.endswith((".c", ".sh")):
            kind = what
            if what not in cases:
                problems.append(f"{row}: there is no {what}")
            continue
        elif kind.endswith((".c", ".sh")):
            ok = what in cases.get(kind, ())
            named.add(what)
        else:
            ok = prefix + what in everywhere
            named.add(prefix + what)
        found += 1
        if not ok:
            problems.append(f"{row}: there is no test {what}")
    if not found:
        problems.append(f"{row}: names no test")

for case in sorted(everywhere):
    if "__" in case and case not in named:
        problems.append(f"{case}: no row names it")

# The last sections group rows by the programs that notice them.
notice = read(rst).split("\nWhat a program that works can notice\n")[-1]
groups = re.findall(r"\*([a-z0-9-]+)\*", notice)
for row in sorted(set(groups)):
    if row not in rows:
        problems.append(f"{row}: there is no such row, but programs notice it, or not")
    if groups.count(row) > 1:
        problems.append(f"{row}: is twice among what programs notice, or not")
for row in rows:
    if row not in groups:
        problems.append(f"{row}: does not say which program or script notices it, or that none does")

if len(rows) < 100:
    problems.append(f"only {len(rows)} rows were found")
for problem in problems:
    print(f"{rst[len(top) + 1:]}: {problem}")
sys.exit(bool(problems))
