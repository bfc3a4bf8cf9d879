# SPDX-License-Identifier: GPL-2.0
"""A recording: the rows that a histogram counted in each of a number of intervals, as JSON."""

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from tracehist.bucket import Bucket, Scale, guess_scale, scale_of
from tracehist.errors import FormatError
from tracehist.table import Key, Part, Rows, Table

FORMAT = "linux-hist-recording"
VERSION = 1


@dataclass
class Interval:
    """The rows that were counted from one time to another, in seconds since the start."""

    start: float
    end: float
    rows: Rows


@dataclass
class Recording:
    """All intervals, and what they are of."""

    event: str
    trigger: str
    keys: list[Key]
    values: list[str]
    # "hist_raw" or "hist".
    source: str = ""
    # Of the key with buckets, such as "us"; empty if it has none.
    unit: str = ""
    # In seconds since 1970.
    started: float = 0.0
    kernel: str = ""
    title: str = ""
    dropped: Optional[int] = None
    intervals: list[Interval] = field(default_factory=list)
    # The longest times, with what was saved then.
    longest: list[dict[str, Any]] = field(default_factory=list)
    # The rows of these intervals together.
    _summed: list[Interval] = field(default_factory=list, init=False, repr=False, compare=False)
    _sum: Rows = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def duration(self) -> float:
        """The time from the first to the last reading."""
        return self.intervals[-1].end - self.intervals[0].start if self.intervals else 0.0

    def total(self) -> Table:
        """Returns what was counted in all intervals.

        It is asked for after each interval if a live table is shown, so only new ones are added.
        """
        done = len(self._summed)
        if done > len(self.intervals) or any(a is not b for a, b in zip(self._summed, self.intervals)):
            done, self._sum = 0, {}
        table = Table(list(self.keys), list(self.values), self._sum, self.trigger, self.dropped)
        for interval in self.intervals[done:]:
            table.add(interval.rows.items())
        self._summed = list(self.intervals)
        return table

    @classmethod
    def of_table(cls, table: Table, event: str = "", source: str = "") -> "Recording":
        """Returns a table as a recording of a single interval of unknown length."""
        return cls(
            event,
            table.trigger,
            table.keys,
            table.values,
            source=source,
            dropped=table.dropped,
            intervals=[Interval(0.0, 0.0, table.rows)],
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the contents of a file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "event": self.event,
            "trigger": self.trigger,
            "source": self.source,
            "kernel": self.kernel,
            "started": self.started,
            "unit": self.unit,
            "dropped": self.dropped,
            "longest": self.longest,
            "keys": [{"name": k.name, "scale": k.scale.name if k.scale else None} for k in self.keys],
            "values": self.values,
            "intervals": [
                {
                    "start": round(i.start, 6),
                    "end": round(i.end, 6),
                    "rows": [[[_part_to_json(p) for p in parts], row] for parts, row in i.rows.items()],
                }
                for i in self.intervals
            ],
        }

    @classmethod
    def from_json(cls, data: Any) -> "Recording":
        """Returns the recording that a file contains."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FormatError('not a recording: its "format" is not ' + FORMAT)
        if data.get("version") != VERSION:
            raise FormatError(f"a recording of version {data.get('version')}; this program reads version {VERSION}")
        try:
            recording = cls(
                data["event"],
                data["trigger"],
                [],
                data["values"],
                data["source"],
                data["unit"],
                data["started"],
                data["kernel"],
                data["title"],
                data["dropped"],
                longest=data.get("longest", []),
            )
            for i in data["intervals"]:
                rows = {tuple(_part_from_json(p) for p in parts): list(row) for parts, row in i["rows"]}
                recording.intervals.append(Interval(i["start"], i["end"], rows))
            for column, key in enumerate(data["keys"]):
                recording.keys.append(Key(key["name"], _scale_from_json(key["scale"], recording, column)))
            for i in recording.intervals:
                for parts, row in i.rows.items():
                    _check_row(recording, parts, row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"a damaged recording: {type(error).__name__}: {error}") from None
        return recording


def _check_row(recording: Recording, parts: tuple[Part, ...], row: list[Any]) -> None:
    """Raises an error for a row that does not suit the columns."""
    if len(parts) != len(recording.keys) or len(row) != len(recording.values):
        raise ValueError(f"a row has {len(parts)} keys and {len(row)} values")
    for key, part in zip(recording.keys, parts):
        if key.scale is not None and not isinstance(part, Bucket):
            raise ValueError(f"{key.name} is no bucket: {part!r}")
    if not isinstance(row[0], int) or not all(value is None or isinstance(value, int) for value in row):
        raise ValueError(f"a value is no number: {row!r}")


def _part_to_json(part: Part) -> Any:
    return {"from": part.low, "to": part.high} if isinstance(part, Bucket) else part


def _part_from_json(part: Any) -> Part:
    return Bucket(int(part["from"]), int(part["to"])) if isinstance(part, dict) else part


def _scale_from_json(name: Optional[str], recording: Recording, column: int) -> Optional[Scale]:
    if name is None:
        return None
    buckets = [p[column] for i in recording.intervals for p in i.rows]
    return scale_of(name) or guess_scale(b for b in buckets if isinstance(b, Bucket))


def load(text: str) -> Recording:
    """Returns the recording in the text of a file."""
    try:
        return Recording.from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error}") from None


def dump(recording: Recording) -> str:
    """Returns the text of a file: a line for each interval."""
    data = recording.to_json()
    intervals = data.pop("intervals")
    head = json.dumps(data, indent=1)[:-2]
    return head + ',\n "intervals": [\n' + ",\n".join("  " + json.dumps(i) for i in intervals) + "\n ]\n}\n"
