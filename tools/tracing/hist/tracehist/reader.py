# SPDX-License-Identifier: GPL-2.0
"""Readings of a histogram: the hits since the last one."""

import os
from typing import Any, Optional

from tracehist import raw, text
from tracehist.errors import HistError, of_file
from tracehist.table import Part, Table, is_extreme
from tracehist.tracefs import read_file
from tracehist.trigger import key_names, keys_of, modifier


class Reader:
    """Reads the only histogram of an event of our own instance, in intervals.

    Where there is a file hist_raw it is opened for reading and writing, so the kernel removes
    what was read and each hit is in one interval. Otherwise the differences of what hist
    shows are taken; a hit that the kernel counts while it prints can then be in the next one.
    """

    def __init__(self, folder: str, trigger: str) -> None:
        self.hist = os.path.join(folder, "hist")
        self.raw = os.path.join(folder, "hist_raw")
        self.trigger = trigger
        self.source = "hist_raw" if os.path.exists(self.raw) else "hist"
        self._before: Optional[Table] = None
        # The last extremes of each key, which the kernel keeps when it removes the hits.
        self._extremes: dict[tuple[Part, ...], list[Any]] = {}
        self._names: dict[int, str] = {}

    def take(self) -> Table:
        """Returns what was counted since the last call."""
        if self.source == "hist_raw":
            return self._take_raw()
        return self._take_difference()

    def dropped(self) -> Optional[int]:
        """Returns the number of hits that the kernel had no room for."""
        return text.dropped(read_file(self.hist))

    def _take_raw(self) -> Table:
        tables = raw.parse(_take_file(self.raw), [self.trigger])
        if not tables:
            return Table(keys_of(self.trigger), ["hitcount"], trigger=self.trigger)
        return self._of_interval(self._with_names(tables[0]))

    def _take_difference(self) -> Table:
        now = text.parse(read_file(self.hist))[0]
        before = self._before
        self._before = now
        if before is None:
            return now
        return Table(now.keys, now.values, now.since(before), now.trigger, now.dropped)

    def _of_interval(self, table: Table) -> Table:
        """Leaves out the extremes that were reached earlier: those of this interval are not known."""
        columns = [i for i, name in enumerate(table.values) if is_extreme(name)]
        for key, row in table.rows.items() if columns else ():
            before = self._extremes.get(key)
            self._extremes[key] = [row[i] for i in columns]
            for i, old in zip(columns, before or ()):
                if row[i] == old:
                    row[i] = None
        return table

    def _with_names(self, table: Table) -> Table:
        """hist_raw has the numbers of system calls; their names are in hist."""
        columns = [i for i, name in enumerate(key_names(self.trigger)) if modifier(name)[1] == "syscall"]
        if not columns or not table.rows:
            return table
        numbers = {parts[i] for parts in table.rows for i in columns}
        if not numbers <= set(self._names):
            self._names.update(text.syscall_names(read_file(self.hist)))
        named = Table(table.keys, table.values, {}, table.trigger, table.dropped)
        for parts, row in table.rows.items():
            key = tuple(self._name(part) if i in columns else part for i, part in enumerate(parts))
            named.add([(key, row)])
        return named

    def _name(self, part: Part) -> Part:
        return self._names.get(part, part) if isinstance(part, int) else part


def _take_file(path: str) -> str:
    """Reads all of a hist_raw and has the kernel remove it. What is not fetched would be lost."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        raise of_file(error, "open") from None
    blocks: list[bytes] = []
    try:
        while True:
            block = os.read(fd, 1 << 20)
            if not block:
                return b"".join(blocks).decode("utf-8", "replace")
            blocks.append(block)
    except OSError as error:
        raise HistError(f"cannot read {path}: {error.strerror}", "Hits of this interval are lost.") from None
    finally:
        os.close(fd)
