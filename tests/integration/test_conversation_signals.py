"""Signals of conversations, from the store to the answer: neighbours, authors, questions, words of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.embedder_client import EmbedderClient
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from tests.integration.reader_seed import NAMESPACE, Seed

pytest_plugins = ("tests.integration.reader_fixtures",)


async def say(
    seed: Seed, number: int, text: str, *, by: str = "person:ann", stream: str = "chat-1", **more: Any
) -> str:
    """A turn of a conversation; all turns have one moment, as an import may give them, unless another is given."""
    place = {"author_key": by, "place_in_stream": f"{number:020}"}
    return await seed.note(f"{stream}/{number}", text, stream=stream, **place, **more)


async def search(reader: ReaderServiceStub, query: str, **fields: Any) -> list[retrieval.SearchHit]:
    request = pb.SearchRequest(namespace=NAMESPACE, query=query, keep_irrelevant=True, **fields)
    return list((await reader.Search(request)).hits)


def texts(hits: list[retrieval.SearchHit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


def lifted_by(signal: int, hits: list[retrieval.SearchHit]) -> list[str]:
    return sorted(hit.chunk.text for hit in hits if signal in {each.signal for each in hit.signals})


async def test_what_is_said_next_to_a_hit_goes_up(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: neighbours in the stream, the nearer the more, also where moments are equal; what is far off in the same
    stream gains from its best, and the same words elsewhere nothing."""
    await say(seed, 1, "the class is one")
    for number in (2, 3):
        await say(seed, number, "nothing of that")
    await say(seed, 10, "I signed up for a pottery class")
    await say(seed, 8, "the class is eight")
    await say(seed, 9, "the class is nine")
    await say(seed, 1, "the class is elsewhere", stream="chat-2")

    hits = await search(reader, "pottery class")

    assert texts(hits) == [
        "I signed up for a pottery class",
        "the class is nine",
        "the class is eight",
        "the class is one",
        "the class is elsewhere",
    ]
    assert len({hit.score for hit in hits}) == 5


async def test_a_question_steps_back(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: of two turns with the same words the one that asks tells nothing."""
    await say(seed, 1, "pottery on Monday?", stream="chat-1")
    await say(seed, 1, "pottery on Friday", stream="chat-2")

    told, asked = await search(reader, "pottery")

    assert (told.chunk.text, asked.chunk.text) == ("pottery on Friday", "pottery on Monday?")
    assert told.score > asked.score


async def test_an_answer_gains_from_its_question(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: what is said right after a question gains more than what is said right after anything else."""
    for stream, first in (("chat-1", "pottery on Monday?"), ("chat-2", "pottery on Monday")):
        await say(seed, 1, first, stream=stream, by="person:bob")
        await say(seed, 2, f"Monday it is {stream}", stream=stream)

    scores = {hit.chunk.text: hit.score for hit in await search(reader, "pottery Monday")}

    assert scores["Monday it is chat-1"] > scores["Monday it is chat-2"]


async def test_hidden_turns_move_nothing(seed: Seed, database: Database) -> None:
    """AC-2, AC-4, NS-1: what stands between two turns that a caller sees counts as if it were not there."""
    await say(seed, 1, "I signed up for a pottery class")
    await say(seed, 4, "the class begins on Monday")

    async def as_outsider() -> Retrieved:
        retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), 20_000)
        return await retriever.retrieve(View(NAMESPACE, (), sees_all=False), Query("pottery class"), timeout_s=30)

    before = await as_outsider()
    for number in (2, 3):
        await say(seed, number, "a secret class of pottery", scopes=["role:board"])
    after = await as_outsider()

    assert [each.score for each in before.candidates] == [each.score for each in after.candidates]
    assert [each.signals for each in before.candidates] == [each.signals for each in after.candidates]


@pytest.mark.parametrize("query", ["what does Caroline think of pottery", "что Каролина думает про pottery"])
async def test_who_is_named_speaks_first(seed: Seed, reader: ReaderServiceStub, query: str) -> None:
    """RE-1: authorship, by the key or by a title of the author's entity."""
    await seed.entity("person:caroline", title="Каролина")
    await say(seed, 1, "pottery calms the mind", by="person:bob", stream="chat-1")
    await say(seed, 1, "pottery calms the soul", by="person:caroline", stream="chat-2")

    hits = await search(reader, query)

    assert texts(hits) == ["pottery calms the soul", "pottery calms the mind"]
    assert lifted_by(retrieval.SIGNAL_AUTHOR, hits) == ["pottery calms the soul"]


async def test_a_name_that_the_caller_may_not_see_names_nobody(seed: Seed, database: Database) -> None:
    """AC-2, AC-6: a hidden entity's title does not tell who its turns are by."""
    await seed.entity("person:17", title="Каролина", scopes=["role:board"])
    await say(seed, 1, "pottery calms", by="person:17")
    retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), 20_000)

    def named(found: Retrieved) -> list[bool]:
        return [each.candidate.is_by_named for each in found.candidates]

    query = Query("Каролина pottery", keep_irrelevant=True)
    outside = await retriever.retrieve(View(NAMESPACE, (), sees_all=False), query, timeout_s=30)
    inside = await retriever.retrieve(View(NAMESPACE, ("role:board",), sees_all=False), query, timeout_s=30)

    assert (named(outside), named(inside)) == ([False], [True])


@pytest.mark.parametrize(
    ("query", "clock"),
    [
        ("pottery in May 2023", ""),
        ("pottery, 8 мая 2023", ""),
        ("pottery yesterday", "2023-05-09T10:00:00+03:00"),
    ],
)
async def test_words_of_time_lift_what_happened_then(
    seed: Seed, reader: ReaderServiceStub, query: str, clock: str
) -> None:
    """RE-1: a window by the request's clock and zone; what happened at another time stays, behind."""
    moment = datetime(2023, 5, 8, 12, tzinfo=UTC)
    await say(seed, 1, "pottery then", stream="chat-1", occurred_at=moment)
    await say(seed, 1, "pottery once", stream="chat-2", occurred_at=moment + timedelta(days=90))
    await say(seed, 1, "pottery ever", stream="chat-3", occurred_at=moment - timedelta(days=90))

    hits = await search(reader, query, caller_time=clock)

    assert texts(hits)[0] == "pottery then"
    assert len(hits) == 3
    assert lifted_by(retrieval.SIGNAL_TIME, hits) == ["pottery then"]


async def test_facts_are_of_a_time_by_their_interval(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1, OB-5: by when it holds, not by when it was told; what has no interval is of no time."""
    told = await seed.observation("1")
    for key in ("person:ann", "craft:pottery", "craft:weaving"):
        await seed.entity(key)
    since = datetime(2023, 5, 1, tzinfo=UTC)
    dated = await seed.fact("person:ann", "PRACTISES", "craft:pottery", [told], valid_from=since)
    await seed.fact("person:ann", "PRACTISES", "craft:weaving", [told])

    hits = await search(reader, "ann practises in June 2023")

    lifted = [hit.item_id for hit in hits if retrieval.SIGNAL_TIME in {each.signal for each in hit.signals}]
    assert lifted == [dated]
