"""What an observation itself writes, besides its assertions: an entity with its content, and whom it names."""

from typing import Any

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.chunking import PLAIN, chunk_text
from services.writer.projection.context import OF_OBSERVATION, Context
from services.writer.projection.document_assertion import chunk_passages, text_hash
from services.writer.projection.link_assertion import IN_TRACE, MENTIONS, links_to
from services.writer.projection.messages import Observation
from services.writer.projection.passages import OBSERVATION_KIND
from services.writer.projection.references import named
from services.writer.projection.rows import DocumentWrite, EntityWrite

TRACE_KEY_PREFIX = "trace:"


def observation_rows(observation: Observation, context: Context) -> AssertionRows:
    """Returns placeholders for actor and subject and, given content or a trace, the observation as an entity."""
    people = [party for name in ("actor", "subject") for party in _party(observation, context, name)]
    if not observation.content and not observation.trace_id:
        return AssertionRows(entities=_named(people, context))
    key = context.observation_id
    traces = [f"{TRACE_KEY_PREFIX}{observation.trace_id}"] if observation.trace_id else []
    links = links_to(context, key, MENTIONS, _party(observation, context, "subject")) + links_to(
        context, key, IN_TRACE, traces
    )
    entity = EntityWrite(
        key=key,
        stamp=context.stamp(OF_OBSERVATION),
        default_kind=OBSERVATION_KIND,
        fields=_fields(observation, context),
        described=True,
    )
    documents = (_document(observation, context),) if observation.content else ()
    return AssertionRows(entities=(entity, *_named([*people, *traces], context)), links=links, documents=documents)


def _party(observation: Observation, context: Context, name: str) -> list[str]:
    return [context.typed_key(getattr(observation, name))] if observation.HasField(name) else []


def _named(keys: list[str], context: Context) -> tuple[EntityWrite, ...]:
    stamp = context.stamp(OF_OBSERVATION)
    return tuple(named(key, stamp) for key in dict.fromkeys(keys))


def _title(observation: Observation) -> str:
    return observation.actor.id or observation.subject.id or observation.kind


def _passage_title(observation: Observation, context: Context) -> str:
    """Who said it and when, as a transcript would: by that it is found, too. Of nobody's words the subject, if any."""
    if observation.actor.id:
        return f"[{context.occurred_at.date().isoformat()}] {observation.actor.id}:"
    return str(observation.subject.id)


def _source_path(observation: Observation) -> str:
    return observation.provenance.uri or observation.provenance.path


def _fields(observation: Observation, context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": OBSERVATION_KIND,
        "title": _title(observation),
        "source_created_at": context.occurred_at,
        **context.labels_field(),
    }
    if _source_path(observation):
        found["source_path"] = _source_path(observation)
    if context.provenance:
        found["provenance"] = context.provenance
    return found


def _document(observation: Observation, context: Context) -> DocumentWrite:
    passages = chunk_passages(
        context,
        chunk_text(observation.content, PLAIN),
        owner_key=context.observation_id,
        owner_kind=OBSERVATION_KIND,
        title=_passage_title(observation, context),
        source_path=_source_path(observation),
    )
    return DocumentWrite(
        entity_key=context.observation_id,
        body=observation.content,
        media_type=PLAIN,
        meta="{}",
        content_hash=text_hash(observation.content),
        stamp=context.stamp(OF_OBSERVATION),
        passages=passages,
    )
