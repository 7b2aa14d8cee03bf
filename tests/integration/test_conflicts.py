"""Facts that contradict each other, in context packs (FA-7)."""

from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.retrieval_pb2 import ITEM_KIND_FACT, SEARCH_MODE_LEXICAL, PackItem, TimePoint

from services.reader.compiler.compiling import Wish
from services.reader.context import ReadContext
from services.reader.embedder_client import EmbedderClient
from services.reader.queries.compile_context import compile_context
from services.reader.retrieval.retrieve import Query, Retriever
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from tests.integration.configuring import TRACKER, configure, enable
from tests.integration.writing import NAMESPACE, Writer, at, entity, fact, fact_id, observation

pytest_plugins = ("tests.integration.reader_fixtures",)


async def packed(reader: ReaderServiceStub, query: str, **fields: Any) -> dict[str, PackItem]:
    """The facts of a pack, by id."""
    request = reads.CompileContextRequest(namespace=NAMESPACE, query=query, mode=SEARCH_MODE_LEXICAL, **fields)
    pack = (await reader.CompileContext(request)).pack
    assert ("contradicted" in pack.rendered) == any(item.conflict for item in pack.items)
    return {item.item_id: item for item in pack.items if item.kind == ITEM_KIND_FACT}


def rivals(items: dict[str, PackItem]) -> dict[str, list[str]]:
    assert all(item.conflict == bool(item.rival_fact_ids) for item in items.values())
    return {fact_id: list(item.rival_fact_ids) for fact_id, item in items.items()}


async def test_values_of_a_single_valued_predicate_are_rivals(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-7: both are kept, both are in the pack, each names the other; nothing is resolved."""
    await enable(writer, TRACKER)
    said = [fact("person:alice", "BORN_IN", f"city:{city}") for city in ("oslo", "bergen", "narvik")]
    for number, each in enumerate(said):
        await writer.record(observation(str(number), each))
    await writer.record(observation("bob", fact("person:bob", "BORN_IN", "city:oslo")))

    found = rivals(await packed(reader, "alice born in"))
    ids = {fact_id(each) for each in said}
    assert {each: found[each] for each in ids} == {each: sorted(ids - {each}) for each in ids}
    bobs = rivals(await packed(reader, "bob born in oslo"))
    assert bobs[fact_id(fact("person:bob", "BORN_IN", "city:oslo"))] == []


async def test_values_of_different_times_are_no_rivals(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-7: only overlapping ones, at the moment that is asked about."""
    await enable(writer, TRACKER)
    first = fact("person:alice", "BORN_IN", "city:oslo", valid_from=at(0), valid_to=at(20))
    second = fact("person:alice", "BORN_IN", "city:bergen", valid_from=at(10))
    await writer.record(observation("1", first, second))

    assert rivals(await packed(reader, "alice born")) == {fact_id(second): []}
    then = await packed(reader, "alice born", at=TimePoint(as_of=at(15)))
    assert rivals(then) == {fact_id(first): [fact_id(second)], fact_id(second): [fact_id(first)]}


async def test_one_value_told_twice_is_no_rival_of_itself(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-7, FA-1: facts of one triple with different intervals agree."""
    await enable(writer, TRACKER)
    await writer.record(
        observation("1", *(fact("person:alice", "BORN_IN", "city:oslo", valid_from=at(m)) for m in (0, 5)))
    )
    assert set(map(tuple, rivals(await packed(reader, "alice born")).values())) == {()}


async def test_many_valued_predicates_never_conflict(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-7; fault 12: nor do those of which no pack says anything, unless the caller asks for them."""
    await enable(writer, TRACKER)
    likes = [fact("person:alice", "LIKES", value) for value in ("tea", "jazz")]
    uses = [fact("person:alice", "USES", value) for value in ("vim", "emacs")]
    await writer.record(observation("1", *likes, *uses))

    assert set(map(tuple, rivals(await packed(reader, "alice likes uses")).values())) == {()}
    asked = rivals(await packed(reader, "alice likes uses", mark_all_conflicts=True))
    assert asked == {
        **{fact_id(each): [] for each in likes},
        fact_id(uses[0]): [fact_id(uses[1])],
        fact_id(uses[1]): [fact_id(uses[0])],
    }


@pytest.mark.parametrize("mark_all", [False, True])
async def test_without_packs_conflicts_are_marked_on_request(
    writer: Writer, reader: ReaderServiceStub, mark_all: bool
) -> None:
    """FA-7: where the caller asks."""
    said = [fact("person:alice", "BORN_IN", f"city:{city}") for city in ("oslo", "bergen")]
    await writer.record(observation("1", *said))
    found = await packed(reader, "alice born in", mark_all_conflicts=mark_all)
    assert [item.conflict for item in found.values()] == [mark_all, mark_all]


async def test_a_pack_that_acts_no_more_marks_nothing(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-7, DP-2."""
    await enable(writer, TRACKER)
    await writer.record(
        observation("1", *(fact("person:alice", "BORN_IN", f"city:{city}") for city in ("oslo", "bergen")))
    )
    await configure(writer)
    assert not any(item.conflict for item in (await packed(reader, "alice born in")).values())


async def test_a_hidden_rival_is_not_betrayed(writer: Writer, database: Database) -> None:
    """AC-6, FA-7: neither by a mark nor by an id: one that is hidden itself, whose end is, or whose evidence is."""
    await enable(writer, TRACKER)
    shown = fact("person:alice", "BORN_IN", "city:oslo")
    await writer.record(observation("shown", shown))
    await writer.record(observation("1", fact("person:alice", "BORN_IN", "city:hidden", scopes=["role:few"])))
    await writer.record(observation("2", fact("person:alice", "BORN_IN", "city:end")))
    await writer.record(observation("3", entity("city:end", title="End", scopes=["role:few"])))
    await writer.record(observation("4", fact("person:alice", "BORN_IN", "city:evidence"), scopes=["role:few"]))
    retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), exact_scan_rows=1_000)

    async def seen(*granted: str) -> int:
        context = ReadContext(Store(database), View(NAMESPACE, granted, sees_all=False), timeout_s=30)
        query = Query("alice born in oslo", Mode.LEXICAL, Filter(), limit=50)
        pack = (await compile_context(context, retriever, query, Wish("", every_conflict=True))).pack
        [item] = [each for each in pack.items if each.item_id == fact_id(shown)]
        return len(item.rivals)

    assert (await seen(), await seen("role:few")) == (0, 3)
