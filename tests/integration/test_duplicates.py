"""EN-1a: likeness proposes, a caller decides, a decision can be taken back; nothing is rewritten."""

from __future__ import annotations

import asyncio
from itertools import islice, product
from typing import Any

import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.entity_pb2 import (
    DUPLICATE_STATE_CONFIRMED,
    DUPLICATE_STATE_PROPOSED,
    DUPLICATE_STATE_REFUSED,
    DUPLICATE_STATE_UNDONE,
)
from palimpsest.v1.fact_pb2 import FactObject
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2 import (
    DUPLICATE_DECISION_CONFIRM,
    DUPLICATE_DECISION_REFUSE,
    DUPLICATE_DECISION_UNDO,
)

from services.reader.merges import keys_of
from services.reader.queries.get_entity import visible_entity
from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.database import Database
from tests.integration.curating import curate, decide, proposals
from tests.integration.serving import failure
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, link, observation, state

pytest_plugins = ("tests.integration.reader_fixtures",)

CONFIRM, REFUSE, UNDO = DUPLICATE_DECISION_CONFIRM, DUPLICATE_DECISION_REFUSE, DUPLICATE_DECISION_UNDO


async def twins(writer: Writer) -> None:
    """Two entities of one name, with a fact and a link each."""
    await writer.record(
        observation(
            "1",
            entity("service:billing", title="Биллинг"),
            fact("service:billing", "OWNED_BY", "team:red"),
            link("service:billing", "DEPENDS_ON", "service:ledger"),
        )
    )
    await writer.record(
        observation(
            "2",
            entity("service:биллинг", title="биллинг"),
            fact("service:биллинг", "RUNS_IN", "zone:eu"),
            fact("team:ops", "WATCHES", "service:биллинг"),
            link("service:биллинг", "DEPENDS_ON", "service:queue"),
        )
    )


async def entity_of(reader: ReaderServiceStub, key: str) -> Any:
    request = reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key))
    return (await reader.GetEntity(request)).entity


async def predicates(reader: ReaderServiceStub, key: str) -> list[str]:
    request = reads.ListFactsRequest(namespace=NAMESPACE, subject=EntityRef(key=key))
    return sorted(each.predicate for each in (await reader.ListFacts(request)).facts)


async def neighbours(reader: ReaderServiceStub, key: str) -> list[tuple[str, str]]:
    request = reads.ListNeighborsRequest(namespace=NAMESPACE, entity=EntityRef(key=key))
    found = (await reader.ListNeighbors(request)).neighbors
    return sorted((each.step.relation, each.entity.natural_key) for each in found)


