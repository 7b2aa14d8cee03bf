"""A PgBouncer in transaction mode, in front of the test's server."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from tests.ports import free_port

PROGRAM = os.environ.get("PGBOUNCER", "pgbouncer")
FIRST_WITH_PREPARED_STATEMENTS = (1, 21)
SERVER_CONNECTIONS = 3
"""Fewer than the clients have, so that transactions of one client come to different connections."""


def version() -> tuple[int, ...]:
    """Of the program that is tested."""
    said = subprocess.check_output([PROGRAM, "--version"], text=True)
    return tuple(map(int, re.findall(r"\d+", said.splitlines()[0])[:3]))


def keeps_prepared_statements() -> bool:
    """Whether prepared statements may be used through it."""
    return version() >= FIRST_WITH_PREPARED_STATEMENTS


def statement_cache_size() -> int:
    """What PALIMPSEST_STATEMENT_CACHE_SIZE has to be."""
    return 1024 if keeps_prepared_statements() else 0


@dataclass(frozen=True)
class Pooler:
    """A running PgBouncer."""

    dsn: str
    """Leads to the test's database through it."""


@asynccontextmanager
async def pooled(dsn: str) -> AsyncIterator[Pooler]:
    """Runs it for as long as the block runs."""
    folder, port = Path(tempfile.mkdtemp(prefix="palimpsest-")), free_port()
    command = _configured(folder, port, dsn)
    running = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    server = urlsplit(dsn)
    through = server._replace(netloc=f"{server.username}:{server.password}@127.0.0.1:{port}").geturl()
    try:
        await _until_it_answers(through, running)
        yield Pooler(through)
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _configured(folder: Path, port: int, dsn: str) -> list[str]:
    """Writes its configuration; what starts it. It says nothing but errors, since its log would tell the password."""
    server = urlsplit(dsn)
    database = server.path.removeprefix("/")
    prepared = "max_prepared_statements = 500\n" if keeps_prepared_statements() else ""
    users, configuration = folder / "users", folder / "pgbouncer.ini"
    users.write_text(f'"{server.username}" "{server.password}"\n')
    configuration.write_text(
        f"[databases]\n{database} = host=127.0.0.1 port={server.port} dbname={database}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = plain\nauth_file = {users}\n"
        f"pool_mode = transaction\ndefault_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\n{prepared}"
    )
    if os.geteuid() != 0:
        return [PROGRAM, "-q", str(configuration)]
    # It does not run as root.
    nobody = pwd.getpwnam("nobody")
    for path in (folder, users, configuration):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return [PROGRAM, "-q", "-u", "nobody", str(configuration)]


async def _until_it_answers(dsn: str, running: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(60):
        while running.returncode is None:
            try:
                connection = await asyncpg.connect(dsn, statement_cache_size=0)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.05)
                continue
            await connection.close()
            return
    raise AssertionError("PgBouncer ended")
