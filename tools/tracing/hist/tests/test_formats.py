# SPDX-License-Identifier: GPL-2.0
"""The parsers of hist and hist_raw, on files of a kernel with the histograms in Rust and in C."""

import unittest

from tests.data_files import data, names
from tracehist import raw, text
from tracehist.bucket import Bucket, Linear, Log2, Parts
from tracehist.errors import FormatError


class TextTest(unittest.TestCase):
    def test_sums_are_those_of_the_totals(self):
        files = names("rust", ".hist") + names("c", ".hist")
        self.assertGreater(len(files), 20)
        for name in files:
            contents = data(name)
            hits = [int(line.split()[1]) for line in contents.split("\n") if line.startswith("    Hits:")]
            entries = [int(line.split()[1]) for line in contents.split("\n") if line.startswith("    Entries:")]
            tables = text.parse(contents)
            # One whose rows were left out of the file of the test.
            if name != "c/stack.hist":
                self.assertEqual([t.hits for t in tables], hits, name)
                self.assertEqual([len(t.rows) for t in tables], entries, name)

    def test_parts_of_powers_of_two(self):
        table = text.parse(data("rust/parts.hist"))[0]
        self.assertEqual(table.keys[0].scale, Parts(2))
        self.assertEqual(table.values, ["hitcount", "ret"])
        self.assertEqual(table.rows[(Bucket(256, 319),)], [50, 15000])

    def test_scales(self):
        self.assertEqual(text.parse(data("c/log2.hist"))[0].keys[0].scale, Log2())
        self.assertEqual(text.parse(data("c/linear.hist"))[0].keys[0].scale, Linear(100))
        self.assertEqual(text.parse(data("c/log2.hist"))[0].rows[(Bucket(257, 512),)], [50, 15000])

    def test_kinds_of_keys(self):
        grouped = text.parse(data("c/grouped.hist"))[0]
        self.assertEqual(grouped.rows[("cat-193", Bucket(0, 1))], [3, 0])
        self.assertIn(("sleep", 0x20), text.parse(data("c/comm.hist"))[0].rows)
        self.assertIn(("sys_openat",), text.parse(data("c/syscall.hist"))[0].rows)
        self.assertIn(("proc_self_get_link", Bucket(9, 16)), text.parse(data("c/sym.hist"))[0].rows)

    def test_stacks_are_a_key(self):
        rows = text.parse(data("c/stack.hist"))[0].rows
        self.assertEqual(len(rows), 2)
        for (stack,), _ in rows.items():
            self.assertRegex(stack, r"^[a-z_0-9.+/x]+(,[A-Za-z_0-9.+/]+)+$")

    def test_only_numbers_are_values(self):
        # The C implementation says keys=common_cpucommon_cpu in the trigger.
        for kernel in ("rust", "c"):
            table = text.parse(data(f"{kernel}/graph.hist"))[0]
            self.assertEqual([k.name for k in table.keys], ["common_cpu"])
            self.assertEqual(table.values, ["hitcount"])

    def test_lines_of_handlers_and_quantiles_are_no_rows(self):
        self.assertEqual(len(text.parse(data("c/save.hist"))[0].keys), 1)
        self.assertEqual(len(text.parse(data("rust/quantiles.hist"))[0].rows), 6)

    def test_drops(self):
        self.assertEqual(text.parse(data("rust/full.hist"))[0].dropped, 2677)
        self.assertEqual(text.dropped(data("rust/full.hist")), 2677)

    def test_losses(self):
        self.assertEqual(text.lost(data("rust/full.hist")), 2677)
        totals = "    Hits: 9\n    Entries: 2\n    Dropped: 3\n    Reused: 5\n    Lost: 4\n"
        self.assertEqual(text.lost("{ pid:  1 } hitcount:  2\n\nTotals:\n" + totals * 2), 14)

    def test_strings_with_what_separates(self):
        head = "# event histogram\n#\n# trigger info: hist:keys=comm,pid:vals=hitcount:size=2048 [active]\n#\n\n"
        table = text.parse(head + "{ comm: a, b: } c                 , pid:          7 } hitcount:          1   \n")[0]
        self.assertEqual(table.rows, {("a, b: } c", 7): [1]})

    def test_what_is_no_hist_file(self):
        for contents in ("", "nothing", "# trigger info: hist:keys=pid\n{ pid: } 3\n"):
            with self.assertRaises(FormatError):
                text.parse(contents)


class SavedTest(unittest.TestCase):
    def test_longest_times(self):
        for kernel in ("rust", "c"):
            contents = data(f"{kernel}/save.hist")
            rows = text.saved(contents, ["next_comm", "prev_comm"])
            self.assertEqual(len(rows), len(text.parse(contents)[0].rows))
        self.assertIn(((24,), 136, ["kworker/1:0", "record.sh"]), rows)
        # As the kernel pads it.
        line = "\tmax:         29  next_comm: a b: c                       prev_pid:         12                       "
        self.assertEqual(
            text.saved("{ pid:         22, cpu:          1 } hitcount:          1\n" + line, ["next_comm", "prev_pid"]),
            [((22, 1), 29, ["a b: c", "12"])],
        )


