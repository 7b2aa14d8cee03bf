"""Packs and settings of namespaces, for tests of what they make of writes and reads."""

from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import namespace_pb2
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.namespace_pb2 import DomainPack, NamespaceSettings, PackEnablement, PackKind, PackRelation

from tests.integration.writing import NAMESPACE, Writer

ONE, MANY = namespace_pb2.CARDINALITY_ONE, namespace_pb2.CARDINALITY_MANY
KEEP, SUPERSEDE = namespace_pb2.CONFLICT_POLICY_KEEP, namespace_pb2.CONFLICT_POLICY_SUPERSEDE

TRACKER = DomainPack(
    pack="tracker",
    version=1,
    kinds=[
        PackKind(
            kind="issue",
            key_template="issue:<project>-<number>",
            aliases=["https://jira.example.com/browse/{project}-{number}"],
            kind_aliases=["ticket"],
            id_patterns=[r"\b[A-Z]{2,10}-\d+\b"],
            attributes_schema='{"type":"object","properties":{"points":{"type":"integer","maximum":100}},'
            '"additionalProperties":false}',
        ),
        PackKind(kind="person", key_schema='{"type":"string","pattern":"^person:[a-z]+$"}'),
        PackKind(kind="city"),
    ],
    relations=[
        PackRelation(relation="ASSIGNED_TO", from_kinds=["issue"], to_kinds=["person"]),
        PackRelation(relation="BLOCKS", from_kinds=["ticket"], to_kinds=["issue"], temporal=False),
        PackRelation(relation="LIVES_IN", from_kinds=["person"], cardinality=ONE, on_conflict=SUPERSEDE),
        PackRelation(relation="BORN_IN", from_kinds=["person"], cardinality=ONE, on_conflict=KEEP),
        PackRelation(relation="LIKES", from_kinds=["person"], cardinality=MANY),
    ],
)


async def register(writer: Writer, pack: DomainPack, namespace: str = NAMESPACE) -> bool:
    """Registers a pack; whether it was there."""
    answer = await writer.stub.RegisterPack(pb.RegisterPackRequest(namespace=namespace, pack=pack))
    return answer.duplicate


async def configure(writer: Writer, namespace: str = NAMESPACE, **options: Any) -> namespace_pb2.Namespace:
    """Replaces the settings; how the namespace is then."""
    given = {name: options.pop(name) for name in ("expected_version", "reason") if name in options}
    request = pb.UpdateNamespaceSettingsRequest(namespace=namespace, settings=NamespaceSettings(**options), **given)
    return (await writer.stub.UpdateNamespaceSettings(request)).namespace


async def enable(writer: Writer, *packs: DomainPack, strict: bool = False) -> namespace_pb2.Namespace:
    """Registers packs and lets them act."""
    for pack in packs:
        await register(writer, pack)
    return await configure(writer, packs=enabled(*packs), strict=strict)


def enabled(*packs: DomainPack) -> list[PackEnablement]:
    """The enablement of packs."""
    return [PackEnablement(pack=pack.pack, version=pack.version) for pack in packs]


@asynccontextmanager
async def refused(code: grpc.StatusCode, reason: str) -> Any:
    """Expects a call to fail so; gives a list that then holds the paths of the wrong fields."""
    paths: list[str] = []
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        yield paths
    assert raised.value.code() is code
    details = details_of(raised.value)
    assert details.reason == reason
    paths += [violation.field for violation in details.violations]
