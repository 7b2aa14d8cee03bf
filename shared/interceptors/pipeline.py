"""Puts the steps around every call of our services, and the decoding, the checks and the encoding inside them.

One interceptor of gRPC for all the steps: each method's handler is wrapped once, not at every call, and whatever goes
wrong inside, decoding and encoding included, passes the step that turns errors into statuses.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import grpc
import grpc.aio
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from shared import wire
from shared.errors import MessageTooLarge, NotImplementedYet, PalimpsestError
from shared.interceptors.call import Call, Step
from shared.interceptors.gate import Gate
from shared.interceptors.guard import Guard
from shared.telemetry import calls_started
from shared.validation import require_valid

OUR_METHODS = "/palimpsest."
UNKNOWN_METHOD = "unknown"

# To a server the stream of a client that cancels ends like one that is complete; the cancellation comes a moment later.
# Without the wait a cancelled stream would be counted, and treated by the servicer, as a finished one.
_CANCELLATION_DUE_S = 0.005

T = TypeVar("T")

_UNGUARDED = nullcontext()

_Continuation = Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]]


class Pipeline(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc ships no types
    """Wraps the methods of our services with `steps`, the first outermost; health and reflection pass untouched."""

    def __init__(
        self, steps: Sequence[Step], gate: Gate, *, max_message_bytes: int, guard: Guard | None = None
    ) -> None:
        self._steps = tuple(steps)
        self._gate = gate
        self._guard = guard
        self._max_message_bytes = max_message_bytes
        self._wrapped: dict[str, grpc.RpcMethodHandler] = {}

    async def intercept_service(
        self, continuation: _Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        """The wrapped handler of the method; one that answers NOT_IMPLEMENTED where the method is not known, and one
        that refuses where a call is too many."""
        self._gate.hand_over()
        method = handler_call_details.method
        wrapped = self._wrapped.get(method)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            if not method.startswith(OUR_METHODS):
                return handler
            wrapped = self._wrap(method, handler) if handler else self._refusing(method)
            if handler:  # the names of methods that don't exist are the clients', and without number
                self._wrapped[method] = wrapped
        calls_started.labels(method if method in self._wrapped else UNKNOWN_METHOD).inc()
        if wrapped.request_streaming or wrapped.response_streaming:
            return wrapped
        return self._gate.refusal(method) or wrapped

    def _wrap(self, method: str, handler: grpc.RpcMethodHandler) -> grpc.RpcMethodHandler:
        behaviour = _behaviour(handler)
        if behaviour.__module__.endswith("_pb2_grpc"):  # the generated one: the servicer does not have the method
            return self._refusing(method, name=method)
        request_type, response_type = _types(method)
        wrapped = _Wrapped(
            method=method,
            behaviour=behaviour,
            request_type=request_type,
            encode=self._limited(response_type),
            steps=self._steps,
            guard=self._guard,
            streams_requests=handler.request_streaming,
        )
        return wrapped.handler(streams_responses=handler.response_streaming)

    def _refusing(self, method: str, name: str = UNKNOWN_METHOD) -> grpc.RpcMethodHandler:
        async def not_implemented() -> NoReturn:
            raise NotImplementedYet(method)

        async def refuse(requests: object, context: grpc.aio.ServicerContext) -> None:
            call = Call(name, context, is_streaming=True, timeout_s=context.time_remaining())
            await _within(self._steps, call, not_implemented)

        # Of the four kinds of handlers this one waits for no message, so it can answer any client.
        return grpc.stream_stream_rpc_method_handler(refuse)

    def _limited(self, response_type: type[Message]) -> Callable[[Message], bytes]:
        def encode_within_limit(response: Message) -> bytes:
            if not isinstance(response, response_type):  # protobuf would send any message
                raise TypeError(f"the answer is a {type(response).__name__}, not a {response_type.__name__}")
            raw = response.SerializeToString()
            if len(raw) > self._max_message_bytes:
                raise MessageTooLarge(self._max_message_bytes)
            return raw

        return encode_within_limit


@dataclass(frozen=True)
class _Wrapped:
    """A method with the steps around it."""

    method: str
    behaviour: Callable[[Any, grpc.aio.ServicerContext], Any]
    request_type: type[Message]
    encode: Callable[[Message], bytes]
    steps: tuple[Step, ...]
    guard: Guard | None
    streams_requests: bool

    def handler(self, *, streams_responses: bool) -> grpc.RpcMethodHandler:
        # Single messages pass gRPC as bytes: outside the steps an error of decoding or encoding would reach the
        # client with its text. Both handlers are coroutines, so that a cancellation arrives inside the steps.
        if streams_responses:
            kinds = (grpc.unary_stream_rpc_method_handler, grpc.stream_stream_rpc_method_handler)
            return kinds[self.streams_requests](self._stream, self._request_deserializer(), self.encode)
        kinds = (grpc.unary_unary_rpc_method_handler, grpc.stream_unary_rpc_method_handler)
        return kinds[self.streams_requests](self._unary, self._request_deserializer(), None)

    async def _unary(self, request: Any, context: grpc.aio.ServicerContext) -> bytes:
        call = self._call(context, is_streaming=self.streams_requests)
        return await _within(self.steps, call, lambda: self._answer(request, context))

    async def _answer(self, request: Any, context: grpc.aio.ServicerContext) -> bytes:
        checked = self._checked(request)
        async with self._guarded(checked) if self.guard else _UNGUARDED:
            response = self.behaviour(checked, context)
            if inspect.isawaitable(response):
                response = await response
            if self.guard is not None:
                await self.guard.answered(self.method, checked, response)
        return self.encode(response)

    async def _stream(self, request: Any, context: grpc.aio.ServicerContext) -> None:
        call = self._call(context, is_streaming=True)
        await _within(self.steps, call, lambda: self._answer_stream(request, context))

    async def _answer_stream(self, request: Any, context: grpc.aio.ServicerContext) -> None:
        checked = self._checked(request)
        async with self._guarded(checked) if self.guard else _UNGUARDED:
            responses = self.behaviour(checked, context)
            if inspect.isawaitable(responses):  # a coroutine that writes its responses itself
                assert self.guard is None, "what it writes would pass unseen"
                await responses
                return
            await self._write_all(checked, responses, context)

    async def _write_all(
        self, request: Any, responses: AsyncGenerator[Message, None], context: grpc.aio.ServicerContext
    ) -> None:
        """Sends the responses; closes the generator at once if the client goes, not when it is garbage-collected."""
        async with aclosing(responses):
            async for response in responses:
                if self.guard is not None:
                    await self.guard.answered(self.method, request, response)
                await context.write(response)

    @asynccontextmanager
    async def _guarded(self, request: Any) -> AsyncIterator[None]:
        assert self.guard is not None
        try:
            await self.guard.asked(request)
            yield
        except PalimpsestError as error:
            await self.guard.failed(self.method, request, error)
            raise

    def _call(self, context: grpc.aio.ServicerContext, *, is_streaming: bool) -> Call:
        return Call(self.method, context, is_streaming, timeout_s=context.time_remaining())

    def _request_deserializer(self) -> Callable[[bytes], Message] | None:
        return self._decoded if self.streams_requests else None

    def _decoded(self, raw: bytes) -> Message:
        return wire.decode(self.request_type, raw)

    def _checked(self, request: Any) -> Any:
        """A single request decoded and checked; a stream as it is: its messages are checked by the servicer."""
        if self.streams_requests:
            return Requests(request)
        message = self._decoded(request)
        require_valid(message)
        return message


class Requests:
    """The stream of a client's messages; its end is the end that the client gave it, not a cancellation."""

    def __init__(self, messages: AsyncIterator[Message]) -> None:
        self._messages = messages
        self.namespaces: set[str] = set()
        """Those that messages named so far."""

    def __aiter__(self) -> "Requests":
        return self

    async def __anext__(self) -> Message:
        try:
            message: Any = await self._messages.__anext__()
        except StopAsyncIteration:
            await asyncio.sleep(_CANCELLATION_DUE_S)
            raise
        self.namespaces |= set(_namespaces(message))
        return message  # type: ignore[no-any-return]


async def _within(steps: Sequence[Step], call: Call, work: Callable[[], Awaitable[T]]) -> T:
    """Does the work of a call with all the steps around it. One that refuses on entering is answered by those that are
    already entered."""
    if not steps:
        return await work()
    async with steps[0](call):
        return await _within(steps[1:], call, work)


def _namespaces(message: Any) -> Iterator[str]:
    """The namespace that a message of a stream names, itself or in its header."""
    if "namespace" in message.DESCRIPTOR.fields_by_name:
        yield message.namespace
        return
    for field, value in message.ListFields():
        if (
            not field.is_repeated
            and field.message_type is not None
            and "namespace" in field.message_type.fields_by_name
        ):
            yield value.namespace


def _behaviour(handler: grpc.RpcMethodHandler) -> Callable[..., Any]:
    kinds = (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream)
    behaviour: Callable[..., Any] = next(kind for kind in kinds if kind is not None)
    return behaviour


def _types(method: str) -> tuple[type[Message], type[Message]]:
    service, name = method.removeprefix("/").split("/")
    found = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    return message_factory.GetMessageClass(found.input_type), message_factory.GetMessageClass(found.output_type)
