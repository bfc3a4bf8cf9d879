# SPDX-License-Identifier: GPL-2.0
"""OpenTelemetry metrics as OTLP/JSON: exponential histograms, or histograms with the kernel's limits.

An exponential histogram of scale S has 2^S buckets a power of two, bucket I of which is the
numbers above 2^(I/2^S) up to 2^((I+1)/2^S). At scale 0 these are the kernel's buckets of .log2.
Those of .log2=K are equally wide, and not geometric as OpenTelemetry's: at scale K a hit is at
most one bucket away from its own. Numbers that have a kernel's bucket of their own are exact.
"""

import json
from typing import Any, Optional

from tracehist import __version__
from tracehist.bucket import Bucket, Log2, Parts
from tracehist.errors import HistError
from tracehist.prometheus import edges
from tracehist.recording import Recording
from tracehist.table import Part, Table, distinct

DELTA = 1
# The kernel has 2^5 buckets a power of two at most.
LOWEST_SCALE, HIGHEST_SCALE = -10, 8


def index_of(value: int, scale: int) -> int:
    """Returns the bucket of a positive number, by whole numbers only: it is right at the limits, too."""
    if scale >= 0:
        return (value ** (1 << scale) - 1).bit_length() - 1
    return -(-((value - 1).bit_length()) // (1 << -scale)) - 1


def default_scale(table: Table) -> int:
    """Returns the scale with as many buckets as the kernel has."""
    scale = table.keys[table.axis].scale if table.axis is not None else None
    if isinstance(scale, Log2):
        return 0
    return scale.parts if isinstance(scale, Parts) else 3


def export(recording: Recording, explicit: bool = False, scale: Optional[int] = None) -> str:
    """Returns the sums of a recording as a request of OTLP/JSON."""
    table = recording.total()
    axis = table.axis
    if axis is None:
        raise HistError(
            "OpenTelemetry's histograms are of numbers: no key of this recording has buckets",
            "Record it with a modifier, for example --keys bytes_req.log2=3.",
        )
    if scale is not None and not LOWEST_SCALE <= scale <= HIGHEST_SCALE:
        raise HistError(f"scale {scale} is not between {LOWEST_SCALE} and {HIGHEST_SCALE}")
    used = default_scale(table) if scale is None else scale
    points = []
    for group, hits in table.groups():
        counts = table.distribution(group)
        point = _point(recording, table, group, hits)
        point.update(
            _explicit(counts) if explicit else exponential(counts, used, isinstance(table.keys[axis].scale, Log2))
        )
        points.append(point)
    kind = "histogram" if explicit else "exponentialHistogram"
    metric = {
        "name": "linux.hist."
        + ("latency" if recording.unit else f"{recording.event.replace('/', '.') or 'event'}.{table.keys[axis].name}"),
        "description": recording.title or recording.event.replace("/", ":"),
        "unit": recording.unit or "1",
        kind: {"aggregationTemporality": DELTA, "dataPoints": points},
    }
    attributes = {"os.type": "linux", "os.version": recording.kernel}
    data = {
        "resourceMetrics": [
            {
                "resource": {"attributes": [_attribute(k, v) for k, v in attributes.items() if v]},
                "scopeMetrics": [{"scope": {"name": "linux-hist", "version": __version__}, "metrics": [metric]}],
            }
        ]
    }
    return json.dumps(data, indent=1) + "\n"


def exponential(counts: dict[Bucket, int], scale: int, upper_included: bool = False) -> dict[str, Any]:
    """Returns the fields of an exponential data point. A hit is where the middle of its bucket is.

    With `upper_included` the buckets are those of .log2, which are OpenTelemetry's.
    """
    zero = 0
    positive: dict[int, int] = {}
    negative: dict[int, int] = {}
    threshold = 0
    for bucket, hits in counts.items():
        value = bucket.high if upper_included else bucket.middle
        if bucket.low <= 0 <= bucket.high:
            zero += hits
            threshold = max(threshold, bucket.high, -bucket.low)
        elif value > 0:
            index = index_of(value, scale)
            positive[index] = positive.get(index, 0) + hits
        else:
            # The middle of the mirrored bucket.
            index = index_of((-bucket.low - bucket.high) // 2, scale)
            negative[index] = negative.get(index, 0) + hits
    point: dict[str, Any] = {"scale": scale, "zeroCount": str(zero), "positive": _dense(positive)}
    if negative:
        point["negative"] = _dense(negative)
    if threshold:
        point["zeroThreshold"] = threshold
    return point


def _dense(found: dict[int, int]) -> dict[str, Any]:
    if not found:
        return {"offset": 0, "bucketCounts": []}
    first, last = min(found), max(found)
    return {"offset": first, "bucketCounts": [str(found.get(i, 0)) for i in range(first, last + 1)]}


def _explicit(counts: dict[Bucket, int]) -> dict[str, Any]:
    """The limits are the kernel's, so nothing is moved.

    They are doubles, and have to increase. Limits above 2^53 can be equal then: these buckets are one.
    """
    merged: dict[float, int] = {float(limit): 0 for limit in edges(counts)}
    for bucket, hits in counts.items():
        merged[float(bucket.high)] += hits
    return {"explicitBounds": list(merged), "bucketCounts": [str(hits) for hits in merged.values()] + ["0"]}


def _point(recording: Recording, table: Table, group: tuple[Part, ...], hits: int) -> dict[str, Any]:
    names = distinct([key.name for i, key in enumerate(table.keys) if i != table.axis])
    name = table.keys[table.axis or 0].name
    point: dict[str, Any] = {
        "attributes": [_attribute(n, part) for n, part in zip(names, group)],
        "startTimeUnixNano": _nanoseconds(recording, recording.intervals[0].start),
        "timeUnixNano": _nanoseconds(recording, recording.intervals[-1].end),
        "count": str(hits),
    }
    optional: list[tuple[str, Optional[int]]] = [
        ("min", table.total(f"{name}.min", group)),
        ("max", table.total(f"{name}.max", group)),
    ]
    # A sum is that of numbers that cannot be negative.
    if min(table.distribution(group)).low >= 0:
        optional.append(("sum", table.total(name, group)))
    point.update({key: float(value) for key, value in optional if value is not None})
    return point


def _nanoseconds(recording: Recording, time: float) -> str:
    return str(round((recording.started + time) * 1e9))


def _attribute(name: str, part: Part) -> dict[str, Any]:
    # An integer has 64 bits with a sign there; an address of the kernel exceeds it.
    is_integer = isinstance(part, int) and -(1 << 63) <= part < 1 << 63
    value = {"intValue" if is_integer else "stringValue": str(part)}
    return {"key": name, "value": value}
