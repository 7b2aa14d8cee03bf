"""`palimpsest vector-index`: what the index of a space's vectors holds of them."""

from enum import StrEnum
from typing import Annotated

import typer

from cli.database import Dsn, named, ran
from cli.options import Json
from cli.output import note, say, say_json


class IndexForm(StrEnum):
    """What the index can hold of vectors."""

    WHOLE = "whole"
    BINARY = "binary"
    TRUNCATED = "truncated"


def vector_index(
    form: Annotated[IndexForm, typer.Argument(help="whole, binary (one bit a dimension) or truncated.")],
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", min=1, help="Of truncated vectors: how many of the first.")
    ] = None,
    space: Annotated[
        str | None, typer.Option("--space", help="Fingerprint of the space; without it, the active one.")
    ] = None,
    build_memory: Annotated[
        str, typer.Option("--build-memory", help="Postgres's maintenance_work_mem; best holds a part of the graph.")
    ] = "256MB",
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Choose what the index of vectors holds, for sets whose graph is too large for memory. Searches and writes go on.

    What a smaller index finds is held against the query whole, so that recall stays. Safe to run again after it was
    stopped. The database must be named as its owner, and not through a pooler.
    """
    from shared.schema.vector_index import index_vectors

    changed = ran(
        index_vectors(
            named(dsn),
            form.value,
            dimension=dimensions,
            fingerprint=space,
            build_memory=build_memory,
            progress=note,
        )
    )
    if as_json:
        say_json({"first_pass": form.value, "dimensions": dimensions, "changed": changed})
    else:
        say(f"Searches walk an index of {form.value} vectors{'' if changed else ' already'}.")
