# SPDX-License-Identifier: GPL-2.0
"""The contents of a histogram: rows of a key and of what was summed for it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional, Union

from tracehist.bucket import Bucket, Scale

# One part of a key.
Part = Union[int, str, Bucket]
Rows = dict[tuple[Part, ...], list[int]]


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

    def add(self, other: Iterable[tuple[tuple[Part, ...], list[int]]]) -> None:
        """Adds rows of the same columns."""
        for key, new in other:
            old = self.rows.get(key)
            self.rows[key] = (
                list(new) if old is None else [merge(name, a, b) for name, a, b in zip(self.values, old, new)]
            )

    def since(self, before: "Table") -> Rows:
        """Returns the rows of what was counted after `before` was read."""
        out: Rows = {}
        for key, new in self.rows.items():
            old = before.rows.get(key)
            # A smaller count means that the histogram was cleared meanwhile.
            if old is None or new[0] < old[0]:
                out[key] = list(new)
            elif new != old:
                # A sum can be added after its hit was counted, and read before.
                out[key] = [b if is_extreme(name) else b - a for name, a, b in zip(self.values, old, new)]
        return out

    def distribution(self, key: Optional[tuple[Part, ...]] = None) -> dict[Bucket, int]:
        """Returns the hits of each bucket, of all rows or of those with these other keys."""
        axis = self.axis
        out: dict[Bucket, int] = {}
        if axis is None:
            return out
        for parts, row in self.rows.items():
            bucket = parts[axis]
            if isinstance(bucket, Bucket) and (key is None or _without(parts, axis) == key):
                out[bucket] = out.get(bucket, 0) + row[0]
        return out

    def groups(self) -> list[tuple[tuple[Part, ...], int]]:
        """Returns the keys other than the one with buckets, with their hits, the most first."""
        axis = self.axis
        out: dict[tuple[Part, ...], int] = {}
        for parts, row in self.rows.items():
            group = parts if axis is None else _without(parts, axis)
            out[group] = out.get(group, 0) + row[0]
        return sorted(out.items(), key=lambda item: (-item[1], str(item[0])))

    def total(self, value: str, key: Optional[tuple[Part, ...]] = None) -> Optional[int]:
        """Returns the sum (or the extreme) of a value, of all rows or of those with these other keys."""
        column = self.value(value)
        axis = self.axis
        result: Optional[int] = None
        if column is None:
            return None
        for parts, row in self.rows.items():
            if key is not None and (parts if axis is None else _without(parts, axis)) != key:
                continue
            result = row[column] if result is None else merge(value, result, row[column])
        return result


def is_extreme(value: str) -> bool:
    """Returns True for a value that is not a sum."""
    return value.endswith((".min", ".max"))


def merge(value: str, a: int, b: int) -> int:
    """Returns the value of two rows together."""
    if value.endswith(".min"):
        return min(a, b)
    if value.endswith(".max"):
        return max(a, b)
    return a + b


def _without(parts: tuple[Part, ...], axis: int) -> tuple[Part, ...]:
    return parts[:axis] + parts[axis + 1 :]
