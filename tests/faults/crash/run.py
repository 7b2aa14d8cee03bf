"""One run of the proof by crashes: kills, then the same stream said to nobody who dies, and the verdict."""

import asyncio
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from palimpsest.client import Client

from shared.embedded_postgres import EmbeddedPostgres, start
from tests.faults.crash import clients
from tests.faults.crash.clients import NAMESPACES, Task
from tests.faults.crash.ground import create_database, create_migrated, made_folder
from tests.faults.crash.journal import Journal
from tests.faults.crash.killing import Killing, Toll
from tests.faults.crash.lives import Life
from tests.faults.crash.migrating import kill_migrations
from tests.faults.crash.plan import AT_RANDOM, Plan
from tests.faults.crash.points import EMBEDDER, INGEST, MIGRATION, READING, WRITER, Point
from tests.faults.crash.saying import FILES
from tests.faults.crash.system import System
from tests.faults.crash.verdict import Told, differing, differing_rows, digests, examine, waiting
from tests.property.deliveries import Place
from tests.property.streams import PACK

# Processes are killed here, not the machine: what the server has written stays.
UNSAFE_BUT_FAST = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
_TEMPLATE, _DISTURBED, _UNDISTURBED = "template_crash", "disturbed", "undisturbed"
# Of all kills; the rest are writers.
_SHARES = {"migration": 0.06, "reader": 0.08, "embedder": 0.08, "ingester": 0.03, "client": 0.04}
LEAST_KILLS = len(_SHARES) + 1
"""One of each kind of process, a writer among them."""
_PATIENCE_S, _LONGEST_S = 6.0, 1.5
_SETTLE_TIMEOUT_S = 120.0
# So many kills bring each point its turn several times.
_KILLS_FOR_ALL_POINTS = 500
_SAYERS: Mapping[str, Callable[[Task], None]] = {
    "recorder-1": clients.record,
    "recorder-2": clients.record,
    "recorder-3": clients.record,
    "operator": clients.operate,
    "ingester": clients.ingest_vault,
}
_OTHERS: Mapping[str, Callable[[Task], None]] = {"changer": clients.change_model, "searcher": clients.search}
_PACES_S = {"ingester": 0.3, "operator": 0.2, "changer": 0.3, "searcher": 0.1}
_PACE_S = 0.15


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    kills: int
    acknowledged: int
    lost: int
    duplicated: int
    digest_equal: bool
    toll: Toll
    faults: tuple[str, ...]
    """Everything else that should not be."""

    @property
    def is_good(self) -> bool:
        """Whether nothing is lost, doubled, different or otherwise wrong."""
        return not (self.lost or self.duplicated or self.faults or not self.digest_equal)


def crash(kills: int, seed: int, *, tell: Callable[[str], None] = print) -> Result:
    """Kills so many processes. Blocks for about a second a kill on two cores. Where something is wrong, the logs and
    journals are kept."""
    folder = made_folder("crash")
    is_good = False
    try:
        with start(folder / "postgres", settings=UNSAFE_BUT_FAST) as postgres:
            result = _Run(postgres, folder, kills, Random(seed), seed, tell).run()
        is_good = result.is_good
        return result
    finally:
        shutil.rmtree(folder / "postgres" if not is_good else folder, ignore_errors=True)
        if not is_good:
            tell(f"logs and journals are in {folder}")


