"""A private Postgres in a folder, with nothing to install or configure (SH-4).

The folder holds `data` (the cluster), `postgres.log`, `password` (random, for loopback), `lock` (held by the process
that started the server) and, where the programs had to be copied, `programs-…`.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from shared.postgres_programs import EmbeddedPostgresError, Programs

USER = "palimpsest"
OWN_FILES = ("data", "lock", "password", "postgres.log", "programs-")
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
LAUNCH_ATTEMPTS = 4
LAUNCH_PAUSE_S = 0.5


def shared_buffers(memory_bytes: int) -> str:
    """Postgres's memory for pages on a machine: a quarter of it, from 256 MB to 1 GB.

    Taking in 1,600 passages changes 36,000 pages of the word index of 1,000,000. With 256 MB 30,000 of them are read
    from the system's cache and 20,000 written to it, each time; with 1 GB they stay, for a tenth to a third less of the
    processor. What no data fills is never taken from the system.
    """
    return f"{min(max(memory_bytes // 2**22, 256), 1024)}MB"


SETTINGS: Mapping[str, str] = {
    "shared_buffers": shared_buffers(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    # HNSW graphs that don't fit are built several times slower.
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    # The first change of a page after a checkpoint logs it whole. Most are pages of the word index: pglz, the one
    # method of this build, makes them no smaller, and trying takes two thirds of what taking in new words costs.
    "wal_compression": "off",
    "random_page_cost": "1.1",
    # Compiling costs more than these short statements run.
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Content never reaches the log: neither the statement of an error, nor its parameters, nor the DETAIL line.
    "log_min_error_statement": "panic",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
}


class AlreadyRunning(EmbeddedPostgresError):
    """A Postgres already runs in the folder, started by a process that is still alive."""


class EmbeddedPostgres:
    """A running server; made by `start`. Stops when left as a context manager."""

    def __init__(
        self, folder: Path, port: int | None, settings: Mapping[str, str], primary: EmbeddedPostgres | None = None
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "postgres.log"
        self._wanted_port = port
        self._settings = settings
        self._primary = primary
        self._lock: IO[str] | None = None
        self._programs = Programs()
        self.port = 0

    def dsn(self, database: str = "postgres") -> str:
        """The connection string of a database of this server."""
        password = (self.folder / "password").read_text()
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def program(self, name: str) -> Path:
        """The path of one of the package's programs, such as `pg_dump`."""
        return self._programs.path(name)

    def run(self, name: str, *arguments: str) -> None:
        """Run one of them to its end, as the account that the server runs as. Raises EmbeddedPostgresError."""
        self._programs.run(self.folder, name, *arguments)

    def hand_over(self, path: Path) -> None:
        """Make that account the owner of a path, so that the server and its programs can use it."""
        self._programs.hand_over(path)

    def stop(self, *, mode: str = "fast") -> None:
        """Shut down; `immediate` skips the checkpoint, as a crash would. Does nothing when it is down already."""
        self._shut_down(mode)
        self._unlock()

    def restart(self, *, mode: str = "fast") -> None:
        """Stop and start again on the same port."""
        self.stop(mode=mode)
        self._wanted_port = self.port
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        self._prepare_folder()
        self._take_lock()
        try:
            self._stop_orphan()
            self._programs.make_reachable(self.folder)
            self._initialise()
            self._launch()
        except BaseException:
            self._unlock()
            raise

    def _prepare_folder(self) -> None:
        """Create the folder, or refuse one that holds something else: it is about to be given away by root."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        foreign = sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith(OWN_FILES))
        if foreign:
            raise EmbeddedPostgresError(
                f"{self.folder} holds other files ({foreign[0]}, …): give Postgres a folder of its own"
            )
        self._programs.hand_over(self.folder)
        self._programs.require_access(self.folder)

    def _take_lock(self) -> None:
        self._lock = (self.folder / "lock").open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            starter = self._lock.read().strip()
            self._unlock()
            raise AlreadyRunning(
                f"Postgres already runs in {self.folder}, started by process {starter}: "
                "stop that, or choose another folder"
            ) from None
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _stop_orphan(self) -> None:
        """Clear what a killed starter left: its server, or only a pid file, whose number may be another process now."""
        self._shut_down("fast")
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _shut_down(self, mode: str) -> None:
        if _postmaster(self.data) is None:
            return
        try:
            self._pg_ctl("stop", "-m", mode, "-t", str(STOP_TIMEOUT_S))
        except EmbeddedPostgresError:
            # It may have been dying already.
            if _postmaster(self.data) is not None:
                raise

    def _initialise(self) -> None:
        """Make the cluster beside its final place, so that a crash leaves either none or a whole one."""
        if self.data.exists():
            return
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        if self._primary is None:
            self._create_cluster(fresh)
        else:
            self._copy_cluster(fresh, self._primary)
        fresh.rename(self.data)

    def _create_cluster(self, fresh: Path) -> None:
        password = self.folder / "password"
        self._write(password, secrets.token_hex(32))
        locale = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
        self._programs.run(
            self.folder, "initdb", "-D", str(fresh), "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--locale={locale}",
            # The password is 256 random bits: nothing is gained by making each connection stretch it.
            "--set", "scram_iterations=64", "--no-instructions",
        )  # fmt: skip
        with (fresh / "postgresql.conf").open("a") as configuration:
            configuration.write("include 'palimpsest.conf'\n")

    def _copy_cluster(self, fresh: Path, primary: EmbeddedPostgres) -> None:
        self._write(self.folder / "password", (primary.folder / "password").read_text())
        source = primary.dsn("replication")
        self._programs.run(
            self.folder, "pg_basebackup", "-D", str(fresh), "-d", source, "--write-recovery-conf", "--checkpoint=fast"
        )

    def _launch(self) -> None:
        """Start, more than once: the free port may be taken in between, and after a crash the dead server's children
        hold its shared memory for a moment."""
        for _ in range(LAUNCH_ATTEMPTS):
            self.port = self._wanted_port or _free_port()
            self._configure()
            try:
                return self._pg_ctl("start", "-l", str(self.log), "-t", str(START_TIMEOUT_S))
            except EmbeddedPostgresError:
                time.sleep(LAUNCH_PAUSE_S)
        raise EmbeddedPostgresError(f"Postgres did not start on port {self.port}: {_tail(self.log)}")

    def _configure(self) -> None:
        settings = {**SETTINGS, **self._settings}
        settings |= {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'\n" for name, value in settings.items()]
        self._write(self.data / "palimpsest.conf", "".join(lines))

    def _write(self, path: Path, text: str) -> None:
        path.touch(mode=0o600)
        path.write_text(text)
        self._programs.hand_over(path)

    def _pg_ctl(self, action: str, *arguments: str) -> None:
        self._programs.run(self.folder, "pg_ctl", action, "-D", str(self.data), "-w", "-s", *arguments)


def start(folder: Path, port: int | None = None, *, settings: Mapping[str, str] | None = None) -> EmbeddedPostgres:
    """Start the server of `folder`, creating the folder and the cluster at the first time.

    It listens on 127.0.0.1 only, on `port` or a free one. `settings` override `SETTINGS`. Started by root it runs as
    the first of `ACCOUNTS_FOR_ROOT` that exists. Blocks for about a second (two at the first time). Raises
    `AlreadyRunning` and `EmbeddedPostgresError`.
    """
    server = EmbeddedPostgres(folder.absolute(), port, settings or {})
    server._start()
    return server


def start_replica(
    primary: EmbeddedPostgres, folder: Path, *, settings: Mapping[str, str] | None = None
) -> EmbeddedPostgres:
    """Start a streaming read replica of `primary` in `folder`, copying the cluster at the first time."""
    server = EmbeddedPostgres(folder.absolute(), None, settings or {}, primary)
    server._start()
    return server


def _postmaster(data: Path) -> int | None:
    """The process that serves `data`, or None: a pid file alone proves nothing, its number may have been reused."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        if Path("/proc/self/cwd").exists():
            return pid if Path(f"/proc/{pid}/cwd").readlink() == data.resolve() else None
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " / ".join(lines[-3:]) or "no log was written"
