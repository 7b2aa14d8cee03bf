"""Purge and RollbackSource: what was said is taken back, with receipts (AU-2, AU-3, AU-4)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import grpc
import pytest
from palimpsest.audit import check_chain
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.governance_pb2 import AuditEvent, ErasureReceipt, ErasureSelector
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity

from services.writer.applier import namespace_lock_key
from tests.integration.configuring import TRACKER, enable, refused
from tests.integration.curating import curate, decide, proposals
from tests.integration.serving import failure
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    at,
    claim,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    query,
    state,
    typed,
)

pytest_plugins = ("tests.integration.reader_fixtures",)

REDACTED = 5
INVALID = grpc.StatusCode.INVALID_ARGUMENT


async def purge(writer: Writer, *, namespace: str = NAMESPACE, **fields: Any) -> ErasureReceipt:
    """Purges; the receipt. Fields of the selector have its names."""
    selector = {name: fields.pop(name) for name in ("subject", "source", "entity", "observation_id") if name in fields}
    request = pb.PurgeRequest(namespace=namespace, selector=ErasureSelector(**selector), **fields)
    return (await writer.stub.Purge(request)).receipt


def counts(receipt: ErasureReceipt) -> dict[str, int]:
    return {name: number for name, number in receipt.counts.items() if number}


async def stored(writer: Writer) -> set[str]:
    return {row["observation_id"] for row in await writer.rows("SELECT observation_id FROM observations")}


def about_anna() -> list[Observation]:
    """Two observations about Anna, and two of others that are no business of hers."""
    return [
        observation(
            "1", entity("person:anna", title="Anna"), article("person:anna", "# A\n\ntext"), actor=typed("person:anna")
        ),
        observation(
            "2", fact("person:anna", "KNOWS", "person:bob"), link("doc:1", "MENTIONS", "person:anna"), minutes=1
        ),
        observation("3", entity("person:bob", title="Bob"), fact("person:bob", "LIKES", "tea"), minutes=2),
        observation("4", content="Anna is mentioned in free text only", minutes=3),
    ]


async def test_the_state_is_as_if_it_had_never_been_said(writer: Writer, dsn: str) -> None:
    """AU-2, AU-3: a purge by subject leaves what a store has that was told the rest only; the receipt counts."""
    said = about_anna()
    await writer.record_all(*said[2:])
    without = await state(dsn)
    await writer.record_all(*said[:2])

    receipt = await purge(writer, subject=typed("person:anna"), reason="asked to")

    assert await state(dsn) == without
    assert counts(receipt) == {"observations": 2, "entities": 2, "facts": 1, "chunks": 1, "links": 1, "queue": 3}
    assert (receipt.reason, bool(receipt.actor), bool(receipt.erased_at.seconds)) == ("asked to", True, True)
    [event] = await query(dsn, "SELECT * FROM audit_events")
    assert (event["action"], event["hash"], event["actor"]) == ("purge", receipt.audit_hash, receipt.actor)
    details = json.loads(event["details"])
    assert (details["receipt"], details["counts"]) == (receipt.receipt_id, dict(receipt.counts))
    assert "anna" not in repr(event).lower()


async def test_receipts_can_be_read(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-3: by their id, redactions' too, in their namespace."""
    said = about_anna()
    await writer.record_all(*said)
    redaction = await writer.stub.RedactObservation(
        pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said[3]), reason="phone")
    )
    purged = await purge(writer, entity=EntityRef(key="person:anna"))
    for receipt in (redaction.receipt, purged):
        request = reads.GetErasureReceiptRequest(namespace=NAMESPACE, receipt_id=receipt.receipt_id)
        assert (await reader.GetErasureReceipt(request)).receipt == receipt
        request.namespace = "other"
        error = await failure(reader.GetErasureReceipt(request))
        assert error.code() is grpc.StatusCode.NOT_FOUND


async def events(reader: ReaderServiceStub, **fields: Any) -> list[AuditEvent]:
    request = reads.ListAuditEventsRequest(namespace=NAMESPACE, page_size=1000, **fields)
    return list((await reader.ListAuditEvents(request)).events)


