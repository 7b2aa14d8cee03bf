"""The options of the commands that ask: which signals, which part of the memory, which moment."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from palimpsest.v1.retrieval_pb2 import SearchFilter

from cli.options import moment


class Mode(StrEnum):
    """Which signals find candidates."""

    FULL = "full"
    LEXICAL = "lexical"
    VECTOR = "vector"
    GRAPH = "graph"


ModeOption = Annotated[Mode, typer.Option("--mode", help="Which signals to use.")]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", metavar="TYPE:ID", help="Where the caller is; may be repeated.")
]
Systems = Annotated[list[str] | None, typer.Option("--system", help="Only what this system said; may be repeated.")]

CallerTime = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="TIME",
        help="The clock and zone that “yesterday” is understood by (RFC 3339).  [default: this machine's]",
        show_default=False,
    ),
]


class Way(StrEnum):
    """Which way edges of the graph are walked."""

    BOTH = "both"
    OUTGOING = "outgoing"
    INCOMING = "incoming"


WayOption = Annotated[Way, typer.Option("--direction", help="Which way edges are walked.")]
Relations = Annotated[
    list[str] | None, typer.Option("--relation", metavar="NAME", help="Only over this relation; may be repeated.")
]


def search_filter(scopes: list[str] | None, systems: list[str] | None) -> SearchFilter | None:
    """The filter of a question; None where nothing is left out."""
    return SearchFilter(scopes=scopes or (), source_systems=systems or ()) if scopes or systems else None


def caller_time(text: str | None = None) -> str:
    """The clock that is named, else this machine's with its offset: "yesterday" is the user's. Raises Failure."""
    if text is None:
        return datetime.now().astimezone().isoformat(timespec="seconds")
    moment(text, "--time")
    return text


def direction(way: Way) -> str:
    """The contract's name of a direction."""
    return f"DIRECTION_{way.name}"
