"""Whether a system stays as it is under steady load, and what it does far beyond it; ends with 1 where a gate fails.

usage: python -m load.soak [--minutes N] [options of `python -m load`]

First the mixed profile climbs a staircase of rates until the system no longer keeps up. Then 80 % of what held goes on
for the minutes, without waiting for answers: no error, and no growth of memory, connections, queue age or latency, by
the Theil-Sen slope over the second half. Then ten times the searches that it can answer for a minute: refused with a
delay, what is let in as fast as ever by a ratio, recovered within 10 s. The last line is one JSON object.
"""

import json
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from load import gates, judging
from load.__main__ import benched, options, say
from load.fill import wait_for_vectors
from load.gates import Gate
from load.ghz import Report, settings_of
from load.judging import SHARED_METHODS
from load.measures import latencies
from load.measuring import ITEMS, Bench, stored
from load.mixed import mix, rates, run_mixed
from load.overload import Overload, overload
from load.report import finite
from load.resources import Held, held
from load.staircase import Step, climb, greatest
from load.trends import Point, flat

SHARE_OF_MAXIMUM = 0.8
_STEP_S = 8.0
_OVERLOAD_S = 60.0
_VECTORS_S = 60.0
_POINTS = 60
_LEAST_BETWEEN_S = 2.0
_CALM = 3.0
_MIB = 2**20


def main() -> int:
    """Runs the staircase, the soak and the overload."""
    parser = options()
    parser.add_argument("--minutes", type=float, default=30.0, help="of the steady load")
    parser.add_argument("--overload-seconds", type=float, default=_OVERLOAD_S)
    arguments = parser.parse_args()
    if arguments.minutes <= 0 or arguments.overload_seconds <= 0:
        parser.error("--minutes and --overload-seconds are above 0")
    with benched(arguments, 2.0) as bench:
        told = _soaked(bench, arguments.minutes * 60, arguments.overload_seconds)
    failed = [each for each in told["gates"] if not each["passed"]]
    for each in failed:
        print(f"FAILED {each['subject']}: {each['name']}: {each['seen']} (wanted: {each['wanted']})")
    print(json.dumps(finite(told), ensure_ascii=False, allow_nan=False))
    return 1 if failed else 0


def _soaked(bench: Bench, seconds: float, overload_s: float) -> dict[str, Any]:
    parts = mix().parts
    alone = {name: bench.slice(name, bench.requests(name, "alone")) for name in parts}
    per_second = {name: max(report.ok_per_second, 0.1) for name, report in alone.items()}
    steps = climb(bench, parts, per_second, _STEP_S, say)
    wait_for_vectors(bench.stubs, bench.scene.write, _VECTORS_S)
    most = greatest(steps)
    if most is None:
        return _told([_too_much(steps[0])], per_second, steps)
    at = rates(parts, per_second, SHARE_OF_MAXIMUM * most.share)
    say(f"soak: {seconds:.0f} s of {at} calls a second")
    found, steady, points = _steady(bench, at, seconds)
    search_s = latencies(steady["search"].ok_seconds)
    rate = math.ceil(per_second["search"] * judging.limits().rate)
    say(f"overload: {overload_s:.0f} s of {rate} searches a second")
    beyond = overload(bench, rate, overload_s, search_s.p50 * _CALM)
    found += judging.of_overload(beyond, search_s, judging.limits())
    return _told(found, per_second, steps) | _shown(at, steady, points, beyond)


def _too_much(step: Step) -> Gate:
    """That not even the first step held: there is no rate at which to go on."""
    told = f"{sum(step.rates.values())} calls a second: {asdict(step)}"
    return Gate("soak", "staircase", told, "the first step is kept up with", False)


def _steady(
    bench: Bench, at: Mapping[str, int], seconds: float
) -> tuple[list[Gate], dict[str, Report], list[tuple[float, Held]]]:
    """Runs the mix; gates, what ghz saw, and what was held meanwhile."""
    before, began = stored(bench), time.time()
    since = {name: bench.counting(settings_of(name)["call"]) for name in at if name not in SHARED_METHODS}
    points, ended = list[tuple[float, Held]](), threading.Event()
    every_s = max(_LEAST_BETWEEN_S, seconds / _POINTS)

    def watch() -> None:
        while not ended.wait(every_s):
            points.append((time.time() - began, held(bench.deployment)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seen = run_mixed(bench, at, seconds, "soak")
    finally:
        ended.set()
        watcher.join()
    counted = {name: read(seen[name].statuses) for name, read in since.items()}
    found = [gates.statuses(f"soak {name}", report.statuses) for name, report in seen.items()]
    found += [gates.counted(f"soak {name}", seen[name].statuses, each) for name, each in counted.items() if each]
    written = sum(len(seen[name].ok_seconds) * items for name, items in ITEMS.items() if name in seen)
    found.append(gates.rows("soak writes", before, stored(bench), written))
    return [*found, *_flat(points), *_steady_latency(seen, began, every_s)], seen, points


def _flat(points: Sequence[tuple[float, Held]]) -> list[Gate]:
    """What is held does not grow. A bound in units of its own is what goes up and down anyway."""

    def of(name: str) -> list[Point]:
        return [(moment, getattr(each, name)) for moment, each in points]

    return [
        flat("the services' memory", of("services_bytes"), 0.05, 24 * _MIB),
        flat("Postgres's memory", of("postgres_bytes"), 0.10, 24 * _MIB),
        flat("connections", of("connections"), 0.05, 2),
        flat("queue age", of("queue_age_s"), 0.25, 5),
        flat("pieces that wait", of("waiting"), 0.25, 50),
    ]


def _steady_latency(seen: Mapping[str, Report], began: float, window_s: float) -> list[Gate]:
    """Medians of the calls that ended in each window do not grow."""
    found = []
    for name in ("search", "compile_context", "record_observation"):
        windows: dict[int, list[float]] = {}
        for call in seen[name].calls if name in seen else ():
            windows.setdefault(int((call.ended_at - began) / window_s), []).append(call.latency_s)
        points = [(number * window_s, latencies(each).p50) for number, each in sorted(windows.items())]
        found.append(flat(f"latency of {name}", points, 0.25))
    return found


def _told(found: Sequence[Gate], per_second: Mapping[str, float], steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "passed": all(gate.passed for gate in found),
        "processors": os.cpu_count(),
        "alone_per_second": {name: round(each, 2) for name, each in per_second.items()},
        "staircase": [asdict(step) for step in steps],
        "gates": [asdict(gate) for gate in found],
    }


def _shown(
    at: Mapping[str, int], steady: Mapping[str, Report], points: Sequence[tuple[float, Held]], beyond: Overload
) -> dict[str, Any]:
    return {
        "rates": dict(at),
        "steady": {
            name: {"calls": len(each.calls), **asdict(latencies(each.ok_seconds)), "errors": each.errors}
            for name, each in steady.items()
        },
        "held": {"first": asdict(points[0][1]), "last": asdict(points[-1][1])} if points else {},
        "overload": {
            "statuses": dict(beyond.report.statuses),
            "errors": beyond.report.errors,
            "accepted_s": asdict(latencies(beyond.report.ok_seconds)),
            "recovery_s": beyond.recovery_s,
        },
    }


if __name__ == "__main__":
    raise SystemExit(main())
