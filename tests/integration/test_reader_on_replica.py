"""RE-12, RE-9, PR-1, PR-2, FA-10: the reader on a streaming replica, through gRPC: never stale, and what it must write
goes to the primary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import message_factory
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from shared.consistency_token import decode, encode
from shared.embedded_postgres import EmbeddedPostgres
from shared.settings import DatabaseSettings
from tests.contract.contract import service_descriptor
from tests.contract.valid_messages import valid
from tests.integration.protecting import CLEARED, UNCLEARED, Services, as_, services
from tests.integration.reader_process import OPTIONS, reading
from tests.integration.replicas import Pair, paired, servers
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, observation, query, serving, writing

ALICE = EntityRef(key="person:alice")
PHONE = "+7 916 123-45-67"
ASKING = [
    method for method in service_descriptor("reader").methods if "consistency_token" in method.input_type.fields_by_name
]
LATE_S, SOON_S = 6.0, 60.0


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    with servers() as made:
        yield made


@pytest.fixture
async def pair(both: tuple[EmbeddedPostgres, EmbeddedPostgres]) -> AsyncIterator[Pair]:
    async with paired(both) as made:
        yield made


@pytest.fixture
async def writer(pair: Pair) -> AsyncIterator[Writer]:
    async with writing(pair.primary) as running:
        yield running


@asynccontextmanager
async def channel_to(pair: Pair, **settings: Any) -> AsyncIterator[grpc.aio.Channel]:
    """A reader on the replica."""
    made = ReaderSettings(database=DatabaseSettings(dsn=pair.replica), **settings)
    async with serving(build_reader(made)) as target, grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        yield channel


async def titled(reader: ReaderServiceStub, token: str = "", timeout_s: float = SOON_S) -> str:
    """Alice's title as the reader tells it."""
    request = pb.GetEntityRequest(namespace=NAMESPACE, entity=ALICE, consistency_token=token)
    return str((await reader.GetEntity(request, timeout=timeout_s)).entity.title)


async def name(writer: Writer, title: str, minutes: int) -> str:
    """Gives Alice a title; the token of that."""
    said = observation(title, entity("person:alice", title=title), minutes=minutes)
    request = writes.RecordObservationRequest(namespace=NAMESPACE, observation=said)
    return str((await writer.stub.RecordObservation(request)).consistency_token)


async def refused(channel: grpc.aio.Channel, method: Any, token: str, timeout_s: float) -> tuple[str, str, list[str]]:
    """The status, the reason and the wrong fields that an RPC ends with."""
    request: Any = valid(method.input_type, NAMESPACE)
    request.consistency_token = token
    kind = channel.unary_stream if method.server_streaming else channel.unary_unary
    call = kind(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )(request, timeout=timeout_s)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await (anext(aiter(call)) if method.server_streaming else call)
    details = details_of(raised.value)
    return raised.value.code().name, details.reason, [violation.field for violation in details.violations]


async def refusals(
    channel: grpc.aio.Channel, token: str, timeout_s: float = LATE_S
) -> dict[tuple[str, str, str], set[str]]:
    """Every RPC that takes a token, by how it refused this one."""
    answers = await asyncio.gather(*(refused(channel, method, token, timeout_s) for method in ASKING))
    found: dict[tuple[str, str, str], set[str]] = {}
    for method, (code, reason, fields) in zip(ASKING, answers, strict=True):
        found.setdefault((code, reason, ",".join(fields)), set()).add(method.name)
    return found


async def test_every_read_that_takes_a_token_keeps_to_it(pair: Pair, writer: Writer) -> None:
    """RE-12: each RPC of the contract that has the field: what the replica has not replayed by the deadline is
    UNAVAILABLE and told before the deadline, another cluster's FAILED_PRECONDITION, a damaged one INVALID_ARGUMENT."""
    every = {method.name for method in ASKING}
    assert len(every) >= 16
    async with channel_to(pair) as channel, pair.held_up():
        token = await name(writer, "Alice", 1)
        position = decode(token)
        foreign = encode(position._replace(system_identifier=position.system_identifier + 1))
        damaged = token[:-6] + ("A" if token[-6] != "A" else "B") + token[-5:]
        assert await refusals(channel, token) == {("UNAVAILABLE", "REPLICA_BEHIND", ""): every}
        assert await refusals(channel, foreign) == {("FAILED_PRECONDITION", "CONSISTENCY_TOKEN_FOREIGN", ""): every}
        assert await refusals(channel, damaged) == {("INVALID_ARGUMENT", "INVALID_FIELD", "consistency_token"): every}


