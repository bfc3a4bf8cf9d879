# SPDX-License-Identifier: GPL-2.0
"""Damaged files: each is an error that says what is wrong, and never a failure of the program."""

import copy
import json
import unittest

from tests.test_cli import hist
from tracehist import picture, recording, source
from tracehist.bucket import LOWEST, Bucket, Parts
from tracehist.errors import FormatError
from tracehist.recording import Interval, Recording
from tracehist.table import Key

BUCKET = {"from": 8, "to": 9}


def good():
    """Returns the contents of a recording."""
    one = Recording("a/b", "hist:keys=pid,lat.log2=2", [Key("pid"), Key("lat", Parts(2))], ["hitcount", "lat"])
    one.started = 1e9
    one.longest = [{"max": 9, "pid": 1, "comm": "a"}]
    one.intervals = [Interval(0.0, 1.0, {(1, Bucket(8, 9)): [2, 17]}), Interval(1.0, 2.0, {})]
    return one.to_json()


class RecordingTest(unittest.TestCase):
    def refused(self, expected, *path_and_value):
        """A recording with another value somewhere is refused by all commands that read one."""
        *path, last, value = path_and_value
        data = copy.deepcopy(good())
        place = data
        for name in path:
            place = place[name]
        place[last] = value
        with self.assertRaises(FormatError, msg=path_and_value) as caught:
            recording.load(json.dumps(data))
        self.assertRegex(str(caught.exception), f"^a damaged recording: .*{expected}", path_and_value)

    def test_good(self):
        self.assertEqual(recording.load(json.dumps(good())).to_json(), good())

    def test_texts(self):
        for name in ("event", "trigger", "source", "unit", "kernel", "title"):
            for value in (7, None, ["a"], {}):
                self.refused(f"'{name}' is no text", name, value)
        self.refused("the first value is not hitcount", "values", ["lat", "hitcount"])
        self.refused("the first value is not hitcount", "values", [])
        self.refused("'values' is no list", "values", "hitcount")
        self.refused("'values' is no text", "values", [1, 2])

    def test_times(self):
        for value in (float("inf"), float("nan"), -1, "x", None, True, 1e300):
            self.refused("'started' ", "started", value)
            self.refused("'end' ", "intervals", 0, "end", value)
        self.refused("'start' ", "intervals", 0, "start", "a")
        # Not in their order.
        self.refused("'end' is not a time from 1 on: 0.5", "intervals", 1, "end", 0.5)
        self.refused("'start' is not a time from 1 on: 0.5", "intervals", 1, "start", 0.5)

    def test_numbers(self):
        for value in (-1, "1", 1.5, True, 1 << 64):
            self.refused("'dropped' ", "dropped", value)
        for value in (-3, None, 2.5, True, 10**400):
            self.refused("'hitcount' ", "intervals", 0, "rows", 0, 1, 0, value)
        for value in ("9", 2.5, False, 10**400):
            self.refused("'lat' ", "intervals", 0, "rows", 0, 1, 1, value)

    def test_rows(self):
        row = ("intervals", 0, "rows", 0)
        self.refused("a row has 1 keys, not 2", *row, 0, [BUCKET])
        self.refused("a row has 3 keys, not 2", *row, 0, [1, BUCKET, BUCKET])
        self.refused("a row has 2 keys and 1 values", *row, 1, [2])
        self.refused("a row is no list of keys and of values", *row, [1, 2])
        self.refused("a row is no list of keys and of values", *row, {})
        self.refused("a row is no list of keys and of values", *row, [[1, BUCKET], [2, 17], []])
        self.refused("have the key", "intervals", 0, "rows", [[[1, BUCKET], [2, 17]], [[1, BUCKET], [3, 17]]])
        self.refused("a row has 2 keys, not 0", "keys", [])
        self.refused("'rows' is no list", "intervals", 0, "rows", 5)
        self.refused("no object with 'rows'", "intervals", 0, [])

    def test_keys(self):
        parts = ("intervals", 0, "rows", 0, 0)
        for value in (1.5, None, [1], True, 10**400):
            self.refused("'key' ", *parts, 0, value)
        self.refused("'lat' is no bucket", *parts, 1, 8)
        self.refused("a bucket from 9 to 8", *parts, 1, {"from": 9, "to": 8})
        self.refused("'from' ", *parts, 1, {"from": "8", "to": 9})
        self.refused("'to' is out of range", *parts, 1, {"from": 8, "to": 10**400})
        self.refused("there is no 'to'", *parts, 1, {"from": 8})
        self.refused("'name' is no text", "keys", 0, "name", 3)
        self.refused("'scale' is no text", "keys", 0, "scale", 3)
        self.refused("no object with 'name'", "keys", 0, "pid")

    def test_longest(self):
        self.refused("'longest' is no list", "longest", 5)
        self.refused("'longest' is no list of objects", "longest", [5])
        self.refused("there is no 'max'", "longest", [{"pid": 1}])
        self.refused("'max' ", "longest", [{"max": "9"}])
        self.refused("the columns of 'longest' are not the same", "longest", [{"max": 9, "a": 1}, {"max": 8}])

    def test_what_is_no_json(self):
        for text in ('{"format": ' + "[" * 200000, '{"format": ' + "9" * 5000 + "}"):
            with self.assertRaises(FormatError) as caught:
                source.parse(text)
            self.assertRegex(str(caught.exception), "^not JSON: ")

    def test_the_program_says_so(self):
        data = good()
        data["event"] = 7
        for words in (["show", "-"], ["plot", "-"], ["export", "-", "--format", "otlp"]):
            status, out, err = hist(*words, stdin=json.dumps(data))
            self.assertEqual((status, out), (1, ""))
            self.assertEqual(
                err.split("\n")[0], "hist: error: the standard input: a damaged recording: 'event' is no text: 7"
            )


