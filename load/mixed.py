"""The mixed profile: what a system is really asked, all at once, at rates that do not wait for answers."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load.ghz import Report
from load.measuring import Bench

MIXED = Path(__file__).parent / "mixed.json"


@dataclass(frozen=True, slots=True)
class Mix:
    """See `mixed.json`."""

    parts: Mapping[str, float]
    """Shares of the calls, by profile; only their proportions matter."""
    share_of_maximum: float
    """Of what the parts could do if each had the system for itself in turns."""


def mix() -> Mix:
    """The mixed profile."""
    return Mix(**json.loads(MIXED.read_text()))


def rates(parts: Mapping[str, float], per_second: Mapping[str, float], share_of_maximum: float) -> dict[str, int]:
    """Calls a second of each part, whole numbers as ghz wants them, and at least 1.

    `per_second` is what each does alone. A call takes the inverse of that of the system; the mix takes
    `share_of_maximum` of it. Parts that would come less than once a second come once, and leave so much less to the
    others. Where one was never answered alone, nothing is known of the others' room either, and all come once.
    """
    cost_s = {name: 1 / each if each else math.inf for name, each in per_second.items()}
    left, room, found = dict(parts), share_of_maximum, dict[str, int]()
    while left:
        scale = max(room, 0.0) / sum(share * cost_s[name] for name, share in left.items())
        rare = [name for name, share in left.items() if share * scale < 1]
        for name in rare or left:
            found[name] = 1 if rare else math.floor(left[name] * scale + 1e-9)
        if not rare:
            break
        room -= sum(cost_s[name] for name in rare)
        left = {name: share for name, share in left.items() if name not in rare}
    return found


def open_loop(rate: int, seconds: float) -> dict[str, Any]:
    """Lines of a configuration of ghz: calls at a rate, whether or not those before them are answered."""
    return {"async": True, "rps": rate, "duration": f"{seconds:g}s", "duration-stop": "wait", "total": 0}


def run_mixed(bench: Bench, at: Mapping[str, int], seconds: float, part: str) -> dict[str, Report]:
    """Runs all parts beside each other, each at its rate; what each saw."""
    running = {
        name: bench.ghz.begin(name, bench.requests(name, part), **open_loop(rate, seconds)) for name, rate in at.items()
    }
    return {name: run.report() for name, run in running.items()}
