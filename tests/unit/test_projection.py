"""Projection of an observation as a whole: its own rows, failures beside successes, and purity."""

from datetime import UTC, datetime
from typing import Any

import pytest

from services.writer.projection.merge import merge_entity
from services.writer.projection.passages import embedded_text, embedding_hash, entity_passage
from services.writer.projection.project import project
from services.writer.projection.rows import Failure, Stamp
from tests.unit.projecting import at, observed, projected, the_entity

ALICE = {"type": "person", "id": "alice"}
NAMED_ALICE = {"key": "person:alice"}
FACT = {"subject": NAMED_ALICE, "predicate": "WORKS_ON", "object": {"entity": {"key": "project:alpha"}}}
OCCURRED = datetime(2026, 8, 7, 23, 30, tzinfo=UTC)


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def test_content_becomes_a_document_of_the_observation() -> None:
    """OB-1, DO-3: the observation is an entity, and its content is searchable under who and when."""
    found = projected(
        content="Server\r\nfell\u0000down".replace("\u0000", " "), actor=ALICE, scopes=["b:2", "a:1", "b:2"]
    )
    [document] = found.documents
    [passage] = document.passages
    entity = the_entity(found, found.observation_id)
    assert document.body == passage.text == "Server\r\nfell down"
    assert document.entity_key == passage.owner_key == found.observation_id
    assert entity.fields["kind"] == passage.owner_kind == "observation"
    assert (passage.kind, passage.ordinal, passage.title, passage.heading) == (1, 0, "[2026-08-07] alice:", "")
    assert (passage.source_system, passage.source_stream, passage.author_key) == ("jira", "ops", "person:alice")
    assert (passage.occurred_at, passage.scopes) == (OCCURRED, ("a:1", "b:2"))
    assert passage.embedding_hash == embedding_hash("[2026-08-07] alice:", "", passage.text)


@pytest.mark.parametrize(
    ("parties", "title"),
    [
        ({"actor": ALICE, "subject": {"type": "task", "id": "T-1"}}, "[2026-08-07] alice:"),
        ({"subject": {"type": "task", "id": "T-1"}}, "T-1"),
        ({}, ""),
    ],
)
def test_title_of_content(parties: dict[str, Any], title: str) -> None:
    """DO-3: who said it and when, else the subject, else nothing: what content of nobody is titled is noise."""
    assert projected(content="x", **parties).documents[0].passages[0].title == title


def test_actor_subject_and_trace_are_named_and_linked() -> None:
    """EN-2, DO-7: placeholders for all; MENTIONS to the subject, IN_TRACE to the trace."""
    found = projected(content="x", actor=ALICE, subject={"type": "task", "id": "T-1"}, trace_id="run 7")
    assert {(write.key, write.default_kind) for write in found.entities if not write.described} == {
        ("person:alice", "person"),
        ("task:T-1", "task"),
        ("trace:run 7", "trace"),
    }
    assert {(link.source_key, link.relation, link.target_key) for link in found.links} == {
        (found.observation_id, "MENTIONS", "task:T-1"),
        (found.observation_id, "IN_TRACE", "trace:run 7"),
    }


def test_without_content_and_trace_there_is_no_entity_of_the_observation() -> None:
    """OB-1: only its parties are named."""
    found = projected(actor=ALICE)
    assert [(write.key, write.described) for write in found.entities] == [("person:alice", False)]
    assert not found.documents
    assert not found.links


@pytest.mark.parametrize("content", [" \n", "\u200b"])
def test_blank_content_is_kept_and_not_searched(content: str) -> None:
    """OB-8, EM-4: byte for byte in the document, no passage."""
    [document] = projected(content=content).documents
    assert document.body == content
    assert not document.passages


def test_failures_leave_the_others_alone() -> None:
    """OB-4: each failure names its index, reason and field; nothing of it is projected."""
    found = projected(
        {"entity": {"entity": {"key": "a"}, "status": "STATUS_STALE"}},
        {"fact": FACT},
        {},
        {"fact": {**FACT, "valid_from": {"seconds": 300_000_000_000}}},
        {"entity": {"entity": {"key": "b"}, "attributes": "[]"}},
        {"link": {"source": {"key": "c"}, "relation": "PART_OF", "reference": {"kind": "page", "ref": "p"}}},
    )
    assert [(each.index, each.code, each.reason, each.field) for each in found.failures] == [
        (0, 3, "INVALID_FIELD", "assertions[0].entity.status"),
        (2, 3, "INVALID_FIELD", "assertions[2].assertion"),
        (3, 3, "INVALID_FIELD", "assertions[3].fact.valid_from"),
        (4, 3, "INVALID_FIELD", "assertions[4].entity.attributes"),
    ]
    assert {write.key for write in found.entities} == {"person:alice", "project:alpha", "c"}
    assert len(found.facts) == len(found.claims) == 1


