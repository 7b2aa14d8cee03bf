"""AC-1: every RPC asks what its caller may do, before it looks at anything."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import message_factory
from google.protobuf.message import Message
from palimpsest.errors import details_of
from palimpsest.v1.error_reason_pb2 import ErrorReason

from shared.consistency_token import Position
from shared.server import Service, serve
from shared.settings import ServerSettings
from shared.validation import violations
from tests.contract.contract import SERVICES
from tests.contract.test_unimplemented import methods, servicer, unimplemented
from tests.contract.valid_messages import valid

OF_ITS_ITEMS = {"StreamObservations"}
"""Streams whose messages have a namespace each: they are answered one by one."""


class Untouchable:
    """What a servicer works with. Any use of it fails the call with INTERNAL, and so the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used for a caller without grants")


async def _always() -> bool:
    return True


def bare(service: str) -> Any:
    """The servicer, with nothing behind it."""

    class Bare(servicer(service)):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            if name == "_applier":  # of which a stream takes a part along before its first message comes
                return SimpleNamespace(packs=Untouchable())
            if name == "_refusals":
                return SimpleNamespace(add=_count_no_refusal)
            if name == "_settings":
                return SimpleNamespace(group_items=100, group_bytes=1_000_000)
            if name == "_database":  # a stream answers items, refused ones too, with a position in the log
                return SimpleNamespace(write_position=_position)
            return Untouchable()

    return object.__new__(Bare)


async def _position() -> Position:
    return Position(1, 1, 1)


async def _count_no_refusal(namespace: str, outcomes: Any) -> None:
    assert [outcome.reason for outcome in outcomes] == ["PERMISSION_DENIED"]


@asynccontextmanager
async def served(service: str, folder: Path) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to the service, where `nobody` has a token and no grant."""
    file = folder / "grants.json"
    tokens = [{"sha256": hashlib.sha256(b"token").hexdigest()}]
    file.write_text(json.dumps({"callers": [{"subject": "nobody", "tokens": tokens}]}))
    add = getattr(
        import_module(f"palimpsest.v1.{service}_service_pb2_grpc"),
        f"add_{service.capitalize()}ServiceServicer_to_server",
    )
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    made = Service(service, lambda server: add(bare(service), server), _always)
    settings = ServerSettings(grace_s=0.0, auth_mode="static", auth_grants_file=file)
    task = asyncio.create_task(serve(made, settings, stop, bound))
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{await bound}") as channel:
            yield channel
    finally:
        stop.set()
        await task


def implemented(service: str) -> list[Any]:
    missing = unimplemented(service)
    return [method for method in methods(service) if method.name not in missing]


async def answers(channel: grpc.aio.Channel, method: Any, namespace: str, token: str = "token") -> list[Message]:
    """What the method answers to a valid request. Raises grpc.RpcError."""
    request: Any = valid(method.input_type, namespace)
    assert violations(request) == [], f"no valid {method.input_type.name} could be made"
    kind = ("stream" if method.client_streaming else "unary") + ("_stream" if method.server_streaming else "_unary")
    call: Callable[..., Any] = getattr(channel, kind)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    metadata = (("authorization", f"Bearer {token}"),)
    answer = call(iter([request]) if method.client_streaming else request, timeout=20, metadata=metadata)
    return [one async for one in answer] if method.server_streaming else [await answer]


async def refusal(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str, bytes]:
    """How a call ended: code, reason, and the whole of its status as it was sent."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = caught.value
    [status] = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    return error.code(), details_of(error).reason, bytes(status)


@pytest.mark.parametrize("service", SERVICES)
async def test_no_rpc_answers_who_may_do_nothing(service: str, tmp_path: Path) -> None:
    """AC-1: PERMISSION_DENIED before anything is read, in the same bytes whatever namespace is named. The methods come
    from the descriptors: a new one is asked, too."""
    async with served(service, tmp_path) as channel:
        for method in implemented(service):
            if method.name in OF_ITS_ITEMS:
                [item] = await answers(channel, method, "a")
                assert item.result.error.reason == ErrorReason.ERROR_REASON_PERMISSION_DENIED, method.name
                continue
            found = {await refusal(answers(channel, method, namespace)) for namespace in ("a", "b/*")}
            assert {(code, reason) for code, reason, _ in found} == {
                (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
            }, method.name
            assert len(found) == 1, f"{method.name} tells namespaces apart"


@pytest.mark.parametrize("service", SERVICES)
async def test_no_rpc_answers_an_unknown_token(service: str, tmp_path: Path) -> None:
    """AC-1: UNAUTHENTICATED, in the same bytes for every method and every reason."""
    async with served(service, tmp_path) as channel:
        found = {
            await refusal(answers(channel, method, "a", token))
            for method in implemented(service)
            for token in ("unknown", "")
        }
    assert {(code, reason) for code, reason, _ in found} == {(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")}
    assert len(found) == 1
