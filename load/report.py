"""Tells of a run: a table for people at a terminal, one JSON object, one page of HTML that needs nothing else."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from load.gates import Gate, turns_ratio
from load.measures import latencies
from load.measuring import Measured

_COLUMNS = ("profile", "calls", "per s", "p50 ms", "p95 ms", "p99 ms", "p50 ratio", "p95 ratio", "statuses")
_BARS, _BAR_PX, _HEIGHT_PX = 40, 9, 90
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .25rem .8rem; text-align: left }
th { border-bottom: 2px solid #999 } tr:nth-child(even) td { background: #f4f4f4 }
.failed { color: #b00020; font-weight: 600 } .passed { color: #1b6e2d } figure { display: inline-block; margin: .6rem }
rect { fill: #4a78b5 } figcaption { font-size: 13px }
"""


def summary(
    measured: Sequence[Measured], gates: Sequence[Gate], figures: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """All that is told, as JSON: seconds and ratios; numbers that there are none for are null."""
    told = {
        "passed": all(gate.passed for gate in gates) and bool(gates),
        "settings": dict(settings),
        "profiles": {each.profile: _figures(each) for each in measured},
        **figures,
        "gates": [asdict(gate) for gate in gates],
    }
    return {name: finite(each) for name, each in told.items()}


def finite(told: Any) -> Any:
    """The same with null in the place of numbers that JSON does not have."""
    if isinstance(told, Mapping):
        return {name: finite(each) for name, each in told.items()}
    if isinstance(told, list | tuple):
        return [finite(each) for each in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told


def table(told: Mapping[str, Any]) -> str:
    """The profiles, line by line, then the gates that failed."""
    lines = [_COLUMNS, *(_cells(name, each) for name, each in told["profiles"].items())]
    widths = [max(len(line[place]) for line in lines) for place in range(len(_COLUMNS))]
    found = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    failed = [each for each in told["gates"] if not each["passed"]]
    found.append(f"\n{len(told['gates'])} gates, {len(failed)} failed")
    found += [
        f"  FAILED {each['subject']}: {each['name']}: {each['seen']} (wanted: {each['wanted']})" for each in failed
    ]
    return "\n".join(found)


def page(told: Mapping[str, Any], measured: Sequence[Measured]) -> str:
    """The report as HTML."""
    verdict = '<p class="passed">Passed.</p>' if told["passed"] else '<p class="failed">Failed.</p>'
    rows = [_row(_cells(name, each)) for name, each in told["profiles"].items()]
    gates = [
        _row((each["subject"], each["name"], each["seen"], each["wanted"], "passed" if each["passed"] else "FAILED"),
             "" if each["passed"] else ' class="failed"')
        for each in told["gates"]
    ]  # fmt: skip
    figures = "".join(_histogram(each.profile, each.ok_seconds) for each in measured)
    settings = ", ".join(f"{name} {value}" for name, value in told["settings"].items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Palimpsest under load</title>'
        f"<style>{_STYLE}</style>"
        f"<h1>Palimpsest under load</h1>{verdict}<p>{html.escape(settings)}</p>"
        f"<h2>Profiles</h2><table>{_head(_COLUMNS)}{''.join(rows)}</table>"
        f"<h2>Gates</h2><table>{_head(('of', 'gate', 'seen', 'wanted', ''))}{''.join(gates)}</table>"
        f"<h2>Latencies</h2>{figures}</html>\n"
    )


def _figures(measured: Measured) -> dict[str, Any]:
    found = latencies(measured.ok_seconds)
    return {
        "calls": measured.statuses.total(),
        "statuses": dict(measured.statuses),
        "ok_per_second": round(measured.ok_per_second, 2),
        "p50_s": round(found.p50, 6),
        "p95_s": round(found.p95, 6),
        "p99_s": round(found.p99, 6),
        "p50_ratio": round(turns_ratio("p50", measured.turns), 3),
        "p95_ratio": round(turns_ratio("p95", measured.turns), 3),
        "errors": dict(error for turn in measured.turns for error in turn.profile.errors.items()),
    }


def _cells(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    times = [_shown(figures[each], 1000) for each in ("p50_s", "p95_s", "p99_s")]
    ratios = [_shown(figures[each], 1) for each in ("p50_ratio", "p95_ratio")]
    statuses = " ".join(f"{status}:{count}" for status, count in figures["statuses"].items())
    return name, str(figures["calls"]), f"{figures['ok_per_second']:.1f}", *times, *ratios, statuses


def _shown(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{value * factor:.1f}"


def _head(names: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<th>{html.escape(name)}" for name in names) + "</tr>"


def _row(cells: Sequence[str], attributes: str = "") -> str:
    return f"<tr{attributes}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells) + "</tr>"


def _histogram(name: str, seconds: Sequence[float]) -> str:
    """Bars of the latencies up to the 99th percentile, of equal width."""
    if not seconds:
        return f"<figure><figcaption>{html.escape(name)}: no call was answered</figcaption></figure>"
    longest = latencies(seconds).p99 or 1e-9
    counts = [0] * _BARS
    for each in seconds:
        counts[min(_BARS - 1, int(each / longest * _BARS))] += 1
    bars = "".join(
        f'<rect x="{place * _BAR_PX}" y="{_HEIGHT_PX - height}" width="{_BAR_PX - 1}" height="{height}"/>'
        for place, count in enumerate(counts)
        if (height := round(count / max(counts) * _HEIGHT_PX))
    )
    caption = f"{name}: 0 to {longest * 1000:.1f} ms, {len(seconds)} calls"
    return (
        f'<figure><svg width="{_BARS * _BAR_PX}" height="{_HEIGHT_PX}">{bars}</svg>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
