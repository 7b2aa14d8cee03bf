"""What the log tells of calls that end together."""

import asyncio
import logging

import grpc
import pytest

from shared.errors import QueueFull
from shared.interceptors.access_log import logged
from shared.interceptors.call import Call
from shared.interceptors.tracing import traced

METHOD = "/palimpsest.v1.EmbedderService/Embed"


class Context:
    """What the steps ask of gRPC; the call is in a trace of its own where it has a number."""

    def __init__(self, number: int = 0) -> None:
        self._number = number

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return [("traceparent", f"00-{self._number:032x}-{1:016x}-01")] if self._number else []

    def code(self) -> None:
        return None


async def calls_of_one_turn(contexts: list[Context], error: Exception | None = None) -> None:
    """Calls that wait for the same, and go on in the same turn when it comes."""
    answer = asyncio.get_running_loop().create_future()

    async def serve(context: Context) -> None:
        call = Call(METHOD, context, is_streaming=False)
        async with traced(call), logged(call):
            await answer

    calls = [asyncio.create_task(serve(context)) for context in contexts]
    await asyncio.sleep(0)
    if error:
        answer.set_exception(error)
    else:
        answer.set_result(None)
    await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.sleep(0)


def test_calls_that_end_together_have_a_line_each_under_their_own_trace(caplog: pytest.LogCaptureFixture) -> None:
    """OP-3: one that came in no trace has a trace of its own."""
    with caplog.at_level(logging.INFO, "shared.interceptors.access_log"):
        asyncio.run(calls_of_one_turn([Context(1), Context(2), Context(), Context()]))
    told = [vars(record) for record in caplog.records]
    assert [each["message"] for each in told] == ["call"] * 4
    assert {(each["method"], each["code"]) for each in told} == {(METHOD, grpc.StatusCode.OK.name)}
    assert [each["trace_id"] for each in told[:2]] == [f"{1:032x}", f"{2:032x}"]
    assert len({each["trace_id"] for each in told}) == 4
    assert all(len(each["trace_id"]) == 32 for each in told)


def test_a_call_that_fails_is_told_with_how(caplog: pytest.LogCaptureFixture) -> None:
    """OP-3: what no step has turned into a status ends as UNKNOWN, and is an error of ours."""
    with caplog.at_level(logging.INFO, "shared.interceptors.access_log"):
        asyncio.run(calls_of_one_turn([Context(1)], QueueFull(queue="calls", retry_after_s=1)))
    (told,) = caplog.records
    assert (vars(told)["code"], told.levelname) == (grpc.StatusCode.UNKNOWN.name, "ERROR")
