"""Projection of episodes and memory records (EN-3, EN-4, EN-7)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from services.writer.projection.merge import merge_entity
from services.writer.projection.rows import Projection
from tests.unit.projecting import at, projected, the_entity

ALICE = {"type": "person", "id": "alice"}
SKILL = {
    "applies_when": ["a release is due", "tests are green"],
    "goal": "ship",
    "steps": ["build", "deploy"],
    "constraints": ["not on Fridays"],
    "tools": ["kubectl"],
    "expected_outcome": ["pods are ready"],
    "failure_modes": ["image is missing: build again"],
    "priority": 7,
}


def record(**fields: Any) -> dict[str, Any]:
    return {"record": {"entity": {"key": "r"}, "summary": "How to ship", **fields}}


def attributes(found: Projection, key: str) -> dict[str, Any]:
    return json.loads(merge_entity(None, [the_entity(found, key)]).attributes)


def links(found: Projection) -> set[tuple[str, str, str]]:
    return {(link.source_key, link.relation, link.target_key) for link in found.links}


def test_skill() -> None:
    """EN-4: every field is legible in its text and structured in its attributes."""
    found = projected(record(skill=SKILL))
    [passage] = found.passages
    assert (passage.kind, passage.owner_key, passage.owner_kind, passage.title) == (4, "r", "skill", "")
    assert passage.text == (
        "How to ship\nGoal: ship\nApplies when:\n- a release is due\n- tests are green\nSteps:\n1. build\n2. deploy\n"
        "Constraints:\n- not on Fridays\nTools:\n- kubectl\nExpected outcome:\n- pods are ready\n"
        "Failure modes:\n- image is missing: build again\nPriority: 7"
    )
    assert attributes(found, "r") == SKILL
    assert the_entity(found, "r").fields["title"] == "How to ship"


@pytest.mark.parametrize(
    ("body", "kind", "lines"),
    [
        (
            {"reflection": {"trigger": "outage", "evidence": ["log"], "lesson": "test", "applicability": "db"}},
            "reflection",
            ["Trigger: outage", "Evidence:", "- log", "Lesson: test", "Applicability: db"],
        ),
        (
            {"preference": {"holder": {"typed": ALICE}, "topic": "style", "value": "short"}},
            "preference",
            ["Holder: alice", "Topic: style", "Value: short"],
        ),
        (
            {"rule": {"text": "Ask first", "scope": 2, "holder": "qa"}},
            "rule",
            ["Rule: Ask first", "Scope: role", "Holder: qa"],
        ),
        (
            {"skill": {"applies_when": ["x"], "goal": "g", "steps": ["s"]}},
            "skill",
            ["Goal: g", "Applies when:", "- x", "Steps:", "1. s"],
        ),
    ],
)
def test_texts(body: dict[str, Any], kind: str, lines: list[str]) -> None:
    """EN-4: what is not said has no line."""
    found = projected(record(**body))
    [passage] = found.passages
    assert passage.text.splitlines() == ["How to ship", *lines]
    assert the_entity(found, "r").fields["kind"] == passage.owner_kind == kind


def test_envelope() -> None:
    """EN-4: interval, status, importance, labels and links are the record's."""
    found = projected(
        record(
            rule={"text": "t", "scope": "RULE_SCOPE_TEMPORARY"},
            scopes=["project:x"],
            confidence=0.5,
            importance="IMPORTANCE_CRITICAL",
            valid_from=at("2026-08-02T00:00:00Z"),
            valid_to=at("2026-08-01T00:00:00Z"),
            expires_at=at("2026-09-01T00:00:00Z"),
            entities=[{"key": "m"}, {"key": "m"}],
            derived_from=[{"key": "obs-1"}],
            provenance={"extracted_by": "model-1"},
            status="STATUS_DRAFT",
        ),
        scopes=["role:a"],
    )
    [passage] = found.passages
    assert (passage.valid_from, passage.valid_to) == (
        datetime(2026, 8, 2, tzinfo=UTC),
        datetime(2026, 8, 1, tzinfo=UTC),
    )
    assert passage.expires_at == datetime(2026, 9, 1, tzinfo=UTC)
    assert (passage.status, passage.importance, passage.scopes) == (2, 4, ("project:x", "role:a"))
    assert (passage.occurred_at, passage.observation_id) == (found.occurred_at, found.observation_id)
    assert links(found) == {("r", "MENTIONS", "m"), ("r", "DERIVED_FROM", "obs-1")}
    fields = the_entity(found, "r").fields
    assert (fields["status"], fields["importance"], fields["confidence"]) == (2, 4, 0.5)
    assert b"model-1" in fields["provenance"]
    assert attributes(found, "r") == {
        "text": "t",
        "scope": "TEMPORARY",
        "valid_from": "2026-08-02T00:00:00Z",
        "valid_to": "2026-08-01T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "record.body"),
        ({"rule": {"text": "t"}}, "record.rule.scope"),
        ({"rule": {"text": "t", "scope": "RULE_SCOPE_ROLE"}}, "record.rule.holder"),
        ({"rule": {"text": "t", "scope": "RULE_SCOPE_AGENT"}}, "record.rule.holder"),
        ({"rule": {"text": "t", "scope": "RULE_SCOPE_GLOBAL", "holder": "qa"}}, "record.rule.holder"),
        ({"rule": {"text": "t", "scope": "RULE_SCOPE_TEMPORARY"}}, "record.valid_to"),
        ({"skill": SKILL, "status": "STATUS_SUPERSEDED"}, "record.status"),
        ({"skill": SKILL, "valid_to": {"seconds": 10**12}}, "record.valid_to"),
        ({"skill": SKILL, "entities": [{"key": "a"}, {}]}, "record.entities[1]"),
        ({"preference": {"topic": "t", "value": "v"}}, "record.preference.holder"),
    ],
)
def test_records_that_are_refused(fields: dict[str, Any], path: str) -> None:
    """EN-7, OB-4: with the field's path; nothing of it is projected."""
    found = projected(record(**fields))
    assert [each.field for each in found.failures] == [f"assertions[0].{path}"]
    assert not found.entities
    assert not found.passages


