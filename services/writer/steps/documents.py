"""Documents: of an entity's texts the one with the greatest stamp, with all its pieces (DO-1, DO-2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from services.writer.projection.rows import DocumentWrite, Projection
from services.writer.store import Key, Store
from shared.timestamps import from_microseconds


async def write_documents(store: Store, projections: Sequence[Projection]) -> dict[Key, DocumentWrite]:
    """Writes the bodies of those texts that are the latest of their entity, which is locked, and answers them."""
    latest = latest_documents(projections)
    taken = await store.upsert_documents(document_rows(latest))
    return {key: document for key, document in latest.items() if key in taken}


def latest_documents(projections: Iterable[Projection]) -> dict[Key, DocumentWrite]:
    """Of each entity's texts the one with the greatest stamp."""
    latest: dict[Key, DocumentWrite] = {}
    for projection in projections:
        for document in projection.documents:
            key = (projection.namespace, document.entity_key)
            latest[key] = max(latest.get(key, document), document, key=lambda one: one.stamp)
    return latest


def document_rows(documents: Mapping[Key, DocumentWrite]) -> Iterator[tuple[Any, ...]]:
    """Texts as rows, sorted."""
    for key, document in sorted(documents.items()):
        yield (
            *key,
            document.body,
            document.media_type,
            document.meta,
            document.content_hash,
            from_microseconds(document.stamp.occurred_us),
            document.stamp.observation_id,
            document.stamp.assertion_index,
        )
