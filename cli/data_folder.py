"""The folder in which `palimpsest up` keeps everything: claimed by one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.endpoints import read_endpoints
from cli.failure import Failure

LOG_FILE = "palimpsest.log"
POSTGRES_FOLDER = "postgres"
_LOCK_FILE = "lock"
# Whoever runs Postgres for root must be able to pass through; what is in it has modes of its own.
_ROOTS_MODE, _USERS_MODE = 0o711, 0o700


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Creates the folder and keeps others from running a system in it. Raises Failure where one runs already."""
    _create(folder)
    with (folder / _LOCK_FILE).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Failure(_already_running(folder, lock.read().strip())) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def can_be_reached(folder: Path) -> bool:
    """Whether the account that runs Postgres for root can come to a folder, which need not be there yet."""
    if os.geteuid() != 0:
        return True
    return all(place.stat().st_mode & 0o001 for place in folder.absolute().parents if place.is_dir())


def _create(folder: Path) -> None:
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            folder.chmod(_ROOTS_MODE if os.geteuid() == 0 else _USERS_MODE)
    except OSError as error:
        raise Failure(f"{folder}: the data folder cannot be made: {error.strerror}") from None


def _already_running(folder: Path, pid: str) -> str:
    endpoints = read_endpoints(folder)
    where = f", at {endpoints}" if endpoints else " and is starting"
    return f"a system already runs in {folder} (process {pid}){where}: use it, stop it, or choose another --data"
