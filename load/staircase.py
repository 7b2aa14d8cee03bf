"""How much of the mixed profile the system can do: rates that rise step by step, whatever is answered, until it is
too much."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from load.fill import wait_for_vectors
from load.ghz import OK, Report
from load.measures import latencies
from load.measuring import Bench
from load.mixed import rates, run_mixed

STEPS = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
"""Shares of what the parts could do in turns."""
_SLOWER = 4.0
"""A step whose searches take so much longer than those of the first is beyond what the system can do."""
_SERVED = 0.95
_JUDGED = "search"
_DRAINED = 0.25
"""Of the time of a step: what vectors may take longer than it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step showed."""

    share: float
    rates: Mapping[str, int]
    is_clean: bool
    """Whether every call was answered with OK."""
    served: float
    """Of the calls that were sent, the share that was answered in the time of the step."""
    p95_s: float
    is_drained: bool
    """Whether what was written had its vectors soon after, so that their queue does not grow for ever."""


def climb(
    bench: Bench,
    parts: Mapping[str, float],
    per_second: Mapping[str, float],
    seconds: float,
    say: Callable[[str], None],
) -> list[Step]:
    """Steps until the first that is too much, which is the last of them."""
    found: list[Step] = []
    for share in STEPS:
        at = rates(parts, per_second, share)
        if found and at == found[-1].rates:
            continue
        found.append(_step(bench, share, at, seconds))
        say(f"staircase: {share:g}: {sum(at.values())} calls a second, p95 of searches {found[-1].p95_s * 1000:.0f} ms")
        if not holds(found[-1], found[0]):
            break
    return found


def greatest(steps: Sequence[Step]) -> Step | None:
    """The last step that held; None where not even the first did."""
    held = [step for step in steps if holds(step, steps[0])]
    return held[-1] if held else None


def holds(step: Step, first: Step) -> bool:
    """Whether the system kept up: no error, nearly all served in time, searches not far slower than at the first."""
    is_quick = step.served >= _SERVED and step.p95_s <= _SLOWER * first.p95_s
    return step.is_clean and step.is_drained and is_quick


def _step(bench: Bench, share: float, at: Mapping[str, int], seconds: float) -> Step:
    seen = run_mixed(bench, at, seconds, f"stair-{share:g}")
    is_drained = wait_for_vectors(bench.stubs, bench.scene.write, _DRAINED * seconds)
    p95_s = latencies(seen[_JUDGED].ok_seconds).p95
    return Step(share, at, clean(seen), _served(seen, seconds), p95_s, is_drained)


def clean(seen: Mapping[str, Report]) -> bool:
    """Whether every call was answered with OK."""
    return all(set(report.statuses) == {OK} for report in seen.values())


def _served(seen: Mapping[str, Report], seconds: float) -> float:
    """The share of the calls that ended while calls were still sent: what ends later has waited in a queue."""
    ended = 0
    for report in seen.values():
        begun = min((call.ended_at - call.latency_s for call in report.calls), default=0.0)
        # A call that is sent last ends later by as long as it takes.
        due = begun + seconds + latencies(report.ok_seconds).p50
        ended += sum(call.ended_at <= due for call in report.calls)
    return ended / max(1, sum(len(report.calls) for report in seen.values()))
