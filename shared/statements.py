"""SQL kept in files: named, described, loaded once.

A file is a run of blocks; each begins with `-- name: snake_case`, goes on with comment lines that describe it, then
holds one statement:

    -- name: claim_chunks
    -- The oldest chunks without a vector, locked for this worker.
    SELECT …
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"^--\s*name:(.*)$")
_SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
_IDENTIFIER = re.compile(r"[a-z0-9_]+")
# A brace within quotes is an array literal, as in '{1,1}'.
_PLACEHOLDER = re.compile(r"(?<!['\w])\{([a-z][a-z0-9_]*)\}")


class StatementFileError(ValueError):
    """A file of statements is malformed; the message says where."""


class Statements:
    """The statements of one file, as attributes."""

    def __init__(self, statements: dict[str, str], path: Path) -> None:
        self._statements = statements
        self._path = path
        self._filled: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def __getattr__(self, name: str) -> str:
        """The text of a statement without placeholders."""
        text = self._text(name)
        if placeholder := _PLACEHOLDER.search(text):
            raise AttributeError(f"{name} needs a table for {placeholder[0]}: use with_table")
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def with_table(self, name: str, **tables: str) -> str:
        """The text of statement `name`, each `{placeholder}` replaced by a table's name.

        The same tables give the same string, so a connection's cache of prepared statements keeps working. Raises
        ValueError for a name that is no plain identifier and for placeholders that are missing or left over.
        """
        key = (name, tuple(sorted(tables.items())))
        if key not in self._filled:
            self._filled[key] = _fill(name, self._text(name), tables)
        return self._filled[key]

    def _text(self, name: str) -> str:
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(f"{self._path.name} has no statement {name!r}") from None


def load_statements(path: Path) -> Statements:
    """Read a file of statements. Raises `StatementFileError` for a name that is missing, malformed or used twice."""
    statements: dict[str, str] = {}
    for line_number, name, body in _blocks(path.read_text(encoding="utf-8")):
        where = f"{path.name}:{line_number}"
        if not _SNAKE_CASE.fullmatch(name):
            raise StatementFileError(f"{where}: {name!r} is no snake_case name")
        if name in statements:
            raise StatementFileError(f"{where}: a second statement named {name}")
        if not body:
            raise StatementFileError(f"{where}: {name} has no SQL")
        # The name stays in the text, so that a trace or pg_stat_statements tells which statement it was.
        statements[name] = f"-- name: {name}\n{body}"
    return Statements(statements, path)


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Each block's line number, name and SQL."""
    start, name, lines = 0, "", list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _NAME.match(line)
        if heading is None:
            lines.append(line)
            continue
        if start or _sql(lines):
            yield start, name, _sql(lines)
        start, name, lines = number, heading[1].strip(), []
    if start or _sql(lines):
        yield start, name, _sql(lines)


def _sql(lines: list[str]) -> str:
    """The lines without the description above them and the semicolon at their end."""
    for first, line in enumerate(lines):
        if line.strip() and not line.startswith("--"):
            return "\n".join(lines[first:]).rstrip().removesuffix(";").rstrip()
    return ""


def _fill(name: str, text: str, tables: dict[str, str]) -> str:
    wanted = set(_PLACEHOLDER.findall(text))
    if wanted != set(tables):
        raise ValueError(f"{name} has the placeholders {sorted(wanted)}, given were {sorted(tables)}")
    for table in tables.values():
        if not _IDENTIFIER.fullmatch(table):
            raise ValueError(f"{table!r} is no table name")
    return _PLACEHOLDER.sub(lambda placeholder: tables[placeholder[1]], text)
