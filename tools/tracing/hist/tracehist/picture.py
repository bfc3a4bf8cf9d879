# SPDX-License-Identifier: GPL-2.0
"""The pictures of a recording: the distribution, and the heat map over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional

from tracehist import bars, quantile
from tracehist.bucket import Bucket, Parts, Scale, Slot, slots
from tracehist.duration import show
from tracehist.errors import HistError
from tracehist.recording import Interval, Recording
from tracehist.svg import BLUE, EMPTY, VERMILLION, Frame, Svg, nice_ticks, number, shade, spread
from tracehist.table import Key, Part, Rows, Table

WIDTH, HEIGHT = 960, 520
# Keys of a ranking, and columns of a heat map.
MOST_KEYS = 20
MOST_COLUMNS = 240
# In pixels: from a label of an axis to the next.
LABEL_WIDTH, LABEL_HEIGHT = 55, 20


class NotDrawn(HistError):
    """A recording that such a picture cannot be drawn of."""


def distribution(recording: Recording) -> str:
    """Returns the hits of each bucket as bars, or those of the keys with the most hits."""
    table = recording.total()
    _not_empty(table)
    return _buckets(recording, table) if table.axis is not None else _ranking(recording, table)


def _buckets(recording: Recording, table: Table) -> str:
    key = table.keys[table.axis or 0]
    counts = table.distribution()
    axis = _axis(key, counts)
    # On a logarithmic axis the area of a bar is what is seen, so its height is the hits by its width.
    widths, edges = _natural(key.scale, axis)
    heights = [counts.get(slot, 0) / width if slot is not None else 0.0 for slot, width in zip(axis, widths)]
    most = max(heights)
    svg = Svg(WIDTH, HEIGHT, bars.heading(recording), _description(recording, counts))
    frame = Frame(svg)
    frame.headings(
        bars.heading(recording),
        _subtitle(recording, counts),
        _with_unit(key.name, recording.unit),
        "hits per power of two" if isinstance(key.scale, Parts) else "hits",
    )
    xs = [frame.left + edge * frame.width for edge in edges]
    room = frame.height - 30
    for tick in nice_ticks(most):
        frame.y_tick(frame.bottom - room * tick / most, number(tick), grid=True)
    for i, slot in enumerate(axis):
        x, width = xs[i], xs[i + 1] - xs[i]
        if slot is None:
            svg.text(x + width / 2, frame.bottom - 6, "...", "middle")
        elif counts.get(slot):
            height = max(room * heights[i] / most, 1)
            svg.rect(
                x + width * 0.04,
                frame.bottom - height,
                width * 0.92,
                height,
                BLUE,
                f"{_with_unit(str(slot), recording.unit)}: {counts[slot]:,} hits, "
                f"{100 * counts[slot] / table.hits:.1f} %",
            )
    _quantile_lines(frame, axis, counts, xs)
    frame.axes()
    for i in _labelled(axis, xs, LABEL_WIDTH):
        slot = axis[i]
        if slot is not None:
            frame.x_tick(xs[i], number(slot.low))
    return str(svg)


def _axis(key: Key, counts: dict[Bucket, int]) -> list[Slot]:
    return slots(key.scale, counts) if key.scale else list(sorted(counts))


def _natural(scale: Optional[Scale], axis: list[Slot]) -> tuple[list[float], list[float]]:
    """Returns the widths of buckets on an axis on which their scale is natural, and its edges from 0 to 1."""
    widths = [scale.extent(slot) if scale and slot is not None else 1.0 for slot in axis]
    return widths, [sum(widths[:i]) / sum(widths) for i in range(len(axis) + 1)]


def _quantile_lines(frame: Frame, axis: list[Slot], counts: dict[Bucket, int], xs: list[float]) -> None:
    """Adds a line for each quantile. Labels that would overlap are below each other."""
    at: dict[int, list[str]] = {}
    for name, value in quantile.usual(counts):
        place = next(i for i, slot in enumerate(axis) if slot is not None and slot.low <= value <= slot.high)
        at.setdefault(place, []).append(name)
    ends = [-1e9] * 3
    for place, names in sorted(at.items()):
        x = (xs[place] + xs[place + 1]) / 2
        label = ", ".join(names)
        width = 8 * len(label) + 10
        left = x - width if x + width > frame.right else x
        row = next((r for r, end in enumerate(ends) if left > end), 0)
        ends[row] = left + width
        frame.svg.line(x, frame.top - 4 + row * 14, x, frame.bottom, VERMILLION, "5 3")
        frame.svg.text(
            x + (4 if left == x else -4),
            frame.top + 6 + row * 14,
            label,
            "start" if left == x else "end",
            12,
            colour="#a34700",
        )


def _ranking(recording: Recording, table: Table) -> str:
    groups = table.groups()
    shown = groups[:MOST_KEYS]
    most = shown[0][1]
    names = [_shortened(" ".join(map(str, parts))) for parts, _ in shown]
    svg = Svg(WIDTH, 160 + 26 * len(shown), bars.heading(recording), _description(recording, {}))
    frame = Frame(svg, left=60 + 8 * max(map(len, names)))
    what = ", ".join(key.name for key in table.keys)
    more = f"; {len(groups) - len(shown):,} more keys" if len(groups) > len(shown) else ""
    frame.headings(bars.heading(recording), f"by {what}{more}", "hits", what)
    step = frame.height / len(shown)
    for tick in nice_ticks(most):
        x = frame.left + frame.width * tick / most
        frame.x_tick(x, number(tick))
    for i, (_, hits) in enumerate(shown):
        y = frame.top + i * step
        svg.rect(
            frame.left,
            y + step * 0.12,
            max(frame.width * hits / most, 1),
            step * 0.76,
            BLUE,
            f"{names[i]}: {hits:,} hits, {100 * hits / table.hits:.1f} %",
        )
        frame.y_tick(y + step / 2, names[i])
    frame.axes()
    return str(svg)


def heatmap(recording: Recording) -> str:
    """Returns the hits of each bucket (or key) in each interval, as colours."""
    table = recording.total()
    _not_empty(table)
    if len(recording.intervals) < 2 or recording.duration <= 0:
        raise NotDrawn("a heat map needs a recording of several intervals", "Record one: hist record ... -o FILE")
    columns = _merged(recording.intervals)
    rows = _rows(recording, table)
    rates = [_rates(column, rows) for column in columns]
    most = max(max(r.values(), default=0.0) for r in rates)
    least = min(min((v for v in r.values() if v > 0), default=most) for r in rates)
    svg = Svg(WIDTH, HEIGHT, bars.heading(recording) + ", over time", _description(recording, table.distribution()))
    longest = max(len(name) for name in rows.names)
    frame = Frame(svg, left=max(90, 50 + 8 * longest), right=150)
    frame.headings(
        bars.heading(recording), _subtitle(recording, table.distribution()), "time since the start (s)", rows.what
    )
    svg.rect(frame.left, frame.top, frame.width, frame.height, EMPTY)
    # What is left of a recording need not begin with its start.
    first, duration = recording.intervals[0].start, recording.duration
    ys = [frame.bottom - edge * frame.height for edge in rows.edges]
    for column, rate in zip(columns, rates):
        x = frame.left + frame.width * (column.start - first) / duration
        width = frame.width * (column.end - column.start) / duration
        for row, value in rate.items():
            if value > 0:
                svg.rect(
                    x,
                    ys[row + 1],
                    width + 0.2,
                    ys[row] - ys[row + 1] + 0.2,
                    shade(_part(value, least, most)),
                    f"{column.start - first:.2f}-{column.end - first:.2f} s, {rows.names[row]}: "
                    f"{number(round(value * rows.widths[row], 2))} hits/s",
                )
    frame.axes()
    for tick in nice_ticks(duration, 8):
        frame.x_tick(frame.left + frame.width * tick / duration, number(tick))
    if table.axis is None:
        for row, name in enumerate(rows.names):
            frame.y_tick((ys[row] + ys[row + 1]) / 2, name)
    else:
        for row in _labelled(rows.axis, ys, LABEL_HEIGHT):
            frame.y_tick(ys[row], rows.names[row], line=True)
    _legend(frame, least, most, ("hits per second", "and power of two") if rows.dense else ("hits per second",))
    return str(svg)


@dataclass
class _Rows:
    """The rows of a heat map, from below."""

    names: list[str]
    what: str
    row_of: Callable[[tuple[Part, ...]], int]
    widths: list[float]
    edges: list[float]
    axis: list[Slot] = field(default_factory=list)
    dense: bool = False


def _rows(recording: Recording, table: Table) -> _Rows:
    column = table.axis
    if column is not None:
        key = table.keys[column]
        counts = table.distribution()
        axis = _axis(key, counts)
        place: dict[Part, int] = {slot: i for i, slot in enumerate(axis) if slot is not None}
        names = [number(slot.low) if slot is not None else "..." for slot in axis]
        return _Rows(
            names,
            _with_unit(key.name, recording.unit),
            lambda parts: place[parts[column]],
            *_natural(key.scale, axis),
            axis,
            isinstance(key.scale, Parts),
        )
    shown = [parts for parts, _ in table.groups()[:MOST_KEYS]]
    shown.reverse()
    row = {parts: i for i, parts in enumerate(shown)}
    what = ", ".join(key.name for key in table.keys)
    names = [_shortened(" ".join(map(str, parts))) for parts in shown]
    return _Rows(names, what, lambda parts: row.get(parts, -1), *_natural(None, [None] * len(shown)))


def _merged(intervals: list[Interval]) -> list[Interval]:
    """Returns no more intervals than can be drawn, each of several.

    A short one at the end is drawn with the one before: its rate would say little.
    """
    group = -(-len(intervals) // MOST_COLUMNS)
    out = [_together(intervals[i : i + group]) for i in range(0, len(intervals), group)]
    if len(out) > 1 and out[-1].end - out[-1].start < (out[0].end - out[0].start) / 2:
        out[-2:] = [_together(out[-2:])]
    return [interval for interval in out if interval.end > interval.start]


def _together(intervals: list[Interval]) -> Interval:
    """Returns the hits of intervals as one."""
    rows: Rows = {}
    for interval in intervals:
        for parts, row in interval.rows.items():
            rows[parts] = [rows[parts][0] + row[0]] if parts in rows else [row[0]]
    return Interval(intervals[0].start, intervals[-1].end, rows)


def _rates(column: Interval, rows: _Rows) -> dict[int, float]:
    """Returns the hits of each row, by its width and the length of the interval."""
    out: dict[int, float] = {}
    for parts, row in column.rows.items():
        place = rows.row_of(parts)
        if place >= 0:
            out[place] = out.get(place, 0.0) + row[0] / (column.end - column.start) / rows.widths[place]
    return out


def _part(value: float, least: float, most: float) -> float:
    """Returns the place of a rate between the least and the most, by the logarithm."""
    return 1.0 if most <= least else math.log(value / least) / math.log(most / least)


def _legend(frame: Frame, least: float, most: float, what: Sequence[str]) -> None:
    """Adds what the colours stand for."""
    x, steps = frame.right + 35, 40
    height = frame.height * 0.6
    top = frame.top + 20
    for i, line in enumerate(what):
        frame.svg.text(x, top - 10 - 14 * (len(what) - 1 - i), line, size=12)
    for i in range(steps):
        frame.svg.rect(x, top + height * i / steps, 18, height / steps + 0.5, shade(1 - i / (steps - 1)))
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = least * (most / least) ** part if least > 0 else 0.0
        frame.svg.text(
            x + 26, top + height * (1 - part) + 4, f"{value:.2g}" if value < 100 else number(round(value)), size=12
        )
    frame.svg.rect(x, top + height + 14, 18, 14, EMPTY)
    frame.svg.text(x + 26, top + height + 26, "none", size=12)


def _labelled(axis: list[Slot], places: list[float], apart: float) -> list[int]:
    """Returns which buckets of an axis have a label: those that begin at rounder numbers come first."""
    weights = []
    for slot in axis:
        low = abs(slot.low) if slot is not None else -1
        weights.append(
            -100.0 if slot is None else 64.0 if low == 0 else float((low & -low).bit_length() - low.bit_length())
        )
    return [i for i in spread(weights, places, apart) if axis[i] is not None]


def _subtitle(recording: Recording, counts: dict[Bucket, int]) -> str:
    words = []
    if counts:
        words.append(bars.quantile_line(counts, recording.unit).replace("  (", " (").replace("  ", ", "))
    if recording.dropped:
        words.append(bars.without_room(recording))
    if recording.kernel:
        words.append(f"Linux {recording.kernel}")
    return "; ".join(words)


def _description(recording: Recording, counts: dict[Bucket, int]) -> str:
    time = f" in {show(recording.duration)}" if recording.duration else ""
    return f"{recording.trigger}{time}. {bars.quantile_line(counts, recording.unit) if counts else ''}".strip()


def _with_unit(name: str, unit: str) -> str:
    if not unit:
        return name
    words = {"us": "microseconds", "ns": "nanoseconds"}
    return f"{name} {unit}" if name[:1].isdigit() or name[:1] == "-" else f"{_named(name)} ({words.get(unit, unit)})"


def _named(name: str) -> str:
    return "latency" if name == "lat" else name


def _shortened(text: str) -> str:
    text = bars.printable(text)
    return text if len(text) <= 40 else text[:37] + "..."


def _not_empty(table: Table) -> None:
    if not table.hits:
        raise NotDrawn("there are no hits to draw a picture of")
