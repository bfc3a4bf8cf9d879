# SPDX-License-Identifier: GPL-2.0
"""Options that suit each other, and what is written where."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tests.test_cli import PROGRAM, hist
from tracehist import arguments, cli, recording
from tracehist.errors import UsageError
from tracehist.recording import Interval, Recording
from tracehist.signals import Waiter
from tracehist.table import Key

RAW = "id\thitcount\n1\t3\n"


class UsageTest(unittest.TestCase):
    def test_options_without_effect(self):
        for words, said in (
            ("top FILE -k nosuch", "--keys has no effect on a file"),
            ("top FILE -k common_pid.execname", "--keys has no effect on a file"),
            ("top FILE --vals zzz -f garbage((( --size 3", "--vals, --filter, --size have no effect on a file"),
            ("top FILE --tracefs /", "--tracefs has no effect on a file"),
            ("show FILE --instance i", "--instance has no effect on a file"),
            ("show FILE --tracefs /", "--tracefs has no effect on a file"),
            ("export FILE --metric m", "--metric has no effect with --format json, only with prometheus"),
            ("export FILE --scale 0", "--scale has no effect with --format json, only with otlp"),
            ("export FILE --format otlp --metric m", "--metric has no effect with --format otlp,"),
            ("export FILE --format otlp-explicit --scale 3", "--scale has no effect with --format otlp-explicit,"),
            ("export FILE --format prometheus --scale 3", "--scale has no effect with --format prometheus,"),
            ("record -e x -q --live", "--live has no effect with --quiet"),
            ("latency a b -q --top 3", "--top has no effect with --quiet"),
            ("record -e x -o - --top 3", "--top has no effect without --live"),
            # What could not work.
            ("top", "takes either a file or an event"),
            ("show FILE -e x", "takes either a file or an event"),
            ("top -", "the standard input only once"),
            ("record -e x -o - --svg -", "only one can be the standard output"),
            ("record -e x --svg a --heatmap a", "only one can be a"),
            ("record -e x --heatmap a --for 1s", "--heatmap needs several intervals"),
        ):
            with self.assertRaises(UsageError, msg=words) as caught:
                arguments.parse(words.split())
            self.assertIn(said, str(caught.exception), words)
            status, out, err = hist(*words.split())
            self.assertEqual((status, out, err), (2, "", f"hist: error: {caught.exception}\n"))
            self.assertEqual(err.count("\n"), 1)
        self.assertEqual(hist("latency", "a", "b", "--buckets", "hex")[0], 2)

    def test_options_with_effect(self):
        for words in (
            "top FILE --for 1s -i 1s -n 3 --top 5 --all",
            "top -e x -k a --vals b -f c --size 128 --tracefs /",
            "show FILE --top 3",
            "show -e x --instance i --tracefs / --top 3",
            "export FILE --format prometheus --metric m",
            "export FILE --format otlp --scale 0",
            "record -e x -q",
            "record -e x -o - --live --top 3",
            "record -e x -o a --svg b --heatmap c --for 1s -i 500ms",
            "latency a b --buckets buckets=10",
        ):
            arguments.parse(words.split())

    def test_defaults(self):
        args = arguments.parse(["record", "-e", "x"])
        self.assertEqual((args.keys, args.top), ("common_pid.execname", 20))
        self.assertEqual(arguments.parse(["record", "-e", "x", "--top", "3"]).top, 3)


class Stdout(io.TextIOWrapper):
    """A standard output whose contents can be looked at."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8")

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


class OutputTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.one = Recording("a/b", "hist:keys=id", [Key("id")], ["hitcount"], started=1e9)
        self.one.intervals = [Interval(0.0, 1.0, {(1,): [3]}), Interval(1.0, 2.0, {(1,): [4]})]

    def finish(self, *words):
        """Ends a recording. Returns the exit status, the output and the errors."""
        args = arguments.parse(["record", "-e", "x", *words])
        out, err = Stdout(), io.StringIO()

        def run(watcher):
            if watcher is not None:
                watcher(self.one)
            return self.one

        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            with Waiter() as waiter:
                result = cli._recorded(args, waiter, run)
            status = cli._finish(args, waiter, result)
        return status, out.text(), err.getvalue()

    def test_live_table_is_not_mixed_into_the_recording(self):
        for words in (["-o", "-"], ["--live", "-o", "-"]):
            status, out, err = self.finish(*words)
            self.assertEqual((status, recording.load(out)), (0, self.one))
            self.assertEqual("a:b: 7 hits" in err, "--live" in words)
        status, out, err = self.finish("--live")
        self.assertEqual((status, out.count("a:b: 7 hits"), err), (0, 2, ""))

    def test_pictures_are_not_mixed_with_the_table(self):
        for option in ("--svg", "--heatmap"):
            status, out, err = self.finish(option, "-", "--live")
            self.assertEqual((status, out[:5], out[-7:]), (0, "<?xml", "</svg>\n"))
            self.assertIn("a:b: 7 hits", err)

    def test_the_command_prints_elsewhere(self):
        for words, aside in ((["-o", "-"], True), (["--svg", "-"], True), (["-o", "file"], False), ([], False)):
            self.assertEqual(cli._limits(arguments.parse(["record", "-e", "x", *words])).aside, aside)
        self.assertFalse(cli._limits(arguments.parse(["top", "-e", "x"])).aside)

    def test_pictures_without_hits(self):
        self.one.intervals = [Interval(0.0, 1.0, {}), Interval(1.0, 2.0, {})]
        svg, heatmap, file = (f"{self.folder}/{name}" for name in ("a.svg", "b.svg", "c.json"))
        status, out, err = self.finish("--svg", svg, "--heatmap", heatmap, "-o", file)
        self.assertEqual(status, 1)
        self.assertIn("No hits.", out)
        self.assertEqual(
            err,
            "".join(
                f"hist: error: {name} is not written: there are no hits to draw a picture of\n"
                for name in (svg, heatmap)
            ),
        )
        self.assertEqual(os.listdir(self.folder), ["c.json"])

    def test_what_fails_does_not_keep_the_rest(self):
        self.one.intervals[1:] = []
        names = [f"{self.folder}/{name}" for name in ("no/file", "b.svg", "c.svg")]
        status, out, err = self.finish("-o", names[0], "--heatmap", names[1], "--svg", names[2])
        self.assertEqual(status, 1)
        self.assertIn("a:b: 3 hits", out)
        self.assertIn(f"hist: error: cannot write {names[0]}: ", err)
        self.assertIn(f"{names[1]} is not written: a heat map needs a recording of several intervals", err)
        self.assertEqual(os.listdir(self.folder), ["c.svg"])

    def test_characters_that_the_terminal_does_not_have(self):
        contents = "comm\thitcount\nä\t3\n"
        status, out, err = hist("show", "-", stdin=contents, PYTHONIOENCODING="ascii")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("\\xe4", out)

    def test_exports_are_utf8_whatever_the_terminal_has(self):
        done = subprocess.run(
            [sys.executable, "-B", PROGRAM, "export", "-", "--format", "prometheus"],
            input="comm\thitcount\nä\t3\n".encode(),
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            check=True,
        )
        self.assertIn('{comm="ä"} 3\n', done.stdout.decode())

    def test_a_full_disk(self):
        for words in (["show", "-"], ["export", "-"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [sys.executable, "-B", PROGRAM, *words],
                    input=RAW.encode(),
                    stdout=full,
                    stderr=subprocess.PIPE,
                    check=False,
                )
            self.assertEqual(
                (done.returncode, done.stderr.decode()),
                (1, "hist: error: cannot write the standard output: No space left on device\n"),
            )

    def test_a_full_disk_of_a_file(self):
        status, out, err = self.finish("-o", "/dev/full")
        self.assertEqual((status, err), (1, "hist: error: cannot write /dev/full: No space left on device\n"))
        self.assertIn("a:b: 7 hits", out)

    def test_a_part_of_a_recording_is_drawn_within_its_frame(self):
        self.one.intervals = [Interval(n, n + 1, {(1,): [3]}) for n in range(100, 104)]
        status, out, _ = hist("plot", "-", "--kind", "heatmap", stdin=json.dumps(self.one.to_json()))
        self.assertEqual(status, 0)
        xs = [float(part.split('"')[0]) for part in out.split('<rect x="')[1:]]
        self.assertLess(max(xs), 960)


if __name__ == "__main__":
    unittest.main()
