"""What is printed, and where: results to standard output, everything else to standard error."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

# Stored text may hold what steers a terminal: escape sequences, and marks that reverse what stands on the screen.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Where nobody watches, lines are as long as their text needs rather than 80 characters.
_WIDTH_WITHOUT_TERMINAL = 160

INDENT = "   "
"""What stands before the lines that belong to the one above them."""


def console(*, errors: bool = False) -> Console:
    """A console on standard output or standard error: colours on a terminal only, and never with NO_COLOR."""
    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else _WIDTH_WITHOUT_TERMINAL
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def say(text: str, style: str = "") -> None:
    """Prints a line of result."""
    console().print(Text(safe(text), style=style), soft_wrap=True)


def say_cut(text: str, style: str = "") -> None:
    """Prints the text on one line, cut where the terminal ends."""
    line = Text(safe(one_line(text)), style=style)
    console().print(Text(INDENT).append_text(line), no_wrap=True, overflow="ellipsis")


def note(text: str, style: str = "") -> None:
    """Prints a line beside the result: progress, warnings, errors."""
    console(errors=True).print(Text(safe(text), style=style), soft_wrap=True)


def say_verbatim(text: str) -> None:
    """Prints text that must come out as it is: without styles or wrapping; for a terminal without what steers it."""
    sys.stdout.write(safe(text) if sys.stdout.isatty() else text)
    sys.stdout.write("" if text.endswith("\n") else "\n")


def safe(text: str) -> str:
    """The text with everything replaced that a terminal would obey."""
    return _STEERING.sub("\ufffd", text)


def as_json(message: Message) -> dict[str, Any]:
    """A message as protobuf JSON with the contract's field names, fields at their defaults included."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def say_json(value: Message | dict[str, Any]) -> None:
    """Prints one JSON object on one line."""
    fields = as_json(value) if isinstance(value, Message) else value
    sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Prints a table; the last column takes what room is left."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", ratio=1 if place == len(columns) - 1 else None)
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    console().print(table)


def when(moment: Timestamp) -> str:
    """A moment for people, in UTC to the second."""
    return moment.ToJsonString()[:19].replace("T", " ") + "Z"


def one_line(text: str, length: int | None = None) -> str:
    """The text on one line, cut to `length` characters where one is given."""
    line = " ".join(text.split())
    return line if length is None or len(line) <= length else line[: length - 1] + "…"


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Progress]:
    """A progress bar with one task, number 0, on standard error; nothing where that is no terminal."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=console(errors=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        bar.add_task(what, total=total)
        yield bar
