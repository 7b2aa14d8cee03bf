"""A writer in this process, behind a real socket, over the test's own database; and observations to send to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import grpc.aio
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest import ids
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import ChunkedText, DocumentAssertion, InputChunk
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FactAssertion, FactObject, Literal
from palimpsest.v1.link_pb2 import LinkAssertion, LinkTarget
from palimpsest.v1.observation_pb2 import Assertion, Observation, RecordedObservation
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity, TypedId
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.writer.service import NAME, build_service
from services.writer.settings import CurationSettings, EmbeddingSettings, WriterSettings
from shared.server import Service, serve
from shared.settings import DatabaseSettings, ServerSettings

NAMESPACE = "demo"
NOWHERE = "127.0.0.1:1"
MIB = 1024 * 1024
OPTIONS = (("grpc.max_receive_message_length", 64 * MIB), ("grpc.max_send_message_length", 64 * MIB))
BEGINNING = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Writer:
    """A running writer."""

    target: str
    stub: WriterServiceStub
    dsn: str

    async def record(self, observation: Observation, namespace: str = NAMESPACE, **options: Any) -> RecordedObservation:
        """Records one observation; what became of it."""
        request = pb.RecordObservationRequest(namespace=namespace, observation=observation, **options)
        return (await self.stub.RecordObservation(request)).result

    async def record_all(self, *observations: Observation, **options: Any) -> list[pb.RecordObservationResult]:
        """Records a batch; the results in order."""
        request = pb.BatchRecordObservationsRequest(namespace=NAMESPACE, observations=observations, **options)
        return list((await self.stub.BatchRecordObservations(request)).results)

    async def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        """What a query finds in the writer's database."""
        return await query(self.dsn, sql, *arguments)

    async def row(self, sql: str, *arguments: Any) -> dict[str, Any]:
        """The one row that a query finds."""
        [row] = await self.rows(sql, *arguments)
        return row


async def query(dsn: str, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    """What a query finds, on a connection of its own."""
    connection = await asyncpg.connect(dsn)
    try:
        return [dict(row.items()) for row in await connection.fetch(sql, *arguments)]
    finally:
        await connection.close()


@asynccontextmanager
async def serving(service: Service, **settings: Any) -> AsyncIterator[str]:
    """Serves for as long as the block runs; gives the target."""
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    made = ServerSettings(**({"grace_s": 2, "health_poll_s": 0.02} | settings))
    task = asyncio.create_task(serve(service, made, stop, bound))
    try:
        yield f"127.0.0.1:{await bound}"
    finally:
        stop.set()
        await task


async def until(channel: grpc.aio.Channel, status: int, name: str = NAME, timeout_s: float = 60) -> None:
    """Waits until the health protocol says so."""
    async with asyncio.timeout(timeout_s):
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=name)):
            if answer.status == status:
                return


async def until_serving(channel: grpc.aio.Channel, name: str = NAME) -> None:
    """Waits until the service is ready."""
    await until(channel, health_pb2.HealthCheckResponse.SERVING, name)


def writer_settings(dsn: str, embedder_target: str | None = None, **settings: Any) -> WriterSettings:
    """Settings of a writer that embeds only where there is an embedder."""
    embedding = {"enabled": embedder_target is not None, "target": embedder_target or NOWHERE, "poll_s": 0.2}
    return WriterSettings(
        database=DatabaseSettings(dsn=dsn, pool_max=settings.pop("pool_max", 8)),
        embedding=EmbeddingSettings(**(embedding | settings.pop("embedding", {}))),
        curation=CurationSettings(**({"enabled": False} | settings.pop("curation", {}))),
        **settings,
    )


@asynccontextmanager
async def writing(dsn: str, embedder_target: str | None = None, **settings: Any) -> AsyncIterator[Writer]:
    """A writer that is ready."""
    service = build_service(writer_settings(dsn, embedder_target, **settings))
    async with serving(service) as target, grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        await until_serving(channel)
        yield Writer(target, WriterServiceStub(channel), dsn)


def at(minutes: float = 0) -> Timestamp:
    """A moment, so many minutes after the beginning."""
    moment = Timestamp()
    moment.FromDatetime(BEGINNING + timedelta(minutes=minutes))
    return moment


