"""Watches a namespace as a test needs it: what comes, what it adds up to, and where the stream is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import asyncpg
import grpc
import grpc.aio
import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.entity_pb2 import Entity
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.retrieval_pb2 import Change, ChangeType, ItemKind

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.settings import DatabaseSettings
from tests.integration.writing import NAMESPACE, serving

SETTINGS = {"watch_poll_s": 0.02, "watch_recheck_s": 0.05}
_PATIENCE_S = 120


@dataclass
class Watcher:
    """One stream, and what it adds up to."""

    call: Any
    changes: list[Change] = field(default_factory=list)
    things: dict[str, Any] = field(default_factory=dict)
    """What is there, by id; an entity that an observation's text is, by the id with a mark."""
    cursor: str = ""

    async def begun(self) -> Watcher:
        """Reads the first message."""
        first = await asyncio.wait_for(self.call.read(), _PATIENCE_S)
        assert isinstance(first, pb.WatchResponse), await status(self.call)
        assert (len(first.changes), bool(first.cursor)) == (0, True)
        self.cursor = first.cursor
        return self

    async def until(self, holds: Callable[[Watcher], bool]) -> Watcher:
        """Reads until something holds."""
        async with asyncio.timeout(_PATIENCE_S):
            while not holds(self):
                response = await self.call.read()
                assert isinstance(response, pb.WatchResponse), await status(self.call)
                self.take(response)
        return self

    async def until_seen(self, *ids: str) -> Watcher:
        """Reads until there were changes of all these."""
        return await self.until(lambda watcher: set(ids) <= {key_of(each) for each in watcher.changes})

    def take(self, response: pb.WatchResponse) -> None:
        """Adds a message up."""
        self.cursor = response.cursor
        for change in response.changes:
            self.changes.append(change)
            kind = change.WhichOneof("item")
            if change.type == ChangeType.CHANGE_TYPE_REMOVED:
                assert kind is None
                for key in [key_of(change), *self._erased(change.erased_key_hash)]:
                    self.things.pop(key, None)
            else:
                assert kind is not None
                self.things[key_of(change)] = getattr(change, kind)

    def _erased(self, key_hash: str) -> list[str]:
        """What is known under a key of which only the hash is left."""
        if not key_hash:
            return []
        return [
            key
            for key, thing in self.things.items()
            if isinstance(thing, Entity) and sha256(thing.natural_key.encode()).hexdigest() == key_hash
        ]

    def told(self) -> list[tuple[str, str]]:
        """What happened to what, in order."""
        return [(ChangeType.Name(each.type).removeprefix("CHANGE_TYPE_"), key_of(each)) for each in self.changes]

    async def stop(self) -> None:
        """Ends the stream as a client that goes."""
        self.call.cancel()


def key_of(change: Change) -> str:
    """What a thing is known by: its id, of the text of an observation with a mark."""
    is_text = change.item_kind == ItemKind.ITEM_KIND_ENTITY and change.item_id.startswith("obs-")
    return (change.item_id or change.erased_key_hash) + ("#text" if is_text else "")


async def status(call: Any) -> tuple[str, str]:
    """How a call ended."""
    return (await call.code()).name, await call.details()


async def watch(stub: ReaderServiceStub, token: str = "", namespace: str = NAMESPACE, **fields: Any) -> Watcher:
    """A stream that has begun."""
    metadata = (("authorization", f"Bearer {token}"),) if token else None
    call = stub.Watch(pb.WatchRequest(namespace=namespace, **fields), metadata=metadata)
    return await Watcher(call).begun()


@asynccontextmanager
async def readers(dsn: str, *, auth: object = None, **settings: Any) -> AsyncIterator[ReaderServiceStub]:
    """A reader that looks often; with callers of a grants file, where there is one."""
    made = ReaderSettings(database=DatabaseSettings(dsn=dsn), **(SETTINGS | settings))
    options: dict[str, Any] = {} if auth is None else {"auth_mode": "static", "auth_grants_file": auth}
    async with serving(build_service(made), **options) as target, grpc.aio.insecure_channel(target) as channel:
        yield ReaderServiceStub(channel)


@asynccontextmanager
async def transaction(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A transaction of somebody who writes rows by hand, and commits at the end."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


async def write(connection: asyncpg.Connection[asyncpg.Record], key: str) -> None:
    """Writes an entity."""
    await connection.execute(
        "INSERT INTO entities (namespace, natural_key, last_seen_at) VALUES ($1, $2, now())", NAMESPACE, key
    )


async def failure(call: object) -> grpc.RpcError:
    """The error that a stream ends with."""

    async def end() -> None:
        while await call.read() is not grpc.aio.EOF:  # type: ignore[attr-defined]
            pass

    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await asyncio.wait_for(end(), _PATIENCE_S)
    error: grpc.RpcError = raised.value
    return error
