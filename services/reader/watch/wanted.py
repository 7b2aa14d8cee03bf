"""What one watcher asked for, of all that its caller may see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from services.reader.rows import ItemKind
from services.reader.watch.told import Happened, Kind, Told
from shared.labels import is_restricting


@dataclass(frozen=True, slots=True)
class Wanted:
    """Kinds of things, and labels that say where the watcher is. Empty ones exclude nothing."""

    kinds: frozenset[int] = frozenset()
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By type."""

    @classmethod
    def of(cls, kinds: Iterable[int], labels: Iterable[str]) -> Wanted:
        """What a request asks for; a kind that is not said is all."""
        said = frozenset(kinds)
        return cls(frozenset() if 0 in said else said, _by_type(labels))

    def of_these(self, told: Iterable[Told]) -> Iterable[Told]:
        """What the watcher is told: what it asked for, and of what came to lie elsewhere that it is removed."""
        for each in told:
            if not self._is_of_kind(each):
                continue
            if each.row is None or self._is_here(each.scopes):
                yield each
            elif each.found.is_relabelled and each.happened is not Happened.ADDED:
                yield replace(each, happened=Happened.REMOVED, row=None, _made={})

    def _is_of_kind(self, told: Told) -> bool:
        if not self.kinds:
            return True
        if told.row is None and told.kind is Kind.ENTITY:
            return bool({ItemKind.ENTITY, ItemKind.RECORD} & self.kinds)
        return told.item_kind in self.kinds

    def _is_here(self, scopes: Iterable[str]) -> bool:
        """As `applicable` in SQL (AC-3)."""
        own = _by_type(label for label in scopes if not is_restricting(label))
        return all(kind not in own or own[kind] & asked for kind, asked in self.labels.items())


def _by_type(labels: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        found[label.partition(":")[0]].add(label)
    return {kind: frozenset(values) for kind, values in found.items()}
