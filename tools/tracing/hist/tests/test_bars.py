# SPDX-License-Identifier: GPL-2.0
"""Bars and reports."""

import unittest

from tests.data_files import data
from tracehist import bars, source
from tracehist.bucket import Bucket, Parts
from tracehist.recording import Interval, Recording
from tracehist.table import Key


class BarTest(unittest.TestCase):
    def test_lengths(self):
        self.assertEqual(bars.bar(1, 10, True), "#" * 10)
        self.assertEqual(bars.bar(0.5, 10, False), "█" * 5)
        self.assertEqual(bars.bar(0.5, 1, False), "▌")
        self.assertEqual(bars.bar(0, 10, False), "")

    def test_a_single_hit_is_seen(self):
        self.assertEqual(bars.bar(1e-9, 10, True), "#")
        self.assertEqual(bars.bar(1e-9, 10, False), "▏")


class ReportTest(unittest.TestCase):
    def test_distribution(self):
        lines = bars.report(source.parse(data("rust/parts.hist"), "/t/events/syscalls/sys_exit_read/hist")[0], 60, True)
        self.assertEqual(lines[0], "syscalls:sys_exit_read: 99 hits")
        self.assertEqual(lines[2], "      ret hits   share")
        self.assertEqual(lines[3], "        0    3    3.0 % ##")
        self.assertEqual(lines[4], "      ...")
        self.assertEqual(lines[5], "  256-319   50   50.5 % " + "#" * 36)
        self.assertEqual(lines[-1], "p50 287  p90 4,607  p99 4,607  p99.9 4,607")
        self.assertLessEqual(max(map(len, lines)), 60)

    def test_many_parts_are_drawn_as_fewer(self):
        scale = Parts(5)
        fine = {scale.bucket(scale.index(n)): 1 for n in range(1000, 30000, 10)}
        counts, coarse = bars.coarser(fine, scale)
        self.assertEqual((coarse, sum(counts.values())), (Parts(2), len(fine)))
        for bucket in fine:
            self.assertTrue(any(b.low <= bucket.low and bucket.high <= b.high for b in counts), bucket)
        few = {Bucket(16, 17): 3}
        self.assertEqual(bars.coarser(few, Parts(3)), (few, Parts(3)))

    def test_groups(self):
        lines = bars.report(source.parse(data("rust/grouped.hist"))[0], 80, True, top=2)
        self.assertIn("common_pid dd-220: 51 hits", lines)
        self.assertIn("... and 21 more", lines)

    def test_ranking(self):
        lines = bars.report(source.parse(data("c/syscall.hist"))[0], 70, False, top=3)
        self.assertRegex(lines[3], r"^sys_openat +699 +24\.\d % █+$")
        self.assertRegex(lines[-1], r"^\.\.\. and \d+ more with [\d,]+ hits$")

    def test_ranking_has_the_values(self):
        one = source.parse(data("rust/extremes.hist_raw"))[0]
        lines = bars.report(one, 80, True, top=3)
        self.assertRegex(lines[2], r"^common_pid +ret\.min  ret\.max  ret\.sum  ret\.avg +hits   share$")
        self.assertRegex(lines[3], r"^\d+ +[\d,]+  +[\d,]+ +[\d,]+ +[\d,]+ +\d+ +\d+\.\d % #+$")

    def test_a_line_is_not_longer_than_the_terminal(self):
        rows = {("a" * n, "b" * 60, "c" * 70): [n, n] for n in range(1, 60)}
        keys = [Key("common_comm"), Key("file"), Key("stack")]
        lines = bars.report(Recording("a/b", "", keys, ["hitcount", "bytes"], intervals=[Interval(0, 1, rows)]), 80, True)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(lines[3], r"^a+\.\.\. +b+\.\.\.  c+\.\.\.  +59 +59 +\d+\.\d % #+$")

    def test_names_are_no_commands_for_the_terminal(self):
        evil = "a\x1b]0;b\x07\nc\x9bd"
        for keys, rows in (
            ([Key("comm")], {(evil,): [1]}),
            ([Key("comm"), Key("lat", Parts(3))], {(evil, Bucket(16, 17)): [1]}),
        ):
            one = Recording("a/b", "", keys, ["hitcount"], intervals=[Interval(0, 1, rows)])
            one.longest = [{"max": 1, "comm": evil}]
            text = "".join(bars.report(one, 80, True))
            self.assertTrue(text.isprintable(), repr(text))
            self.assertIn(r"a\033]0;b\007\012c\233d", text)

    def test_nothing_and_losses(self):
        self.assertEqual(bars.report(source.parse(data("rust/empty.hist"))[0], 80, True)[1], "No hits.")
        self.assertIn("2,677 more hits had no room", bars.report(source.parse(data("rust/full.hist"))[0], 80, True)[-1])

    def test_largest_value_and_unit(self):
        r = Recording("a/b", "", [Key("lat", Parts(3))], ["hitcount", "lat", "lat.max"], unit="us", title="time")
        r.intervals = [Interval(0, 2, {(Bucket(16, 17),): [2, 33, 17]})]
        lines = bars.report(r, 80, True)
        self.assertEqual(lines[0], "time: 2 hits in 2.0 s")
        self.assertEqual(lines[-1], "p50 16  p90 16  p99 16  p99.9 16  max 17  (us)")
        r.longest = [{"max": 1017, "pid": 3, "comm": "a"}, {"max": 9, "pid": 12345, "comm": "b"}]
        self.assertEqual(
            bars.report(r, 80, True)[-3:],
            ["longest (us)  pid    comm", "       1,017  3      a", "           9  12345  b"],
        )


if __name__ == "__main__":
    unittest.main()
