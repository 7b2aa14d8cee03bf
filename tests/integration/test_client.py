"""The clients, sync and async, against the services' own server through real sockets."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import palimpsest.client
import pytest
from palimpsest.client import AsyncClient, Client, Tls
from palimpsest.connection import NOT_RETRIED, STREAMS, service_config
from palimpsest.errors import DOMAIN, ErrorDetails, FieldViolation, details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_MESSAGE_TOO_LARGE
from palimpsest.v1.reader_service_pb2_grpc import add_ReaderServiceServicer_to_server
from palimpsest.v1.reference_pb2 import SourceIdentity

from shared.interceptors import status
from tests.integration.remembering import Memory, Reader, correction, memory_in, observation, serving, token_at
from tests.integration.test_server_lifecycle import make_certificate
from tests.ports import free_port

README = Path(palimpsest.client.__file__).parents[1] / "README.md"


@pytest.fixture(params=["sync", "async"])
async def memory(request: pytest.FixtureRequest) -> AsyncIterator[Memory]:
    async with memory_in(request.param) as memory:
        yield memory


async def test_shortcuts_reach_the_services(memory: Memory) -> None:
    """SH-5: what a shortcut is given arrives in the request, and the response comes back."""
    client = await memory.client()
    recorded = await memory.do(lambda: client.record("a", observation(3), wait_for_embedding=True))
    assert recorded.observation_id == "obs-3"
    assert memory.writer.seen[0].wait_for_embedding
    found = await memory.do(lambda: client.search("b", "what?", limit=5))
    assert found.fingerprint == "fp-test"
    assert memory.reader.seen[0] == reads.SearchRequest(namespace="b", query="what?", limit=5)
    compiled = await memory.do(lambda: client.context("b", "what?", budget={"characters": 500}))
    assert compiled.trace_id == "trace"
    assert memory.reader.seen[1].budget.characters == 500


async def test_a_misspelt_field_of_a_shortcut_is_refused(memory: Memory) -> None:
    """SH-5: a field that the contract does not have is an error, not a silence."""
    client = await memory.client()
    with pytest.raises(ValueError, match="budget_chars"):
        await memory.do(lambda: client.context("b", "what?", budget_chars=500))
    assert not memory.reader.seen


async def test_default_deadline_is_sent(memory: Memory) -> None:
    """OP-1: every call with one message each way has the client's deadline, and its own where it is given one."""
    client = await memory.client(deadline_s=20.0)
    await memory.do(lambda: client.search("a", "q"))
    await memory.do(lambda: client.search("a", "q", timeout_s=5.0))
    by_default, by_call = memory.reader.time_left_s
    assert by_default is not None
    assert by_call is not None
    assert 10.0 < by_default < 21.0  # gRPC rounds deadlines up
    assert 0.0 < by_call < 6.0


async def test_a_stream_has_no_default_deadline(memory: Memory) -> None:
    """RE-13: a watch lasts as long as it lasts."""
    client = await memory.client(deadline_s=20.0)
    await memory.do(lambda: client.reader.Watch(reads.WatchRequest(namespace="a")))
    left_s = memory.reader.time_left_s[0]
    assert left_s is None or left_s > 1_000_000


async def test_a_late_answer_is_deadline_exceeded(memory: Memory) -> None:
    """OP-1: the deadline ends the call at the client."""
    memory.reader.delay_s = 60.0
    client = await memory.client(deadline_s=0.3)
    error = await memory.failure(lambda: client.search("a", "q"))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_unavailable_is_retried(memory: Memory) -> None:
    """OP-1: a service that fails twice is asked a third time, within one call of the caller."""
    memory.reader.unavailable = 2
    client = await memory.client()
    assert (await memory.do(lambda: client.search("a", "q"))).fingerprint == "fp-test"
    assert len(memory.reader.seen) == 3


async def test_a_large_request_is_retried_too(memory: Memory) -> None:
    """OP-1: gRPC's own buffer of 256 KiB for retries would leave large calls out."""
    memory.writer.unavailable = 1
    client = await memory.client()
    batch = [observation(number, content="x" * 1_000_000) for number in range(8)]
    assert len(await memory.do(lambda: client.record_many("a", batch))) == 8
    assert len(memory.writer.seen) == 2


async def test_retries_can_be_switched_off(memory: Memory) -> None:
    """OP-1: with one attempt the first UNAVAILABLE is the answer, with the delay that the service asks for."""
    memory.reader.unavailable = 1
    client = await memory.client(max_attempts=1)
    error = await memory.failure(lambda: client.search("a", "q"))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(error) == ErrorDetails(reason="DATABASE_UNAVAILABLE", retry_after_s=0.5)
    assert len(memory.reader.seen) == 1


