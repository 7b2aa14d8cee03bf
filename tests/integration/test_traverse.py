"""RE-10: paths through the graph, and what they must not tell."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, TypedId

from services.reader.context import ReadContext
from services.reader.graph.anchors import Named
from services.reader.graph.walk import Route
from services.reader.queries.traverse import Traversed, traverse
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from shared.timestamps import from_datetime
from tests.integration.configuring import TRACKER, enable
from tests.integration.curating import curate, decide, proposals
from tests.integration.reader_seed import NAMESPACE, Seed, seeding
from tests.integration.writing import Writer, at, entity, fact, fact_id, link, observation, query

pytest_plugins = ("tests.integration.reader_fixtures",)

ALICE, ALPHA, BETA, BOB = "person:alice", "project:alpha", "project:beta", "person:bob"


async def asked(reader: ReaderServiceStub, *anchors: str, **fields: Any) -> pb.TraverseResponse:
    refs = [EntityRef(key=anchor) for anchor in anchors]
    return await reader.Traverse(pb.TraverseRequest(namespace=NAMESPACE, anchors=refs, **fields))


def shown(response: pb.TraverseResponse) -> list[str]:
    """Paths as text: `a -REL> b <REL- c`."""
    return [_text(path) for path in response.paths]


def _text(path: retrieval.GraphPath) -> str:
    text = path.entity_keys[0]
    for step, key in zip(path.steps, path.entity_keys[1:], strict=True):
        text += f" <{step.relation}- {key}" if step.reversed else f" -{step.relation}> {key}"
    return text


async def now(dsn: str) -> Timestamp:
    """The database's clock, later than all that was answered."""
    [row] = await query(dsn, "SELECT clock_timestamp() AS now")
    return from_datetime(row["now"])


async def chain(writer: Writer) -> None:
    """Facts and a link in a row: alice → alpha → beta → bob."""
    await writer.record_all(
        observation("1", entity(ALICE, title="Alice", aliases=["Алиса Селезнёва"]), fact(ALICE, "WORKS_ON", ALPHA)),
        observation("2", link(ALPHA, "PART_OF", BETA)),
        observation("3", fact(BOB, "LEADS", BETA, confidence=0.5)),
    )


# --- Paths -----------------------------------------------------------------------------------------------------------


async def test_paths_are_told_with_their_entities(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10: two steps unless said otherwise, each with its relation, direction, weight and fact."""
    await chain(writer)

    response = await asked(reader, ALICE)

    assert shown(response) == [
        "person:alice -WORKS_ON> project:alpha",
        "person:alice -WORKS_ON> project:alpha -PART_OF> project:beta",
    ]
    assert [each.natural_key for each in response.entities] == [ALICE, ALPHA, BETA]
    assert [step.fact_id for step in response.paths[1].steps] == [fact_id(fact(ALICE, "WORKS_ON", ALPHA)), ""]
    assert not response.truncated


@pytest.mark.parametrize(("depth", "longest"), [(1, 1), (2, 2), (3, 3)])
async def test_depth_bounds_the_walk(writer: Writer, reader: ReaderServiceStub, depth: int, longest: int) -> None:
    """RE-10; and the weight is the product of the steps'."""
    await chain(writer)

    paths = (await asked(reader, ALICE, depth=depth)).paths

    assert [len(path.steps) for path in paths] == list(range(1, longest + 1))
    assert [path.weight for path in paths] == [1, 1, 0.5][:longest]


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        (retrieval.DIRECTION_OUTGOING, ["project:alpha -PART_OF> project:beta"]),
        (retrieval.DIRECTION_INCOMING, ["project:alpha <WORKS_ON- person:alice"]),
    ],
)
async def test_a_direction_is_kept_to(
    writer: Writer, reader: ReaderServiceStub, direction: retrieval.Direction, expected: list[str]
) -> None:
    """RE-10."""
    await chain(writer)

    assert shown(await asked(reader, ALPHA, direction=direction)) == expected


