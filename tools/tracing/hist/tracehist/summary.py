# SPDX-License-Identifier: GPL-2.0
"""The export as JSON: the sums of a recording, for programs."""

import json
from typing import Any

from tracehist import quantile
from tracehist.bucket import Bucket
from tracehist.recording import Recording
from tracehist.table import Part, Table, distinct


def export(recording: Recording) -> str:
    """Returns an object with a list of series: one for each combination of the keys without buckets."""
    table = recording.total()
    data = {
        "event": recording.event,
        "title": recording.title,
        "trigger": recording.trigger,
        "unit": recording.unit,
        "kernel": recording.kernel,
        "started": recording.started,
        "duration": round(recording.duration, 6),
        "hits": table.hits,
        "dropped": recording.dropped,
        "series": [_series(table, group, hits) for group, hits in table.groups()],
    }
    return json.dumps(data, indent=1) + "\n"


def _series(table: Table, group: tuple[Part, ...], hits: int) -> dict[str, Any]:
    axis = table.axis
    names = distinct([key.name for i, key in enumerate(table.keys) if i != axis])
    out: dict[str, Any] = {
        "keys": {name: _plain(part) for name, part in zip(names, group)},
        "hits": hits,
        "values": {name: table.total(name, group) for name in table.totals},
    }
    if axis is not None:
        counts = table.distribution(group)
        out["quantiles"] = dict(quantile.usual(counts))
        out["buckets"] = _buckets(counts)
    return out


def _buckets(counts: dict[Bucket, int]) -> list[dict[str, int]]:
    return [{"from": b.low, "to": b.high, "hits": counts[b]} for b in sorted(counts)]


def _plain(part: Part) -> Any:
    return str(part) if isinstance(part, Bucket) else part
