"""Verify through the service (RE-15)."""

from __future__ import annotations

import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.compiling import compiled, verified
from tests.integration.configuring import TRACKER, enable
from tests.integration.writing import NAMESPACE, Writer, fact, observation, observation_id

pytest_plugins = ("tests.integration.reader_fixtures",)

SUPPORTED, CONTRADICTED, UNKNOWN = (
    retrieval.VERDICT_SUPPORTED,
    retrieval.VERDICT_CONTRADICTED,
    retrieval.VERDICT_NOT_IN_MEMORY,
)


async def test_an_answer_sentence_by_sentence(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-15: the verdict, the item that it rests on, and its words."""
    await writer.record(observation("1", content="The gateway retries 3 times. Шлюз перезапустили 7 августа."))
    pack = (await compiled(reader, "gateway шлюз")).pack
    answer = "The gateway retries 3 times [1]. Шлюз перезапустили 8 августа. Lunch is at noon."

    found = await verified(reader, pack.pack_id, answer)

    assert [each.verdict for each in found] == [SUPPORTED, CONTRADICTED, UNKNOWN]
    assert [each.quote for each in found] == ["The gateway retries 3 times", "Шлюз перезапустили 7 августа", ""]
    assert [each.item_number for each in found] == [1, 1, 0]
    assert all(answer[each.start : each.end] == each.sentence for each in found)


async def test_another_value_of_a_single_valued_predicate(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-15, FA-7: contradicts; of a predicate with many values it says nothing."""
    await enable(writer, TRACKER)
    born, likes = fact("person:alice", "BORN_IN", "city:omsk"), fact("person:alice", "LIKES", "tea")
    await writer.record(observation("1", born, likes))
    pack = (await compiled(reader, "alice born likes")).pack

    found = await verified(reader, pack.pack_id, "Alice born in Tula. Alice likes Jazz. Alice likes tea.")

    assert [each.verdict for each in found] == [CONTRADICTED, UNKNOWN, SUPPORTED]
    assert found[0].quote == "alice born in omsk"


async def test_what_is_no_longer_true_contradicts(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-15, RE-14: a delta is a pack like any other."""
    said = fact("service:gateway", "RUNS_ON", "host:a")
    await writer.record(observation("1", said))
    first = (await compiled(reader, "gateway")).pack
    request = writes.MarkObsoleteRequest(namespace=NAMESPACE, reason="moved")
    request.fact_id = first.items[0].item_id
    await writer.stub.MarkObsolete(request)
    delta = (await compiled(reader, "gateway", since_pack_id=first.pack_id)).pack

    [before] = await verified(reader, first.pack_id, "Gateway runs on a.")
    [after] = await verified(reader, delta.pack_id, "Gateway runs on a.")

    assert (before.verdict, after.verdict) == (SUPPORTED, CONTRADICTED)


async def test_a_pack_that_is_not_there(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-15, AU-2: unknown, or erased with what it held."""
    said = observation("1", content="The gateway retries 3 times.")
    await writer.record(said)
    pack = (await compiled(reader, "gateway")).pack
    request = writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
    await writer.stub.RedactObservation(request)

    for pack_id in ("pack-unknown", pack.pack_id):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await verified(reader, pack_id, "The gateway retries 3 times.")
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
        assert details_of(raised.value).metadata == {"kind": "pack"}


@pytest.mark.parametrize(
    ("answer", "code"), [("", grpc.StatusCode.INVALID_ARGUMENT), ("x" * 100_001, grpc.StatusCode.INVALID_ARGUMENT)]
)
async def test_limits_of_an_answer(reader: ReaderServiceStub, answer: str, code: grpc.StatusCode) -> None:
    """RE-15, OP-2."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await verified(reader, "pack-1", answer)
    assert raised.value.code() is code
