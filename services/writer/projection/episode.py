"""What an `Episode` writes."""

from datetime import datetime
from typing import Any

from services.writer.projection import json_object
from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, moment, object_members
from services.writer.projection.messages import Episode
from services.writer.projection.record_rows import (
    RawJson,
    keys_of,
    record_key,
    record_passages,
    record_rows,
    shown,
)
from services.writer.projection.record_text import render
from shared.domain_packs.key_forms import bare_id

KIND = "episode"


def episode_rows(assertion: Episode, context: Context, index: int) -> AssertionRows:
    """Returns the event as an entity. It is true since it happened, and mentions everybody in it. Raises `Refused`."""
    entity = assertion.entity if assertion.HasField("entity") else None
    key = record_key(KIND, entity, context, index, "episode.entity")
    actor = _key(assertion, context, "actor") or context.actor_key
    target = _key(assertion, context, "target")
    related = keys_of(assertion.related, context, "episode.related")
    at = moment(assertion.event_at, "episode.event_at") if assertion.HasField("event_at") else context.occurred_at
    attributes = _attributes(assertion, actor, target, related, at)
    return record_rows(
        context,
        index,
        key=key,
        kind=KIND,
        fields=_fields(assertion, context),
        attributes=attributes,
        mentions=[other for other in (actor, target, *related) if other],
        passages=record_passages(
            context,
            _text(assertion, attributes),
            owner_key=key,
            owner_kind=KIND,
            author_key=actor,
            valid_from=at,
            importance=int(assertion.importance),
        ),
    )


def _key(assertion: Episode, context: Context, name: str) -> str:
    return context.key_of(getattr(assertion, name), f"episode.{name}") if assertion.HasField(name) else ""


def _fields(assertion: Episode, context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": assertion.summary,
        "confidence": assertion.confidence if assertion.HasField("confidence") else 1.0,
        **context.labels_field(),
    }
    if assertion.importance:
        found["importance"] = int(assertion.importance)
    if context.provenance:
        found["provenance"] = context.provenance
    return found


def _attributes(assertion: Episode, actor: str, target: str, related: list[str], at: datetime) -> dict[str, Any]:
    circumstances = object_members(assertion.context, "episode.context")
    return {
        "actor": actor,
        "action": assertion.action,
        "target": target,
        "result": assertion.result,
        "event_at": shown(at),
        "context": RawJson(json_object.text_of(circumstances)) if circumstances else None,
        "artifacts": list(assertion.artifacts),
        "related": related,
    }


def _text(assertion: Episode, attributes: dict[str, Any]) -> str:
    return render(
        assertion.summary,
        [
            ("When", attributes["event_at"]),
            ("Who", bare_id(attributes["actor"])),
            ("Action", assertion.action),
            ("Target", bare_id(attributes["target"])),
            ("Result", assertion.result),
            ("Context", attributes["context"] or ""),
            ("Related", [bare_id(key) for key in attributes["related"]]),
            ("Artifacts", attributes["artifacts"]),
        ],
    )
