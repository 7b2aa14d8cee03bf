"""OP-2: what the contract has and this version has not is on a list, and says so when it is called."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import message_factory
from palimpsest.errors import details_of

from shared.server import Service, serve
from shared.settings import ServerSettings
from tests.contract.contract import SERVICES, service_descriptor

# Every entry is work to do; an RPC that is implemented must leave the list. It only ever gets shorter.
UNIMPLEMENTED: dict[str, set[str]] = {
    "writer": set(),
    "reader": set(),
    "embedder": set(),
}


def generated(service: str) -> type[Any]:
    """The base class that the generator makes of a service."""
    module = import_module(f"palimpsest.v1.{service}_service_pb2_grpc")
    base: type[Any] = getattr(module, f"{service.capitalize()}ServiceServicer")
    return base


def servicer(service: str) -> type[Any]:
    """The class that serves; the generated one where the service is not there yet."""
    base = generated(service)
    if find_spec(f"services.{service}.servicer") is None:
        return base
    module = import_module(f"services.{service}.servicer")
    (found,) = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, base) and one != base)
    return found


def methods(service: str) -> list[Any]:
    """The descriptors of a service's RPCs."""
    return list(service_descriptor(service).methods)


def unimplemented(service: str) -> set[str]:
    """The RPCs that the servicer leaves to the generated class, which refuses them."""
    base, serving = generated(service), servicer(service)
    return {one.name for one in methods(service) if getattr(serving, one.name) is getattr(base, one.name)}


@pytest.mark.parametrize("service", SERVICES)
def test_the_list_is_true(service: str) -> None:
    """OP-2: exactly the listed RPCs are missing."""
    missing, listed = unimplemented(service), UNIMPLEMENTED[service]
    assert sorted(missing - listed) == [], "missing, and not on the list"
    assert sorted(listed - missing) == [], "no longer missing: take it off the list"


async def _always() -> bool:
    return True


@asynccontextmanager
async def served(service: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to the real server of a service that has nothing but what the generator made of it."""
    bare = generated(service)()
    add = getattr(
        import_module(f"palimpsest.v1.{service}_service_pb2_grpc"),
        f"add_{service.capitalize()}ServiceServicer_to_server",
    )
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    served = Service(service_descriptor(service).full_name, lambda server: add(bare, server), _always)
    task = asyncio.create_task(serve(served, ServerSettings(grace_s=0.0), stop, bound))
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{await bound}") as channel:
            yield channel
    finally:
        stop.set()
        await task


async def refused(channel: grpc.aio.Channel, method: Any) -> grpc.RpcError:
    """The error of a call with an empty request, whatever kind of call the method is."""
    kind = ("stream" if method.client_streaming else "unary") + ("_stream" if method.server_streaming else "_unary")
    request = message_factory.GetMessageClass(method.input_type)()
    name = f"/{method.containing_service.full_name}/{method.name}"
    call = getattr(channel, kind)(name, request_serializer=type(request).SerializeToString)
    answer = call(iter([request]) if method.client_streaming else request, timeout=20)
    with pytest.raises(grpc.RpcError) as raised:
        _ = [one async for one in answer] if method.server_streaming else await answer
    error: grpc.RpcError = raised.value
    return error


@pytest.mark.parametrize("service", SERVICES)
async def test_missing_rpcs_say_so(service: str) -> None:
    """OP-2: an RPC that a servicer leaves out answers UNIMPLEMENTED with ErrorInfo NOT_IMPLEMENTED, before its request
    is looked at."""
    async with served(service) as channel:
        for method in methods(service):
            error = await refused(channel, method)
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
            assert details_of(error).reason == "NOT_IMPLEMENTED"
            assert details_of(error).metadata == {"method": f"/{method.containing_service.full_name}/{method.name}"}
