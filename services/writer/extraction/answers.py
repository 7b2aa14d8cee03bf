"""Reads what an extractor answered: proposals, and how many of its items were none (CP-4). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from services.writer.extraction.proposals import EntityProposal, FactProposal

# Together no more than an observation has assertions.
_MOST_ENTITIES, _MOST_FACTS = 50, 150
_FENCED = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
_PREDICATE = re.compile(r"[^\x00-\x1f\x7f]+")
_MOST_PREDICATE_BYTES, _MOST_OBJECT_BYTES, _LONGEST_QUOTE = 128, 8_000, 8_000


class InvalidAnswerError(ValueError):
    """The answer is no JSON of the form that was asked for."""


class Answer(NamedTuple):
    """What an extractor proposes; `malformed`: how many items were left out, for they were none."""

    entities: tuple[EntityProposal, ...]
    facts: tuple[FactProposal, ...]
    malformed: int


def read_answer(body: bytes) -> Answer:
    """The proposals in the body of an answer of chat completions. Raises InvalidAnswerError."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
        fenced = _FENCED.fullmatch(content)
        said = json.loads(fenced[1] if fenced else content)
        entities, facts = said.get("entities") or [], said.get("facts") or []
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise InvalidAnswerError from None
    if not isinstance(entities, list) or not isinstance(facts, list):
        raise InvalidAnswerError
    read = [_entity(each) for each in entities[:_MOST_ENTITIES]], [_fact(each) for each in facts[:_MOST_FACTS]]
    kept = tuple(each for each in read[0] if each), tuple(each for each in read[1] if each)
    return Answer(*kept, malformed=len(entities) + len(facts) - len(kept[0]) - len(kept[1]))


def _entity(item: object) -> EntityProposal | None:
    if not isinstance(item, Mapping) or not _are_texts(item, "name", "quote"):
        return None
    kind = item.get("kind")
    return EntityProposal(item["name"], kind.strip().lower() if isinstance(kind, str) else "", item["quote"])


def _fact(item: object) -> FactProposal | None:
    if not isinstance(item, Mapping) or not _are_texts(item, "subject", "predicate", "object", "quote"):
        return None
    predicate, value = item["predicate"].strip(), item["object"].strip()
    if not _PREDICATE.fullmatch(predicate) or len(predicate.encode()) > _MOST_PREDICATE_BYTES:
        return None
    if len(value.encode()) > _MOST_OBJECT_BYTES or len(item["quote"]) > _LONGEST_QUOTE:
        return None
    return FactProposal(
        subject=item["subject"],
        predicate=predicate,
        object=value,
        object_is_entity=item.get("object_is_entity") is True,
        quote=item["quote"],
        valid_from=_moment(item.get("valid_from")),
        valid_to=_moment(item.get("valid_to")),
        confidence=_share(item.get("confidence")),
    )


def _are_texts(item: Mapping[str, Any], *names: str) -> bool:
    """Whether these are texts that can be stored and are not blank."""
    return all(isinstance(item.get(name), str) and item[name].strip() and _is_text(item[name]) for name in names)


def _is_text(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in text)


def _moment(value: object) -> datetime | None:
    """A moment that says its offset; anything else is no moment."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        return found.astimezone(UTC) if found and found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _share(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None  # type: ignore[operator, arg-type]
