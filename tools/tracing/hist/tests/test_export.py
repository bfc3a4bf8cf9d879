# SPDX-License-Identifier: GPL-2.0
"""The formats for other programs."""

import json
import re
import unittest

from tests.data_files import data
from tracehist import otlp, prometheus, source, summary
from tracehist.bucket import Bucket, Linear, Log2, Parts
from tracehist.errors import HistError
from tracehist.recording import Interval, Recording
from tracehist.table import Key


# Neighbouring buckets of addresses, whose limits are closer than doubles of that
# size, and one further away.
ADDRESSES = {
    (Bucket(18446612682070000000, 18446612682070000099),): [1],
    (Bucket(18446612682070000100, 18446612682070000199),): [2],
    (Bucket(18446612682070006000, 18446612682070016099),): [4],
}


def recording(name):
    return source.parse(data(name), "/t/events/syscalls/sys_exit_read/hist")[0]


def of_rows(keys, rows, unit="", values=("hitcount",)):
    return Recording("a/b", "", keys, list(values), unit=unit, started=100.0, intervals=[Interval(0.0, 2.0, rows)])


class AverageTest(unittest.TestCase):
    def test_averages_are_exported_with_their_sums(self):
        rows = {("a",): [2, 21], ("b",): [0, 0]}
        one = of_rows([Key("comm")], rows, values=("hitcount", "lat.sum"))
        series = json.loads(summary.export(one))["series"]
        self.assertEqual(
            [s["values"] for s in series], [{"lat.sum": 21, "lat.avg": 10}, {"lat.sum": 0, "lat.avg": None}]
        )
        lines = prometheus.export(one).split("\n")
        self.assertIn('hist_a_b_lat_avg{comm="a"} 10', lines)
        self.assertEqual([line for line in lines if 'lat_avg{comm="b"}' in line], [])


class SummaryTest(unittest.TestCase):
    def test_series(self):
        out = json.loads(summary.export(recording("c/grouped.hist")))
        self.assertEqual((out["hits"], out["event"]), (99, "syscalls/sys_exit_read"))
        first = out["series"][0]
        self.assertEqual(first["keys"], {"common_pid": "dd-194"})
        self.assertEqual(first["buckets"], [{"from": 257, "to": 512, "hits": 50}, {"from": 513, "to": 1024, "hits": 1}])
        self.assertEqual(sum(s["hits"] for s in out["series"]), 99)

    def test_keys_are_distinct(self):
        out = json.loads(summary.export(of_rows([Key("id"), Key("id")], {(3, 4): [2]})))
        self.assertEqual(out["series"][0]["keys"], {"id": 3, "id_2": 4})

    def test_without_buckets(self):
        out = json.loads(summary.export(recording("rust/plain.hist_raw")))
        self.assertNotIn("buckets", out["series"][0])
        self.assertEqual(set(out["series"][0]["keys"]), {"common_pid", "fd"})


