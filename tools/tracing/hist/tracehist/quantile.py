# SPDX-License-Identifier: GPL-2.0
"""Quantiles of a distribution in buckets, computed as the kernel does for the clause "quantiles"."""

from tracehist.bucket import Bucket

# Name, and share of a thousand.
USUAL = (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999))


def quantile(counts: dict[Bucket, int], thousandths: int) -> int:
    """Returns the middle of the bucket that the number of this rank is in; the rank is rounded up."""
    total = sum(counts.values())
    rank = max(1, -(-total * thousandths // 1000))
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= rank:
            return bucket.middle
    raise ValueError("there are no hits")


def usual(counts: dict[Bucket, int]) -> list[tuple[str, int]]:
    """Returns the usual quantiles with their names, or nothing if there are no hits."""
    if not sum(counts.values()):
        return []
    return [(name, quantile(counts, thousandths)) for name, thousandths in USUAL]
