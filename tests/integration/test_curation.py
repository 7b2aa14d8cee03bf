"""CU-1: a pass of curation: bounded, resumable, and the same however often it runs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import STATUS_ACTIVE, STATUS_STALE, EntityRef
from palimpsest.v1.writer_service_pb2 import DUPLICATE_DECISION_CONFIRM

from tests.integration.curating import curate, decide, proposals
from tests.integration.reader_seed import seeding
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    claim,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    state,
)

pytest_plugins = ("tests.integration.reader_fixtures",)


async def entity_of(reader: ReaderServiceStub, key: str, **fields: Any) -> Any:
    request = reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key), **fields)
    return (await reader.GetEntity(request)).entity


async def links(writer: Writer, source: str) -> list[tuple[str, str, int]]:
    rows = await writer.rows("SELECT relation, target_key, origin FROM links WHERE source_key = $1", source)
    return sorted((row["relation"], row["target_key"], row["origin"]) for row in rows)


@pytest.mark.parametrize(
    ("fields", "reference"),
    [
        ({"url": "https://wiki/x"}, "https://wiki/x"),
        ({"source_path": "docs/x.md"}, "docs/x.md"),
        ({"aliases": ["Платёжный шлюз"]}, "ПЛАТЕЖНЫЙ ШЛЮЗ"),
    ],
)
async def test_a_waiting_link_finds_its_target_exactly(writer: Writer, fields: dict[str, Any], reference: str) -> None:
    """CU-1, DO-7: by address, path or other name, and by nothing that is only like it."""
    await writer.record(observation("1", claim("doc:a", "MENTIONS", "page", reference)))
    await writer.record(observation("2", entity("page:other", url="https://wiki/x/y", aliases=["Платёжный шлюз 2"])))
    assert (await curate(writer)).claims_resolved == 0
    await writer.record(observation("3", entity("page:x", **fields)))

    curated = await curate(writer)

    assert curated.claims_resolved == 1
    assert await links(writer, "doc:a") == [("MENTIONS", "page:x", 1)]
    assert (await curate(writer)).claims_resolved == 0


async def test_of_two_targets_that_fit_none_is_chosen(writer: Writer) -> None:
    """CU-1: unless the hinted source spoke of one of them alone."""
    await writer.record(
        observation(
            "1",
            claim("doc:a", "MENTIONS", "page", "https://wiki/x"),
            claim("doc:b", "MENTIONS", "page", "https://wiki/x", hint="wiki"),
        )
    )
    await writer.record(observation("2", entity("page:1", url="https://wiki/x"), system="mail"))
    await writer.record(observation("3", entity("page:2", url="https://wiki/x"), system="wiki"))

    assert (await curate(writer)).claims_resolved == 1
    assert await links(writer, "doc:a") == []
    assert await links(writer, "doc:b") == [("MENTIONS", "page:2", 1)]


async def test_a_target_by_source_id_goes_before_a_curated_one(writer: Writer) -> None:
    """DO-7: whether it comes before or after curation; and saying the claim again takes nothing back."""
    waiting = claim("doc:a", "MENTIONS", "page", "X-1")
    await writer.record(observation("1", waiting))
    await writer.record(observation("2", entity("page:alias", aliases=["X-1"])))
    await curate(writer)
    await writer.record(observation("3", waiting, minutes=1))
    assert await links(writer, "doc:a") == [("MENTIONS", "page:alias", 1)]

    await writer.record(observation("4", entity("page:true", source_id="X-1")))

    assert await links(writer, "doc:a") == [("MENTIONS", "page:true", 1)]
    assert (await curate(writer)).claims_resolved == 0
    assert await links(writer, "doc:a") == [("MENTIONS", "page:true", 1)]


async def test_a_curated_target_that_fits_no_more_is_taken_back(writer: Writer) -> None:
    """CU-1: the link follows what is said."""
    await writer.record(observation("1", claim("doc:a", "MENTIONS", "page", "docs/x.md")))
    await writer.record(observation("2", entity("page:x", source_path="docs/x.md")))
    await curate(writer)
    await writer.record(observation("3", entity("page:x", source_path="docs/moved.md"), minutes=5))

    await curate(writer)

    assert await links(writer, "doc:a") == []


async def test_a_pass_is_bounded_and_goes_on_where_it_ended(writer: Writer) -> None:
    """CU-1: calling it until it is done is one whole pass; a second pass finds nothing new."""
    for number in range(7):
        await writer.record(observation(str(number), entity(f"team:{number}", title=f"Команда {number} отдела")))
    await writer.record(observation("twin", entity("team:twin", title="Команда 3 отдела")))

    parts: list[pb.RunCurationResponse] = []
    while not parts or not parts[-1].done:
        parts.append(await curate(writer, max_items=3, whole=False))
        assert len(parts) < 50

    assert len(parts) > 5
    assert sum(part.duplicates_proposed for part in parts) == 1
    assert sum(part.trust_updated for part in parts) == 8
    again = await curate(writer)
    assert (again.done, again.duplicates_proposed, again.trust_updated, again.marked_stale) == (True, 0, 0, 0)


async def test_passes_at_once_do_each_thing_once(writer: Writer) -> None:
    """CU-1: callers that curate one namespace together share the pass."""
    for number in range(12):
        await writer.record(observation(str(number), entity(f"team:{number}", title=f"Команда {number // 2} отдела")))

    parts = await asyncio.gather(*(curate(writer, max_items=5, whole=False) for _ in range(12)))
    rest = await curate(writer)

    assert sum(part.duplicates_proposed for part in parts) + rest.duplicates_proposed == 6
    assert sum(part.trust_updated for part in parts) + rest.trust_updated == 12


async def test_curation_leaves_what_observations_say(writer: Writer) -> None:
    """OB-7: entities, facts, documents and passages are the same before and after."""
    await writer.record(observation("1", entity("page:a", title="Один шлюз"), entity("page:b", title="Один  шлюз")))
    await writer.record(
        observation("2", article("doc:1", "# Text\n\none"), link("page:a", "DERIVED_FROM", "doc:1"), minutes=9)
    )
    before = await state(writer.dsn)

    curated = await curate(writer)

    assert (curated.duplicates_proposed, curated.marked_stale) == (1, 1)
    after = await state(writer.dsn)
    assert {table for table in before if before[table] != after[table]} == {"links"}


async def test_trust_is_authority_decayed_by_age(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1: the authority of the source, 0.5 where nobody registered one, halved every 180 days; absent until then."""
    await writer.record(observation("1", entity("page:new", title="New")))
    await writer.record(observation("2", entity("page:old", title="Old"), system="wiki"))
    await writer.record(observation("3", entity("page:first", title="First")))
    assert not (await entity_of(reader, "page:new")).HasField("trust")
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute("UPDATE entity_evidence SET occurred_at = now()")
        await rows.connection.execute(
            "UPDATE entity_evidence SET occurred_at = now() - interval '180 days' WHERE natural_key = 'page:old'"
        )
        await rows.connection.execute(
            "UPDATE entity_evidence SET occurred_at = '0001-01-01T00:00:00Z' WHERE natural_key = 'page:first'"
        )
        await rows.connection.execute(
            "INSERT INTO sources (namespace, system, authority, state) VALUES ($1, 'wiki', 0.8, 1)", NAMESPACE
        )

    await curate(writer)

    assert (await entity_of(reader, "page:new")).trust == 0.5
    assert (await entity_of(reader, "page:old")).trust == 0.4
    assert (await entity_of(reader, "page:first")).trust == 0.0


