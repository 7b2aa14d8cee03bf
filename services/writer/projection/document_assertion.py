"""What a `DocumentAssertion` writes."""

import hashlib
from typing import Any

from services.writer.projection import json_object
from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.chunking import MARKDOWN, TextChunk, chunk_text
from services.writer.projection.context import Context, object_members
from services.writer.projection.messages import DocumentAssertion, InputChunk
from services.writer.projection.passages import CHUNK, passage_of
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import DocumentWrite, EntityWrite, Passage
from shared.domain_packs.key_forms import default_kind


def document_rows(assertion: DocumentAssertion, context: Context, index: int) -> AssertionRows:
    """Returns the text with its pieces, and the entity that has it. Raises `Refused`."""
    key = context.key_of(assertion.entity, "document.entity")
    body = assertion.WhichOneof("body")
    if body is None:
        raise Refused("document.body", "must have a text or chunks")
    write = _whole(assertion, context, index, key) if body == "text" else _chunked(assertion, context, index, key)
    entity = EntityWrite(
        key=key,
        stamp=write.stamp,
        default_kind=default_kind(key),
        fields=_entity_fields(assertion, context),
        described=True,
    )
    return AssertionRows(entities=(entity,), documents=(write,))


def chunk_passages(context: Context, pieces: list[TextChunk], **columns: Any) -> tuple[Passage, ...]:
    """Returns passages of pieces in order. `columns` are those that all of them share."""
    return tuple(
        passage_of(context, kind=CHUNK, ordinal=ordinal, text=piece.text, **{"heading": piece.heading, **columns})
        for ordinal, piece in enumerate(pieces)
    )


def text_hash(text: str) -> str:
    """Returns the SHA-256, in hex, of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _whole(assertion: DocumentAssertion, context: Context, index: int, key: str) -> DocumentWrite:
    meta = json_object.text_of(object_members(assertion.meta, "document.meta"))
    media_type = assertion.media_type or MARKDOWN
    pieces = chunk_text(assertion.text, media_type)
    return DocumentWrite(
        entity_key=key,
        body=assertion.text,
        media_type=media_type,
        meta=meta,
        content_hash=text_hash(assertion.text),
        stamp=context.stamp(index),
        passages=chunk_passages(context, pieces, **_shared(assertion, context, key), meta=meta),
    )


def _chunked(assertion: DocumentAssertion, context: Context, index: int, key: str) -> DocumentWrite:
    """A text that its caller cut lives in passages only, so that even a blank chunk has one."""
    tags = object_members(assertion.meta, "document.meta")
    shared = _shared(assertion, context, key)
    chunks = assertion.chunked.chunks
    passages = tuple(
        passage_of(
            context,
            kind=CHUNK,
            ordinal=ordinal,
            text=chunk.text,
            heading=chunk.heading,
            meta=json_object.text_of(tags | _tags(chunk, ordinal)),
            **shared,
        )
        for ordinal, chunk in enumerate(chunks)
    )
    return DocumentWrite(
        entity_key=key,
        body=None,
        media_type=assertion.media_type or MARKDOWN,
        meta=json_object.text_of(tags),
        content_hash=text_hash("".join(chunk.text for chunk in chunks)),
        stamp=context.stamp(index),
        passages=passages,
    )


def _tags(chunk: InputChunk, ordinal: int) -> dict[str, str]:
    return object_members(chunk.meta, f"document.chunked.chunks[{ordinal}].meta")


def _shared(assertion: DocumentAssertion, context: Context, key: str) -> dict[str, Any]:
    titled = assertion.HasField("title")
    return {
        "owner_key": key,
        "owner_kind": context.kinds.get(key) or default_kind(key),
        "title": assertion.title if titled else context.titles.get(key, ""),
        "source_path": assertion.source_path,
    }


def _entity_fields(assertion: DocumentAssertion, context: Context) -> dict[str, Any]:
    found: dict[str, Any] = context.labels_field()
    if assertion.HasField("title"):
        found["title"] = assertion.title
    if assertion.source_path:
        found["source_path"] = assertion.source_path
    if context.provenance:
        found["provenance"] = context.provenance
    return found
