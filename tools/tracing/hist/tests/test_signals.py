# SPDX-License-Identifier: GPL-2.0
"""The command that is recorded: how it ends, and what is left of it."""

import os
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from tests.data_files import FOLDER
from tracehist import signals

TOOL = os.path.dirname(os.path.dirname(FOLDER))


def alive(pid):
    """Returns True if a process runs; a zombie does not."""
    return signals._stat(str(pid))[:1] not in ([], ["Z"], ["X"])


class EndOfCommandTest(unittest.TestCase):
    def run_for(self, seconds, *command):
        """Runs a command for a time and returns the waiter, and the processes of the command."""
        with signals.Waiter() as waiter:
            waiter.start(list(command))
            waiter.wait(time.monotonic() + seconds)
            found = set(signals._descendants(waiter.child.pid)) | {waiter.child.pid}
        return waiter, found

    def left(self, found):
        """Returns which processes are still there after some time."""
        for _ in range(100):
            if not any(map(alive, found)):
                break
            time.sleep(0.05)
        return [pid for pid in found if alive(pid)]

    def test_status_is_that_of_the_command(self):
        self.assertEqual(self.run_for(10, "true")[0].status, 0)
        self.assertEqual(self.run_for(10, "sh", "-c", "exit 3")[0].status, 3)
        self.assertEqual(self.run_for(10, "sh", "-c", "kill -USR1 $$")[0].status, 128 + signal.SIGUSR1)

    def test_what_it_prints_is_not_mixed_into_a_file(self):
        program = (
            "from tracehist.signals import Waiter\n"
            "import time\n"
            "with Waiter() as waiter:\n"
            "    waiter.start(['echo', 'noise'], {})\n"
            "    waiter.wait(time.monotonic() + 10)\n"
        )
        for aside, expected in ((False, ("noise\n", "")), (True, ("", "noise\n"))):
            done = subprocess.run(
                [sys.executable, "-B", "-c", program.format(aside)],
                cwd=TOOL,
                capture_output=True,
                encoding="utf-8",
                check=True,
            )
            self.assertEqual((done.stdout, done.stderr), expected)

    def test_our_own_signal_is_no_failure(self):
        waiter, _ = self.run_for(0.2, "sleep", "100")
        self.assertEqual((waiter.child.returncode, waiter.status), (-signal.SIGTERM, 0))

    def test_one_that_ignores_signals_is_killed_with_its_children(self):
        start = time.monotonic()
        with mock.patch.object(signals, "PATIENCE", 0.5):
            waiter, found = self.run_for(0.3, "sh", "-c", 'trap "" TERM INT; sleep 100; sleep 100')
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual((waiter.child.returncode, waiter.status), (-signal.SIGKILL, 0))
        self.assertEqual(len(found), 2)
        self.assertEqual(self.left(found), [])

    def test_children_are_ended_and_daemons_are_not(self):
        number = f"100.{os.getpid()}"
        _, found = self.run_for(0.5, "sh", "-c", f"sleep {number} & setsid sleep {number} & wait")
        self.assertEqual(self.left(found), [])
        wanted = f"sleep\0{number}\0".encode()
        daemons = [int(name) for name in os.listdir("/proc") if name.isdigit() and self.command(name) == wanted]
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(len(daemons), 1)

    def command(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""

    def test_one_in_a_group_of_its_own_is_ended(self):
        self.assertEqual(self.run_for(0.3, "setsid", "sleep", "100")[0].child.returncode, -signal.SIGTERM)

    def test_ctrl_c_kills_at_once(self):
        program = (
            "from tracehist import signals; import time\n"
            "signals.PATIENCE = 100\n"
            "with signals.Waiter() as w:\n"
            "    w.start(['sh', '-c', 'trap \"\" TERM INT; echo ready; while :; do sleep 1; done'])\n"
            "    w.wait(time.monotonic() + 0.3)\n"
            "print('end', w.status)\n"
        )
        process = subprocess.Popen([sys.executable, "-B", "-c", program], cwd=TOOL, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20)[0], "end 0\n")
        self.assertLess(time.monotonic() - start, 10)


if __name__ == "__main__":
    unittest.main()