async def test_what_is_not_idempotent_is_not_retried(memory: Memory) -> None:
    """AU-1: an audit event is never appended twice by the client."""
    memory.writer.unavailable = 1
    client = await memory.client()
    request = writes.AppendAuditRequest(namespace="a", action="test")
    error = await memory.failure(lambda: client.writer.AppendAudit(request))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert len(memory.writer.seen) == 1


def test_methods_without_retries_are_those_that_the_contract_names() -> None:
    """SH-5: `Not idempotent` in an RPC's comment and the client's list say the same."""
    contract = "".join(path.read_text() for path in (README.parent / "palimpsest/v1").glob("*_service.proto"))
    comments = re.findall(r"((?: *//.*\n)+) *rpc (\w+)", contract)
    assert len(comments) > 60
    assert {method for comment, method in comments if "Not idempotent" in comment} == {name for _, name in NOT_RETRIED}


def test_streams_of_requests_are_not_retried() -> None:
    """OP-1, OB-6: gRPC lets such a stream hang past its deadline where the server of one before it died."""
    contract = "".join(path.read_text() for path in (README.parent / "palimpsest/v1").glob("*_service.proto"))
    assert set(re.findall(r"rpc (\w+)\(stream", contract)) == {name for _, name in STREAMS}
    [_, exceptions] = service_config(5)["methodConfig"]
    assert "retryPolicy" not in exceptions
    assert {method["method"] for method in exceptions["name"]} >= {name for _, name in STREAMS}


async def test_a_retry_of_a_write_without_identity_is_recognisable(memory: Memory) -> None:
    """OB-3: a write that names neither source nor time gets the time once, so that both attempts are one write."""
    memory.writer.unavailable = 1
    client = await memory.client()
    await memory.do(lambda: client.writer.CorrectFact(correction()))
    first, second = memory.writer.seen
    assert first == second
    assert abs(first.occurred_at.ToSeconds() - time.time()) < 60


@pytest.mark.parametrize("fields", [{"source": SourceIdentity(system="s")}, {"occurred_at": {"seconds": 7}}])
async def test_a_write_with_identity_is_sent_as_it_is(memory: Memory, fields: dict[str, Any]) -> None:
    """OB-3: what the caller says about a write is not changed."""
    client = await memory.client()
    await memory.do(lambda: client.writer.CorrectFact(correction(**fields)))
    assert memory.writer.seen == [correction(**fields)]


async def test_a_client_waits_out_a_restart() -> None:
    """OP-1: a call that begins while nothing listens is answered once the service is there."""
    port = free_port()
    async with AsyncClient(f"127.0.0.1:{port}") as client:
        call = asyncio.create_task(client.search("a", "q"))
        await asyncio.sleep(0.3)
        reader = Reader()  # type: ignore[abstract]  # what it lacks is not implemented
        async with serving("ReaderService", lambda to: add_ReaderServiceServicer_to_server(reader, to), port=port):
            assert (await call).fingerprint == "fp-test"


async def test_token_goes_with_every_call(memory: Memory) -> None:
    """AC-1: the bearer token is in the metadata of calls and streams, beside what the caller adds."""
    client = await memory.client(token="secret")
    await memory.do(lambda: client.search("a", "q"))
    await memory.do(
        lambda: client.reader.Search(reads.SearchRequest(namespace="a", query="q"), metadata=[("x-y", "z")])
    )
    await memory.do(lambda: client.reader.Watch(reads.WatchRequest(namespace="a")))
    assert [seen.get("authorization") for seen in memory.reader.metadata] == ["Bearer secret"] * 3
    assert memory.reader.metadata[1]["x-y"] == "z"


async def test_a_renewed_token_is_asked_for_at_each_call(memory: Memory) -> None:
    """AC-1: tokens expire, clients live on."""
    tokens = iter(["one", "two"])
    client = await memory.client(token=lambda: next(tokens))
    for _ in range(2):
        await memory.do(lambda: client.search("a", "q"))
    assert [seen["authorization"] for seen in memory.reader.metadata] == ["Bearer one", "Bearer two"]


async def test_without_token_there_is_no_metadata(memory: Memory) -> None:
    """AC-1: nothing is sent where nothing is given."""
    client = await memory.client()
    await memory.do(lambda: client.search("a", "q"))
    assert "authorization" not in memory.reader.metadata[0]


