"""Templates of keys: text with `<name>` or `{name}` where a part stands."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import re2

_PART = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)>|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BRACKET = re.compile(r"[<>{}]")

# A part of a key is any text. Other forms of keys are looked for in texts, and must not swallow what stands beside.
_OF_KEY = r"[^\x00-\x1f\x7f]+"
_OF_ALIAS = r"[^\s/:<>{}()\[\]\"'`,;\x00-\x1f\x7f]+"


@dataclass(frozen=True)
class KeyTemplate:
    """Literal texts with the names of the parts between them: always one literal more than names."""

    literals: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The template that a text writes. Raises `ValueError`, in words for the caller."""
        pieces = _PART.split(text)
        literals = tuple(pieces[::3])
        names = tuple(angle or brace for angle, brace in zip(pieces[1::3], pieces[2::3], strict=True))
        if any(_BRACKET.search(literal) for literal in literals):
            raise ValueError("must write each part as <name> or {name}, a name of Latin letters, digits and _")
        if not names:
            raise ValueError("must have a part, as <name> or {name}")
        if len(set(names)) < len(names):
            raise ValueError("must not name a part twice")
        if not all(literals[1:-1]):
            raise ValueError("must have a text between two parts, or nobody can tell where the first ends")
        return cls(literals, names)

    def match(self, key: str) -> dict[str, str] | None:
        """The parts of a key; None where it does not have the template's form."""
        return _parts(self._as_key, key)

    def match_alias(self, text: str) -> dict[str, str] | None:
        """The same for another form of a key, whose parts hold neither space nor `/` nor `:`."""
        return _parts(self._as_alias, text)

    def find_aliases(self, text: str) -> list[dict[str, str]]:
        """The parts of each place of a text that has the form, in order."""
        return [found.groupdict() for found in self._as_alias.finditer(text)]

    def filled(self, parts: dict[str, str]) -> str:
        """The key with these parts."""
        middle = (parts[name] + literal for name, literal in zip(self.names, self.literals[1:], strict=True))
        return self.literals[0] + "".join(middle)

    @cached_property
    def _as_key(self) -> Any:
        return re2.compile(self._expression(_OF_KEY))

    @cached_property
    def _as_alias(self) -> Any:
        return re2.compile(self._expression(_OF_ALIAS))

    def _expression(self, part: str) -> str:
        groups = (f"(?P<{name}>{part})" for name in self.names)
        quoted = map(re.escape, self.literals)
        return next(quoted) + "".join(group + literal for group, literal in zip(groups, quoted, strict=True))


def _parts(expression: Any, text: str) -> dict[str, str] | None:
    found = expression.fullmatch(text)
    return found.groupdict() if found else None