class PrometheusTest(unittest.TestCase):
    def test_buckets_are_cumulative(self):
        lines = prometheus.export(recording("rust/parts.hist")).split("\n")
        name = "hist_syscalls_sys_exit_read_ret"
        self.assertEqual(lines[0], f"# HELP {name} ret of syscalls:sys_exit_read")
        self.assertEqual(lines[1], f"# TYPE {name} histogram")
        self.assertEqual(
            lines[2:6],
            [f'{name}_bucket{{le="{limit}"}} {hits}' for limit, hits in ((0, 3), (255, 3), (319, 53), (767, 53))],
        )
        self.assertEqual(lines[-4:], [f'{name}_bucket{{le="+Inf"}} 99', f"{name}_sum 139841", f"{name}_count 99", ""])

    def test_limits_are_the_same_for_each_group(self):
        lines = prometheus.export(recording("c/grouped.hist")).split("\n")
        limits = {}
        for line in lines:
            if "_bucket{" in line:
                labels, _, limit = line.partition('le="')
                limits.setdefault(labels, []).append(limit.split('"')[0])
                self.assertRegex(line, r'^hist_syscalls_sys_exit_read_ret_bucket\{common_pid="[^"]+",le="[^"]+"\} \d+$')
        self.assertGreater(len(limits), 5)
        self.assertEqual(len({tuple(found) for found in limits.values()}), 1)

    def test_escapes(self):
        text = prometheus.export(of_rows([Key("a.b")], {('x"y\\z\n',): [3]}))
        self.assertIn('hist_a_b_hits_total{a_b="x\\"y\\\\z\\n"} 3\n', text)

    def test_times_are_seconds(self):
        rows = {(Bucket(16, 17),): [2, 33], (Bucket(1 << 20, (1 << 20) + 131071),): [1, 1100000]}
        text = prometheus.export(of_rows([Key("lat", Parts(3))], rows, "us", ("hitcount", "lat")))
        for line in (
            'hist_latency_seconds_bucket{le="0.000017"} 2',
            'hist_latency_seconds_bucket{le="1.048575"} 2',
            'hist_latency_seconds_bucket{le="1.179647"} 3',
            "hist_latency_seconds_sum 1.100033",
        ):
            self.assertIn(line + "\n", text)
        self.assertNotIn('le="0.000015"', text)

    def test_counters_and_sums(self):
        text = prometheus.export(recording("rust/plain.hist"), metric="reads")
        self.assertIn("# TYPE reads counter\n", text)
        self.assertIn("# TYPE reads_count gauge\n", text)
        self.assertRegex(text, r'(?m)^reads\{common_pid="\d+",fd="\d+"\} \d+$')

    def labels(self, *keys):
        """The names of the labels for a bucket, and for a counter."""
        parts = tuple(range(len(keys)))
        columns = [Key(k) for k in keys]
        buckets = prometheus.export(of_rows(columns + [Key("lat", Parts(1))], {(*parts, Bucket(2, 2)): [3]}))
        counts = prometheus.export(of_rows(columns, {parts: [3]}))
        found = [re.findall(r'(\w+)="', text.split("\n")[2]) for text in (buckets, counts)]
        self.assertEqual(found[0], found[1] + ["le"])
        return found[1]

    def test_reserved_labels(self):
        self.assertEqual(
            self.labels("le", "quantile", "__name__", "exported_le", "pid"),
            ["exported_le", "exported_quantile", "exported___name__", "exported_le_2", "pid"],
        )
        text = prometheus.export(of_rows([Key("le"), Key("lat", Log2())], {(0, Bucket(0, 1)): [1]}))
        self.assertIn('hist_a_b_lat_bucket{exported_le="0",le="1"} 1\n', text)

    def test_labels_are_distinct(self):
        self.assertEqual(self.labels("a.b", "a_b", "a_b_2", "9", "ä"), ["a_b", "a_b_3", "a_b_2", "_9", "_"])
        # keys=id,id.hex
        self.assertEqual(self.labels("id", "id"), ["id", "id_2"])

    def test_families_are_distinct(self):
        rows = {("a",): [2, 21, 3, 4]}
        text = prometheus.export(of_rows([Key("comm")], rows, values=("hitcount", "x.sum", "x_sum", "hits_total")))
        families = re.findall("# TYPE (.*) ", text)
        self.assertEqual(len(families), 5)
        self.assertEqual(len(set(families)), 5)

    def test_name_of_the_metric(self):
        for wrong in ("", "a-b", "9a", "ä", "a b", "a\n"):
            with self.assertRaises(HistError, msg=wrong):
                prometheus.export(recording("rust/plain.hist"), wrong)
        self.assertIn("# TYPE a:b counter\n", prometheus.export(recording("rust/plain.hist"), "a:b"))

    def test_limits_that_are_equal_as_doubles(self):
        one = of_rows([Key("p", Linear(100))], ADDRESSES)
        limits = re.findall('le="([0-9]+)"} ([0-9]+)', prometheus.export(one))
        self.assertEqual(
            limits, [("18446612682070000199", "3"), ("18446612682070005999", "3"), ("18446612682070016099", "7")]
        )

    def test_a_field_named_hitcount_has_no_sum(self):
        one = source.parse("hitcount.log2\thitcount\n3\t5\n")[0]
        text = prometheus.export(one)
        self.assertIn('hist_event_hitcount_bucket{le="8"} 5\n', text)
        self.assertNotIn("_sum", text)
        self.assertNotIn('"sum"', otlp.export(one))

    def test_names(self):
        self.assertEqual([prometheus.name_of(n) for n in ("a.b", "9x", "ok_1")], ["a_b", "_9x", "ok_1"])


