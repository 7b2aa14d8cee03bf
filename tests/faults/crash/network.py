"""Cuts and slows the network between clients, services, the embedder and Postgres, and says what is lost.

usage: python -m tests.faults.crash.network [--times N] [--seconds N] [--seed N]

Needs root, for each of the four gets a network namespace of its own; they are made with `ip` (iproute2) and taken away
afterwards. Prints one JSON object a fault, as `tests.faults.crash.failing` does, and to stderr by what the network was
slowed: a delay with loss, where the kernel has `netem`, else a limit to its rate. The exit status is 1 where anything
is lost, doubled, late, ended or wrong, or a fault was none.
"""

import argparse
import asyncio
import hashlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared.embedded_postgres import EmbeddedPostgres, start
from tests.conftest import execute
from tests.faults.crash.failing import tell
from tests.faults.crash.ground import create_migrated, folder_of
from tests.faults.crash.load import DATABASE, SERVICES, Load, Weathered, loaded, repeated
from tests.faults.crash.networks import Cable, cabled, inside, why_not
from tests.faults.crash.system import System

_TOKEN = "plm_network"
_SLOW_BYTES = 20_000


@dataclass(frozen=True)
class Place:
    """The networks and what runs in them."""

    cables: Mapping[str, Cable]
    postgres: EmbeddedPostgres
    system: System

    @property
    def dsn(self) -> str:
        """The database, as it is reached beside Postgres itself."""
        return self.postgres.dsn(DATABASE)

    def port(self, end: str) -> int:
        """Where somebody listens at the far end of a cable; of the clients, who listen nowhere, any."""
        return {"database": self.postgres.port, "embedder": self.system.ports["embedder-a"]}.get(end, 1)


def cut(place: Place, end: str, times: int, seconds: float, seed: int) -> Weathered:
    """The cable between the services and an end is cut for a while. Without the embedder, writes go on meanwhile."""
    cable, seen = place.cables[end], 0

    def fault(load: Load) -> None:
        nonlocal seen
        cable.cut()
        try:
            seen += not cable.is_passable(place.port(end))
            if end == "embedder":
                load.until_told()
            time.sleep(seconds)
        finally:
            cable.mend()

    with loaded(place.system, seed=seed, token=_TOKEN) as load:
        recovered_s = repeated(times, load, lambda: fault(load))
        return inside(
            place.cables["database"].far,
            lambda: load.weathered(f"network to the {end} cut", times, recovered_s, place.dsn, seen=seen),
        )


def slowed(place: Place, end: str, times: int, seconds: float, seed: int) -> Weathered:
    """The cable between the services and an end is slow for a while; calls go on, or end at their deadlines."""
    cable, seen = place.cables[end], 0

    def fault() -> None:
        nonlocal seen
        before_s = cable.passage_s(_SLOW_BYTES)
        with cable.slowed() as how:
            print(f"slowed by {how}", file=sys.stderr)
            seen += cable.passage_s(_SLOW_BYTES) > 2 * before_s
            time.sleep(seconds)

    with loaded(place.system, seed=seed, token=_TOKEN) as load:
        recovered_s = repeated(times, load, fault)
        return inside(
            place.cables["database"].far,
            lambda: load.weathered(f"network to the {end} slowed", times, recovered_s, place.dsn, seen=seen),
        )


FAULTS: tuple[tuple[Callable[[Place, str, int, float, int], Weathered], str], ...] = (
    (cut, "database"),
    (cut, "embedder"),
    (cut, "client"),
    (slowed, "database"),
    (slowed, "embedder"),
    (slowed, "client"),
)


@contextmanager
def placed() -> Iterator[Place]:
    """Four networks, of the services and of those whom they talk to; Postgres runs, and services can be started."""
    with folder_of("network") as folder, cabled("service", "database", "embedder", "client") as cables:
        database = cables["database"].far
        postgres = inside(database, lambda: start(folder / "postgres"))
        try:
            inside(database, lambda: _let_in(postgres, cables["database"]))
            yield Place(cables, postgres, _system(folder, cables, postgres))
        finally:
            inside(database, postgres.stop)


def _let_in(postgres: EmbeddedPostgres, cable: Cable) -> None:
    """Postgres listens at its end of the cable too."""

    async def make() -> None:
        await execute(postgres.dsn(), f"ALTER SYSTEM SET listen_addresses = '127.0.0.1,{cable.far_address}'")
        await create_migrated(postgres, DATABASE)

    asyncio.run(make())
    with (postgres.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {cable.near_address}/32 scram-sha-256\n")
    postgres.restart()


def _system(folder: Path, cables: Mapping[str, Cable], postgres: EmbeddedPostgres) -> System:
    """Services that let in who shows the token: they listen for others than this machine."""
    grants = {"namespaces": ["*"], "permissions": ["read", "write", "admin"]}
    caller = {"subject": "network", "tokens": [{"sha256": hashlib.sha256(_TOKEN.encode()).hexdigest()}]}
    (folder / "grants.json").write_text(json.dumps({"callers": [{**caller, "grants": [grants], "sees_all": True}]}))
    (folder / "token").write_text(_TOKEN)
    services = cables["database"].near
    return System(
        postgres.dsn(DATABASE).replace("127.0.0.1", cables["database"].far_address),
        folder / "system",
        names=SERVICES,
        settings={
            "PALIMPSEST_HOST": "0.0.0.0",
            "PALIMPSEST_AUTH_MODE": "static",
            "PALIMPSEST_AUTH_GRANTS_FILE": str(folder / "grants.json"),
            "PALIMPSEST_EMBEDDER_ACCESS_TOKEN_FILE": str(folder / "token"),
            "PALIMPSEST_EMBEDDER_ACCESS_PLAINTEXT_TOKEN": "true",
        },
        hosts={
            "writer": cables["client"].near_address,
            "reader": cables["client"].near_address,
            "embedder": cables["embedder"].far_address,
        },
        networks={
            "writer": services,
            "reader": services,
            "embedder": cables["embedder"].far,
            "client": cables["client"].far,
        },
    )


def main() -> None:
    """Runs, and ends with the status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # What is stopped takes its networks away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if reason := why_not():
        print(json.dumps({"fault": "network", "not_run": reason}), flush=True)
        sys.exit(1)
    results = []
    for fault, end in FAULTS:
        with placed() as place:
            results.append(tell(fault(place, end, arguments.times, arguments.seconds, arguments.seed)))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
