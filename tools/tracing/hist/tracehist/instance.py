# SPDX-License-Identifier: GPL-2.0
"""A trace instance that lasts as long as a recording, with its triggers and synthetic events."""

import errno
import os
import re
import sys
import time
from types import TracebackType
from typing import Optional

from tracehist.errors import HistError
from tracehist.tracefs import Tracefs, append, last_error, read_file

# The names of instances and synthetic events end in the id of the process.
PREFIX = "hist_tool_"
# For how long something is tried that is still used by hits or by a reader.
PATIENCE = 5.0


class Instance:
    """A folder in instances/, removed with all that was set up in it at the end of a `with`."""

    def __init__(self, tracefs: Tracefs) -> None:
        self.tracefs = tracefs
        self.name = f"{PREFIX}{os.getpid()}"
        self.folder = tracefs.path("instances", self.name)
        self._undo: list[tuple[str, str]] = []

    def __enter__(self) -> "Instance":
        try:
            os.mkdir(self.folder)
        except OSError as error:
            hints = {errno.EEXIST: "A program that was killed has left it: hist cleanup removes it."}
            hints.update({number: "Run this as root." for number in (errno.EACCES, errno.EPERM)})
            hint = hints.get(error.errno or 0)
            raise HistError(f"cannot create the trace instance {self.folder}: {error.strerror}", hint) from None
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        for path, command in reversed(self._undo):
            _retry(lambda p=path, c=command: append(p, c), f"{command!r} to {path}")
        self._undo.clear()
        _retry(lambda: os.rmdir(self.folder), f"the removal of {self.folder}")

    def event(self, event: str, *names: str) -> str:
        """Returns the path of a file of an event in the instance."""
        return os.path.join(self.folder, "events", event, *names)

    def trigger(self, event: str, line: str) -> None:
        """Sets a trigger, which is removed at the end."""
        path = self.event(event, "trigger")
        self._command(path, line, os.path.join(self.folder, "error_log"))
        self._undo.append((path, "!" + line))

    def synthetic(self, definition: str) -> str:
        """Creates a synthetic event, which is removed at the end, and returns its name.

        It is named like the instance; `definition` is its fields.
        """
        path = self.tracefs.path("synthetic_events")
        if not os.path.exists(path):
            raise HistError(
                f"there is no {path}: this kernel has no synthetic events",
                "Latencies need CONFIG_HIST_TRIGGERS=y and CONFIG_SYNTH_EVENTS=y.",
            )
        self._command(path, f"{self.name} {definition}", self.tracefs.path("error_log"))
        self._undo.append((path, "!" + self.name))
        return f"synthetic/{self.name}"

    def _command(self, path: str, line: str, log: str) -> None:
        _clear(log)
        try:
            append(path, line)
        except OSError as error:
            raise _refused(error, path, line, log) from None


def _clear(log: str) -> None:
    try:
        with open(log, "w", encoding="utf-8") as file:
            file.write("\n")
    except OSError:
        pass


def _refused(error: OSError, path: str, line: str, log: str) -> HistError:
    """Returns the error of a command that the kernel refused, with what its log says."""
    message = f"the kernel refused a command to {path}: {error.strerror}"
    try:
        said = last_error(read_file(log))
    except HistError:
        said = ""
    if said:
        return HistError(f"{message}\n{said}")
    hints = {
        errno.EINVAL: "The kernel gives no reason. Are all of the fields in the file 'format' of the event?",
        errno.ENOMEM: "There is not enough memory for so many elements: use a smaller --size.",
        errno.EBUSY: "Something else uses this event. Try again.",
    }
    return HistError(f"{message}\n  Command: {line}", hints.get(error.errno or 0))


def _retry(action: object, what: str) -> None:
    """Repeats an action for a time while what it removes is in use; then says so."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            action()  # type: ignore[operator]
            return
        except (OSError, HistError) as error:
            busy = isinstance(error, OSError) and error.errno == errno.EBUSY
            if busy and time.monotonic() < end:
                time.sleep(0.05)
                continue
            print(f"hist: warning: cannot undo {what}: {error}", file=sys.stderr)
            return


def leftovers(tracefs: Tracefs) -> list[str]:
    """Returns the instances of programs that were killed before they could remove them."""
    try:
        names = os.listdir(tracefs.path("instances"))
    except OSError:
        return []
    dead = []
    for name in sorted(names):
        match = re.fullmatch(PREFIX + r"(\d+)", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            dead.append(name)
    return dead


def remove_leftover(tracefs: Tracefs, name: str) -> None:
    """Removes such an instance, with its triggers and its synthetic event."""
    folder = tracefs.path("instances", name)
    # A trigger that another one refers to is removed in a later round.
    for _ in range(3):
        for path in _with_triggers(folder):
            for line in read_file(path).split("\n"):
                command = re.sub(r" \[(active|paused)\]", "", line)
                if command and not command.startswith("#"):
                    try:
                        append(path, "!" + command)
                    except OSError:
                        pass
    _retry(lambda: os.rmdir(folder), f"the removal of {folder}")
    if name + "\t" in tracefs.read("synthetic_events"):
        _retry(lambda: append(tracefs.path("synthetic_events"), "!" + name), f"the event {name}")


def _with_triggers(folder: str) -> list[str]:
    found = []
    for parent, _, files in os.walk(os.path.join(folder, "events")):
        if "trigger" in files:
            path = os.path.join(parent, "trigger")
            if not read_file(path).startswith("# Available"):
                found.append(path)
    return found
