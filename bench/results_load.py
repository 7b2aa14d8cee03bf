"""What `python -m load` found, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.results_tables import cell, table


def lines(figures: Mapping[str, Any], charts: str) -> list[str]:
    """The section: a profile a row, then a gate a row."""
    profiles = [
        [name, cell(each["calls"]), cell(each["ok_per_second"]), *_ms(each), *_ratios(each)]
        for name, each in figures["profiles"].items()
    ]
    gates = [
        [gate["subject"], gate["name"], gate["seen"], gate["wanted"], "" if gate["passed"] else "**failed**"]
        for gate in figures["gates"]
    ]
    return [
        *table(["profile", "calls", "a second", "p50 ms", "p95 ms", "p50 to its yardstick", "p95"], profiles),
        f"The overload was {figures['overload']['rate']} searches a second. The gates:",
        "",
        *table(["of", "gate", "seen", "wanted", ""], gates),
    ]


def charts(figures: Mapping[str, Any]) -> dict[str, str]:
    """None."""
    return {}


def _ms(profile: Mapping[str, Any]) -> list[str]:
    return [cell(round(profile[name] * 1000, 1)) for name in ("p50_s", "p95_s")]


def _ratios(profile: Mapping[str, Any]) -> list[str]:
    return [cell(profile[name]) for name in ("p50_ratio", "p95_ratio")]
