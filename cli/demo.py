"""`palimpsest demo`: the system on a folder of yours, from nothing to answers with their provenance."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import grpc
import typer
from palimpsest.v1.reader_service_pb2 import CompileContextRequest, GetNamespaceStatisticsRequest
from palimpsest.v1.writer_service_pb2 import WaitForEmbeddingRequest

from cli.commands.ingest import ingest_folder
from cli.commands.record_git import record_history
from cli.data_folder import can_be_reached
from cli.database import DSN_VARIABLE
from cli.endpoints import ROOTS_FOLDER, Endpoints, endpoints_pid, read_endpoints
from cli.failure import ExitCode, Failure
from cli.options import Connection, connected_to
from cli.output import note, say
from cli.pack_text import show_pack
from cli.sources.git import find_repository, has_commits
from cli.sources.markdown_files import read_folder

NAMESPACE = "demo"
QUESTIONS = (
    "Какой Postgres нужен и какой pgvector?",
    "How is the private Postgres started and stopped?",
    "How long should spaghetti boil?",
)
_START_TIMEOUT_S = 150.0
_EMBEDDING_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 60.0
_POLL_S = 0.1


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with a git history or Markdown.")] = Path("."),
    question: Annotated[
        list[str] | None, typer.Option("--question", "-q", help="Ask this instead; may be repeated.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder for the data.  [default: DIR/.data/demo]", show_default=False)
    ] = None,
) -> None:
    """Start the system, store a folder's git history and Markdown, and ask three questions.

    The last one has no answer there, and gets none. What is stored is kept: the second run starts in seconds.
    """
    if not folder.is_dir():
        raise Failure(f"{folder}: not a folder", ExitCode.USAGE)
    began = time.monotonic()
    place = demo_folder(folder, data)
    with _running_system(place) as endpoints, connected_to(endpoints) as connection:
        say(f"The system is up after {time.monotonic() - began:.1f} s, its data is in {place}", "bold")
        _fill(connection, folder)
        _wait_for_vectors(connection)
        for text in question or QUESTIONS:
            _ask(connection, text)
    say(f"Done in {time.monotonic() - began:.1f} s. The data is kept; go on with: palimpsest up --data {place}", "bold")


def demo_folder(folder: Path, data: Path | None) -> Path:
    """Where the demo's data lies: in the folder, or elsewhere if the account that runs Postgres cannot come there."""
    if data is not None:
        return data.expanduser().absolute()
    inside = folder.resolve() / ".data"
    if can_be_reached(inside / "demo"):
        inside.mkdir(exist_ok=True)
        (inside / ".gitignore").write_text("*\n")
        return inside / "demo"
    return ROOTS_FOLDER / f"demo-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"


@contextmanager
def _running_system(place: Path) -> Iterator[Endpoints]:
    """`palimpsest up` as a process of its own, always with a private Postgres; yields where it answers."""
    environment = {name: value for name, value in os.environ.items() if name != DSN_VARIABLE}
    command = [sys.executable, "-m", "cli.main", "up", "--data", str(place), "--port", "0"]
    # A session of its own: Ctrl-C reaches us alone, and we end it in order.
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield _wait_for_endpoints(process, place)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_TIMEOUT_S)


def _wait_for_endpoints(process: "subprocess.Popen[bytes]", place: Path) -> Endpoints:
    until = time.monotonic() + _START_TIMEOUT_S
    # A killed one may have left its own endpoints.
    while endpoints_pid(place) != process.pid:
        if process.poll() is not None:
            raise Failure("the system did not start; the reason stands above")
        if time.monotonic() > until:
            raise Failure(f"the system was not ready after {_START_TIMEOUT_S:.0f} s", ExitCode.UNAVAILABLE)
        time.sleep(_POLL_S)
    endpoints = read_endpoints(place)
    assert endpoints is not None  # they appear whole
    return endpoints


def _fill(connection: Connection, folder: Path) -> None:
    """Stores what there is: a folder without a history, or without Markdown, is welcome too."""
    repository = find_repository(folder)
    with _partial_is_fine():
        if repository and has_commits(folder):
            record_history(connection, repository, folder, NAMESPACE, as_json=False)
        else:
            note("No git history here: only Markdown is stored.")
    with _partial_is_fine():
        documents = read_folder(folder)
        if documents.files:
            ingest_folder(connection, documents, NAMESPACE, as_json=False)


@contextmanager
def _partial_is_fine() -> Iterator[None]:
    """A file that is no UTF-8 has been told of; the demo goes on without it."""
    try:
        yield
    except typer.Exit as ending:
        if ending.exit_code != ExitCode.PARTIAL:
            raise


def _wait_for_vectors(connection: Connection) -> None:
    began = time.monotonic()
    request = WaitForEmbeddingRequest(namespace=NAMESPACE)
    try:
        connection.client.writer.WaitForEmbedding(request, timeout=_EMBEDDING_TIMEOUT_S)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        note("Vectors are still being computed; meanwhile words find what has none.")
    statistics = connection.client.reader.GetNamespaceStatistics(GetNamespaceStatisticsRequest(namespace=NAMESPACE))
    held = statistics.statistics
    say(
        f"The memory holds {held.observations:,} observations, {held.entities:,} entities, {held.links:,} links and "
        f"{held.chunks:,} chunks ({time.monotonic() - began:.1f} s for vectors)."
    )


def _ask(connection: Connection, question: str) -> None:
    say("")
    say(f"» {question}", "bold cyan")
    request = CompileContextRequest(namespace=NAMESPACE, query=question)
    show_pack(connection.client.reader.CompileContext(request))
