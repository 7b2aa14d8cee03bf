"""A deployment that breaks rules on purpose: a proxy before a real one that changes what it was asked or answered."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from palimpsest.connection import MIB
from palimpsest.v1 import embedder_service_pb2, reader_service_pb2, writer_service_pb2

from cli.endpoints import Endpoints

Forward = Callable[[Message], Any]
"""Asks the real deployment. Raises grpc.RpcError."""
Fault = Callable[[Any, Forward], Any]
"""Answers a call of one message each way: a request, and the way to the real deployment."""

_CONTRACTS = {"writer": writer_service_pb2, "reader": reader_service_pb2, "embedder": embedder_service_pb2}
_SIZES = [("grpc.max_receive_message_length", 40 * MIB), ("grpc.max_send_message_length", 40 * MIB)]


@contextmanager
def faulty(real: Endpoints, faults: dict[str, Fault], token: str = "") -> Iterator[Endpoints]:
    """Where the proxy listens; `faults` are by the name of the RPC, all other calls pass as they are.

    With a `token` all callers are taken for the one who holds it.
    """
    server = grpc.server(ThreadPoolExecutor(32), options=_SIZES)
    port = server.add_insecure_port("127.0.0.1:0")
    channels = []
    for name, contract in _CONTRACTS.items():
        channel = grpc.insecure_channel(getattr(real, name), options=_SIZES)
        channels.append(channel)
        [service] = contract.DESCRIPTOR.services_by_name.values()
        handlers = {
            method.name: _handler(channel, method, faults.get(method.name), token) for method in service.methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    server.start()
    try:
        yield Endpoints(*[f"127.0.0.1:{port}"] * 3)
    finally:
        server.stop(None).wait()
        for channel in channels:
            channel.close()


def _handler(channel: grpc.Channel, method: MethodDescriptor, fault: Fault | None, token: str) -> Any:
    asked, answered = (message_factory.GetMessageClass(each) for each in (method.input_type, method.output_type))
    # Without a fault bytes pass as they are: also those that no parser here would take.
    read, write = (asked.FromString, answered.SerializeToString) if fault else (None, None)
    codec = {
        "request_serializer": asked.SerializeToString if fault else None,
        "response_deserializer": answered.FromString if fault else None,
    }
    path = f"/{method.containing_service.full_name}/{method.name}"
    kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    call = getattr(channel, kind)(path, **codec)

    def one(request: Any, context: grpc.ServicerContext) -> Any:
        def forward(changed: Message) -> Any:
            return call(changed, timeout=context.time_remaining(), metadata=_metadata(context, token))

        try:
            return fault(request, forward) if fault else forward(request)
        except grpc.RpcError as error:
            _pass_on(error, context)

    def many(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            stream = call(request, timeout=context.time_remaining(), metadata=_metadata(context, token))
            context.add_callback(stream.cancel)
            yield from (fault(each, lambda told: told) for each in stream) if fault else stream
        except grpc.RpcError as error:
            _pass_on(error, context)

    handle = many if method.server_streaming else one
    made = getattr(grpc, f"{kind}_rpc_method_handler")
    return made(handle, request_deserializer=read, response_serializer=write)


def _metadata(context: grpc.ServicerContext, token: str) -> tuple[tuple[str, str], ...]:
    if token:
        return (("authorization", f"Bearer {token}"),)
    return tuple((key, value) for key, value in context.invocation_metadata() if key == "authorization")


def _pass_on(error: grpc.RpcError, context: grpc.ServicerContext) -> None:
    context.set_trailing_metadata(tuple((key, value) for key, value in error.trailing_metadata() or ()))
    context.abort(error.code(), error.details() or "")
