"""What packs make of writes: canonical kinds and keys, and what strict mode refuses (DP-2)."""

import asyncio
from typing import Any

import pytest
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.observation_pb2 import Assertion, FailedAssertion, ObservationStatus
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference
from palimpsest.v1.reference_pb2 import EntityRef, TypedId

from tests.integration.configuring import TRACKER, configure, enable, enabled
from tests.integration.writing import (
    Writer,
    at,
    claim,
    document,
    entity,
    fact,
    fact_id,
    link,
    observation,
    state,
    writing,
)


def typed(kind: str, name: str) -> EntityRef:
    return EntityRef(typed=TypedId(type=kind, id=name))


async def told(writer: Writer, *assertions: Assertion, external_id: str = "1") -> list[FailedAssertion]:
    recorded = await writer.record(observation(external_id, *assertions))
    return list(recorded.failed_assertions)


def about_thing(subject: str, predicate: str) -> Assertion:
    """A fact that leads to an entity whose key tells no kind."""
    said = fact(subject, predicate, "any:thing")
    said.fact.object.entity.key = "thing"
    return said


GOOD = [
    entity("issue:OPS-1", title="Disk full", attributes='{"points": 5}'),
    entity("issue:OPS-1", attributes='{"points": null}'),
    entity("thing", title="No type, so an entity"),
    entity("free key", kind="document"),
    fact("issue:OPS-1", "ASSIGNED_TO", "person:alice", valid_from=at()),
    fact("person:alice", "LIKES", "tea"),
    fact("person:alice", "LIVES_IN", "somewhere without a type"),
    link("issue:OPS-1", "BLOCKS", "ticket:OPS-2"),
    link("issue:OPS-1", "MENTIONS", "person:bob"),
    claim("issue:OPS-1", "BLOCKS", "ticket", "10001"),
    document("document:runbook", "text"),
    Assertion(
        record=MemoryRecord(
            preference=Preference(holder=EntityRef(key="person:bob"), topic="t", value="v"), summary="s"
        )
    ),
]
BAD: list[tuple[Assertion, str, dict[str, str]]] = [
    (entity("robot:r2", title="x"), "entity.entity", {"kind": "robot"}),
    (entity("thing", kind="robot"), "entity.kind", {"kind": "robot"}),
    (entity("issue:nonumber"), "entity.entity", {"kind": "issue"}),
    (entity("person:Alice"), "entity.entity", {"kind": "person"}),
    (entity("issue:OPS-1", attributes='{"points": 101}'), "entity.attributes", {"kind": "issue"}),
    (entity("issue:OPS-1", attributes='{"colour": "red"}'), "entity.attributes", {"kind": "issue"}),
    (fact("robot:r2", "LIKES", "tea"), "fact.subject", {"kind": "robot"}),
    (fact("person:alice", "LIKES", "robot:r2"), "fact.object.entity", {"kind": "robot"}),
    (fact("person:alice", "HATES", "tea"), "fact.predicate", {"relation": "HATES"}),
    (fact("issue:OPS-1", "LIKES", "tea"), "fact.subject", {"kind": "issue"}),
    (fact("issue:OPS-1", "ASSIGNED_TO", "city:oslo"), "fact.object", {"kind": "city"}),
    (fact("issue:OPS-1", "ASSIGNED_TO", "tea"), "fact.object", {"kind": "text"}),
    (fact("issue:OPS-1", "BLOCKS", "issue:OPS-2", valid_from=at()), "fact.valid_from", {"relation": "BLOCKS"}),
    (link("person:alice", "BLOCKS", "issue:OPS-2"), "link.source", {"kind": "person"}),
    (link("issue:OPS-1", "BLOCKS", "person:alice"), "link.entity", {"kind": "person"}),
    (link("issue:OPS-1", "OWNS", "issue:OPS-2"), "link.relation", {"relation": "OWNS"}),
    (claim("issue:OPS-1", "BLOCKS", "city", "10001"), "link.reference.kind", {"kind": "city"}),
    (claim("issue:OPS-1", "MENTIONS", "robot", "10001"), "link.reference.kind", {"kind": "robot"}),
    (document("robot:r2", "text"), "document.entity", {"kind": "robot"}),
    (
        Assertion(
            episode=Episode(action="a", summary="s", related=[EntityRef(key="city:x"), EntityRef(key="robot:r2")])
        ),
        "episode.related[1]",
        {"kind": "robot"},
    ),
]


async def test_what_packs_allow_is_applied(writer: Writer) -> None:
    """DP-2: kinds, keys, attributes and relations of the enabled and the built-in packs; what tells no kind is free."""
    await enable(writer, TRACKER, strict=True)
    assert await told(writer, *GOOD) == []


@pytest.mark.parametrize(("assertion", "path", "metadata"), BAD)
async def test_what_no_pack_allows_is_refused_alone(
    writer: Writer, assertion: Assertion, path: str, metadata: dict[str, str]
) -> None:
    """DP-2, OB-4: with the field's path; what stands beside it is applied."""
    await enable(writer, TRACKER, strict=True)
    recorded = await writer.record(observation("1", entity("city:oslo"), assertion))
    [failed] = recorded.failed_assertions
    assert recorded.status == ObservationStatus.OBSERVATION_STATUS_PARTIALLY_PROCESSED
    assert failed.index == 1
    assert failed.error.reason == ErrorReason.ERROR_REASON_SCHEMA_VIOLATION
    assert failed.error.code == 3
    assert [violation.field for violation in failed.error.violations] == [f"observation.assertions[1].{path}"]
    assert failed.error.metadata.items() >= metadata.items()
    rows = await writer.rows("SELECT natural_key FROM entities WHERE natural_key NOT LIKE 'obs-%'")
    assert [row["natural_key"] for row in rows] == ["city:oslo"]


