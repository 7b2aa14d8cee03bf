"""A writer and a reader with callers who may see personal data, and who may not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.namespace_pb2 import NamespaceSettings
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import build_service as build_writer
from shared.settings import DatabaseSettings
from tests.integration.writing import NAMESPACE, OPTIONS, serving, until_serving, writer_settings
from tests.unit.granting import entry, grants_file

CLEARED, UNCLEARED, OUTSIDER = "token-of-the-cleared", "token-of-the-uncleared", "token-of-the-outsider"
_ALL = [{"namespaces": ["*"], "permissions": ["read", "write", "admin"]}]


def as_(token: str) -> dict[str, Any]:
    """The metadata of a caller."""
    return {"metadata": (("authorization", f"Bearer {token}"),), "timeout": 30}


@dataclass(frozen=True)
class Services:
    """A running writer and a running reader over one database."""

    dsn: str
    writer: WriterServiceStub
    reader: ReaderServiceStub
    reader_channel: grpc.aio.Channel

    async def protect(self, *, on: bool = True, namespace: str = NAMESPACE) -> str:
        """Switches the protection of a namespace; the token of the change."""
        request = pb.UpdateNamespaceSettingsRequest(namespace=namespace, settings=NamespaceSettings(pii_protection=on))
        return str((await self.writer.UpdateNamespaceSettings(request, **as_(CLEARED))).consistency_token)

    async def record(self, *observations: Observation, namespace: str = NAMESPACE) -> None:
        """Records observations, all of whose assertions are applied."""
        request = pb.BatchRecordObservationsRequest(namespace=namespace, observations=observations)
        results = (await self.writer.BatchRecordObservations(request, **as_(CLEARED))).results
        failed = [str(one) for one in results if one.HasField("error") or one.recorded.failed_assertions]
        assert not failed, failed


@asynccontextmanager
async def services(dsn: str, folder: Path, *, reads_from: str = "", **settings: Any) -> AsyncIterator[Services]:
    """Both services; what is switched on acts at once. The reader may read from a replica."""
    grants = grants_file(
        folder,
        entry("cleared", CLEARED, grants=_ALL, sees_all=True, clearances=["pii"]),
        entry("uncleared", UNCLEARED, grants=_ALL, sees_all=True),
        entry("outsider", OUTSIDER, grants=_ALL, clearances=["pii"]),
    )
    known = {"auth_mode": "static", "auth_grants_file": grants, "health_poll_s": 0.3}
    of_reader = {"protection_age_s": 0.0, "watch_poll_s": 0.02, "watch_renew_s": 0.3} | settings
    reader = ReaderSettings(database=DatabaseSettings(dsn=reads_from or dsn), **of_reader)
    writer = writer_settings(dsn, protection_age_s=0.0)
    async with (
        serving(build_writer(writer), **known) as writes_at,
        serving(build_reader(reader), **known) as reads_at,
        grpc.aio.insecure_channel(writes_at, options=OPTIONS) as writes,
        grpc.aio.insecure_channel(reads_at, options=OPTIONS) as reads,
    ):
        await until_serving(writes)
        yield Services(dsn, WriterServiceStub(writes), ReaderServiceStub(reads), reads)


def texts_of(message: Any) -> Iterator[str]:
    """Every string and whole number that a message holds, keys of maps included, whatever its role."""
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in value:
                yield str(key)
                yield from texts_of(value[key]) if hasattr(value[key], "ListFields") else [str(value[key])]
            continue
        for each in value if field.is_repeated else [value]:
            yield from texts_of(each) if field.message_type is not None else [str(each)]
