# SPDX-License-Identifier: GPL-2.0
"""Waiting for a time, for a command, or for the user to have enough."""

import os
import signal
import subprocess
import time
from types import TracebackType
from typing import Optional

from tracehist.errors import HistError

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# How long a command may continue after SIGTERM.
PATIENCE = 5.0
STDERR = 2


class Waiter:
    """Blocks the signals that end a program, so that nothing is interrupted halfway.

    They are looked at in `wait()` only. What is to be cleaned up therefore is.
    """

    def __init__(self) -> None:
        self.child: Optional[subprocess.Popen] = None
        self.ended_by: Optional[int] = None
        self.ended_command = False
        self._before: Optional[set] = None

    def __enter__(self) -> "Waiter":
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING | {signal.SIGCHLD})
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self.child is not None and self.child.poll() is None:
            self._end(self.child)
        # A second Ctrl-C has nothing left to end.
        while signal.sigtimedwait(ENDING | {signal.SIGCHLD}, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before or set())

    def _end(self, child: subprocess.Popen) -> None:
        """Ends the command and the processes that it has started: by SIGTERM, and if that is of no use by SIGKILL.

        Those that have left its process group, such as daemons, are left alone.
        """
        self.ended_command = True
        family = _descendants(child.pid)
        child.terminate()
        _send(signal.SIGTERM, family)
        end = time.monotonic() + PATIENCE
        while child.poll() is None:
            left = end - time.monotonic()
            info = signal.sigtimedwait(ENDING | {signal.SIGCHLD}, max(left, 0))
            if left <= 0 or (info is not None and info.si_signo in ENDING):
                family.update(_descendants(child.pid))
                child.kill()
                _send(signal.SIGKILL, family)
                child.wait()

    @property
    def status(self) -> int:
        """The exit status of the command, or 0 if it is this program or its user who has ended it."""
        code = self.child.returncode if self.child is not None else None
        if not code or self.ended_command or self.ended_by is not None:
            return 0
        return code if code > 0 else 128 - code

    def start(self, command: list[str], aside: bool = False) -> None:
        """Starts a command; the end of it ends the waiting. With `aside` it prints to the standard error only."""
        before = self._before or set()
        try:
            self.child = subprocess.Popen(
                command,
                stdout=STDERR if aside else None,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
            )
        except OSError as error:
            raise HistError(f"cannot run {command[0]}: {error.strerror}") from None

    def wait(self, until: float) -> bool:
        """Waits until a time of time.monotonic(). Returns False if it is over before that."""
        while True:
            if self.ended_by is not None or (self.child is not None and self.child.poll() is not None):
                # Ctrl-C in a terminal is for the command, too.
                info = signal.sigtimedwait(ENDING, 0) if self.ended_by is None else None
                self.ended_by = info.si_signo if info is not None else self.ended_by
                return False
            left = until - time.monotonic()
            if left <= 0:
                return True
            info = signal.sigtimedwait(ENDING | {signal.SIGCHLD}, left)
            if info is not None and info.si_signo in ENDING:
                self.ended_by = info.si_signo


def _descendants(parent: int) -> dict[int, str]:
    """Returns the processes that a process has started, in its group or in ours; with the times of their start."""
    groups = {str(os.getpgrp())}.union(_stat(str(parent))[2:3])
    children: dict[int, list[int]] = {}
    started: dict[int, str] = {}
    for name in os.listdir("/proc"):
        stat = _stat(name) if name.isdigit() else []
        if stat and stat[2] in groups:
            children.setdefault(int(stat[1]), []).append(int(name))
            started[int(name)] = stat[19]
    found: dict[int, str] = {}
    new = [parent]
    while new:
        for one in children.get(new.pop(), []):
            found[one] = started[one]
            new.append(one)
    return found


def _stat(pid: str) -> list[str]:
    """Returns the fields of /proc/PID/stat after the name: the state, the parent, the process group..."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _send(number: int, processes: dict[int, str]) -> None:
    for pid, started in processes.items():
        # Its id may be that of another process by now.
        if _stat(str(pid))[19:20] == [started]:
            try:
                os.kill(pid, number)
            except OSError:
                pass
