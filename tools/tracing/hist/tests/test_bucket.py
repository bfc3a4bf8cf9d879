# SPDX-License-Identifier: GPL-2.0
"""The scales, against what the kernel's documents say of them."""

import unittest

from tracehist.bucket import Bucket, Linear, Log2, Parts, guess_scale, scale_of, slots


class ScaleTest(unittest.TestCase):
    def check_scale(self, scale, values):
        """Each bucket has the values that are in it, and the next one begins where it ends."""
        for value in values:
            index = scale.index(value)
            bucket = scale.bucket(index)
            self.assertLessEqual(bucket.low, value, scale)
            self.assertGreaterEqual(bucket.high, value, scale)
            self.assertEqual(scale.bucket(index + 1).low, bucket.high + 1, scale)
            self.assertEqual(scale.index(bucket.low), index)
            self.assertEqual(scale.index(bucket.high), index)

    def test_all_scales_are_without_gaps(self):
        near_powers = [(1 << e) + d for e in range(1, 63) for d in (-1, 0, 1)]
        values = sorted(set(list(range(300)) + near_powers))
        self.check_scale(Log2(), values)
        for parts in range(1, 6):
            self.check_scale(Parts(parts), values)
            self.check_scale(Parts(parts), [-v for v in values if v < 1 << 62 and v])
        self.check_scale(Linear(100), values + [-v for v in values])

    def test_parts_as_documented(self):
        scale = Parts(2)
        for value, low, high in (
            (0, 0, 0),
            (7, 7, 7),
            (8, 8, 9),
            (20, 20, 23),
            (-8, -9, -8),
            (4294967295, 3758096384, 4294967295),
        ):
            self.assertEqual(scale.bucket(scale.index(value)), Bucket(low, high))
        scale = Parts(1)
        self.assertEqual(scale.bucket(scale.index((1 << 63) - 1)), Bucket(6917529027641081856, 9223372036854775807))
        self.assertEqual(scale.bucket(scale.index(-(1 << 63))), Bucket(-(1 << 63), -(1 << 63)))

    def test_log2_as_shown(self):
        self.assertEqual(Log2().bucket(8), Bucket(129, 256))
        self.assertEqual([Log2().index(v) for v in (0, 1, 2, 3, 256, 257)], [0, 0, 1, 2, 8, 9])

    def test_modifiers(self):
        self.assertEqual(scale_of("log2"), Log2())
        self.assertEqual(scale_of("log2=5"), Parts(5))
        self.assertEqual(scale_of("buckets=0x10"), Linear(16))
        for modifier in ("log2=0", "log2=6", "log2=x", "buckets=0", "buckets", "hex", ""):
            self.assertIsNone(scale_of(modifier), modifier)

    def test_guesses(self):
        self.assertEqual(guess_scale([Parts(3).bucket(i) for i in (2, 20, 50)]), Parts(3))
        self.assertEqual(guess_scale([Bucket(0, 99), Bucket(300, 399)]), Linear(100))
        self.assertEqual(guess_scale([Bucket(3, 3)]), Linear(1))


class SlotsTest(unittest.TestCase):
    def test_short_gaps_are_filled(self):
        scale = Linear(10)
        axis = slots(scale, [scale.bucket(0), scale.bucket(3), scale.bucket(8)])
        self.assertEqual([str(s) for s in axis], ["0-9", "10-19", "20-29", "30-39", "None", "80-89"])

    def test_far_apart(self):
        self.assertEqual(slots(Linear(1), [Bucket(0, 0), Bucket(1 << 62, 1 << 62)])[1], None)

    def test_log2_is_in_order(self):
        axis = slots(Log2(), [Log2().bucket(i) for i in (0, 2, 64)])
        self.assertEqual([str(s) for s in axis[:4]], ["0-1", "2", "3-4", "None"])


if __name__ == "__main__":
    unittest.main()