async def test_a_read_waits_for_the_replica_and_is_never_stale(pair: Pair, writer: Writer) -> None:
    """RE-12: replay held up and going on inside the deadline: the new state; without a token the old one, at once."""
    await name(writer, "old", 1)
    async with reading(pair.replica) as reader:
        for number in range(2, 7):
            former = f"title {number - 1}" if number > 2 else "old"
            async with pair.held_up():
                token = await name(writer, f"title {number}", number)
                waiting = [asyncio.create_task(titled(reader, token)) for _ in range(20)]
                # More wait than there are connections, and others are answered meanwhile.
                assert await titled(reader) == former
                assert not any(task.done() for task in waiting)
                await pair.go_on()
                assert set(await asyncio.gather(*waiting)) == {f"title {number}"}


async def test_a_read_may_go_to_the_primary_instead(pair: Pair, writer: Writer) -> None:
    """RE-12: where the settings say so, after the time that they say; what the replica shows it answers itself."""
    shown = await name(writer, "old", 1)
    async with reading(pair.replica, primary_dsn=pair.primary, primary_after_s=0.05) as reader, pair.held_up():
        token = await name(writer, "new", 2)
        assert await titled(reader, token) == "new"
        assert await titled(reader, shown) == "old"
        assert await titled(reader) == "old"


async def test_what_a_compilation_leaves_is_left_at_the_primary(pair: Pair, writer: Writer) -> None:
    """RE-9, SH-1: the trace is there at once for all that goes back to it, though the replica does not have it yet."""
    await writer.record(observation("1", article("doc", "The build takes seven minutes.", title="Build")))
    ask: dict[str, Any] = {"namespace": NAMESPACE, "query": "build minutes", "mode": "SEARCH_MODE_LEXICAL"}
    async with reading(pair.replica, primary_dsn=pair.primary) as reader, pair.held_up():
        compiled = await reader.CompileContext(pb.CompileContextRequest(**ask))
        [item] = compiled.pack.items
        assert compiled.trace_id
        got = await reader.GetContextTrace(pb.GetContextTraceRequest(namespace=NAMESPACE, trace_id=compiled.trace_id))
        assert got.trace.pack_id == compiled.pack.pack_id
        why = pb.ExplainRequest(namespace=NAMESPACE, trace_id=compiled.trace_id, item_id=item.item_id)
        assert (await reader.Explain(why)).signals
        held = pb.VerifyRequest(namespace=NAMESPACE, pack_id=compiled.pack.pack_id, answer=item.text)
        assert (await reader.Verify(held)).sentences
        delta = await reader.CompileContext(pb.CompileContextRequest(**ask, since_pack_id=compiled.pack.pack_id))
        assert not delta.pack.items
        assert not await query(pair.replica, "SELECT FROM context_traces")
    assert len(await query(pair.primary, "SELECT FROM context_traces")) == 2


async def test_without_a_primary_there_is_no_trace_and_no_error(pair: Pair, writer: Writer) -> None:
    """RE-9: the pack comes all the same."""
    await writer.record(observation("1", article("doc", "The build takes seven minutes.", title="Build")))
    await pair.caught_up()
    async with reading(pair.replica) as reader:
        request = pb.CompileContextRequest(namespace=NAMESPACE, query="build minutes", mode="SEARCH_MODE_LEXICAL")
        compiled = await reader.CompileContext(request)
        assert compiled.pack.items
        assert not compiled.trace_id
        gone = pb.GetContextTraceRequest(namespace=NAMESPACE, trace_id="trace-" + "0" * 24)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await reader.GetContextTrace(gone)
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND


@asynccontextmanager
async def protecting(pair: Pair, folder: Path, **settings: Any) -> AsyncIterator[Services]:
    """A writer on the primary and a reader on the replica, with callers who are cleared, and who are not."""
    async with services(pair.primary, folder, reads_from=pair.replica, **settings) as made:
        yield made


async def entity_of(running: Services, caller: str, token: str) -> Any:
    request = pb.GetEntityRequest(namespace=NAMESPACE, entity=ALICE, consistency_token=token)
    return (await running.reader.GetEntity(request, **as_(caller))).entity


async def test_a_read_acts_by_the_protection_that_its_token_asks_for(pair: Pair, tmp_path: Path) -> None:
    """PR-1, RE-12: personal data that is protected since a moment ago is masked by the read that asks for that moment:
    what the replica said of the namespace before it had caught up is not believed."""
    async with protecting(pair, tmp_path, protection_age_s=60) as running:
        await running.record(observation("1", entity("person:alice", title=f"Alice {PHONE}")))
        async with pair.held_up():
            token = await running.protect()
            waiting = asyncio.create_task(entity_of(running, UNCLEARED, token))
            await asyncio.wait([waiting], timeout=0.5)
            assert not waiting.done()
            await pair.go_on()
            assert (await waiting).title == "Alice [phone]"