class RawTest(unittest.TestCase):
    def test_the_same_as_hist(self):
        files = [n for n in names("rust", ".hist_raw") if "two" not in n]
        self.assertGreater(len(files), 8)
        for name in files:
            table = raw.parse(data(name), [t.trigger for t in text.parse(data(name[: -len("_raw")]))])[0]
            shown = text.parse(data(name[: -len("_raw")]))[0]
            self.assertEqual(table.hits, shown.hits, name)
            self.assertEqual([k.scale for k in table.keys], [k.scale for k in shown.keys], name)
            # Numbers instead of names, sums instead of averages, and what is shown twice.
            if not any(word in name for word in ("syscall", "extremes", "graph")):
                self.assertEqual(table.rows, shown.rows, name)

    def test_strings_of_digits(self):
        rows = raw.parse("name\thitcount\n007\t1\n7\t2\n-0\t3\n0\t4\n-5\t5\n")[0].rows
        self.assertEqual(list(rows), [("007",), (7,), ("-0",), (0,), (-5,)])
        shown = text.parse(
            "# event histogram\n# trigger info: hist:keys=name [active]\n"
            + "".join(f"{{ name: {name:31} }} hitcount:  1\n" for name in ("007", "7"))
        )[0]
        self.assertEqual(list(shown.rows), [("007",), (7,)])

    def test_several_tables(self):
        tables = raw.parse(data("rust/two.hist_raw"))
        self.assertEqual([t.keys[0].name for t in tables], ["common_pid", "id"])
        self.assertEqual(tables[1].keys[0].scale, Log2())

    def test_scale_without_a_trigger(self):
        self.assertEqual(raw.parse(data("rust/parts.hist_raw"))[0].keys[0].scale, Parts(2))
        self.assertEqual(raw.parse(data("rust/linear.hist_raw"))[0].keys[0].scale, Linear(100))

    def test_a_key_named_hitcount(self):
        for contents, triggers, keys, rows in (
            ("hitcount\thitcount\n7\t1\n8\t2\n", (), ["hitcount"], {(7,): [1], (8,): [2]}),
            ("hitcount\tid\thitcount\n7\t3\t1\n", (), ["hitcount", "id"], {(7, 3): [1]}),
            ("id\thitcount\thitcount\n3\t7\t1\n", (), ["id", "hitcount"], {(3, 7): [1]}),
            ("id\thitcount\thitcount\tn\n3\t7\t1\t5\n", (), ["id", "hitcount"], {(3, 7): [1, 5]}),
            # Numbers that could be either are told by the trigger.
            ("id\thitcount\thitcount\n3\t1\t1\n", ["hist:keys=id,hitcount"], ["id", "hitcount"], {(3, 1): [1]}),
            ("id\thitcount\thitcount\n3\t1\t1\n", ["hist:keys=id:vals=hitcount.graph"], ["id"], {(3,): [1, 1]}),
            ("hitcount.from\thitcount.to\thitcount\n8\t9\t1\n", (), ["hitcount"], {(Bucket(8, 9),): [1]}),
            (
                "pid\tpid.execname\thitcount\thitcount\n3\ta\t1\t1\n",
                ["hist:keys=pid.execname,hitcount"],
                ["pid", "hitcount"],
                {("a-3", 1): [1]},
            ),
        ):
            table = raw.parse(contents, triggers)[0]
            self.assertEqual(([k.name for k in table.keys], table.rows), (keys, rows), contents)
            self.assertEqual(table.values[0], "hitcount")

    def test_values_that_repeat_the_hits(self):
        table = raw.parse(data("rust/graph.hist_raw"))[0]
        self.assertEqual(([k.name for k in table.keys], table.hits), (["common_cpu"], 2805))

    def test_escapes(self):
        table = raw.parse("tag\thitcount\nb\\011c\\134\t1\n")[0]
        self.assertEqual(table.rows, {("b\tc\\",): [1]})

    def test_statistics(self):
        table = raw.parse(data("rust/extremes.hist_raw"))[0]
        self.assertEqual(table.values, ["hitcount", "ret.min", "ret.max", "ret.sum"])
        self.assertEqual((table.total("ret.min"), table.total("ret.max")), (0, 5000))

    def test_what_is_no_hist_raw(self):
        self.assertEqual(raw.parse(""), [])
        for contents in (
            "a\tb\n1\t2\n",
            # With nohitcount, of a field of that name.
            "hitcount\tb\n1\t2\n",
            "pid\thitcount\n1\n",
            "pid\thitcount\n1\tx\n",
            "a.from\ta.to\thitcount\n1\tx\t2\n",
        ):
            with self.assertRaises(FormatError):
                raw.parse(contents)


if __name__ == "__main__":
    unittest.main()
