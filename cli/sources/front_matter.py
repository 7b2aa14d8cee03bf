"""The YAML before a Markdown text: its fields as JSON, and those of them that are relations."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import frontmatter
import yaml

# Names of relations that may be written in small letters, too; any name in capitals is a relation.
KNOWN_RELATIONS = frozenset(
    {
        "SUPERSEDED_BY", "SUPERSEDES", "PART_OF", "PART_OF_PROJECT", "DEPENDS_ON", "RELATED_TO", "DERIVED_FROM",
        "CAUSED_BY", "SUPPORTS", "CONTRADICTS", "CHILD_OF", "REPLIES_TO", "MENTIONS", "LINKS_TO", "DUPLICATE_OF",
    }
)  # fmt: skip
_RELATION = re.compile(r"[A-Z][A-Z0-9_]{1,127}")
# A few lines of YAML can stand for a million values, by aliases of aliases.
_MOST_VALUES = 5_000


class TooManyValues(ValueError):
    """The front matter stands for more values than anybody writes."""


@dataclass(frozen=True)
class FrontMatter:
    """What stands before a text."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Its fields as JSON values, relations left out."""
    relations: tuple[tuple[str, str], ...] = ()
    """Relations with their targets as they are written."""
    body: str = ""
    """The text behind it."""
    problem: str = ""
    """Why it could not be read; then the whole text is the body."""

    def text(self, name: str) -> str:
        """A field that is a text; empty where it is missing or something else."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """A field that is a text or a list of texts, without empty ones."""
        value = self.fields.get(name)
        return list(_texts(value))


def read_front_matter(text: str) -> FrontMatter:
    """Reads what stands before a text. Never fails: a text is worth keeping whatever stands before it."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        parsed, body = frontmatter.parse(plain)
        fields = _plain({str(name): value for name, value in parsed.items()}, _Count())
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        return FrontMatter(body=plain, problem=_first_line(error))
    relations = tuple(_relations(fields))
    attributes = {name: value for name, value in fields.items() if relation_name(name) is None}
    return FrontMatter(attributes, relations, body)


def relation_name(name: str) -> str | None:
    """The relation that a field names; None where it is a field like any other."""
    spelt = name.strip().upper().replace("-", "_").replace(" ", "_")
    if _RELATION.fullmatch(name) or spelt in KNOWN_RELATIONS:
        return spelt
    return None


def _relations(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        relation = relation_name(name)
        if relation is not None:
            yield from ((relation, target) for target in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value. YAML reads an unquoted `[[x]]` as a list in a list: it is that link again."""
    if isinstance(value, str) and value.strip():
        yield value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, list):
        for item in value:
            is_link = isinstance(item, list) and len(item) == 1 and isinstance(item[0], str)
            yield from [f"[[{item[0]}]]"] if is_link else _texts(item)


class _Count:
    """How many values have been seen."""

    def __init__(self) -> None:
        self._values = 0

    def one_more(self) -> None:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise TooManyValues(f"more than {_MOST_VALUES} values")


def _plain(value: Any, count: _Count) -> Any:
    """The value as JSON has it: dates as text, other types as their text."""
    count.one_more()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, dict):
        return {_storable(str(name)): _plain(item, count) for name, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, count) for item in value]
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _storable(text: str) -> str:
    """YAML can escape what no stored text can hold: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _first_line(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error)
    return str(problem).splitlines()[0] if str(problem) else type(error).__name__
