"""The registry of domain packs, through both services (DP-1)."""

from collections.abc import Callable

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.namespace_pb2 import DomainPack, PackKind, PackRelation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.writer.projection.packs import Packs
from shared.domain_packs.anchors import anchors
from shared.domain_packs.pack import Kind, Pack
from tests.integration.configuring import KEEP, MANY, ONE, SUPERSEDE, TRACKER, refused, register
from tests.integration.writing import NAMESPACE, Writer

pytest_plugins = ("tests.integration.reader_fixtures",)

INVALID = (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


def changed(change: Callable[[DomainPack], object]) -> DomainPack:
    """The pack of these tests, with a change."""
    copy = DomainPack()
    copy.CopyFrom(TRACKER)
    change(copy)
    return copy


async def got(reader: ReaderServiceStub, pack: str, version: int = 0) -> DomainPack:
    request = reads.GetPackRequest(namespace=NAMESPACE, pack=pack, version=version)
    return (await reader.GetPack(request)).pack


async def test_a_version_is_registered_once_and_read_back(writer: Writer, reader: ReaderServiceStub) -> None:
    """DP-1: the same again is a duplicate, and what is read is what was sent."""
    assert [await register(writer, TRACKER) for _ in range(2)] == [False, True]

    assert await got(reader, "tracker") == TRACKER
    assert await got(reader, "tracker", 1) == TRACKER


async def test_a_version_never_changes(writer: Writer, reader: ReaderServiceStub) -> None:
    """DP-1: other content under one version is ALREADY_EXISTS, and nothing changes; another version is free."""
    await register(writer, TRACKER)
    other = changed(lambda pack: setattr(pack, "description", "changed"))
    async with refused(grpc.StatusCode.ALREADY_EXISTS, "PACK_VERSION_CONFLICT"):
        await register(writer, other)
    assert await got(reader, "tracker") == TRACKER

    other.version = 3
    assert not await register(writer, other)
    assert (await got(reader, "tracker")).version == 3
    assert await got(reader, "tracker", 1) == TRACKER


async def test_equal_schemas_are_equal_however_they_are_written(writer: Writer) -> None:
    """DP-1: content is compared in its canonical form."""
    await register(writer, TRACKER)
    spaced = changed(
        lambda pack: setattr(pack.kinds[1], "key_schema", '{ "pattern": "^person:[a-z]+$", "type":"string"}')
    )
    assert await register(writer, spaced)


async def test_packs_of_another_namespace_are_not_seen(writer: Writer, reader: ReaderServiceStub) -> None:
    """NS-1: a registry is a namespace's own."""
    await register(writer, TRACKER, namespace="elsewhere")
    async with refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"):
        await got(reader, "tracker")
    assert not await register(writer, changed(lambda pack: setattr(pack, "description", "another")))


async def test_built_in_packs_are_always_there(writer: Writer, reader: ReaderServiceStub) -> None:
    """DP-1, EN-4, DO-7: `default` and `memory` are listed and read, and nobody can register them."""
    listed = (await reader.ListPacks(reads.ListPacksRequest(namespace=NAMESPACE))).packs
    assert [pack.pack for pack in listed] == ["default", "memory"]
    assert {"document", "entity", "fact"} == {kind.kind for kind in (await got(reader, "default")).kinds}
    assert {"skill", "reflection", "preference", "rule", "episode"} == {
        kind.kind for kind in (await got(reader, "memory", 1)).kinds
    }
    assert len((await got(reader, "default")).relations) == 13

    for name in ("default", "memory"):
        async with refused(*INVALID) as paths:
            await register(writer, DomainPack(pack=name, version=7))
        assert paths == ["pack.pack"]


async def test_packs_are_listed_by_pages(writer: Writer, reader: ReaderServiceStub) -> None:
    """DP-1: by name and version, built-in ones among them, each once."""
    for name, version in (("crm", 1), ("crm", 2), ("fleet", 1), ("zoo", 1)):
        await register(writer, DomainPack(pack=name, version=version))
    seen, token = [], ""
    while True:
        request = reads.ListPacksRequest(namespace=NAMESPACE, page_size=2, page_token=token)
        page = await reader.ListPacks(request)
        assert len(page.packs) <= 2
        seen += [(pack.pack, pack.version) for pack in page.packs]
        if not (token := page.next_page_token):
            break
    assert seen == [("crm", 1), ("crm", 2), ("default", 1), ("fleet", 1), ("memory", 1), ("zoo", 1)]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda pack: setattr(pack.kinds[0], "key_template", "issue:<project-<number>"), "kinds[0].key_template"),
        (lambda pack: setattr(pack.kinds[0], "key_template", "issue"), "kinds[0].key_template"),
        (lambda pack: pack.kinds[0].aliases.append("<project>-<other>"), "kinds[0].aliases[1]"),
        (lambda pack: pack.kinds[2].aliases.append("city/<name>"), "kinds[2].aliases[0]"),
        (lambda pack: setattr(pack.kinds[1], "key_schema", '{"type": "strin"}'), "kinds[1].key_schema"),
        (
            lambda pack: setattr(pack.kinds[0], "attributes_schema", '{"$ref": "http://127.0.0.1:1/schema"}'),
            "kinds[0].attributes_schema",
        ),
        (
            lambda pack: setattr(pack.kinds[0], "attributes_schema", '{"patternProperties": {"(?=a)": {}}}'),
            "kinds[0].attributes_schema",
        ),
        (lambda pack: pack.kinds[0].id_patterns.append(r"(a)\1"), "kinds[0].id_patterns[1]"),
        (lambda pack: pack.kinds[0].id_patterns.append("(?<!x)y"), "kinds[0].id_patterns[1]"),
        (lambda pack: pack.kinds[0].id_patterns.append("x*"), "kinds[0].id_patterns[1]"),
        (lambda pack: pack.kinds.append(PackKind(kind="issue")), "kinds[3].kind"),
        (lambda pack: pack.kinds.append(PackKind(kind="ticket")), "kinds[3].kind"),
        (lambda pack: pack.kinds.append(PackKind(kind="rule")), "kinds[3].kind"),
        (lambda pack: pack.kinds[2].kind_aliases.append("person"), "kinds[2].kind_aliases[0]"),
        (lambda pack: pack.relations.append(PackRelation(relation="LIKES")), "relations[5].relation"),
        (lambda pack: pack.relations[0].from_kinds.append("robot"), "relations[0].from_kinds[1]"),
        (lambda pack: pack.relations[0].to_kinds.append("robot"), "relations[0].to_kinds[1]"),
        (lambda pack: setattr(pack.relations[2], "cardinality", MANY), "relations[2].on_conflict"),
        (lambda pack: setattr(pack.relations[2], "temporal", False), "relations[2].on_conflict"),
    ],
)
async def test_a_pack_that_makes_no_sense_is_refused_with_the_path(
    writer: Writer, change: Callable[[DomainPack], object], path: str
) -> None:
    """DP-1, OP-2: templates, schemas, expressions, kinds and relations are checked when a pack is registered."""
    async with refused(*INVALID) as paths:
        await register(writer, changed(change))
    assert paths == [f"pack.{path}"]
    assert await writer.rows("SELECT FROM domain_packs") == []