class _Run:
    """What a run works with."""

    def __init__(
        self,
        postgres: EmbeddedPostgres,
        folder: Path,
        kills: int,
        chosen: Random,
        seed: int,
        tell: Callable[[str], None],
    ) -> None:
        self._postgres, self._folder, self._kills, self._chosen = postgres, folder, kills, chosen
        self._seed, self._tell = seed, tell
        self._shares = {kind: max(1, round(kills * share)) for kind, share in _SHARES.items()}
        self._shares["writer"] = kills - sum(self._shares.values())

    def run(self) -> Result:
        """Everything, in order."""
        asyncio.run(self._make_databases())
        toll = Toll(tell=self._tell)
        made = self._folder / "migrated"
        asyncio.run(kill_migrations(self._postgres, _TEMPLATE, made, self._shares["migration"], self._chosen, toll))
        system = System(self._postgres.dsn(_DISTURBED), self._folder / "disturbed")
        steady = self._killing(system, toll).run()
        self._tell(f"killed: {sum(toll.kills.values())}")
        told = Told.of(Journal(path) for path in sorted(system.folder.glob("*.jsonl")))
        self._tell(f"calls that were sent again: {dict(told.retried)}")
        version = self._journal(system, "ingester").done() - 1
        keys = (
            {f"doc:page-{number}.md" for number in range(FILES) if number != version % FILES} if version >= 0 else set()
        )
        with _reached(system) as client:
            self._settle(system.dsn)
            self._curate(client)
            found = asyncio.run(examine(system.dsn, client, told, keys))
            disturbed = digests(client)
        _stop(steady)
        different = differing(disturbed, self._undisturbed(system))
        self._tell(f"tables that differ from the undisturbed ones: {', '.join(different) or 'none'}")
        for row in asyncio.run(differing_rows(system.dsn, self._postgres.dsn(_UNDISTURBED), different)):
            self._tell(row)
        faults = (
            *toll.faults,
            *(f"{number} × {wrong}" for wrong, number in told.wrong.items()),
            *found.faults,
            *self._missed(toll),
        )
        return Result(
            kills=sum(toll.kills.values()),
            acknowledged=told.acknowledged + len(keys),
            lost=len(found.lost),
            duplicated=len(found.duplicated),
            digest_equal=not different,
            toll=toll,
            faults=faults,
        )

    async def _make_databases(self) -> None:
        await create_migrated(self._postgres, _TEMPLATE)
        for name in (_DISTURBED, _UNDISTURBED):
            await create_database(self._postgres, name, _TEMPLATE)
            place = Place.open(self._postgres.dsn(name), 1)
            await place.enable(PACK)
            await place.close()

    def _killing(self, system: System, toll: Toll) -> Killing:
        services = {
            "writer": self._plan("writer", WRITER),
            "reader": self._plan("reader", READING),
            "embedder": self._plan("embedder", EMBEDDER),
        }
        client = self._plan("client", (), lasts_s=6 * _LONGEST_S)
        killed = dict.fromkeys(("recorder-1", "recorder-2", "recorder-3", "operator"), client)
        tasks = {name: (work, self._task(name, system)) for name, work in {**_SAYERS, **_OTHERS}.items()}
        return Killing(system, tasks, services, killed | {"ingester": self._plan("ingester", INGEST)}, toll)

    def _plan(self, kind: str, points: tuple[Point, ...], lasts_s: float = _LONGEST_S) -> Plan:
        return Plan(points, self._shares[kind], self._chosen, patience_s=_PATIENCE_S, lasts_s=lasts_s)

    def _task(self, name: str, system: System) -> Task:
        return Task(
            name,
            self._seed,
            system.folder,
            system.target("writer"),
            system.target("reader"),
            pace_s=_PACES_S.get(name, _PACE_S),
            pages=self._folder / "pages",
        )

    def _journal(self, system: System, name: str) -> Journal:
        return self._task(name, system).journal

    def _settle(self, dsn: str) -> None:
        """Waits until every passage has its vector."""
        give_up = time.monotonic() + _SETTLE_TIMEOUT_S
        while (left := asyncio.run(waiting(dsn))) and time.monotonic() < give_up:
            time.sleep(0.5)
        self._tell(f"passages that wait for a vector: {left}")

    def _curate(self, client: Client) -> None:
        # The first pass may have begun long ago.
        for namespace in (*NAMESPACES, *NAMESPACES):
            clients.curate(client, Journal(self._folder / "curation.jsonl"), namespace)

    def _undisturbed(self, disturbed: System) -> Mapping[str, Mapping[str, str]]:
        """The digests after one client after the other has said the same to services that nobody kills."""
        system = System(
            self._postgres.dsn(_UNDISTURBED),
            self._folder / "undisturbed",
            names=("writer-1", "reader-1"),
            settings={"PALIMPSEST_EMBEDDING_ENABLED": "false", "PALIMPSEST_CURATION_ENABLED": "false"},
        )
        shutil.rmtree(self._folder / "pages", ignore_errors=True)
        steady = {name: system.life(name) for name in system.names}
        for name, work in _SAYERS.items():
            until = self._journal(disturbed, name).done()
            task = replace(self._task(name, system), until=until, pace_s=0.0)
            Life(work, task, log=system.folder / f"{name}.log").wait()
            if task.journal.done() != until:
                raise RuntimeError(f"{name} could not say again what it had said: see {system.folder}")
        with _reached(system) as client:
            self._curate(client)
            found = digests(client)
        _stop(steady)
        return found

    def _missed(self, toll: Toll) -> list[str]:
        """Points at which nobody died, though there were kills enough for all."""
        if self._kills < _KILLS_FOR_ALL_POINTS:
            return []
        points = (*WRITER, *READING, *EMBEDDER, *INGEST, *MIGRATION)
        return [f"nobody died at: {point.name}" for point in points if not toll.kills[point.name]]


@contextmanager
def _reached(system: System) -> Iterator[Client]:
    with Client(writer=system.target("writer"), reader=system.target("reader"), deadline_s=120.0) as client:
        yield client


def _stop(lives: Mapping[str, Life]) -> None:
    for life in lives.values():
        life.stop()


def tell_of_kills(toll: Toll) -> None:
    """Prints how many died where."""
    for name, number in sorted(toll.kills.items(), key=lambda each: (each[0] == AT_RANDOM, each[0])):
        print(f"{number:5}  {name}", file=sys.stderr)