ESCAPED = json.dumps({"note": "Анна Петрова called"})
TOLD: list[tuple[dict[str, str], bool]] = [
    ({"target": "person:anna"}, True),
    ({"details": '{"who": {"type": "person", "id": "anna"}}', "trace_id": "t"}, True),
    ({"details": ESCAPED}, True),
    ({"details": '{"note": ["said", {"by": "АННА  ПЕТРОВА."}]}', "target": "export-1"}, True),
    ({"trace_id": "run/anna/7"}, True),
    ({"details": '{"note": "Annapolis, Анна Петровна"}', "trace_id": "t"}, False),
    ({"target": "person:bob", "details": '{"rows": 2}'}, False),
    ({}, False),
]
"""What is told to the audit, and whether a purge of Anna takes it."""


async def test_what_callers_told_the_audit_goes_and_the_chain_fits(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1, AU-3: what names who is purged, by key, id, title or alias, in whole words, escaped or not, is in no row
    any more; that it was told stays, by whom and when, and the chain is whole."""
    await writer.record(observation("1", entity("person:anna", title="Анна Петрова")))
    for told, _ in TOLD:
        await writer.stub.AppendAudit(pb.AppendAuditRequest(namespace=NAMESPACE, action="export", **told))
    before = await events(reader)
    assert [
        (each.target, each.details, told.get("trace_id") and each.trace_id)
        for each, (told, _) in zip(before, TOLD, strict=True)
    ] == [(told.get("target", ""), told.get("details", ""), told.get("trace_id")) for told, _ in TOLD]
    would = await purge(writer, subject=typed("person:anna"), dry_run=True)
    assert await events(reader) == before

    receipt = await purge(writer, subject=typed("person:anna"), reason="Анна Петрова asked")

    taken = sum(goes for _, goes in TOLD)
    assert receipt.counts["audit_contents"] == would.counts["audit_contents"] == taken
    assert receipt.reason == ""
    *after, purged = await events(reader)
    assert purged.action == "purge"
    assert json.loads(purged.details)["audit_contents"] == f"1-{taken}"
    for was, now, (_, goes) in zip(before, after, TOLD, strict=True):
        if goes:
            assert (now.target, now.trace_id, now.content_salt) == ("", "", "")
            assert now.details.startswith('{"content":"sha256:')
        else:
            assert now == was
        assert (now.hash, now.actor, now.action, now.recorded_at) == (was.hash, was.actor, was.action, was.recorded_at)
    assert not check_chain(NAMESPACE, [*after, purged]).fault
    assert [each.sequence for each in await events(reader, trace_id="t")] == [6]
    assert (await purge(writer, subject=typed("person:anna"))).counts["audit_contents"] == 0


async def test_what_goes_without_a_purge_shows(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1: content that is changed or gone from its row, but by a purge that says so, is tampering, which shows."""
    for number in range(3):
        told = pb.AppendAuditRequest(namespace=NAMESPACE, action="export", target=f"person:{number}")
        await writer.stub.AppendAudit(told)
    await purge(writer, entity=EntityRef(key="person:2"))
    assert not check_chain(NAMESPACE, await events(reader)).fault
    await query(writer.dsn, "UPDATE audit_contents SET target = 'person:3' WHERE target = 'person:1'")
    assert check_chain(NAMESPACE, await events(reader)).fault_at == 2
    await query(writer.dsn, "DELETE FROM audit_contents WHERE sequence = 2")
    check = check_chain(NAMESPACE, await events(reader))
    assert (check.fault_at, check.events, check.head[0]) == (2, 4, 4)
    assert "no purge" in check.fault


async def test_who_else_takes_back_leaves_what_callers_told(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1, AU-4: who looked at what was rolled back or redacted has to answer for it still."""
    said = observation("1", entity("person:anna", title="Anna"))
    await writer.record(said)
    told = pb.AppendAuditRequest(namespace=NAMESPACE, action="export", target=observation_id(said))
    await writer.stub.AppendAudit(told)
    [before] = await events(reader)
    [(since,)] = [tuple(row.values()) for row in await query(writer.dsn, "SELECT min(recorded_at) FROM observations")]
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
    await writer.stub.RedactObservation(request)
    await rollback(writer, since)
    assert (await events(reader))[0] == before
    await purge(writer, observation_id=observation_id(said))
    assert (await events(reader))[0].target == ""


async def test_reasons_that_name_who_is_purged_go(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-3: in receipts of before, too; those of others stay."""
    await writer.record_all(*about_anna(), observation("5", content="one"), observation("6", content="another"))
    kept = {}
    for external_id, reason in (("5", "so Anna wanted"), ("6", "annals")):
        purged = await purge(writer, source=SourceIdentity(system="test", external_id=external_id), reason=reason)
        assert purged.reason == reason
        kept[reason] = purged.receipt_id
    await purge(writer, entity=EntityRef(key="person:anna"))
    for reason, receipt_id in kept.items():
        request = reads.GetErasureReceiptRequest(namespace=NAMESPACE, receipt_id=receipt_id)
        read = (await reader.GetErasureReceipt(request)).receipt
        assert read.reason == ("annals" if reason == "annals" else "")


async def test_again_there_is_nothing(writer: Writer) -> None:
    """AU-2: nothing selected is an empty receipt."""
    await writer.record_all(*about_anna())
    assert counts(await purge(writer, subject=typed("person:anna")))
    for _ in range(2):
        receipt = await purge(writer, subject=typed("person:anna"))
        assert (counts(receipt), bool(receipt.audit_hash)) == ({}, True)
    assert counts(await purge(writer, observation_id="obs-" + "0" * 24)) == {}
    assert counts(await purge(writer, source=SourceIdentity(system="nobody"))) == {}


async def test_a_dry_run_counts_what_would_go(writer: Writer, dsn: str) -> None:
    """AU-2: the same numbers, and nothing changes."""
    await writer.record_all(*about_anna())
    before = await state(dsn)
    would = await purge(writer, subject=typed("person:anna"), dry_run=True)
    assert await state(dsn) == before
    assert await query(dsn, "SELECT FROM audit_events UNION ALL SELECT FROM erasure_receipts") == []
    assert (would.receipt_id, would.audit_hash) == ("", "")
    assert counts(await purge(writer, subject=typed("person:anna"))) == counts(would) != {}


async def test_what_was_purged_does_not_come_back(writer: Writer, dsn: str) -> None:
    """AU-2, OB-3: under its identity nothing is stored, the same or another; a new event is, in a batch with it too."""
    said = about_anna()[0]
    await writer.record(said)
    await purge(writer, observation_id=observation_id(said))
    without = await state(dsn)
    changed = observation("1", content="other words")
    for again in (said, changed):
        recorded = await writer.record(again)
        assert (recorded.duplicate, recorded.status, recorded.observation_id) == (True, REDACTED, observation_id(said))
        assert (list(recorded.entity_keys), list(recorded.fact_ids)) == ([], [])
    assert await state(dsn) == without
    new = observation("new", content="Anna again", subject=typed("person:anna"))
    results = [result.recorded for result in await writer.record_all(said, new, said)]
    assert [(each.duplicate, each.status) for each in results] == [(True, REDACTED), (False, 2), (True, REDACTED)]
    assert await stored(writer) == {observation_id(new)}


async def test_other_namespaces_keep_theirs(writer: Writer) -> None:
    """NS-1: the same observations there are not touched, nor kept out."""
    said = about_anna()[0]
    await writer.record(said)
    await writer.record(said, namespace="other")
    await purge(writer, subject=typed("person:anna"))
    rows = await writer.rows("SELECT namespace FROM entities WHERE natural_key = 'person:anna'")
    assert [row["namespace"] for row in rows] == ["other"]
    assert (await writer.record(about_anna()[1], namespace="other")).status == 2


@pytest.mark.parametrize(
    ("source", "gone"),
    [
        ({"system": "git"}, "1234"),
        ({"system": "git", "stream": "a"}, "12"),
        ({"system": "git", "stream": "a", "external_id": "x"}, "12"),
        ({"system": "git", "stream": "a", "external_id": "x", "revision": "2"}, "2"),
        ({"system": "git", "external_id": "x"}, "123"),
        ({"system": "jira"}, ""),
    ],
)
async def test_by_source(writer: Writer, source: dict[str, str], gone: str) -> None:
    """AU-3: what is empty is any."""
    identities = [("a", "x", "1"), ("a", "x", "2"), ("b", "x", ""), ("", "y", "")]
    said = {}
    for number, (stream, external_id, revision) in enumerate(identities, start=1):
        made = observation(content=str(number), minutes=number)
        made.source.CopyFrom(SourceIdentity(system="git", stream=stream, external_id=external_id, revision=revision))
        said[str(number)] = observation_id(made)
        await writer.record(made)
    await purge(writer, source=SourceIdentity(**source))
    assert {number for number, one in said.items() if one not in await stored(writer)} == set(gone)


async def test_a_revision_is_of_an_event(writer: Writer) -> None:
    """OP-2: with the field's path."""
    async with refused(INVALID, "INVALID_FIELD") as paths:
        await purge(writer, source=SourceIdentity(system="git", revision="1"))
    assert paths == ["selector.source.revision"]
    async with refused(INVALID, "INVALID_FIELD") as paths:
        await writer.stub.Purge(pb.PurgeRequest(namespace=NAMESPACE, selector=ErasureSelector()))
    assert paths


async def test_all_that_speaks_of_a_subject(writer: Writer) -> None:
    """AU-3: what names it by another form of its key, ends its facts, or was redacted; not what stands beside."""
    await enable(writer, TRACKER)
    key = "issue:OPS-1"
    stated = fact(key, "BLOCKS", "issue:OPS-2")
    said = [
        observation("1", stated),
        observation("2", Assertion(retraction=FactRetraction(fact_id=fact_id(stated), reason="done"))),
        observation("3", claim("doc:1", "MENTIONS", "issue", "OPS-1"), minutes=1),
        observation("4", entity("https://jira.example.com/browse/OPS-1", title="First", source_id="OPS-1"), minutes=2),
        observation("5", content="x", subject=typed(key)),
        observation("6", entity(key, title="Redacted")),
        observation("7", fact(key, "ASSIGNED_TO", "person:a")),
        observation("8", entity("issue:OPS-2", title="Second")),
    ]
    for each in said:
        await writer.record(each)
    for each in said[5:7]:
        request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(each), reason="r")
        await writer.stub.RedactObservation(request)
    await purge(writer, entity=EntityRef(key="https://jira.example.com/browse/OPS-1"))
    assert await stored(writer) == {observation_id(said[7])}
    assert await writer.rows("SELECT FROM facts UNION ALL SELECT FROM struck_evidence") == []
    assert [row["reason"] for row in await writer.rows("SELECT reason FROM erasure_receipts")] == ["", "", ""]


async def test_a_subject_is_all_that_it_was_merged_with(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a, AU-3: by subject; by entity only that one."""
    said = [
        observation("1", entity("person:a", title="Анна Ким")),
        observation("2", entity("person:b", title="анна ким")),
    ]
    await writer.record_all(*said)
    await curate(writer)
    [pair] = await proposals(reader)
    await decide(writer, pair, pb.DUPLICATE_DECISION_CONFIRM)
    assert counts(await purge(writer, entity=EntityRef(key="person:b"), dry_run=True))["entities"] == 1
    assert counts(await purge(writer, subject=typed("person:b"), dry_run=True))["entities"] == 2
    await purge(writer, subject=typed("person:b"))
    assert await writer.rows("SELECT FROM entities UNION ALL SELECT FROM entity_merges") == []


async def test_what_others_redacted_stays_lost(writer: Writer, dsn: str) -> None:
    """FA-8, OB-7: a fact that a redacted observation said is lost, whether a purged one said it, too, or not."""
    stated = fact("person:a", "LIKES", "tea")
    first, second = observation("1", stated), observation("2", stated, minutes=1)
    await writer.record(first)
    redact = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(first))
    await writer.stub.RedactObservation(redact)
    lost = await state(dsn)
    await writer.record(second)
    await purge(writer, observation_id=observation_id(second))
    assert await state(dsn) == lost
    await purge(writer, observation_id=observation_id(first))
    assert not any((await state(dsn)).values())


@pytest.mark.parametrize("redacted_first", [False, True])
async def test_what_was_made_of_it_goes_too(writer: Writer, dsn: str, redacted_first: bool) -> None:
    """AU-2, CP-4: what was extracted from what is erased, whichever way, and what waits for extraction."""
    source, made, other = (
        observation("1", content="Anna likes tea"),
        observation("2", fact("person:anna", "LIKES", "tea"), system="extractor"),
        observation("3", content="other"),
    )
    await writer.record(other)
    without = await state(dsn)
    await writer.record_all(source, made)
    ids = [observation_id(each) for each in (source, made)]
    await query(dsn, "INSERT INTO derivations VALUES ($1, $2, $3)", NAMESPACE, *ids)
    await query(dsn, "INSERT INTO extraction_queue (namespace, observation_id) VALUES ($1, $2)", NAMESPACE, ids[0])
    if redacted_first:
        request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=ids[0])
        redacted = counts((await writer.stub.RedactObservation(request)).receipt)
        # The text and the sentence of the fact had waited for vectors, too.
        assert (redacted["observations"], redacted["facts"], redacted["queue"]) == (2, 1, 3)
        assert [row["status"] for row in await writer.rows("SELECT status FROM observations")].count(REDACTED) == 2
    await purge(writer, observation_id=ids[0])
    assert await state(dsn) == without
    assert await query(dsn, "SELECT FROM derivations UNION ALL SELECT FROM extraction_queue") == []
    for each in (source, made):
        assert (await writer.record(each)).status == REDACTED


async def test_what_arrives_meanwhile_is_purged_or_kept_out(writer: Writer, dsn: str) -> None:
    """AU-2: a purge waits for writes under way, and selects what they wrote; who writes during it waits."""
    first, other = about_anna()[:2]
    await writer.record(first)
    connection = await asyncpg.connect(dsn)
    transaction = connection.transaction()
    await transaction.start()
    # A writer under way: it shares the namespace.
    await connection.execute("SELECT pg_advisory_xact_lock_shared($1)", namespace_lock_key(NAMESPACE))
    purging = asyncio.create_task(purge(writer, subject=typed("person:anna")))
    await waiting(dsn, 1)
    late = asyncio.create_task(writer.record(other))
    again = asyncio.create_task(writer.record(first))
    await waiting(dsn, 2)
    await transaction.rollback()
    await connection.close()
    assert counts(await purging)["observations"] == 1
    assert (await late).status == 2
    assert (await again).status == REDACTED
    assert await stored(writer) == {observation_id(other)}


async def waiting(dsn: str, number: int) -> None:
    """Waits until so many wait for an advisory lock."""
    here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
    sql = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = {here}"
    async with asyncio.timeout(60):
        while (await query(dsn, sql))[0]["count"] < number:  # noqa: ASYNC110 - only Postgres knows
            await asyncio.sleep(0.01)


# --- RollbackSource --------------------------------------------------------------------------------------------------


async def rollback(writer: Writer, since: Any, **fields: Any) -> pb.RollbackSourceResponse:
    request = pb.RollbackSourceRequest(namespace=NAMESPACE, system="test", **fields)
    request.recorded_from.FromDatetime(since)
    return await writer.stub.RollbackSource(request)


def poison() -> list[Observation]:
    """What went wrong: a new value that retires an old one, a retraction, a description, and things of its own."""
    old, kept = fact("person:a", "AT", "city:x"), fact("person:a", "LIKES", "tea")
    return [
        observation("p1", fact("person:a", "AT", "city:y", valid_from=at(5), supersedes=[fact_id(old)]), minutes=9),
        observation("p2", Assertion(retraction=FactRetraction(fact_id=fact_id(kept), valid_to=at(3))), minutes=9),
        observation("p3", entity("person:a", title="Poisoned"), article("doc:bad", "bad words"), minutes=9),
    ]


async def test_a_source_is_un_learnt_as_a_set(writer: Writer, dsn: str) -> None:
    """AU-4: the state is that of before; the preview says what is then done; the audit has it, with a receipt."""
    good = [
        observation(
            "1", entity("person:a", title="Anna"), fact("person:a", "AT", "city:x"), fact("person:a", "LIKES", "tea")
        ),
        observation("2", entity("doc:1", title="Doc"), system="other"),
    ]
    await writer.record_all(*good)
    before = await state(dsn)
    [(since,)] = [tuple(row.values()) for row in await query(dsn, "SELECT clock_timestamp()")]
    await writer.record_all(*poison())
    later = observation("o", entity("person:b"), system="other")
    await writer.record(later)
    poisoned = await state(dsn)

    preview = await rollback(writer, since, dry_run=True)
    assert await state(dsn) == poisoned
    assert not preview.HasField("receipt")
    done = await rollback(writer, since, reason="bad extractor")
    assert done.summary == preview.summary
    summary = done.summary
    # Anna, city:y and doc:bad; what was superseded, what was retracted, and the new one.
    assert (summary.observations, summary.entities, summary.facts, summary.chunks) == (3, 3, 3, 1)
    assert {"person:a", "city:y", "doc:bad", observation_id(poison()[0])} <= set(summary.sample)
    assert done.receipt.reason == "bad extractor"

    await purge(writer, observation_id=observation_id(later))
    assert await state(dsn) == before
    rows = await query(dsn, "SELECT action, hash FROM audit_events ORDER BY sequence")
    assert [row["action"] for row in rows] == ["rollback_source", "purge"]
    assert rows[0]["hash"] == done.receipt.audit_hash


async def test_again_there_is_nothing_to_take_back(writer: Writer, dsn: str) -> None:
    """AU-4: nor of other streams, nor before the moment."""
    [(since,)] = [tuple(row.values()) for row in await query(dsn, "SELECT clock_timestamp()")]
    await writer.record_all(*poison())
    assert (await rollback(writer, since, stream="s")).summary.observations == 0
    assert (await rollback(writer, since)).summary.observations == 3
    assert (await rollback(writer, since)).summary.observations == 0


async def test_a_corrected_delivery_is_taken(writer: Writer, dsn: str) -> None:
    """AU-4, OB-3: the same content stays out, before and after its correction; other content is stored."""
    bad, good = observation("1", content="bad"), observation("1", content="good")
    [(since,)] = [tuple(row.values()) for row in await query(dsn, "SELECT clock_timestamp()")]
    await writer.record(bad)
    await rollback(writer, since)
    assert [(each.duplicate, each.status) for each in [await writer.record(one) for one in (bad, good, bad, good)]] == [
        (True, REDACTED),
        (False, 2),
        (True, REDACTED),
        (True, 2),
    ]


async def test_what_was_redacted_has_no_effect_to_take_back(writer: Writer, dsn: str) -> None:
    """AU-4, AU-2: it keeps its identity."""
    said = observation("1", content="text")
    [(since,)] = [tuple(row.values()) for row in await query(dsn, "SELECT clock_timestamp()")]
    await writer.record(said)
    await writer.stub.RedactObservation(
        pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
    )
    assert (await rollback(writer, since)).summary.observations == 0
    assert await stored(writer) == {observation_id(said)}


async def test_the_moment_must_be_one(writer: Writer) -> None:
    """OP-2."""
    async with refused(INVALID, "INVALID_FIELD") as paths:
        request = pb.RollbackSourceRequest(namespace=NAMESPACE, system="test")
        request.recorded_from.seconds = 10**15
        await writer.stub.RollbackSource(request)
    assert paths == ["recorded_from"]
