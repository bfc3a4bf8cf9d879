# SPDX-License-Identifier: GPL-2.0
"""Waiting for a time, for a command, or for the user to have enough."""

import signal
import subprocess
import time
from types import TracebackType
from typing import Optional

from tracehist.errors import HistError

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Waiter:
    """Blocks the signals that end a program, so that nothing is interrupted halfway.

    They are looked at in `wait()` only. What is to be cleaned up therefore is.
    """

    def __init__(self) -> None:
        self.child: Optional[subprocess.Popen] = None
        self.ended_by: Optional[int] = None
        self._before: Optional[set] = None

    def __enter__(self) -> "Waiter":
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING | {signal.SIGCHLD})
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.terminate()
            self.child.wait()
        # A second Ctrl-C has nothing to end any more.
        while signal.sigtimedwait(ENDING | {signal.SIGCHLD}, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before or set())

    def start(self, command: list[str]) -> None:
        """Starts a command; the end of it ends the waiting."""
        before = self._before or set()
        try:
            self.child = subprocess.Popen(
                command, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before)
            )
        except OSError as error:
            raise HistError(f"cannot run {command[0]}: {error.strerror}") from None

    def wait(self, until: float) -> bool:
        """Waits until a time of time.monotonic(). Returns False if it is over before that."""
        while True:
            if self.ended_by is not None or (self.child is not None and self.child.poll() is not None):
                return False
            left = until - time.monotonic()
            if left <= 0:
                return True
            info = signal.sigtimedwait(ENDING | {signal.SIGCHLD}, left)
            if info is not None and info.si_signo in ENDING:
                self.ended_by = info.si_signo
