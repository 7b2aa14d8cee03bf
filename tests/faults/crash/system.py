"""Where the services of a run are: each at a port of its own, through all its lives, over one database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.crash.dying import Shot
from tests.faults.crash.lives import Life, serve_embedder, serve_reader, serve_writer
from tests.ports import free_ports

WRITERS, READERS, EMBEDDERS = ("writer-1", "writer-2"), ("reader-1",), ("embedder-a", "embedder-z")

# Leases and pauses are short, so that a run sees many of them end.
_SETTINGS = {
    "PALIMPSEST_HOST": "127.0.0.1",
    "PALIMPSEST_HEALTH_POLL_S": "0.2",
    "PALIMPSEST_POOL_MAX": "6",
    "PALIMPSEST_GRACE_S": "5",
    "PALIMPSEST_EMBEDDING_LEASE_S": "3",
    "PALIMPSEST_EMBEDDING_CALL_TIMEOUT_S": "2",
    "PALIMPSEST_EMBEDDING_POLL_S": "0.2",
    "PALIMPSEST_EMBEDDING_FIRST_BACKOFF_S": "0.1",
    "PALIMPSEST_EMBEDDING_LONGEST_BACKOFF_S": "1",
    "PALIMPSEST_CURATION_INTERVAL_S": "2",
    "PALIMPSEST_CURATION_LEASE_S": "3",
    # Few observations a transaction, so that there are many points to die at.
    "PALIMPSEST_WRITER_GROUP_ITEMS": "8",
}


@dataclass(frozen=True)
class System:
    """The services over a database."""

    dsn: str
    folder: Path
    """Of the logs."""
    names: Sequence[str] = (*WRITERS, *READERS, *EMBEDDERS)
    settings: Mapping[str, str] = field(default_factory=dict)
    """Other settings, of all services."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Where others reach services of a kind; 127.0.0.1 where nothing is said."""
    networks: Mapping[str, str] = field(default_factory=dict)
    """The network namespace of services of a kind, by its name."""
    ports: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        object.__setattr__(self, "ports", dict(zip(self.names, free_ports(len(self.names)), strict=True)))

    def target(self, kind: str) -> str:
        """Where all services of a kind are, as gRPC names it."""
        return f"ipv4:{','.join(self._addresses(kind))}"

    def life(self, name: str, shot: Shot | None = None) -> Life:
        """Starts a service."""
        embedders = ",".join(self._addresses("embedder")) or "127.0.0.1:1"
        settings = _SETTINGS | {
            "PALIMPSEST_DSN": self.dsn,
            "PALIMPSEST_PORT": str(self.ports[name]),
            "PALIMPSEST_EMBEDDING_TARGET": embedders,
            "PALIMPSEST_READER_EMBEDDER_TARGET": embedders,
            **self.settings,
        }
        kind, _, number = name.partition("-")
        log = self.folder / f"{name}.log"
        network = self.networks.get(kind)
        if kind == "embedder":
            return Life(serve_embedder, number, log=log, shot=shot, settings=settings, network=network)
        serve = serve_writer if kind == "writer" else serve_reader
        return Life(serve, log=log, shot=shot, settings=settings, network=network)

    def _addresses(self, kind: str) -> list[str]:
        host = self.hosts.get(kind, "127.0.0.1")
        return [f"{host}:{port}" for name, port in self.ports.items() if name.startswith(kind)]
