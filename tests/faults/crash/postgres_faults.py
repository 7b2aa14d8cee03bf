"""Postgres fails under load: killed backends, a killed postmaster, connections that are cut, a disk that is full."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg

from shared.embedded_postgres import EmbeddedPostgres, start
from shared.postgres_programs import EmbeddedPostgresError
from shared.schema.migrate import migrate
from tests.faults.crash.load import Load, Weathered, loaded, repeated
from tests.faults.crash.migrating import create_database
from tests.faults.crash.system import System

_DATABASE = "weathered"
_OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'palimpsest'"
_CUT_FOR_S, _CUT_EVERY_S = 2.0, 0.1
_FULL_FOR_S = 4.0
_DISK_MIB = 320
# Little of the log is kept, so that the disk holds the tables and it.
_SMALL = {"max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "32MB"}
_NAMES = ("writer-1", "reader-1", "embedder-a")


def backend_killed(times: int, seed: int) -> Weathered:
    """A backend dies by SIGKILL, so that the server ends all others and recovers from the log."""
    with _served() as (postgres, system), loaded(system, seed=seed) as load:

        def fault() -> None:
            for pid in asyncio.run(_backends(postgres))[:1]:
                os.kill(pid, signal.SIGKILL)

        return _weathered("backend killed", times, load, fault, postgres, "was terminated by signal 9")


def postmaster_killed(times: int, seed: int) -> Weathered:
    """The postmaster dies by SIGKILL, and the server is started again."""
    with _served() as (postgres, system), loaded(system, seed=seed) as load:

        def fault() -> None:
            os.kill(int((postgres.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            postgres.restart()

        return _weathered(
            "postmaster killed", times, load, fault, postgres, "database system was not properly shut down"
        )


def connections_cut(times: int, seed: int) -> Weathered:
    """All connections of the services are ended, again and again, for a while."""
    with _served() as (postgres, system), loaded(system, seed=seed) as load:

        def fault() -> None:
            asyncio.run(_cut(postgres))

        return _weathered("connections cut", times, load, fault, postgres, "due to administrator command")


def disk_full(times: int, seed: int) -> Weathered:
    """The file system that holds tables and log has no room for a while. Needs root, for it is mounted here."""
    with mounted(_DISK_MIB) as disk, _served(disk, _SMALL) as (postgres, system), loaded(system, seed=seed) as load:

        def fault() -> None:
            ballast = disk / "ballast"
            _fill(ballast)
            time.sleep(_FULL_FOR_S)
            ballast.unlink()
            _start_where_down(postgres)

        return _weathered("disk full", times, load, fault, postgres, "No space left on device")


FAULTS: Mapping[str, Callable[[int, int], Weathered]] = {
    "backend": backend_killed,
    "postmaster": postmaster_killed,
    "connections": connections_cut,
    "disk": disk_full,
}


def _weathered(
    name: str, times: int, load: Load, fault: Callable[[], None], postgres: EmbeddedPostgres, logged: str
) -> Weathered:
    recovered_s = repeated(times, load, fault)
    seen = postgres.log.read_text(errors="replace").count(logged)
    return load.weathered(name, times, recovered_s, postgres.dsn(_DATABASE), seen=seen)


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
def _served(
    disk: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[EmbeddedPostgres, System]]:
    """A server with durable commits, and what is to run over it."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-weather-"))
    folder.chmod(0o755)
    try:
        with start(disk / "postgres" if disk else folder / "postgres", settings=settings) as postgres:
            asyncio.run(_make(postgres))
            yield postgres, System(postgres.dsn(_DATABASE), folder / "system", names=_NAMES)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _make(postgres: EmbeddedPostgres) -> None:
    await create_database(postgres, _DATABASE)
    await migrate(postgres.dsn(_DATABASE), timeout_s=60)


async def _backends(postgres: EmbeddedPostgres) -> list[int]:
    connection = await asyncpg.connect(postgres.dsn())
    try:
        return [row["pid"] for row in await connection.fetch(_OURS)]
    finally:
        await connection.close()


async def _cut(postgres: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(postgres.dsn())
    try:
        until = time.monotonic() + _CUT_FOR_S
        while time.monotonic() < until:
            await connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({_OURS}) AS ours")
            await asyncio.sleep(_CUT_EVERY_S)
    finally:
        await connection.close()


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