@pytest.mark.parametrize("target", ["memory.example:7400", "dns:///memory:7400", "10.0.0.7:7400", "localhost.evil:1"])
def test_token_does_not_leave_the_machine_in_plaintext(target: str) -> None:
    """AC-1: a token without TLS is a token given away; whoever encrypts otherwise says so."""
    with pytest.raises(ValueError, match="plaintext"):
        Client(target, token="secret")
    Client(target, token="secret", plaintext_token=True).close()
    Client(target, token="secret", tls=Tls()).close()


@pytest.mark.parametrize("target", ["localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/tmp/memory", "dns:///localhost:1"])
def test_token_may_stay_on_the_machine(target: str) -> None:
    """AC-1: loopback and sockets pass no network."""
    Client(target, token="secret").close()


@pytest.mark.parametrize("style", ["sync", "async"])
async def test_tls_with_a_certificate_of_the_client(style: str, tmp_path: Path) -> None:
    """AC-1: mutual TLS from files, under the name in the certificate; without the client's certificate no call."""
    (server_cert, server_key), (cert, key) = (make_certificate(tmp_path, name) for name in ("server", "client"))
    files = {"tls_cert_file": server_cert, "tls_key_file": server_key, "tls_client_ca_file": cert}
    async with memory_in(style, **files) as memory:
        tls = Tls(ca_file=server_cert, cert_file=cert, key_file=str(key), server_name="localhost")
        client = await memory.client(tls=tls, token="secret")
        await memory.do(lambda: client.search("a", "q"))
        assert memory.reader.metadata[0]["authorization"] == "Bearer secret"
        stranger = await memory.client(tls=Tls(ca_file=server_cert, server_name="localhost"), max_attempts=1)
        error = await memory.failure(lambda: stranger.search("a", "q"))
        assert error.code() is grpc.StatusCode.UNAVAILABLE


def test_half_of_a_client_certificate_is_refused(tmp_path: Path) -> None:
    """AC-1: a certificate without its key would silently be no certificate."""
    with (
        Client("localhost:1", tls=Tls(cert_file=tmp_path / "cert")) as client,
        pytest.raises(ValueError, match="key_file"),
    ):
        _ = client.reader


async def test_reads_carry_the_latest_write(memory: Memory) -> None:
    """RE-12: a write's token goes with later reads of its namespace, and with no other."""
    client = await memory.client()
    await memory.do(lambda: client.record("a", observation()))
    await memory.do(lambda: client.record("a", observation()))
    await memory.do(lambda: client.record("b", observation()))
    await memory.do(lambda: client.search("a", "q"))
    await memory.do(lambda: client.search("b", "q"))
    await memory.do(lambda: client.search("c", "q"))
    assert [seen.consistency_token for seen in memory.reader.seen] == [token_at(2), token_at(3), ""]
    assert client.consistency_token("a") == token_at(2)


async def test_every_kind_of_write_is_remembered(memory: Memory) -> None:
    """RE-12: batches, streams and snapshots too, whose responses do not name the namespace."""
    client = await memory.client()
    await memory.do(lambda: client.record_many("batch", [observation()]))
    assert client.consistency_token("batch") == token_at(1)
    items = [
        writes.StreamObservationsRequest(namespace="stream", sequence=n, observation=observation(n)) for n in (1, 2)
    ]
    await memory.do(lambda: client.writer.StreamObservations(iter(items)))
    assert client.consistency_token("stream") == token_at(3)
    head = writes.SnapshotHead(namespace="snapshot", source="s", scope="s", snapshot_id="1", taken_at={"seconds": 1})
    parts = [writes.ReconcileSnapshotRequest(head=head), writes.ReconcileSnapshotRequest(items={})]
    await memory.do(lambda: client.writer.ReconcileSnapshot(iter(parts)))
    assert client.consistency_token("snapshot") == token_at(4)


async def test_a_token_that_the_caller_gives_goes_first(memory: Memory) -> None:
    """RE-12: a token of another client's write is not replaced, and the caller's request is not changed."""
    client = await memory.client()
    await memory.do(lambda: client.record("a", observation()))
    await memory.do(lambda: client.search("a", "q", consistency_token="theirs"))
    request = reads.SearchRequest(namespace="a", query="q")
    await memory.do(lambda: client.reader.Search(request))
    assert [seen.consistency_token for seen in memory.reader.seen] == ["theirs", token_at(1)]
    assert not request.consistency_token


async def test_read_your_writes_can_be_switched_off(memory: Memory) -> None:
    """RE-12: reads that need not be fresh do not wait."""
    client = await memory.client(read_your_writes=False)
    await memory.do(lambda: client.record("a", observation()))
    await memory.do(lambda: client.search("a", "q"))
    assert memory.reader.seen[0].consistency_token == ""
    assert client.consistency_token("a") == token_at(1)


