# SPDX-License-Identifier: GPL-2.0
"""Buckets of numbers, and the three ways in which the kernel divides numbers into them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

# More empty buckets in a row than this are drawn as a gap.
MOST_EMPTY = 3

LOWEST = -(1 << 63)


@dataclass(frozen=True, order=True)
class Bucket:
    """The whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    @property
    def middle(self) -> int:
        """The number that stands for all of the bucket, as in the kernel's quantiles."""
        return (self.low + self.high) // 2


class Scale:
    """A division of all whole numbers into buckets, which are numbered in their order."""

    name = ""

    def bucket(self, index: int) -> Bucket:
        """Returns the bucket of a number in the order."""
        raise NotImplementedError

    def index(self, value: int) -> int:
        """Returns the number of the bucket that a value is in."""
        raise NotImplementedError

    def extent(self, bucket: Bucket) -> float:
        """Returns how much of an axis a bucket takes on which this scale is natural."""
        del bucket
        return 1.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scale) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<Scale {self.name}>"


class Log2(Scale):
    """Buckets of the modifier .log2: 2^N is the numbers above 2^(N-1), up to 2^N itself."""

    name = "log2"

    def bucket(self, index: int) -> Bucket:
        return Bucket((1 << (index - 1)) + 1, 1 << index) if index > 0 else Bucket(0, 1)

    def index(self, value: int) -> int:
        return (value - 1).bit_length() if value > 1 else 0


class Parts(Scale):
    """Buckets of the modifier .log2=K: 2^K equally wide ones from a power of two to the next.

    Numbers below 2^(K+1) have buckets of their own; those of negative numbers mirror those of
    positive ones.
    """

    def __init__(self, parts: int) -> None:
        if not 1 <= parts <= 5:
            raise ValueError(f".log2={parts}: the kernel has 1 to 5")
        self.parts = parts
        self.name = f"log2={parts}"

    def bucket(self, index: int) -> Bucket:
        if index < 0:
            mirrored = self.bucket(-index)
            # The lowest number of 64 bits has no counterpart, and a bucket of its own.
            return Bucket(LOWEST, LOWEST) if -mirrored.low == LOWEST else Bucket(-mirrored.high, -mirrored.low)
        if index < 2 << self.parts:
            return Bucket(index, index)
        octave, part = divmod(index - (2 << self.parts), 1 << self.parts)
        shift = octave + 1
        low = ((1 << self.parts) + part) << shift
        return Bucket(low, low + (1 << shift) - 1)

    def index(self, value: int) -> int:
        if value < 0:
            return -self.index(-value)
        if value < 2 << self.parts:
            return value
        shift = value.bit_length() - 1 - self.parts
        return (2 << self.parts) + ((shift - 1) << self.parts) + (value >> shift) - (1 << self.parts)

    def extent(self, bucket: Bucket) -> float:
        """Parts are equally wide, so on a logarithmic axis the first one of a power of two is the widest."""
        low, high = sorted((abs(bucket.low), abs(bucket.high)))
        # Of a single number as large as the lowest one of 64 bits nothing is left.
        return (math.log2((high + 1) / low) if low else 0.0) or 1.0


class Linear(Scale):
    """Buckets of the modifier .buckets=N: all of them N numbers wide."""

    def __init__(self, width: int) -> None:
        if width < 1:
            raise ValueError(f".buckets={width}: a bucket has one number at least")
        self.width = width
        self.name = f"buckets={width}"

    def bucket(self, index: int) -> Bucket:
        return Bucket(index * self.width, (index + 1) * self.width - 1)

    def index(self, value: int) -> int:
        return value // self.width


def scale_of(modifier: str) -> Optional[Scale]:
    """Returns the scale of a modifier such as "log2=3", or None if it makes no buckets."""
    name, _, number = modifier.partition("=")
    try:
        if name == "log2":
            return Parts(int(number, 0)) if number else Log2()
        # The kernel takes "buckets=10" and "bucket=10".
        if name in ("buckets", "bucket") and number:
            return Linear(int(number, 0))
    except ValueError:
        return None
    return None


def guess_scale(buckets: Iterable[Bucket]) -> Scale:
    """Returns a scale that has these buckets, for a file that does not tell."""
    found = list(buckets)
    widths = {b.high - b.low + 1 for b in found}
    if widths == {1}:
        return Linear(1)
    for parts in range(1, 6):
        scale = Parts(parts)
        if all(scale.bucket(scale.index(b.low)) == b for b in found):
            return scale
    width = max(widths, default=1)
    return Linear(width)


# A place on an axis of buckets: one of them, or None for several empty ones.
Slot = Optional[Bucket]


def slots(scale: Scale, used: Iterable[Bucket]) -> list[Slot]:
    """Returns the axis for some buckets: from the first to the last one, with short gaps filled."""
    axis: list[Slot] = []
    last: Optional[int] = None
    for index, bucket in sorted(_indexed(scale, used)):
        if last is not None:
            missing = index - last - 1
            if missing > MOST_EMPTY:
                axis.append(None)
            else:
                axis.extend(scale.bucket(i) for i in range(last + 1, index))
        axis.append(bucket)
        last = index
    return axis


def _indexed(scale: Scale, used: Iterable[Bucket]) -> Iterable[tuple[int, Bucket]]:
    return ((scale.index(b.high if isinstance(scale, Log2) else b.low), b) for b in set(used))
