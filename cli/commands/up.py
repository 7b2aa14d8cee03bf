"""`palimpsest up`: runs the whole system."""

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Annotated

import typer

from cli.data_folder import LOG_FILE, claimed
from cli.database import DSN_VARIABLE
from cli.endpoints import Endpoints, remove_endpoints, write_endpoints
from cli.failure import ExitCode, Failure
from cli.options import Data, Namespace, data_folder
from cli.output import console, note, say

WRITER_PORT = 7431
_LOG_BYTES, _LOG_FILES = 10_000_000, 3
_LAST_PORT = 65_535
# What the user waits for, and is told of: the first start builds the model.
_MODEL_LOGGER = "services.embedder.backends.bundled"

Ports = Annotated[
    str,
    typer.Option(
        "--port",
        "--ports",
        metavar="N[,N,N]",
        help="Port of the writer; the reader and the embedder get the next two. Or all three. 0: any free ones.",
    ),
]


def up(
    data: Data = None,
    ports: Ports = str(WRITER_PORT),
    dsn: Annotated[
        str, typer.Option("--dsn", envvar=DSN_VARIABLE, help="Use this database instead of a private Postgres.")
    ] = "",
    namespace: Namespace = "default",
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            metavar="ADDRESS",
            help="host:port of one more embedder, whose model is to take the place of the present one: see 'reembed'.",
        ),
    ] = "",
) -> None:
    """Run the writer, the reader and the embedder on this machine until Ctrl-C or SIGTERM.

    Without a DSN a private Postgres is started in the data folder, which keeps what is stored between runs. Nothing has
    to be installed or configured, and nothing but this machine can connect.
    """
    folder = data_folder(data)
    with claimed(folder), _logging_to(folder / LOG_FILE):
        remove_endpoints(folder)  # of one that was killed
        try:
            asyncio.run(_run(folder, parse_ports(ports), dsn, namespace, embedder))
        finally:
            remove_endpoints(folder)
    note("Stopped. What was stored is kept.")


def parse_ports(text: str) -> tuple[int, int, int]:
    """The three ports that an option names. Raises Failure."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        first = numbers[0]
        numbers = [first, first + 1, first + 2] if first else [0, 0, 0]
    if len(numbers) != 3 or not all(0 <= number <= _LAST_PORT for number in numbers):
        raise Failure(f"--port: must be one port or three, e.g. {WRITER_PORT} or 7431,7432,7433", ExitCode.USAGE)
    if len(set(numbers) - {0}) != len([number for number in numbers if number]):
        raise Failure("--port: each service needs a port of its own", ExitCode.USAGE)
    return numbers[0], numbers[1], numbers[2]


async def _run(folder: Path, ports: tuple[int, int, int], dsn: str, namespace: str, embedder: str) -> None:
    # Not before it is needed: the other commands start without the services.
    from cli.system import Plan, run_system

    stop = asyncio.Event()
    for received in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(received, _stop, stop)

    def ready(endpoints: Endpoints) -> None:
        write_endpoints(folder, endpoints)
        _welcome(endpoints, folder, dsn, namespace)

    await run_system(Plan(folder, ports, dsn, embedder), stop=stop, say=note, ready=ready)


def _stop(stop: asyncio.Event) -> None:
    if not stop.is_set():
        note("Stopping: calls under way are finished first.")
    stop.set()


def _welcome(endpoints: Endpoints, folder: Path, dsn: str, namespace: str) -> None:
    database = "the database of the DSN" if dsn else f"private, in {folder}"
    request = f'{{"namespace": "{namespace}", "query": "what do we know?"}}'
    say("Palimpsest is ready.", "bold green")
    say(f"  writer    {endpoints.writer}")
    say(f"  reader    {endpoints.reader}")
    say(f"  embedder  {endpoints.embedder}")
    say(f"  Postgres  {database}")
    say("Try it, in another terminal:")
    # The shell's own quotes, so that the line can be pasted.
    say(f"  grpcurl -plaintext -d '{request}' {endpoints.reader} palimpsest.v1.ReaderService/Search")
    say(f"  palimpsest ingest DIR{_data_hint(folder)}")
    say(f"  palimpsest context 'what do we know?'{_data_hint(folder)}")
    say("Stop it with Ctrl-C.")
    console().file.flush()


def _data_hint(folder: Path) -> str:
    return "" if folder == data_folder(None) or os.environ.get("PALIMPSEST_DATA") else f" --data {folder}"


@contextmanager
def _logging_to(file: Path) -> Iterator[None]:
    """Logs to a file of bounded size, and tells the user what concerns them."""
    from pydantic import ValidationError

    from shared.logs import JsonFormatter
    from shared.settings import TelemetrySettings
    from shared.telemetry import telemetry

    try:
        with telemetry(TelemetrySettings(), service="palimpsest"):
            handler = RotatingFileHandler(file, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
            handler.setFormatter(JsonFormatter("palimpsest"))
            logging.getLogger().handlers[:] = [handler]
            logging.getLogger(_MODEL_LOGGER).addHandler(_Notes())
            yield
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise Failure(f"the settings in the environment: {wrong}", ExitCode.USAGE) from None


class _Notes(logging.Handler):
    """Shows log messages to the user."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a message as a line."""
        note(record.getMessage())
