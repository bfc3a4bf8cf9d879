# SPDX-License-Identifier: GPL-2.0
"""Histograms as lines of text with bars."""

from collections.abc import Sequence
from typing import Optional

from tracehist import quantile
from tracehist.bucket import Bucket, Parts, Scale, slots
from tracehist.duration import show
from tracehist.recording import Recording
from tracehist.table import Part, Table

EIGHTHS = " ▏▎▍▌▋▊▉█"
# The least widths of bars: alone, and with values beside them.
NARROW = 20
NARROWEST = 8
# With more lines than this, neighbouring parts of a power of two are drawn as one.
MOST_LINES = 32


def bar(part: float, width: int, plain: bool) -> str:
    """Returns a bar that fills a part (0 to 1) of a width. What is not 0 is seen."""
    if plain:
        return "#" * max(round(part * width), 1 if part > 0 else 0)
    eighths = max(round(part * width * 8), 1 if part > 0 else 0)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")


def coarser(counts: dict[Bucket, int], scale: Scale) -> tuple[dict[Bucket, int], Scale]:
    """Returns a distribution with as few parts a power of two as it takes to have few lines."""
    while isinstance(scale, Parts) and scale.parts > 1 and len(slots(scale, counts)) > MOST_LINES:
        scale = Parts(scale.parts - 1)
        merged: dict[Bucket, int] = {}
        for bucket, hits in counts.items():
            wider = scale.bucket(scale.index(bucket.low))
            merged[wider] = merged.get(wider, 0) + hits
        counts = merged
    return counts, scale


def distribution(counts: dict[Bucket, int], scale: Scale, unit: str, width: int, plain: bool) -> list[str]:
    """Returns a line for each bucket: its numbers, the hits, their share, a bar."""
    counts, scale = coarser(counts, scale)
    axis = slots(scale, counts)
    total = sum(counts.values())
    most = max(counts.values(), default=0)
    names = [str(slot) if slot is not None else "..." for slot in axis]
    name_width = max([len(name) for name in names] + [len(unit)])
    hits_width = max(len(f"{most:,}"), len("hits"))
    room = max(width - name_width - hits_width - len("   100.0 % "), NARROW)
    lines = [f"{unit:>{name_width}} {'hits':>{hits_width}}   share"]
    for name, slot in zip(names, axis):
        if slot is None:
            lines.append(f"{name:>{name_width}}")
            continue
        hits = counts.get(slot, 0)
        share = f"{100 * hits / total:6.1f} %" if total else ""
        line = f"{name:>{name_width}} {hits:>{hits_width},} {share} {bar(hits / most if most else 0, room, plain)}"
        lines.append(line.rstrip())
    return lines


def quantile_line(counts: dict[Bucket, int], unit: str, largest: Optional[int] = None) -> str:
    """Returns the usual quantiles as a line of text."""
    words = [f"{name} {value:,}" for name, value in quantile.usual(counts)]
    if largest is not None:
        words.append(f"max {largest:,}")
    return "  ".join(words) + (f"  ({unit})" if unit and words else "")


def ranking(table: Table, top: int, width: int, plain: bool) -> list[str]:
    """Returns a line for each of the keys with the most hits: the key, the values, the hits, their share, a bar."""
    groups = table.groups()
    total = table.hits
    most = groups[0][1] if groups else 0
    shown = groups[:top]
    names = [key.name for key in table.keys]
    columns = [[printable(str(parts[i])) for parts, _ in shown] for i in range(len(names))]
    numbers = [[_number(table.total(name, parts)) for parts, _ in shown] for name in table.totals]
    hits_width = max(len(f"{most:,}"), len("hits"))
    right = hits_width + len("  100.0 % ")
    right += sum(2 + max(map(len, [name] + cells)) for name, cells in zip(table.totals, numbers))
    least = NARROWEST if numbers else NARROW
    widths = _fitted(
        [max(map(len, [name] + cells)) for name, cells in zip(names, columns)],
        width - right - 2 * len(names) - least,
    )
    room = max(width - sum(widths) - 2 * len(names) - right, least)
    lines = []
    for row in range(-1, len(shown)):
        cells = [names[i] if row < 0 else columns[i][row] for i in range(len(names))]
        words = [f"{_shorten(cell, w):{w}}" for cell, w in zip(cells, widths)]
        for name, found in zip(table.totals, numbers):
            words.append(f"{name if row < 0 else found[row]:>{max(map(len, [name] + found))}}")
        if row < 0:
            lines.append("  ".join(words + [f"{'hits':>{hits_width}}   share"]))
            continue
        hits = shown[row][1]
        share = 100 * hits / total if total else 0
        words.append(f"{hits:>{hits_width},} {share:6.1f} % {bar(hits / most if most else 0, room, plain)}")
        lines.append("  ".join(words).rstrip())
    if len(groups) > top:
        rest = sum(hits for _, hits in groups[top:])
        lines.append(f"... and {len(groups) - top:,} more with {rest:,} hits")
    return lines


