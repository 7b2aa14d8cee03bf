"""What is new, changed or no longer true since a former pack (RE-14)."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.compiler.delta import WITHHELD
from tests.integration.compiling import compiled, explained, trace_of
from tests.integration.reader_seed import Seed
from tests.integration.writing import NAMESPACE, Writer, article, at, fact, fact_id, observation, observation_id

pytest_plugins = ("tests.integration.reader_fixtures",)

NEW, CHANGED, OVER = (
    retrieval.DELTA_STATE_NEW,
    retrieval.DELTA_STATE_CHANGED,
    retrieval.DELTA_STATE_NO_LONGER_TRUE,
)


async def delta(
    reader: ReaderServiceStub, former: str, query: str = "gateway", **fields: Any
) -> tuple[retrieval.ContextPack, dict[str, int]]:
    """A delta pack, and by item what became of it."""
    pack = (await compiled(reader, query, since_pack_id=former, **fields)).pack
    return pack, {item.item_id: item.delta for item in pack.items}


async def test_only_what_changed_is_told(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14: new, changed, no longer true; what is as it was is not."""
    same = fact("service:gateway", "RUNS_ON", "host:a")
    old = fact("service:gateway", "OWNED_BY", "team:red", valid_from=at(0))
    await writer.record(observation("1", same, old, article("doc:1", "The gateway is old.")))
    first = (await compiled(reader, "gateway")).pack
    assert {item.delta for item in first.items} == {retrieval.DELTA_STATE_UNSPECIFIED}

    new = fact("service:gateway", "OWNED_BY", "team:blue", valid_from=at(60), supersedes=[fact_id(old)])
    await writer.record(observation("2", new, article("doc:1", "The gateway is new."), minutes=60))
    pack, states = await delta(reader, first.pack_id)

    assert states == {fact_id(old): OVER, fact_id(new): NEW, "chunk:doc:1#0": CHANGED}
    assert pack.items[0].item_id == fact_id(old), "what is over is told first"
    assert "[1] (no longer true) gateway owned by red" in pack.rendered
    assert "(new) gateway owned by blue" in pack.rendered
    assert "(changed) The gateway is new." in pack.rendered


async def test_nothing_changed(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-14: an empty delta, also where the former pack left something out for its budget, and one after another."""
    for number in range(30):
        await seed.note(str(number), f"gateway note {number} " + f"filler{number} " * 40)
    first = (await compiled(reader, "gateway")).pack
    assert first.omitted_count

    pack, states = await delta(reader, first.pack_id)
    again, _ = await delta(reader, pack.pack_id)

    assert (states, pack.rendered) == ({}, "")
    assert (list(again.items), again.omitted_count) == ([], first.omitted_count)


async def test_deltas_build_on_each_other(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14: what an earlier pack told is known, and what a delta told, too."""
    await writer.record(observation("1", content="gateway one"))
    first = (await compiled(reader, "gateway")).pack
    await writer.record(observation("2", content="gateway two"))
    second, states = await delta(reader, first.pack_id)
    assert list(states.values()) == [NEW]

    await writer.record(observation("3", content="gateway three"))
    _, states = await delta(reader, second.pack_id)

    assert list(states.values()) == [NEW]
    third = [each for each in states if each not in {item.item_id for item in (*first.items, *second.items)}]
    assert len(third) == 1


async def test_what_is_known_is_followed_though_it_is_found_no_more(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14: a text that lost the words of the query is changed; a fact of another question that has ended is over."""
    ended = fact("service:gateway", "RUNS_ON", "host:a", valid_from=at(0))
    await writer.record(observation("1", ended, article("doc:1", "The gateway is old.")))
    first = (await compiled(reader, "gateway")).pack
    moved = fact("service:gateway", "RUNS_ON", "host:b", valid_from=at(60), supersedes=[fact_id(ended)])
    await writer.record(observation("2", moved, article("doc:1", "It was replaced by a proxy."), minutes=60))

    _, states = await delta(reader, first.pack_id, query="lunch menu")

    assert states == {fact_id(ended): OVER, "chunk:doc:1#0": CHANGED}


async def test_another_filter_ends_nothing(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-14: what the request leaves out is not known to be over."""
    await seed.note("1", "The gateway", scopes=["project:alpha"])
    first = (await compiled(reader, "gateway")).pack

    for wanted in ({"scopes": ["project:beta"]}, {"source_systems": ["mail"]}):
        assert (await delta(reader, first.pack_id, filter=wanted))[1] == {}


async def test_what_was_deleted_is_not_repeated(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14, EN-6: it is told as over, without its words or its source."""
    said = fact("service:gateway", "RUNS_ON", "host:secret")
    await writer.record(observation("1", said))
    first = (await compiled(reader, "gateway runs")).pack
    await writer.stub.DeleteItem(writes.DeleteItemRequest(namespace=NAMESPACE, fact_id=fact_id(said), reason="x"))

    pack, states = await delta(reader, first.pack_id, query="gateway runs")

    assert states == {fact_id(said): OVER}
    [item] = pack.items
    assert (item.text, list(item.provenance)) == (WITHHELD, [])
    assert "secret" not in pack.rendered


async def refused(reader: ReaderServiceStub, former: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await delta(reader, former)
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    assert (details_of(raised.value).reason, details_of(raised.value).metadata) == ("NOT_FOUND", {"kind": "pack"})


async def test_a_former_pack_must_be_there(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14, AU-2: unknown, expired, or gone with what it held."""
    await refused(reader, "pack-unknown")
    said = observation("1", content="The gateway")
    await writer.record(said)
    first = (await compiled(reader, "gateway")).pack
    second, _ = await delta(reader, first.pack_id)
    assert not second.items
    await writer.rows("UPDATE context_traces SET expires_at = now() WHERE pack_id = $1", first.pack_id)
    await refused(reader, first.pack_id)
    request = writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
    await writer.stub.RedactObservation(request)
    await refused(reader, second.pack_id)


async def test_deltas_are_reproducible_and_fit(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-14, RE-8, RE-6: byte-equal, within the budget, and what did not fit is told next time."""
    await writer.record(observation("0", content="gateway"))
    first = (await compiled(reader, "gateway")).pack
    for number in range(9):
        await writer.record(observation(f"new{number}", content=f"gateway {number} " + f"word{number} " * 10))
    small = {"budget": retrieval.Budget(characters=400)}

    one, _ = await delta(reader, first.pack_id, **small)
    two, _ = await delta(reader, first.pack_id, **small)

    assert one.SerializeToString(deterministic=True) == two.SerializeToString(deterministic=True)
    assert 0 < one.characters <= 400
    assert one.omitted_count + len(one.items) >= 9
    _, states = await delta(reader, one.pack_id)
    assert not states.keys() & {item.item_id for item in one.items}
    assert states


async def test_the_trace_of_a_delta(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-9, RE-7: what is known already counts as a duplicate."""
    await writer.record(observation("1", content="gateway one"))
    first = (await compiled(reader, "gateway")).pack
    response = await compiled(reader, "gateway", since_pack_id=first.pack_id)

    [known] = (await trace_of(reader, response.trace_id)).candidates
    assert known.gate == retrieval.GATE_DUPLICATE
    found = await explained(reader, response.trace_id, known.item_id)
    assert "former pack" in found.explanation
