"""Facts of a big store, as the writer makes them: by its own projection, and the statement that most writes are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import asyncpg
from palimpsest.v1 import fact_pb2, observation_pb2, reference_pb2

from bench.big_content import Content, Floats, Told, name_of
from services.writer.at_once_store import NEW, write_at_once
from services.writer.messages import prepare
from services.writer.projection.passages import FACT, embedding_hash
from services.writer.recording import PreparedObservation
from services.writer.steps.at_once import new_rows
from services.writer.steps.claiming import in_order
from shared.database import Connection
from shared.halfvec import encode_halfvec
from shared.statements import load_statements

SYSTEM = "bench"
# What each document has: a fact that said less would be hidden by its ends, which is not written in one statement.
_SCOPES = ["role:all"]
_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_DOCUMENTS_A_WRITE = 100
_VECTORS = ("namespace", "passage_id", "embedding_hash", "kind", "restricting", "applies", "hidden", "embedding")
_SQL = load_statements(Path(__file__).with_name("big_store.sql"))


async def add_facts(dsn: str, content: Content, of_each: int, table: str) -> None:
    """Writes so many facts of each document, an observation a document, and their vectors into `table`."""
    connection = await asyncpg.connect(dsn, command_timeout=7_200)
    await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
    for rank in range(1, content.namespaces + 1):
        told = content.facts(rank, of_each)
        for first in range(0, len(told), _DOCUMENTS_A_WRITE * of_each):
            await _write(connection, name_of(rank), told[first : first + _DOCUMENTS_A_WRITE * of_each], table)
    await connection.close()


async def _write(connection: asyncpg.Connection, namespace: str, told: Sequence[Told], table: str) -> None:
    items: list[PreparedObservation] = []
    vectors: dict[str, Floats] = {}
    for _, of_document in groupby(told, lambda each: each.document):
        facts = list(of_document)
        items.append(prepare(namespace, _observation(facts), "observation", ""))
        vectors |= _vectors_by_hash(items[-1], facts)
    # No settings, and nobody else writes: version and lock do not matter.
    found, _ = await write_at_once(
        cast(Connection, connection), namespace, 0, 0, new_rows(in_order(items)), in_bulk=True
    )
    assert found == NEW, found
    rows: list[tuple[Any, ...]] = []
    for row in await connection.fetch(_SQL.take_from_queue, namespace):
        vector = encode_halfvec(vectors[row["embedding_hash"]])
        rows.append((namespace, row["passage_id"], row["embedding_hash"], FACT, _SCOPES, [], False, vector))
    await connection.copy_records_to_table(table, records=rows, columns=_VECTORS)


def _vectors_by_hash(item: PreparedObservation, told: Sequence[Told]) -> dict[str, Floats]:
    """Vectors by what is embedded of facts: by that they are known again when they wait for one."""
    sentences = (embedding_hash("", "", fact.sentence) for fact in item.projection.facts)
    return {each: fact.vector for each, fact in zip(sentences, told, strict=True)}


def _observation(told: Sequence[Told]) -> observation_pb2.Observation:
    """One that says all these facts of one document."""
    document = told[0].document
    source = reference_pb2.SourceIdentity(system=SYSTEM, stream="facts", external_id=str(document))
    observation = observation_pb2.Observation(kind="note", source=source, scopes=_SCOPES)
    observation.occurred_at.FromDatetime(_BEGIN + timedelta(minutes=document))
    for fact in told:
        assertion = observation.assertions.add().fact
        assertion.subject.key, assertion.predicate = f"document:{document}", fact.predicate
        assertion.valid_from.CopyFrom(observation.occurred_at)
        assertion.object.CopyFrom(_object(fact))
    return observation


def _object(fact: Told) -> fact_pb2.FactObject:
    if fact.other is None:
        return fact_pb2.FactObject(literal=fact_pb2.Literal(text=fact.words))
    return fact_pb2.FactObject(entity=reference_pb2.EntityRef(key=f"document:{fact.other}"))
