"""Facts that packs find in a text by their patterns, without any model (CP-4). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from services.writer.extraction.grounding import name_key
from services.writer.extraction.proposals import Derived, FactProposal, GroundedFact, Span
from services.writer.projection.packs import Packs
from shared.domain_packs.anchors import key_of_id
from shared.domain_packs.id_pattern import (
    KEY_GROUP,
    OBJECT_GROUP,
    SUBJECT_GROUP,
    compile_pattern,
    compile_relation,
)
from shared.domain_packs.key_template import KeyTemplate
from shared.domain_packs.pack import Kind, Pack, Relation

_MENTIONS = "MENTIONS"
# An observation has no more assertions.
_MOST_FACTS = 200
_CERTAIN = 1.0

_compiled_id = lru_cache(1_000)(compile_pattern)
_compiled_relation = lru_cache(1_000)(compile_relation)


def pattern_facts(text: str, author_key: str, packs: Packs, source_id: str) -> list[Derived]:
    """What each pack finds in a text of an author, by rising name; none where it finds nothing, each fact once."""
    found = []
    for pack in sorted(packs.enabled, key=lambda each: each.pack):
        facts = {
            (fact.subject_key, fact.proposal.predicate, fact.object_key, fact.proposal.object): fact
            for fact in reversed([*_relations(text, author_key, pack), *_mentions(text, author_key, pack)])
        }
        if facts:
            name = f"pack:{pack.pack}@{pack.version}"
            kept = tuple(reversed(facts.values()))[:_MOST_FACTS]
            found.append(Derived(kept, name, (), f"extraction:{source_id}:{name}", "EXTRACTED"))
    return found


def _mentions(text: str, author_key: str, pack: Pack) -> Iterator[GroundedFact]:
    for kind in pack.kinds:
        for pattern in kind.id_patterns:
            for match in _compiled_id(pattern).finditer(text):
                group = KEY_GROUP if KEY_GROUP in match.re.groupindex and match.group(KEY_GROUP) else 0
                if key := _id_key(kind, match.group(group)):
                    yield _fact(author_key, _MENTIONS, key, "", text, match.span(group))


def _relations(text: str, author_key: str, pack: Pack) -> Iterator[GroundedFact]:
    kinds = {name: kind for kind in pack.kinds for name in kind.names}
    for relation in pack.relations:
        for pattern in relation.patterns:
            for match in _compiled_relation(pattern).finditer(text):
                yield from _related(text, author_key, relation, kinds, match)


def _related(
    text: str, author_key: str, relation: Relation, kinds: dict[str, Kind], match: Any
) -> Iterator[GroundedFact]:
    groups = match.groupdict()
    subject, value = groups.get(SUBJECT_GROUP) or "", groups.get(OBJECT_GROUP) or ""
    start_key = _end_key(subject, relation.from_kinds, kinds) or name_key(subject) if subject else author_key
    object_key = _end_key(value, relation.to_kinds, kinds)
    if start_key and value.strip():
        yield _fact(start_key, relation.relation, object_key, value.strip(), text, match.span())


def _end_key(name: str, wanted: tuple[str, ...], kinds: dict[str, Kind]) -> str:
    """The key of a name where the relation leads to one kind of the pack; empty where it does not."""
    kind = kinds.get(wanted[0]) if len(wanted) == 1 else None
    return _id_key(kind, name.strip()) if kind and name.strip() else ""


def _id_key(kind: Kind, found: str) -> str:
    template = KeyTemplate.parse(kind.key_template) if kind.key_template else None
    return name_key(key_of_id(kind.kind, template, found))


def _fact(subject_key: str, predicate: str, object_key: str, value: str, text: str, span: Span) -> GroundedFact:
    quote = text[slice(*span)]
    proposal = FactProposal(subject_key, predicate, object_key or value, bool(object_key), quote, confidence=_CERTAIN)
    return GroundedFact(subject_key, object_key or None, proposal, span)
