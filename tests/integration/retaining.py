"""Requests that retain texts, and a writer beside a reader of the same database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import ChunkedText, DocumentAssertion, InputChunk
from palimpsest.v1.entity_pb2 import Entity
from palimpsest.v1.link_pb2 import LinkAssertion, LinkTarget
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_LEXICAL

from tests.integration.reader_process import reading
from tests.integration.writing import NAMESPACE, Writer, at, writing


@dataclass(frozen=True)
class Memory:
    """A writer and a reader of one database, without an embedder."""

    writer: Writer
    reader: ReaderServiceStub

    async def retain(self, key: str, text: str, **fields: Any) -> pb.RetainArticleResponse:
        """Retains an article."""
        return await self.writer.stub.RetainArticle(article(key, text, **fields))

    async def begin(self, vault: str = "notes") -> str:
        """The id of a new run of a vault."""
        request = pb.BeginVaultRunRequest(namespace=NAMESPACE, vault=vault)
        return (await self.writer.stub.BeginVaultRun(request)).vault_run_id

    async def complete(self, vault_run_id: str, **fields: Any) -> pb.CompleteVaultRunResponse:
        """Completes a run."""
        request = pb.CompleteVaultRunRequest(namespace=NAMESPACE, vault_run_id=vault_run_id, **fields)
        return await self.writer.stub.CompleteVaultRun(request)

    async def found(self, query: str, **fields: Any) -> list[str]:
        """Ids of what a search by words finds."""
        request = reads.SearchRequest(namespace=NAMESPACE, query=query, mode=SEARCH_MODE_LEXICAL, **fields)
        return [hit.item_id for hit in (await self.reader.Search(request)).hits]

    async def entity(self, key: str) -> Entity:
        """An entity by its key."""
        request = reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key))
        return (await self.reader.GetEntity(request)).entity

    async def source(self, key: str) -> reads.GetSourceResponse:
        """The text of an entity."""
        return await self.reader.GetSource(reads.GetSourceRequest(namespace=NAMESPACE, entity=EntityRef(key=key)))

    async def entity_keys(self, **fields: Any) -> list[str]:
        """Keys that a list of entities has."""
        answer = await self.reader.ListEntities(reads.ListEntitiesRequest(namespace=NAMESPACE, **fields))
        return [one.natural_key for one in answer.entities]

    async def neighbors(self, key: str) -> list[str]:
        """Keys of an entity's neighbours."""
        request = reads.ListNeighborsRequest(namespace=NAMESPACE, entity=EntityRef(key=key))
        return sorted(one.entity.natural_key for one in (await self.reader.ListNeighbors(request)).neighbors)


@asynccontextmanager
async def remembering(dsn: str) -> AsyncIterator[Memory]:
    """A writer and a reader that are ready."""
    async with writing(dsn) as writer, reading(dsn) as reader:
        yield Memory(writer, reader)


def article(key: str, text: str, *, minutes: float | None = 0, **fields: Any) -> pb.RetainArticleRequest:
    """A request to retain an article. Fields of the article itself have the prefix `article_`."""
    own = {name.removeprefix("article_"): fields.pop(name) for name in list(fields) if name.startswith("article_")}
    made = DocumentAssertion(entity=EntityRef(key=key), text=text, **own)
    moment = {} if minutes is None else {"occurred_at": at(minutes)}
    return pb.RetainArticleRequest(namespace=NAMESPACE, article=made, **moment, **fields)


def chunked(key: str, *chunks: str, **fields: Any) -> pb.RetainDocumentRequest:
    """A request to retain a text that its caller has cut."""
    text = ChunkedText(chunks=[InputChunk(text=chunk) for chunk in chunks])
    made = DocumentAssertion(entity=EntityRef(key=key), chunked=text)
    return pb.RetainDocumentRequest(namespace=NAMESPACE, document=made, occurred_at=at(), **fields)


def identity(external_id: str, revision: str = "", system: str = "vault") -> SourceIdentity:
    """The identity of a write."""
    return SourceIdentity(system=system, external_id=external_id, revision=revision)


def link_to(source: str, target: str, relation: str = "LINKS_TO") -> LinkAssertion:
    """A link between two keys."""
    return LinkAssertion(source=EntityRef(key=source), relation=relation, entity=EntityRef(key=target))


def waiting_link(source: str, ref: str, kind: str = "document") -> LinkAssertion:
    """A link to a thing in its source's terms."""
    return LinkAssertion(source=EntityRef(key=source), relation="LINKS_TO", reference=LinkTarget(kind=kind, ref=ref))