@pytest.mark.parametrize(
    ("assertion", "field"),
    [
        ({"entity": {"entity": {"key": "a"}, "attributes": deep(5_000)}}, "entity.attributes"),
        ({"document": {"entity": {"key": "a"}, "text": "x", "meta": deep(2_000)}}, "document.meta"),
        ({"episode": {"summary": "s", "action": "a", "context": deep(10_000)}}, "episode.context"),
        ({"fact": {**FACT, "object": {"literal": {"json": deep(900)}}}}, "fact.object.literal.json"),
        ({"fact": {**FACT, "attributes": deep(300)}}, "fact.attributes"),
    ],
)
def test_deep_json_is_refused_and_crashes_nothing(assertion: dict[str, Any], field: str) -> None:
    """OB-4: the depth that is kept is fixed and said."""
    [failure] = projected(assertion, {"fact": FACT}).failures
    assert failure == Failure(0, 3, "INVALID_FIELD", f"assertions[0].{field}", "must not be nested deeper than 200")


def test_json_as_deep_as_allowed_survives_merging() -> None:
    """OB-4: what is accepted can be read again."""
    found = projected({"episode": {"entity": {"key": "e"}, "summary": "s", "action": "a", "context": deep(200)}})
    state = merge_entity(None, [the_entity(found, "e")])
    again = merge_entity(state, [the_entity(found, "e")])
    assert deep(200) in again.attributes == state.attributes


@pytest.mark.parametrize("number", ["1e200000", "1e-200000", "1e99999999999999999999", "9" * 1300])
def test_numbers_that_no_column_holds_are_refused(number: str) -> None:
    """OB-4, OB-6: they would fail the transaction of their neighbours."""
    [failure] = projected({"entity": {"entity": {"key": "a"}, "attributes": f'{{"n": {number}}}'}}).failures
    assert failure.field == "assertions[0].entity.attributes"
    assert number not in failure.message


@pytest.mark.parametrize("reference", [{}, {"key": ""}, {"typed": {"type": "a"}}, {"key": "\u0958" * 333}])
def test_references_that_name_nothing_or_too_long_a_key(reference: dict[str, Any]) -> None:
    """EN-1: a key of more than 1,000 bytes, as NFC can make of a shorter one, fits no index."""
    [failure] = projected({"entity": {"entity": reference}}).failures
    assert failure.field == "assertions[0].entity.entity"


def test_stamps_order_the_observation_before_its_assertions() -> None:
    """EN-1: by time, observation id and index."""
    found = projected({"entity": {"entity": {"key": "a"}, "title": "x"}}, content="x")
    us = 1786145400000000
    assert the_entity(found, "a").stamp == Stamp(us, found.observation_id, 0)
    assert the_entity(found, found.observation_id).stamp == Stamp(us, found.observation_id, -1)


def test_projection_is_pure() -> None:
    """OB-7: the same observation, the same value; the message is not touched."""
    observation = observed({"fact": FACT}, content="text " * 1000, actor=ALICE, scopes=["b:1", "a:1"])
    before = observation.SerializeToString(deterministic=True)
    assert project("demo", observation, "obs-1") == project("demo", observation, "obs-1")
    assert observation.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T00:00:00Z"])
def test_edges_of_the_calendar(moment: str) -> None:
    """OB-5: every year that can be said can be projected and merged."""
    found = projected({"fact": FACT}, content="x", occurred_at=at(moment), actor=ALICE)
    [passage] = found.documents[0].passages
    assert passage.title == f"[{moment[:10]}] alice:"
    assert merge_entity(None, found.entities[:1]).last_seen_at == found.occurred_at


def test_an_observation_outside_the_calendar() -> None:
    """OB-5: said in clear words."""
    with pytest.raises(ValueError, match="years 0001 to 9999"):
        project("demo", observed(occurred_at={"seconds": -(10**12)}), "obs-1")


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [("T", "H", "T — H\nx"), ("T", "", "T\nx"), ("", "H", "H\nx"), ("", "", "x")],
)
def test_embedded_text(title: str, heading: str, expected: str) -> None:
    """DO-3: title and heading as far as there are any."""
    assert embedded_text(title, heading, "x") == expected


def test_an_observation_has_no_passage_of_its_title() -> None:
    """DO-3: its content shows it already."""
    found = projected(content="x", actor=ALICE)
    assert entity_passage("demo", merge_entity(None, [the_entity(found, found.observation_id)])) is None
