# SPDX-License-Identifier: GPL-2.0
"""From what was asked for on the command line to triggers that this kernel has."""

import sys
from dataclasses import dataclass, field
from typing import Optional

from tracehist.bucket import Parts, scale_of
from tracehist.errors import HistError
from tracehist.tracefs import Tracefs
from tracehist.trigger import Trigger, modifier

# Values that histograms in C have, besides the hit count.
MOST_VALUES = 2
STATISTICS = ("min", "max", "avg")


@dataclass
class Request:
    """An event and the fields to count it by."""

    event: str
    keys: list[str]
    values: list[str] = field(default_factory=list)
    filter: Optional[str] = None
    size: Optional[int] = None

    def trigger(self, tracefs: Tracefs) -> Trigger:
        """Returns the trigger, reduced to what the kernel has; the user is told."""
        if not self.keys:
            raise HistError("there is no key to count by", "Name a field, for example --keys common_pid.")
        new = tracefs.has_parts()
        keys = self.keys if new else [_without_parts(key) for key in self.keys]
        values = self.values if new else [v for v in self.values if modifier(v)[1] not in STATISTICS]
        for value in self.values:
            if value not in values:
                notice(f"this kernel has no {value}: it is left out")
            if modifier(value)[1] in ("percent", "graph"):
                raise HistError(
                    f"{value} cannot be recorded: it is a way of showing a value",
                    f"Record {modifier(value)[0]}; shares are shown in any case.",
                )
        return Trigger(keys, values + self._sum_of_buckets(values), size=self.size, filter=self.filter)

    def _sum_of_buckets(self, values: list[str]) -> list[str]:
        """The sum of the numbers that are in buckets, which Prometheus and OpenTelemetry want."""
        fields = [modifier(key)[0] for key in self.keys if scale_of(modifier(key)[1])]
        plain = [v for v in values if modifier(v)[1] not in STATISTICS and v != "hitcount"]
        # The kernel takes a value "hitcount" for the hits, even if a field is named like it.
        if not fields or fields[-1] in [*values, "hitcount"] or len(plain) >= MOST_VALUES:
            return []
        return [fields[-1]]


def _without_parts(key: str) -> str:
    name, how = modifier(key)
    if isinstance(scale_of(how), Parts):
        notice(f"this kernel has no .{how}: {name}.log2 is counted instead, with a bucket for each power of two")
        return f"{name}.log2"
    return key


def notice(text: str) -> None:
    """Tells the user something that is no error."""
    print(f"hist: {text}", file=sys.stderr)


def split(text: Optional[str]) -> list[str]:
    """Returns the items of a list with commas."""
    return [item.strip() for item in text.split(",") if item.strip()] if text else []


def matched_keys(text: str) -> list[tuple[str, str]]:
    """Returns pairs of fields for "pid=next_pid,common_cpu": of the first event and of the second one."""
    pairs = []
    for item in split(text):
        first, _, second = item.partition("=")
        pairs.append((first.strip(), (second or first).strip()))
    if not pairs:
        raise HistError("there is no key to match the two events by", "Name a field, for example --key pid.")
    return pairs
