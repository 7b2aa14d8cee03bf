"""Rows as one array per column, or as one JSON text: the forms in which a set of any size is one statement."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import orjson


def columns(rows: Iterable[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows of `width` values, transposed. A list within a row becomes the text of a Postgres array, because arrays of
    arrays must be rectangular."""
    transposed: list[list[Any]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(transposed, row, strict=True):
            column.append(array_literal(value) if isinstance(value, list | tuple) else value)
    return transposed


def recordset(rows: Iterable[Sequence[Any]], names: str) -> str:
    """Rows, whose columns have these names, parted by spaces, as `json_to_recordset` reads them; empty where there are
    none. Quicker than `columns` where rows are wide."""
    listed = names.split()
    objects = [dict(zip(listed, row, strict=True)) for row in rows]
    # Several times as fast as the standard library's, and it knows moments.
    return orjson.dumps(objects, default=_text).decode() if objects else ""


def _text(value: bytes) -> str:
    """Bytes, which JSON has no type for, as Postgres writes them."""
    return f"\\x{value.hex()}"


def attributes(names: str) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads the attributes of these names, parted by spaces and at least two, as a row."""
    return attrgetter(*names.split())


def array_literal(texts: Iterable[str]) -> str:
    """The text form of an array of texts."""
    return "{" + ",".join(map(_quoted, texts)) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
