"""The stages of a comparison; in each, peers take turns round by round, so that all see the same machine."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import databases
from bench.measures import percentile, summary
from bench.peers import remnants
from bench.peers.catalogue import FLOOR, Entry
from bench.peers.environments import Environment
from bench.peers.faults import FAILS, FAULTS, HOLDS
from bench.peers.remembered import Remembered
from bench.peers.turns import PeerFailed, Running, running

CLIENTS = 8
_ALL = 1_000_000


class Way(NamedTuple):
    """A way to add or to search: clients at once, and whether a call takes many."""

    name: str
    clients: int
    batch: bool = False


INGEST = (Way("single_1", 1), Way("single_8", CLIENTS), Way("batch_1", 1, batch=True))
SEARCH = (Way("search_1", 1), Way("search_8", CLIENTS))


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    rounds: int
    limit_s: float
    """Of one way in one turn: no call is begun after it."""
    most: int
    """Items or questions of one way in one turn."""


@dataclass
class Told:
    """What came of a peer."""

    entry: Entry
    environment: Environment
    first_answer_s: float = 0.0
    batches: bool = True
    quality: dict[str, float] = field(default_factory=dict)
    turns: dict[str, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    """By way, a round each."""
    memory: dict[str, float] = field(default_factory=dict)
    disk_mb: float | None = None
    unknown_texts: int = 0
    faults: dict[str, dict[str, str]] = field(default_factory=dict)
    failed: str = ""
    """Why it went no further."""


class Comparison:
    """Peers that run, and what came of each."""

    def __init__(self, peers: Sequence[tuple[Running, Told]], remembered: Remembered, plan: Plan) -> None:
        self._peers = peers
        self._remembered = remembered
        self._plan = plan

    def run(self) -> None:
        """All stages. A peer that fails in one is left out of the rest."""
        self._each("opens", self._open)
        self._each("loads", self._load)
        self._each("answers all", self._ask_all)
        for number in range(self._plan.rounds):
            self._each(f"searches, round {number + 1}", partial(self._search, number), first=number)
        self._each("meets faults", partial(self._meet, False))
        for number in range(self._plan.rounds):
            self._each(f"ingests, round {number + 1}", partial(self._ingest, number), first=number)
        self._each("meets the last faults", partial(self._meet, True))
        self._each("ends", self._close)

    def _each(self, what: str, do: Callable[[Running, Told], None], *, first: int = 0) -> None:
        """Gives each peer its turn, another one first in each round."""
        first %= len(self._peers)
        for peer, told in [*self._peers[first:], *self._peers[:first]]:
            if told.failed:
                continue
            began = time.monotonic()
            try:
                do(peer, told)
            except PeerFailed as error:
                told.failed = f"{what}: {error}"
            took = f"{time.monotonic() - began:.1f} s, load {os.getloadavg()[0]:.1f}"
            print(f"{told.entry.name} {what}: {told.failed or took}", file=sys.stderr, flush=True)

    def _open(self, peer: Running, told: Told) -> None:
        answer = peer.do("open")
        told.first_answer_s, told.batches = answer["seconds"], answer["batches"]

    def _load(self, peer: Running, told: Told) -> None:
        before = _disk_mb(peer)
        peer.do("load", clients=1)
        told.disk_mb = round(_disk_mb(peer) - before, 1)
        if peer.dsn:
            asyncio.run(databases.analyze(peer.dsn))

    def _ask_all(self, peer: Running, told: Told) -> None:
        answers = peer.do("ask", most=_ALL, limit=20, clients=1, limit_s=float("inf"), seed=0)["answers"]
        told.quality = summary([(each["found"], each["relevant"]) for each in answers])

    def _search(self, number: int, peer: Running, told: Told) -> None:
        for way in SEARCH:
            unknown = self._remembered.unknown
            plan = {"most": self._plan.most, "limit_s": self._plan.limit_s, "limit": 10}
            answer = peer.do("ask", clients=way.clients, seed=number, **plan)
            count = len(answer["milliseconds"])
            figures = _used(answer, count) | {
                "p50_ms": median(answer["milliseconds"]),
                "p95_ms": percentile(answer["milliseconds"], 0.95),
            }
            told.turns[way.name].append(figures)
            told.unknown_texts += self._remembered.unknown - unknown
        told.memory = asdict(peer.memory())

    def _ingest(self, number: int, peer: Running, told: Told) -> None:
        for way in INGEST:
            if way.batch and not told.batches:
                continue
            unknown = self._remembered.unknown
            plan = {"most": self._plan.most, "limit_s": self._plan.limit_s}
            answer = peer.do("ingest", batch=way.batch, clients=way.clients, seed=number, **plan)
            until_found = answer["items"] / (answer["seconds"] + answer["until_ready_s"])
            told.turns[way.name].append(_used(answer, answer["items"]) | {"found_per_second": until_found})
            told.unknown_texts += self._remembered.unknown - unknown

    def _meet(self, is_final: bool, peer: Running, told: Told) -> None:
        for fault in FAULTS.values():
            if fault.is_final is is_final:
                told.faults[fault.name] = self._met(peer, fault.name)

    def _close(self, peer: Running, told: Told) -> None:
        peer.do("close")

    def _met(self, peer: Running, name: str) -> dict[str, str]:
        before = asyncio.run(remnants.vectors(peer.dsn)) if peer.dsn else 0
        answer = peer.do("fault", name=name)
        verdict, seen = answer["verdict"], answer["seen"]
        if answer["gone"] and verdict == HOLDS:
            left = _left(peer, answer["gone"], before)
            verdict, seen = (FAILS, f"{seen}, but is still in {left}") if left else (verdict, seen)
        return {"verdict": verdict, "seen": seen}


def _left(peer: Running, text: str, vectors_before: int) -> str:
    """Where a deleted item is still, in words; one item that stays was added with it."""
    places = remnants.in_files(peer.folder / "own", text)
    if peer.dsn:
        places += asyncio.run(remnants.in_tables(peer.dsn, text))
        if asyncio.run(remnants.vectors(peer.dsn)) > vectors_before + 1:
            places.append("a vector")
    return ", ".join(places)


def _used(answer: dict[str, Any], count: int) -> dict[str, float]:
    return {
        "calls": count,
        "per_second": count / answer["seconds"],
        "processor_ms": answer["processor_s"] * 1000 / max(count, 1),
        "load_average": os.getloadavg()[0],
    }


def _disk_mb(peer: Running) -> float:
    own = sum(path.stat().st_size for path in (peer.folder / "own").rglob("*") if path.is_file())
    return (own + (asyncio.run(databases.size(peer.dsn)) if peer.dsn else 0)) / 1e6


def compare(
    peers: Sequence[tuple[Entry, Environment]], remembered: Remembered, served: dict[str, str], corpus: Path,
    vectors: Path, plan: Plan,
) -> list[Told]:  # fmt: skip
    """Runs the peers by turns, and tells of each."""
    with ExitStack() as stack:
        started = []
        for entry, environment in peers:
            told = {**served, "corpus": str(corpus), "vectors": str(vectors)}
            started.append((stack.enter_context(running(entry, environment, told)), Told(entry, environment)))
        Comparison(started, remembered, plan).run()
        return [told for _, told in started]


def figures(told: Sequence[Told]) -> dict[str, Any]:
    """Medians over the rounds; ratios are of the same round to the floor."""
    floor = next((each for each in told if each.entry.name == FLOOR), None)
    return {each.entry.name: _figures(each, floor) for each in told}


def _figures(told: Told, floor: Told | None) -> dict[str, Any]:
    ways = {}
    for name, rounds in told.turns.items():
        ways[name] = {figure: _rounded(median(each[figure] for each in rounds)) for figure in rounds[0]}
        ways[name] |= _ratios(rounds, floor.turns.get(name, []) if floor else [])
    return {
        "title": told.entry.title,
        "versions": told.environment.versions,
        "install_s": told.environment.install_s,
        "install_processor_s": told.environment.install_processor_s,
        "install_mb": told.environment.install_mb,
        "first_answer_s": _rounded(told.first_answer_s),
        "quality": told.quality,
        **ways,
        "memory_mb": told.memory,
        "disk_mb": told.disk_mb,
        "unknown_texts": told.unknown_texts,
        "faults": told.faults,
        **({"failed": told.failed} if told.failed else {}),
    }


def _ratios(rounds: Sequence[dict[str, float]], of_floor: Sequence[dict[str, float]]) -> dict[str, float]:
    """To the floor in the same round; a peer may have failed in a later one than another. Of few calls the processor
    time may be none, for it is counted in ticks."""
    found = {}
    for figure in ("per_second", "p50_ms", "processor_ms"):
        pairs = [(our.get(figure), base.get(figure)) for our, base in zip(rounds, of_floor, strict=False)]
        if ratios := [our / base for our, base in pairs if our is not None and base]:
            found[f"{figure}_ratio"] = _rounded(median(ratios))
    return found


def _rounded(number: float) -> float:
    """Three digits are more than such figures have."""
    return float(f"{number:.3g}")
