"""RE-3: the graph as a signal of search: what it adds, and what it must not drag in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.embedder_client import EmbedderClient
from services.reader.graph.signal import signal_statement
from services.reader.graph.walk import SQL as WALK
from services.reader.retrieval import tuning
from services.reader.retrieval.graph import REACH
from services.reader.retrieval.retrieve import Query, Retriever
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from services.reader.search_statement import search_arguments
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from tests.integration.configuring import TRACKER, enable
from tests.integration.reader_process import Vectors
from tests.integration.reader_seed import Seed
from tests.integration.test_walk_plan import GROW, HUB, analyzed, read
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, link, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures",)

GRAPH, FULL = retrieval.SEARCH_MODE_GRAPH, retrieval.SEARCH_MODE_FULL

GATEWAY = "How the certificate of the gateway is renewed in this project: ask the balancer for one and restart it."
FRESH, BEST = 300, 8

BALANCER = "The balancer keeps certificates in its vault for ninety days and reloads them without a restart."
PASTA = "For the pasta of this project boil two litres of salted water, and cook the spaghetti for nine minutes."
SAUCE = "The tomato sauce of this project simmers with basil and garlic for half an hour."


async def told(stub: ReaderServiceStub, query: str, **fields: Any) -> dict[str, float]:
    """Texts that were found, with what the graph says of them."""
    request = pb.SearchRequest(namespace=NAMESPACE, query=query, keep_irrelevant=True, limit=50, **fields)
    hits = (await stub.Search(request)).hits
    return {
        hit.chunk.text or hit.fact.sentence.partition(" (")[0] or hit.entity.title: next(
            (each.raw for each in hit.signals if each.signal == retrieval.SIGNAL_GRAPH), 0.0
        )
        for hit in hits
    }


async def two_topics(dsn: str, target: str = "") -> None:
    """Gateways and pasta, which a hub and a common word join."""
    async with writing(dsn, target) if target else writing(dsn) as writer:
        hub = entity("project:main", title="Project")
        for number, (key, title, text) in enumerate(
            [
                ("page:gateway", "Gateway", GATEWAY),
                ("page:balancer", "Balancer", BALANCER),
                ("page:pasta", "Pasta", PASTA),
                ("page:sauce", "Sauce", SAUCE),
            ]
        ):
            await writer.record(
                observation(
                    str(number), hub, entity(key, title=title), article(key, text), link(key, "PART_OF", "project:main")
                )
            )
        await writer.record(observation("near", link("page:gateway", "LINKS_TO", "page:balancer")))
        await writer.record(observation("far", link("page:gateway", "LINKS_TO", "page:pasta")))
        for number in range(12):
            await writer.record(observation(f"o{number}", content=f"Note {number} of the project: nothing to report."))
        if target:
            await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)


@pytest.mark.parametrize("has_vectors", [True, False])
async def test_a_hub_and_a_common_word_drag_nothing_in(
    dsn: str, reader: ReaderServiceStub, hybrid: ReaderServiceStub, bundled: Vectors, has_vectors: bool
) -> None:
    """RE-3: what is linked and of the topic is come to; what a hub or a link joins and is of another is not, though a
    walk without a check comes to it in one step."""
    await two_topics(dsn, bundled.target if has_vectors else "")
    stub = hybrid if has_vectors else reader
    neighbours = pb.ListNeighborsRequest(namespace=NAMESPACE, entity=EntityRef(key="page:gateway"))
    near = {each.entity.title for each in (await stub.ListNeighbors(neighbours)).neighbors}

    found = await told(stub, "project gateway certificate renewal balancer", mode=GRAPH)

    assert near == {"Balancer", "Pasta", "Project"}
    assert {GATEWAY, BALANCER} <= found.keys()
    assert not {PASTA, SAUCE, "Pasta", "Sauce"} & found.keys()


async def test_a_check_of_steps_keeps_the_other_topic_out(
    dsn: str, hybrid: ReaderServiceStub, bundled: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RE-3: the test above fails where every step is taken: then the pasta is found."""
    await two_topics(dsn, bundled.target)
    monkeypatch.setattr(tuning, "GRAPH_NEAR", -9.0)

    found = await told(hybrid, "project gateway certificate renewal balancer", mode=GRAPH)

    assert PASTA in found


