"""The deployment that is tried, and the namespaces that a run makes for itself there."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.client import Client
from palimpsest.v1 import reader_service_pb2, writer_service_pb2
from palimpsest.v1.namespace_pb2 import DomainPack, NamespaceSettings, PackEnablement
from palimpsest.v1.observation_pb2 import Assertion, Observation, RecordedObservation
from palimpsest.v1.reader_service_pb2 import CompileContextResponse, SearchResponse

from cli.conformance.building import observation, ref
from cli.conformance.outcome import Unseen
from cli.endpoints import Endpoints


@dataclass
class Probe:
    """A deployment, and who asks it."""

    client: Client
    endpoints: Endpoints
    namespace: str
    """The first of the run's namespaces; the others begin with it."""
    outsider: Client | None = None
    """Another caller, who may read and write in the run's namespaces and holds no labels of the run."""
    channel: Callable[[str], grpc.Channel] = grpc.insecure_channel
    """Opens a channel to an address, for protocols other than ours."""
    authorization: tuple[tuple[str, str], ...] = ()
    """Metadata by which such a call is known."""
    patience_s: float = 60.0
    """How long vectors are waited for."""
    places: "list[Place]" = field(default_factory=list)
    rule: str = ""
    """The rule that is being tried; it is part of the names of its namespaces."""

    def place(self) -> "Place":
        """A namespace that nothing was said in."""
        name = self.namespace if not self.places else f"{self.namespace}-{len(self.places)}-{self.rule.lower()}"
        made = Place(self, name)
        self.places.append(made)
        return made

    @property
    def other(self) -> Client:
        """The other caller. Raises Unseen where none was given."""
        if self.outsider is None:
            raise Unseen("needs a second caller: give --outsider-token")
        return self.outsider

    @property
    def embedder(self) -> Any:
        """The stub of the embedder. Raises Unseen where its address is not known."""
        if not self.endpoints.embedder:
            raise Unseen("the embedder's address was not given")
        return self.client.embedder


@dataclass
class Place:
    """One namespace of the run."""

    probe: Probe
    name: str
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def ask(self, rpc: str, *, caller: Client | None = None, **fields: Any) -> Any:
        """Asks the reader; `fields` are those of the request. Raises grpc.RpcError."""
        request = self.request(reader_service_pb2, rpc, fields)
        return getattr((caller or self.probe.client).reader, rpc)(request)

    def do(self, rpc: str, *, caller: Client | None = None, timeout_s: float | None = None, **fields: Any) -> Any:
        """Tells the writer; `fields` are those of the request. Raises grpc.RpcError."""
        request = self.request(writer_service_pb2, rpc, fields)
        return getattr((caller or self.probe.client).writer, rpc)(request, timeout=timeout_s)

    def request(self, contract: Any, rpc: str, fields: dict[str, Any]) -> Message:
        """A request of this namespace."""
        made: Message = getattr(contract, f"{rpc}Request")(namespace=self.name, **fields)
        return made

    def record(self, said: Observation) -> RecordedObservation:
        """Stores an observation."""
        return self.probe.client.record(self.name, said)

    def say(self, *assertions: Assertion, external_id: str = "", **fields: Any) -> RecordedObservation:
        """Stores an observation of its own with these assertions."""
        return self.record(observation(external_id or f"n{next(self.numbers)}", *assertions, **fields))

    def search(self, query: str, *, caller: Client | None = None, **fields: Any) -> SearchResponse:
        """Searches."""
        found: SearchResponse = self.ask("Search", caller=caller, query=query, **fields)
        return found

    def search_whole(self, query: str, **fields: Any) -> SearchResponse:
        """Searches by all signals of the mode. Raises Unseen where the query had no vector in time."""
        found = self.search(query, **fields)
        if found.degraded:
            raise Unseen("the reader did not reach its embedder in time")
        return found

    def found(self, query: str, *, caller: Client | None = None, **fields: Any) -> list[str]:
        """The ids of what a search finds, best first; by words alone unless a mode is given, for vectors come later."""
        fields.setdefault("mode", "SEARCH_MODE_LEXICAL")
        return [hit.item_id for hit in self.search(query, caller=caller, **fields).hits]

    def pack(self, query: str, **fields: Any) -> CompileContextResponse:
        """Compiles a pack."""
        compiled: CompileContextResponse = self.ask("CompileContext", query=query, **fields)
        return compiled

    def facts(self, **fields: Any) -> list[str]:
        """The ids of the facts that are listed, sorted."""
        return sorted(each.fact_id for each in self.ask("ListFacts", **fields).facts)

    def fact(self, fact_id: str, **fields: Any) -> Any:
        """A fact by its id."""
        return self.ask("GetFact", fact_id=fact_id, **fields).fact

    def entity(self, key: str, **fields: Any) -> Any:
        """An entity by its key."""
        return self.ask("GetEntity", entity=ref(key), **fields).entity

    def moment(self) -> Timestamp:
        """A moment of the database's clock after all that was told so far, and before all that follows."""
        return self.say(external_id=f"moment-{next(self.numbers)}", content="").recorded_at

    def configure(self, **settings: Any) -> Any:
        """Replaces the settings; needs the admin permission."""
        return self.do("UpdateNamespaceSettings", settings=NamespaceSettings(**settings)).namespace

    def enable(self, *packs: DomainPack, **settings: Any) -> None:
        """Registers packs and lets them act; needs the admin permission."""
        for pack in packs:
            self.do("RegisterPack", pack=pack)
        self.configure(packs=[PackEnablement(pack=pack.pack, version=pack.version) for pack in packs], **settings)

    def embedded(self) -> None:
        """Waits until what was told has vectors. Raises Unseen where it takes too long."""
        try:
            self.do("WaitForEmbedding", timeout_s=self.probe.patience_s)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
            raise Unseen(f"no vectors within {self.probe.patience_s:g} s: is the embedder up?") from None
