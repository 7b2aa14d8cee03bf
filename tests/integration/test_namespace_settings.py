"""Settings of namespaces, through both services (NS-2)."""

import asyncio
import math

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.namespace_pb2 import (
    ContextDefaults,
    DomainPack,
    NamespaceSettings,
    PackKind,
    PackRelation,
    Retention,
)
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_LEXICAL, Budget

from tests.integration.configuring import ONE, TRACKER, configure, enabled, refused, register
from tests.integration.writing import NAMESPACE, Writer, fact, observation

pytest_plugins = ("tests.integration.reader_fixtures",)

INVALID = (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
WHOLE = {
    "strict": True,
    "text_search_configurations": ["english", "simple"],
    "pii_protection": True,
    "retention": Retention(traces=Duration(seconds=7_200), deleted=Duration(seconds=86_400)),
    "context": ContextDefaults(budget=Budget(tokens=500), hypothesis_below=0.25),
    "tuning": {"fusion.vector_weight": 0.75},
    "capture_authors": ["person:alice"],
}


async def settings_of(reader: ReaderServiceStub, namespace: str = NAMESPACE) -> reads.GetNamespaceResponse:
    return (await reader.GetNamespace(reads.GetNamespaceRequest(namespace=namespace))).namespace


async def test_settings_are_replaced_and_read_as_a_whole(writer: Writer, reader: ReaderServiceStub) -> None:
    """NS-2: what is read is what was written, with who wrote it and when."""
    await register(writer, TRACKER)
    updated = await configure(writer, packs=enabled(TRACKER), **WHOLE)

    assert updated.settings == NamespaceSettings(packs=enabled(TRACKER), **WHOLE)
    assert (updated.settings_version, updated.updated_by) == (1, "local")
    assert updated.HasField("updated_at")
    assert await settings_of(reader) == updated

    emptied = await configure(writer)
    assert (emptied.settings_version, list(emptied.settings.packs), emptied.settings.strict) == (2, [], False)


async def test_what_is_left_open_is_shown_as_it_is_meant(writer: Writer, reader: ReaderServiceStub) -> None:
    """NS-2: the same defaults before and after a change, so that what was read can be written back."""
    before = await settings_of(reader)
    assert (before.settings_version, before.settings.context.budget.characters) == (0, 2_800)
    after = await configure(writer)
    assert after.settings == before.settings
    assert list(after.settings.text_search_configurations) == ["russian", "simple"]


async def test_versions_rise_and_are_all_kept(writer: Writer) -> None:
    """NS-2: a change needs the version that its writer read; every version stays, with its reason."""
    await configure(writer, strict=True, expected_version=0, reason="first")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await configure(writer, expected_version=0)
    assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert (details_of(raised.value).reason, details_of(raised.value).metadata) == ("INVALID_STATE", {"state": "1"})
    await configure(writer, expected_version=1, reason="second")

    rows = await writer.rows("SELECT version, reason, settings::text FROM namespace_settings ORDER BY version")
    assert [(row["version"], row["reason"]) for row in rows] == [(1, "first"), (2, "second")]
    assert rows[0]["settings"] == '{"strict": true}'


async def test_of_changes_at_once_one_wins(writer: Writer) -> None:
    """NS-2: of several who read one version, one writes the next."""
    answers = await asyncio.gather(*(configure(writer, expected_version=0) for _ in range(8)), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["AioRpcError"] * 7 + ["Namespace"]


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"packs": [*enabled(TRACKER), *enabled(DomainPack(pack="tracker", version=2))]}, "settings.packs[1].pack"),
        ({"packs": enabled(TRACKER, DomainPack(pack="nowhere", version=1))}, "settings.packs[1].version"),
        ({"packs": enabled(DomainPack(pack="tracker", version=2))}, "settings.packs[0].version"),
        ({"packs": enabled(DomainPack(pack="default", version=2))}, "settings.packs[0].version"),
        ({"packs": enabled(TRACKER, DomainPack(pack="rival", version=1))}, "settings.packs[1]"),
        ({"packs": enabled(TRACKER, DomainPack(pack="otherwise", version=1))}, "settings.packs[1]"),
        ({"text_search_configurations": ["simple", "klingon"]}, "settings.text_search_configurations[1]"),
        ({"text_search_configurations": ["german"]}, "settings.text_search_configurations[0]"),
        ({"tuning": {"fusion.vektor": 0.5}}, "settings.tuning[fusion.vektor]"),
        ({"tuning": {"fusion.vector_weight": 1.5}}, "settings.tuning[fusion.vector_weight]"),
        ({"tuning": {"pack.floor": math.nan}}, "settings.tuning[pack.floor]"),
        ({"retention": Retention(traces=Duration(seconds=60))}, "settings.retention.traces"),
        ({"context": ContextDefaults(hypothesis_below=2)}, "settings.context.hypothesis_below"),
    ],
)
async def test_settings_that_cannot_act_are_refused_with_the_path(writer: Writer, settings: dict, path: str) -> None:
    """NS-2, DP-2, OP-2: and nothing changes."""
    await register(writer, TRACKER)
    await register(writer, DomainPack(pack="rival", version=1, kinds=[PackKind(kind="ticket")]))
    relation = PackRelation(relation="LIKES", cardinality=ONE)
    await register(writer, DomainPack(pack="otherwise", version=1, relations=[relation]))
    async with refused(*INVALID) as paths:
        await configure(writer, **settings)
    assert paths == [path]
    assert await writer.rows("SELECT FROM namespace_settings") == []


async def test_the_built_in_packs_may_be_named(writer: Writer) -> None:
    """DP-1: they act anyway."""
    updated = await configure(writer, packs=enabled(DomainPack(pack="memory", version=1)))
    assert updated.settings_version == 1


async def test_defaults_of_packs_are_the_namespaces_own(writer: Writer, reader: ReaderServiceStub) -> None:
    """NS-2, RE-6, RE-6a: budget, and what counts as a hypothesis."""
    await writer.record(observation("1", fact("person:alice", "WORKS_ON", "project:alpha", confidence=0.4)))
    request = reads.CompileContextRequest(namespace=NAMESPACE, query="alice works alpha", mode=SEARCH_MODE_LEXICAL)

    before = (await reader.CompileContext(request)).pack
    await configure(writer, context=ContextDefaults(budget=Budget(tokens=400), hypothesis_below=0.25))
    after = (await reader.CompileContext(request)).pack
    asked = (
        await reader.CompileContext(
            reads.CompileContextRequest(
                namespace=NAMESPACE, query="alice works alpha", mode=SEARCH_MODE_LEXICAL, budget=Budget(characters=900)
            )
        )
    ).pack

    assert (before.budget, before.items[0].hypothesis) == (Budget(characters=2_800), True)
    assert (after.budget, after.items[0].hypothesis) == (Budget(tokens=400), False)
    assert asked.budget == Budget(characters=900)
