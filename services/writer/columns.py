"""Rows as one array per column, the form in which a set of any size is one statement."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def columns(rows: Iterable[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows of `width` values, transposed. A list within a row becomes the text of a Postgres array, because arrays of
    arrays must be rectangular."""
    transposed: list[list[Any]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(transposed, row, strict=True):
            column.append(array_literal(value) if isinstance(value, list | tuple) else value)
    return transposed


def attributes(names: str) -> Callable[[Any], list[Any]]:
    """A function that reads the attributes of these names, parted by spaces, as a row."""
    listed = names.split()
    return lambda value: [getattr(value, name) for name in listed]


def array_literal(texts: Iterable[str]) -> str:
    """The text form of an array of texts."""
    return "{" + ",".join(map(_quoted, texts)) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
