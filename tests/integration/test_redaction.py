"""RedactObservation (AU-2): the content goes, the identity stays, and what rested on it follows (FA-8)."""

import json
from datetime import UTC

import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.observation_pb2 import Assertion, ObservationStatus
from palimpsest.v1.reference_pb2 import Provenance

from tests.integration.sweeping import tables_with as tables_with_bytes
from tests.integration.writing import (
    NAMESPACE,
    article,
    at,
    claim,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    typed,
)

CANARY = "канарейка7731"
REDACTED = ObservationStatus.OBSERVATION_STATUS_REDACTED


async def redact(writer, said, **fields):
    """Redacts an observation; the response."""
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said), **fields)
    return await writer.stub.RedactObservation(request)


async def tables_with(writer, text):
    """The tables in which a text is found anywhere."""
    names = await writer.rows(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"
    )
    found = set()
    for name in (row["relname"] for row in names):
        row = await writer.row(f"SELECT count(*) FROM {name} AS t WHERE position($1 IN t::text) > 0", text)
        if row["count"]:
            found.add(name)
    return found


async def test_content_is_gone_from_every_table(writer):
    """AU-2, fault 23: texts, former versions, the queue and the message; what another said stays."""
    first = observation(
        "1", entity("person:a", title="Alice"), entity("doc:1", title="D"), article("doc:1", "# Old\n\nold")
    )
    said = observation(
        "2",
        entity("person:a", title=CANARY, aliases=[CANARY], attributes=json.dumps({"a": CANARY})),
        article("doc:1", f"# New\n\n{CANARY}"),
        link("person:a", "LINKS_TO", f"thing:{CANARY}"),
        claim("person:a", "MENTIONS", "issue", CANARY),
        content=CANARY,
        data=json.dumps({"d": CANARY}),
        provenance=Provenance(uri=f"file:{CANARY}"),
        minutes=1,
    )
    later = observation("3", entity("person:a", kind="human"), minutes=2)
    await writer.record_all(first)
    await writer.record_all(said)
    await writer.record_all(later)
    assert {"observations", "entities", "entity_versions", "passages", "links"} <= await tables_with(writer, CANARY)

    response = await redact(writer, said, reason="asked to")

    assert await tables_with(writer, CANARY) == set()
    assert (await writer.row("SELECT title FROM entities WHERE natural_key = 'person:a'"))["title"] == "Alice"
    assert [row["text"] for row in await writer.rows("SELECT text FROM passages WHERE kind = 1")] == ["# Old\n\nold"]
    [row] = await writer.rows("SELECT * FROM observations WHERE observation_id = $1", observation_id(said))
    assert (row["content"], row["data"], row["status"]) == ("", None, REDACTED)
    receipt = response.receipt
    assert response.consistency_token
    assert (receipt.reason, receipt.audit_hash, receipt.erased_at.ToDatetime()) == (
        "asked to",
        (await writer.row("SELECT hash FROM audit_events"))["hash"],
        row["redacted_at"].replace(tzinfo=None),
    )
    # The observation as an entity and the link's target; the document and the content, which had waited for vectors.
    assert {name: count for name, count in receipt.counts.items() if count} == {
        "observations": 1,
        "entities": 2,
        "chunks": 2,
        "links": 1,
        "queue": 2,
    }


async def test_redaction_is_idempotent_and_the_same_event_stays_a_duplicate(writer):
    """AU-2, OB-3: again it erases nothing; the event sent again answers REDACTED and brings nothing back."""
    said = observation("1", entity("person:a", title="Alice"), content="text")
    await writer.record(said)
    first = (await redact(writer, said)).receipt
    again = (await redact(writer, said)).receipt
    assert (again.receipt_id, again.erased_at) == (first.receipt_id, first.erased_at)
    assert not any(again.counts.values())
    recorded = await writer.record(said)
    assert (recorded.duplicate, recorded.status) == (True, REDACTED)
    assert await writer.rows("SELECT FROM entities") == []


