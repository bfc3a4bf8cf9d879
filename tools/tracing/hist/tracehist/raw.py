# SPDX-License-Identifier: GPL-2.0
"""The format of hist_raw: a line of names, a line for each row, tabs in between.

See Documentation/trace/rust/hist.rst. An empty line separates the histograms of an event.
"""

import re
from collections.abc import Sequence
from typing import Callable, Optional

from tracehist import check
from tracehist.bucket import Log2, Scale, guess_scale
from tracehist.errors import FormatError
from tracehist.table import Key, Part, Table
from tracehist.text import is_number
from tracehist.trigger import key_names, scale_of_key

_OCTAL = re.compile(r"\\([0-7]{3})")


def parse(text: str, triggers: Sequence[str] = ()) -> list[Table]:
    """Returns the tables. The triggers, if known, tell which buckets there are."""
    tables = []
    for number, block in enumerate(text.split("\n\n") if text.strip() else []):
        trigger = triggers[number] if number < len(triggers) else ""
        tables.append(_parse_table(block.strip("\n").split("\n"), trigger))
    return tables


def is_raw(text: str) -> bool:
    """Returns True if a text begins as this format does."""
    return "hitcount" in text.split("\n", 1)[0].split("\t")


def unescape(text: str) -> str:
    """Returns a string with \\ooo as the characters that they stand for."""
    return _OCTAL.sub(lambda m: chr(int(m.group(1), 8)), text)


# Creates a part of a key from some columns.
_Reader = Callable[[Sequence[str]], Part]


def _parse_table(lines: list[str], trigger: str) -> Table:
    header = lines[0].split("\t")
    names = key_names(trigger)
    cells = [line.split("\t") for line in lines[1:]]
    for row, line in zip(cells, lines[1:]):
        if len(row) != len(header):
            raise FormatError(f"not a row of hist_raw: {len(row)} columns instead of {len(header)} in {line!r}")
    first_value = _first_value(header, cells, len(names))
    if first_value is None:
        raise FormatError(f"not a table of hist_raw: there is no column hitcount in {lines[0]!r}")
    keys: list[Key] = []
    columns: list[tuple[int, int, _Reader]] = []
    column = 0
    while column < first_value:
        scale = scale_of_key(names[len(keys)]) if len(keys) < len(names) else None
        key, width, reader = _key(header, column, scale)
        keys.append(key)
        columns.append((column, column + width, reader))
        column += width
    table = Table(keys, header[first_value:], trigger=trigger)
    for row, line in zip(cells, lines[1:]):
        try:
            key_parts = tuple(reader(row[a:b]) for a, b, reader in columns)
            table.add([(key_parts, [int(cell) for cell in row[first_value:]])])
        except ValueError as error:
            raise FormatError(f"not a row of hist_raw: {error} in {line!r}") from None
    return _guessed(table)


def _first_value(header: list[str], rows: list[list[str]], keys: int) -> Optional[int]:
    """Returns the column of the hit count, which is the first of the values, or None.

    A key can be named "hitcount" as well. `keys` is the number of keys, or 0 if it is not known.
    """
    column = 0
    for _ in range(keys):
        column += _width(header, column)
    if keys and header[column : column + 1] == ["hitcount"]:
        return column
    # The first column is a key. The values vals=hitcount.percent and .graph repeat the hit count,
    # so what differs from one of the columns named like it is a key.
    found = [i for i, name in enumerate(header) if name == "hitcount" and i > 0]
    for i in found:
        if all(row[i] == row[other] for row in rows for other in found if other > i):
            return i
    return None


def _width(header: list[str], column: int) -> int:
    """Returns the number of columns of the key that begins at a column."""
    name, following = header[column : column + 1], header[column + 1 : column + 2]
    if not name or not following:
        return 1
    is_range = name[0].endswith(".from") and following[0] == name[0][: -len("from")] + "to"
    return 2 if is_range or following[0] == f"{name[0]}.execname" else 1


def _key(header: list[str], column: int, scale: Optional[Scale]) -> tuple[Key, int, _Reader]:
    """Returns the key that begins at a column, the number of its columns, and what reads it."""
    name = header[column]
    width = _width(header, column)
    if width == 2 and name.endswith(".from"):
        return Key(name[: -len(".from")], scale or Log2()), 2, lambda c: check.kernel_bucket(c[0], c[1])
    if name.endswith(".log2"):
        return Key(name[: -len(".log2")], Log2()), 1, lambda c: Log2().bucket(check.power(int(c[0])))
    if width == 2:
        return Key(name), 2, lambda c: f"{unescape(c[1])}-{c[0]}"
    return Key(name), 1, lambda c: int(c[0]) if is_number(c[0]) else unescape(c[0])


def _guessed(table: Table) -> Table:
    """Finds the scales that no trigger has told."""
    if not table.trigger:
        for i, key in enumerate(table.keys):
            buckets = table.buckets(i)
            if buckets and not all(Log2().bucket(Log2().index(b.high)) == b for b in buckets):
                table.keys[i] = Key(key.name, guess_scale(buckets))
    return table