def test_rules_are_tagged_for_whom_they_hold() -> None:
    """EN-7: the reader filters by scope and holder."""
    [passage] = projected(record(rule={"text": "t", "scope": "RULE_SCOPE_ROLE", "holder": "qa"})).passages
    assert json.loads(passage.meta) == {"rule_scope": "ROLE", "rule_holder": "qa"}


def test_a_record_is_written_as_a_whole() -> None:
    """EN-1: a field that the newer version does not have is not left over from the older."""
    older = the_entity(projected(record(skill=SKILL)), "r")
    newer = the_entity(
        projected(
            record(skill={"applies_when": ["x"], "goal": "g", "steps": ["s"]}), occurred_at=at("2026-09-01T00:00:00Z")
        ),
        "r",
    )
    merged = json.loads(merge_entity(None, [older, newer]).attributes)
    assert merged == {"applies_when": ["x"], "goal": "g", "steps": ["s"], "priority": 0}


def test_the_last_of_two_versions_in_one_observation() -> None:
    """EN-1: pieces of two versions do not mix."""
    found = projected(record(skill=SKILL), record(rule={"text": "t", "scope": 1}))
    assert [passage.text for passage in found.passages] == ["How to ship\nRule: t\nScope: global"]


def test_a_very_long_record_loses_nothing() -> None:
    """EN-4: its text is cut where one row could not hold it."""
    steps = ["x" * 8000] * 200
    found = projected(record(skill={**SKILL, "steps": steps}))
    assert [passage.ordinal for passage in found.passages] == list(range(len(found.passages)))
    assert all(len(passage.text.encode()) <= 131_072 for passage in found.passages)
    assert "".join(passage.text for passage in found.passages).count("x" * 8000) == 200


def test_keys_of_their_own() -> None:
    """EN-3, EN-4: by the observation and the assertion's index."""
    episode = {"episode": {"summary": "s", "action": "a"}}
    found = projected(episode, {"record": {"summary": "s", "rule": {"text": "t", "scope": 1}}}, episode)
    assert [passage.owner_key for passage in found.passages] == [
        f"episode:{found.observation_id}.0",
        f"rule:{found.observation_id}.1",
        f"episode:{found.observation_id}.2",
    ]


def test_episode() -> None:
    """EN-3: actor, action, target, result, time, context, artifacts, related entities; an event has a time."""
    found = projected(
        {
            "episode": {
                "entity": {"key": "e"},
                "summary": "Tests failed",
                "actor": {"typed": ALICE},
                "action": "ran_tests",
                "target": {"key": "repo:alpha"},
                "result": "failed",
                "event_at": at("2026-08-01T10:00:00+03:00"),
                "context": '{"branch": "main", "n": 9007199254740993}',
                "artifacts": ["https://ci/1"],
                "related": [{"key": "task:1"}],
                "importance": 3,
                "confidence": 0.5,
            }
        }
    )
    [passage] = found.passages
    assert passage.text == (
        "Tests failed\nWhen: 2026-08-01T07:00:00Z\nWho: alice\nAction: ran_tests\nTarget: alpha\nResult: failed\n"
        'Context: {"branch":"main","n":9007199254740993}\nRelated:\n- 1\nArtifacts:\n- https://ci/1'
    )
    assert (passage.kind, passage.owner_kind, passage.author_key) == (4, "episode", "person:alice")
    assert passage.valid_from == datetime(2026, 8, 1, 7, tzinfo=UTC)
    assert links(found) == {("e", "MENTIONS", key) for key in ("person:alice", "repo:alpha", "task:1")}
    assert attributes(found, "e") == {
        "actor": "person:alice",
        "action": "ran_tests",
        "target": "repo:alpha",
        "result": "failed",
        "event_at": "2026-08-01T07:00:00Z",
        "context": {"branch": "main", "n": 9007199254740993},
        "artifacts": ["https://ci/1"],
        "related": ["task:1"],
    }


def test_an_episode_takes_actor_and_time_from_its_observation() -> None:
    """EN-3: where it does not say them."""
    found = projected({"episode": {"entity": {"key": "e"}, "summary": "s", "action": "a"}}, actor=ALICE)
    assert attributes(found, "e") == {"actor": "person:alice", "action": "a", "event_at": "2026-08-07T23:30:00Z"}
    assert found.passages[0].valid_from == found.occurred_at
