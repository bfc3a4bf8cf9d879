# SPDX-License-Identifier: GPL-2.0
"""tracefs: where it is, which events there are, and what it says about a failed command."""

import difflib
import os
import re
from typing import Optional

from tracehist.errors import HistError, of_file

_LOG_ENTRY = re.compile(r"^\[ *[0-9.]+\] (.*)", re.DOTALL)


class Tracefs:
    """A mounted tracefs. `root` is its folder, or None to look for it."""

    def __init__(self, root: Optional[str] = None) -> None:
        self.root = root if root is not None else _mounted()
        self._check()

    def _check(self) -> None:
        if not os.path.isdir(self.root):
            raise HistError(f"{self.root} is not a folder", "Name the folder of a tracefs with --tracefs.")
        try:
            os.listdir(self.root)
        except PermissionError:
            raise HistError(
                f"cannot read {self.root}: permission denied",
                "Run this as root, or mount tracefs with -o gid= for a group that may.",
            ) from None
        if not os.path.exists(self.path("available_events")):
            raise HistError(
                f"{self.root} is no tracefs: it has no file available_events",
                "Mount it: mount -t tracefs nodev /sys/kernel/tracing\n"
                "If that fails, the kernel was built without CONFIG_EVENT_TRACING.",
            )

    def path(self, *names: str) -> str:
        """Returns the path of a file of it."""
        return os.path.join(self.root, *names)

    def read(self, *names: str) -> str:
        """Returns the contents of a file of it."""
        return read_file(self.path(*names))

    def has_parts(self) -> bool:
        """Returns True if this kernel has .log2=K, and with it .min, .max and hist_raw."""
        return "log2=K" in self._readme()

    def _readme(self) -> str:
        try:
            return self.read("README")
        except HistError:
            return ""

    def events(self) -> list[str]:
        """Returns all events, as SYSTEM:NAME."""
        return self.read("available_events").split()

    def event(self, name: str) -> str:
        """Returns the event of a name as SYSTEM/NAME; the system may be left out, or end in a slash."""
        wanted = name.replace("/", ":")
        events = self.events()
        if ":" in wanted:
            found = [e for e in events if e == wanted]
        else:
            found = [e for e in events if e.partition(":")[2] == wanted]
        if len(found) == 1:
            return found[0].replace(":", "/")
        if found:
            raise HistError(f"several events are named {name}", "Say which one: " + ", ".join(found))
        raise HistError(f"there is no event {name}", _near(wanted, events))

    def require_hist(self, event: str) -> None:
        """Raises an error if the kernel has no hist triggers, or this user may not set them."""
        folder = self.path("events", event)
        if not os.path.exists(os.path.join(folder, "hist")):
            raise HistError(
                f"{folder} has no file hist: this kernel has no hist triggers",
                "It needs CONFIG_HIST_TRIGGERS=y; zgrep HIST_TRIGGERS /proc/config.gz shows what it has.",
            )
        if not os.access(os.path.join(folder, "trigger"), os.W_OK):
            raise HistError(f"cannot write {folder}/trigger: permission denied", "Run this as root.")

    def fields(self, event: str) -> dict[str, str]:
        """Returns the fields of an event with their declarations, such as "pid_t pid"."""
        found = {}
        for line in self.read("events", event, "format").split("\n"):
            match = re.match(r"\tfield:(.*?);", line)
            if match:
                name = re.search(r"(\w+)(?:\[\w*\])?$", match.group(1))
                if name:
                    found[name.group(1)] = match.group(1)
        return found


def _mounted() -> str:
    """Returns the folder that tracefs is mounted on."""
    known = "/sys/kernel/tracing"
    try:
        with open("/proc/mounts", encoding="utf-8") as file:
            mounts = [line.split()[1] for line in file if line.split()[2] == "tracefs"]
    except OSError:
        mounts = []
    if known in mounts:
        return known
    if mounts:
        return mounts[0]
    raise HistError(
        "tracefs is not mounted",
        f"Mount it as root: mount -t tracefs nodev {known}\n"
        "If that fails, the kernel was built without CONFIG_TRACING.",
    )


def _near(wanted: str, events: list[str]) -> str:
    near = difflib.get_close_matches(wanted, events, n=5, cutoff=0.5)
    names = {e.partition(":")[2]: e for e in events}
    for name in difflib.get_close_matches(wanted.partition(":")[2] or wanted, names, n=5, cutoff=0.6):
        if names[name] not in near:
            near.append(names[name])
    return (
        ("Similar ones: " + ", ".join(near[:6])) if near else "The file available_events of tracefs lists all events."
    )


def read_file(path: str) -> str:
    """Returns the contents of a file, whatever bytes are in it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise _explained(error, "read") from None


def append(path: str, text: str) -> None:
    """Writes a command to a file that would be emptied by a plain open for writing."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    except OSError as error:
        raise _explained(error, "write") from None
    try:
        os.write(fd, text.encode())
    except OSError as error:
        error.filename = path
        raise error
    finally:
        os.close(fd)


def last_error(log: str, before: str = "", command: str = "") -> str:
    """Returns the last entry of an error_log that was not in it before, without its time.

    One that quotes the command is preferred: others write to the log as well.
    """
    old = _entries(before)
    new = [entry for entry in _entries(log) if entry not in old]
    # A long command is cut off there.
    own = [entry for entry in new if f"Command: {command[:100]}" in entry]
    found = (own or new)[-1:]
    return _LOG_ENTRY.sub(r"\1", found[0], count=1) if found else ""


def _entries(log: str) -> list[str]:
    """Returns the entries of an error_log, with their times."""
    out: list[str] = []
    for line in log.rstrip("\n").split("\n"):
        if _LOG_ENTRY.match(line):
            out.append(line)
        elif out:
            out[-1] += "\n" + line
    return out


def _explained(error: OSError, doing: str) -> HistError:
    failed = of_file(error, doing)
    if isinstance(error, PermissionError):
        failed.hint = "Run this as root."
    return failed
