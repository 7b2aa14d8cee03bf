"""A channel whose calls carry the client's policies: deadline, credentials, consistency tokens.

The generated stubs are bound to it, so every RPC has the policies, and the client needs no wrapper per method. It only
shapes what goes into a call and looks at what comes out, so the same code serves `grpc` and `grpc.aio`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from palimpsest.consistency import ConsistencyTokens
from palimpsest.tracing import Metadata, traced


@dataclass(frozen=True)
class Policies:
    """What every call of a client carries."""

    deadline_s: float | None
    token: str | Callable[[], str] | None
    tokens: ConsistencyTokens
    read_your_writes: bool

    def metadata(self, given: Iterable[tuple[str, str | bytes]] | None) -> Metadata | None:
        """The caller's metadata, and the bearer token where there is none among it."""
        pairs = tuple(given or ())
        if self.token is None or any(key == "authorization" for key, _ in pairs):
            return pairs or None
        token = self.token if isinstance(self.token, str) else self.token()
        return (*pairs, ("authorization", f"Bearer {token}"))

    def completed(self, request: Any) -> Message | None:
        """What has to be added to `request`, as a message of its type; None where nothing has."""
        fields = request.DESCRIPTOR.fields_by_name
        addition: Any = type(request)()
        if self.read_your_writes and "consistency_token" in fields and not request.consistency_token:
            addition.consistency_token = self.tokens.latest(namespace_of(request))
        if "occurred_at" in fields and "source" in fields and not _is_recognisable(request):
            addition.occurred_at.GetCurrentTime()
        return addition if addition.ByteSize() else None


class PoliciesChannel:
    """Makes callables like those of the channel below it, with `policies` around each call."""

    def __init__(self, channel: Any, policies: Policies) -> None:
        self._channel = channel
        self._policies = policies

    def unary_unary(self, method: str, **codec: Any) -> "Method":
        """One message each way. Only these calls have the default deadline: streams last as long as they last."""
        return Method(self._channel.unary_unary, method, codec, self._policies, self._policies.deadline_s)

    def unary_stream(self, method: str, **codec: Any) -> "Method":
        """One message there, many back."""
        return Method(self._channel.unary_stream, method, codec, self._policies)

    def stream_unary(self, method: str, **codec: Any) -> "Method":
        """Many messages there, one back."""
        return Method(self._channel.stream_unary, method, codec, self._policies)

    def stream_stream(self, method: str, **codec: Any) -> "Method":
        """Many messages each way."""
        return Method(self._channel.stream_stream, method, codec, self._policies)


@dataclass(frozen=True)
class Method:
    """One method of a service, called as gRPC's own callables are."""

    bind: Callable[..., Any]
    name: str
    codec: dict[str, Any]
    policies: Policies
    deadline_s: float | None = None

    def __call__(self, request: Any = None, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        """Calls the method; `timeout` in seconds goes before the client's deadline."""
        return self._begun(self._of_one_call(), request, timeout, metadata, options)

    def with_call(self, request: Any, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        """Calls the method and returns the response and the call. Not in `grpc.aio`."""
        return self._begun(self._of_one_call().with_call, request, timeout, metadata, options)

    def future(self, request: Any, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        """Calls the method and returns at once. Not in `grpc.aio`."""
        return self._begun(self._of_one_call().future, request, timeout, metadata, options)

    def _begun(
        self, begin: Callable[..., Any], request: Any, timeout: float | None, metadata: Any, options: dict[str, Any]
    ) -> Any:
        limit_s = self.deadline_s if timeout is None else timeout
        return traced(
            self.name,
            self.policies.metadata(metadata),
            lambda sent: begin(request, timeout=limit_s, metadata=sent, **options),
        )

    def _of_one_call(self) -> Any:
        """gRPC's callable for one call: a response does not name the namespace, only the call's requests do."""
        namespaces: set[str] = set()
        encode, decode = self.codec["request_serializer"], self.codec["response_deserializer"]

        def serialize(request: Message) -> bytes:
            if namespace := namespace_of(request):
                namespaces.add(namespace)
            addition = self.policies.completed(request)
            # Messages that are written one after the other are merged by whoever reads them.
            raw: bytes = encode(request)
            return raw if addition is None else raw + addition.SerializeToString()

        def deserialize(raw: bytes) -> Message:
            response: Message = decode(raw)
            token = getattr(response, "consistency_token", "")
            for namespace in tuple(namespaces) if token else ():  # a stream's requests are still coming
                self.policies.tokens.remember(namespace, token)
            return response

        return self.bind(self.name, request_serializer=serialize, response_deserializer=deserialize)


def namespace_of(request: Message) -> str:
    """The namespace that a request names, itself or in the head of its stream; empty where it names none."""
    return getattr(request, "namespace", "") or getattr(getattr(request, "head", None), "namespace", "")


def _is_recognisable(request: Any) -> bool:
    """Whether the writer knows the request again when it is sent twice; without either field it is another write."""
    return bool(request.HasField("source") or request.HasField("occurred_at"))
