# SPDX-License-Identifier: GPL-2.0
"""The pictures: that they are SVG, and have what they should show."""

import unittest
import xml.etree.ElementTree as ET

from tests.data_files import data
from tracehist import picture, source, svg
from tracehist.bucket import Parts
from tracehist.errors import HistError
from tracehist.recording import Interval, Recording
from tracehist.table import Key

NAMESPACE = "{http://www.w3.org/2000/svg}"


def over_time(intervals=5, hits=10):
    """Latencies that are the same in each interval but for one that is very long in the third."""
    scale = Parts(3)
    one = Recording(
        "synthetic/x", "hist:keys=lat.log2=3", [Key("lat", scale)], ["hitcount"], unit="us", title="a < b & c"
    )
    for i in range(intervals):
        rows = {(scale.bucket(scale.index(v)),): [hits] for v in (12, 20)}
        if i == 2:
            rows[(scale.bucket(scale.index(9000)),)] = [1]
        one.intervals.append(Interval(float(i), i + 1.0, rows))
    return one


class PictureTest(unittest.TestCase):
    def parsed(self, text):
        """The texts, and the tips of rectangles; nothing is outside of the picture."""
        root = ET.fromstring(text)
        width, height = float(root.get("width")), float(root.get("height"))
        for rect in root.iter(NAMESPACE + "rect"):
            x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
            self.assertGreaterEqual(min(x, y), 0)
            self.assertLessEqual(x + float(rect.get("width")), width + 0.5)
            self.assertLessEqual(y + float(rect.get("height")), height + 0.5)
        texts = [t.text for t in root.iter(NAMESPACE + "text")]
        tips = [
            r.find(NAMESPACE + "title").text
            for r in root.iter(NAMESPACE + "rect")
            if r.find(NAMESPACE + "title") is not None
        ]
        self.assertEqual(root.get("role"), "img")
        self.assertTrue(root.find(NAMESPACE + "title").text)
        self.assertTrue(root.find(NAMESPACE + "desc").text)
        return texts, tips

    def test_distribution(self):
        texts, tips = self.parsed(picture.distribution(over_time()))
        self.assertEqual(texts[0], "a < b & c: 101 hits in 5.0 s")
        for word in ("latency (microseconds)", "hits per power of two", "p50, p90, p99", "p99.9", "12", "20", "8192"):
            self.assertIn(word, texts)
        self.assertIn("12 us: 50 hits, 49.5 %", tips)
        self.assertIn("20-21 us: 50 hits, 49.5 %", tips)
        self.assertEqual(len(tips), 3)

    def test_of_all_recorded_tables(self):
        for name in (
            "rust/parts.hist",
            "c/log2.hist",
            "c/linear.hist",
            "c/grouped.hist",
            "c/syscall.hist",
            "c/stack.hist",
        ):
            texts, tips = self.parsed(picture.distribution(source.parse(data(name))[0]))
            self.assertTrue(tips)
            self.assertTrue(any(t.startswith("hits") for t in texts), name)

    def test_heatmap(self):
        texts, tips = self.parsed(picture.heatmap(over_time()))
        for word in ("time since the start (s)", "latency (microseconds)", "hits per second", "none"):
            self.assertIn(word, texts)
        self.assertEqual(len(tips), 5 * 2 + 1)
        self.assertIn("2.00-3.00 s, 8192: 1 hits/s", tips)

    def test_heatmap_of_keys(self):
        one = Recording("a/b", "t", [Key("comm")], ["hitcount"])
        one.intervals = [Interval(i * 0.5, i * 0.5 + 0.5, {("x",): [2], (f"y{i}",): [1]}) for i in range(30)]
        texts, tips = self.parsed(picture.heatmap(one))
        self.assertIn("x", texts)
        self.assertIn("0.00-0.50 s, x: 4 hits/s", tips)

    def test_long_recordings_are_drawn_in_fewer_columns(self):
        _, tips = self.parsed(picture.heatmap(over_time(1000)))
        self.assertLess(len(tips), 2 * picture.MOST_COLUMNS + 2)

    def test_a_short_interval_at_the_end_is_not_drawn_alone(self):
        one = over_time(3)
        one.intervals.append(Interval(3.0, 3.001, {next(iter(one.intervals[0].rows)): [1]}))
        _, tips = self.parsed(picture.heatmap(one))
        self.assertFalse([t for t in tips if t.startswith("3.00")])
        self.assertTrue([t for t in tips if t.startswith("2.00-3.00 s")])

    def test_what_cannot_be_drawn(self):
        with self.assertRaises(HistError):
            picture.distribution(source.parse(data("rust/empty.hist"))[0])
        with self.assertRaises(HistError):
            picture.heatmap(source.parse(data("rust/parts.hist"))[0])


class ScaleOfPictureTest(unittest.TestCase):
    def test_shades(self):
        self.assertEqual((svg.shade(0), svg.shade(1)), ("#fde725", "#440154"))

        # Lightness falls from little to much, for a print in grey.
        def light(colour):
            return sum(w * int(colour[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))

        shades = [light(svg.shade(i / 20)) for i in range(21)]
        self.assertEqual(shades, sorted(shades, reverse=True))

    def test_numbers(self):
        self.assertEqual(
            [svg.number(v) for v in (0, 512, 8192, 131072, 4194304, 2e9, 0.5)],
            ["0", "512", "8192", "131k", "4.19M", "2G", "0.5"],
        )

    def test_ticks(self):
        self.assertEqual(svg.nice_ticks(100), [0, 20, 40, 60, 80, 100])
        self.assertEqual(svg.nice_ticks(0), [0])
        self.assertLessEqual(len(svg.nice_ticks(7.3)), 8)

    def test_labels_do_not_overlap(self):
        chosen = svg.spread([1, 5, 1, 5, 9], [0, 10, 20, 30, 35], 10)
        # 30 is too close to 35, which is first.
        self.assertEqual(chosen, [0, 1, 2, 4])


if __name__ == "__main__":
    unittest.main()
