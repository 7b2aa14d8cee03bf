"""Merging is commutative, associative and idempotent: the order of arrival does not matter (EN-1, FA-2, OB-7)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.writer.projection import json_object
from services.writer.projection.merge import EntityState, FactState, merge_entity, merge_fact
from services.writer.projection.rows import EntityWrite, FactWrite, Stamp

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 5).map(lambda days: EPOCH + timedelta(days=days))
STAMPS = st.builds(Stamp, st.integers(-2, 2), st.sampled_from(["obs-a", "obs-b"]), st.integers(-1, 2))
JSON_TEXTS = st.sampled_from(["null", "1", "9007199254740993", '"x"', "[1, 2]", '{"a": 1}'])
TEXTS = st.sampled_from(["", "x", "y", "ё"])
LABELS = st.lists(st.sampled_from(["team:a", "role:b"]), unique=True).map(tuple)
ENTITY_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["person", "page"]),
        "title": TEXTS,
        "aliases": LABELS,
        "confidence": st.floats(0, 1),
        "importance": st.integers(0, 4),
        "expires_at": MOMENTS,
        "scopes": LABELS,
        "named": st.just(True),
        "attributes.a": JSON_TEXTS,
        "attributes.b.c": JSON_TEXTS,
        'attributes."': JSON_TEXTS,
    },
)
FACT_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "asserted_valid_to": MOMENTS,
        "importance": st.integers(0, 4),
        "source_path": TEXTS,
        "scopes": LABELS,
        "attributes.a": JSON_TEXTS,
    },
)


def entity_write(stamp: Stamp, fields: dict[str, Any], typed: bool) -> EntityWrite:
    # A key has one type, however it was given.
    return EntityWrite(
        key="person:a", stamp=stamp, default_kind="person" if typed else "", fields=fields, described=bool(fields)
    )


def fact_write(stamp: Stamp, fields: dict[str, Any], evidence: int, confidence: float, spelling: str) -> FactWrite:
    return FactWrite(
        fact_id="fact-1",
        subject_key="person:a",
        predicate="AGE",
        object_type="decimal",
        object_text="1.5",
        object_key=None,
        object=spelling.encode(),
        valid_from=None,
        sentence=f"a age {spelling}",
        evidence=evidence,
        confidence=confidence,
        stamp=stamp,
        fields=fields,
    )


def once_a_stamp(writes: list[Any]) -> list[Any]:
    """One assertion says one thing of a field: two writes of one stamp are equal."""
    return list({write.stamp: write for write in writes}.values())


ENTITY_WRITES = st.lists(st.builds(entity_write, STAMPS, ENTITY_FIELDS, st.booleans()), min_size=1, max_size=6)
FACT_WRITES = st.lists(
    st.builds(
        fact_write, STAMPS, FACT_FIELDS, st.integers(1, 4), st.floats(0, 1), st.sampled_from(["1.5", "1.50", "15e-1"])
    ),
    min_size=1,
    max_size=6,
)


@given(ENTITY_WRITES.map(once_a_stamp), st.data())
def test_entities_converge(writes: list[EntityWrite], data: st.DataObject) -> None:
    """EN-1, OB-7: at once, one by one, in any order, in any groups, with repetitions."""
    expected = merge_entity(None, writes)
    shuffled = data.draw(st.permutations([*writes, *data.draw(st.lists(st.sampled_from(writes), max_size=3))]))
    assert merge_entity(None, shuffled) == expected
    assert reduce(lambda state, write: merge_entity(state, [write]), shuffled, None) == expected
    cut = data.draw(st.integers(1, len(shuffled)))
    assert merge_entity(merge_entity(None, shuffled[:cut]), shuffled[cut:]) == expected
    assert merge_entity(expected, writes) == expected


@given(FACT_WRITES.map(once_a_stamp), st.data())
def test_facts_converge(writes: list[FactWrite], data: st.DataObject) -> None:
    """FA-2, OB-7: at once, one by one, in any order, in any groups, with repetitions."""
    expected = merge_fact(None, writes)
    shuffled = data.draw(st.permutations([*writes, *data.draw(st.lists(st.sampled_from(writes), max_size=3))]))
    assert merge_fact(None, shuffled) == expected
    assert reduce(lambda state, write: merge_fact(state, [write]), shuffled, None) == expected
    cut = data.draw(st.integers(1, len(shuffled)))
    assert merge_fact(merge_fact(None, shuffled[:cut]), shuffled[cut:]) == expected
    assert merge_fact(expected, writes) == expected


@given(ENTITY_WRITES.map(once_a_stamp))
def test_each_field_has_the_value_of_the_greatest_stamp(writes: list[EntityWrite]) -> None:
    """EN-1: the latest occurred_at wins, then the greater observation id, then the later assertion."""
    state = merge_entity(None, writes)
    latest = {name: write.fields[name] for write in sorted(writes, key=lambda one: one.stamp) for name in write.fields}
    for name, value in latest.items():
        if not name.startswith("attributes.") and name != "named":
            assert getattr(state, name) == value
    kept = {name.removeprefix("attributes."): value for name, value in latest.items() if name.startswith("attributes.")}
    assert json_object.members(state.attributes) == {key: value for key, value in kept.items() if value != "null"}


@given(FACT_WRITES.map(once_a_stamp))
def test_evidence_and_confidence_only_rise(writes: list[FactWrite]) -> None:
    """FA-2: the maximum of confidence and evidence, the earliest observation, and the first spelling."""
    state = merge_fact(None, writes)
    first = min(writes, key=lambda write: write.stamp)
    assert state.confidence == max(write.confidence for write in writes)
    assert state.evidence == max(write.evidence for write in writes)
    assert state.observed_at == EPOCH + timedelta(microseconds=first.stamp.occurred_us)
    assert (state.object, state.sentence) == (first.object, first.sentence)


@given(ENTITY_WRITES.map(once_a_stamp), ENTITY_WRITES.map(once_a_stamp))
def test_a_state_survives_its_row(before: list[EntityWrite], after: list[EntityWrite]) -> None:
    """OB-7: what is stored is enough to go on from; arrays come back as lists, and other columns are there, too."""
    state = merge_entity(None, before)
    row: dict[str, Any] = {name: getattr(state, name) for name in EntityState.__dataclass_fields__}
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
    row |= {"namespace": "demo", "stamps": json.dumps(json.loads(state.stamps))}
    assert EntityState.from_row(row) == replace(state, stamps=row["stamps"])
    assert merge_entity(EntityState.from_row(row), after) == merge_entity(state, after)


def test_a_fact_survives_its_row() -> None:
    """OB-7: as above, for facts."""
    state = merge_fact(None, [fact_write(Stamp(1, "obs-a", 0), {"scopes": ("team:a",)}, 3, 0.5, "1.5")])
    row = {name: getattr(state, name) for name in FactState.__dataclass_fields__} | {"valid_to": None}
    assert FactState.from_row({**row, "scopes": ["team:a"]}) == state


def named(key: str, kind: str = "") -> EntityWrite:
    return EntityWrite(key=key, stamp=Stamp(1, "obs-a", 0), default_kind=kind)


@pytest.mark.parametrize(
    ("writes", "kind", "placeholder"),
    [
        ([named("x")], "", True),
        ([named("person:x", "person")], "person", True),
        ([replace(named("x"), described=True)], "entity", False),
        ([named("x"), replace(named("x"), described=True)], "entity", False),
        ([replace(named("person:x", "person"), described=True)], "person", False),
        ([replace(named("person:x", "person"), described=True, fields={"kind": "human"})], "human", False),
    ],
)
def test_kind_and_placeholder(writes: list[EntityWrite], kind: str, placeholder: bool) -> None:
    """EN-2: named only, it is a placeholder; its kind is asserted, else its key's type, else `entity`."""
    state = merge_entity(None, writes)
    assert (state.kind, state.placeholder) == (kind, placeholder)


def test_a_removed_attribute_stays_removed() -> None:
    """EN-1: an older value that arrives late does not come back."""
    removed = EntityWrite("x", Stamp(2, "obs-b", 0), fields={"attributes.a": "null"})
    older = EntityWrite("x", Stamp(1, "obs-a", 0), fields={"attributes.a": "1"})
    assert merge_entity(merge_entity(None, [removed]), [older]).attributes == "{}"


def test_attributes_keep_every_digit() -> None:
    """OB-8: no number passes through a double."""
    exact = {"attributes.a": "9007199254740993", "attributes.b": "1.10000000000000000000000001"}
    state = merge_entity(None, [EntityWrite("x", Stamp(1, "obs-a", 0), fields=exact)])
    again = merge_entity(state, [EntityWrite("x", Stamp(2, "obs-b", 0), fields={"attributes.c": "1"})])
    assert again.attributes == '{"a":9007199254740993,"b":1.10000000000000000000000001,"c":1}'
