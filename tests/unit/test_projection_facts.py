"""Projection of facts, retractions and corrections."""

from datetime import UTC, datetime
from typing import Any

import pytest
from palimpsest.v1.fact_pb2 import FactObject

from services.writer.projection.merge import merge_fact
from services.writer.projection.passages import fact_passage
from services.writer.projection.supersession import NEVER_TRUE
from tests.unit.projecting import at, projected

# The vectors of the contract's comment.
ALPHA_SINCE_AUGUST = "fact-a5f4d949926b82dc415e9343"
ALPHA = "fact-5d2a873c53a413714a13f84d"
OTHER = "fact-" + "0" * 24
FACT = {"subject": {"key": "person:alice"}, "predicate": "WORKS_ON", "object": {"entity": {"key": "project:alpha"}}}


def fact(**fields: Any) -> dict[str, Any]:
    return {"fact": {**FACT, **fields}}


def literal(**value: Any) -> dict[str, Any]:
    return fact(object={"literal": value})


def test_a_fact_with_everything() -> None:
    """FA-2, FA-3: its computed id, its ends as placeholders, its fields."""
    found = projected(
        fact(
            valid_from=at("2026-08-01T00:00:00Z"),
            valid_to=at("2026-07-01T00:00:00Z"),
            evidence="EVIDENCE_CLASS_EXTRACTED",
            confidence=0.25,
            importance=2,
            scopes=["team:b"],
            attributes='{"quote": "ё"}',
            source_path="x.md",
            expires_at=at("2027-01-01T00:00:00Z"),
        ),
        scopes=["team:a"],
    )
    [write] = found.facts
    assert write.fact_id == ALPHA_SINCE_AUGUST
    assert (write.subject_key, write.object_type, write.object_key) == ("person:alice", "entity", "project:alpha")
    assert FactObject.FromString(write.object).entity.key == "project:alpha"
    assert write.valid_from == datetime(2026, 8, 1, tzinfo=UTC)
    assert (write.evidence, write.confidence) == (3, 0.25)
    assert write.fields == {
        "asserted_valid_to": datetime(2026, 7, 1, tzinfo=UTC),
        "importance": 2,
        "scopes": ("team:a", "team:b"),
        "attributes.quote": '"ё"',
        "source_path": "x.md",
        "expires_at": datetime(2027, 1, 1, tzinfo=UTC),
    }
    assert [(each.key, each.default_kind, each.described) for each in found.entities] == [
        ("person:alice", "person", False),
        ("project:alpha", "project", False),
    ]


def test_defaults() -> None:
    """FA-4: unsaid evidence is ASSERTED, unsaid confidence 1; an unsaid start is unknown."""
    [write] = projected(fact()).facts
    assert (write.fact_id, write.evidence, write.confidence, write.valid_from) == (ALPHA, 4, 1.0, None)
    assert write.fields == {}


@pytest.mark.parametrize(
    ("assertion", "kind", "text", "sentence"),
    [
        (fact(), "entity", "project:alpha", "alice works on alpha"),
        (literal(text="As It Was_"), "text", "As It Was_", "alice works on As It Was_"),
        (literal(integer=-(2**63)), "integer", "-9223372036854775808", "alice works on -9223372036854775808"),
        (literal(decimal="15e-1"), "decimal", "1.5", "alice works on 1.5"),
        (literal(boolean=False), "boolean", "false", "alice works on false"),
        (
            literal(timestamp=at("2026-03-01T00:30:00.5+03:00")),
            "timestamp",
            "1772314200500000",
            "alice works on 2026-02-28T21:30:00.500000Z",
        ),
        (literal(json='{"a": 1.50}'), "json", "(1:an1.50;)", 'alice works on {"a": 1.50}'),
    ],
)
def test_objects(assertion: dict[str, Any], kind: str, text: str, sentence: str) -> None:
    """FA-1: an entity or a typed literal, and the sentence by which it is found."""
    [write] = projected(assertion).facts
    assert (write.object_type, write.object_text, write.sentence) == (kind, text, sentence)
    assert write.object_key == (text if kind == "entity" else None)