async def test_what_its_source_changed_is_stale(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1, EN-5: until it is said anew; neither a text of before it nor one that it does not derive from matters."""
    await writer.record(
        observation("1", entity("note:a", title="Вывод о шлюзе"), link("note:a", "DERIVED_FROM", "doc:1"), minutes=5)
    )
    await writer.record(observation("2", article("doc:1", "# Old\n\nшлюз"), article("doc:2", "# Other\n\nдругое")))
    assert (await curate(writer)).marked_stale == 0
    await writer.record(observation("3", article("doc:2", "# Newer\n\nдругое"), minutes=9))
    assert (await curate(writer)).marked_stale == 0

    await writer.record(observation("4", article("doc:1", "# New\n\nшлюз заменён"), minutes=9))
    assert (await curate(writer)).marked_stale == 1
    assert (await entity_of(reader, "note:a")).status == STATUS_STALE
    request = reads.SearchRequest(
        namespace=NAMESPACE, query="вывод", mode=retrieval.SEARCH_MODE_LEXICAL, keep_irrelevant=True
    )
    assert [hit.entity.status for hit in (await reader.Search(request)).hits if hit.entity.natural_key] == [
        STATUS_STALE
    ]

    await writer.record(observation("5", entity("note:a", title="Новый вывод о шлюзе"), minutes=10))
    await curate(writer)
    assert (await entity_of(reader, "note:a")).status == STATUS_ACTIVE


async def test_facts_of_an_outdated_revision_are_stale(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1: those that nothing else supports."""
    gone, kept, other = (fact("team:a", "OWNS", f"service:{name}") for name in ("gone", "kept", "other"))

    def revision(number: str, *said: Any, minutes: float) -> Any:
        made = observation("issue-1", *said, minutes=minutes)
        made.source.revision = number
        return made

    await writer.record(revision("2", kept, minutes=5))
    await writer.record(revision("1", gone, kept, other, minutes=0))
    await writer.record(observation("else", other))

    assert (await curate(writer)).marked_stale == 1

    facts = (await reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE))).facts
    status = {each.fact_id: each.status for each in facts}
    assert status == {fact_id(gone): STATUS_STALE, fact_id(kept): STATUS_ACTIVE, fact_id(other): STATUS_ACTIVE}


