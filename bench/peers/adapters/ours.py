"""Palimpsest, through gRPC: a writer and a reader in processes of their own, as an operator runs them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

import grpc.aio
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest import ids
from palimpsest.v1 import reader_service_pb2 as reading
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writing
from palimpsest.v1.fact_pb2 import FactAssertion, FactObject, Literal
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.observation_pb2 import Observation, StoredObservation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from bench.own_process import own_process
from bench.peers.peer import Fact, Hit, Item, Peer

_OPTIONS = [("grpc.max_send_message_length", 32 * 1024 * 1024), ("grpc.max_receive_message_length", 32 * 1024 * 1024)]
_SYSTEM = "peers"
_START_TIMEOUT_S = 120
_PREDICATES = {"works at": "WORKS_AT"}


class Adapter(Peer):
    """The writer and the reader."""

    async def open(self) -> None:
        """Starts both on the peer's database, with the embedder that remembers."""
        self._processes = ExitStack()
        self._round = 0
        self._namespaces: set[str] = set()
        self._clock: dict[str, str] = {}
        self._last: dict[tuple[str, str, str], str] = {}
        await self._start(self.setting.embedder)

    async def _start(self, embedder: str) -> None:
        start = partial(self._run, reader_embedder_target=embedder, embedding_target=embedder)
        # In a thread, for it waits until they listen; the writer first, which makes the schema.
        writer = await asyncio.to_thread(start, "writer")
        reader = await asyncio.to_thread(start, "reader", reader_embed_timeout_s="5")
        self._channels = [grpc.aio.insecure_channel(target, options=_OPTIONS) for target in (writer, reader)]
        self._writer, self._reader = WriterServiceStub(self._channels[0]), ReaderServiceStub(self._channels[1])
        for channel in self._channels:
            await _until_serving(channel)

    def _run(self, service: str, **settings: str) -> str:
        return self._processes.enter_context(own_process(service, self.setting.dsn, **settings))

    async def reset(self) -> None:
        """Goes on in namespaces that hold nothing."""
        self._round += 1
        self._namespaces.clear()

    async def add(self, item: Item) -> None:
        """RecordObservation."""
        request = writing.RecordObservationRequest(namespace=self._name(item.namespace), observation=self._said(item))
        await self._writer.RecordObservation(request)

    async def add_many(self, items: Sequence[Item]) -> None:
        """BatchRecordObservations, which tells of each item apart."""
        request = writing.BatchRecordObservationsRequest(
            namespace=self._name(items[0].namespace), observations=[self._said(each) for each in items]
        )
        results = (await self._writer.BatchRecordObservations(request)).results
        if refused := [each.error.message for each in results if each.HasField("error")]:
            raise ValueError(refused[0])

    async def ready(self) -> None:
        """WaitForEmbedding: words are found at once, vectors follow."""
        for name in sorted(self._namespaces):
            await self._writer.WaitForEmbedding(writing.WaitForEmbeddingRequest(namespace=name), timeout=3600)

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """Search, at the moment of the namespace's last item."""
        return await self._search(namespace, text, limit, retrieval_pb2.SEARCH_MODE_FULL, keep=not relevant)

    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        """Search in the mode LEXICAL."""
        return await self._search(namespace, text, limit, retrieval_pb2.SEARCH_MODE_LEXICAL, keep=True)

    async def _search(
        self, namespace: str, text: str, limit: int, mode: retrieval_pb2.SearchMode, *, keep: bool
    ) -> list[Hit]:
        request = reading.SearchRequest(
            namespace=self._name(namespace), query=text, limit=limit, mode=mode, keep_irrelevant=keep,
            caller_time=self._clock.get(namespace, ""),
        )  # fmt: skip
        response = await self._reader.Search(request)
        self.notes = [f"degraded: {_signal(each.signal)}, {_cause(each.cause)}" for each in response.degraded]
        found: dict[str, Hit] = {}
        for hit in response.hits:  # an item stands where the best of its passages does
            found.setdefault(_external_id(hit), Hit(_external_id(hit), _text(hit)))
        return list(found.values())

    async def stored(self, namespace: str) -> list[Hit]:
        """ListObservations."""
        said = [each.observation for each in await self._observations(self._name(namespace))]
        return [Hit(each.source.external_id, each.content, json.loads(each.data or "{}")) for each in said]

    async def state(self, namespace: str, fact: Fact) -> None:
        """A fact that supersedes the one before it."""
        subject, predicate = _key(fact.subject), _PREDICATES[fact.predicate]
        name, value = self._name(namespace), FactObject(literal=Literal(text=fact.value))
        before = self._last.get((name, subject, predicate))
        assertion = FactAssertion(
            subject=EntityRef(key=subject), predicate=predicate, object=value, valid_from=_moment(fact.since),
            supersedes=[before] if before else [],
        )  # fmt: skip
        observation = _observation(f"{fact.subject} since {fact.since}", fact.since)
        observation.assertions.add().fact.CopyFrom(assertion)
        await self._writer.RecordObservation(writing.RecordObservationRequest(namespace=name, observation=observation))
        self._last[name, subject, predicate] = ids.fact_id(name, subject, predicate, value, _moment(fact.since))

    async def as_of(self, namespace: str, subject: str, predicate: str, moment: str) -> list[str]:
        """ListFacts at the moment."""
        request = reading.ListFactsRequest(
            namespace=self._name(namespace), subject=EntityRef(key=_key(subject)), predicate=_PREDICATES[predicate],
            at=retrieval_pb2.TimePoint(as_of=_moment(moment)),
        )  # fmt: skip
        return [fact.object.literal.text for fact in (await self._reader.ListFacts(request)).facts]

    async def delete(self, namespace: str, item_id: str) -> None:
        """Purge."""
        name = self._name(namespace)
        for each in await self._observations(name):
            if each.observation.source.external_id == item_id:
                selector = ErasureSelector(observation_id=each.observation_id)
                await self._writer.Purge(writing.PurgeRequest(namespace=name, selector=selector))

    async def change_model(self) -> None:
        """Both services are started anew, with another embedder."""
        await self.close()
        await self._start(self.setting.other_embedder)

    async def close(self) -> None:
        """Stops both."""
        for channel in self._channels:
            await channel.close()
        await asyncio.to_thread(self._processes.close)

    async def _observations(self, name: str) -> list[StoredObservation]:
        request, found = reading.ListObservationsRequest(namespace=name, page_size=1000), []
        while True:
            page = await self._reader.ListObservations(request)
            found += page.observations
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def _name(self, namespace: str) -> str:
        name = f"{self._round}/{namespace}"
        self._namespaces.add(name)
        return name

    def _said(self, item: Item) -> Observation:
        observation = _observation(item.id, item.time)
        observation.content = item.text
        observation.source.stream = item.group
        if item.author:
            observation.actor.type, observation.actor.id = "person", item.author
        if item.data:
            observation.data = json.dumps(item.data)
        if item.time:
            self._clock[item.namespace] = max(item.time, self._clock.get(item.namespace, ""))
        return observation


async def _until_serving(channel: grpc.aio.Channel) -> None:
    async with asyncio.timeout(_START_TIMEOUT_S):
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest()):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return


def _observation(external_id: str, time: str) -> Observation:
    source = SourceIdentity(system=_SYSTEM, external_id=external_id)
    return Observation(source=source, kind="message", occurred_at=_moment(time))


def _moment(text: str) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime.fromisoformat(text) if text else datetime(2020, 1, 1, tzinfo=UTC))
    return stamp


def _key(subject: str) -> str:
    return f"person:{subject.lower()}"


def _external_id(hit: retrieval_pb2.SearchHit) -> str:
    return str(hit.provenance[0].source.external_id) if hit.provenance else str(hit.item_id)


def _text(hit: retrieval_pb2.SearchHit) -> str:
    return {"chunk": hit.chunk.text, "fact": hit.fact.sentence, "entity": hit.entity.title}[hit.WhichOneof("item")]


def _signal(number: int) -> str:
    return str(retrieval_pb2.Signal.Name(number)).removeprefix("SIGNAL_")


def _cause(number: int) -> str:
    return str(retrieval_pb2.DegradationCause.Name(number)).removeprefix("DEGRADATION_CAUSE_")
