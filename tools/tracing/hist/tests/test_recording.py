# SPDX-License-Identifier: GPL-2.0
"""Tables, recordings, and the differences of readings."""

import os
import tempfile
import unittest

from tests.data_files import data
from tracehist import quantile, recording, source
from tracehist.bucket import Bucket, Parts
from tracehist.errors import FormatError
from tracehist.reader import Reader
from tracehist.recording import Interval, Recording
from tracehist.table import Key, Table

TRIGGER = "hist:keys=pid,lat.log2=2:vals=hitcount,lat,lat.max"


def table(rows):
    return Table([Key("pid"), Key("lat", Parts(2))], ["hitcount", "lat", "lat.max"], rows, TRIGGER)


class TableTest(unittest.TestCase):
    def test_sums_and_extremes(self):
        t = table({(1, Bucket(8, 9)): [2, 17, 9]})
        t.add([((1, Bucket(8, 9)), [1, 8, 8]), ((2, Bucket(4, 4)), [5, 20, 4])])
        self.assertEqual(t.rows[(1, Bucket(8, 9))], [3, 25, 9])
        self.assertEqual((t.hits, t.total("lat"), t.total("lat.max"), t.total("nothing")), (8, 45, 9, None))
        self.assertEqual(t.groups(), [((2,), 5), ((1,), 3)])
        self.assertEqual(t.distribution((2,)), {Bucket(4, 4): 5})

    def test_differences(self):
        before = table({(1, Bucket(8, 9)): [2, 17, 9], (2, Bucket(4, 4)): [5, 20, 4]})
        now = table({(1, Bucket(8, 9)): [3, 25, 9], (2, Bucket(4, 4)): [5, 20, 4], (3, Bucket(0, 0)): [1, 0, 0]})
        # The largest value was reached before: that of what is new is not known.
        self.assertEqual(now.since(before), {(1, Bucket(8, 9)): [1, 8, None], (3, Bucket(0, 0)): [1, 0, 0]})
        more = table({(1, Bucket(8, 9)): [4, 34, 10]})
        self.assertEqual(more.since(now), {(1, Bucket(8, 9)): [1, 9, 10]})

    def test_sums_that_are_late(self):
        early = table({(1, Bucket(8, 9)): [3, 17, 9]})
        late = table({(1, Bucket(8, 9)): [3, 26, 9]})
        self.assertEqual(late.since(early), {(1, Bucket(8, 9)): [0, 9, None]})

    def test_cleared_meanwhile(self):
        self.assertEqual(
            table({(1, Bucket(8, 9)): [1, 8, 8]}).since(table({(1, Bucket(8, 9)): [2, 17, 9]})),
            {(1, Bucket(8, 9)): [1, 8, 8]},
        )


class AverageTest(unittest.TestCase):
    """The kernel has averages in hist, and the sums that they are of in hist_raw."""

    def test_are_weighted_by_the_hits(self):
        rows = {("a", 1): [2, 10], ("b", 1): [6, 30], ("b", 2): [1, -100]}
        averages = Table([Key("comm"), Key("cpu")], ["hitcount", "lat.avg"], rows)
        self.assertEqual(averages.total("lat.avg"), 11)
        self.assertEqual(averages.total("lat.avg", ("b", 1)), 30)
        averages.add([(("a", 1), [8, 20])])
        self.assertEqual(averages.rows[("a", 1)], [10, 18])

    def test_of_sums(self):
        rows = {("a",): [2, 21], ("b",): [2, -5], ("c",): [0, 0]}
        sums = Table([Key("comm")], ["hitcount", "lat.sum", "lat.max"], rows)
        self.assertEqual(sums.total("lat.avg"), 4)
        self.assertEqual([sums.total("lat.avg", (c,)) for c in "abc"], [10, -2, None])
        self.assertEqual(sums.totals, ["lat.sum", "lat.avg", "lat.max"])

    def test_of_the_two_files(self):
        shown = source.parse(data("rust/extremes.hist"))[0].total()
        taken = source.parse(data("rust/extremes.hist_raw"))[0].total()
        exact = sum(row[3] for row in taken.rows.values()) // taken.hits
        self.assertEqual(taken.total("ret.avg"), exact)
        self.assertLessEqual(abs(shown.total("ret.avg") - exact), 1)
        for key, _ in taken.groups():
            self.assertEqual(taken.total("ret.avg", key), shown.total("ret.avg", key), key)

    def test_differences_say_nothing(self):
        keys, values = [Key("comm")], ["hitcount", "lat.avg"]
        before = Table(keys, values, {("a",): [1000, 10]})
        now = Table(keys, values, {("a",): [1001, 10], ("b",): [2, 5]})
        self.assertEqual(now.since(before), {("a",): [1, None], ("b",): [2, 5]})


class QuantileTest(unittest.TestCase):
    def test_as_the_kernel_has_them(self):
        shown = data("rust/quantiles.hist")
        line = [x for x in shown.split("\n") if x.startswith("ret.p50")][0].split()
        counts = source.parse(shown)[0].total().distribution()
        self.assertEqual([value for _, value in quantile.usual(counts)], [int(w) for w in line[1::2]])
        self.assertEqual(quantile.usual({}), [])