class OtherFilesTest(unittest.TestCase):
    HEAD = "# event histogram\n# trigger info: hist:keys=x.log2 [active]\n"

    def test_damaged(self):
        for contents in (
            "x.log2\thitcount\n99999999999\t1\n",
            "x.log2\thitcount\n-1\t1\n",
            "x.from\tx.to\thitcount\n9\t8\t1\n",
            "x\thitcount\n1\t-1\n",
            "x\thitcount\n1\t" + "9" * 5000 + "\n",
            self.HEAD + "{ x: ~ 2^99999999999 } hitcount:  1\n",
            self.HEAD + "{ x: ~ 9-8 } hitcount:  1\n",
            self.HEAD + "{ x:   5 } hitcount:  1\n",
            self.HEAD + "{ x: ~ 2^3 } hitcount:  -1\n",
            self.HEAD + f"{{ x: ~ 2^3 }} hitcount:  {'9' * 5000}\n",
        ):
            with self.assertRaises(FormatError, msg=contents[:80]):
                source.parse(contents)

    def test_the_last_buckets(self):
        # The kernel computes the end in 64 bits.
        top = (1 << 64) - 16
        for contents in (
            f"x.from\tx.to\thitcount\n{top}\t83\t1\n",
            f"# event histogram\n# trigger info: hist:keys=x.buckets=100 [active]\n{{ x: ~ {top}-83 }} hitcount: 1\n",
        ):
            one = source.parse(contents)[0]
            self.assertEqual(one.total().distribution(), {Bucket(top, top + 99): 1})
            self.assertEqual(recording.load(recording.dump(one)).total().rows, one.total().rows)
        highest = source.parse("x.log2\thitcount\n64\t1\n")[0].total()
        self.assertEqual(highest.distribution(), {Bucket((1 << 63) + 1, 1 << 64): 1})

    def test_the_lowest_number_can_be_drawn(self):
        one = source.parse(f"x.from\tx.to\thitcount\n{LOWEST}\t{LOWEST}\t3\n8\t11\t1\n")[0]
        self.assertEqual(one.keys[0].scale, Parts(1))
        self.assertIn("</svg>", picture.distribution(one))


if __name__ == "__main__":
    unittest.main()
