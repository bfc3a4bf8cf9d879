# SPDX-License-Identifier: GPL-2.0
"""Pictures as SVG, with axes."""

import math
from collections.abc import Sequence
from typing import Optional

# Blue and vermillion of Okabe and Ito, which people with any kind of colour vision tell apart.
BLUE = "#0072b2"
VERMILLION = "#d55e00"
INK = "#222222"
GRID = "#dddddd"
EMPTY = "#f4f4f4"

# Viridis: its lightness changes evenly, so it also works in grey. From much to little here,
# as the paper is white.
_VIRIDIS = (
    "#440154",
    "#482576",
    "#414487",
    "#35608d",
    "#2a788e",
    "#21908d",
    "#22a884",
    "#43bf71",
    "#7ad151",
    "#bddf26",
    "#fde725",
)


def shade(part: float) -> str:
    """Returns the colour of a part from 0 (little, light) to 1 (much, dark)."""
    place = (1 - min(max(part, 0.0), 1.0)) * (len(_VIRIDIS) - 1)
    left = min(int(place), len(_VIRIDIS) - 2)
    mix = place - left
    channels = []
    for i in (1, 3, 5):
        a, b = int(_VIRIDIS[left][i : i + 2], 16), int(_VIRIDIS[left + 1][i : i + 2], 16)
        channels.append(round(a + (b - a) * mix))
    return "#" + "".join(f"{c:02x}" for c in channels)


def number(value: float) -> str:
    """Returns a number as the label of a tick: 512, 8192, 131k, 4.19M."""
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if letter == 'k' else limit):.3g}{letter}"
    return f"{value:.10g}"


def nice_ticks(most: float, count: int = 5) -> list[float]:
    """Returns about so many round numbers from 0 up to a number."""
    if most <= 0:
        return [0.0]
    raw = most / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(s * magnitude for s in (1, 2, 5, 10) if s * magnitude >= raw * 0.999)
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def escape(text: str) -> str:
    """Returns a text as it is written between tags. (xml.sax.saxutils imports all of urllib.)"""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Svg:
    """A picture that is put together from the back to the front."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width = width
        self.height = height
        self.items: list[str] = [
            '<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: CC0-1.0 -->\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-labelledby="title description" font-family="sans-serif" font-size="13" fill="{INK}">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def rect(self, x: float, y: float, width: float, height: float, fill: str, tip: Optional[str] = None) -> None:
        """Adds a filled rectangle, with a text that is shown when it is pointed at."""
        end = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self.items.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{fill}"{end}'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK, dash: str = "") -> None:
        """Adds a line."""
        more = f' stroke-dasharray="{dash}"' if dash else ""
        self.items.append(f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}"{more}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "start",
        size: int = 13,
        bold: bool = False,
        colour: str = INK,
        turned: bool = False,
    ) -> None:
        """Adds a text; a turned one is read from below."""
        more = ' font-weight="bold"' if bold else ""
        more += f' transform="rotate(-90 {x:.2f} {y:.2f})"' if turned else ""
        self.items.append(
            f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}"{more}>{escape(text)}</text>'
        )

    def __str__(self) -> str:
        return "\n".join(self.items) + "\n</svg>\n"


class Frame:
    """The area of a picture that the axes enclose."""

    def __init__(self, svg: Svg, left: int = 90, right: int = 30, top: int = 75, bottom: int = 65) -> None:
        self.svg = svg
        self.left, self.top = left, top
        self.right, self.bottom = svg.width - right, svg.height - bottom

    @property
    def width(self) -> float:
        """The width between the axes."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height between the axes."""
        return self.bottom - self.top

    def headings(self, title: str, subtitle: str, x: str, y: str) -> None:
        """Adds the title, what is to be known about it, and the titles of the axes."""
        self.svg.text(self.left, 30, title, size=18, bold=True)
        self.svg.text(self.left, 52, subtitle, colour="#555555")
        self.svg.text((self.left + self.right) / 2, self.svg.height - 15, x, "middle", 14)
        self.svg.text(22, (self.top + self.bottom) / 2, y, "middle", 14, turned=True)

    def axes(self) -> None:
        """Adds the lines of the axes."""
        self.svg.line(self.left, self.bottom, self.right, self.bottom)
        self.svg.line(self.left, self.top, self.left, self.bottom)

    def x_tick(self, x: float, label: str) -> None:
        """Adds a tick below."""
        self.svg.line(x, self.bottom, x, self.bottom + 5)
        self.svg.text(x, self.bottom + 20, label, "middle")

    def y_tick(self, y: float, label: str, line: bool = False, grid: bool = False) -> None:
        """Adds a tick on the left, perhaps with a line across."""
        if grid:
            self.svg.line(self.left, y, self.right, y, GRID)
        if line or grid:
            self.svg.line(self.left - 5, y, self.left, y)
        self.svg.text(self.left - 9, y + 4, label, "end")


def spread(weights: Sequence[float], places: Sequence[float], apart: float) -> list[int]:
    """Returns which labels are shown: those of the largest weights, and none too close to another."""
    chosen: list[int] = []
    order: list[tuple[float, int]] = sorted((-w, i) for i, w in enumerate(weights))
    for _, i in order:
        if all(abs(places[i] - places[j]) >= apart for j in chosen):
            chosen.append(i)
    return sorted(chosen)
