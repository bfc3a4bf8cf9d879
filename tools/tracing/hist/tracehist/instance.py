# SPDX-License-Identifier: GPL-2.0
"""A trace instance that lasts as long as a recording, with its triggers and synthetic events.

A running program holds a lock (flock) on the folder of its instance. A folder without one is what
a killed program has left. Ids of processes would not tell: they are used again, and a program in
a container has another one than it has outside.
"""

import errno
import fcntl
import os
import re
import secrets
import sys
import time
from types import TracebackType
from typing import Callable, Optional

from tracehist.errors import HistError, of_file
from tracehist.tracefs import Tracefs, append, last_error, read_file
from tracehist.trigger import key_names

# The names of instances and synthetic events end with the id of the process and a
# random number.
PREFIX = "hist_tool_"
# For how long something is tried that is still used by hits or by a reader.
PATIENCE = 5.0
# A new instance can be taken for a leftover before it is locked. Number of times to create another.
TRIES = 10
# Limits of the kernel that it does not explain. It rounds a size up to a power of two, from 128 on.
SIZES = (65, 131072)
MOST_KEYS = 3


class Instance:
    """A folder in instances/, removed with all that was set up in it at the end of a `with`."""

    def __init__(self, tracefs: Tracefs) -> None:
        self.tracefs = tracefs
        self.name = ""
        self.folder = ""
        self._lock: Optional[int] = None
        self._undo: list[tuple[str, str]] = []

    def __enter__(self) -> "Instance":
        for _ in range(TRIES):
            self.name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(3)}"
            self.folder = self.tracefs.path("instances", self.name)
            try:
                os.mkdir(self.folder)
            except FileExistsError:
                continue
            except OSError as error:
                denied = error.errno in (errno.EACCES, errno.EPERM)
                hint = "Run this as root." if denied else None
                raise HistError(f"cannot create the trace instance {self.folder}: {error.strerror}", hint) from None
            self._lock = lock(self.folder)
            if self._lock is not None:
                return self
        raise HistError("cannot create a trace instance: another program removes each one", "Does hist cleanup run?")

    def __exit__(
        self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        for path, command in reversed(self._undo):
            _retry(lambda p=path, c=command: append(p, c), f"{command!r} to {path}")
        self._undo.clear()
        _retry(lambda: os.rmdir(self.folder), f"the removal of {self.folder}")
        if self._lock is not None:
            os.close(self._lock)

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
        # The log of the top instance is shared by all, so it is not emptied.
        before = _contents(log)
        try:
            append(path, line)
        except OSError as error:
            raise _refused(error, path, line, last_error(_contents(log), before, line)) from None


def lock(folder: str) -> Optional[int]:
    """Returns a file that locks an instance until it is closed, or None if another program has the lock."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise of_file(error, "open") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            return None
        raise HistError(f"cannot lock {folder}: {error.strerror}") from None
    # It can have been removed before it was locked.
    if os.path.exists(folder):
        return fd
    os.close(fd)
    return None


def _contents(log: str) -> str:
    try:
        return read_file(log)
    except HistError:
        return ""


def _refused(error: OSError, path: str, line: str, said: str) -> HistError:
    """Returns the error of a command that the kernel refused, with what its log says."""
    message = f"the kernel refused a command to {path}: {error.strerror}"
    if said:
        return HistError(f"{message}\n{said}")
    hints = {
        errno.EINVAL: _unexplained(line),
        errno.ENOMEM: "There is not enough memory for so many elements: use a smaller --size.",
        errno.EBUSY: "Something else uses this event. Try again.",
    }
    return HistError(f"{message}\n  Command: {line}", hints.get(error.errno or 0))


def _unexplained(line: str) -> str:
    """Returns why a trigger is wrong if the kernel's log has nothing about it, as it has about fields."""
    clauses = line.partition(" if ")[0]
    size = re.search(r":size=(\d+)(?=:|$)", clauses)
    if size and not SIZES[0] <= int(size.group(1)) <= SIZES[1]:
        return f"A histogram has {SIZES[0]} to {SIZES[1]} elements: --size {size.group(1)} is not possible."
    keys = key_names(clauses)
    if len(keys) > MOST_KEYS:
        return f"A histogram has {MOST_KEYS} keys at most, not {len(keys)}: {', '.join(keys)}."
    return "The kernel gives no reason."


def _retry(action: Callable[[], object], what: str) -> None:
    """Repeats an action for a time while what it removes is in use; then says so."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            action()
            return
        except (OSError, HistError) as error:
            busy = isinstance(error, OSError) and error.errno == errno.EBUSY
            if busy and time.monotonic() < end:
                time.sleep(0.05)
                continue
            print(f"hist: warning: cannot undo {what}: {error}", file=sys.stderr)
            return


def remove_leftovers(tracefs: Tracefs, tell: Callable[[str], None]) -> None:
    """Removes the instances of programs that were killed before they could. `tell` is called with each folder."""
    try:
        names = os.listdir(tracefs.path("instances"))
    except OSError:
        return
    for name in sorted(names):
        if not re.fullmatch(PREFIX + r"\w+", name):
            continue
        folder = tracefs.path("instances", name)
        held = lock(folder)
        if held is None:
            continue
        try:
            tell(folder)
            _remove(tracefs, folder, name)
        finally:
            os.close(held)


def _remove(tracefs: Tracefs, folder: str, name: str) -> None:
    """Removes an instance that nobody uses, with its triggers and its synthetic event."""
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
    synthetic = tracefs.path("synthetic_events")
    if os.path.exists(synthetic) and re.search(rf"^{name}\t", read_file(synthetic), re.MULTILINE):
        _retry(lambda: append(synthetic, "!" + name), f"the event {name}")
    _retry(lambda: os.rmdir(folder), f"the removal of {folder}")


def _with_triggers(folder: str) -> list[str]:
    found = []
    for parent, _, files in os.walk(os.path.join(folder, "events")):
        if "trigger" in files:
            path = os.path.join(parent, "trigger")
            if not read_file(path).startswith("# Available"):
                found.append(path)
    return found
