# SPDX-License-Identifier: GPL-2.0
"""The format of hist: the table for people, which each kernel with hist triggers has."""

import re
from collections.abc import Sequence
from typing import Optional

from tracehist import check
from tracehist.bucket import Log2, guess_scale
from tracehist.errors import FormatError
from tracehist.table import Key, Part, Table
from tracehist.trigger import key_names, keys_of, modifier

_TRIGGER = re.compile(r"# trigger info: (.*?)(?: \[(?:active|paused)\])?$")
# The keys, and "NAME: NUMBER" for each value; one without a number is shown for people only.
_ROW = re.compile(r"\{ (.*?) ?\}((?: +[^ :{}][^:{}]*: +\S+)*) *$", re.DOTALL)
_VALUE = re.compile(r"([^ :][^:]*): +(\S+)")
_DROPPED = re.compile(r"    Dropped: (\d+)$")
_NUMBER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_RANGE = re.compile(r"~ (-?\d+)-(-?\d+)$")
_POWER = re.compile(r"~ 2\^(\d+)$")
_TASK = re.compile(r"(.*?) *\[ *(-?\d+)\]$", re.DOTALL)
_SYMBOL = re.compile(r"\[[0-9a-f]+\] (.*)$")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[a-z]+)?"


def is_number(text: str) -> bool:
    """Returns True for a number as the kernel writes it. A string such as 007 is none."""
    return _NUMBER.match(text) is not None


def is_text(text: str) -> bool:
    """Returns True if a text begins as this format does."""
    return text.startswith("# event histogram")


def parse(text: str) -> list[Table]:
    """Returns the tables of a file, one for each histogram of the event."""
    tables: list[Table] = []
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        match = _TRIGGER.match(line)
        if match:
            tables.append(Table(keys_of(match.group(1)), [], trigger=match.group(1)))
        elif line.startswith("{ ") and tables:
            # A stack has a line for each function.
            while "}" not in lines[i] and i + 1 < len(lines):
                i += 1
                line += "\n" + lines[i]
            if not _in_quantiles(line):
                _add_row(tables[-1], line)
        elif tables and _DROPPED.match(line):
            tables[-1].dropped = int(line.split(": ")[1])
        i += 1
    if not tables:
        raise FormatError("not a hist file: there is no line '# trigger info'")
    for table in tables:
        _finish(table)
    return tables


def _in_quantiles(line: str) -> bool:
    return re.search(r"\} \S+\.p50: ", line) is not None


def _add_row(table: Table, line: str) -> None:
    match = _ROW.match(line)
    if match is None:
        raise FormatError(f"not a row of hist: {line!r}")
    names = key_names(table.trigger)
    cells = _split_keys(match.group(1), [key.name for key in table.keys])
    # The C implementation shows some triggers wrongly, such as keys=common_cpucommon_cpu.
    if [key.name for key in table.keys] != [name for name, _ in cells]:
        table.keys = [Key(name) for name, _ in cells]
        names = [name for name, _ in cells]
    parts = tuple(_part(cell, modifier(name)[1]) for (_, cell), name in zip(cells, names))
    values: dict[str, int] = {}
    for name, value in _VALUE.findall(match.group(2)):
        # Percentages and graphs are not numbers, and repeat a name.
        if re.match(r"-?\d+$", value) and name.strip() not in values:
            values[name.strip()] = int(value)
    if "hitcount" not in values:
        raise FormatError(f"a row without hitcount (leave 'nohitcount' out of the trigger): {line!r}")
    if not table.values:
        table.values = list(values)
    table.add([(parts, [values.get(name, 0) for name in table.values])])


def _split_keys(text: str, names: list[str]) -> list[tuple[str, str]]:
    """Splits "pid: 3, comm: a" into names and texts. A string may contain what separates them."""
    pattern = ", ".join(f"({re.escape(name)}):(.*?)" for name in names)
    match = re.match(pattern + "$", text, re.DOTALL) if names else None
    if match:
        found = match.groups()
        return [(found[i], found[i + 1].strip()) for i in range(0, len(found), 2)]
    cells = re.split(rf"(?:^|, )({_NAME}):", text)[1:]
    if not cells:
        raise FormatError(f"not the keys of a row: {text!r}")
    return [(cells[i], cells[i + 1].strip()) for i in range(0, len(cells), 2)]


def _part(cell: str, how: str) -> Part:
    match = _RANGE.match(cell)
    if match:
        return check.kernel_bucket(match.group(1), match.group(2))
    match = _POWER.match(cell)
    if match:
        return Log2().bucket(check.power(int(match.group(1))))
    if how == "execname":
        match = _TASK.match(cell)
        return f"{match.group(1)}-{match.group(2)}" if match else cell
    if how == "syscall":
        match = _TASK.match(cell)
        return match.group(1) if match else cell
    if how.startswith("sym"):
        match = _SYMBOL.match(cell)
        return match.group(1).strip() if match else cell
    if how == "hex":
        try:
            return int(cell, 16)
        except ValueError:
            return cell
    if "\n" in cell:
        return ",".join(line.strip() for line in cell.split("\n") if line.strip())
    return int(cell) if is_number(cell) else cell


def _finish(table: Table) -> None:
    if not table.values:
        table.values = ["hitcount"]
    for i, key in enumerate(table.keys):
        buckets = table.buckets(i)
        if buckets and key.scale is None:
            table.keys[i] = Key(key.name, guess_scale(buckets))


def syscall_names(text: str) -> dict[int, str]:
    """Returns the names of the system calls in a table with a key .syscall, by number."""
    found: dict[int, str] = {}
    for match in re.finditer(r": (\S+) +\[ *(\d+)\]", text):
        found[int(match.group(2))] = match.group(1)
    return found


def saved(text: str, names: Sequence[str]) -> list[tuple[tuple[Part, ...], int, list[str]]]:
    """Returns the key, the extreme and the saved fields of each row whose trigger has onmax().save()."""
    found: list[tuple[tuple[Part, ...], int, list[str]]] = []
    pattern = re.compile(
        r"\t(?:max|min): +(-?\d+)" + "".join(rf"  {re.escape(name)}: *(.*?)" for name in names) + " *$"
    )
    for row, line in zip(text.split("\n"), text.split("\n")[1:]):
        match = pattern.match(line)
        if match and row.startswith("{ "):
            key = _ROW.match(row)
            cells = re.split(rf"(?:^|, ){_NAME}:", key.group(1))[1:] if key else []
            found.append(
                (
                    tuple(_part(cell.strip(), "") for cell in cells),
                    int(match.group(1)),
                    [cell.strip() for cell in match.groups()[1:]],
                )
            )
    return found


def dropped(text: str) -> Optional[int]:
    """Returns the number of hits that the first histogram of a file had no room for."""
    match = re.search(_DROPPED.pattern, text, re.MULTILINE)
    return int(match.group(1)) if match else None


def lost(text: str) -> int:
    """Returns the number of hits that the histograms of a file had no room for, or that were waited for and gave way."""
    return sum(int(number) for number in re.findall(r"^    (?:Dropped|Lost): (\d+)$", text, re.MULTILINE))