class OtlpTest(unittest.TestCase):
    def point(self, one, kind="exponentialHistogram", **more):
        out = json.loads(otlp.export(one, **more))
        metric = out["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]
        return metric[kind]["dataPoints"][0]

    def test_index(self):
        self.assertEqual([otlp.index_of(v, 0) for v in (1, 2, 3, 4, 5)], [-1, 0, 1, 1, 2])
        # Just at and above 2^(1/2).
        self.assertEqual([otlp.index_of(v, 1) for v in (1, 2, 3, 4, 5, 6)], [-1, 1, 3, 3, 4, 5])
        self.assertEqual([otlp.index_of(v, -1) for v in (1, 2, 4, 5, 16, 17)], [-1, 0, 0, 1, 1, 2])
        for e in range(63):
            for scale in range(6):
                self.assertEqual(otlp.index_of(1 << e, scale), (e << scale) - 1)
                if e > 5:
                    self.assertEqual(otlp.index_of((1 << e) + 1, scale), e << scale)

    def test_log2_is_exact(self):
        point = self.point(recording("c/log2.hist"))
        self.assertEqual(
            (point["scale"], point["zeroCount"], point["zeroThreshold"], point["count"]), (0, "3", 1, "99")
        )
        # 257 to 512 is bucket 8, from 2^8 (excluded) to 2^9.
        self.assertEqual(point["positive"], {"offset": 8, "bucketCounts": ["50", "24", "1", "1", "20"]})
        for power in range(1, 64):
            bucket = Log2().bucket(power)
            self.assertEqual({otlp.index_of(bucket.low, 0), otlp.index_of(bucket.high, 0)}, {power - 1})

    def test_parts_are_at_most_one_bucket_away(self):
        for parts in range(1, 6):
            scale = Parts(parts)
            for i in range(1, scale.index((1 << 63) - 1) + 1):
                bucket = scale.bucket(i)
                middle = otlp.index_of(bucket.middle, parts)
                self.assertLessEqual(middle - otlp.index_of(bucket.low, parts), 1)
                self.assertLessEqual(otlp.index_of(bucket.high, parts) - middle, 1)
                if i < 2 << parts:
                    self.assertEqual(bucket.low, bucket.high)

    def test_nothing_is_lost(self):
        for scale in (None, -2, 0, 5):
            point = self.point(recording("rust/parts.hist"), scale=scale)
            hits = int(point["zeroCount"]) + sum(map(int, point["positive"]["bucketCounts"]))
            self.assertEqual((hits, point["count"], point["sum"]), (99, "99", 139841.0))
        self.assertEqual(self.point(recording("rust/parts.hist"))["scale"], 2)

    def test_negative_numbers(self):
        scale = Parts(1)
        one = of_rows(
            [Key("n", scale)],
            {(scale.bucket(scale.index(n)),): [abs(n), n] for n in (-5, -1, 4)},
            values=("hitcount", "n"),
        )
        point = self.point(one)
        self.assertEqual(point["zeroCount"], "0")
        # -5 is in the kernel's bucket from -5 to -4.
        self.assertEqual(point["negative"], {"offset": -1, "bucketCounts": ["1", "0", "0", "0", "5"]})
        self.assertEqual(point["positive"], {"offset": 3, "bucketCounts": ["4"]})
        self.assertNotIn("sum", point)

    def test_explicit_limits(self):
        point = self.point(recording("rust/parts.hist"), "histogram", explicit=True)
        self.assertEqual(len(point["bucketCounts"]), len(point["explicitBounds"]) + 1)
        self.assertEqual(dict(zip(point["explicitBounds"], point["bucketCounts"]))[319.0], "50")
        self.assertEqual(sum(map(int, point["bucketCounts"])), 99)

    def test_explicit_limits_increase_as_doubles(self):
        point = self.point(of_rows([Key("p", Linear(100))], ADDRESSES), "histogram", explicit=True)
        bounds = point["explicitBounds"]
        self.assertEqual(bounds, sorted(set(bounds)))
        self.assertEqual(bounds, [float(n) for n in (18446612682070000199, 18446612682070005999, 18446612682070016099)])
        self.assertEqual(point["bucketCounts"], ["3", "0", "4", "0"])

    def test_attributes_are_distinct(self):
        point = self.point(of_rows([Key("id"), Key("id"), Key("lat", Parts(3))], {(3, 4, Bucket(16, 17)): [2]}))
        self.assertEqual([a["key"] for a in point["attributes"]], ["id", "id_2"])

    def test_times_and_attributes(self):
        one = of_rows([Key("comm"), Key("cpu"), Key("lat", Parts(3))], {("a", 3, Bucket(16, 17)): [2]}, "us")
        point = self.point(one)
        self.assertEqual(
            point["attributes"],
            [{"key": "comm", "value": {"stringValue": "a"}}, {"key": "cpu", "value": {"intValue": "3"}}],
        )
        self.assertEqual((point["startTimeUnixNano"], point["timeUnixNano"]), ("100000000000", "102000000000"))

    def test_integers_have_64_bits_with_a_sign(self):
        for number, kind in ((1 << 63, "stringValue"), ((1 << 63) - 1, "intValue"), (-(1 << 63), "intValue")):
            point = self.point(of_rows([Key("call_site"), Key("lat", Parts(3))], {(number, Bucket(16, 17)): [2]}))
            self.assertEqual(point["attributes"], [{"key": "call_site", "value": {kind: str(number)}}])

    def test_what_is_no_distribution(self):
        with self.assertRaises(HistError):
            otlp.export(recording("rust/plain.hist"))
        with self.assertRaises(HistError):
            otlp.export(recording("rust/parts.hist"), scale=99)


if __name__ == "__main__":
    unittest.main()