async def test_without_strict_mode_all_of_it_is_free(writer: Writer) -> None:
    """DP-2: packs act, and refuse nothing."""
    await enable(writer, TRACKER)
    assert await told(writer, *(assertion for assertion, _, _ in BAD)) == []


async def test_a_pack_acts_only_where_it_is_enabled(writer: Writer) -> None:
    """DP-2, NS-1: neither before, nor after, nor elsewhere."""
    bad = BAD[0][0]
    assert await told(writer, bad, external_id="before") == []
    await enable(writer, TRACKER, strict=True)
    assert len(await told(writer, bad, external_id="while")) == 1
    assert not (await writer.record(observation("1", bad), namespace="elsewhere")).failed_assertions
    await configure(writer, packs=enabled(TRACKER))
    assert await told(writer, bad, external_id="after") == []


async def test_strict_mode_without_packs_knows_the_built_in_ones(writer: Writer) -> None:
    """DP-1, DP-2."""
    await configure(writer, strict=True)
    assert await told(writer, entity("document:a"), link("document:a", "LINKS_TO", "entity:b")) == []
    [failed] = await told(writer, entity("person:alice"), external_id="2")
    assert failed.error.metadata["kind"] == "person"


async def test_the_kind_that_the_observation_gives_decides(writer: Writer) -> None:
    """DP-2: an end's kind is what the observation says, else what the key says, whatever is stored."""
    await enable(writer, TRACKER, strict=True)
    assert await told(writer, entity("thing", kind="city"), external_id="1") == []
    assert await told(writer, about_thing("person:alice", "LIKES"), external_id="2") == []
    # Stored it is a city, but this observation does not say so.
    assert await told(writer, about_thing("issue:OPS-1", "ASSIGNED_TO"), external_id="3") == []
    [failed] = await told(
        writer, about_thing("issue:OPS-1", "ASSIGNED_TO"), entity("thing", kind="city"), external_id="4"
    )
    assert failed.error.metadata["kind"] == "city"


async def test_other_names_become_one_key_before_ids_are_made(writer: Writer) -> None:
    """DP-1, FA-2: kinds and keys by other names are one entity, and facts about it are one fact."""
    await enable(writer, TRACKER)
    url = "https://jira.example.com/browse/OPS-1"
    said = [fact(name, "ASSIGNED_TO", "person:alice") for name in ("issue:OPS-1", "ticket:OPS-1")]
    said.append(Assertion(fact=said[0].fact))
    said[2].fact.subject.CopyFrom(EntityRef(key=url))
    reverse = fact("person:alice", "LIKES", "ticket:OPS-1")
    await told(writer, *said, reverse, entity(url, title="by url"), entity("thing", kind="ticket"))
    keys = await writer.rows('SELECT natural_key, kind, title FROM entities ORDER BY natural_key COLLATE "C"')
    assert [(row["natural_key"], row["kind"]) for row in keys] == [
        ("issue:OPS-1", "issue"),
        ("person:alice", "person"),
        ("thing", "issue"),
    ]
    assert keys[0]["title"] == "by url"
    facts = await writer.rows("SELECT fact_id, object_key FROM facts ORDER BY predicate")
    assert [row["fact_id"] for row in facts] == [
        fact_id(said[0]),
        fact_id(fact("person:alice", "LIKES", "issue:OPS-1")),
    ]
    assert facts[1]["object_key"] == "issue:OPS-1"


async def test_actor_and_subject_take_their_canonical_keys(writer: Writer) -> None:
    """DP-1: those whom the observation itself names, too."""
    await enable(writer, TRACKER)
    await writer.record(observation("1", subject=TypedId(type="ticket", id="OPS-1"), content="on it"))
    assert (await writer.row("SELECT subject_key FROM observations"))["subject_key"] == "issue:OPS-1"
    assert await writer.rows("SELECT FROM links WHERE relation = 'MENTIONS' AND target_key = 'issue:OPS-1'")


async def test_a_change_of_settings_and_writes_at_once_never_mix(writer: Writer, dsn: str) -> None:
    """NS-2, DP-2: by two writers: each observation is projected under one version of the settings, and after the
    change under the new one by both, whatever they remember."""
    await enable(writer, TRACKER)
    async with writing(dsn) as other:
        for one in (writer, other):
            await told(one, BAD[0][0], external_id="warm " + one.target)
        results: list[Any] = await asyncio.gather(
            *(told(one, BAD[0][0], external_id=f"{number}") for number in range(20) for one in (writer, other)),
            configure(writer, packs=enabled(TRACKER), strict=True),
        )
        assert all(len(failed) in (0, 1) for failed in results[:-1])
        assert len(await told(other, BAD[0][0], external_id="late")) == 1


async def test_a_duplicate_tells_what_became_of_the_first(writer: Writer) -> None:
    """OB-3, DP-2: settings that changed meanwhile change nothing that is stored."""
    await enable(writer, TRACKER, strict=True)
    first = await told(writer, BAD[0][0])
    before = await state(writer.dsn)
    await configure(writer)
    assert await told(writer, BAD[0][0]) == first
    assert await state(writer.dsn) == before