def observation(external_id: str = "1", *assertions: Assertion, minutes: float = 0, **fields: Any) -> Observation:
    """A valid observation."""
    source = SourceIdentity(system=fields.pop("system", "test"), external_id=external_id)
    made: dict[str, Any] = {"kind": "note", "occurred_at": at(minutes), **fields}
    return Observation(source=source, assertions=assertions, **made)


def observation_id(observation: Observation, namespace: str = NAMESPACE) -> str:
    """The id that it is stored under."""
    return ids.observation_id(namespace, observation.source, content_hash=ids.content_hash(observation))


def typed(key: str) -> TypedId:
    """`type:id` as a typed id."""
    kind, _, name = key.partition(":")
    return TypedId(type=kind, id=name)


def entity(key: str, **fields: Any) -> Assertion:
    """Asserts an entity."""
    return Assertion(entity=EntityAssertion(entity=EntityRef(key=key), **fields))


def fact(subject: str, predicate: str, value: str, **fields: Any) -> Assertion:
    """Asserts a fact about another entity, where the value has a type, else about a text."""
    target = FactObject(entity=EntityRef(key=value)) if ":" in value else FactObject(literal=Literal(text=value))
    return Assertion(fact=FactAssertion(subject=EntityRef(key=subject), predicate=predicate, object=target, **fields))


def fact_id(assertion: Assertion, namespace: str = NAMESPACE) -> str:
    """The id of an asserted fact."""
    said = assertion.fact
    start = said.valid_from if said.HasField("valid_from") else None
    return ids.fact_id(namespace, said.subject.key, said.predicate, said.object, start)


def link(source: str, relation: str, target: str, **fields: Any) -> Assertion:
    """Asserts a link to a key."""
    return Assertion(
        link=LinkAssertion(source=EntityRef(key=source), relation=relation, entity=EntityRef(key=target), **fields)
    )


def claim(source: str, relation: str, kind: str, ref: str, hint: str = "", **fields: Any) -> Assertion:
    """Asserts a link to a thing in its source's terms."""
    reference = LinkTarget(kind=kind, ref=ref, source_hint=hint)
    return Assertion(link=LinkAssertion(source=EntityRef(key=source), relation=relation, reference=reference, **fields))


def document(key: str, *chunks: str, **fields: Any) -> Assertion:
    """Asserts a text that its caller has cut."""
    chunked = ChunkedText(chunks=[InputChunk(text=chunk) for chunk in chunks])
    return Assertion(document=DocumentAssertion(entity=EntityRef(key=key), chunked=chunked, **fields))


def article(key: str, text: str, **fields: Any) -> Assertion:
    """Asserts a text as a whole."""
    return Assertion(document=DocumentAssertion(entity=EntityRef(key=key), text=text, **fields))


# Less clocks and serial ids (OB-7). Vectors' presence is a matter of time.
STATE = {
    "observations": "to_jsonb(t) - 'recorded_at' - 'change_id' - 'redacted_at'",
    "entities": "to_jsonb(t) - 'recorded_at' - 'change_id'",
    "entity_evidence": "to_jsonb(t)",
    "documents": "to_jsonb(t) - 'recorded_at'",
    "passages": "to_jsonb(t) - 'recorded_at' - 'passage_id'",
    "facts": "to_jsonb(t) - 'recorded_at' - 'change_id'",
    "fact_evidence": "to_jsonb(t)",
    "fact_supersessions": "to_jsonb(t)",
    "fact_retractions": "to_jsonb(t)",
    "links": "to_jsonb(t) - 'recorded_at' - 'change_id'",
    "link_evidence": "to_jsonb(t)",
    "link_claims": "to_jsonb(t) - 'recorded_at'",
    "entity_merges": "to_jsonb(t)",
    "obsolete_marks": "to_jsonb(t) - 'marked_at'",
    "write_guards": "to_jsonb(t)",
}


async def state(dsn: str) -> dict[str, list[str]]:
    """The projected state of a database, table by table, without what depends on the order of arrival."""
    return {
        table: sorted(row["row"] for row in await query(dsn, f"SELECT ({row})::text AS row FROM {table} AS t"))
        for table, row in STATE.items()
    }
