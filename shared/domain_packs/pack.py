"""A domain pack as a value, read from the JSON that it is stored as: the contract's `DomainPack`, fields by name."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

# Numbers of Cardinality and of ConflictPolicy.
CARDINALITY_ONE = 2
ON_CONFLICT_SUPERSEDE = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity. Empty texts say nothing."""

    kind: str
    key_template: str = ""
    key_schema: str = ""
    aliases: tuple[str, ...] = ()
    kind_aliases: tuple[str, ...] = ()
    id_patterns: tuple[str, ...] = ()
    attributes_schema: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its other names."""
        return (self.kind, *self.kind_aliases)


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate or a link's relation. Without kinds it may start or lead anywhere."""

    relation: str
    from_kinds: tuple[str, ...] = ()
    to_kinds: tuple[str, ...] = ()
    temporal: bool = True
    cardinality: int = 0
    on_conflict: int = 0
    patterns: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether a subject has one object at a time."""
        return self.cardinality == CARDINALITY_ONE

    @property
    def is_timeline(self) -> bool:
        """Whether each of its facts ends where the subject's next begins (FA-7)."""
        return self.is_single and self.on_conflict == ON_CONFLICT_SUPERSEDE

    @property
    def behaviour(self) -> tuple[bool, int, int]:
        """What all definitions of one relation must agree on."""
        return self.temporal, max(self.cardinality, 1), max(self.on_conflict, 1)


@dataclass(frozen=True, slots=True)
class Pack:
    """One version of a pack."""

    pack: str
    version: int
    kinds: tuple[Kind, ...] = ()
    relations: tuple[Relation, ...] = ()
    description: str = ""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The pack that was stored as JSON."""
        return cls.from_members(json.loads(text))

    @classmethod
    def from_members(cls, members: dict[str, Any]) -> Self:
        """The pack of a JSON object's members; those that are absent say nothing."""
        return cls(
            pack=members["pack"],
            version=members["version"],
            kinds=tuple(Kind(**_tuples(kind)) for kind in members.get("kinds", ())),
            relations=tuple(Relation(**_tuples(relation)) for relation in members.get("relations", ())),
            description=members.get("description", ""),
        )

    def to_json(self) -> str:
        """The pack as JSON, less what says nothing."""
        return json.dumps(_said(asdict(self)))


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _said(member) for name, member in value.items() if member is False or member not in ("", (), 0)}
    return [_said(member) for member in value] if isinstance(value, list | tuple) else value


def _tuples(members: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}
