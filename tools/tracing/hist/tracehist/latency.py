# SPDX-License-Identifier: GPL-2.0
"""The time between two events, measured in the kernel.

A variable of a histogram on the first event keeps the time. The histogram on the second one
subtracts it from its own, and makes a synthetic event of the difference, which a third
histogram counts. Documentation/trace/histogram.rst explains this recipe.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Optional

from tracehist import text
from tracehist.errors import HistError
from tracehist.instance import Instance
from tracehist.request import Request
from tracehist.tracefs import Tracefs, read_file
from tracehist.trigger import Trigger

CLOCKS = {"us": "common_timestamp.usecs", "ns": "common_timestamp"}


@dataclass
class Latency:
    """Two events, the fields that have to be equal, and the fields that the times are divided by."""

    start: str
    end: str
    keys: list[tuple[str, str]]
    by: list[str] = field(default_factory=list)
    unit: str = "us"
    buckets: str = "log2=3"
    start_filter: Optional[str] = None
    end_filter: Optional[str] = None
    size: Optional[int] = None
    save: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The measured time, as a heading."""
        return f"time from {_shown(self.start)} to {_shown(self.end)}"

    def check(self, tracefs: Tracefs) -> None:
        """Raises an error if a field that was named is not there."""
        for event, names in (
            (self.start, [a for a, _ in self.keys]),
            (self.end, [b for _, b in self.keys] + self.by + self.save),
        ):
            fields = tracefs.fields(event)
            for name in names:
                plain = name.partition(".")[0]
                if plain not in fields and not plain.startswith("common_"):
                    own = [f for f in fields if not f.startswith("common_")]
                    raise HistError(
                        f"the event {_shown(event)} has no field {name}",
                        f"It has {', '.join(own)}, and common_pid.\n"
                        "A field with another name in the second event: --key pid=next_pid",
                    )

    def set_up(self, instance: Instance) -> tuple[str, Trigger]:
        """Sets all but the last trigger. Returns its event and the trigger itself."""
        reuse = instance.tracefs.has_parts()
        by = [self._declared(instance.tracefs, name) for name in self.by]
        event = instance.synthetic("; ".join(["u64 lat"] + [declaration for _, declaration in by]))
        instance.trigger(
            self.start,
            str(
                Trigger(
                    [a for a, _ in self.keys],
                    variables=[f"t0={CLOCKS[self.unit]}"],
                    size=self.size,
                    filter=self.start_filter,
                    reuse=reuse,
                )
            ),
        )
        system, _, name = self.start.partition("/")
        parameters = ",".join([instance.name, "$lat"] + self.by)
        actions = [f"onmatch({system}.{name}).trace({parameters})"]
        if self.save:
            actions.append(f"onmax($lat).save({','.join(self.save)})")
        match = Trigger(
            [b for _, b in self.keys],
            variables=[f"lat={CLOCKS[self.unit]}-$t0"],
            size=self.size,
            actions=actions,
            filter=self.end_filter,
            # The longest time of each key is to stay.
            reuse=reuse and not self.save,
        )
        instance.trigger(self.end, str(match))
        keys = [name for name, _ in by] + [f"lat.{self.buckets}"]
        values = ["lat"] + (["lat.max"] if instance.tracefs.has_parts() else [])
        return event, Request(event, keys, values, size=self.size).trigger(instance.tracefs)

    def lost(self, instance: Instance) -> int:
        """Returns the number of times that the first two histograms had no room for, or more.

        A start that is still waited for is among them, even if its end would never have come.
        """
        return sum(text.lost(read_file(instance.event(event, "hist"))) for event in {self.start, self.end})

    def longest(self, instance: Instance) -> list[dict[str, Any]]:
        """Returns the longest time of each key, with the fields that were saved then; the longest one first."""
        if not self.save:
            return []
        keys = [_beside_max(b) for _, b in self.keys]
        save = [_beside_max(name) for name in self.save]
        rows = text.saved(read_file(instance.event(self.end, "hist")), self.save)
        rows.sort(key=lambda row: -row[1])
        return [{"max": most, **dict(zip(keys, parts)), **dict(zip(save, fields))} for parts, most, fields in rows]

    def _declared(self, tracefs: Tracefs, name: str) -> tuple[str, str]:
        """Returns a field of the second event as the synthetic event has it: name and declaration."""
        declaration = tracefs.fields(self.end).get(name, "")
        # A string of varying length is "__data_loc char[] name" there, and "char name[]" here.
        declaration = re.sub(r"^(?:__data_loc|__rel_loc) char ?\[\] ?", "char[] ", declaration)
        match = re.match(r"(?:const )?(.*?)(\[\d*\])? ?(\w+)(\[\w*\])?$", declaration)
        if match is None or "*" in declaration or "__data_loc" in declaration:
            raise HistError(f"the latencies cannot be divided by {name}, which is {declaration!r}")
        array = match.group(2) or match.group(4) or ""
        # Names that begin with common_ are taken.
        own = re.sub("^common_", "", name)
        return own, f"{match.group(1).strip()} {own}{array}"


def _beside_max(name: str) -> str:
    """Returns the name of a field beside "max", which is the time."""
    return f"{name}_2" if name == "max" else name


def _shown(event: str) -> str:
    return event.replace("/", ":")
