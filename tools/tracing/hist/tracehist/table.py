# SPDX-License-Identifier: GPL-2.0
"""The contents of a histogram: rows of a key and of what was summed for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from tracehist.bucket import Bucket, Scale

# One part of a key.
Part = Union[int, str, Bucket]
# Numbers, the first of which is the hit count. None is an extreme or an average that is not known.
Row = list[Any]
Rows = dict[tuple[Part, ...], Row]


@dataclass(frozen=True)
class Key:
    """A column of the keys. With a scale its parts are buckets."""

    name: str
    scale: Optional[Scale] = None


@dataclass
class Table:
    """A histogram as it was read at a time, or what was counted between two times."""

    keys: list[Key]
    # The first one is "hitcount".
    values: list[str]
    rows: Rows = field(default_factory=dict)
    trigger: str = ""
    # Hits that the kernel had no room for, if known.
    dropped: Optional[int] = None
    # The rows of each group, for as many rows as existed.
    _index: tuple[int, dict[tuple[Part, ...], list[tuple[Part, ...]]]] = field(
        default=(0, {}), init=False, repr=False, compare=False
    )

    def value(self, name: str) -> Optional[int]:
        """Returns the column of a value, or None."""
        return self.values.index(name) if name in self.values else None

    @property
    def hits(self) -> int:
        """The number of hits in all rows."""
        return sum(row[0] for row in self.rows.values())

    @property
    def axis(self) -> Optional[int]:
        """The column of the key with buckets, the last one if there are several."""
        found = [i for i, key in enumerate(self.keys) if key.scale is not None]
        return found[-1] if found else None

    def buckets(self, column: int) -> list[Bucket]:
        """Returns the buckets in a column of the keys."""
        found = []
        for parts in self.rows:
            part = parts[column]
            if isinstance(part, Bucket):
                found.append(part)
        return found

    def add(self, other: Iterable[tuple[tuple[Part, ...], Row]]) -> None:
        """Adds rows of the same columns."""
        for key, new in other:
            old = self.rows.get(key)
            self.rows[key] = list(new) if old is None else merge(self.values, (old, new))

    def since(self, before: "Table") -> Rows:
        """Returns the rows of what was counted after `before` was read.

        An extreme is known if a hit has exceeded the one before. The difference of two averages
        that the kernel has rounded says nothing.
        """
        out: Rows = {}
        for key, new in self.rows.items():
            old = before.rows.get(key)
            # A smaller count means that the histogram was cleared in between.
            if old is None or new[0] < old[0]:
                out[key] = list(new)
            elif new != old:
                # A sum can be added after its hit was counted, and read before.
                out[key] = [_difference(name, a, b) for name, a, b in zip(self.values, old, new)]
        return out

    def distribution(self, key: Optional[tuple[Part, ...]] = None) -> dict[Bucket, int]:
        """Returns the hits of each bucket, of all rows or of those with these other keys."""
        axis = self.axis
        out: dict[Bucket, int] = {}
        if axis is None:
            return out
        for parts in self._keys_of(key):
            bucket = parts[axis]
            if isinstance(bucket, Bucket):
                out[bucket] = out.get(bucket, 0) + self.rows[parts][0]
        return out

    def _keys_of(self, group: Optional[tuple[Part, ...]]) -> Iterable[tuple[Part, ...]]:
        """Returns the keys of all rows, or of those of a group."""
        if group is None:
            return self.rows
        if self._index[0] != len(self.rows):
            axis = self.axis
            index: dict[tuple[Part, ...], list[tuple[Part, ...]]] = {}
            for parts in self.rows:
                index.setdefault(parts if axis is None else _without(parts, axis), []).append(parts)
            self._index = (len(self.rows), index)
        return self._index[1].get(group, [])

    def groups(self) -> list[tuple[tuple[Part, ...], int]]:
        """Returns the keys other than the one with buckets, with their hits, the most first."""
        axis = self.axis
        out: dict[tuple[Part, ...], int] = {}
        for parts, row in self.rows.items():
            group = parts if axis is None else _without(parts, axis)
            out[group] = out.get(group, 0) + row[0]
        return sorted(out.items(), key=lambda item: (-item[1], str(item[0])))

    def total(self, value: str, key: Optional[tuple[Part, ...]] = None) -> Optional[int]:
        """Returns the sum, the extreme or the average of a value, of all rows or of those with these other keys.

        An average is computed from the column .sum of hist_raw if there is no other. The hit count
        is none of them: "hitcount" would be a field of that name, which the kernel cannot add up.
        """
        if value == "hitcount":
            return None
        rows = [self.rows[parts] for parts in self._keys_of(key)]
        column = self.value(value)
        if column is not None:
            return _together(value, [(row[0], row[column]) for row in rows])
        sums = self.value(sum_of(value)) if is_average(value) else None
        if sums is None:
            return None
        return quotient(sum(row[sums] for row in rows), sum(row[0] for row in rows))

    @property
    def totals(self) -> list[str]:
        """The values besides the hit count that `total` returns: those of the columns, and averages of sums."""
        out: list[str] = []
        for name in self.values:
            out += [name] if name != "hitcount" and name not in out else []
            out += [name[: -len("sum")] + "avg"] if name.endswith(".sum") else []
        return out


def distinct(names: Sequence[str]) -> list[str]:
    """Returns names of which no two are equal: keys=id,id.hex has two columns "id", "id" and "id_2" here."""
    out: list[str] = []
    for name in names:
        number = 2
        new = name
        while new in out or (new != name and new in names):
            new = f"{name}_{number}"
            number += 1
        out.append(new)
    return out


def is_extreme(value: str) -> bool:
    """Returns True for a value that is the least or the largest one."""
    return value.endswith((".min", ".max"))


def is_average(value: str) -> bool:
    """Returns True for a value that is the sum divided by the hits."""
    return value.endswith(".avg")


def sum_of(average: str) -> str:
    """Returns the column of hist_raw with the sums that an average is of."""
    return average[: -len("avg")] + "sum"


def merge(values: Sequence[str], rows: Sequence[Row]) -> Row:
    """Returns some rows of the same columns as one."""
    return [_together(name, [(row[0], row[i]) for row in rows]) for i, name in enumerate(values)]


def quotient(dividend: int, divisor: int) -> Optional[int]:
    """Returns an average as the kernel has it: without a fraction, towards zero."""
    if not divisor:
        return None
    whole = abs(dividend) // divisor
    return whole if dividend >= 0 else -whole


def _together(value: str, found: Sequence[tuple[int, Optional[int]]]) -> Optional[int]:
    """Returns the value of some rows, of which there are the hits and the values."""
    known = [(hits, number) for hits, number in found if number is not None]
    numbers = [number for _, number in known]
    if not known:
        return None
    if value.endswith(".min"):
        return min(numbers)
    if value.endswith(".max"):
        return max(numbers)
    if is_average(value):
        return quotient(sum(hits * number for hits, number in known), sum(hits for hits, _ in known))
    return sum(numbers)


def _difference(value: str, before: Optional[int], now: Optional[int]) -> Optional[int]:
    if now is None or before is None:
        return now
    if is_extreme(value):
        return now if now != before else None
    return None if is_average(value) else now - before


def _without(parts: tuple[Part, ...], axis: int) -> tuple[Part, ...]:
    return parts[:axis] + parts[axis + 1 :]