async def test_what_is_hidden_weighs_nothing_and_makes_nothing_stale(writer: Writer, reader: ReaderServiceStub) -> None:
    """AC-6, CU-1: else trust and status would tell who does not see it that it is there."""
    owned = fact("team:a", "OWNS", "service:b")
    first = observation("issue-1", owned)
    first.source.revision = "1"
    await writer.record(first)
    await writer.record(
        observation("2", entity("note:a", title="Вывод"), link("note:a", "DERIVED_FROM", "doc:1"), scopes=["topic:x"])
    )
    await writer.record(observation("3", article("doc:1", "# Old\n\nшлюз")))
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute("UPDATE entity_evidence SET occurred_at = now() - interval '180 days'")
        await rows.connection.execute(
            "INSERT INTO sources (namespace, system, authority, state) VALUES ($1, 'wiki', 0.8, 1)", NAMESPACE
        )
    await curate(writer)

    async def shown() -> tuple[float, int, int]:
        note = await entity_of(reader, "note:a")
        facts = (await reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE))).facts
        (status,) = {each.status for each in facts if each.fact_id == fact_id(owned)}
        return note.trust, note.status, status

    before = await shown()
    assert before == (0.25, STATUS_ACTIVE, STATUS_ACTIVE)
    secret = ["role:secret"]
    # Older than what is open of it, or the entity would be hidden, too.
    await writer.record(observation("4", entity("note:a"), system="wiki", scopes=secret, minutes=-5))
    text = observation("5", article("doc:1", "# New\n\nдругое"), scopes=secret)
    later = observation("issue-1", scopes=secret, content="nothing of it")
    later.source.revision = "2"
    for each in (text, later):
        each.occurred_at.FromDatetime(datetime.now(UTC))
        await writer.record(each)
    await curate(writer)
    assert await shown() == before


async def test_a_pass_keeps_no_text_that_is_redacted(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-2, fault 23: neither names nor the words in them, at once and after the next pass."""
    said = observation("2", entity("person:a", title="Канарейка Петрова", aliases=["Канарейка"]), minutes=1)
    await writer.record(observation("1", entity("person:a", title="Анна")))
    await writer.record(said)
    await curate(writer)
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
    await writer.stub.RedactObservation(request)

    for _ in range(2):
        for table in ("entity_names", "entity_name_keys"):
            rows = await writer.rows(f"SELECT t::text AS row FROM {table} AS t")
            assert [row for row in rows if "кана" in row["row"]] == []
        await curate(writer)
    assert [row["name"] for row in await writer.rows("SELECT name FROM entity_names")] == ["анна"]


async def test_nothing_is_kept_of_what_is_purged(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-2, DO-7, EN-1a: proposals, merges, weights and marks; a link that waits is without its target again."""
    await writer.record(observation("1", claim("doc:a", "MENTIONS", "page", "https://wiki/x")))
    await writer.record(
        observation("2", entity("page:c", title="Общая страница"), entity("page:d", title="Общая страница"))
    )
    await writer.record(
        observation(
            "3",
            entity("page:b", title="Общая страница", url="https://wiki/x"),
            link("page:b", "DERIVED_FROM", "doc:b"),
            system="wiki",
        )
    )
    await writer.record(observation("4", article("doc:b", "# New\n\nnew"), system="wiki", minutes=5))
    assert (await curate(writer)).claims_resolved == 1
    for proposal in await proposals(reader):
        await decide(writer, proposal, DUPLICATE_DECISION_CONFIRM)
    assert (await entity_of(reader, "page:d")).natural_key == "page:b"

    await writer.stub.DeleteSource(pb.DeleteSourceRequest(namespace=NAMESPACE, system="wiki", purge=True))

    assert (await entity_of(reader, "page:d")).natural_key == "page:c"
    for table in ("entity_names", "entity_name_keys", "duplicate_proposals", "entity_merges", "entity_trust",
                  "stale_marks", "links", "link_claims"):  # fmt: skip
        rows = await writer.rows(f"SELECT t::text AS row FROM {table} AS t")
        assert [row for row in rows if "page:b" in row["row"]] == []
    assert (await writer.row("SELECT target_key, curated_target FROM link_claims")) == {
        "target_key": None,
        "curated_target": None,
    }


async def test_other_namespaces_are_left_alone(writer: Writer) -> None:
    """NS-1: neither compared nor counted."""
    await writer.record(observation("1", entity("page:a", title="Один шлюз")))
    await writer.record(observation("1", entity("page:b", title="Один шлюз")), namespace="elsewhere")

    assert (await curate(writer)).duplicates_proposed == 0
    assert (await curate(writer, namespace="nowhere")) == pb.RunCurationResponse(done=True)
