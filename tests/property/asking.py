"""Asks a reader everything that it can be asked, as one caller, and gives the answers as bytes.

Each RPC of the contract has an entry in `QUESTIONS`. What differs between two equal memories, because it tells the time
of the question, is taken out: ids of traces, when they were compiled, and how long that took.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from itertools import cycle, product
from typing import Any

import grpc.aio
from google.protobuf import message_factory
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reference_pb2 import EntityRef, TypedId
from palimpsest.v1.retrieval_pb2 import SearchFilter, TimePoint

from tests.integration.writing import NAMESPACE

# Cursors are sealed, and no two are alike.
_OF_THE_QUESTION = {"compiled_at", "timings_ms", "cursor"}
_MOST_PAGES = 100
MODES = ("FULL", "LEXICAL", "VECTOR", "GRAPH")


@dataclass(frozen=True)
class Known:
    """What the asking one knows the names of, whether it may see it or not."""

    keys: Sequence[str]
    fact_ids: Sequence[str]
    observation_ids: Sequence[str]
    queries: Sequence[str]
    past: Sequence[Timestamp] = ()


@dataclass
class Asker:
    """One caller at one reader."""

    channel: grpc.aio.Channel
    token: str
    known: Known
    trace_ids: set[str] = field(default_factory=set)

    async def ask(self, method: str, request: Message) -> Message | tuple[str, bytes]:
        """The answer as a message, or the error."""
        [found] = [each async for each in self.stream(method, request)]
        return found

    async def stream(self, method: str, request: Message) -> AsyncGenerator[Any, None]:
        """The answers; an error ends them."""
        described = pb.DESCRIPTOR.services_by_name["ReaderService"].methods_by_name[method]
        call: Callable[..., Any] = self.channel.unary_stream if described.server_streaming else self.channel.unary_unary
        answer = call(
            f"/{described.containing_service.full_name}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
        )(request, timeout=30, metadata=(("authorization", f"Bearer {self.token}"),))
        try:
            if described.server_streaming:
                async for each in answer:
                    yield each
            else:
                yield await answer
        except grpc.aio.AioRpcError as error:
            details = [value for key, value in error.trailing_metadata() or () if key == "grpc-status-details-bin"]
            yield error.code().name, b"".join(map(bytes, details))

    async def pages(self, method: str, request: Any) -> AsyncIterator[Message | tuple[str, bytes]]:
        """All pages, three items each."""
        request.page_size = 3
        for _ in range(_MOST_PAGES):
            answer: Any = await self.ask(method, request)
            yield answer
            if isinstance(answer, tuple) or not answer.next_page_token:
                return
            request.page_token = answer.next_page_token
        raise AssertionError(f"{method} goes on for ever")

    def shown(self, answer: Message | tuple[str, bytes]) -> bytes:
        """The bytes of an answer, less what tells of the question."""
        if isinstance(answer, tuple):
            return answer[0].encode() + b" " + answer[1]
        copy = type(answer)()
        copy.CopyFrom(answer)
        _clear(copy)
        raw = copy.SerializeToString(deterministic=True)
        for trace_id in self.trace_ids:
            raw = raw.replace(trace_id.encode(), b"trace")
        return raw


def _clear(message: Any) -> None:
    for described, value in message.ListFields():
        if described.name in _OF_THE_QUESTION:
            message.ClearField(described.name)
        elif described.message_type is not None and not described.message_type.GetOptions().map_entry:
            for each in value if described.is_repeated else [value]:
                _clear(each)


async def answers(asker: Asker, method: str) -> list[tuple[str, bytes]]:
    """Everything that an RPC answers, each beside what was asked. Raises KeyError for an RPC that has no questions."""
    return [(asked, asker.shown(answer)) async for asked, answer in QUESTIONS[method](asker)]


def _told_apart(asked: str, expected: bytes, shown: bytes) -> str:
    """The lines in which two answers differ."""
    method = pb.DESCRIPTOR.services_by_name["ReaderService"].methods_by_name[asked.split(" ")[0]]
    texts = []
    for raw in (expected, shown):
        try:
            texts.append(str(message_factory.GetMessageClass(method.output_type).FromString(raw)))
        except DecodeError:
            texts.append(repr(raw))
    return "\n".join(unified_diff(*(text.splitlines() for text in texts), lineterm="", n=2))


def differing(without: list[tuple[str, bytes]], found: list[tuple[str, bytes]]) -> list[str]:
    """What was asked where the answers differ, and how."""
    told = [
        f"{asked}: {_told_apart(asked, expected, shown)}"
        for (asked, expected), (_, shown) in zip(without, found, strict=False)
        if shown != expected
    ]
    return (
        told if len(without) == len(found) else [*told, f"{without[0][0]}: {len(without)} answers became {len(found)}"]
    )


Answers = AsyncIterator[tuple[str, Any]]
Questions = Callable[[Asker], Answers]


def _unary(method: str, requests: Callable[[Known], Iterable[Message]]) -> Questions:
    async def ask(asker: Asker) -> Answers:
        for request in requests(asker.known):
            yield f"{method} {request}", await asker.ask(method, request)

    return ask


def _paged(method: str, requests: Callable[[Known], Iterable[Message]]) -> Questions:
    async def ask(asker: Asker) -> Answers:
        for request in requests(asker.known):
            asked = f"{method} {request}"
            async for answer in asker.pages(method, request):
                yield asked, answer

    return ask


def _moments(known: Known) -> list[TimePoint | None]:
    return [None, *(TimePoint(known_at=moment) for moment in known.past)]


def _reference(key: str) -> EntityRef:
    return EntityRef(key=key)


def _by_entity(request_type: type[Any], *, at: bool = False) -> Callable[[Known], Iterable[Message]]:
    def requests(known: Known) -> Iterable[Message]:
        for key, moment in product(known.keys, _moments(known) if at else [None]):
            request = request_type(namespace=NAMESPACE, entity=_reference(key))
            if moment is not None:
                request.at.CopyFrom(moment)
            yield request

    return requests


def _searches(known: Known) -> Iterable[Message]:
    asked = [*product(MODES, [None]), ("FULL", SearchFilter(scopes=["project:atlas"]))]
    for query, (mode, chosen) in product(known.queries, asked):
        yield pb.SearchRequest(
            namespace=NAMESPACE,
            query=query,
            mode=f"SEARCH_MODE_{mode}",
            filter=chosen,
            limit=50,
            keep_irrelevant=True,
            caller_time="2026-08-07T12:00:00Z",
        )
    for query in known.queries:
        yield pb.SearchRequest(namespace=NAMESPACE, query=query, caller_time="2026-08-07T12:00:00Z")


async def _packs(asker: Asker) -> Answers:
    async for asked, answer in _compiled(asker):
        yield asked, answer


async def _compiled(asker: Asker) -> Answers:
    for query, every in zip(asker.known.queries, cycle((False, True)), strict=False):
        request = pb.CompileContextRequest(
            namespace=NAMESPACE, query=query, mark_all_conflicts=every, caller_time="2026-08-07T12:00:00Z"
        )
        answer: Any = await asker.ask("CompileContext", request)
        asker.trace_ids |= {answer.trace_id} - {""} if isinstance(answer, Message) else set()
        yield f"CompileContext {request}", answer
        if isinstance(answer, Message):
            again = pb.CompileContextRequest(
                namespace=NAMESPACE, query=query, since_pack_id=answer.pack.pack_id, caller_time="2026-08-07T12:00:00Z"
            )
            yield f"CompileContext {again}", await _remembered(asker, again)


async def _remembered(asker: Asker, request: Message) -> Any:
    answer: Any = await asker.ask("CompileContext", request)
    asker.trace_ids |= {answer.trace_id} - {""} if isinstance(answer, Message) else set()
    return answer


async def _first_pack(asker: Asker) -> Any:
    [(_, first), *_] = [each async for each in _compiled(asker)]
    assert isinstance(first, Message), first
    return first


async def _explanations(asker: Asker) -> Answers:
    trace_id = (await _first_pack(asker)).trace_id
    for item_id in (
        *asker.known.keys,
        *asker.known.fact_ids,
        *(f"chunk:{key}#0" for key in asker.known.keys),
        "nothing",
    ):
        request = pb.ExplainRequest(namespace=NAMESPACE, trace_id=trace_id, item_id=item_id)
        yield f"Explain {item_id}", await asker.ask("Explain", request)
    yield "Explain", await asker.ask("Explain", pb.ExplainRequest(namespace=NAMESPACE, trace_id="none", item_id="a"))


async def _verifications(asker: Asker) -> Answers:
    pack_id = (await _first_pack(asker)).pack.pack_id
    answer = ". ".join(asker.known.queries)
    yield "Verify", await asker.ask("Verify", pb.VerifyRequest(namespace=NAMESPACE, pack_id=pack_id, answer=answer))


async def _traces(asker: Asker) -> Answers:
    trace_id = (await _first_pack(asker)).trace_id
    for each in (trace_id, "none"):
        request = pb.GetContextTraceRequest(namespace=NAMESPACE, trace_id=each)
        yield "GetContextTrace", await asker.ask("GetContextTrace", request)


def _walks(known: Known) -> Iterable[Message]:
    for key, moment in product(known.keys, _moments(known)):
        yield pb.TraverseRequest(namespace=NAMESPACE, anchors=[_reference(key)], depth=3, limit=7, at=moment)
    for query in known.queries:
        yield pb.TraverseRequest(namespace=NAMESPACE, anchor_text=query, depth=2)


def _entity_lists(known: Known) -> Iterable[Message]:
    for placeholders, history in product((False, True), (False, True)):
        yield pb.ListEntitiesRequest(namespace=NAMESPACE, include_placeholders=placeholders, include_history=history)


def _facts(known: Known) -> Iterable[Message]:
    for fact_id, moment in product((*known.fact_ids, "fact-" + "0" * 24), _moments(known)):
        yield pb.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id, at=moment)


def _fact_lists(known: Known) -> Iterable[Message]:
    for history, moment in product((False, True), _moments(known)):
        yield pb.ListFactsRequest(namespace=NAMESPACE, include_history=history, at=moment)
    for key in known.keys:
        yield pb.ListFactsRequest(namespace=NAMESPACE, subject=_reference(key), predicate="LIVES_IN")


def _observation_lists(known: Known) -> Iterable[Message]:
    yield pb.ListObservationsRequest(namespace=NAMESPACE)
    yield pb.ListObservationsRequest(namespace=NAMESPACE, system="chat", stream="general")
    for key in known.keys[::3]:
        kind, _, name = key.partition(":")
        if name:
            yield pb.ListObservationsRequest(namespace=NAMESPACE, actor=TypedId(type=kind, id=name))
            yield pb.ListObservationsRequest(namespace=NAMESPACE, subject=TypedId(type=kind, id=name))


def _histories(known: Known) -> Iterable[Message]:
    return (pb.GetFactHistoryRequest(namespace=NAMESPACE, fact_id=each) for each in known.fact_ids)


def _observations(known: Known) -> Iterable[Message]:
    return (
        pb.GetObservationRequest(namespace=NAMESPACE, observation_id=each)
        for each in (*known.observation_ids, "obs-" + "0" * 24)
    )


async def _changes(asker: Asker) -> Answers:
    """All that changed since before anything did: it was all told when a message says again where the stream is."""
    since = Timestamp()
    since.FromDatetime(datetime.now(UTC) - timedelta(days=5))
    for labels in ((), ("project:atlas",)):
        request, empty = pb.WatchRequest(namespace=NAMESPACE, since=since, scopes=labels), 0
        async with aclosing(asker.stream("Watch", request)) as stream:
            async for answer in stream:
                assert not isinstance(answer, tuple), answer
                for change in answer.changes:
                    yield f"Watch {labels}", pb.WatchResponse(changes=[change])
                empty += not answer.changes
                # The first comes before all.
                if empty == 2:
                    break
        assert empty == 2, "the stream ended before all was told"


def _proposals(known: Known) -> Iterable[Message]:
    return (pb.ListDuplicateProposalsRequest(namespace=NAMESPACE, state=state) for state in (0, 1, 2, 3, 4))


def _plain(request_type: type[Any]) -> Callable[[Known], Iterable[Message]]:
    return lambda known: [request_type(namespace=NAMESPACE)]


QUESTIONS: dict[str, Questions] = {
    "Search": _unary("Search", _searches),
    "CompileContext": _packs,
    "Explain": _explanations,
    "Verify": _verifications,
    "GetContextTrace": _traces,
    "Traverse": _unary("Traverse", _walks),
    "GetEntity": _unary("GetEntity", _by_entity(pb.GetEntityRequest, at=True)),
    "ListEntities": _paged("ListEntities", _entity_lists),
    "GetFact": _unary("GetFact", _facts),
    "ListFacts": _paged("ListFacts", _fact_lists),
    "GetFactHistory": _paged("GetFactHistory", _histories),
    "GetObservation": _unary("GetObservation", _observations),
    "ListObservations": _paged("ListObservations", _observation_lists),
    "GetSource": _unary("GetSource", _by_entity(pb.GetSourceRequest)),
    "ListChunks": _paged("ListChunks", _by_entity(pb.ListChunksRequest)),
    "ListNeighbors": _paged("ListNeighbors", _by_entity(pb.ListNeighborsRequest, at=True)),
    "ListSources": _paged("ListSources", _plain(pb.ListSourcesRequest)),
    "ListLinkClaims": _paged("ListLinkClaims", _plain(pb.ListLinkClaimsRequest)),
    "ListDuplicateProposals": _paged("ListDuplicateProposals", _proposals),
    "GetPack": _unary("GetPack", lambda known: [pb.GetPackRequest(namespace=NAMESPACE, pack="homes")]),
    "ListPacks": _paged("ListPacks", _plain(pb.ListPacksRequest)),
    "GetNamespace": _unary("GetNamespace", _plain(pb.GetNamespaceRequest)),
    "ListNamespaces": _paged("ListNamespaces", lambda known: [pb.ListNamespacesRequest()]),
    "GetNamespaceStatistics": _unary("GetNamespaceStatistics", _plain(pb.GetNamespaceStatisticsRequest)),
    "GetMemoryHealth": _unary("GetMemoryHealth", _plain(pb.GetMemoryHealthRequest)),
    "GetExtractionQueue": _unary("GetExtractionQueue", _plain(pb.GetExtractionQueueRequest)),
    "Watch": _changes,
    # For administrators, from whom no label hides that there is something: the outsider is refused.
    "Digest": _unary("Digest", _plain(pb.DigestRequest)),
    "ListAuditEvents": _unary("ListAuditEvents", _plain(pb.ListAuditEventsRequest)),
    "GetErasureReceipt": _unary(
        "GetErasureReceipt", lambda known: [pb.GetErasureReceiptRequest(namespace=NAMESPACE, receipt_id="none")]
    ),
}
