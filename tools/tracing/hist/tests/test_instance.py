# SPDX-License-Identifier: GPL-2.0
"""Instances: what belongs to whom, on a folder that looks like tracefs."""

import errno
import os
import subprocess
import sys

from tests.data_files import FOLDER, data
from tests.test_tracefs import FakeTracefs
from tracehist.instance import PREFIX, Instance, _refused, lock, remove_leftovers
from tracehist.tracefs import last_error

TOOL = os.path.dirname(os.path.dirname(FOLDER))


class InstanceTest(FakeTracefs):
    def setUp(self):
        super().setUp()
        os.mkdir(f"{self.root}/instances")
        self.put("synthetic_events", "")

    def instances(self):
        return os.listdir(f"{self.root}/instances")

    def removed(self):
        """Removes leftovers and returns their names."""
        found = []
        remove_leftovers(self.tracefs, lambda folder: found.append(os.path.basename(folder)))
        return found

    def test_removed_at_the_end(self):
        with Instance(self.tracefs) as instance:
            self.assertEqual(self.instances(), [instance.name])
            # Two programs can have the same id, in different containers.
            with Instance(self.tracefs) as other:
                self.assertEqual(set(self.instances()), {instance.name, other.name})
        self.assertEqual(self.instances(), [])

    def test_a_running_program_keeps_its_own(self):
        # Whatever its id is: this one is that of no process here.
        os.mkdir(f"{self.root}/instances/{PREFIX}99999999_aa")
        held = lock(f"{self.root}/instances/{PREFIX}99999999_aa")
        self.assertEqual(self.removed(), [])
        os.close(held)
        self.assertEqual(self.removed(), [f"{PREFIX}99999999_aa"])
        self.assertEqual(self.instances(), [])

    def test_what_is_left_is_found_although_its_id_is_used_again(self):
        names = [f"{PREFIX}{os.getpid()}", f"{PREFIX}{os.getpid()}_aa"]
        for name in names + ["other", "hist_tools"]:
            os.mkdir(f"{self.root}/instances/{name}")
        self.assertEqual(self.removed(), names)
        self.assertEqual(set(self.instances()), {"other", "hist_tools"})

    def test_a_killed_program_has_no_lock_even_if_its_command_runs(self):
        program = (
            "import os, signal, sys\n"
            "from tracehist.instance import Instance\n"
            "from tracehist.signals import Waiter\n"
            "from tracehist.tracefs import Tracefs\n"
            "with Waiter() as waiter, Instance(Tracefs(sys.argv[1])):\n"
            "    waiter.start(['sleep', '3'])\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        subprocess.run([sys.executable, "-B", "-c", program, self.root], cwd=TOOL, check=False)
        left = self.instances()
        self.assertEqual(len(left), 1)
        self.assertEqual((self.removed(), self.instances()), (left, []))


class ErrorLogTest(FakeTracefs):
    def setUp(self):
        super().setUp()
        os.mkdir(f"{self.root}/instances")

    def test_the_log_of_all_is_not_emptied(self):
        log = data("c/wrong.error_log")
        self.put("error_log", log)
        self.put("synthetic_events", "")
        with Instance(self.tracefs) as instance:
            instance.synthetic("u64 lat")
            instance._undo.clear()
        self.assertEqual(self.tracefs.read("error_log"), log)

    def test_what_the_kernel_does_not_explain(self):
        for line, expected in (
            ("hist:keys=pid:size=3", "A histogram has 65 to 131072 elements: --size 3 is not possible."),
            ("hist:keys=pid:size=99999999999:reuse if x > 3", "--size 99999999999 is not possible."),
            ("hist:keys=a,b,c,lat.log2=3:vals=lat", "A histogram has 3 keys at most, not 4: a, b, c, lat.log2=3."),
            ("hist:keys=pid:size=131072", "The kernel gives no reason."),
            ("hist:keys=pid:size=65 if comm == ':size=3'", "The kernel gives no reason."),
        ):
            text = str(_refused(OSError(errno.EINVAL, "Invalid argument"), "/t/trigger", line, ""))
            self.assertTrue(text.endswith(expected), text)
            self.assertIn(f"refused a command to /t/trigger: Invalid argument\n  Command: {line}\n", text)
        # What the log has is better.
        self.assertNotIn("elements", str(_refused(OSError(errno.EINVAL, ""), "f", "hist:keys=a:size=3", "the log")))

    def test_only_what_is_new_is_shown(self):
        old, new = data("c/parts.error_log"), data("c/wrong.error_log")
        self.assertEqual(last_error(old, old), "")
        self.assertIn("Couldn't find field", last_error(old + new, old))
        # Another program's, which is later.
        own = "hist:keys=nofield:vals=ret"
        other = new.replace(own, "hist:keys=x").replace("[", "[9")
        self.assertIn(own, last_error(old + new + other, old, own))
        self.assertIn("keys=x", last_error(new + other, new, own))
