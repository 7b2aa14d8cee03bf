"""SH-4: the private Postgres starts anywhere, keeps its data, and survives crashes of itself and of its starter."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from shared.embedded_postgres import AlreadyRunning, EmbeddedPostgres, EmbeddedPostgresError, shared_buffers, start

SETTINGS = {"fsync": "off"}
# Starts a server and is killed, as by the kernel for memory: nothing is cleaned up.
ORPHAN_MAKER = """
import os, signal, sys
from pathlib import Path
from shared.embedded_postgres import start
start(Path(sys.argv[1]), settings={"fsync": "off"})
os.kill(os.getpid(), signal.SIGKILL)
"""


async def query(server: EmbeddedPostgres, *statements: str) -> object:
    connection = await asyncpg.connect(server.dsn())
    try:
        results = [await connection.fetchval(statement) for statement in statements]
    finally:
        await connection.close()
    return results[-1]


def postmaster(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


async def test_data_outlives_stops_and_crashes(fresh_folder: Path) -> None:
    """SH-4."""
    with start(fresh_folder, settings=SETTINGS) as server:
        await query(server, "CREATE TABLE kept AS SELECT 7 AS value")
        server.restart(mode="immediate")
        assert await query(server, "SELECT value FROM kept") == 7
        os.kill(postmaster(server), signal.SIGKILL)
        server.restart()
        assert await query(server, "SELECT value FROM kept") == 7
    with start(fresh_folder, settings=SETTINGS) as server:
        assert await query(server, "SELECT value FROM kept") == 7
        server.stop()
        server.stop()


async def test_a_pid_file_that_names_another_process_is_stale(fresh_folder: Path) -> None:
    """SH-4: after a reboot the number belongs to somebody else."""
    server = start(fresh_folder, settings=SETTINGS)
    server.stop()
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n0\n5432\n\n127.0.0.1\n\nready\n")
    with start(fresh_folder, settings=SETTINGS) as server:
        assert await query(server, "SELECT 1") == 1


async def test_the_server_of_a_killed_starter_is_taken_over(fresh_folder: Path) -> None:
    """SH-4: no process has to be hunted by hand."""
    command = [sys.executable, "-c", ORPHAN_MAKER, str(fresh_folder)]
    assert await asyncio.to_thread(subprocess.call, command) == -signal.SIGKILL
    orphan = int((fresh_folder / "data/postmaster.pid").read_text().split()[0])
    with start(fresh_folder, settings=SETTINGS) as server:
        assert postmaster(server) != orphan
        assert await query(server, "SELECT 1") == 1


async def test_a_second_start_says_who_runs(fresh_folder: Path) -> None:
    """SH-4: and harms nothing."""
    with start(fresh_folder, settings=SETTINGS) as server:
        with pytest.raises(AlreadyRunning, match=f"{fresh_folder}, started by process {os.getpid()}"):
            start(fresh_folder)
        assert await query(server, "SELECT 1") == 1


async def test_it_listens_on_loopback_with_a_password(postgres: EmbeddedPostgres) -> None:
    """SH-4, AC-1: other users of the machine cannot get in."""
    assert await query(postgres, "SELECT current_setting('listen_addresses')") == "127.0.0.1"
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.dsn(), password="guess")
    password = postgres.folder / "password"
    assert stat.S_IMODE(password.stat().st_mode) == 0o600


async def test_settings_are_ours_unless_overridden(postgres: EmbeddedPostgres) -> None:
    """SH-4: durable by default; a caller may choose otherwise."""
    assert await query(postgres, "SELECT current_setting('jit')") == "off"
    assert await query(postgres, "SELECT current_setting('fsync')") == "off"
    assert await query(postgres, "SELECT boot_val FROM pg_settings WHERE name = 'fsync'") == "on"


@pytest.mark.parametrize(("gib", "buffers"), [(0.5, "256MB"), (2, "512MB"), (4, "1024MB"), (64, "1024MB")])
def test_pages_get_a_quarter_of_the_memory(gib: float, buffers: str) -> None:
    """SH-4, SH-6: a store of a million passages is written from memory, and a small machine is left its own."""
    assert shared_buffers(int(gib * 2**30)) == buffers


async def test_russian_text_is_folded_and_split(postgres: EmbeddedPostgres) -> None:
    """RE-1: the locale knows Cyrillic letters."""
    assert await query(postgres, "SELECT lower('СЕРВЕР Ё')") == "сервер ё"
    assert await query(postgres, "SELECT to_tsvector('russian', 'Серверы УПАЛИ')::text") == "'сервер':1 'упа':2"


async def test_content_stays_out_of_the_log(fresh_folder: Path) -> None:
    """OP-3: an error's statement, parameters and detail are not logged."""
    with start(fresh_folder, settings=SETTINGS) as server:
        await query(server, "CREATE TABLE notes (note text UNIQUE)")
        with pytest.raises(asyncpg.UniqueViolationError):
            await query(server, "INSERT INTO notes VALUES ('canary-7f3a'), ('canary-7f3a')")
        log = server.log.read_text()
    assert "notes_note_key" in log
    assert "canary-7f3a" not in log


def test_a_folder_of_other_things_is_left_alone(fresh_folder: Path) -> None:
    """SH-4: root would hand it to another account."""
    (fresh_folder / "letters.txt").write_text("mine")
    with pytest.raises(EmbeddedPostgresError, match=r"holds other files \(letters\.txt"):
        start(fresh_folder)
    assert fresh_folder.stat().st_uid == os.getuid()


def test_a_taken_port_is_named(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SH-4: and the folder can be started on another one."""
    monkeypatch.setattr("shared.embedded_postgres.LAUNCH_PAUSE_S", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedPostgresError, match=f"did not start on port {port}: "):
            start(fresh_folder, port, settings=SETTINGS)
    start(fresh_folder, port, settings=SETTINGS).stop()
