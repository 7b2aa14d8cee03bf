"""The packs that act in a namespace, as an immutable value that projection takes (DP-2)."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from services.writer.projection.schemas import Schema
from shared.domain_packs.built_in import BUILT_IN
from shared.domain_packs.key_forms import KeyForms, default_kind
from shared.domain_packs.key_template import KeyTemplate
from shared.domain_packs.pack import Kind, Pack, Relation

# Kinds of what projection makes of observations themselves, which no pack has to allow.
_OWN_KINDS = frozenset({"observation", "trace"})


@dataclass(frozen=True)
class KnownKind:
    """A kind with what its definition compiles to."""

    definition: Kind

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.kind

    @cached_property
    def template(self) -> KeyTemplate | None:
        """The template of its keys."""
        return KeyTemplate.parse(self.definition.key_template) if self.definition.key_template else None

    @cached_property
    def key_schema(self) -> Schema | None:
        """The schema of its keys."""
        return Schema(self.definition.key_schema) if self.definition.key_schema else None

    @cached_property
    def attributes_schema(self) -> Schema | None:
        """The schema of its attributes."""
        return Schema(self.definition.attributes_schema) if self.definition.attributes_schema else None


@dataclass(frozen=True)
class Packs:
    """The packs of one version of a namespace's settings; the built-in ones come first."""

    version: int = 0
    strict: bool = False
    enabled: tuple[Pack, ...] = ()
    # Whether personal data is marked (PR-1).
    protects: bool = False

    @cached_property
    def timelines(self) -> frozenset[str]:
        """Predicates whose facts form one timeline a subject (FA-7)."""
        return frozenset(each.relation for pack in self.enabled for each in pack.relations if each.is_timeline)

    def kind(self, name: str) -> str:
        """The kind that a name stands for; a name that no pack knows stands for itself."""
        known = self._kinds.get(name)
        return known.name if known else name

    def known_kind(self, name: str) -> KnownKind | None:
        """What the packs say of a kind; None where they don't know it."""
        return self._kinds.get(name)

    def key(self, key: str) -> str:
        """The key that another form of it stands for; itself where it is none."""
        return self._forms.key(key) if self.enabled else key

    def kind_of_key(self, key: str) -> str:
        """The kind that a key alone tells: its type, else the one kind whose template it fits; empty where neither."""
        if named := default_kind(key):
            return named
        fitting = {known.name for known in self._kinds.values() if known.template and known.template.match(key)}
        return fitting.pop() if len(fitting) == 1 else ""

    def relations(self, name: str) -> tuple[Relation, ...]:
        """What the enabled packs say of a relation, else what the built-in ones do; nothing where none knows it."""
        return self._relations.get(name, ())

    @cached_property
    def _kinds(self) -> dict[str, KnownKind]:
        packs = (*BUILT_IN.values(), *self.enabled)
        known = [KnownKind(kind) for pack in packs for kind in pack.kinds]
        own = {name: KnownKind(Kind(name)) for name in _OWN_KINDS}
        return own | {name: kind for kind in known for name in kind.definition.names}

    @cached_property
    def _forms(self) -> KeyForms:
        return KeyForms(self.enabled)

    @cached_property
    def _relations(self) -> dict[str, tuple[Relation, ...]]:
        built_in = {each.relation: (each,) for pack in BUILT_IN.values() for each in pack.relations}
        given: defaultdict[str, list[Relation]] = defaultdict(list)
        for pack in self.enabled:
            for each in pack.relations:
                given[each.relation].append(each)
        return built_in | {name: tuple(each) for name, each in given.items()}


FREE = Packs()
"""What acts in a namespace that nobody configured: kinds, keys and relations are free."""
