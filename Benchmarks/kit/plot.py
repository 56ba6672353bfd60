"""The plot for the README: four panels of dots on a logarithmic scale, written as SVG by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

from kit.clients import CLIENTS, Client
from kit.results import Results
from kit.spreads import Spread

PANELS = {
    "parsed-1": "1 KB of JSON, one at a time",
    "parsed-64": "1 KB of JSON, 64 at once",
    "parsed-1000": "1 KB of JSON, 1,000 at once",
    "large-16": "100 KB of JSON, 16 at once",
}
WIDTH, GAP, MARGIN = 470, 30, 16
LABELS, ROW, HEAD, FOOT, VALUES = 205, 19, 46, 30, 48
TOP = 54
# Colours that can be read on white and on black; a dark reader gets its own greys.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a; }
.title { font-size: 16px; font-weight: 600; fill: #24292f; }
.panel { font-size: 13px; font-weight: 600; fill: #24292f; }
.ours { font-weight: 600; fill: #24292f; }
.tick, .note { font-size: 11px; fill: #6e7781; }
line.grid { stroke: #8c959f; stroke-opacity: .25; }
line.peer { stroke: #8c959f; stroke-width: 3; stroke-opacity: .5; }
circle.peer { fill: #8c959f; }
line.us { stroke: #e8590c; stroke-width: 3; stroke-opacity: .5; }
circle.us { fill: #e8590c; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .title, .panel, .ours { fill: #e6edf3; }
}
"""


@dataclass(frozen=True)
class Row:
    """One client in a panel."""

    client: Client
    found: Spread


def rows_of(results: Results, workload: str) -> list[Row]:
    """The clients of a workload, the cheapest first. Only the tables have those with orjson or with the wheel's libcurl."""
    found = []
    for name in results.figures.get(workload, {}):
        cost = results.spread(workload, name, "cpu")
        if cost is not None and not name.endswith("orjson") and not name.startswith("bundled_"):
            found.append(Row(CLIENTS[name], cost))
    return sorted(found, key=lambda row: row.found.median)


def ticks(least: float, most: float) -> list[float]:
    """1, 2 and 5 times the powers of ten around the values; the powers alone where those would crowd."""
    digits = (1, 2, 5) if most / least < 50 else (1,)
    steps = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 2)
        for digit in digits
    ]
    below = [step for step in steps if step <= least]
    above = [step for step in steps if step >= most]
    return [step for step in steps if below[-1] <= step <= above[0]]


def number(value: float) -> str:
    """A figure with three digits, as people write it."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


class Panel:
    """One panel at a place in the drawing."""

    def __init__(self, rows: list[Row], left: float, top: float) -> None:
        self.rows = rows
        self.left = left
        self.top = top
        self.ticks = ticks(
            min(row.found.least for row in rows), max(row.found.most for row in rows)
        )

    @staticmethod
    def height(rows: int) -> float:
        """What so many rows take."""
        return HEAD + rows * ROW + FOOT

    def x(self, value: float) -> float:
        """The place of a value on the logarithmic scale."""
        least, most = math.log(self.ticks[0]), math.log(self.ticks[-1])
        share = (math.log(value) - least) / (most - least)
        return self.left + LABELS + share * (WIDTH - LABELS - VALUES)

    def lines(self, title: str) -> list[str]:
        """The panel as elements of SVG."""
        bottom = self.top + HEAD + len(self.rows) * ROW
        found = [text(self.left, self.top + 16, title, "panel")]
        for tick in self.ticks:
            place = self.x(tick)
            found.append(line("grid", (place, self.top + HEAD - 12), (place, bottom)))
            found.append(text(self.x(tick), bottom + 14, number(tick), "tick", "middle"))
        for index, row in enumerate(self.rows):
            found += self.row_lines(row, self.top + HEAD + index * ROW)
        return found

    def row_lines(self, row: Row, y: float) -> list[str]:
        """A client's name, a line from the least to the most, a dot at the median, and its figure."""
        kind = "us" if row.client.ours else "peer"
        name = row.client.title
        if row.client.parser:
            name = f"{name} + {row.client.parser}"
        elif row.client.language not in name:
            name = f"{name} ({row.client.language})"
        found = row.found
        return [
            text(self.left + LABELS - 10, y + 4, name, "ours" if row.client.ours else "", "end"),
            line(kind, (self.x(found.least), y), (self.x(found.most), y)),
            f'<circle class="{kind}" cx="{self.x(found.median):.1f}" cy="{y:.1f}" r="4.5"/>',
            text(
                self.x(found.most) + 9,
                y + 4,
                number(found.median),
                "ours" if row.client.ours else "tick",
            ),
        ]


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def draw(results: Results) -> str:
    """The whole plot; the panels whose workloads were measured, two beside each other."""
    rows = {name: rows_of(results, name) for name in PANELS}
    names = [name for name in PANELS if rows[name]]
    elements: list[str] = []
    top: float = TOP
    for first in range(0, len(names), 2):
        pair = names[first : first + 2]
        for column, name in enumerate(pair):
            left = MARGIN + column * (WIDTH + GAP)
            elements += Panel(rows[name], left, top).lines(PANELS[name])
        top += Panel.height(max(len(rows[name]) for name in pair))
    width = 2 * MARGIN + 2 * WIDTH + GAP
    title = "Processor time of the client per request, in microseconds: less is better"
    note = "Median of the rounds, with the least and the most; logarithmic scales. "
    note += "The wheels of pycurl and curl_cffi bring a newer libcurl."
    size = f'width="{width}" height="{top:.0f}" viewBox="0 0 {width} {top:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            text(MARGIN, 26, title, "title"),
            text(MARGIN, 44, note, "note"),
            *elements,
            "</svg>",
            "",
        ]
    )
