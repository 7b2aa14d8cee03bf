"""Verifies what an extractor proposes: by the text, never by what the extractor says of itself (CP-4). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from palimpsest.canonical import nfc

from services.writer.extraction.proposals import (
    EntityProposal,
    FactProposal,
    GroundedEntity,
    GroundedFact,
    Verified,
)
from services.writer.extraction.quotes import QuotedText, comparable
from shared.domain_packs.key_forms import bare_id
from shared.errors import InvalidField, UngroundedQuote, UnknownEnd, Violation

_KIND = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MOST_KEY_BYTES = 1_000
_SPEAKER = frozenset({"i", "me", "myself", "я", "меня", "мне", "мной"})
"""What authors call themselves."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What proposals are held against: the text, the key of who said it (empty: nobody), and keys that are stored."""

    text: QuotedText
    author_key: str = ""
    stored: Collection[str] = frozenset()


def name_key(name: str) -> str:
    """The key that a name becomes: itself, white space as one space. Empty where it cannot be one."""
    key = nfc(" ".join(name.split()))
    return "" if _CONTROL.search(key) or len(key.encode()) > _MOST_KEY_BYTES else key


def candidate_keys(facts: Iterable[FactProposal]) -> set[str]:
    """Keys that may be stored, of the ends of facts."""
    names = (name for each in facts for name in (each.subject, each.object if each.object_is_entity else ""))
    return {key for name in names if (key := name_key(name))}


def grounded_entities(proposals: Iterable[EntityProposal], ground: Ground) -> list[GroundedEntity]:
    """Those of the entities whose quote stands in the text and names them."""
    found = []
    for each in proposals:
        span = ground.text.find(each.quote)
        key = _entity_key(each)
        if span and key and comparable(each.name) in comparable(each.quote):
            found.append(GroundedEntity(key, each, span))
    return found


def _entity_key(proposal: EntityProposal) -> str:
    key = name_key(proposal.name)
    return name_key(f"{proposal.kind}:{key}") if key and _KIND.fullmatch(proposal.kind) else key


def verified(
    facts: Sequence[FactProposal],
    ground: Ground,
    entities: Sequence[GroundedEntity] = (),
    places: Sequence[int] | None = None,
) -> list[Verified]:
    """Each fact with the keys of its ends and the span of its quote, or why it is refused. `places`: where each stands
    among all that was proposed."""
    named = {comparable(each.proposal.name): each.key for each in entities}
    numbered = zip(places if places is not None else range(len(facts)), facts, strict=True)
    return [_verified(fact, ground, named, f"facts[{place}]") for place, fact in numbered]


def _verified(fact: FactProposal, ground: Ground, named: dict[str, str], path: str) -> Verified:
    span = ground.text.find(fact.quote)
    if span is None:
        return UngroundedQuote(f"{path}.quote")
    ends = []
    for field, name in (("subject", fact.subject), ("object", fact.object)):
        if field == "object" and not fact.object_is_entity:
            ends.append("")
            continue
        if not name_key(name):
            return InvalidField([Violation(f"{path}.{field}", "must be a name or key of at most 1,000 bytes")])
        key = _end(name, ground, named)
        if not key:
            return UnknownEnd(f"{path}.{field}")
        ends.append(key)
    return GroundedFact(ends[0], ends[1] or None, fact, span)


def _end(name: str, ground: Ground, named: dict[str, str]) -> str:
    """The key of an end: of an entity that was proposed with it, of the author, of what is stored, or of what the text
    names; empty where it is none of these."""
    form, key = comparable(name), name_key(name)
    if form in named:
        return named[form]
    if ground.author_key and form in {comparable(ground.author_key), comparable(bare_id(ground.author_key)), *_SPEAKER}:
        return ground.author_key
    if key in ground.stored or bare_id(key) in ground.text:
        return key
    return ""