async def test_relations_and_kinds_are_kept_to(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10: neither another relation nor another kind is passed through."""
    await chain(writer)

    by_relation = await asked(reader, ALICE, relations=["WORKS_ON", "LEADS"], depth=3)
    by_kind = await asked(reader, ALICE, kinds=["person"], depth=3)

    assert shown(by_relation) == ["person:alice -WORKS_ON> project:alpha"]
    assert shown(by_kind) == []


async def test_shortest_then_heaviest(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10."""
    await writer.record(
        observation(
            "1",
            link("a:1", "R", "a:2", weight=0.2),
            link("a:1", "R", "a:3", weight=0.9),
            link("a:3", "R", "a:4", weight=1.0),
            link("a:2", "S", "a:5", weight=1.0),
        )
    )

    assert [path.entity_keys[-1] for path in (await asked(reader, "a:1")).paths] == ["a:3", "a:2", "a:4", "a:5"]


async def test_no_entity_is_twice_on_a_path(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-3, RE-10: rings and loops end."""
    await writer.record(
        observation(
            "1",
            *(link(one, "R", other) for one, other in [("a:1", "a:2"), ("a:2", "a:3"), ("a:3", "a:1"), ("a:1", "a:1")]),
        )
    )

    paths = (await asked(reader, "a:1", depth=3)).paths

    assert sorted(list(path.entity_keys) for path in paths) == [
        ["a:1", "a:2"], ["a:1", "a:2", "a:3"], ["a:1", "a:3"], ["a:1", "a:3", "a:2"]
    ]  # fmt: skip


async def test_parallel_edges_are_paths_of_their_own(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10."""
    await writer.record(
        observation("1", link("a:1", "R", "a:2"), link("a:1", "S", "a:2", weight=0.5), fact("a:2", "T", "a:1"))
    )

    assert shown(await asked(reader, "a:1")) == ["a:1 -R> a:2", "a:1 <T- a:2", "a:1 -S> a:2"]


async def test_an_edge_that_weighs_next_to_nothing_is_not_walked(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-3."""
    await writer.record(observation("1", link("a:1", "R", "a:2", weight=0.05), link("a:2", "R", "a:3", weight=0.1)))

    assert shown(await asked(reader, "a:1")) == ["a:1 -R> a:2"]


async def test_the_moment_decides(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10, FA-10."""
    old = fact(ALICE, "WORKS_ON", ALPHA, valid_from=at(0), valid_to=at(60))
    new = fact(ALICE, "WORKS_ON", BETA, valid_from=at(60))
    await writer.record_all(observation("1", old), observation("2", new))

    then = await asked(reader, ALICE, at=retrieval.TimePoint(as_of=at(30)))
    now = await asked(reader, ALICE)

    assert shown(then) == ["person:alice -WORKS_ON> project:alpha"]
    assert shown(now) == ["person:alice -WORKS_ON> project:beta"]


async def test_an_answer_about_what_was_known_stays(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, RE-10: at every moment between writes the same for ever, and nothing before it was written."""
    first = fact(ALICE, "WORKS_ON", ALPHA, valid_from=at(0))
    second = fact(ALICE, "WORKS_ON", BETA, valid_from=at(60), supersedes=[fact_id(first)])
    given = []
    for number, said in enumerate([entity(ALICE, title="Alice"), first, second, link(BETA, "PART_OF", "program:x")]):
        await writer.record(observation(str(number), said, minutes=number))
        moment = retrieval.TimePoint(known_at=await now(writer.dsn))
        given.append((moment, await asked(reader, ALICE, at=moment)))

    for moment, answer in given:
        assert await asked(reader, ALICE, at=moment) == answer
    assert [shown(answer) for _, answer in given] == [
        [],
        ["person:alice -WORKS_ON> project:alpha"],
        ["person:alice -WORKS_ON> project:beta"],
        ["person:alice -WORKS_ON> project:beta", "person:alice -WORKS_ON> project:beta -PART_OF> program:x"],
    ]
    then = retrieval.TimePoint(known_at=given[1][0].known_at, as_of=at(70))
    assert shown(await asked(reader, ALICE, at=then)) == ["person:alice -WORKS_ON> project:alpha"]


async def test_a_cut_answer_says_so(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10: the limit cuts, and what fits it exactly is whole."""
    await writer.record(observation("1", *(link("a:1", "R", f"a:{number}") for number in range(2, 7))))

    whole, cut = await asked(reader, "a:1", limit=5), await asked(reader, "a:1", limit=4)

    assert (len(whole.paths), whole.truncated) == (5, False)
    assert (len(cut.paths), cut.truncated) == (4, True)


async def test_longer_paths_that_do_not_fit_are_cut_too(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10: all the limit is used by shorter ones."""
    await writer.record(observation("1", link("a:1", "R", "a:2"), link("a:2", "R", "a:3")))

    cut = await asked(reader, "a:1", limit=1)

    assert (shown(cut), cut.truncated) == (["a:1 -R> a:2"], True)


# --- Anchors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Alice", "ALICE", "алиса  селезнева"])
async def test_a_title_or_an_alias_is_an_anchor(writer: Writer, reader: ReaderServiceStub, name: str) -> None:
    """RE-10, OB-8: in any case, with ё as е."""
    await chain(writer)

    assert shown(await asked(reader, name, depth=1)) == ["person:alice -WORKS_ON> project:alpha"]


async def test_a_name_of_two_is_no_anchor(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10: unambiguous ones only."""
    await chain(writer)
    await writer.record(observation("9", entity("person:a2", aliases=["alice"])))

    assert shown(await asked(reader, "Alice")) == []


async def test_an_unknown_anchor_is_an_empty_answer(writer: Writer, reader: ReaderServiceStub) -> None:
    await chain(writer)

    assert shown(await asked(reader, "person:nobody")) == []
    assert shown(await asked(reader)) == []


async def test_packs_tell_anchors(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-10, DP-2: other names of kinds, other forms of keys, and ids in a text, once each."""
    await enable(writer, TRACKER)
    await writer.record(observation("1", link("issue:OPS-1", "RELATED_TO", "issue:OPS-2")))
    expected = ["issue:OPS-1 -RELATED_TO> issue:OPS-2"]
    one_way = {"direction": retrieval.DIRECTION_OUTGOING}

    typed = EntityRef(typed=TypedId(type="ticket", id="OPS-1"))
    by_type = await reader.Traverse(pb.TraverseRequest(namespace=NAMESPACE, anchors=[typed], **one_way))

    assert shown(by_type) == expected
    assert shown(await asked(reader, "https://jira.example.com/browse/OPS-1", **one_way)) == expected
    assert shown(await asked(reader, anchor_text="Смотри OPS-1, там же OPS-1 и NO-9.", **one_way)) == expected


# --- Merged entities -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchor", ["service:billing", "service:биллинг", "person:ann"])
async def test_merged_entities_are_one(writer: Writer, reader: ReaderServiceStub, anchor: str) -> None:
    """EN-1a, RE-10: as an anchor, and in the middle of a path; edges of either key, told by the key that answers."""
    await writer.record_all(
        observation("1", entity("service:billing", title="Биллинг"), fact("person:ann", "OWNS", "service:биллинг")),
        observation("2", entity("service:биллинг", title="биллинг")),
        observation("3", fact("service:billing", "RUNS_IN", "zone:eu")),
    )
    await curate(writer)
    [proposal] = await proposals(reader)
    await decide(writer, proposal, 1)

    paths = (await asked(reader, anchor, relations=["OWNS", "RUNS_IN"])).paths

    if anchor == "person:ann":
        assert [list(path.entity_keys) for path in paths] == [
            ["person:ann", "service:billing"],
            ["person:ann", "service:billing", "zone:eu"],
        ]
    else:
        assert sorted(path.entity_keys[1] for path in paths) == ["person:ann", "zone:eu"]
        assert {path.entity_keys[0] for path in paths} == {"service:billing"}


# --- What must not be told -------------------------------------------------------------------------------------------


async def walked(
    database: Database, anchor: str, granted: tuple[str, ...] = (), *, namespace: str = NAMESPACE, **route: Any
) -> Traversed:
    """A walk as one sees it that holds these labels and no more."""
    context = ReadContext(Store(database), View(namespace, granted, sees_all=False), 30)
    wanted = Route(**{"depth": 3, "limit": 100} | route)
    return await traverse(context, named=[Named(anchor, anchor)], text="", route=wanted, as_of=None)


def ends(traversed: Traversed) -> list[str]:
    return sorted(path.keys[-1] for path in traversed.paths)


async def test_24_a_hidden_entity_is_not_walked_through(seed: Seed, database: Database) -> None:
    """Fault 24; AC-6: it can't be reached, nor what lies behind it alone; for who may see it, both can."""
    seen = await seed.observation("1")
    for key in ("a:1", "a:3"):
        await seed.entity(key)
    await seed.entity("a:2", scopes=["role:few"])
    await seed.link("a:1", "R", "a:2", [seen])
    await seed.fact("a:2", "S", "a:3", [seen])

    assert ends(await walked(database, "a:1")) == []
    assert ends(await walked(database, "a:1", ("role:few",))) == ["a:2", "a:3"]
    assert ends(await walked(database, "a:2")) == []


@pytest.mark.parametrize("edge", ["link", "fact"])
async def test_24_an_edge_without_visible_evidence_is_not_walked(seed: Seed, database: Database, edge: str) -> None:
    """AC-6: though both its ends are visible; nor over one with a label of its own."""
    hidden = await seed.observation("1", scopes=["role:few"])
    for key in ("a:1", "a:2"):
        await seed.entity(key)
    await getattr(seed, edge)("a:1", "R", "a:2", [hidden])

    assert ends(await walked(database, "a:1")) == []
    assert ends(await walked(database, "a:1", ("role:few",))) == ["a:2"]


async def test_24_a_hidden_fact_is_not_walked(seed: Seed, database: Database) -> None:
    """AC-2, AC-6."""
    seen = await seed.observation("1")
    for key in ("a:1", "a:2"):
        await seed.entity(key)
    await seed.fact("a:1", "R", "a:2", [seen], scopes=["role:few"])

    assert ends(await walked(database, "a:1")) == []
    assert ends(await walked(database, "a:1", ("role:few",))) == ["a:2"]


async def test_24_a_cut_does_not_tell_of_hidden_edges(seed: Seed, database: Database) -> None:
    """AC-6: they neither take the place of visible ones, nor make an answer `truncated`."""
    seen = await seed.observation("1")
    await seed.entity("a:0")
    for number in range(1, 6):
        await seed.entity(f"a:{number}")
        await seed.link("a:0", "R", f"a:{number}", [seen], weight=0.5)
        await seed.entity(f"hidden:{number}", scopes=["role:few"])
        await seed.link("a:0", "R", f"hidden:{number}", [seen], weight=0.9)

    exact = await walked(database, "a:0", fan_out=5)
    limited = await walked(database, "a:0", limit=5)
    cut = await walked(database, "a:0", fan_out=4)

    assert (len(exact.paths), exact.truncated) == (5, False)
    assert (len(limited.paths), limited.truncated) == (5, False)
    assert (ends(cut), cut.truncated) == (["a:1", "a:2", "a:3", "a:4"], True)


async def test_24_a_hidden_name_makes_none_ambiguous(seed: Seed, database: Database) -> None:
    """AC-6: an anchor that a visible entity alone has is one, whoever else has it."""
    seen = await seed.observation("1")
    await seed.entity("a:1", title="Billing")
    await seed.entity("a:2", title="billing", scopes=["role:few"])
    await seed.entity("a:3")
    await seed.link("a:1", "R", "a:3", [seen])

    assert ends(await walked(database, "BILLING")) == ["a:3"]
    assert ends(await walked(database, "BILLING", ("role:few",))) == []


async def test_a_merge_with_a_hidden_entity_is_none(seed: Seed, database: Database) -> None:
    """AC-6, EN-1a: neither end of it is betrayed by edges of the other."""
    seen = await seed.observation("1")
    for key in ("a:2", "a:3", "a:4"):
        await seed.entity(key)
    await seed.entity("a:1", scopes=["role:few"])
    await seed.connection.execute("INSERT INTO entity_merges VALUES ($1, 'a:2', 'a:1')", NAMESPACE)
    await seed.link("a:1", "R", "a:3", [seen])
    await seed.link("a:4", "R", "a:2", [seen])

    outside, inside = await walked(database, "a:4"), await walked(database, "a:4", ("role:few",))

    assert [path.keys for path in outside.paths] == [("a:4", "a:2")]
    assert [path.keys for path in inside.paths] == [("a:4", "a:1"), ("a:4", "a:1", "a:3")]


async def test_namespaces_are_not_crossed(dsn: str, seed: Seed, database: Database) -> None:
    """NS-1: the same keys, other edges."""
    async with seeding(dsn, "other") as other:
        for each, end in ((seed, "a:2"), (other, "a:3")):
            made = await each.observation("1")
            for key in ("a:1", end):
                await each.entity(key)
            await each.link("a:1", "R", end, [made])
        await other.connection.execute("INSERT INTO entity_merges VALUES ('other', 'a:2', 'a:1')")

    assert ends(await walked(database, "a:1")) == ["a:2"]
    assert ends(await walked(database, "a:1", namespace="other")) == ["a:3"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entities SET withdrawn = true WHERE natural_key = 'a:2'",
        "UPDATE entities SET archived = true WHERE natural_key = 'a:2'",
        "UPDATE entities SET expires_at = now() - interval '1 day' WHERE natural_key = 'a:2'",
        "UPDATE facts SET withdrawn = true",
        "UPDATE facts SET evidence_lost = true",
        "UPDATE facts SET archived = true",
        "UPDATE facts SET closure = 4",
        "UPDATE facts SET obsolete_at = now() - interval '1 day'",
    ],
)
async def test_what_is_put_away_is_not_walked(seed: Seed, database: Database, change: str) -> None:
    """RE-10, EN-5."""
    seen = await seed.observation("1")
    for key in ("a:1", "a:2"):
        await seed.entity(key)
    await seed.fact("a:1", "R", "a:2", [seen])
    assert ends(await walked(database, "a:1")) == ["a:2"]

    await seed.connection.execute(change)

    assert ends(await walked(database, "a:1")) == []
