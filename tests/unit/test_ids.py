"""Deterministic ids: the vectors of the contract's comments, and what may not collide (OB-2, FA-2)."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import palimpsest
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from palimpsest import ids
from palimpsest.canonical import canonical_json, canonical_message, pack
from palimpsest.v1.fact_pb2 import FactObject, Literal
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, SourceIdentity, TypedId

PROTOS = Path(palimpsest.__path__[0]) / "v1"
PARTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=5)


def comment(name: str) -> str:
    """The test vectors of a .proto file, as one line."""
    lines = [line.lstrip("/ ") for line in (PROTOS / name).read_text().splitlines() if line.startswith("//")]
    return " ".join(lines).partition("Test vectors")[2]


def timestamp(text: str) -> Timestamp:
    found = Timestamp()
    found.FromJsonString(text)
    return found


OBSERVATION_VECTORS = re.findall(r'\(("[^)]*?")\) → (obs-[0-9a-f]{24})', comment("observation.proto"))
CONTENT_VECTOR = re.search(
    r'\((?P<identity>"[^)]*?")\) with kind "(?P<kind>[^"]+)", occurred_at (?P<at>\S+), '
    r'content "(?P<content>[^"]+)" only '
    r"→ content_hash (?P<hash>[0-9a-f]{64}) → (?P<id>obs-[0-9a-f]{24})",
    comment("observation.proto"),
)
FACT_VECTORS = re.findall(
    r'\("([^"]+)", "([^"]+)", "([^"]+)", (\w+) ("[^"]*"|\d+), (\S+?)\) → (fact-[0-9a-f]{24})', comment("fact.proto")
)


def source(identity: str) -> tuple[str, SourceIdentity]:
    namespace, system, stream, external_id, revision = json.loads(f"[{identity}]")
    return namespace, SourceIdentity(system=system, stream=stream, external_id=external_id, revision=revision)


def test_the_comments_hold_vectors() -> None:
    """OB-2, FA-2: the parsing below has something to check."""
    assert len(OBSERVATION_VECTORS) == 3
    assert CONTENT_VECTOR
    assert len(FACT_VECTORS) == 5


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("identity", "expected"), OBSERVATION_VECTORS)
def test_observation_vectors(identity: str, expected: str, form: Any) -> None:
    """OB-2: the ids that the contract gives, composed or decomposed."""
    namespace, identity_of_source = source(unicodedata.normalize(form, identity))
    assert ids.observation_id(namespace, identity_of_source) == expected


def test_content_vector() -> None:
    """OB-2: without an external id, the identity is the content."""
    assert CONTENT_VECTOR
    namespace, identity = source(CONTENT_VECTOR["identity"])
    observation = Observation(
        source=identity,
        kind=CONTENT_VECTOR["kind"],
        occurred_at=timestamp(CONTENT_VECTOR["at"]),
        content=CONTENT_VECTOR["content"],
        trace_id="not content",
    )
    found = ids.content_hash(observation)
    assert found == CONTENT_VECTOR["hash"]
    assert ids.observation_id(namespace, identity, content_hash=found) == CONTENT_VECTOR["id"]


@pytest.mark.parametrize(("namespace", "subject", "predicate", "kind", "value", "start", "expected"), FACT_VECTORS)
def test_fact_vectors(
    namespace: str, subject: str, predicate: str, kind: str, value: str, start: str, expected: str
) -> None:
    """FA-2: the ids that the contract gives."""
    read = json.loads(value)
    thing = FactObject(entity=EntityRef(key=read)) if kind == "entity" else FactObject(literal=Literal(**{kind: read}))
    valid_from = None if start == "absent" else timestamp(start)
    assert ids.fact_id(namespace, subject, predicate, thing, valid_from) == expected


@given(PARTS, PARTS)
def test_packing_is_injective(first: list[str], second: list[str]) -> None:
    """OB-2: no separator can be forged; equal packs are equal parts, in NFC."""
    normal = [[unicodedata.normalize("NFC", part) for part in parts] for parts in (first, second)]
    assert (pack(*first) == pack(*second)) == (normal[0] == normal[1])


@given(st.text(st.sampled_from("ab:1/ \u0308еЕё"), max_size=5), st.text(st.sampled_from("ab:1/ "), max_size=5))
def test_moving_a_letter_makes_another_source(stream: str, external_id: str) -> None:
    """OB-2: ("x", "yz") and ("xy", "z") are two sources."""
    one = SourceIdentity(system="s", stream=f"{stream}x", external_id=f"{external_id}y")
    other = SourceIdentity(system="s", stream=stream, external_id=f"x{external_id}y")
    assert ids.observation_id("n", one) != ids.observation_id("n", other)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_ids_are_of_the_composed_form(text: str) -> None:
    """OB-2, FA-2: a text and its decomposed form have one id."""
    decomposed = unicodedata.normalize("NFD", text)
    assert ids.observation_id(text, SourceIdentity(system=text, external_id=text)) == ids.observation_id(
        decomposed, SourceIdentity(system=decomposed, external_id=decomposed)
    )
    things = [FactObject(literal=Literal(text=each)) for each in (text, decomposed)]
    assert ids.fact_id("n", text, text, things[0]) == ids.fact_id("n", decomposed, decomposed, things[1])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("1.50", "1.5"), ("15e-1", "1.5"), ("-0", "0"), ("+7.", "7"), (".5", "0.5"), ("1e3", "1000"), ("0.000", "0")],
)
def test_equal_decimals_are_one(text: str, canonical: str) -> None:
    """FA-2: an exact number is its value, not its spelling."""
    assert ids.canonical_decimal(text) == canonical


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ('{"a":1,"b":[true,null]}', ' { "b" : [true, null], "a" : 1 } ', True),
        ('{"a":9007199254740993}', '{"a":9007199254740992}', False),
        ('{"a":1}', '{"a":"1"}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ("[[1],2]", "[[1,2]]", False),
        ('"\\u0451"', '"ё"', True),
        ("[true]", '["true"]', False),
        ("[null]", "[false]", False),
    ],
)
def test_canonical_json(first: str, second: str, equal: bool) -> None:
    """OB-8: the order of keys and spaces are no content; a digit is."""
    assert (canonical_json(first) == canonical_json(second)) is equal


def test_content_that_a_retry_may_change_is_not_hashed() -> None:
    """OB-3: source and trace are not content; the order and repetition of labels neither."""
    first = Observation(kind="note", content="x", scopes=["b:1", "a:1"], trace_id="t", source={"system": "s"})
    second = Observation(kind="note", content="x", scopes=["a:1", "b:1", "a:1"])
    assert ids.content_hash(first) == ids.content_hash(second)
    second.data = "{}"
    assert ids.content_hash(first) != ids.content_hash(second)


def test_maps_are_hashed_by_rising_key() -> None:
    """OB-2: the order in which a map was filled is no content."""
    assert canonical_message(Provenance(extra={"b": "1", "a": "2"})) == canonical_message(
        Provenance(extra={"a": "2", "b": "1"})
    )


def test_a_typed_reference_and_its_key_are_one_entity() -> None:
    """EN-1: `{type, id}` is `type:id`."""
    typed = EntityRef(typed=TypedId(type="person", id="alice:smith"))
    assert ids.entity_key(typed) == ids.entity_key(EntityRef(key="person:alice:smith")) == "person:alice:smith"
