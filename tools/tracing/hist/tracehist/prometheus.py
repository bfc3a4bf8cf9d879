# SPDX-License-Identifier: GPL-2.0
"""The text format of Prometheus: a histogram with cumulative buckets, or counters."""

import re
from decimal import Decimal
from typing import Optional

from tracehist.bucket import Bucket
from tracehist.errors import HistError
from tracehist.recording import Recording
from tracehist.table import Part, Table, distinct

# Prometheus has seconds.
SECONDS = {"us": Decimal("0.000001"), "ns": Decimal("0.000000001")}
# Labels that have a meaning there, besides those that begin with two underscores.
RESERVED = ("le", "quantile")


def export(recording: Recording, metric: Optional[str] = None) -> str:
    """Returns the sums of a recording. The name of the metric is that of the event, if none is wanted."""
    if metric is not None and not re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", metric):
        raise HistError(f"{metric!r} cannot be the name of a metric of Prometheus", "Use letters, digits and _.")
    table = recording.total()
    return _histogram(recording, table, metric) if table.axis is not None else _counters(recording, table, metric)


def edges(counts: dict[Bucket, int]) -> list[int]:
    """Returns the upper limits, included, of buckets and of the gaps between them.

    Without those of the gaps it would look as if the hits after one could be in it.
    """
    found: set[int] = set()
    for bucket in counts:
        found.update((bucket.low - 1, bucket.high))
    # Nothing is below the lowest bucket.
    found.discard(min(counts).low - 1 if counts else 0)
    return sorted(found)


def label_names(names: list[str]) -> list[str]:
    """Returns the names of keys as those of labels: allowed ones, no two of which are equal.

    A reserved one gets the prefix that Prometheus itself gives to a label in its way.
    """
    allowed = [name_of(name) for name in names]
    return distinct([f"exported_{n}" if n in RESERVED or n.startswith("__") else n for n in allowed])


def name_of(text: str) -> str:
    """Returns a text as a name of Prometheus."""
    name = re.sub(r"[^a-zA-Z0-9_]", "_", text)
    return name if re.match(r"[a-zA-Z_]", name) else "_" + name


def escape(text: str) -> str:
    """Returns a text as the value of a label."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _histogram(recording: Recording, table: Table, metric: Optional[str]) -> str:
    key = table.keys[table.axis or 0]
    unit = SECONDS.get(recording.unit)
    # The synthetic event of a latency is named after a process.
    usual = "hist_latency_seconds" if unit else f"hist_{_event(recording)}_{key.name}"
    name = metric or name_of(usual)
    lines = _head(name, "histogram", recording, recording.title or f"{key.name} of {_what(recording)}")
    others = label_names([k.name for i, k in enumerate(table.keys) if i != table.axis])
    # Prometheus reads them as doubles. Of those that are equal then, the last one is exact.
    limits = list({float(_number(limit, unit)): limit for limit in edges(table.distribution())}.values())
    for group, hits in table.groups():
        counts = table.distribution(group)
        labels = _labels(others, group)
        for limit in limits:
            below = sum(n for bucket, n in counts.items() if bucket.high <= limit)
            lines.append(f"{name}_bucket{{{_join(labels, _number(limit, unit))}}} {below}")
        lines.append(f"{name}_bucket{{{_join(labels, '+Inf')}}} {hits}")
        total = table.total(key.name, group)
        if total is not None:
            lines.append(f"{name}_sum{_braces(labels)} {_number(total, unit)}")
        lines.append(f"{name}_count{_braces(labels)} {hits}")
    return "\n".join(lines) + "\n"


def _counters(recording: Recording, table: Table, metric: Optional[str]) -> str:
    usual = f"hist_{_event(recording)}"
    families = [name_of((metric or usual) + f"_{value}") for value in table.totals]
    name, *families = distinct([metric or name_of(f"{usual}_hits_total"), *families])
    lines = _head(name, "counter", recording, f"hits of {_what(recording)}")
    names = label_names([key.name for key in table.keys])
    for group, hits in table.groups():
        lines.append(f"{name}{_braces(_labels(names, group))} {hits}")
    for value, own in zip(table.totals, families):
        # A sum of what can be negative is no counter.
        lines += _head(own, "gauge", recording, f"{value} of {_what(recording)}")
        for group, _ in table.groups():
            total = table.total(value, group)
            if total is not None:
                lines.append(f"{own}{_braces(_labels(names, group))} {total}")
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, recording: Recording, text: str) -> list[str]:
    help_text = f"{text} (Linux {recording.kernel})" if recording.kernel else text
    help_text = help_text.replace("\\", r"\\").replace("\n", r"\n")
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def _event(recording: Recording) -> str:
    return recording.event.replace("/", "_") or "event"


def _what(recording: Recording) -> str:
    return recording.title or recording.event.replace("/", ":") or "an event"


def _labels(names: list[str], group: tuple[Part, ...]) -> str:
    return ",".join(f'{name}="{escape(str(part))}"' for name, part in zip(names, group))


def _join(labels: str, limit: str) -> str:
    return f'{labels},le="{limit}"' if labels else f'le="{limit}"'


def _braces(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _number(value: int, unit: Optional[Decimal]) -> str:
    return str(value) if unit is None else f"{(value * unit).normalize():f}"
