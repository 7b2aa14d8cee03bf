"""What a run must show. Each gate is a pure function of what was seen, so that a test can show it a bad run.

No gate knows an absolute time: latencies are judged as ratios to a yardstick of the same run, measured in turns with
them, since machines differ and have other work.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from load.ghz import OK, Report
from load.measures import Latencies, latencies

REFUSED = "ResourceExhausted"
_LONGEST_DELAY_S = 60.0
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Gate:
    """One judgement."""

    subject: str
    """The profile, or the part of the run."""
    name: str
    seen: str
    wanted: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A slice of a profile, and the slice of its yardstick right before it."""

    profile: Report
    yardstick: Report


@dataclass(frozen=True, slots=True)
class Probe:
    """A call of our own amid an overload, which sees what ghz does not: the delay that a refusal asks for."""

    status: str
    latency_s: float
    delay_s: float | None
    """RetryInfo of a refusal; None: there was none."""


def statuses(subject: str, seen: Mapping[str, int], allowed: Sequence[str] = (OK,), least: int = 1) -> Gate:
    """Every call ended in one of the allowed ways, and no less than `least` of them with OK."""
    others = {name: count for name, count in seen.items() if name not in allowed}
    passed = not others and seen.get(OK, 0) >= least
    wanted = f"only {' or '.join(allowed)}, at least {least} {OK}"
    return Gate(subject, "statuses", _listed(seen), wanted, passed)


def ratio(subject: str, share: str, turns: Sequence[Turn], limit: float) -> Gate:
    """A percentile (`p50`, `p95`) over the same one of the yardstick: the median over the turns."""
    found = turns_ratio(share, turns)
    return Gate(subject, f"{share} ratio", _number(found), f"at most {limit:g}", found <= limit)


def turns_ratio(share: str, turns: Sequence[Turn]) -> float:
    """The median over the turns of a percentile over the yardstick's. Infinite where there is nothing to go by."""
    found = [
        getattr(latencies(turn.profile.ok_seconds), share) / _known(latencies(turn.yardstick.ok_seconds), share)
        for turn in turns
    ]
    return median(found) if found else math.inf


def counted(subject: str, client: Mapping[str, int], server: Mapping[str, int], codes: Sequence[str] = (OK,)) -> Gate:
    """The servers counted as many calls of each code as the client: none was lost, none came twice."""
    pairs = {code: (client.get(code, 0), server.get(server_code(code), 0)) for code in codes}
    shown = ", ".join(f"{code}: {mine} sent, {theirs} counted" for code, (mine, theirs) in pairs.items())
    passed = any(mine for mine, _ in pairs.values()) and all(mine == theirs for mine, theirs in pairs.values())
    return Gate(subject, "calls counted", shown, "equal, and not none", passed)


def rows(subject: str, before: int, after: int, accepted: int) -> Gate:
    """What was accepted is stored, once each."""
    shown = f"{accepted} accepted, {after - before} more stored"
    return Gate(subject, "rows", shown, "equal, and not none", accepted > 0 and after - before == accepted)


def redelivered(subject: str, before: int, after: int, sent: int) -> Gate:
    """What was sent again changed nothing."""
    shown = f"{sent} sent again, {after - before} more stored"
    return Gate(subject, "redelivery", shown, "none more stored", sent > 0 and after == before)


def overloaded(report: Report) -> Gate:
    """An overload is refused in part, and served in part, and nothing else."""
    seen = report.statuses
    wanted = f"{OK} and {REFUSED}, both, and nothing else"
    return Gate("overload", "refusals", _listed(seen), wanted, set(seen) == {OK, REFUSED})


def delays(probes: Sequence[Probe]) -> Gate:
    """Each refusal says when to come again."""
    refused = [probe.delay_s for probe in probes if probe.status == REFUSED]
    bad = [delay for delay in refused if delay is None or not 0 < delay <= _LONGEST_DELAY_S]
    shown = f"{len(refused)} refused probes, {len(bad)} without a usable RetryInfo"
    return Gate("overload", "RetryInfo", shown, "at least one refused, each with it", bool(refused) and not bad)


def accepted_latency(share: str, report: Report, normal: Latencies, limit: float) -> Gate:
    """What is let in during an overload is answered as fast as ever: `p50` or `p95` over that without."""
    found = getattr(latencies(report.ok_seconds), share) / _known(normal, share)
    wanted = f"at most {limit:g} of that without overload"
    return Gate("overload", f"{share} of the accepted", _number(found), wanted, found <= limit)


def recovered(seconds: float, limit_s: float) -> Gate:
    """After the overload calls are answered as before it, soon."""
    return Gate("overload", "recovery", f"{_number(seconds)} s", f"at most {limit_s:g} s", seconds <= limit_s)


def server_code(code: str) -> str:
    """The name that servers count under of a status as ghz writes it: `ResourceExhausted`, `RESOURCE_EXHAUSTED`."""
    if code == "Canceled":
        return "CANCELLED"
    return code if code.isupper() else "".join(f"_{c}" if c.isupper() else c for c in code).lstrip("_").upper()


def _known(found: object, share: str) -> float:
    """A percentile of the yardstick: where that is silent nothing can be judged, which is no pass."""
    value = float(getattr(found, share))
    return value if 0 < value < math.inf else math.nan


def _listed(seen: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(seen).most_common(_SHOWN)) or "no call"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else str(value)