async def test_likeness_only_proposes(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a, DO-7: a proposal and a link of curation; each entity still answers as itself."""
    await twins(writer)
    await curate(writer)

    [proposal] = await proposals(reader)

    assert (proposal.first_key, proposal.second_key) == ("service:billing", "service:биллинг")
    assert (proposal.score, proposal.reason, proposal.state) == (1, "equal names", DUPLICATE_STATE_PROPOSED)
    assert not proposal.HasField("decided_at")
    assert (await entity_of(reader, "service:биллинг")).natural_key == "service:биллинг"
    assert await predicates(reader, "service:billing") == ["OWNED_BY"]
    [drawn] = await writer.rows("SELECT * FROM links WHERE relation = 'DUPLICATE_OF'")
    assert (drawn["source_key"], drawn["target_key"], drawn["origin"]) == ("service:биллинг", "service:billing", 2)
    assert ("DUPLICATE_OF", "service:биллинг") in await neighbours(reader, "service:billing")


@pytest.mark.parametrize("asked", ["service:billing", "service:биллинг"])
async def test_a_confirmed_duplicate_answers_as_the_first(
    writer: Writer, reader: ReaderServiceStub, asked: str
) -> None:
    """EN-1a: the entity, its facts from either end, its neighbours and its search, by either key."""
    await twins(writer)
    await curate(writer)
    [proposal] = await proposals(reader)

    decided = await decide(writer, proposal, CONFIRM)

    assert decided.state == DUPLICATE_STATE_CONFIRMED
    assert decided.HasField("decided_at")
    found = await entity_of(reader, asked)
    assert found.natural_key == "service:billing"
    assert found.merged_into == ("service:billing" if asked == "service:биллинг" else "")
    assert await predicates(reader, asked) == ["OWNED_BY", "RUNS_IN"]
    assert await neighbours(reader, asked) == [
        ("DEPENDS_ON", "service:ledger"),
        ("DEPENDS_ON", "service:queue"),
        ("OWNED_BY", "team:red"),
        ("RUNS_IN", "zone:eu"),
        ("WATCHES", "team:ops"),
    ]
    by_object = reads.ListFactsRequest(namespace=NAMESPACE, object=FactObject(entity=EntityRef(key=asked)))
    assert [each.predicate for each in (await reader.ListFacts(by_object)).facts] == ["WATCHES"]
    search = reads.SearchRequest(
        namespace=NAMESPACE,
        query="runs in eu",
        mode=retrieval.SEARCH_MODE_LEXICAL,
        keep_irrelevant=True,
        filter=retrieval.SearchFilter(entities=[EntityRef(key=asked)]),
    )
    assert "RUNS_IN" in [hit.fact.predicate for hit in (await reader.Search(search)).hits]
    listed = (await reader.ListEntities(reads.ListEntitiesRequest(namespace=NAMESPACE, kinds=["service"]))).entities
    assert "service:биллинг" not in [each.natural_key for each in listed]


async def test_pages_of_a_merged_entity_join_to_the_whole(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11, EN-1a: nothing is lost or repeated between the keys."""
    await twins(writer)
    await curate(writer)
    await decide(writer, (await proposals(reader))[0], CONFIRM)

    request = reads.ListNeighborsRequest(namespace=NAMESPACE, entity=EntityRef(key="service:billing"), page_size=1)
    found = []
    while True:
        page = await reader.ListNeighbors(request)
        found += [(each.step.relation, each.entity.natural_key) for each in page.neighbors]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token

    assert sorted(found) == await neighbours(reader, "service:billing")


async def test_an_undone_merge_leaves_no_trace_in_answers(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a: the merge rewrote nothing; the pair is not proposed again."""
    await twins(writer)
    before = await state(writer.dsn)
    await curate(writer)
    [proposal] = await proposals(reader)
    await decide(writer, proposal, CONFIRM)

    undone = await decide(writer, proposal, UNDO)

    assert undone.state == DUPLICATE_STATE_UNDONE
    assert await state(writer.dsn) == before
    assert (await entity_of(reader, "service:биллинг")).natural_key == "service:биллинг"
    assert await predicates(reader, "service:billing") == ["OWNED_BY"]
    await writer.record(observation("3", entity("service:биллинг", title="Биллинг"), minutes=3))
    assert (await curate(writer)).duplicates_proposed == 0
    assert await proposals(reader) == []


async def test_a_refused_pair_is_never_proposed_again(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a: whatever its names become; its link is gone."""
    await twins(writer)
    await curate(writer)
    [proposal] = await proposals(reader)

    assert (await decide(writer, proposal, REFUSE)).state == DUPLICATE_STATE_REFUSED

    await writer.record(observation("3", entity("service:billing", title="Биллинг РФ"), minutes=3))
    await writer.record(observation("4", entity("service:биллинг", title="Биллинг РФ"), minutes=3))
    assert (await curate(writer)).duplicates_proposed == 0
    assert await proposals(reader) == []
    assert [each.proposal_id for each in await proposals(reader, state=DUPLICATE_STATE_REFUSED)] == [
        proposal.proposal_id
    ]
    assert await writer.rows("SELECT * FROM links WHERE relation = 'DUPLICATE_OF'") == []


async def test_decisions_are_idempotent_and_bound_to_the_state(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a, OP-2: again changes nothing; what the state does not allow is FAILED_PRECONDITION."""
    await twins(writer)
    await curate(writer)
    [proposal] = await proposals(reader)

    async def refused(decision: int) -> str:
        error = await failure(decide(writer, proposal, decision))
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert details_of(error).reason == "INVALID_STATE"
        return details_of(error).metadata["state"]

    assert await refused(UNDO) == "PROPOSED"
    first = await decide(writer, proposal, CONFIRM)
    assert await decide(writer, proposal, CONFIRM) == first
    assert await refused(REFUSE) == "CONFIRMED"
    undone = await decide(writer, proposal, UNDO)
    assert await decide(writer, proposal, UNDO) == undone
    assert await refused(CONFIRM) == "UNDONE"
    error = await failure(decide(writer, "dup-" + "0" * 24, CONFIRM))
    assert error.code() is grpc.StatusCode.NOT_FOUND


async def test_a_chain_of_merges_answers_as_its_least_key(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a: in any order of decisions; undoing one parts only what nothing else joins."""
    for key in ("page:a", "page:b", "page:c"):
        await writer.record(observation(key, entity(key, title="Общая страница"), fact(key, f"SAYS_{key[-1]}", "x")))
    await curate(writer)
    pairs = {(each.first_key[-1], each.second_key[-1]): each for each in await proposals(reader)}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}

    await decide(writer, pairs["b", "c"], CONFIRM)
    assert (await entity_of(reader, "page:c")).natural_key == "page:b"
    await decide(writer, pairs["a", "b"], CONFIRM)

    for key in ("page:a", "page:b", "page:c"):
        assert (await entity_of(reader, key)).natural_key == "page:a"
        assert await predicates(reader, key) == ["SAYS_a", "SAYS_b", "SAYS_c"]
    await decide(writer, pairs["a", "c"], CONFIRM)
    await decide(writer, pairs["a", "b"], UNDO)
    assert (await entity_of(reader, "page:b")).natural_key == "page:a"
    await decide(writer, pairs["b", "c"], UNDO)
    assert (await entity_of(reader, "page:b")).natural_key == "page:b"
    assert (await entity_of(reader, "page:c")).natural_key == "page:a"


async def test_decisions_at_once_come_to_one_state(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-1a: sixteen confirmations of three connected pairs."""
    for key in ("page:a", "page:b", "page:c"):
        await writer.record(observation(key, entity(key, title="Общая страница")))
    await curate(writer)
    pairs = await proposals(reader)

    await asyncio.gather(*(decide(writer, pairs[number % 3], CONFIRM) for number in range(16)))

    merges = await writer.rows("SELECT merged_key, canonical_key FROM entity_merges ORDER BY 1")
    assert [tuple(row.values()) for row in merges] == [("page:b", "page:a"), ("page:c", "page:a")]


async def test_a_link_that_a_source_said_stays_its_own(writer: Writer, reader: ReaderServiceStub) -> None:
    """DO-7: whichever of curation and the source comes first, and whatever is decided."""
    said = link("service:биллинг", "DUPLICATE_OF", "service:billing", weight=0.4)
    await twins(writer)
    await curate(writer)
    await writer.record(observation("3", said))
    drawn = await writer.row("SELECT weight, origin FROM links WHERE relation = 'DUPLICATE_OF'")
    assert drawn == {"weight": 0.4, "origin": 1}

    await curate(writer)
    await decide(writer, (await proposals(reader))[0], REFUSE)

    assert await writer.row("SELECT weight, origin FROM links WHERE relation = 'DUPLICATE_OF'") == drawn


async def test_documents_of_equal_texts_are_proposed(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1: those of which at least four fifths are the same, title and heading included; observations never are."""
    parts = [f"## Раздел {number}\n\n" + f"Слова раздела {number}. " * 40 for number in range(10)]
    await writer.record(observation("1", article("doc:a", "\n\n".join(parts), title="Руководство")))
    await writer.record(
        observation("2", article("file:b", "\n\n".join([*parts[:9], "## Другой\n\nиное"]), title="Руководство"))
    )
    await writer.record(observation("3", article("doc:c", "\n\n".join(parts[:5]), title="Руководство")))
    for number in range(2):
        await writer.record(observation(f"chat-{number}", content="Одно и то же сообщение"))

    await curate(writer)

    found = {(each.first_key, each.second_key): each.reason for each in await proposals(reader)}
    assert found[("doc:a", "file:b")] == "equal texts"
    assert ("doc:c", "file:b") not in found
    assert not any("obs-" in key for pair in found for key in pair)


async def test_names_that_everybody_has_say_nothing(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1: a title of a hundred commits is no duplicate, and proposals do not grow as its square."""
    for number in range(30):
        await writer.record(observation(str(number), entity(f"commit:{number:02}", title="Merge branch main")))

    await curate(writer)

    assert await proposals(reader) == []


async def test_a_common_word_does_not_hide_a_rare_one(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-1: names are compared by their rarer words, however many things share the common ones."""
    words = ("".join(letters) for letters in product("бвгджз", repeat=4))
    others = [entity(f"service:{word}", title=f"Служба {word}") for word in islice(words, 250)]
    for number in range(0, len(others), 50):
        await writer.record(observation(f"others-{number}", *others[number : number + 50]))
    await writer.record(observation("1", entity("service:x1", title="Служба расчётов")))
    await writer.record(observation("2", entity("service:x2", title="Служба расчёта")))

    await curate(writer)

    found = [(each.first_key, each.second_key) for each in await proposals(reader)]
    assert ("service:x1", "service:x2") in found


async def seen(database: Database, labels: tuple[str, ...], key: str) -> tuple[list[str], str]:
    """Which keys answer as the entity, and into what it is merged, for a caller with these labels."""

    async def work(snapshot: Snapshot) -> tuple[list[str], str]:
        return await keys_of(snapshot, key), (await visible_entity(snapshot, key))["merged_into"]

    view = View(NAMESPACE, tuple(f"role:{label}" for label in labels), sees_all=False)
    return await Store(database).snapshot(view, work, timeout_s=10)


async def test_a_merge_does_not_betray_a_hidden_entity(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """AC-6: to who may not see one of the two, there is no merge and no proposal."""
    await writer.record(observation("1", entity("page:a", title="Тайная страница", scopes=["role:a"])))
    await writer.record(observation("2", entity("page:b", title="Тайная страница", scopes=["role:b"])))
    await curate(writer)
    await decide(writer, (await proposals(reader))[0], CONFIRM)

    assert await seen(database, ("b",), "page:b") == (["page:b"], "")
    assert await seen(database, ("a",), "page:a") == (["page:a"], "")
    assert await seen(database, ("a", "b"), "page:b") == (["page:a", "page:b"], "page:a")
