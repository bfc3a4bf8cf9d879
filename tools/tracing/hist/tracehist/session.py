# SPDX-License-Identifier: GPL-2.0
"""The loop that reads a histogram in intervals."""

import os
import time
from dataclasses import dataclass
from typing import Callable, Optional

from tracehist.instance import Instance
from tracehist.reader import Reader
from tracehist.recording import Interval, Recording
from tracehist.signals import Waiter
from tracehist.trigger import Trigger


@dataclass
class Limits:
    """The times of readings, and the end of a recording."""

    interval: float = 1.0
    duration: Optional[float] = None
    command: Optional[list[str]] = None
    # What the command prints is not to be in the standard output, which is a file for a program.
    aside: bool = False


# Called after each interval with the counts so far. Returns True if that is enough.
Watcher = Callable[[Recording], bool]


def record(
    instance: Instance, event: str, trigger: Trigger, waiter: Waiter, limits: Limits, watcher: Optional[Watcher] = None
) -> Recording:
    """Sets a trigger in an instance and records what it counts until the limits are reached."""
    instance.trigger(event, str(trigger))
    reader = Reader(instance.event(event), str(trigger))
    recording = Recording(
        event, str(trigger), [], [], source=reader.source, started=time.time(), kernel=os.uname().release
    )
    start = last = time.monotonic()
    end = start + limits.duration if limits.duration is not None else None
    if limits.command:
        waiter.start(limits.command, limits.aside)
    going = True
    while going:
        until = last + limits.interval
        if end is not None and until >= end - limits.interval / 100:
            until = end
        going = waiter.wait(until)
        table = reader.take()
        now = time.monotonic()
        if table.keys and not recording.keys:
            recording.keys = table.keys
        if len(table.values) > len(recording.values):
            recording.values = table.values
        recording.intervals.append(Interval(last - start, now - start, table.rows))
        last = now
        if end is not None and now >= end:
            going = False
        if watcher is not None and watcher(recording):
            going = False
    recording.dropped = reader.dropped()
    return recording
