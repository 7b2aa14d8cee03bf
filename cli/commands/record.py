"""`palimpsest record`: observations from JSON lines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Annotated

import typer

from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.recording import Fate, Item, Outcome, Recorder
from cli.reporting import report
from cli.sources.observation_json import RefusedLine, parse_line


def record(
    file: Annotated[str, typer.Argument(help="File of JSON lines; - is standard input.")] = "-",
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Store observations, one JSON object a line.

    A line holds the fields of an Observation as protobuf JSON, and may name its own "namespace". Times need an offset.
    A line that is refused is named with its number and the path of each wrong field; the others are stored. Running it
    again stores nothing twice.
    """
    with opened(file) as lines, connected(target, data) as connection:
        outcomes = Recorder(connection.client).record(read_items(lines, namespace))
        report(outcomes, what="Observations", total=None, as_json=as_json)


def read_items(lines: IO[bytes], namespace: str) -> Iterator[Item | Outcome]:
    """The observation of each line that is not blank, or why it was refused."""
    for number, raw in enumerate(lines, start=1):
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not line.strip():
            continue
        try:
            parsed = parse_line(line, namespace)
        except RefusedLine as refusal:
            yield Outcome(f"line {number}", Fate.REFUSED, str(refusal))
        else:
            yield Item(f"line {number}", parsed.namespace, parsed.observation)


@contextmanager
def opened(file: str) -> Iterator[IO[bytes]]:
    """A file, or standard input for `-`. Raises Failure."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115 - closed below; only its opening is guarded
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", ExitCode.USAGE) from None
    with stream:
        yield stream
