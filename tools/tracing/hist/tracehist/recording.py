# SPDX-License-Identifier: GPL-2.0
"""A recording: the rows that a histogram counted in each of a number of intervals, as JSON."""

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from tracehist import check
from tracehist.bucket import Bucket, guess_scale, scale_of
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
            recording = _from_json(data)
            recording.check()
        except ValueError as error:
            raise FormatError(f"a damaged recording: {error}") from None
        return recording

    def check(self) -> None:
        """Raises ValueError for what no kernel counts and no program could draw.

        Each file passes it when it is read, so the rest of the program can rely on it.
        """
        for name in ("event", "trigger", "source", "unit", "kernel", "title"):
            check.string(getattr(self, name), name)
        if self.values[:1] != ["hitcount"]:
            raise ValueError(f"the first value is not hitcount: {check.shown(self.values)}")
        if self.dropped is not None:
            check.integer(self.dropped, "dropped", 0)
        check.time(self.started, "started")
        before = 0.0
        for interval in self.intervals:
            check.time(interval.start, "start", before)
            before = check.time(interval.end, "end", interval.start)
            if interval.rows and not self.keys:
                raise ValueError("there are rows, and no keys")
            for parts, row in interval.rows.items():
                check.row(self.keys, self.values, parts, row)
        check.time(self.started + before, "end")
        for one in self.longest:
            check.integer(check.member(one, "max"), "max")
            if list(one) != list(self.longest[0]):
                raise ValueError(f"the columns of 'longest' are not the same: {check.shown(one)}")


def _from_json(data: Any) -> Recording:
    """Returns what a file contains, of the right types where it would otherwise not get that far."""
    names = ("event", "trigger", "source", "unit", "kernel", "title")
    recording = Recording(
        keys=[],
        values=[check.string(v, "values") for v in check.items(data, "values")],
        started=check.member(data, "started"),
        dropped=check.member(data, "dropped"),
        longest=check.items(data, "longest") if "longest" in data else [],
        **{name: check.string(check.member(data, name), name) for name in names},
    )
    recording.longest = [_longest_from_json(one) for one in recording.longest]
    keys = check.items(data, "keys")
    for interval in check.items(data, "intervals"):
        rows: Rows = {}
        for pair in check.items(interval, "rows"):
            if not isinstance(pair, list) or [type(item) for item in pair] != [list, list]:
                raise ValueError(f"a row is no list of keys and of values: {check.shown(pair)}")
            parts = tuple(_part_from_json(part) for part in pair[0])
            if len(parts) != len(keys):
                raise ValueError(f"a row has {len(parts)} keys, not {len(keys)}")
            if parts in rows:
                raise ValueError(f"two rows of an interval have the key {check.shown(pair[0])}")
            rows[parts] = pair[1]
        recording.intervals.append(Interval(check.member(interval, "start"), check.member(interval, "end"), rows))
    for column, key in enumerate(keys):
        recording.keys.append(_key_from_json(key, recording, column))
    return recording


def _part_to_json(part: Part) -> Any:
    return {"from": part.low, "to": part.high} if isinstance(part, Bucket) else part


def _part_from_json(part: Any) -> Part:
    if isinstance(part, dict):
        return check.bucket(check.member(part, "from"), check.member(part, "to"))
    return check.string(part, "key") if isinstance(part, str) else check.integer(part, "key")


def _key_from_json(key: Any, recording: Recording, column: int) -> Key:
    name = check.string(check.member(key, "name"), "name")
    scale = check.member(key, "scale")
    if scale is None:
        return Key(name)
    buckets = [parts[column] for i in recording.intervals for parts in i.rows]
    return Key(
        name, scale_of(check.string(scale, "scale")) or guess_scale(b for b in buckets if isinstance(b, Bucket))
    )


def _longest_from_json(one: Any) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise ValueError(f"'longest' is no list of objects: {check.shown(one)}")
    return {
        check.string(name, name): check.string(value, name) if isinstance(value, str) else check.integer(value, name)
        for name, value in one.items()
    }


def load(text: str) -> Recording:
    """Returns the recording in the text of a file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Besides a wrong syntax: a number of thousands of digits, thousands of brackets.
        raise FormatError(f"not JSON: {error}") from None
    return Recording.from_json(data)


def dump(recording: Recording) -> str:
    """Returns the text of a file: a line for each interval."""
    data = recording.to_json()
    intervals = data.pop("intervals")
    head = json.dumps(data, indent=1)[:-2]
    return head + ',\n "intervals": [\n' + ",\n".join("  " + json.dumps(i) for i in intervals) + "\n ]\n}\n"
