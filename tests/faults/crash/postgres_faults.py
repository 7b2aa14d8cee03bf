"""Postgres fails under load: killed backends, a killed postmaster, connections that are cut, a disk that is full."""

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shared.embedded_postgres import EmbeddedPostgres, start
from shared.postgres_programs import EmbeddedPostgresError
from tests.conftest import execute
from tests.faults.crash.ground import create_migrated, folder_of
from tests.faults.crash.load import DATABASE, SERVICES, Weathered, loaded, repeated
from tests.faults.crash.system import System
from tests.integration.writing import query

_OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'palimpsest'"
_CUT_FOR_S, _CUT_EVERY_S = 2.0, 0.1
_FULL_FOR_S = 4.0
_DISK_MIB = 320
# Little of the log is kept, so that the disk holds the tables and it.
_SMALL = {"max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "32MB"}


@dataclass(frozen=True)
class Fault:
    """Something that happens to a server."""

    act: Callable[[EmbeddedPostgres], None]
    logged: str
    """What the server's log then says."""
    needs_disk: bool = False
    """Whether the server has to lie on a small file system of its own, in the folder beside it."""


def kill_backend(postgres: EmbeddedPostgres) -> None:
    """A backend dies by SIGKILL, so that the server ends all others and recovers from the log."""
    for pid in asyncio.run(_backends(postgres))[:1]:
        os.kill(pid, signal.SIGKILL)


def kill_postmaster(postgres: EmbeddedPostgres) -> None:
    """The postmaster dies by SIGKILL, and the server is started again."""
    os.kill(int((postgres.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    postgres.restart()


def cut_connections(postgres: EmbeddedPostgres) -> None:
    """All connections of the services are ended, again and again, for a while."""
    asyncio.run(_cut(postgres))


def fill_disk(postgres: EmbeddedPostgres) -> None:
    """The file system that holds tables and log has no room for a while."""
    ballast = postgres.folder.parent / "ballast"
    _fill(ballast)
    time.sleep(_FULL_FOR_S)
    ballast.unlink()
    _start_where_down(postgres)


FAULTS: Mapping[str, Fault] = {
    "backend": Fault(kill_backend, "was terminated by signal 9"),
    "postmaster": Fault(kill_postmaster, "database system was not properly shut down"),
    "connections": Fault(cut_connections, "due to administrator command"),
    "disk": Fault(fill_disk, "No space left on device", needs_disk=True),
}


def weather(names: Sequence[str], times: int, seed: int) -> Weathered:
    """What becomes of services and clients to whose Postgres these faults happen in turn, so many times each. Raises
    CalledProcessError where one needs a disk and none may be mounted."""
    faults = [FAULTS[name] for name in names]
    with ExitStack() as stack:
        disk = stack.enter_context(mounted(_DISK_MIB)) if any(fault.needs_disk for fault in faults) else None
        postgres, system = stack.enter_context(_served(disk))
        load = stack.enter_context(loaded(system, seed=seed))
        recovered_s = max(repeated(times, load, partial(fault.act, postgres)) for fault in faults)
        log = postgres.log.read_text(errors="replace")
        seen = min(log.count(fault.logged) for fault in faults)
        return load.weathered(", ".join(names), times, recovered_s, postgres.dsn(DATABASE), seen=seen)


def why_no_disk() -> str:
    """Why no small file system can be mounted here; empty: it can."""
    if os.geteuid() != 0:
        return "needs root"
    try:
        with mounted(1):
            return ""
    except subprocess.CalledProcessError as error:
        return f"nothing can be mounted: {error.stderr.decode(errors='replace').strip()}"


@contextmanager
def mounted(mebibytes: int) -> Iterator[Path]:
    """A small file system of its own. Raises CalledProcessError without the right to mount."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-disk-"))
    size = f"size={mebibytes}m,mode=0755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "palimpsest", folder], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


@contextmanager
def _served(disk: Path | None) -> Iterator[tuple[EmbeddedPostgres, System]]:
    """A server with durable commits, on a disk if one is given, and what is to run over it."""
    with (
        folder_of("weather") as folder,
        start((disk or folder) / "postgres", settings=_SMALL if disk else None) as postgres,
    ):
        asyncio.run(create_migrated(postgres, DATABASE))
        yield postgres, System(postgres.dsn(DATABASE), folder / "system", names=SERVICES)


async def _backends(postgres: EmbeddedPostgres) -> list[int]:
    return [row["pid"] for row in await query(postgres.dsn(), _OURS)]


async def _cut(postgres: EmbeddedPostgres) -> None:
    until = time.monotonic() + _CUT_FOR_S
    while time.monotonic() < until:
        await execute(postgres.dsn(), f"SELECT pg_terminate_backend(pid) FROM ({_OURS}) AS ours")
        await asyncio.sleep(_CUT_EVERY_S)


def _fill(ballast: Path) -> None:
    """Takes all the room that is left, down to the last byte."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 20))
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))


def _start_where_down(postgres: EmbeddedPostgres) -> None:
    """A server that could not write its log has crashed, and one that could not recover has ended."""
    with suppress(EmbeddedPostgresError, OSError):
        asyncio.run(_backends(postgres))
        return
    postgres.restart()
