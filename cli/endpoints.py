"""Where the services are: named by the user, or told by the file that `palimpsest up` leaves in its data folder."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cli.failure import ExitCode, Failure

TARGET_VARIABLE = "PALIMPSEST_TARGET"
ENDPOINTS_FILE = "endpoints.json"
ROOTS_FOLDER = Path("/var/lib/palimpsest")


@dataclass(frozen=True)
class Endpoints:
    """Addresses of the three services, as gRPC writes them; an empty one is not known."""

    writer: str
    reader: str
    embedder: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `host:port` for all three, or `writer=host:port,reader=host:port,embedder=host:port`."""
        if "=" not in text:
            return cls(text, text, text)
        named = dict(part.strip().split("=", 1) for part in text.split(",") if "=" in part)
        if unknown := set(named) - {"writer", "reader", "embedder"}:
            raise Failure(f"--target: there is no service {sorted(unknown)[0]!r}", ExitCode.USAGE)
        return cls(named.get("writer", ""), named.get("reader", ""), named.get("embedder", ""))

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(address for address in asdict(self).values() if address))


def default_data_folder() -> Path:
    """`palimpsest` in the user's data folder; for root one that the account which runs Postgres can reach."""
    if os.geteuid() == 0:
        return ROOTS_FOLDER
    root = os.environ.get("XDG_DATA_HOME", "")
    return (Path(root) if os.path.isabs(root) else Path.home() / ".local" / "share") / "palimpsest"


def write_endpoints(folder: Path, endpoints: Endpoints) -> None:
    """Leaves the addresses for other commands; the file appears whole."""
    unfinished = folder / f"{ENDPOINTS_FILE}.new"
    unfinished.write_text(json.dumps(asdict(endpoints) | {"pid": os.getpid()}) + "\n")
    unfinished.rename(folder / ENDPOINTS_FILE)


def remove_endpoints(folder: Path) -> None:
    """Takes the addresses away when nothing answers there any more."""
    (folder / ENDPOINTS_FILE).unlink(missing_ok=True)


def read_endpoints(folder: Path) -> Endpoints | None:
    """The addresses that `palimpsest up` left in a data folder; None where there are none."""
    try:
        written = json.loads((folder / ENDPOINTS_FILE).read_text())
        return Endpoints(str(written["writer"]), str(written["reader"]), str(written["embedder"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def endpoints_pid(folder: Path) -> int | None:
    """The process that left the addresses in a data folder; None where there are none."""
    try:
        return int(json.loads((folder / ENDPOINTS_FILE).read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_endpoints(target: str | None, data: Path) -> Endpoints:
    """The services to talk to: `target`, else PALIMPSEST_TARGET, else what runs in the data folder. Raises Failure."""
    named = target or os.environ.get(TARGET_VARIABLE, "")
    endpoints = Endpoints.parse(named) if named else read_endpoints(data)
    if endpoints is None:
        message = f"no system is running in {data}: start one with 'palimpsest up', or name one with --target"
        raise Failure(message, ExitCode.UNAVAILABLE)
    return endpoints
