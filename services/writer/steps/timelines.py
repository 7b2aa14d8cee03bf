"""Timelines of stored facts: which predicates have them in which namespace, and who else stands on one (FA-7)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from services.writer.namespace_store import NamespaceStore
from services.writer.projection.rows import Stamp
from services.writer.projection.supersession import FactSpan
from services.writer.projection.timeline import Place
from services.writer.store import Key


class Fact(Protocol):
    """What is needed of a stored fact."""

    @property
    def subject_key(self) -> str: ...  # noqa: D102
    @property
    def predicate(self) -> str: ...  # noqa: D102
    @property
    def stamps(self) -> str: ...  # noqa: D102
    @property
    def evidence_lost(self) -> bool: ...  # noqa: D102
    @property
    def span(self) -> FactSpan: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Timelines:
    """Predicates with timelines, by namespace."""

    store: NamespaceStore
    predicates: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def span(self, namespace: str, fact: Fact) -> FactSpan:
        """What the resolution needs of a fact, with its place. One without evidence has none: it ends nothing."""
        if not self._has(namespace, fact) or fact.evidence_lost:
            return fact.span
        stamp = Stamp(*json.loads(fact.stamps)["object"])
        return replace(fact.span, place=Place(fact.subject_key, fact.predicate, stamp))

    async def companions(self, facts: Mapping[Key, Fact]) -> set[Key]:
        """All facts on the timelines of the given ones."""
        groups = {
            (namespace, fact.subject_key, fact.predicate)
            for (namespace, _), fact in facts.items()
            if self._has(namespace, fact)
        }
        return await self.store.timeline_facts(groups)

    def _has(self, namespace: str, fact: Fact) -> bool:
        return fact.predicate in self.predicates.get(namespace, ())
