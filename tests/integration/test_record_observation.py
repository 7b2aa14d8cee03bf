"""RecordObservation through a real server: what is stored, and that neither order nor repetition matters."""

import asyncio
import itertools
import json
from datetime import UTC, datetime

import grpc
import pytest
from palimpsest import ids
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.fact_pb2 import FactCorrection, FactRetraction
from palimpsest.v1.observation_pb2 import (
    OBSERVATION_STATUS_FAILED,
    OBSERVATION_STATUS_PARTIALLY_PROCESSED,
    OBSERVATION_STATUS_PROCESSED,
    Assertion,
)
from palimpsest.v1.reference_pb2 import STATUS_ARCHIVED, Permissions, SourceIdentity, Visibility

from services.writer.projection.supersession import ASSERTED, CORRECTED, RETRACTED, SUPERSEDED
from shared import consistency_token
from tests.integration.serving import detail, failure, fields, reason
from tests.integration.writing import (
    NAMESPACE,
    STATE,
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
    query,
    state,
    typed,
)

ENTITY = "SELECT * FROM entities WHERE natural_key = $1"
FACT = "SELECT * FROM facts WHERE fact_id = $1"


def retraction(fact: str, **said):
    return Assertion(retraction=FactRetraction(fact_id=fact, **said))


def correction(fact: str, replacement: Assertion | None = None):
    made = FactCorrection(fact_id=fact, reason="a slip")
    if replacement is not None:
        made.replacement.CopyFrom(replacement.fact)
    return Assertion(correction=made)


