# SPDX-License-Identifier: GPL-2.0
"""The program as it is run."""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest

from tests.data_files import FOLDER
from tracehist import arguments, duration

PROGRAM = os.path.join(os.path.dirname(FOLDER), "..", "hist.py")


def hist(*args, stdin="", **env):
    """Runs the program and returns its exit status, output and errors."""
    done = subprocess.run(
        [sys.executable, "-B", PROGRAM, *args],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


class ProgramTest(unittest.TestCase):
    def test_usage(self):
        self.assertEqual(hist()[0], 2)
        self.assertEqual(hist("record")[0], 2)
        self.assertEqual(hist("record", "-e", "x", "--for", "soon")[0], 2)
        for option in ("--size", "--top"):
            for number in ("0", "-1", "x", "1.5"):
                self.assertEqual(hist("record", "-e", "x", option, number)[0], 2, (option, number))
        for command in ("record", "latency", "top", "show", "cleanup"):
            status, out, _ = hist(command, "--help")
            self.assertEqual(status, 0)
            self.assertIn(f"usage: hist {command}", out)
        self.assertIn("examples:", hist("--help")[1])

    def test_show(self):
        status, out, err = hist("show", f"{FOLDER}/rust/parts.hist")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("256-319   50   50.5 % █", out)

    def test_show_of_a_pipe_in_ascii(self):
        with open(f"{FOLDER}/c/log2.hist", encoding="utf-8") as file:
            status, out, _ = hist("show", "-", stdin=file.read(), PYTHONIOENCODING="ascii")
        self.assertEqual(status, 0)
        self.assertIn("257-512   50   50.5 % ###", out)

    def test_a_pipe_can_have_any_bytes(self):
        done = subprocess.run(
            [sys.executable, "-B", PROGRAM, "export", "-", "--format", "prometheus"],
            input=b"comm\thitcount\nab\xff\t3\n",
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
            check=True,
        )
        self.assertIn('hist_event_hits_total{comm="ab\ufffd"} 3\n', done.stdout.decode())

    def test_errors_are_a_line_and_what_to_do(self):
        status, out, err = hist("show", "/nothing/there")
        self.assertEqual(
            (status, out, err), (1, "", "hist: error: cannot read /nothing/there: No such file or directory\n")
        )
        status, _, err = hist("show", "-", stdin="abc")
        self.assertEqual(status, 1)
        self.assertTrue(
            err.startswith("hist: error: the standard input: the format is not known\nIt should be a recording")
        )
        self.assertEqual(hist("show")[0], 2)

    def test_no_tracefs(self):
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = hist("record", "--tracefs", folder, "-e", "x")
        self.assertEqual(status, 1)
        self.assertIn("is no tracefs", err)

    def test_output_is_tried_before_the_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            for option, name, why in (
                ("-o", f"{folder}/none/file", "No such file or directory"),
                ("--svg", folder, "Is a directory"),
                ("--heatmap", f"{folder}/none/file", "No such file or directory"),
            ):
                # The program does not even look for a tracefs.
                status, _, err = hist("record", "-e", "x", "--tracefs", f"{folder}/none", option, name)
                self.assertEqual((status, err), (1, f"hist: error: cannot write {name}: {why}\n"))

    def test_command_after_options(self):
        for words, child in (
            (["record", "-e", "x", "--", "sh", "-c", "a -- b", "--", "-q"], ["sh", "-c", "a -- b", "--", "-q"]),
            (["latency", "A", "B", "--for", "1s", "--", "ls", "-l"], ["ls", "-l"]),
            (["record", "-e", "x", "ls"], ["ls"]),
            (["record", "-e", "x"], []),
        ):
            self.assertEqual(arguments.parse(words).child, child)

    def test_closed_pipe(self):
        done = subprocess.run(
            f"{sys.executable} -B {PROGRAM} show {FOLDER}/rust/comm.hist | head -n 0; echo ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        self.assertEqual((done.stdout, done.stderr), ("0\n", ""))


class DurationTest(unittest.TestCase):
    def test_units(self):
        self.assertEqual([duration.seconds(t) for t in ("10", "10s", "500ms", "1.5m", "1h")], [10, 10, 0.5, 90, 3600])
        for wrong in ("", "0", "s", "-1s", "1x", "1 s"):
            with self.assertRaises(argparse.ArgumentTypeError):
                duration.seconds(wrong)

    def test_shown(self):
        self.assertEqual(
            [duration.show(t) for t in (0.25, 10, 150, 7500)], ["250 ms", "10.0 s", "2 min 30 s", "2 h 5 min"]
        )


if __name__ == "__main__":
    unittest.main()