async def test_unmasked_answers_of_a_replica_are_in_the_primarys_audit(pair: Pair, tmp_path: Path) -> None:
    """PR-2: before they leave; without a primary they are refused."""
    async with protecting(pair, tmp_path, primary_dsn=pair.primary) as running:
        token = await running.protect()
        await running.record(observation("1", entity("person:alice", title=f"Alice {PHONE}")))
        await pair.caught_up()
        assert (await entity_of(running, CLEARED, token)).title == f"Alice {PHONE}"
        assert (await entity_of(running, UNCLEARED, token)).title == "Alice [phone]"
        audited = await query(pair.primary, "SELECT target FROM audit_events WHERE action = 'pii_access'")
        assert [row["target"] for row in audited] == ["person:alice"]
    async with protecting(pair, tmp_path) as running:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await entity_of(running, CLEARED, "")
        assert details_of(raised.value).reason == "AUDIT_UNAVAILABLE"


async def now(dsn: str) -> Timestamp:
    [row] = await query(dsn, "SELECT clock_timestamp() AS now")
    moment = Timestamp()
    moment.FromDatetime(row["now"])
    return moment


async def liked(reader: ReaderServiceStub, known_at: Timestamp) -> list[str]:
    """What Alice liked by what was known then."""
    point = retrieval_pb2.TimePoint(known_at=known_at)
    answer = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, subject=ALICE, at=point), timeout=SOON_S)
    return sorted(one.object.literal.text for one in answer.facts)


async def test_a_replica_answers_what_was_known(pair: Pair, writer: Writer) -> None:
    """FA-10: at a moment that the primary has settled; it waits for what it has not replayed, answers as the primary
    does, and what it answered stays so."""
    await writer.record(observation("0", fact("person:alice", "LIKES", "tea")))
    async with reading(pair.replica, primary_dsn=pair.primary) as reader, reading(pair.primary) as beside:
        first = await now(pair.primary)
        assert await liked(reader, first) == ["tea"]
        async with pair.held_up():
            await writer.record(observation("1", fact("person:alice", "LIKES", "jazz"), minutes=1))
            second = await now(pair.primary)
            waiting = asyncio.create_task(liked(reader, second))
            assert await liked(reader, first) == ["tea"]
            await asyncio.wait([waiting], timeout=0.3)
            assert not waiting.done()
            await pair.go_on()
            assert await waiting == ["jazz", "tea"]
        await writer.record(observation("2", fact("person:alice", "LIKES", "chess"), minutes=2))
        await pair.caught_up()
        for moment, held in ((first, ["tea"]), (second, ["jazz", "tea"])):
            assert await liked(reader, moment) == await liked(beside, moment) == held


async def test_answers_of_a_replica_stay_while_many_write(pair: Pair, writer: Writer) -> None:
    """FA-10: given during writes of several at once, each is the same afterwards, there and at the primary."""
    answers: list[tuple[Timestamp, list[str]]] = []
    async with reading(pair.replica, primary_dsn=pair.primary) as reader, reading(pair.primary) as beside:
        await writer.record(observation("0", entity("person:alice")))

        async def write(number: int) -> None:
            for minutes in range(8):
                said = fact("person:alice", "LIKES", f"{number} {minutes}")
                await writer.record(observation(f"{number}.{minutes}", said, minutes=minutes))

        async def read() -> None:
            for _ in range(10):
                moment = await now(pair.primary)
                answers.append((moment, await liked(reader, moment)))

        await asyncio.gather(*map(write, range(4)), read(), read())
        assert len({len(held) for _, held in answers}) > 1
        for moment, held in answers:
            assert await liked(reader, moment) == await liked(beside, moment) == held


@pytest.fixture
async def doomed(fallible: tuple[EmbeddedPostgres, EmbeddedPostgres]) -> AsyncIterator[Pair]:
    async with paired(fallible) as made:
        yield made


@pytest.fixture
def fallible() -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    """Two servers, of which the first is lost."""
    with servers() as made:
        yield made


async def test_a_failover_voids_the_tokens_of_before(
    fallible: tuple[EmbeddedPostgres, EmbeddedPostgres], doomed: Pair
) -> None:
    """RE-12, FA-10: on the promoted server, through the same reader, what a token of before asks for is foreign, and
    what is written since is there; a moment that was settled before is settled anew."""
    async with reading(doomed.replica, primary_dsn=doomed.primary) as reader:
        async with writing(doomed.primary) as writer:
            before = await name(writer, "before", 1)
            assert await titled(reader, before) == "before"
            await writer.record(observation("f", fact("person:alice", "LIKES", "tea")))
            moment = await now(doomed.primary)
            assert await liked(reader, moment) == ["tea"]
        await query(doomed.replica, "SELECT pg_promote()")
        async with writing(doomed.replica) as writer:
            since = await name(writer, "since", 2)
            assert await titled(reader, since) == "since"
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await titled(reader, before)
            details = details_of(raised.value)
            assert (raised.value.code(), details.reason) == (
                grpc.StatusCode.FAILED_PRECONDITION,
                "CONSISTENCY_TOKEN_FOREIGN",
            )
            assert details.metadata == {"cause": "timeline"}
            assert await liked(reader, moment) == ["tea"]
