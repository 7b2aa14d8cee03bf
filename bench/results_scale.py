"""What `bench.scale` found, as tables and a plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.results_tables import table as table_of
from bench.results_tables import tables

_PLOT = "scale-search.svg"


def lines(figures: Mapping[str, Any], charts: str) -> list[str]:
    """The section: one plot, one table, and what lies on the disk by kind of relation."""
    sizes = figures["sizes"]
    return [
        f"![Search by the number of chunks]({charts}/{_PLOT})",
        "",
        *table(sizes),
        "**MiB on the disk**",
        "",
        *tables({f"{size['chunks']:,} chunks": size["mib"] for size in sizes}),
        *tables(
            {
                f"recall of vectors by what a filter lets through, {size['chunks']:,} chunks": size["recall"]
                for size in sizes
            }
        ),
    ]


def charts(figures: Mapping[str, Any]) -> dict[str, str]:
    """The plot by its file name."""
    return {_PLOT: plot(figures["sizes"])}


def table(sizes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines of a table, a size a row."""
    heads = ["chunks", "facts"]
    heads += [f"{name}: p50 / p95 ms (chunks)" for name in _names_of(len(sizes[0]["search"]))]
    heads += ["least recall@10", "graph MiB", "words MiB", "memory MiB", "planning ms", "ingestion to the smallest"]
    rows = []
    for size in sizes:
        cells = [f"{size['chunks']:,}", f"{size['facts']:,}"]
        cells += [f"{each['p50_ms']} / {each['p95_ms']} ({each['rows']:,})" for each in size["search"]]
        cells.append(f"{min(point['recall_at_10'] for point in size['recall']):.3f}")
        cells += [str(size["mib"].get(kind, 0)) for kind in ("graph of vectors", "index of words")]
        cells += [str(size["memory_mib"]), str(size["planning_ms"]), str(size.get("ingest_ratio", 1))]
        rows.append(cells)
    return table_of(heads, rows)


def _names_of(count: int) -> list[str]:
    return ["largest namespace", *(f"no. {place} asked" for place in range(2, count)), "smallest asked"][:count]


_WIDTH, _HEIGHT, _MARGIN = 640, 400, 60
_COLOURS = ("#1b6ca8", "#c1440e", "#3d7a3a", "#7a4988")


def plot(sizes: Sequence[Mapping[str, Any]]) -> str:
    """An SVG: p50 of Search over the number of chunks, both by the logarithm, a line a namespace."""
    points = [(size["chunks"], place, each["p50_ms"]) for size in sizes for place, each in enumerate(size["search"])]
    across = _Axis([chunks for chunks, _, _ in points], _MARGIN, _WIDTH - 20)
    up = _Axis([ms for _, _, ms in points], _HEIGHT - _MARGIN, 20)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif">']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    for value in across.marks:
        parts.append(f'<text x="{across.at(value):.0f}" y="{_HEIGHT - 40}" text-anchor="middle">{value:,.0f}</text>')
    for value in up.marks:
        y = up.at(value)
        parts.append(f'<line x1="{_MARGIN}" x2="{_WIDTH - 20}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_MARGIN - 8}" y="{y + 4:.0f}" text-anchor="end">{value:g}</text>')
    for place, name in enumerate(_names_of(len(sizes[0]["search"]))):
        line = " ".join(f"{across.at(c):.0f},{up.at(ms):.0f}" for c, each, ms in points if each == place)
        colour = _COLOURS[place % len(_COLOURS)]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_MARGIN + 10}" y="{40 + 18 * place}" fill="{colour}">{name}</text>')
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" text-anchor="middle">chunks; Search p50 in ms</text></svg>'
    )
    return "\n".join(parts) + "\n"


class _Axis:
    """A logarithmic axis of whole decades, between two places of a picture."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self._least = math.floor(math.log10(min(values)))
        self._most = max(math.ceil(math.log10(max(values))), self._least + 1)
        self._first, self._last = first, last

    @property
    def marks(self) -> list[float]:
        """The powers of ten on it."""
        return [10.0**each for each in range(self._least, self._most + 1)]

    def at(self, value: float) -> float:
        """Where a value stands."""
        share = (math.log10(value) - self._least) / (self._most - self._least)
        return self._first + share * (self._last - self._first)
