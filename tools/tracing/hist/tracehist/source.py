# SPDX-License-Identifier: GPL-2.0
"""Reading what there is already: recordings, hist and hist_raw files, histograms of the kernel."""

import os
import sys
from typing import Optional

from tracehist import raw, recording, text
from tracehist.errors import FormatError, HistError
from tracehist.recording import Recording
from tracehist.tracefs import Tracefs, read_file


def load(name: str) -> list[Recording]:
    """Returns what is in a file, "-" for the standard input. The format is found out."""
    contents = sys.stdin.buffer.read().decode("utf-8", "replace") if name == "-" else read_file(name)
    where = "the standard input" if name == "-" else name
    try:
        return parse(contents, "" if name == "-" else name)
    except FormatError as error:
        raise FormatError(
            f"{where}: {error}",
            "It should be a recording (hist record -o FILE), or the contents of a hist or hist_raw file.",
        ) from None


def parse(contents: str, name: str = "") -> list[Recording]:
    """Returns the recordings of a text: one, or one for each histogram of an event. They are checked."""
    try:
        found = _parse(contents, event_of_path(name))
        for one in found:
            one.check()
    except ValueError as error:
        raise FormatError(f"a damaged file: {error}") from None
    return found


def _parse(contents: str, event: str) -> list[Recording]:
    if contents.lstrip().startswith("{") and '"format"' in contents:
        return [recording.load(contents)]
    if text.is_text(contents):
        return [Recording.of_table(t, event, "hist") for t in text.parse(contents)]
    if raw.is_raw(contents):
        return [Recording.of_table(t, event, "hist_raw") for t in raw.parse(contents)]
    if not contents.strip():
        raise FormatError("it is empty (an event without a histogram has an empty hist file)")
    raise FormatError("the format is not known")


def event_of_path(name: str) -> str:
    """Returns SYSTEM/EVENT of the path of a file in tracefs, or nothing."""
    parts = os.path.abspath(name).split("/") if name else []
    if len(parts) > 3 and parts[-1] in ("hist", "hist_raw") and parts[-4] == "events":
        return "/".join(parts[-3:-1])
    return ""


def of_event(tracefs: Tracefs, name: str, instance: Optional[str] = None) -> str:
    """Returns the hist file of an event that has a histogram."""
    event = tracefs.event(name)
    folder = tracefs.path("instances", instance) if instance else tracefs.root
    path = os.path.join(folder, "events", event, "hist")
    tracefs.require_hist(event)
    if not text.is_text(read_file(path)):
        raise HistError(
            f"the event {event.replace('/', ':')} has no histogram",
            f"hist record -e {event.replace('/', ':')} makes one and records it.",
        )
    return path
