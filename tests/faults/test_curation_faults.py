"""Fault 9 of those that users of other memory systems reported: things that look alike were merged into one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from tests.integration.curating import curate, proposals
from tests.integration.writing import NAMESPACE, Writer, entity, fact, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures",)


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Writer]:
    """A writer that has no embedder."""
    async with writing(dsn) as running:
        yield running


@pytest.mark.parametrize(
    ("one", "other", "may_be_proposed"),
    [
        ("Room 101", "Room 102", False),
        ("Инцидент INV-77123 в расчётном центре", "Инцидент INV-77124 в расчётном центре", False),
        ("Тигран", "Иран", False),
        ("Иван Петров", "Пётр Петров", False),
        ("Anna Smirnova", "Анна Смирнова", False),
        ("AP", "API", False),
        ("Екатерина Александровна Смирнова", "Екатерина Александровна Смирновская", True),
        ("Иван Петров", "Иван Петров", True),
    ],
)
async def test_9_likeness_never_merges(
    writer: Writer, reader: ReaderServiceStub, one: str, other: str, may_be_proposed: bool
) -> None:
    """Fault 9; EN-1a: two names stay two entities, each with its own facts; at most they are proposed to a person."""
    await writer.record(observation("1", entity("thing:1", title=one), fact("thing:1", "KNOWS", "thing:x")))
    await writer.record(observation("2", entity("thing:2", title=other), fact("thing:2", "LIKES", "thing:y")))

    for _ in range(2):
        await curate(writer)

    assert len(await proposals(reader)) == may_be_proposed
    for key, title, predicate in (("thing:1", one, "KNOWS"), ("thing:2", other, "LIKES")):
        found = await reader.GetEntity(reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key)))
        assert (found.entity.natural_key, found.entity.title, found.entity.merged_into) == (key, title, "")
        facts = await reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, subject=EntityRef(key=key)))
        assert [each.predicate for each in facts.facts] == [predicate]
    assert await writer.rows("SELECT * FROM entity_merges") == []
