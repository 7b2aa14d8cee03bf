"""GetSource: an entity's text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from services.reader.context import ReadContext
from services.reader.provenance import origins
from services.reader.queries.get_entity import visible_entity
from services.reader.retrieval.tuning import PROVENANCE_LINKS
from services.reader.rows import ItemKind, Origin, Row
from services.reader.store import Snapshot


class ContentSource(IntEnum):
    """How a text was given back; numbers of the contract."""

    NONE = 0
    ORIGINAL = 1
    CHUNKS = 2


@dataclass(frozen=True, slots=True)
class Source:
    """An entity with its text."""

    entity: Row
    text: str
    content_source: ContentSource
    document: Row | None
    chain: tuple[Origin, ...]


async def get_source(context: ReadContext, *, key: str) -> Source:
    """The text as it was sent, or its chunks joined. Raises NotFound where the entity is not stored or not visible."""

    async def work(snapshot: Snapshot) -> Source:
        entity = await visible_entity(snapshot, key)
        stored = entity["natural_key"]
        document = await snapshot.get_document(stored)
        observation_id = document["observation_id"] if document else None
        [chain] = await snapshot.provenance([(ItemKind.ENTITY, stored, observation_id)], limit=PROVENANCE_LINKS)
        text, content_source = await _text(snapshot, stored, document)
        return Source(entity, text, content_source, document, origins(chain))

    return await context.snapshot(work)


async def _text(snapshot: Snapshot, key: str, document: Row | None) -> tuple[str, ContentSource]:
    if document is None:
        return "", ContentSource.NONE
    if document["body"] is not None:
        return document["body"], ContentSource.ORIGINAL
    return await snapshot.joined_chunks(key), ContentSource.CHUNKS