async def test_literals_and_built_in_kinds_are_kinds_that_relations_may_name(writer: Writer) -> None:
    """DP-1: a relation leads to a literal by its type."""
    relation = PackRelation(
        relation="AGE", from_kinds=["entity"], to_kinds=["integer"], cardinality=ONE, on_conflict=KEEP
    )
    assert not await register(writer, DomainPack(pack="people", version=1, relations=[relation]))


def test_single_valued_relations_that_supersede_form_timelines() -> None:
    """FA-7: and no others."""
    relations = [
        {"relation": f"R{c}{p}", "cardinality": c, "on_conflict": p} for c in (0, ONE) for p in (0, KEEP, SUPERSEDE)
    ]
    pack = Pack.from_members({"pack": "p", "version": 1, "relations": relations})
    assert Packs(enabled=(pack,)).timelines == {f"R{ONE}{SUPERSEDE}"}


def test_ids_in_texts_become_keys() -> None:
    """RE-10: by a pack's patterns and other forms of keys, each once, by the kind's template."""
    issue = Kind(
        "issue",
        key_template="issue:<project>-<number>",
        aliases=("https://jira.example.com/browse/{project}-{number}",),
        id_patterns=(r"\b(?:INV|OPS)-\d+\b",),
    )
    cve = Kind("cve", id_patterns=(r"CVE-(?P<key>\d{4}-\d+)",))
    host = Kind("host", key_template="host:<name>", id_patterns=(r"[a-z]+\d\.prod",))
    text = "Смотри INV-77123 (и снова INV-77123), https://jira.example.com/browse/OPS-5; db1.prod: CVE-2024-11."
    found = anchors(text, [Pack("p", 1, kinds=(issue, cve, host))])
    assert found == ["issue:INV-77123", "issue:OPS-5", "cve:2024-11", "host:db1.prod"]
    assert anchors(text, []) == []


def test_patterns_of_strangers_end_in_time_linear_in_the_text() -> None:
    """RE-10: an expression that backtracks for ever elsewhere does not here."""
    kind = Kind("x", id_patterns=("(a+)+b",))
    assert anchors("a" * 50_000, [Pack("p", 1, kinds=(kind,))]) == []
