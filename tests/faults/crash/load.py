"""Services under a load of clients while something that they rest on fails: what they answered, and what is lost."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.crash.clients import Task, record_each
from tests.faults.crash.lives import Life
from tests.faults.crash.system import System
from tests.faults.crash.verdict import Told
from tests.integration.writing import NAMESPACE, query

DATABASE = "weathered"
SERVICES = ("writer-1", "reader-1", "embedder-a")
"""As few as can be: what one does not outlive, no other makes up for."""
CLIENTS = 3
DEADLINE_S = 5.0
# By so much a loaded machine may be late with what is due.
SLACK_S = 5.0
_POLL_S = 0.05
_FINISH_TIMEOUT_S = 60.0
_RECOVERY_TIMEOUT_S = 90.0


class NotRecovered(Exception):
    """Clients are not told of anything new any more."""


@dataclass(frozen=True)
class Weathered:
    """What a fault came to."""

    fault: str
    times: int
    acknowledged: int
    lost: int
    duplicated: int
    late: int
    """Calls that a service answered after their deadline."""
    ended: int
    """Services that did not outlive it."""
    recovered_s: float
    """From the end of the last fault until every client was told of something new."""
    retried: Mapping[str, int]
    """Errors that clients met, by code; all of them pass."""
    wrong: Mapping[str, int]
    """Errors that do not."""
    seen: int
    """How often it was seen to act."""

    @property
    def is_good(self) -> bool:
        """Whether it was weathered, and was a fault at all."""
        bad = self.lost or self.duplicated or self.late or self.ended or self.wrong
        return not bad and self.seen >= self.times and self.acknowledged > 0


class Load:
    """Services that run, and clients that record and read through them."""

    def __init__(self, system: System, lives: Mapping[str, Life], tasks: list[Task]) -> None:
        self._system, self._lives, self._tasks = system, lives, tasks
        network = system.networks.get("client")
        self._clients = [
            Life(record_each, task, log=system.folder / f"{task.name}.log", network=network) for task in tasks
        ]

    def until_told(self, timeout_s: float = _RECOVERY_TIMEOUT_S) -> float:
        """Waits until each client is told of something new; answers the seconds. Raises NotRecovered."""
        before, began = self._told(), time.monotonic()
        while not all(now > then for now, then in zip(self._told(), before, strict=True)):
            if time.monotonic() - began > timeout_s:
                raise NotRecovered(f"nothing new in {timeout_s:.0f} s: see {self._system.folder}")
            time.sleep(_POLL_S)
        return time.monotonic() - began

    def weathered(self, fault: str, times: int, recovered_s: float, dsn: str, *, seen: int) -> Weathered:
        """Ends the clients, and compares what they were told with what is stored."""
        self._tasks[0].stop_file.touch()
        unfinished = sum(not life.wait(_FINISH_TIMEOUT_S) or life.exit_status != 0 for life in self._clients)
        told = Told.of(task.journal for task in self._tasks)
        stored = asyncio.run(_stored(dsn))
        duplicated = [each for each, times in told.observations.items() if times > 1]
        wrong = told.wrong | ({"clients that did not finish": unfinished} if unfinished else {})
        return Weathered(
            fault=fault,
            times=times,
            acknowledged=told.acknowledged,
            lost=len(set(told.observations) - stored) + len(told.missing),
            duplicated=len(duplicated),
            late=sum(_late_calls(log) for log in self._system.folder.glob("*-*.log")),
            ended=sum(life.wait(0) for life in self._lives.values()),
            recovered_s=round(recovered_s, 2),
            retried=told.retried,
            wrong=wrong,
            seen=seen,
        )

    def stop(self) -> None:
        """Ends clients and services."""
        self._tasks[0].stop_file.touch()
        for life in (*self._clients, *self._lives.values()):
            life.stop()

    def _told(self) -> list[int]:
        return [task.journal.done() for task in self._tasks]


@contextmanager
def loaded(system: System, *, seed: int, **options: Any) -> Iterator[Load]:
    """Services and clients at work, all stopped afterwards. Other options are of the clients' tasks."""
    lives = {name: system.life(name) for name in system.names}
    tasks = [
        Task(f"client-{number}", seed, system.folder, **_given(system, options), pace_s=0.02)
        for number in range(CLIENTS)
    ]
    load = Load(system, lives, tasks)
    try:
        load.until_told()
        yield load
    finally:
        load.stop()


def repeated(times: int, load: Load, fault: Callable[[], None]) -> float:
    """Brings a fault about again and again, each time after the last is overcome; answers the longest recovery."""
    longest_s = 0.0
    for _ in range(times):
        fault()
        longest_s = max(longest_s, load.until_told())
    return longest_s


def _given(system: System, options: Mapping[str, Any]) -> dict[str, Any]:
    own = {"writers": system.target("writer"), "readers": system.target("reader"), "deadline_s": DEADLINE_S}
    # Each error is to be seen.
    own["max_attempts"] = 1
    return own | dict(options)


def _late_calls(log: Path) -> int:
    """Calls of clients that took a service longer than they had; health is watched for as long as it pleases."""
    late = 0
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        entry = _entry(line)
        is_call = entry.get("message") == "call" and "/palimpsest.v1." in entry.get("method", "")
        late += is_call and entry["duration_ms"] > 1000 * (DEADLINE_S + SLACK_S)
    return late


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


async def _stored(dsn: str) -> set[str]:
    rows = await query(dsn, "SELECT observation_id FROM observations WHERE namespace = $1", NAMESPACE)
    return {row["observation_id"] for row in rows}
