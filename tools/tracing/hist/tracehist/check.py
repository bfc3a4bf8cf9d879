# SPDX-License-Identifier: GPL-2.0
"""Checks of what was read from a file, before anything is computed from it.

They raise a ValueError that says what is wrong. A file can be damaged, or written by another program.
"""

import math
from collections.abc import Sequence
from typing import Any, Optional

from tracehist.bucket import LOWEST, Bucket
from tracehist.table import Key, Part

# The range of the numbers of the kernel: those of 64 bits, with and without a sign.
HIGHEST = (1 << 64) - 1
# The end of the times that OTLP has, in seconds since 1970.
LAST_TIME = HIGHEST / 1e9
# The last bucket of .log2: that of the numbers above 2^63.
LAST_POWER = 64


def shown(value: Any) -> str:
    """Returns a value for a message, not all of it if it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def member(data: Any, name: str) -> Any:
    """Returns a member of a JSON object."""
    if not isinstance(data, dict):
        raise ValueError(f"{shown(data)} is no object with {name!r}")
    if name not in data:
        raise ValueError(f"there is no {name!r}")
    return data[name]


def items(data: Any, name: str) -> list[Any]:
    """Returns a member that is a list."""
    value = member(data, name)
    if not isinstance(value, list):
        raise ValueError(f"{name!r} is no list: {shown(value)}")
    return value


def string(value: Any, name: str) -> str:
    """Returns a text. What is no character becomes a question mark: it could not be printed."""
    if not isinstance(value, str):
        raise ValueError(f"{name!r} is no text: {shown(value)}")
    return value.encode("utf-8", "replace").decode()


def integer(value: Any, name: str, least: int = LOWEST, most: int = HIGHEST) -> int:
    """Returns a whole number of a range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name!r} is no whole number: {shown(value)}")
    if not least <= value <= most:
        raise ValueError(f"{name!r} is out of range: {shown_number(value)}")
    return value


def shown_number(value: int) -> str:
    """Returns a number for a message. Python does not print one with thousands of digits."""
    return str(value) if value.bit_length() < 128 else f"a number of {value.bit_length()} bits"


def time(value: Any, name: str, least: float = 0.0) -> float:
    """Returns a time in seconds, not before another one."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"{name!r} is no time: {shown(value)}")
    # NaN and the infinite are among what json.loads() takes.
    if not least <= value <= LAST_TIME or not math.isfinite(value):
        raise ValueError(f"{name!r} is not a time from {least:g} on: {shown(value)}")
    return value


def bucket(low: int, high: int) -> Bucket:
    """Returns a bucket. It has a number of 64 bits in it; a wide one of .buckets=N reaches beyond these."""
    integer(low, "from", -HIGHEST)
    integer(high, "to", LOWEST, 2 * HIGHEST)
    if low > high:
        raise ValueError(f"a bucket from {low} to {high}")
    return Bucket(low, high)


def kernel_bucket(low: str, high: str) -> Bucket:
    """Returns a bucket as the kernel writes it: the end is computed in 64 bits, so it can begin anew at 0."""
    first, last = int(low), int(high)
    if 0 <= last < first and first > HIGHEST // 2:
        last += HIGHEST + 1
    return bucket(first, last)


def power(index: int) -> int:
    """Returns the number of a bucket of .log2."""
    return integer(index, "log2", 0, LAST_POWER)


def row(keys: Sequence[Key], values: Sequence[str], parts: tuple[Part, ...], numbers: Sequence[Optional[int]]) -> None:
    """Raises an error for a row that does not suit the columns."""
    if len(parts) != len(keys) or len(numbers) != len(values):
        raise ValueError(f"a row has {len(parts)} keys and {len(numbers)} values, not {len(keys)} and {len(values)}")
    for key, part in zip(keys, parts):
        if isinstance(part, Bucket):
            bucket(part.low, part.high)
        elif key.scale is not None:
            raise ValueError(f"{key.name!r} is no bucket: {shown(part)}")
        elif not isinstance(part, str):
            integer(part, key.name)
    integer(numbers[0], values[0], 0)
    for name, number in zip(values[1:], numbers[1:]):
        if number is not None:
            # A difference of two numbers of 64 bits has one bit more.
            integer(number, name, -HIGHEST)
