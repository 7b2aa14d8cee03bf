"""Fault 23: deleted, yet it comes back from some surface. A canary in all that a memory keeps, and then nowhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import SOURCE_STATE_ACTIVE, Source
from palimpsest.v1.fact_pb2 import FactCorrection, FactObject, FactRetraction
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, SourceIdentity
from palimpsest.v1.writer_service_pb2 import DUPLICATE_DECISION_CONFIRM

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.embedded_postgres import EmbeddedPostgres
from shared.schema.scrub import scrub
from shared.settings import DatabaseSettings
from tests.integration.capturing import allow, capture, message
from tests.integration.compiling import compiled
from tests.integration.curating import curate, decide, proposals
from tests.integration.sweeping import (
    Names,
    answers_with,
    dump_with,
    files_with,
    forms,
    row_versions_with,
    tables_with,
    uncompressed,
)
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    at,
    claim,
    document,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    serving,
    typed,
    writing,
)

CANARY = "Канарейка7731Ёж"
SUBJECT = f"person:{CANARY}"
SOURCE = SourceIdentity(system="chat", stream="team")
REDACTED = 5


@dataclass
class Told:
    """A memory, and what was told to it."""

    dsn: str
    writer: Writer
    channel: grpc.aio.Channel
    reader: ReaderServiceStub
    observations: list[Observation] = field(default_factory=list)

    async def record(self, made: Observation) -> None:
        """Records an observation of the source that is purged."""
        made.source.system, made.source.stream = SOURCE.system, SOURCE.stream
        self.observations.append(made)
        recorded = await self.writer.record(made)
        assert (recorded.duplicate, list(recorded.failed_assertions)) == (False, [])

    async def call(self, method: str, **fields: Any) -> Any:
        """Calls a method of the writer by its name."""
        request = getattr(pb, f"{method}Request")(namespace=NAMESPACE, **fields)
        return await getattr(self.writer.stub, method)(request)


@asynccontextmanager
async def told(dsn: str) -> AsyncIterator[Told]:
    await uncompressed(dsn)
    settings = ReaderSettings(database=DatabaseSettings(dsn=dsn))
    async with (
        writing(dsn) as writer,
        serving(build_service(settings)) as target,
        grpc.aio.insecure_channel(target) as channel,
    ):
        yield Told(dsn, writer, channel, ReaderServiceStub(channel))


def everything() -> list[Observation]:
    """Observations with the canary in each field that a source can fill, and beside it in none."""
    liking = fact(
        SUBJECT, "LIKES", CANARY, attributes=json.dumps({"why": CANARY}), source_path=CANARY, valid_from=at(1)
    )
    origin = Provenance(uri=f"https://{CANARY}", author=CANARY, path=CANARY, extra={"a": CANARY}, derived_from=[CANARY])
    me = EntityRef(key=SUBJECT)
    return [
        observation(
            "1",
            entity(
                SUBJECT,
                title=f"{CANARY} Ivanov",
                aliases=[f"{CANARY} I."],
                attributes=json.dumps({"a": CANARY}),
                source_path=CANARY,
                source_id=CANARY,
                url=f"https://{CANARY}",
                author=CANARY,
                provenance=origin,
            ),
            article(SUBJECT, f"# {CANARY}\n\n{CANARY} said so."),
            liking,
            link(SUBJECT, "KNOWS", "person:bob"),
            claim("doc:other", "MENTIONS", "person", CANARY, hint=CANARY),
            content=f"{CANARY} said so",
            data=json.dumps({"d": CANARY}),
            actor=typed(SUBJECT),
            subject=typed(SUBJECT),
            scopes=[f"project:{CANARY}"],
            provenance=origin,
            trace_id=CANARY,
        ),
        observation(
            "2",
            Assertion(
                episode=Episode(
                    summary=CANARY,
                    actor=me,
                    action=CANARY,
                    target=me,
                    result=CANARY,
                    context=json.dumps({"c": CANARY}),
                    artifacts=[CANARY],
                )
            ),
            Assertion(
                record=MemoryRecord(
                    summary=CANARY, preference=Preference(holder=me, topic=CANARY, value=CANARY), entities=[me]
                )
            ),
            document("doc:other", f"{CANARY} once", f"{CANARY} twice", title=CANARY),
            fact(SUBJECT, "LIKES", f"{CANARY} two", valid_from=at(5), supersedes=[fact_id(liking)]),
            subject=typed(SUBJECT),
            minutes=1,
        ),
        observation("3", Assertion(retraction=FactRetraction(fact_id=fact_id(liking), reason=CANARY)), minutes=2),
        observation("4", entity(SUBJECT, title=f"{CANARY} Petrov"), actor=typed(SUBJECT), minutes=3),
        observation("5", content=CANARY, subject=typed(SUBJECT), minutes=4),
        observation(
            "6", entity("person:twin", title=f"{CANARY} Petrov"), fact("person:twin", "KNOWS", SUBJECT), minutes=5
        ),
    ]


async def operate(memory: Told, *, by_subject: bool) -> None:
    """Lets operators, curation, compilations and the audit speak of the canary."""
    await memory.record(observation("7", fact(SUBJECT, "AT", f"{CANARY} street"), minutes=6))
    await memory.call("RedactObservation", observation_id=observation_id(memory.observations[-1]), reason=CANARY)
    await curate(memory.writer)
    [pair] = await proposals(memory.reader)
    await decide(memory.writer, pair, DUPLICATE_DECISION_CONFIRM)
    me = EntityRef(key=SUBJECT)
    for method in (
        "ArchiveItem",
        "RestoreItem",
        "DeleteItem",
        "UndeleteItem",
        "MarkObsolete",
        "UnmarkObsolete",
        "MarkObsolete",
    ):
        await memory.call(method, entity=me, reason=CANARY)
    await memory.call("UnmarkObsolete", entity=me)
    liking = fact_id(memory.observations[1].assertions[3])
    correction = FactCorrection(fact_id=liking, replacement=fact(SUBJECT, "LIKES", f"{CANARY} 3").fact, reason=CANARY)
    await memory.call("CorrectFact", correction=correction, source=SourceIdentity(**_source(), external_id="8"))
    await memory.call("MarkObsolete", fact_id=liking, reason=CANARY)
    await memory.call("AppendAudit", action="looked_up", target=liking, details=json.dumps({"who": CANARY}))
    for told in (
        {"target": SUBJECT},
        {"details": json.dumps({"who": [{"name": f"it was {CANARY.upper()}!"}]})},
        {"details": json.dumps({CANARY: 1}, ensure_ascii=False)},
        {"trace_id": f"of-{CANARY}"},
    ):
        # Only who is purged by name is found by it.
        await memory.call("AppendAudit", action="looked_up", **told if by_subject else {"target": liking})
    assert (await compiled(memory.reader, f"{CANARY} Bob")).pack.items


async def of_other_sources(memory: Told) -> None:
    """Captured messages, snapshots, vaults and questions that name the subject."""
    await allow(memory.writer, SUBJECT, "person:bob")
    [captured] = await capture(memory.writer, message("m1", f"{CANARY} is me", SUBJECT), system="messenger")
    assert captured.observation_id
    first = pb.SnapshotHead(namespace=NAMESPACE, source="crm", scope="all", snapshot_id="s1", taken_at=at(7))
    items = [
        pb.SnapshotItem(entity=entity("project:x").entity, relations=[_relation("OWNED_BY", SUBJECT)]),
        pb.SnapshotItem(entity=entity(SUBJECT, author=CANARY).entity),
    ]
    parts = [pb.ReconcileSnapshotRequest(head=first), pb.ReconcileSnapshotRequest(items=pb.SnapshotItems(items=items))]
    await memory.writer.stub.ReconcileSnapshot(iter(parts))
    for keys in ((SUBJECT, "doc:kept"), ("doc:kept",)):
        run = (await memory.call("BeginVaultRun", vault="notes")).vault_run_id
        for key in keys:
            made = article(f"note:{key}", f"{CANARY if key == SUBJECT else 'kept'} of a vault").document
            source = SourceIdentity(system="vault", external_id=key)
            await memory.call("RetainArticle", article=made, source=source, vault_run_id=run, occurred_at=at())
        await memory.call("CompleteVaultRun", vault_run_id=run)
    assert not (await compiled(memory.reader, CANARY.lower() + "?", filter={"source_systems": ["nowhere"]})).pack.items


def _relation(relation: str, key: str) -> pb.SnapshotRelation:
    return pb.SnapshotRelation(relation=relation, object=FactObject(entity=EntityRef(key=key)))


def _source() -> dict[str, str]:
    return {"system": SOURCE.system, "stream": SOURCE.stream}


async def witness(memory: Told) -> None:
    """What others say of themselves, and of the other end."""
    await memory.writer.record(
        observation(
            "9",
            entity("person:bob", title="Bob"),
            fact("person:bob", "LIKES", "tea"),
            content="Bob likes tea",
            system="other",
        )
    )


async def fill(memory: Told, *, by_subject: bool) -> Names:
    """Tells everything; what requests may ask by afterwards."""
    await witness(memory)
    # An operator's words about a source are no observation of anybody.
    described = Source(**_source(), authority=0.5, state=SOURCE_STATE_ACTIVE, description="" if by_subject else CANARY)
    await memory.call("RegisterSource", source=described)
    for made in everything():
        await memory.record(made)
    await operate(memory, by_subject=by_subject)
    if by_subject:
        await of_other_sources(memory)
    rows = await memory.writer.rows("SELECT trace_id, pack_id FROM context_traces")
    facts = await memory.writer.rows("SELECT fact_id FROM facts")
    refs = [EntityRef(key=SUBJECT), EntityRef(key="doc:other"), EntityRef(key="person:bob")]
    return Names(
        NAMESPACE,
        query=[CANARY, "Bob"],
        entity=refs,
        subject=refs,
        observation_id=[observation_id(each) for each in memory.observations],
        fact_id=[row["fact_id"] for row in facts],
        trace_id=[*(row["trace_id"] for row in rows), CANARY],
        pack_id=[row["pack_id"] for row in rows],
        include_history=[True],
        include_placeholders=[True],
    )


PURGES = {
    "subject": [ErasureSelector(subject=typed(SUBJECT))],
    "entity": [ErasureSelector(entity=EntityRef(key=SUBJECT)), ErasureSelector(entity=EntityRef(key="person:twin"))],
    "source": [ErasureSelector(source=SOURCE)],
}


TABLES = {
    "audit_contents",
    "documents",
    "duplicate_proposals",
    "entities",
    "entity_merges",
    "entity_names",
    "entity_versions",
    "erasure_receipts",
    "fact_retractions",
    "fact_versions",
    "facts",
    "item_marks",
    "link_claims",
    "links",
    "context_traces",
    "obsolete_marks",
    "observations",
    "passages",
    "sources",
}
"""Where it is at least before it is purged."""


@pytest.mark.parametrize("by", PURGES)
async def test_what_is_purged_is_nowhere(by: str, dsn: str, postgres: EmbeddedPostgres) -> None:
    """AU-2, AU-3, fault 23: no RPC of the reader, no table, no row version after VACUUM, no file of the database after
    scrubbing and no dump holds the canary; what is sent again brings nothing back; what others said stays."""
    async with told(dsn) as memory:
        by_subject = by != "source"
        names = await fill(memory, by_subject=by_subject)
        assert await tables_with(dsn, CANARY) >= TABLES - ({"sources"} if by_subject else set())
        assert {"ListEntities", "GetEntity", "GetFact", "ListFacts"} <= await answers_with(
            memory.channel, names, CANARY
        )

        for selector in PURGES[by]:
            # Of a reason that names somebody else nobody knows that it does.
            reason = f"{CANARY} asked to" if by_subject and selector == PURGES[by][0] else "asked to"
            receipt = (await memory.call("Purge", selector=selector, reason=reason)).receipt
            assert receipt.counts["observations"] > 0 or selector != PURGES[by][0]

        assert await tables_with(dsn, CANARY) == set()
        for made in memory.observations:
            again = await memory.writer.record(made)
            assert (again.duplicate, again.status) == (True, REDACTED)
        assert await tables_with(dsn, CANARY) == set()
        await swept(postgres, dsn)
        # Last, for a question is itself kept in its trace.
        assert await answers_with(memory.channel, names, CANARY, skip=["CompileContext"]) == set()
        bob = (
            await memory.reader.GetEntity(
                reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="person:bob"))
            )
        ).entity
        assert bob.title == "Bob"
        assert (await compiled(memory.reader, "What does Bob like?")).pack.items


async def swept(postgres: EmbeddedPostgres, dsn: str) -> None:
    """Nothing is left below the tables either."""
    await scrub(dsn)
    assert await row_versions_with(dsn, CANARY) == set()
    assert dump_with(postgres, dsn, CANARY) == []
    await scrub(dsn, rewrite=True)
    assert await files_with(dsn, CANARY) == set()


def test_a_text_is_sought_in_each_form() -> None:
    """AU-3: the sweep knows the forms in which the database and JSON write a text."""
    assert forms("Ёж") == sorted({"Ёж", "ёж", "еж", "\\u0401\\u0436", "\\u0451\\u0436", "\\u0435\\u0436"})