async def test_an_answer_that_comes_late_does_not_take_the_later_place(memory: Memory) -> None:
    """RE-12: answers of concurrent writes overtake each other; the later position stays."""
    client = await memory.client()
    memory.writer.lsn = 10
    await memory.do(lambda: client.record("a", observation()))
    memory.writer.lsn = 3
    await memory.do(lambda: client.record("a", observation()))
    assert client.consistency_token("a") == token_at(11)


async def test_writes_can_be_forgotten(memory: Memory) -> None:
    """RE-12: after a failover that lost them, reads go on."""
    client = await memory.client()
    await memory.do(lambda: client.record("a", observation()))
    client.forget_writes()
    await memory.do(lambda: client.search("a", "q"))
    assert memory.reader.seen[0].consistency_token == ""


async def test_record_many_keeps_the_limit_of_items(memory: Memory) -> None:
    """OB-6: 2,500 observations are three calls, and the results come in the order of the observations."""
    client = await memory.client()
    results = await memory.do(lambda: client.record_many("a", (observation(n) for n in range(2_500))))
    assert [len(batch.observations) for batch in memory.writer.seen] == [1_000, 1_000, 500]
    assert [result.recorded.observation_id for result in results] == [f"obs-{n}" for n in range(2_500)]


async def test_record_many_keeps_the_limit_of_bytes(memory: Memory) -> None:
    """OB-6: a batch is never larger than a message may be, and no smaller than it must be."""
    client = await memory.client(max_message_bytes=100_000)
    many = [observation(n, content="x" * 30_000) for n in range(7)]
    assert len(await memory.do(lambda: client.record_many("a", many))) == 7
    assert [len(batch.observations) for batch in memory.writer.seen] == [3, 3, 1]
    assert all(batch.ByteSize() <= 100_000 for batch in memory.writer.seen)


async def test_an_observation_that_no_message_holds_fails_alone(memory: Memory) -> None:
    """OB-6: one bad item never fails its neighbours, and the results keep the order."""
    client = await memory.client(max_message_bytes=100_000)
    many = [observation(1), observation(2, content="x" * 200_000), observation(3)]
    results = await memory.do(lambda: client.record_many("a", many))
    assert [result.WhichOneof("result") for result in results] == ["recorded", "error", "recorded"]
    assert results[1].error.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert results[1].error.reason == ERROR_REASON_MESSAGE_TOO_LARGE
    assert results[1].error.metadata == {"limit_bytes": "100000"}
    assert sum(len(batch.observations) for batch in memory.writer.seen) == 2


async def test_record_many_of_nothing_calls_nothing(memory: Memory) -> None:
    """OB-6: no observations, no call."""
    client = await memory.client()
    assert await memory.do(lambda: client.record_many("a", [])) == []
    assert not memory.writer.seen


async def test_record_many_takes_an_async_source() -> None:
    """OB-6: an async source is read only as fast as batches are stored."""
    read = 0

    async def source() -> AsyncIterator[Any]:
        nonlocal read
        for read in range(1, 7):
            yield observation(read)

    async with memory_in("async") as memory:
        client = await memory.client()
        assert isinstance(client, AsyncClient)
        results = client.record_many("a", source(), batch_items=2)
        await anext(results)
        assert read == 3
        assert len([one async for one in results]) == 5


@pytest.mark.parametrize("size", [0, 1_001])
async def test_an_impossible_batch_size_is_refused(memory: Memory, size: int) -> None:
    """OB-6: the contract's limit binds the client's batches."""
    client = await memory.client()
    with pytest.raises(ValueError, match="1 to 1,000"):
        await memory.do(lambda: client.record_many("a", [observation()], batch_items=size))


async def test_error_details_are_read(memory: Memory) -> None:
    """OP-2: reason, metadata and the violated fields reach the program."""
    client = await memory.client()
    error = await memory.failure(lambda: client.search("no white space", ""))
    details = details_of(error)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert details.reason == "INVALID_FIELD"
    assert details.metadata == {"violations": "2"}
    assert sorted(violation.field for violation in details.violations) == ["namespace", "query"]
    assert all(isinstance(one, FieldViolation) and one.description for one in details.violations)
    assert details.retry_after_s is None


