"""SQL kept in files: named, described, loaded once.

A file is a run of blocks; each begins with `-- name: snake_case`, goes on with comment lines that describe it, then
holds one statement:

    -- name: claim_chunks
    -- The oldest chunks without a vector, locked for this worker.
    SELECT …

A block that begins with `-- fragment: snake_case` is no statement but a part of several, each of which says where by
`{its_name}`, or by a placeholder for which the caller chooses the fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_HEADING = re.compile(r"^--\s*(name|fragment):(.*)$")
_SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
_IDENTIFIER = re.compile(r"[a-z0-9_]+")
_NAMED = "-- name: "
# A brace within quotes is an array literal, as in '{1,1}'.
_PLACEHOLDER = re.compile(r"(?<!['\w])\{([a-z][a-z0-9_]*)\}")


class StatementFileError(ValueError):
    """A file of statements is malformed; the message says where."""


class Statements:
    """The statements of one file, as attributes."""

    def __init__(self, statements: dict[str, str], fragments: dict[str, str], path: Path) -> None:
        self._statements = statements
        self._fragments = fragments
        self._path = path
        self._filled: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def __getattr__(self, name: str) -> str:
        """The text of a statement without placeholders."""
        if name.startswith("_"):
            raise AttributeError(name)
        text = self._text(name)
        if missing := [each for each in _placeholders(text, self._fragments) if each not in self._fragments]:
            raise AttributeError(f"{name} needs a table for {{{missing[0]}}}: use with_table")
        return self.with_table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def with_table(self, name: str, **parts: str) -> str:
        """The text of statement `name`, each `{placeholder}` replaced by a table's name or by a fragment of that name.

        The same parts give the same string, so a connection's cache of prepared statements keeps working. Raises
        ValueError for a name that is no plain identifier and for placeholders that are missing or left over.
        """
        key = (name, tuple(sorted(parts.items())))
        if key not in self._filled:
            self._filled[key] = _fill(name, self._text(name), parts, self._fragments)
        return self._filled[key]

    def _text(self, name: str) -> str:
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(f"{self._path.name} has no statement {name!r}") from None


def load_statements(path: Path, *others: Statements) -> Statements:
    """Read a file of statements, which may use the fragments of others too.

    Raises `StatementFileError` for a name that is missing, malformed or used twice.
    """
    shared = {name: body for other in others for name, body in other._fragments.items()}
    found: dict[str, dict[str, str]] = {"name": {}, "fragment": shared}
    for line_number, sort, name, body in _blocks(path.read_text(encoding="utf-8")):
        where = f"{path.name}:{line_number}"
        if not _SNAKE_CASE.fullmatch(name):
            raise StatementFileError(f"{where}: {name!r} is no snake_case name")
        if any(name in names for names in found.values()):
            raise StatementFileError(f"{where}: a second statement named {name}")
        if not body:
            raise StatementFileError(f"{where}: {name} has no SQL")
        # The name stays in the text, so that a trace or pg_stat_statements tells which statement it was.
        found[sort][name] = f"{_NAMED}{name}\n{body}" if sort == "name" else body
    return Statements(found["name"], found["fragment"], path)


def statement_name(text: str) -> str:
    """The name that a statement from a file has; of others, such as COMMIT, the first word."""
    if text.startswith(_NAMED):
        return text[len(_NAMED) : text.index("\n")]
    return text.split(None, 1)[0].rstrip(";").upper() if text.strip() else ""


def _blocks(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Each block's line number, sort (name or fragment), name and SQL."""
    start, sort, name, lines = 0, "name", "", list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if start or _sql(lines):
            yield start, sort, name, _sql(lines)
        start, sort, name, lines = number, heading[1], heading[2].strip(), []
    if start or _sql(lines):
        yield start, sort, name, _sql(lines)


def _sql(lines: list[str]) -> str:
    """The lines without the description above them and the semicolon at their end."""
    for first, line in enumerate(lines):
        if line.strip() and not line.startswith("--"):
            return "\n".join(lines[first:]).rstrip().removesuffix(";").rstrip()
    return ""


def _placeholders(text: str, fragments: dict[str, str]) -> Iterator[str]:
    """The placeholders of a text and of the fragments that it names."""
    for name in _PLACEHOLDER.findall(text):
        yield name
        if name in fragments:
            yield from _placeholders(fragments[name], fragments)


def _fill(name: str, text: str, parts: dict[str, str], fragments: dict[str, str]) -> str:
    wanted: set[str] = set()

    def part(placeholder: re.Match[str]) -> str:
        chosen = parts.get(placeholder[1], placeholder[1])
        if placeholder[1] not in fragments or placeholder[1] in parts:
            wanted.add(placeholder[1])
        if chosen in fragments:
            return _PLACEHOLDER.sub(part, fragments[chosen])
        if not _IDENTIFIER.fullmatch(chosen):
            raise ValueError(f"{chosen!r} is no table name")
        return chosen

    filled = _PLACEHOLDER.sub(part, text)
    if wanted != set(parts):
        raise ValueError(f"{name} has the placeholders {sorted(wanted)}, given were {sorted(parts)}")
    return filled