class RecordingTest(unittest.TestCase):
    def test_is_what_was_written(self):
        r = Recording(
            "a/b", TRIGGER, table({}).keys, ["hitcount", "lat", "lat.max"], "hist_raw", "us", 5.5, "7.3", "t", 1
        )
        r.intervals = [
            Interval(0, 1, {(1, Bucket(8, 9)): [2, 17, 9], ("x\t", Bucket(4, 4)): [1, 4, 4]}),
            Interval(1, 2.5, {}),
        ]
        again = recording.load(recording.dump(r))
        self.assertEqual(again, r)
        self.assertEqual(again.duration, 2.5)
        self.assertEqual(again.total().hits, 3)

    def test_sums_follow_the_intervals(self):
        r = Recording("a/b", TRIGGER, table({}).keys, ["hitcount", "lat", "lat.max"])
        key = (1, Bucket(8, 9))
        for n in range(1, 4):
            r.intervals.append(Interval(n - 1, n, {key: [1, n, n]}))
            self.assertEqual(r.total().rows, {key: [n, n * (n + 1) // 2, n]})
        # What was read before stays as it was.
        self.assertEqual(r.intervals[0].rows, {key: [1, 1, 1]})
        r.intervals[:-1] = []
        self.assertEqual(r.total().rows, {key: [1, 3, 3]})
        r.intervals[:] = [Interval(0, 3, dict(r.total().rows))]
        self.assertEqual((r.total().rows, r.total().hits), ({key: [1, 3, 3]}, 1))

    def test_damaged_files(self):
        good = recording.dump(Recording.of_table(table({(1, Bucket(8, 9)): [2, 17, 9]})))
        for bad in (
            "{",
            "[]",
            good.replace('"version": 1', '"version": 9'),
            good.replace('"keys"', '"kezs"'),
            good.replace('"from"', '"form"'),
            good.replace('"intervals"', '"x"'),
            # A row that does not suit the columns.
            good.replace('{"from": 8, "to": 9}', "8"),
            good.replace('{"from": 8, "to": 9}', '{"from": 8, "to": 9}, 1'),
            good.replace("[2, 17, 9]", "[2, 17]"),
            good.replace("[2, 17, 9]", '[2, 17, "9"]'),
            good.replace("[2, 17, 9]", "[null, 17, 9]"),
        ):
            self.assertNotEqual(bad, good)
            with self.assertRaises(FormatError):
                recording.load(bad)

    def test_formats_are_found_out(self):
        for name in ("rust/parts.hist", "rust/parts.hist_raw", "c/log2.hist"):
            self.assertEqual(source.parse(data(name))[0].total().hits, 99)
        self.assertEqual(len(source.parse(data("rust/two.hist"))), 2)
        for bad in ("", "\n", "something else\n"):
            with self.assertRaises(FormatError):
                source.parse(bad)

    def test_event_of_a_path(self):
        self.assertEqual(
            source.event_of_path("/sys/kernel/tracing/instances/i/events/sched/sched_switch/hist"), "sched/sched_switch"
        )
        self.assertEqual(source.event_of_path("/tmp/x/hist"), "")


class ReaderTest(unittest.TestCase):
    """Without hist_raw the differences are taken, and their sum is what was counted."""

    def test_differences_of_hist(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hist")
            first = data("c/log2.hist")

            def take(contents):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(contents)
                return reader.take()

            reader = Reader(folder, "hist:keys=ret.log2:vals=ret")
            self.assertEqual(reader.source, "hist")
            self.assertEqual(take(first).hits, 99)
            self.assertEqual(take(first).rows, {})
            self.assertEqual(
                take(
                    first.replace("hitcount:         50  ret:      15000", "hitcount:         52  ret:      15600")
                ).rows,
                {(Bucket(257, 512),): [2, 600]},
            )
            self.assertEqual(reader.dropped(), 0)

    def test_extremes_are_those_of_their_interval(self):
        with tempfile.TemporaryDirectory() as folder:
            reader = None
            intervals = []
            for rows in ("1\t3\t7\t9\n", "1\t2\t7\t9\n2\t1\t4\t4\n", "1\t1\t7\t12\n", "1\t1\t7\t12\n"):
                for name in ("hist", "hist_raw"):
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                        file.write("pid\thitcount\tlat.min\tlat.max\n" + rows)
                reader = reader or Reader(folder, "hist:keys=pid:vals=lat.min,lat.max")
                intervals.append(reader.take().rows)
        self.assertEqual(
            intervals,
            [
                {(1,): [3, 7, 9]},
                {(1,): [2, None, None], (2,): [1, 4, 4]},
                {(1,): [1, None, 12]},
                {(1,): [1, None, None]},
            ],
        )
        all_of_it = Recording("a/b", "", [Key("pid")], ["hitcount", "lat.min", "lat.max"])
        all_of_it.intervals = [Interval(i, i + 1, rows) for i, rows in enumerate(intervals)]
        self.assertEqual(recording.load(recording.dump(all_of_it)), all_of_it)
        self.assertEqual(all_of_it.total().rows, {(1,): [7, 7, 12], (2,): [1, 4, 4]})
        all_of_it.intervals[:-1] = []
        self.assertIsNone(all_of_it.total().total("lat.max"))

    def test_hist_raw_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("hist", "hist_raw"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(data(f"rust/syscall.{name}"))
            reader = Reader(folder, "hist:keys=id.syscall")
            self.assertEqual(reader.source, "hist_raw")
            # The names of system calls are those of hist.
            self.assertEqual(reader.take().rows[("sys_openat",)], [699])


if __name__ == "__main__":
    unittest.main()