@pytest.mark.parametrize(
    ("assertion", "field"),
    [
        (fact(object={}), "fact.object"),
        (literal(), "fact.object"),
        (fact(object={"entity": {}}), "fact.object.entity"),
        (fact(subject={}), "fact.subject"),
        (fact(predicate=""), "fact.predicate"),
        (literal(decimal="1e99999"), "fact.object.literal.decimal"),
        (literal(decimal="1e999999999999999999999"), "fact.object.literal.decimal"),
        (literal(decimal="one"), "fact.object.literal.decimal"),
        (literal(json="{"), "fact.object.literal.json"),
        (literal(json="NaN"), "fact.object.literal.json"),
        (literal(timestamp={"seconds": 10**12}), "fact.object.literal.timestamp"),
        (fact(valid_to={"seconds": -(10**12)}), "fact.valid_to"),
        (fact(expires_at={"nanos": -1}), "fact.expires_at"),
        (fact(attributes='"x"'), "fact.attributes"),
    ],
)
def test_facts_that_are_refused(assertion: dict[str, Any], field: str) -> None:
    """OB-4: with the field's path, and without the value."""
    found = projected(assertion)
    assert [(each.field, each.reason) for each in found.failures] == [(f"assertions[0].{field}", "INVALID_FIELD")]
    assert not found.facts
    assert not found.entities


@pytest.mark.parametrize("decimal", ["9" * 196 + "e999", "." + "9" * 190 + "e-999", "1e0"])
def test_every_decimal_of_the_contract_is_kept(decimal: str) -> None:
    """OB-8: exact, however long it is written out."""
    assert not projected(literal(decimal=decimal)).failures


def test_supersession() -> None:
    """FA-5: one statement for each old fact."""
    found = projected(fact(supersedes=[OTHER, ALPHA_SINCE_AUGUST]))
    assert [(each.old_fact_id, each.new_fact_id, each.correction) for each in found.supersessions] == [
        (OTHER, ALPHA, False),
        (ALPHA_SINCE_AUGUST, ALPHA, False),
    ]


@pytest.mark.parametrize(
    ("assertion", "field"),
    [
        (fact(supersedes=[ALPHA]), "fact.supersedes"),
        (
            {"correction": {"fact_id": OTHER, "replacement": {**FACT, "supersedes": [ALPHA]}}},
            "correction.replacement.supersedes",
        ),
    ],
)
def test_a_fact_cannot_take_its_own_place(assertion: dict[str, Any], field: str) -> None:
    """FA-5: the shortest cycle is refused with the assertion that attempts it."""
    found = projected(assertion)
    [failure] = found.failures
    assert (failure.code, failure.reason, failure.field) == (9, "SUPERSESSION_CYCLE", f"assertions[0].{field}")
    assert not found.facts
    assert not found.supersessions


def test_retraction() -> None:
    """FA-6: since a moment that is said, else since the observation."""
    found = projected(
        {"retraction": {"fact_id": ALPHA, "valid_to": at("2026-01-01T00:00:00Z"), "reason": "left"}},
        {"retraction": {"fact_id": OTHER}},
    )
    assert [(each.fact_id, each.valid_to, each.reason) for each in found.retractions] == [
        (ALPHA, datetime(2026, 1, 1, tzinfo=UTC), "left"),
        (OTHER, found.occurred_at, ""),
    ]


def test_correction() -> None:
    """FA-12: the right fact is asserted, and takes the place of the wrong one as a correction."""
    found = projected({"correction": {"fact_id": OTHER, "replacement": FACT, "reason": "typo"}})
    assert [each.fact_id for each in found.facts] == [ALPHA]
    [statement] = found.supersessions
    assert (statement.old_fact_id, statement.new_fact_id, statement.correction, statement.reason) == (
        OTHER,
        ALPHA,
        True,
        "typo",
    )


def test_correction_without_a_replacement() -> None:
    """FA-12: the fact ends before all time."""
    [retraction] = projected({"correction": {"fact_id": OTHER}}).retractions
    assert (retraction.fact_id, retraction.valid_to) == (OTHER, NEVER_TRUE)


def test_a_correction_that_also_supersedes_the_wrong_fact_corrects_it() -> None:
    """FA-12: said twice, the stronger statement counts."""
    found = projected({"correction": {"fact_id": OTHER, "replacement": {**FACT, "supersedes": [OTHER]}}})
    assert [each.correction for each in found.supersessions] == [True]


def test_passage_of_a_fact() -> None:
    """FA-3: its sentence, with the interval and labels by which it is filtered."""
    assertion = fact(valid_from=at("2026-08-01T00:00:00Z"), valid_to=at("2026-09-01T00:00:00Z"), importance=4)
    found = projected(assertion, scopes=["role:a"])
    passage = fact_passage("demo", merge_fact(None, found.facts))
    assert (passage.kind, passage.owner_key, passage.owner_kind) == (2, ALPHA_SINCE_AUGUST, "WORKS_ON")
    assert (passage.title, passage.heading, passage.text) == ("", "", "alice works on alpha")
    assert (passage.valid_from, passage.valid_to) == (
        datetime(2026, 8, 1, tzinfo=UTC),
        datetime(2026, 9, 1, tzinfo=UTC),
    )
    assert (passage.scopes, passage.importance, passage.occurred_at) == (("role:a",), 4, found.occurred_at)
