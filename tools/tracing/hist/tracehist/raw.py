# SPDX-License-Identifier: GPL-2.0
"""The format of hist_raw: a line of names, a line for each row, tabs in between.

See Documentation/trace/rust/hist.rst. An empty line separates the histograms of an event.
"""

import re
from collections.abc import Sequence
from typing import Callable, Optional

from tracehist.bucket import Bucket, Log2, Scale, guess_scale
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
    if "hitcount" not in header:
        raise FormatError(f"not a table of hist_raw: there is no column hitcount in {lines[0]!r}")
    first_value = header.index("hitcount")
    names = key_names(trigger)
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
    for line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(header):
            raise FormatError(f"not a row of hist_raw: {len(cells)} columns instead of {len(header)} in {line!r}")
        try:
            key_parts = tuple(reader(cells[a:b]) for a, b, reader in columns)
            table.add([(key_parts, [int(cell) for cell in cells[first_value:]])])
        except ValueError as error:
            raise FormatError(f"not a row of hist_raw: {error} in {line!r}") from None
    return _guessed(table)


def _key(header: list[str], column: int, scale: Optional[Scale]) -> tuple[Key, int, _Reader]:
    """Returns the key that begins at a column, the number of its columns, and what reads it."""
    name = header[column]
    following = header[column + 1] if column + 1 < len(header) else ""
    if name.endswith(".from") and following == name[: -len("from")] + "to":
        return Key(name[: -len(".from")], scale or Log2()), 2, lambda c: Bucket(int(c[0]), int(c[1]))
    if name.endswith(".log2"):
        return Key(name[: -len(".log2")], Log2()), 1, lambda c: Log2().bucket(int(c[0]))
    if following == f"{name}.execname":
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
