"""The digest of a namespace's state."""

from __future__ import annotations

import hashlib
from itertools import permutations

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2 import RunCurationRequest

from services.reader.queries.digest import TABLES
from services.reader.view import View
from shared.authentication.caller import ADMIN, READ, Caller, Grant
from shared.errors import PermissionDenied
from tests.integration.reader_process import reading
from tests.integration.reader_seed import Seed, seeding
from tests.integration.writing import NAMESPACE, Writer, article, at, claim, entity, fact, fact_id, link, observation

pytest_plugins = ("tests.integration.reader_fixtures",)

# Tables that hold no projected knowledge: vectors follow later, and spaces belong to no namespace.
# What operators configure, which projection goes by.
CONFIGURATION = {"domain_packs", "namespace_settings"}
CURATION = {
    "curation_cursors",
    "curation_runs",
    "duplicate_proposals",
    "entity_name_keys",
    "entity_names",
    "entity_trust",
    "rejections",
    "stale_marks",
}
# What was before depends on the order of arrival.
PAST = {"changes", "fact_versions", "entity_versions", "link_versions", "touched_items"}
# What was sent when, and what that did: two ways to one state differ in it.
JOURNALS = {"snapshots", "vault_runs"}
# What reads leave.
READS = {"context_traces"}
# What was taken away, and that it was: a store that never held it is in the same state.
ERASURE = {"audit_contents", "audit_events", "erasure_receipts", "struck_evidence", "tombstones"}
# What is extracted is an observation like any other.
EXTRACTION = {"derivations", "extraction_queue", "stripped"}
NOT_STATE = {
    "embedding_backlog",
    "embedding_queue",
    "embedding_spaces",
    "schema_migrations",
    "personal_data_secrets",
    "cursor_secret",
    *CONFIGURATION,
    *CURATION,
    *PAST,
    *JOURNALS,
    *READS,
    *ERASURE,
    *EXTRACTION,
}


async def digest_of(reader: ReaderServiceStub, namespace: str = NAMESPACE) -> pb.DigestResponse:
    response: pb.DigestResponse = await reader.Digest(pb.DigestRequest(namespace=namespace))
    return response


def story() -> list[object]:
    old = fact("person:alice", "WORKS_ON", "project:alpha", valid_from=at(0))
    new = fact("person:alice", "WORKS_ON", "project:beta", valid_from=at(60), supersedes=[fact_id(old)])
    return [
        observation("1", old, entity("person:alice", title="Alice"), content="Алиса пришла"),
        observation("2", new, entity("person:alice", title="Alice B."), minutes=60),
        observation("3", article("doc:1", "# One\n\ntext"), claim("doc:1", "MENTIONS", "issue", "I-1"), minutes=5),
        observation("4", entity("issue:I-1", source_id="I-1"), link("doc:1", "LINKS_TO", "person:alice"), minutes=3),
    ]


async def test_any_order_has_one_digest(writer: Writer, reader: ReaderServiceStub) -> None:
    """OB-7: two namespaces cannot be compared, so one is emptied between the orders."""
    digests = set()
    async with seeding(writer.dsn) as rows:
        for order in list(permutations(story()))[::5]:
            for each in order:
                await writer.record(each)  # type: ignore[arg-type]
            digests.add((await digest_of(reader)).digest)
            tables = ", ".join([*TABLES, "embedding_queue"])
            await rows.connection.execute(f"TRUNCATE {tables} CASCADE")

    assert len(digests) == 1


async def test_the_digest_tells_every_change(writer: Writer, reader: ReaderServiceStub) -> None:
    """OB-7: each table has a digest of its own, and any changed value shows in it and in the whole."""
    for each in story():
        await writer.record(each)  # type: ignore[arg-type]
    before = await digest_of(reader)
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute("UPDATE entities SET title = title || '!' WHERE natural_key = 'person:alice'")
    after = await digest_of(reader)

    changed = {table for table in before.tables if before.tables[table] != after.tables[table]}
    assert changed == {"entities"}
    assert before.digest != after.digest
    assert dict(before.rows) == dict(after.rows)
    assert before.rows["observations"] == 4


async def test_what_curation_proposed_does_not_count(writer: Writer, reader: ReaderServiceStub) -> None:
    """OB-7, CU-1: names that are alike no more, when another store is curated, were proposed there and are not here."""
    for number in (1, 2):
        await writer.record(observation(str(number), entity(f"page:{number}", kind="page", title="Release plan")))
    before = await digest_of(reader)
    await writer.stub.RunCuration(RunCurationRequest(namespace=NAMESPACE))
    assert (await writer.row("SELECT count(*) FROM links WHERE relation = 'DUPLICATE_OF'"))["count"] == 1
    assert await digest_of(reader) == before


async def test_clocks_and_serial_ids_do_not_count(seed: Seed, reader: ReaderServiceStub) -> None:
    """OB-7: they differ between equal states."""
    await seed.note("1", "text")
    before = await digest_of(reader)
    await seed.connection.execute("UPDATE observations SET recorded_at = now() + interval '1 day'")
    await seed.connection.execute("UPDATE entities SET recorded_at = now() + interval '1 day'")
    await seed.connection.execute("DELETE FROM passages")
    made = (await seed.connection.fetchval("SELECT observation_id FROM observations")) or ""
    await seed.passage(
        1, made, "text", observation_id=made, owner_kind="observation", source_system="jira", source_stream="OPS"
    )

    assert await digest_of(reader) == before


async def test_an_unknown_namespace_has_the_digest_of_nothing(seed: Seed, reader: ReaderServiceStub) -> None:
    """NS-1: what other namespaces hold does not matter."""
    empty = await digest_of(reader, "nowhere")
    await seed.note("1", "text")

    assert await digest_of(reader, "elsewhere") == empty
    assert set(empty.tables.values()) == {hashlib.sha256(b"").hexdigest()}
    assert set(empty.rows.values()) == {0}


async def test_the_session_does_not_show_in_the_digest(dsn: str, seed: Seed, reader: ReaderServiceStub) -> None:
    """OB-7: a database that writes times and bytes otherwise has the same digest."""
    await seed.note("1", "text")
    before = await digest_of(reader)
    name = await seed.connection.fetchval("SELECT current_database()")
    await seed.connection.execute(f"ALTER DATABASE {name} SET TimeZone = 'Asia/Tokyo'")
    await seed.connection.execute(f"ALTER DATABASE {name} SET bytea_output = 'escape'")

    async with reading(dsn) as other:
        assert await digest_of(other) == before


async def test_every_table_of_knowledge_is_in_it(seed: Seed) -> None:
    """OB-7: a table that is added must be added to the digest too."""
    rows = await seed.connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")

    assert {row["tablename"] for row in rows} - NOT_STATE == set(TABLES)


def test_it_needs_the_admin_permission() -> None:
    """AC-1: reading is not enough."""
    caller = Caller("reader", (Grant(("*",), frozenset({READ})),))

    with pytest.raises(PermissionDenied):
        View.of(caller, NAMESPACE, ADMIN)
