"""The options of the commands that ask: which signals, which part of the memory, which moment."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from palimpsest.v1.retrieval_pb2 import SearchFilter


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


def search_filter(scopes: list[str] | None, systems: list[str] | None) -> SearchFilter | None:
    """The filter of a question; None where nothing is left out."""
    return SearchFilter(scopes=scopes or (), source_systems=systems or ()) if scopes or systems else None


def caller_time() -> str:
    """This machine's clock with its offset: "yesterday" is the user's."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