async def owners(dsn: str, target: str) -> None:
    """Services that lead to each other by facts, and other facts beside them."""
    async with writing(dsn, target) as writer:
        await writer.record_all(
            observation("1", entity("service:checkout", title="Checkout service")),
            observation("2", entity("service:billing", title="Billing service")),
            observation("3", fact("service:checkout", "DEPENDS_ON", "service:billing")),
            observation("4", fact("service:billing", "OWNED_BY", "team:blue")),
            observation("5", fact("person:ann", "BORN_IN", "city:paris")),
            *(observation(f"o{number}", content=f"Lunch on day {number} was soup and bread") for number in range(20)),
        )
        await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)


async def test_facts_two_steps_away_are_come_to(dsn: str, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-3: the nearer weighs more; what no path leads to is not there; in a search by all, it is one signal more."""
    await owners(dsn, bundled.target)
    query = "Which team owns the service that the checkout service depends on?"

    graph, full = await told(hybrid, query, mode=GRAPH), await told(hybrid, query, mode=FULL)

    assert 1 > graph["checkout depends on billing"] > 0
    assert graph["billing owned by blue"] > 0
    assert "ann born in paris" not in graph
    assert full["billing owned by blue"] == graph["billing owned by blue"]
    assert full["ann born in paris"] == 0


async def test_a_filter_holds_for_the_graph(dsn: str, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-1: items of another kind are not told, though they are walked over."""
    await owners(dsn, bundled.target)
    wanted = retrieval.SearchFilter(item_kinds=[retrieval.ITEM_KIND_ENTITY])

    graph = await told(hybrid, "checkout service depends on billing service", mode=GRAPH, filter=wanted)

    assert {"Checkout service", "Billing service"} == graph.keys()


async def test_without_a_graph_nothing_is_found_by_it(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-3, RE-4: and it says why; a search by all is as if there were no such signal."""
    await seed.note("1", "the gateway was restarted")
    request = pb.SearchRequest(namespace=NAMESPACE, query="gateway", mode=GRAPH)

    alone = await reader.Search(request)
    full = await told(reader, "gateway", mode=FULL)

    assert (list(alone.hits), alone.abstention) == ([], retrieval.ABSTENTION_NO_CANDIDATES)
    assert full == {"the gateway was restarted": 0.0}


async def test_what_the_query_names_is_walked_from(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-3, DP-2: by an id that a pack's pattern finds, though no text holds it."""
    await enable(writer, TRACKER)
    await writer.record(observation("1", link("issue:OPS-1", "RELATED_TO", "page:outage")))
    await writer.record(observation("2", article("page:outage", "The balancer rejected certificates for an hour.")))

    found = await told(reader, "certificates and OPS-1", mode=GRAPH)

    assert "The balancer rejected certificates for an hour." in found


# --- What must not be told -------------------------------------------------------------------------------------------


async def walked(database: Database, granted: tuple[str, ...], query: str) -> set[str]:
    """Keys and facts that a walk tells one that holds these labels and no more."""
    retriever = Retriever(Store(database), EmbedderClient("127.0.0.1:1", timeout_s=1, cached_queries=1), 20_000)
    view = View(NAMESPACE, granted, sees_all=False)
    wanted = Query(query, mode=Mode.GRAPH, keep_irrelevant=True)
    found = await retriever.retrieve(view, wanted, timeout_s=30)
    return {each.candidate.owner_key for each in found.candidates}


async def test_24_a_search_does_not_walk_through_what_is_hidden(seed: Seed, database: Database) -> None:
    """Fault 24; AC-6: neither the hidden entity nor what lies behind it alone, nor facts over which one comes there."""
    seen = await seed.observation("1")
    for key, labels in (("page:gateway", []), ("page:vault", ["role:few"]), ("page:certificate", [])):
        await seed.entity(key, title=key, scopes=labels)
        await seed.passage(3, key, f"{key} quaternion", scopes=labels)
    made = await seed.fact("page:gateway", "USES", "page:vault", [seen])
    await seed.link("page:vault", "HOLDS", "page:certificate", [seen])
    # To whom no edge is open there is no graph; this one leads nowhere else.
    for key in ("page:lamp", "page:shade"):
        await seed.entity(key, title=key)
    await seed.link("page:lamp", "HAS", "page:shade", [seen])
    for number in range(30):
        await seed.note(f"note {number}", f"note {number}")

    outside, inside = [await walked(database, granted, "gateway quaternion") for granted in ((), ("role:few",))]

    assert outside == {"page:gateway", "page:certificate"}
    assert inside == {"page:gateway", "page:vault", "page:certificate", made}


async def test_24_a_hidden_text_makes_no_step_relevant(seed: Seed, database: Database) -> None:
    """AC-6: what the caller may not read does not tell that an entity is of the topic."""
    seen = await seed.observation("1")
    for key in ("page:gateway", "page:other"):
        await seed.entity(key, title=key)
        await seed.passage(3, key, key)
    await seed.passage(1, "page:other", "the gateway itself", scopes=["role:few"])
    await seed.link("page:gateway", "R", "page:other", [seen])
    for number in range(30):
        await seed.note(f"note {number}", f"note {number}")

    assert await walked(database, (), "gateway") == {"page:gateway"}
    assert await walked(database, ("role:few",), "gateway") == {"page:gateway", "page:other"}


# --- What it costs ---------------------------------------------------------------------------------------------------


async def test_a_hub_is_not_read_whole_by_a_search(seed: Seed, database: Database) -> None:
    """RE-3: of 20,000 edges as many as are followed, from the heaviest."""
    await seed.connection.execute(GROW)
    await seed.passage(3, HUB, "quaternion hub")
    plans = await explained_walk(database)

    edges = read(plans, "links", "facts")

    assert 0 < edges <= 4 * (tuning.GRAPH_FAN_OUT + 5) * (tuning.GRAPH_FAN_OUT + 1)


async def test_what_nobody_counted_yet_is_read_by_key(seed: Seed, database: Database) -> None:
    """RE-2, RE-3: before statistics are made, as after a bulk load, not each entity is held against each."""
    seen = await seed.observation("1")
    begun = []
    for number in range(FRESH):
        await seed.entity(f"page:{number}", title=f"Page {number}")
        passage_id = await seed.passage(3, f"page:{number}", f"page {number}{' quaternion' if number < BEST else ''}")
        begun += [passage_id] if number < BEST else []
        await seed.link(f"page:{number}", "R", f"page:{(number * 7 + 1) % FRESH}", [seen])

    plans = await explained_walk(database, begun)

    assert read(plans, "entities") < 4 * BEST * FRESH
    assert read(plans, "passages") < 4 * BEST * FRESH


async def explained_walk(database: Database, begun: Sequence[int] = ()) -> list[dict[str, Any]]:
    """What the walk of a search does, from the hub or from passages."""
    bounds = {
        "passage_ids": list(begun),
        "weights": [0.9] * len(begun),
        "anchors": [] if begun else [HUB],
        "begun_told": False,
        "greatest_distance": None,
        **asdict(REACH),
    }
    shared = ("quaternion", None, *search_arguments(Filter(), [], 1_000, 100, None))
    seen = (NAMESPACE, ["role:few"], False)
    statement = signal_statement("", Filter(), len(shared))
    return await analyzed(database, (WALK.prepare_walk, seen), (statement, (*seen, *shared, json.dumps(bounds))))