def heading(recording: Recording) -> str:
    """Returns what was recorded, how long, and how many hits there were."""
    hits = recording.total().hits
    title = recording.title or recording.event.replace("/", ":")
    title = title or "histogram by " + ", ".join(key.name for key in recording.keys)
    time = f" in {show(recording.duration)}" if recording.duration else ""
    return f"{title}: {hits:,} hit{'s' if hits != 1 else ''}{time}"


def report(recording: Recording, width: int, plain: bool, top: int = 20) -> list[str]:
    """Returns a recording as text: the distribution, or that of each group, or a ranking."""
    table = recording.total()
    lines = [heading(recording)]
    axis = table.axis
    if not table.rows:
        return lines + ["No hits."] + lost(recording)
    if axis is None:
        lines += [""] + ranking(table, top, width, plain)
        return lines + lost(recording)
    key = table.keys[axis]
    unit = recording.unit or key.name
    groups = table.groups()
    others = [k.name for i, k in enumerate(table.keys) if i != axis]
    for group, hits in groups[:top]:
        if others:
            words = ", ".join(f"{name} {printable(str(part))}" for name, part in zip(others, group))
            lines += ["", f"{words}: {hits:,} hit{'s' if hits != 1 else ''}"]
        else:
            lines.append("")
        counts = table.distribution(group)
        lines += distribution(counts, key.scale, unit, width, plain) if key.scale else []
        lines.append(quantile_line(counts, recording.unit, _largest(table, key.name, group)))
        # The quantiles say more than these of the same field.
        more = [name for name in table.totals if name not in (key.name, f"{key.name}.max")]
        lines += ["  ".join(f"{name} {_number(table.total(name, group))}" for name in more)] if more else []
    if len(groups) > top:
        lines += ["", f"... and {len(groups) - top:,} more"]
    return lines + longest(recording, top) + lost(recording)


def longest(recording: Recording, top: int) -> list[str]:
    """Returns the longest times as a table with what was saved then."""
    if not recording.longest:
        return []
    names = list(recording.longest[0])
    rows = [
        [f"{row[n]:,}" if n == "max" else printable(str(row[n])) for n in names] for row in recording.longest[:top]
    ]
    names[0] = f"longest ({recording.unit})" if recording.unit else "longest"
    widths = [max(len(row[i]) for row in rows + [names]) for i in range(len(names))]
    lines = ["", f"{names[0]:>{widths[0]}}  " + "  ".join(f"{n:{w}}" for n, w in zip(names[1:], widths[1:]))]
    for row in rows:
        lines.append(f"{row[0]:>{widths[0]}}  " + "  ".join(f"{cell:{w}}" for cell, w in zip(row[1:], widths[1:])))
    return [line.rstrip() for line in lines]


def _largest(table: Table, name: str, group: tuple[Part, ...]) -> Optional[int]:
    return table.total(f"{name}.max", group)


def lost(recording: Recording) -> list[str]:
    """Returns a warning about hits that are not in the recording, if there are any."""
    if not recording.dropped:
        return []
    return ["", f"{without_room(recording)}: the map was full. Record with a larger --size."]


def without_room(recording: Recording) -> str:
    """Returns how many hits there were that the map had no room for."""
    # Of a latency, those whose end would not have happened are among them.
    most = "up to " if recording.title else ""
    return f"{most}{recording.dropped:,} more hits had no room"


def printable(text: str) -> str:
    """Returns a text without what a terminal would obey: a task can have any name, and root looks at it."""
    return "".join(c if c.isprintable() else f"\\{ord(c):03o}" for c in text)


def _number(value: Optional[int]) -> str:
    return "-" if value is None else f"{value:,}"


def _fitted(widths: list[int], room: int) -> list[int]:
    """Returns widths of columns that have room together: the widest ones are narrowed, not to less than 8."""
    out = list(widths)
    while sum(out) > room and max(out) > 8:
        out[out.index(max(out))] -= 1
    return out


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."
