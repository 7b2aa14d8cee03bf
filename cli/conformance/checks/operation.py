"""Health, deadlines, and what errors tell."""

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from palimpsest.errors import details_of
from palimpsest.v1.reader_service_pb2 import SearchRequest, WatchRequest

from cli.conformance.building import entity, fact, observation
from cli.conformance.expecting import expect, same
from cli.conformance.outcome import Broken
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_NAMES = ("", "startup", "readiness", "liveness")
_INNER = ("Traceback", 'File "', "asyncpg", "psycopg", "SELECT ", "INSERT ", "UPDATE ", "pg_", "/usr/", ".py")


@tries("OP-1")
def health_is_served(probe: Probe) -> None:
    """Each service answers SERVING under its name, startup, readiness and liveness; another name is NOT_FOUND."""
    services = {"writer": "WriterService", "reader": "ReaderService", "embedder": "EmbedderService"}
    for name, address in asdict(probe.endpoints).items():
        if not address:
            continue
        with probe.channel(address) as channel:
            stub = HealthStub(channel)
            for asked in (*_NAMES, f"palimpsest.v1.{services[name]}"):
                request = HealthCheckRequest(service=asked)
                status = stub.Check(request, timeout=10, metadata=probe.authorization).status
                same(HealthCheckResponse.ServingStatus.Name(status), "SERVING", f"{asked!r} of the {name}")
            try:
                stub.Check(HealthCheckRequest(service="no-such-name"), timeout=10, metadata=probe.authorization)
            except grpc.RpcError as error:
                same(error.code().name, "NOT_FOUND", "the answer to a name that is not there")
            else:
                raise Broken("a service that is not there serves")


@tries("OP-1")
def deadlines_and_sizes(probe: Probe) -> None:
    """A call with a millisecond is over soon, a cancelled one harms no other, and a message of 33 MiB is refused."""
    place = probe.place()
    place.say(entity("note:1", title="Note"))
    begun = time.monotonic()
    for _ in range(5):
        try:
            probe.client.reader.Search(SearchRequest(namespace=place.name, query="note " * 2000), timeout=0.001)
        except grpc.RpcError as error:
            same(error.code().name, "DEADLINE_EXCEEDED", "the answer to a call with a millisecond")
    expect(time.monotonic() - begun < 10, "calls with a millisecond took ten seconds")
    call = probe.client.reader.Search.future(SearchRequest(namespace=place.name, query="note"))
    call.cancel()
    same(place.entity("note:1").title, "Note", "what is read after calls that were cut off")
    large = SearchRequest(namespace=place.name, query="x" * (33 * 1024 * 1024))
    try:
        with probe.channel(probe.endpoints.reader) as channel:
            raw = channel.unary_unary(
                "/palimpsest.v1.ReaderService/Search", request_serializer=SearchRequest.SerializeToString
            )
            raw(large, timeout=30, metadata=probe.authorization)
    except grpc.RpcError as error:
        same(error.code().name, "RESOURCE_EXHAUSTED", "the answer to a message of 33 MiB")
    else:
        raise Broken("a message of 33 MiB was answered")


@tries("OP-2")
def errors_are_told_properly(probe: Probe) -> None:
    """Eleven kinds of bad input end each with its code, reason and path, and tell nothing of the inside."""
    place = probe.place()
    deep = "[" * 300 + "]" * 300
    cases: dict[str, tuple[Callable[[], Any], str, str]] = {
        "an empty query": (lambda: place.search(""), "INVALID_FIELD", "query"),
        "an unknown fact": (lambda: place.fact(f"fact-{'0' * 24}"), "NOT_FOUND", ""),
        "no fact's id": (lambda: place.fact("'; DROP TABLE facts; --"), "INVALID_FIELD", "fact_id"),
        "an entity without a name": (lambda: place.ask("GetEntity"), "INVALID_FIELD", "entity"),
        "a query with NUL": (lambda: place.search("a\x00b"), "INVALID_TEXT", "query"),
        "no cursor": (lambda: list(probe.client.reader.Watch(WatchRequest(namespace=place.name, cursor="x"),
                                                             timeout=20)), "", ""),
        "a confidence of 2": (lambda: place.say(entity("a:a", confidence=2)), "INVALID_FIELD",
                              "observation.assertions[0].entity.confidence"),
        "a fact without an object": (lambda: place.say(_without_object()), "INVALID_FIELD",
                                     "observation.assertions[0].fact.object"),
        "JSON that is nested too deep": (lambda: place.record(observation("1", data=deep)), "INVALID_FIELD",
                                         "observation.data"),
        "a page token of nobody": (lambda: place.ask("ListFacts", page_token="x"), "INVALID_PAGE_TOKEN", ""),
        "a label without a type": (lambda: place.say(scopes=["nonsense"]), "INVALID_FIELD", "observation.scopes[0]"),
    }  # fmt: skip
    for name, (call, reason, path) in cases.items():
        try:
            call()
        except grpc.RpcError as error:
            details = details_of(error)
            expect(details.reason, f"{name}: the error has no reason of ours")
            expect(not reason or details.reason == reason, f"{name}: the reason is {details.reason}")
            fields = [violation.field for violation in details.violations]
            expect(not path or path in fields, f"{name}: the paths are {fields}")
            told = f"{error.details()} {details}"
            inner = [word for word in _INNER if word in told]
            expect(not inner, f"{name}: the error tells of the inside: {inner}")
            expect(error.code() not in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL), f"{name}: {error.code()}")
        else:
            raise Broken(f"{name} was answered")
    same(place.ask("GetNamespaceStatistics").statistics.observations, 0, "observations after refusals")


def _without_object() -> Any:
    said = fact("a:a", "IS", "b:b")
    said.fact.ClearField("object")
    return said
