"""Which gates a run has to pass."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from load import gates
from load.gates import Gate
from load.ghz import OK, Report
from load.measures import Latencies, latencies
from load.measuring import EXPECTATIONS, Expectation, Measured
from load.overload import Overload

SHARED_METHODS = frozenset({"embed_queries", "embed_passages"})
"""Profiles whose method the services call too: while several run, the servers count more of it than we send."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is expected besides the profiles: see `thresholds.json`."""

    mixed_p95: float
    rate: float
    """Of the overload, in searches that are answered without."""
    accepted_p50: float
    accepted_p95: float
    recovery_s: float


def limits() -> Limits:
    """The limits of the mixed profile and of the overload."""
    found = json.loads(EXPECTATIONS.read_text())
    mixed, overload = found["mixed"], found["overload"]
    return Limits(mixed["p95_of_alone"], **overload)


def of_profile(measured: Measured, expected: Expectation, is_counted: bool) -> Iterator[Gate]:
    """Gates of one profile alone."""
    name = measured.profile
    yield gates.statuses(name, measured.statuses, least=expected.least)
    yield gates.ratio(name, "p50", measured.turns, expected.p50)
    yield gates.ratio(name, "p95", measured.turns, expected.p95)
    if is_counted:
        yield gates.counted(name, measured.statuses, measured.counted)


def of_mixed(
    seen: Mapping[str, Report], counted: Mapping[str, Mapping[str, int]], alone: Sequence[Measured], limit: float
) -> Iterator[Gate]:
    """Gates of the mixed profile; its latencies are held against those of the profiles alone."""
    for name, report in seen.items():
        yield gates.statuses(f"mixed {name}", report.statuses)
        if counted.get(name):
            yield gates.counted(f"mixed {name}", report.statuses, counted[name])
    before = {each.profile: latencies(each.ok_seconds).p95 for each in alone}
    for name in ("search", "compile_context"):
        if name in seen:
            found = latencies(seen[name].ok_seconds).p95 / before[name]
            wanted = f"at most {limit:g} of that alone"
            yield Gate(f"mixed {name}", "p95", f"{found:.2f}", wanted, found <= limit)


def of_overload(seen: Overload, normal: Latencies, limits: Limits) -> Iterator[Gate]:
    """Gates of the overload; `normal` is what its calls take without."""
    yield gates.overloaded(seen.report)
    yield gates.delays(seen.probes)
    yield gates.accepted_latency("p50", seen.report, normal, limits.accepted_p50)
    yield gates.accepted_latency("p95", seen.report, normal, limits.accepted_p95)
    yield gates.recovered(seen.recovery_s, limits.recovery_s)
    if seen.counted:
        yield gates.counted("overload", seen.sent, seen.counted, (OK, gates.REFUSED))
