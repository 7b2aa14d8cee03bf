"""What the embedded system holds while it runs: memory of its processes, connections, and the age of its queue."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from load import counters
from load.deployment import Deployment

_PROC = Path("/proc")
_KIB = 1024
_CLIENT = "postgres: palimpsest"
"""How the title of a process of Postgres begins that serves one of our connections."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is held at a moment."""

    services_bytes: float
    """Anonymous resident memory of the process that runs the services."""
    postgres_bytes: float
    """The same of all processes of Postgres together."""
    connections: float
    """That Postgres serves."""
    queue_age_s: float
    """Since when the oldest piece of text waits for its vector."""
    waiting: float
    """Pieces of text that wait."""


def held(deployment: Deployment) -> Held:
    """Measures it. Of a system elsewhere only what its metrics tell: memory is what `process_resident_memory_bytes`
    says, and Postgres is not seen."""
    addresses = deployment.metrics
    age = counters.gauge(addresses, "palimpsest_embedding_oldest_age_seconds")
    waiting = counters.total(addresses, "palimpsest_embedding_waiting")
    if deployment.pid is None:
        memory = counters.total(addresses, "process_resident_memory_bytes")
        pool = counters.total(addresses, "palimpsest_database_connections")
        return Held(memory, 0.0, pool, age, waiting)
    postgres = list(_postgres_of(deployment.pid))
    clients = [pid for pid in postgres if _title(pid).startswith(_CLIENT)]
    return Held(_memory(deployment.pid), sum(map(_memory, postgres)), len(clients), age, waiting)


def _postgres_of(pid: int) -> Iterator[int]:
    """Postgres in the data folder of the process: the postmaster is nobody's child, but its pid file is there."""
    arguments = (_PROC / str(pid) / "cmdline").read_bytes().decode().split("\0")
    data = Path(arguments[arguments.index("--data") + 1]) / "postgres" / "data"
    postmaster = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    yield postmaster
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == postmaster:
            yield int(entry.name)


def _parent(pid: int) -> int:
    return int(_status(pid).get("PPid", "0"))


def _title(pid: int) -> str:
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _memory(pid: int) -> float:
    """Its own memory in bytes, 0 of a process that has ended. Neither mapped files nor Postgres's shared buffers count,
    which fill up to their size and stay."""
    return float(_status(pid).get("RssAnon", "0 kB").split()[0]) * _KIB


def _status(pid: int) -> dict[str, str]:
    with contextlib.suppress(OSError):
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}