async def test_an_error_without_details_has_empty_ones() -> None:
    """OP-2: where no service was reached there is no reason, and reading it does not fail."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        async with AsyncClient(f"127.0.0.1:{port}", max_attempts=1) as client:
            with pytest.raises(grpc.RpcError) as raised:
                await client.search("a", "q")
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(raised.value) == ErrorDetails()


async def test_an_rpc_that_is_not_implemented_says_so(memory: Memory) -> None:
    """OP-2: every RPC of the contract is reachable through the stubs, with or without a shortcut."""
    client = await memory.client()
    request = reads.GetFactRequest(namespace="a", fact_id="fact-" + "0" * 24)
    error = await memory.failure(lambda: client.reader.GetFact(request))
    assert details_of(error).reason == "NOT_IMPLEMENTED"
    assert details_of(error).metadata == {"method": "/palimpsest.v1.ReaderService/GetFact"}


def test_domain_is_the_services() -> None:
    """OP-2: the client looks for the details that the services write."""
    assert status.DOMAIN == DOMAIN


async def test_messages_of_the_services_limit_pass() -> None:
    """OP-1: 32 MiB each way, set at both ends: gRPC's own 4 MiB would refuse them."""
    async with memory_in("async") as memory:
        client = await memory.client()
        assert isinstance(client, AsyncClient)
        many = [observation(n, content="x" * 1_048_576) for n in range(31)]
        assert len([one async for one in client.record_many("a", many)]) == 31
        assert len(memory.writer.seen) == 1


async def test_a_large_answer_passes(memory: Memory) -> None:
    """OP-1: what a service may send a client takes: gRPC's own limit is 4 MiB."""
    memory.reader.fingerprint = "x" * 20_000_000
    client = await memory.client()
    assert len((await memory.do(lambda: client.search("a", "q"))).fingerprint) == 20_000_000


async def test_a_message_over_the_limit_is_not_sent(memory: Memory) -> None:
    """OP-1: the client's own limit ends the call before the network does the work in vain."""
    client = await memory.client(max_message_bytes=100_000)
    error = await memory.failure(lambda: client.record("a", observation(content="x" * 200_000)))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not memory.writer.seen


async def test_one_target_serves_all() -> None:
    """SH-4: where one address has all services, one connection is enough."""
    async with memory_in("async") as memory, AsyncClient(memory.targets["reader"]) as client:
        await client.search("a", "q")
        with pytest.raises(grpc.RpcError) as raised:
            await client.record("a", observation())
        assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert len(client._channels) == 1


def test_a_missing_target_is_named() -> None:
    """OP-2: a client that was not told where a service is says which."""
    with pytest.raises(ValueError, match="no target is given"):
        Client()
    with Client(writer="localhost:1") as client, pytest.raises(ValueError, match="no target of the embedder"):
        _ = client.embedder


def test_calls_in_flight_of_a_thread_are_results_and_futures() -> None:
    """SH-5: the stubs' other ways of calling have the same policies."""

    def use(targets: dict[str, str]) -> None:
        with Client(writer=targets["writer"], reader=targets["reader"], token="secret") as client:
            client.record("a", observation())
            request = reads.SearchRequest(namespace="a", query="q")
            assert client.reader.Search.future(request).result().fingerprint == "fp-test"
            response, call = client.reader.Search.with_call(request)
            assert response.fingerprint == "fp-test"
            assert call.code() is grpc.StatusCode.OK

    async def run() -> None:
        async with memory_in("sync") as memory:
            await asyncio.to_thread(use, memory.targets)
            assert [seen["authorization"] for seen in memory.reader.metadata] == ["Bearer secret"] * 2
            assert [seen.consistency_token for seen in memory.reader.seen] == [token_at(1)] * 2

    asyncio.run(run())


def test_service_config_is_what_grpc_reads() -> None:
    """OP-1: retries are of calls that no server took, and within the attempts that gRPC allows."""
    config = json.loads(json.dumps(service_config(5)))
    policies = [entry.get("retryPolicy") for entry in config["methodConfig"]]
    assert policies[0]["retryableStatusCodes"] == ["UNAVAILABLE", "CANCELLED"]
    assert policies[0]["maxAttempts"] == 5
    assert policies[1] is None
    assert "methodConfig" not in service_config(1)


@pytest.mark.parametrize("style", ["sync", "async"])
async def test_examples_of_the_readme_run(style: str) -> None:
    """SH-5: the client's README shows code that works, in both styles."""
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    example = next(one for one in examples if ("AsyncClient" in one) == (style == "async"))
    async with memory_in(style) as memory:
        for service, port in (("writer", "7401"), ("reader", "7402")):
            assert f"localhost:{port}" in example
            example = example.replace(f"localhost:{port}", memory.targets[service])
        # A process would be more honest and takes seconds; the example's own `asyncio.run` needs a thread.
        await asyncio.to_thread(exec, compile(example, str(README), "exec"), {"__name__": "__main__"})
        assert memory.writer.seen
        assert memory.reader.seen[-1].consistency_token
