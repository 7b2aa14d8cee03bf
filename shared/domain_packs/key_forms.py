"""Keys in the forms that packs give them: what a key in another form stands for (DP-2). Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from shared.domain_packs.key_template import KeyTemplate
from shared.domain_packs.pack import Kind, Pack

_TYPED_KEY = re.compile(r"([a-z0-9][a-z0-9_.-]{0,63}):(?!//)(.+)", re.DOTALL)


def default_kind(key: str) -> str:
    """Returns the type of a key of the form `type:id`, as typed references have; empty for other keys and for URLs.

    A key given as one string and the same key given typed are one key, so its form decides and not how it was given.
    """
    match = _TYPED_KEY.fullmatch(key)
    return match[1] if match else ""


def bare_id(key: str) -> str:
    """Returns a key without its type, as sentences show it."""
    match = _TYPED_KEY.fullmatch(key)
    return match[2] if match else key


@dataclass(frozen=True)
class KeyForms:
    """The forms that some packs know."""

    packs: tuple[Pack, ...]

    def key(self, key: str) -> str:
        """The key that another form of it stands for; itself where it is none."""
        named = default_kind(key)
        if named in self._kinds:
            key = f"{self._kinds[named]}:{bare_id(key)}"
        found = (known.key(key) for known in self._kinds_with_aliases)
        return next((other for other in found if other), key)

    def kind(self, name: str) -> str:
        """The kind that a name stands for; itself where no pack knows it."""
        return self._kinds.get(name, name)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {name: kind.kind for kind in _kinds_of(self.packs) for name in kind.names}

    @cached_property
    def _kinds_with_aliases(self) -> tuple["_Aliases", ...]:
        return tuple(_Aliases(kind) for kind in _kinds_of(self.packs) if kind.aliases)


@dataclass(frozen=True)
class _Aliases:
    """The other forms of the keys of a kind."""

    kind: Kind

    def key(self, key: str) -> str | None:
        """The key that another form stands for; None where it is none of this kind's other forms."""
        if self._template is None or self._template.match(key):
            return None
        form = bare_id(key) if default_kind(key) == self.kind.kind else key
        for alias in self._forms:
            if parts := alias.match_alias(form):
                return self._template.filled(parts)
        return None

    @cached_property
    def _template(self) -> KeyTemplate | None:
        return KeyTemplate.parse(self.kind.key_template) if self.kind.key_template else None

    @cached_property
    def _forms(self) -> tuple[KeyTemplate, ...]:
        return tuple(map(KeyTemplate.parse, self.kind.aliases))


def _kinds_of(packs: Iterable[Pack]) -> Iterable[Kind]:
    return (kind for pack in packs for kind in pack.kinds)
