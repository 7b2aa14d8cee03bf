"""The options that many commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import grpc
import typer
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.client import Client
from palimpsest.v1.retrieval_pb2 import TimePoint

from cli.credentials import credentials
from cli.endpoints import Endpoints, default_data_folder, find_endpoints
from cli.failure import ExitCode, Failure, failure_of

DATA_VARIABLE = "PALIMPSEST_DATA"

Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="ADDRESS",
        help="host:port of all services, or writer=host:port,reader=…,embedder=…  "
        "[default: PALIMPSEST_TARGET, else what 'palimpsest up' started]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON objects, one a line, instead of text.")]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar=DATA_VARIABLE,
        help=f"Folder of the system that 'palimpsest up' runs.  [default: {default_data_folder()}]",
        show_default=False,
    ),
]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Ask what was true then (RFC 3339).")]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", metavar="TIME", help="Ask what the memory believed then (RFC 3339).")
]


@dataclass(frozen=True)
class Connection:
    """An open client and where it leads."""

    client: Client
    endpoints: Endpoints


def data_folder(data: Path | None) -> Path:
    """The data folder that was named, or the default one."""
    return (data or default_data_folder()).expanduser().absolute()


@contextmanager
def connected(target: str | None, data: Path | None) -> Iterator[Connection]:
    """A client of the running system; what its calls raise inside becomes a Failure."""
    with connected_to(find_endpoints(target, data_folder(data))) as connection:
        yield connection


@contextmanager
def connected_to(endpoints: Endpoints) -> Iterator[Connection]:
    """A client of the services at `endpoints`; what its calls raise inside becomes a Failure."""
    try:
        with _client(endpoints) as client:
            yield Connection(client, endpoints)
    except grpc.RpcError as error:
        raise failure_of(error, str(endpoints)) from error


def time_point(as_of: str | None, known_at: str | None) -> TimePoint | None:
    """The moment asked about; None for now."""
    if as_of is None and known_at is None:
        return None
    return TimePoint(as_of=moment(as_of, "--as-of"), known_at=moment(known_at, "--known-at"))


def moment(text: str | None, option: str) -> Timestamp | None:
    """The moment that an option names; None without one. Raises Failure, for a time without an offset, too."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise Failure(f"{option}: must be a time like 2026-03-01T00:30:00+03:00", ExitCode.USAGE) from None
    if parsed.tzinfo is None:
        raise Failure(f"{option}: the time has no offset: add Z for UTC, or one like +03:00", ExitCode.USAGE)
    stamp = Timestamp()
    stamp.FromDatetime(parsed)
    return stamp


def _client(endpoints: Endpoints) -> Client:
    try:
        return Client(
            writer=endpoints.writer,
            reader=endpoints.reader,
            embedder=endpoints.embedder,
            **credentials(),
        )
    except (OSError, ValueError) as error:
        raise Failure(str(error), ExitCode.USAGE) from None