async def same_in_any_order(writer, *observations):
    """Records observations in each order, into an empty database each time; the state, which must be one. The last one
    stays."""
    seen = []
    for order in itertools.permutations(observations):
        await query(writer.dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")
        for each in order:
            await writer.record(each)
        seen.append(await state(writer.dsn))
    for other in seen[1:]:
        assert other == seen[0]
    return {table: [json.loads(row) for row in rows] for table, rows in seen[0].items()}


async def test_observation_is_kept_whole(writer):
    """OB-1, OB-8: every field is stored, text and data byte for byte."""
    said = observation(
        "7",
        entity("person:alice", title="Alice"),
        content="Ё\u00a0е\u0308 \u200bтекст\r\n",
        data='{ "n": 9007199254740993, "x": 1.10 }',
        actor=typed("person:bob"),
        subject=typed("task:1"),
        trace_id="t-1",
        scopes=["workspace:b", "project:a"],
    )
    said.source.stream = "s"
    said.source.revision = "r"
    recorded = await writer.record(said)
    row = await writer.row("SELECT *, data::text AS data_text FROM observations")
    assert row["observation_id"] == recorded.observation_id == observation_id(said)
    assert (row["source_system"], row["source_stream"], row["external_id"], row["revision"]) == ("test", "s", "7", "r")
    assert (row["content"], row["data_text"]) == (said.content, said.data)
    assert (row["actor_key"], row["subject_key"], row["trace_id"]) == ("person:bob", "task:1", "t-1")
    assert (row["restricting"], row["applies"]) == (["workspace:b"], ["project:a"])
    kept = said.__class__.FromString(row["message"])
    assert (kept.content, kept.data) == ("", "")
    kept.content, kept.data = said.content, said.data
    assert kept == said


async def test_answer(writer):
    """OB-4: the answer names what was written: entities sorted, facts in the order of their assertions."""
    first, second = fact("person:zoe", "KNOWS", "person:alice"), fact("person:alice", "LIKES", "tea")
    recorded = await writer.record(observation("1", first, second, first))
    assert recorded.status == OBSERVATION_STATUS_PROCESSED
    assert not recorded.duplicate
    assert list(recorded.entity_keys) == ["person:alice", "person:zoe"]
    assert list(recorded.fact_ids) == [fact_id(first), fact_id(second)]


async def test_consistency_token_covers_the_write(writer):
    """RE-12: the token lies at or behind the commit."""
    request = pb.RecordObservationRequest(namespace=NAMESPACE, observation=observation(content="x"))
    response = await writer.stub.RecordObservation(request)
    position = consistency_token.decode(response.consistency_token)
    [row] = await writer.rows("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS lsn")
    assert 0 < position.lsn <= row["lsn"]


async def test_duplicate_changes_nothing(writer):
    """OB-3: a repetition answers what is stored, status, failures and time included."""
    said = observation("1", fact("person:alice", "LIKES", "tea"), content="hello")
    first = await writer.record(said)
    before = await state(writer.dsn)
    again = await writer.record(said)
    assert again.duplicate
    assert (again.observation_id, again.status) == (first.observation_id, first.status)
    assert again.recorded_at == first.recorded_at
    assert not again.entity_keys
    assert not again.fact_ids
    assert await state(writer.dsn) == before


async def test_equal_content_without_external_id_is_one_observation(writer):
    """OB-2: without an external id the identity is the content."""
    said = observation("", content="hello")
    assert not (await writer.record(said)).duplicate
    assert (await writer.record(said)).duplicate
    assert not (await writer.record(observation("", content="hello!"))).duplicate


async def test_same_identity_with_other_content_is_refused(writer):
    """OB-3: ALREADY_EXISTS with both hashes, and nothing changes; under a revision it is another observation."""
    await writer.record(observation("1", content="old"))
    before = await state(writer.dsn)
    changed = observation("1", entity("person:new"), content="new")
    error = await failure(writer.record(changed))
    assert error.code() is grpc.StatusCode.ALREADY_EXISTS
    assert reason(error) == "OBSERVATION_CONFLICT"
    assert await state(writer.dsn) == before
    changed.source.revision = "2"
    assert not (await writer.record(changed)).duplicate


async def test_conflict_names_both_hashes(writer):
    """OB-3."""
    from google.rpc.error_details_pb2 import ErrorInfo

    old, new = observation("1", content="old"), observation("1", content="new")
    await writer.record(old)
    metadata = detail(await failure(writer.record(new)), ErrorInfo).metadata
    assert metadata["stored_hash"] == ids.content_hash(old)
    assert metadata["sent_hash"] == ids.content_hash(new)


async def test_failed_assertion_does_not_harm_the_others(writer):
    """OB-4: the failed one is named with index and reason, the others apply; the repetition repeats it."""
    said = observation("1", entity("person:alice", title="Alice"), entity("person:bob", attributes="[1]"), content="c")
    for recorded in (await writer.record(said), await writer.record(said)):
        assert recorded.status == OBSERVATION_STATUS_PARTIALLY_PROCESSED
        [failed] = recorded.failed_assertions
        assert (failed.index, failed.error.code) == (1, 3)
        assert failed.error.violations[0].field == "observation.assertions[1].entity.attributes"
    assert [
        row["natural_key"] for row in await writer.rows("SELECT natural_key FROM entities WHERE kind = 'person'")
    ] == ["person:alice"]


async def test_all_assertions_failed(writer):
    """OB-4: then the status is FAILED, and the observation is stored and searchable all the same."""
    recorded = await writer.record(observation("1", entity("person:bob", attributes="[1]"), content="searchable"))
    assert recorded.status == OBSERVATION_STATUS_FAILED
    assert await writer.rows("SELECT FROM passages WHERE tsv @@ to_tsquery('simple', 'searchable')")


@pytest.mark.parametrize(
    ("seconds", "nanos", "stored"),
    [
        (-62_135_596_800, 0, datetime(1, 1, 1, tzinfo=UTC)),
        (253_402_300_799, 999_999_999, datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        (1_709_164_800, 1_999, datetime(2024, 2, 29, 0, 0, 0, 1, tzinfo=UTC)),
    ],
)
async def test_times_at_the_edges(writer, seconds, nanos, stored):
    """OB-5: the years 1 and 9999 and a leap day are kept to the microsecond, everywhere."""
    said = observation("1", fact("person:alice", "LIKES", "tea"), content="c")
    said.occurred_at.seconds, said.occurred_at.nanos = seconds, nanos
    said.assertions[0].fact.valid_from.CopyFrom(said.occurred_at)
    before = datetime.now(UTC)
    recorded = await writer.record(said)
    row = await writer.row("SELECT * FROM observations")
    assert row["occurred_at"] == stored
    # As it is read back.
    assert said.__class__.FromString(row["message"]).occurred_at.nanos == stored.microsecond * 1_000
    assert (await writer.row("SELECT observed_at, valid_from FROM facts")) == {
        "observed_at": stored,
        "valid_from": stored,
    }
    assert row["recorded_at"] == recorded.recorded_at.ToDatetime(tzinfo=UTC) >= before.replace(microsecond=0)


async def test_bad_fields_are_named(writer):
    """OP-2: what fields alone cannot say is refused with the field's path."""
    said = observation("", content="c")
    said.source.revision = "2"
    error = await failure(writer.record(said))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, ["observation.source.revision"])
    said = observation("1", permissions=Permissions(visibility=Visibility.VISIBILITY_TEAM))
    assert fields(await failure(writer.record(said))) == ["observation.permissions.visibility_id"]


async def test_json_nested_deeply_is_refused(writer):
    """OP-2: not a fault of ours, whatever its depth."""
    error = await failure(writer.record(observation("1", data="[" * 900 + "]" * 900)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_permissions_become_labels(writer):
    """AC-5: they restrict the observation and what is projected from it."""
    permissions = Permissions(visibility=Visibility.VISIBILITY_TEAM, visibility_id="core", read_roles=["auditor"])
    await writer.record(observation("1", entity("person:alice", title="A"), permissions=permissions))
    await writer.record(
        observation("2", content="mine", permissions=Permissions(visibility=Visibility.VISIBILITY_PRIVATE))
    )
    assert (await writer.row(ENTITY, "person:alice"))["restricting"] == ["role:auditor", "workspace:core"]
    assert (await writer.row("SELECT restricting FROM passages WHERE text = 'mine'"))["restricting"] == [
        "principal:local"
    ]


async def test_latest_value_of_each_field_wins(writer):
    """EN-1, OB-7: by occurred_at, whatever the order of arrival."""
    said = (
        observation("1", entity("person:alice", title="Old", url="u1", attributes='{"a": 1, "b": 1}'), minutes=1),
        observation("2", entity("person:alice", title="New", attributes='{"a": 2}'), minutes=2),
        observation("3", entity("person:alice", author="third", attributes='{"b": null}'), minutes=3),
        observation("4", fact("person:alice", "LIKES", "tea"), minutes=4),
    )
    await same_in_any_order(writer, *said)
    row = await writer.row(ENTITY, "person:alice")
    assert (row["title"], row["url"], row["author"]) == ("New", "u1", "third")
    assert json.loads(row["attributes"]) == {"a": 2}
    assert row["last_seen_at"] == at(4).ToDatetime(tzinfo=UTC)


async def test_placeholder_is_filled(writer):
    """EN-2: the ends of a fact or link are placeholders until somebody describes them."""
    await writer.record(observation("1", fact("person:alice", "WORKS_ON", "project:alpha"), link("a", "PART_OF", "b")))
    assert {row["placeholder"] for row in await writer.rows("SELECT placeholder FROM entities")} == {True}
    await writer.record(observation("2", entity("project:alpha", title="Alpha"), minutes=-5))
    row = await writer.row(ENTITY, "project:alpha")
    assert (row["placeholder"], row["title"], row["kind"]) == (False, "Alpha", "project")


async def test_fact_asserted_again_gains_evidence(writer):
    """FA-1, FA-2: no second fact; the greatest confidence; other intervals are other facts."""
    weak, strong = (fact("person:alice", "LIKES", "tea", confidence=value) for value in (0.4, 0.9))
    await writer.record(observation("1", strong))
    await writer.record(observation("2", weak))
    await writer.record(observation("3", fact("person:alice", "LIKES", "tea", valid_from=at(9))))
    row = await writer.row(FACT, fact_id(weak))
    assert row["confidence"] == 0.9
    evidence = await writer.rows("SELECT confidence FROM fact_evidence WHERE fact_id = $1", fact_id(weak))
    assert sorted(each["confidence"] for each in evidence) == [0.4, 0.9]
    assert (await writer.row("SELECT count(*) FROM facts"))["count"] == 2


async def test_facts_fields(writer):
    """FA-3, FA-4: the best class of evidence, the earliest observation, labels, attributes and the asserted end."""
    said = fact("person:alice", "LIKES", "tea", valid_from=at(0), valid_to=at(60), attributes='{"k": "v"}', evidence=2)
    await writer.record(observation("1", said, minutes=5, scopes=["project:x"]))
    await writer.record(observation("2", fact("person:alice", "LIKES", "tea", valid_from=at(0)), minutes=9))
    row = await writer.row(FACT, fact_id(said))
    assert (row["evidence"], row["observed_at"]) == (4, at(5).ToDatetime(tzinfo=UTC))
    assert (row["valid_to"], row["closure"]) == (at(60).ToDatetime(tzinfo=UTC), ASSERTED)
    assert (row["applies"], json.loads(row["attributes"])) == (["project:x"], {"k": "v"})


async def test_supersession_closes_the_older_fact(writer):
    """FA-5, OB-7: at the newer one's start, linked both ways, whichever arrives first; nothing is hidden."""
    old = fact("person:alice", "WORKS_ON", "project:alpha", valid_from=at(0))
    new = fact("person:alice", "WORKS_ON", "project:beta", valid_from=at(60), supersedes=[fact_id(old)])
    said = []
    for namespace in ("order-0", "order-1"):
        # A fact's id contains its namespace.
        new.fact.supersedes[:] = [fact_id(old, namespace)]
        said = [observation("1", old), observation("2", new, minutes=60)]
        for each in said if namespace == "order-0" else reversed(said):
            await writer.record(each, namespace)
        row = await writer.row(FACT, fact_id(old, namespace))
        assert (row["valid_to"], row["closure"]) == (at(60).ToDatetime(tzinfo=UTC), SUPERSEDED)
        assert row["superseded_by"] == [fact_id(new, namespace)]
        assert (await writer.row(FACT, fact_id(new, namespace)))["supersedes"] == [fact_id(old, namespace)]
        passage = await writer.row("SELECT * FROM passages WHERE owner_key = $1", fact_id(old, namespace))
        assert (passage["valid_to"], passage["hidden"]) == (at(60).ToDatetime(tzinfo=UTC), False)


async def test_chain_and_fork_in_any_order(writer):
    """FA-5, OB-7: a chain of three with a fork ends in one state, whatever the order of arrival."""
    a, b = (fact("person:alice", "AT", f"city:{name}", valid_from=at(minute)) for name, minute in (("a", 0), ("b", 10)))

    def said(namespace):
        middle, fork, last = Assertion(), Assertion(), Assertion()
        middle.CopyFrom(b)
        middle.fact.supersedes.append(fact_id(a, namespace))
        fork.CopyFrom(fact("person:alice", "AT", "city:fork", valid_from=at(5), supersedes=[fact_id(a, namespace)]))
        last.CopyFrom(fact("person:alice", "AT", "city:c", valid_from=at(20), supersedes=[fact_id(b, namespace)]))
        return [observation(str(number), each, minutes=number) for number, each in enumerate((a, middle, fork, last))]

    ends = []
    for number, order in enumerate(itertools.permutations(range(4))):
        namespace = f"order-{number:02}"
        observations = said(namespace)
        for place in order:
            await writer.record(observations[place], namespace)
        rows = await writer.rows(
            "SELECT object_text, valid_to, closure, cardinality(superseded_by) AS successors FROM facts "
            "WHERE namespace = $1 ORDER BY object_text",
            namespace,
        )
        ends.append([tuple(row.values()) for row in rows])
    assert all(each == ends[0] for each in ends)
    moments = [at(minutes).ToDatetime(tzinfo=UTC) for minutes in (5, 20)]
    assert ends[0] == [
        ("city:a", moments[0], SUPERSEDED, 2),
        ("city:b", moments[1], SUPERSEDED, 1),
        ("city:c", None, 0, 0),
        ("city:fork", None, 0, 0),
    ]


async def test_cycle_is_refused_whatever_the_order(writer):
    """FA-5, OB-4, OB-7: the latest statement of a cycle is refused, also where it was stored first; its observation
    says so, and the fact itself is asserted."""
    for namespace, order in (("order-0", (0, 1, 2)), ("order-1", (2, 1, 0)), ("order-2", (1, 2, 0))):
        facts = [fact("person:alice", "AT", f"city:{name}", valid_from=at(minute)) for minute, name in enumerate("abc")]
        for place in range(3):
            facts[place].fact.supersedes.append(fact_id(facts[(place + 1) % 3], namespace))
        said = [observation(str(number), each, minutes=number) for number, each in enumerate(facts)]
        for place in order:
            await writer.record(said[place], namespace)
        answers = [await writer.record(each, namespace) for each in said]
        assert [answer.status for answer in answers] == [
            OBSERVATION_STATUS_PROCESSED,
            OBSERVATION_STATUS_PROCESSED,
            OBSERVATION_STATUS_FAILED,
        ]
        [failed] = answers[2].failed_assertions
        assert failed.index == 0
        assert failed.error.metadata == {
            "fact_id": fact_id(facts[2], namespace),
            "supersedes": fact_id(facts[0], namespace),
        }
        rows = await writer.rows("SELECT refused FROM fact_supersessions WHERE namespace = $1", namespace)
        assert sorted(row["refused"] for row in rows) == [False, False, True]
        assert (await writer.row(FACT, fact_id(facts[0], namespace)))["closure"] == 0


async def test_retraction_in_any_order(writer):
    """FA-6: an interval is closed without a successor, also before the fact arrives."""
    said = fact("person:alice", "WORKS_ON", "project:alpha", valid_from=at(0))
    for namespace, order in (("order-0", 1), ("order-1", -1)):
        ended = observation("2", retraction(fact_id(said, namespace)), minutes=30)
        for each in [observation("1", said), ended][::order]:
            await writer.record(each, namespace)
        row = await writer.row(FACT, fact_id(said, namespace))
        assert (row["valid_to"], row["closure"]) == (at(30).ToDatetime(tzinfo=UTC), RETRACTED)


@pytest.mark.parametrize("replaced", [True, False])
async def test_corrected_fact_is_hidden(writer, replaced):
    """FA-12: it was never true, so no answer about the present has it."""
    wrong = fact("person:alice", "BORN", "1980")
    right = fact("person:alice", "BORN", "1981") if replaced else None
    await writer.record(observation("2", correction(fact_id(wrong), right), minutes=5))
    await writer.record(observation("1", wrong))
    assert (await writer.row(FACT, fact_id(wrong)))["closure"] == CORRECTED
    assert (await writer.row("SELECT hidden FROM passages WHERE owner_key = $1", fact_id(wrong)))["hidden"]


async def test_claim_becomes_a_link(writer):
    """DO-7, OB-7: when its target arrives, before or after, its kind and source id in two observations."""
    said = (
        observation("1", claim("commit:1", "MENTIONS", "issue", "42", weight=0.5), minutes=1),
        observation("2", claim("commit:1", "MENTIONS", "issue", "42", hint="jira", weight=0.75), minutes=2),
        observation("3", entity("X-42", kind="issue"), minutes=3),
        observation("4", entity("X-42", source_id="42"), minutes=4),
    )
    await same_in_any_order(writer, *said)
    row = await writer.row("SELECT * FROM links")
    assert (row["source_key"], row["relation"], row["target_key"], row["weight"]) == (
        "commit:1",
        "MENTIONS",
        "X-42",
        0.75,
    )
    assert (await writer.row("SELECT count(*) FROM link_evidence"))["count"] == 2


async def test_claim_prefers_the_hinted_source(writer):
    """DO-7, OB-7: of several targets one that the hinted source speaks of, then the least key; whoever comes first."""
    said = (
        observation("1", claim("commit:1", "MENTIONS", "issue", "42", hint="jira")),
        observation("2", entity("A-42", kind="issue", source_id="42"), system="github"),
        observation("3", entity("B-42", kind="issue", source_id="42"), system="github"),
        observation("4", entity("B-42", title="B"), system="jira", minutes=1),
    )
    final = await same_in_any_order(writer, *said)
    assert [row["target_key"] for row in final["links"]] == ["B-42"]


async def test_claim_waits_again_when_its_target_leaves(writer):
    """DO-7, OB-7: an entity that gets another source id is the target no longer."""
    said = (
        observation("1", claim("commit:1", "MENTIONS", "issue", "42")),
        observation("2", entity("A-42", kind="issue", source_id="42"), minutes=1),
        observation("3", entity("A-42", source_id="43"), minutes=2),
    )
    final = await same_in_any_order(writer, *said)
    assert final["links"] == final["link_evidence"] == []


async def test_latest_text_wins(writer):
    """DO-2, OB-7: as a whole, by occurred_at; the chunks of the others are gone."""
    said = (
        observation("1", document("doc:1", "one", "two", "three"), minutes=1),
        observation("2", document("doc:1", "one", "deux"), minutes=2),
        observation("3", entity("doc:1", title="T", status=STATUS_ARCHIVED), minutes=1),
    )
    final = await same_in_any_order(writer, *said)
    chunks = [row for row in final["passages"] if row["kind"] == 1]
    assert sorted(row["text"] for row in chunks) == ["deux", "one"]
    assert all(row["hidden"] for row in chunks)


async def test_reader_never_sees_half(writer):
    """DO-8: body, chunks and links appear together."""
    sizes = []
    done = asyncio.Event()

    async def watch():
        while not done.is_set():
            sizes.append(
                tuple(
                    (
                        await writer.row(
                            "SELECT (SELECT count(*) FROM documents) AS d, "
                            "(SELECT count(*) FROM passages WHERE kind = 1) AS p, (SELECT count(*) FROM links) AS l"
                        )
                    ).values()
                )
            )

    watching = asyncio.create_task(watch())
    for number in range(8):
        await writer.record(
            observation(str(number), document(f"doc:{number}", "a", "b"), link(f"doc:{number}", "PART_OF", "set"))
        )
    done.set()
    await watching
    assert all(passages == 2 * documents and links == documents for documents, passages, links in sizes)
    assert sizes[-1] != (0, 0, 0)


async def test_namespaces_do_not_meet(writer):
    """NS-1: equal keys in two namespaces are two things, and a claim never finds the other's."""
    await writer.record(observation("1", entity("A-42", kind="issue", source_id="42")), "one")
    await writer.record(observation("1", claim("commit:1", "MENTIONS", "issue", "42")), "two")
    assert not await writer.rows("SELECT FROM links")
    rows = await writer.rows("SELECT namespace, natural_key FROM entities ORDER BY 1, 2")
    assert [tuple(row.values()) for row in rows] == [("one", "A-42"), ("two", "commit:1")]


async def test_article_is_cut_and_kept(writer):
    """DO-1, DO-2: the original whole, and its chunks, which joined are the original."""
    text = "# A\n\n" + "Слово за слово. " * 200 + "\n\n## B\n\nend"
    await writer.record(observation("1", article("doc:1", text, title="T")))
    assert (await writer.row("SELECT body FROM documents"))["body"] == text
    chunks = await writer.rows("SELECT text FROM passages WHERE kind = 1 ORDER BY ordinal")
    assert len(chunks) > 2
    assert "".join(chunk["text"] for chunk in chunks) == text


async def test_unnamed_source_is_refused(writer):
    """OB-1: an observation needs its source's system."""
    said = observation("1", content="c")
    said.source.CopyFrom(SourceIdentity())
    assert "observation.source" in fields(await failure(writer.record(said)))[0]
