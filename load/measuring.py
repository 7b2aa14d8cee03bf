"""Runs profiles in turns with their yardsticks, and holds what was seen against what the servers counted and stored."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from load import counters
from load.content import Content
from load.deployment import Deployment, Stubs
from load.fill import observations_stored
from load.gates import Turn
from load.ghz import Ghz, Report, settings_of
from load.observations import Json
from load.requests import BATCH, REQUESTS, Scene

EXPECTATIONS = Path(__file__).parent / "thresholds.json"
_SLICE_S = 2.0
_ALL_S = 6.0
"""What a profile runs in all, as the command line has it by default."""
ITEMS = {"record_observation": 1, "batch_record_observations": BATCH}
"""Observations in one call of the profiles that write."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a profile: see `thresholds.json`."""

    yardstick: str
    p50: float
    p95: float
    least: int


@dataclass
class Measured:
    """What was seen of one profile."""

    profile: str
    turns: list[Turn] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    """What the servers counted of its method meanwhile, by code; empty where nobody asks them."""
    last_requests: Sequence[Json] = ()

    @property
    def statuses(self) -> Counter[str]:
        """How its calls ended."""
        return sum((turn.profile.statuses for turn in self.turns), Counter[str]())

    @property
    def ok_seconds(self) -> list[float]:
        """Latencies of its calls that were answered with OK."""
        return [each for turn in self.turns for each in turn.profile.ok_seconds]

    @property
    def ok_per_second(self) -> float:
        """Calls answered with OK in a second."""
        seconds = sum(turn.profile.seconds for turn in self.turns)
        return len(self.ok_seconds) / seconds if seconds else 0.0


@dataclass(frozen=True)
class Bench:
    """All that a measurement needs: the deployment, ghz on it, what is stored there, and how long to run."""

    deployment: Deployment
    stubs: Stubs
    ghz: Ghz
    scene: Scene
    seed: int
    run: str
    """Tells this run's observations from those of others."""
    slice_s: float = _SLICE_S

    def requests(self, profile: str, part: str) -> list[Json]:
        """Requests of a profile, which no other part of the run makes."""
        return REQUESTS[profile](Content(self.seed, f"{profile} {part}"), self.scene, f"{self.run}-{part}")

    def slice(self, profile: str, requests: Sequence[Json]) -> Report:
        """Runs a profile for its part of the time: slices of a fixed number of calls have as many more."""
        settings, scale = settings_of(profile), self.slice_s / _SLICE_S
        if "total" in settings:
            return self.ghz.run(profile, requests, total=max(1, round(settings["total"] * scale)))
        return self.ghz.run(profile, requests, duration=f"{float(settings['duration'].rstrip('s')) * scale:g}s")

    def counting(self, method: str) -> Callable[[Counter[str]], Counter[str]]:
        """Begins to watch what the servers count of a method; the result, given what the client saw, is what they
        counted since. Waits a little for them to have counted all of it."""
        addresses, path = self.deployment.metrics, "/" + method
        before = counters.calls_counted(addresses)

        def since(client: Counter[str]) -> Counter[str]:
            def difference() -> Counter[str]:
                calls = counters.calls_counted(addresses) - before
                return Counter({code: count for (each, code), count in calls.items() if each == path})

            counters.settled(lambda: difference().total(), client.total())
            return difference()

        return since if addresses else lambda _: Counter()


def expectations(seconds: float = _ALL_S) -> dict[str, Expectation]:
    """What is expected, by profile, in the order of the file. Runs of less than the usual seconds a profile owe fewer
    answers."""
    share = min(1.0, seconds / _ALL_S)
    found = {name: Expectation(**each) for name, each in json.loads(EXPECTATIONS.read_text())["profiles"].items()}
    return {name: replace(each, least=max(1, int(each.least * share))) for name, each in found.items()}


def measure(bench: Bench, expected: dict[str, Expectation], rounds: int, say: Callable[[str], None]) -> list[Measured]:
    """Runs all profiles, round after round: yardstick, profile, yardstick, profile.

    Those that write come after all rounds of the others, since the vectors of what is written take the processor long
    after.
    """
    found = {name: Measured(name) for name in expected}
    for names in ([name for name in expected if name not in ITEMS], [name for name in expected if name in ITEMS]):
        for number in range(rounds):
            for name in names:
                say(f"round {number + 1} of {rounds}: {name}")
                _take_turn(bench, found[name], expected[name].yardstick, f"{number}")
    return list(found.values())


def _take_turn(bench: Bench, measured: Measured, yardstick: str, part: str) -> None:
    aside = bench.slice(yardstick, bench.requests(yardstick, f"{part}-{measured.profile}"))
    measured.last_requests = bench.requests(measured.profile, part)
    since = bench.counting(settings_of(measured.profile)["call"])
    report = bench.slice(measured.profile, measured.last_requests)
    measured.counted += since(report.statuses)
    measured.turns.append(Turn(report, aside))


def stored(bench: Bench) -> int:
    """Observations in the namespaces that are written to."""
    return observations_stored(bench.stubs, bench.scene.write)


def accepted(measured: Sequence[Measured]) -> int:
    """Observations in the calls that were answered with OK."""
    return sum(len(each.ok_seconds) * ITEMS.get(each.profile, 0) for each in measured)


def sent_again(bench: Bench, measured: Sequence[Measured]) -> Iterator[Report]:
    """The last slice of each profile that writes, once more with the same identities."""
    for each in measured:
        if each.profile in ITEMS:
            yield bench.slice(each.profile, each.last_requests)