async def test_unknown_observation(writer):
    """AU-2: what is not stored is NOT_FOUND."""
    with pytest.raises(grpc.RpcError) as raised:
        await redact(writer, observation("unknown"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    assert details_of(raised.value).reason == "NOT_FOUND"


async def test_fact_without_evidence_leaves_search_and_stays_for_audit(writer):
    """FA-8: its evidence is struck; asserted anew it is a fact like any other."""
    stated = fact("person:a", "LIKES", "tea", confidence=0.9, attributes='{"x": 1}')
    said, other = (
        observation("1", stated),
        observation("2", fact("person:a", "LIKES", "tea", confidence=0.4), minutes=1),
    )
    await writer.record_all(said, other)
    await redact(writer, said)
    row = await writer.row("SELECT evidence_lost, confidence, attributes FROM facts")
    assert (row["evidence_lost"], row["confidence"], row["attributes"]) == (False, 0.4, "{}")

    await redact(writer, other)
    assert (await writer.row("SELECT evidence_lost FROM facts"))["evidence_lost"]
    assert await writer.rows("SELECT FROM fact_evidence") == []
    assert await writer.rows("SELECT FROM passages") == []

    await writer.record(observation("3", fact("person:a", "LIKES", "tea", confidence=0.2), minutes=2))
    row = await writer.row("SELECT evidence_lost, confidence FROM facts")
    assert (row["evidence_lost"], row["confidence"]) == (False, 0.2)
    assert len(await writer.rows("SELECT FROM passages WHERE kind = 2 AND NOT hidden")) == 1


async def test_statements_about_facts_vanish(writer):
    """FA-8, FA-5, FA-6: a supersession and a retraction take effect no more; what was refused for one is accepted."""
    old, new = fact("person:a", "AT", "city:x"), fact("person:a", "AT", "city:y", valid_from=at(5))
    replacing = fact("person:a", "AT", "city:y", valid_from=at(5), supersedes=[fact_id(old)])
    returning = fact("person:a", "AT", "city:x", supersedes=[fact_id(new)])
    await writer.record_all(observation("1", old), observation("2", new, minutes=1))
    first, cycle = observation("3", replacing, minutes=2), observation("4", returning, minutes=3)
    ended = observation("5", Assertion(retraction=FactRetraction(fact_id=fact_id(old), valid_to=at(2))), minutes=4)
    await writer.record_all(first, cycle, ended)
    query = "SELECT valid_to, superseded_by FROM facts WHERE fact_id = $1"
    assert (await writer.row(query, fact_id(old)))["superseded_by"] == [fact_id(new)]

    await redact(writer, ended)
    assert (await writer.row(query, fact_id(old)))["valid_to"] == at(5).ToDatetime(UTC)
    await redact(writer, first)
    row = await writer.row(query, fact_id(old))
    assert (row["valid_to"], row["superseded_by"]) == (None, [])
    assert (await writer.row(query, fact_id(new)))["superseded_by"] == [fact_id(old)]
    status = "SELECT status FROM observations WHERE observation_id = $1"
    assert (await writer.row(status, observation_id(cycle)))["status"] == ObservationStatus.OBSERVATION_STATUS_PROCESSED


async def test_actor_and_trace_remain_with_the_observation_only(writer):
    """AU-2: the identity stays readable; entities that nothing else names are gone."""
    said = observation("1", content="text", actor=typed("person:a"), trace_id="t1")
    await writer.record(said)
    await redact(writer, said)
    assert await writer.rows("SELECT FROM entities") == []
    row = await writer.row("SELECT actor_key, trace_id, content_hash FROM observations")
    assert (row["actor_key"], row["trace_id"]) == ("person:a", "t1")
    assert row["content_hash"]


async def test_vectors_go_with_the_text(embedding_writer):
    """AU-2, EM-4: no vector of what was redacted remains."""
    writer = embedding_writer
    said = observation("1", content="redact me")
    await writer.record(said, wait_for_embedding=True)
    [space] = await writer.rows("SELECT table_name FROM embedding_spaces")
    assert len(await writer.rows(f"SELECT FROM {space['table_name']}")) == 1
    receipt = (await redact(writer, said)).receipt
    assert receipt.counts["vectors"] == 1
    assert await writer.rows(f"SELECT FROM {space['table_name']}") == []


@pytest.mark.parametrize("described_first", [True, False])
async def test_an_entity_that_others_only_name_is_a_placeholder_again(writer, described_first):
    """FA-8, EN-2, OB-7: as if the description had never been sent, whichever came first."""
    said = observation("1", entity("person:a", title=CANARY, kind="human"))
    naming = observation("2", fact("person:a", "KNOWS", "person:b"), minutes=1)
    for each in (said, naming) if described_first else (naming, said):
        await writer.record_all(each)
    await redact(writer, said)
    row = await writer.row("SELECT placeholder, title, kind FROM entities WHERE natural_key = 'person:a'")
    assert (row["placeholder"], row["title"], row["kind"]) == (True, "", "person")


async def test_what_a_snapshot_said_leaves_its_journal(writer):
    """AU-2, DO-6: the content is not kept for the next comparison either; that snapshot tells it anew."""
    head = pb.SnapshotHead(namespace=NAMESPACE, source="crm", scope="all", snapshot_id="s1", taken_at=at())
    items = pb.SnapshotItems(items=[pb.SnapshotItem(entity=entity("person:a", author=CANARY).entity)])
    parts = [pb.ReconcileSnapshotRequest(head=head), pb.ReconcileSnapshotRequest(items=items)]
    await writer.record(observation("1", entity("person:a", title="Alice")))
    await writer.stub.ReconcileSnapshot(iter(parts))
    assert "snapshot_items" in await tables_with_bytes(writer.dsn, CANARY)
    said = await writer.row("SELECT observation_id FROM observations WHERE kind = 'snapshot.item'")
    await writer.stub.RedactObservation(pb.RedactObservationRequest(namespace=NAMESPACE, **said))
    assert await tables_with_bytes(writer.dsn, CANARY) == set()
