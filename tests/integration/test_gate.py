"""OP-1: what waits inside gRPC, and what is refused before a byte of it is read, through real sockets."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import RetryInfo

from shared.interceptors.admission import Bounds
from shared.interceptors.backlog import Backlog, ReceivedCalls
from shared.telemetry import registry
from tests.integration.serving import REQUEST, detail, eventually, failure
from tests.integration.test_admission import held
from tests.integration.test_under_load import status_of

METHOD = "/palimpsest.v1.EmbedderService/Embed"


def refused() -> Counter[str]:
    """What the server counted of refused calls."""
    labels = {"method": METHOD}
    return Counter(
        {
            name: int(registry.get_sample_value(f"palimpsest_{name}", labels | more) or 0)
            for name, more in (
                ("call_duration_seconds_count", {"code": "RESOURCE_EXHAUSTED"}),
                ("call_errors_total", {"reason": "QUEUE_FULL"}),
                ("calls_refused_total", {}),
            )
        }
    )


def nobody_takes_calls_over(until: Callable[[], bool], seconds: float = 30) -> None:
    """The event loop stands still, until something that needs none is so."""
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.01)


async def test_refused_calls_are_counted_one_by_one_and_logged_by_the_second(caplog: pytest.LogCaptureFixture) -> None:
    """OP-1, OP-3: like calls that end otherwise; a storm of them does not fill the log."""
    caplog.set_level(logging.INFO, "shared.interceptors.gate")
    async with held(Bounds(most=2, places=2, fewest=1)) as calls:
        await calls.begin(2)
        before = refused()
        for _ in range(5):
            await calls.is_refused()
        counted = refused() - before
        assert (counted["call_duration_seconds_count"], counted["call_errors_total"]) == (5, 5)

        def told() -> list[int]:
            return [vars(each)["calls"] for each in caplog.records if each.message == "calls refused"]

        await eventually(lambda: sum(told()) == 5)
        assert len(told()) < 5


async def test_none_of_thousands_is_dropped() -> None:
    """OP-1: gRPC cancels calls of which more than a thousand wait inside it; they are refused, with a delay."""
    async with held(Bounds(most=2, places=2, fewest=1)) as calls:
        await calls.begin(2)
        many = [asyncio.ensure_future(status_of(calls.server.embedder.Embed(REQUEST))) for _ in range(3_000)]
        await asyncio.sleep(0)
        nobody_takes_calls_over(until=lambda: False, seconds=1)
        assert Counter(await asyncio.gather(*many)) == {"RESOURCE_EXHAUSTED": 3_000}
        error = await failure(calls.server.embedder.Embed(REQUEST))
        assert detail(error, RetryInfo).retry_delay.ToTimedelta().total_seconds() > 0


async def test_each_call_is_counted_when_it_arrives() -> None:
    """OP-1: those that wait to be handed over, be they taken back or not; of one server, however many there are."""
    received = ReceivedCalls()
    backlog = Backlog(received)

    class HandingOver(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc ships no types
        async def intercept_service(self, continuation: object, details: object) -> None:
            backlog.hand_over()

    others = [grpc.aio.server() for _ in range(150)]
    server = received.server(interceptors=(HandingOver(),))
    others += [grpc.aio.server() for _ in range(5)]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await channel.channel_ready()
            call = channel.unary_unary("/service/Method")
            calls = [asyncio.ensure_future(status_of(call(b""))) for _ in range(50)]
            for _ in range(5):
                await asyncio.sleep(0)
            nobody_takes_calls_over(until=lambda: received() == 50)
            assert received() == 50
            assert backlog.waiting() > 25
            for each in calls[:10]:
                each.cancel()
            await eventually(lambda: backlog.waiting() == 0)
            assert received() == 50
    finally:
        await server.stop(0)
    assert len(others) == 155
