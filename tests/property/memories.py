"""Makes memories of worlds in databases of their own, in which nothing tells the time at which they were made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import grpc.aio
import numpy as np
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1.namespace_pb2 import NamespaceSettings

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from services.writer.applier import Applier
from services.writer.commands.decide_duplicate import Decision, decide_duplicate
from services.writer.commands.register_pack import register_pack
from services.writer.commands.run_curation import run_curation
from services.writer.commands.update_namespace_settings import update_namespace_settings
from services.writer.curation.weighing import HALF_LIFE_DAYS
from services.writer.messages import assertion_count, prepare
from services.writer.namespaces.messages import to_definition, to_settings
from shared.database import Database
from shared.embedded_postgres import EmbeddedPostgres
from shared.settings import DatabaseSettings
from tests.conftest import created
from tests.integration.configuring import enabled
from tests.integration.reader_process import Vectors, embedded_text
from tests.integration.reader_seed import Seed, seeding
from tests.integration.writing import BEGINNING, NAMESPACE, serving
from tests.property.worlds import OPEN, PACK, World

OPTIONS = (("grpc.max_receive_message_length", 32 * 1024 * 1024),)

_CLOCKS = """
SELECT c.table_name, c.column_name
FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.column_default LIKE '%clock_timestamp()%'
ORDER BY 1, 2
"""
_UNAGED = """
UPDATE entity_trust
SET trust = round((trust * power(2, extract(day FROM $1::timestamptz - $2::timestamptz)::float8 / $3))::numeric, 1)
"""
_CHANGES = """
SELECT c.change_id, o.external_id
FROM changes AS c LEFT JOIN observations AS o USING (namespace, change_id)
ORDER BY c.change_id
"""


@asynccontextmanager
async def memory(
    postgres: EmbeddedPostgres, template: str, world: World, begun: datetime, vectors: Vectors | None
) -> AsyncIterator[str]:
    """A database that remembers a world; as if all had been stored at the moment `begun`, but for the order."""
    async with created(postgres, template) as dsn:
        acts = await _remember(dsn, world)
        connection = await asyncpg.connect(dsn)
        try:
            await _wait_for_extraction(connection)
            await set_clocks(connection, begun)
            await _set_changes(connection, world, begun, acts)
        finally:
            await connection.close()
        if vectors is not None:
            async with seeding(dsn) as seed:
                await _embed(seed, vectors)
        yield dsn


_embedded: dict[str, np.ndarray[Any, Any]] = {}


async def _embed(seed: Seed, vectors: Vectors) -> None:
    """Gives every passage its vector. Each text by itself: its last digits depend on those of its batch."""
    table = await seed.space(vectors.fingerprint, vectors.dimension)
    rows = await seed.connection.fetch("SELECT passage_id, title, heading, text FROM passages WHERE NOT hidden")
    texts = {row["passage_id"]: embedded_text(row["title"], row["heading"], row["text"]) for row in rows}
    for text in texts.values():
        if text not in _embedded:
            request = embedding.EmbedRequest(texts=[text], input_type=embedding.INPUT_TYPE_PASSAGE)
            [result] = (await vectors.stub.Embed(request, timeout=60)).results
            _embedded[text] = np.frombuffer(result.vector.halfs, dtype="<f2")
    await seed.vectors(table, {passage_id: _embedded[text] for passage_id, text in texts.items()})


async def _remember(dsn: str, world: World) -> list[int]:
    """Stores all that was said, and what operators and curation do then. The last number of a change of each of these
    acts, which are the same acts in the same order whatever is hidden."""
    database = Database.open(DatabaseSettings(dsn=dsn, pool_max=2))
    acts = list[int]()

    async def done() -> None:
        async with database.connection() as connection:
            acts.append(await connection.fetchval("SELECT coalesce(max(change_id), 0) FROM changes"))

    try:
        await _enable_pack(database)
        await done()
        applier = Applier(database, assertion_count)
        for each in world.said:
            await applier.apply([prepare(NAMESPACE, each.observation, "", "someone")])
        await done()
        await run_curation(database, namespace=NAMESPACE, max_items=0, timeout_s=None)
        await done()
        for sort in ("is_open", "is_hidden"):
            await _decide(database, sort)
            await done()
        await run_curation(database, namespace=NAMESPACE, max_items=0, timeout_s=None)
        await done()
    finally:
        await database.close()
    return acts


async def _enable_pack(database: Database) -> None:
    definition, content_hash = to_definition(PACK)
    await register_pack(
        database, namespace=NAMESPACE, definition=definition, content_hash=content_hash, by="tests", timeout_s=None
    )
    await update_namespace_settings(
        database,
        Applier(database, assertion_count).packs,
        namespace=NAMESPACE,
        settings=to_settings(NamespaceSettings(packs=enabled(PACK))),
        expected_version=None,
        updated_by="tests",
        reason="",
        timeout_s=None,
    )


async def _decide(database: Database, sort: str) -> None:
    """Confirms a proposal about open entities (`is_open`), or one about hidden ones (`is_hidden`), if there is one."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT proposal_id, first_key = ANY ($1) AND second_key = ANY ($1) AS is_open,"
            " first_key <> ALL ($1) AND second_key <> ALL ($1) AS is_hidden"
            " FROM duplicate_proposals WHERE state = 1 ORDER BY proposal_id",
            list(OPEN),
        )
    for row in [row for row in rows if row[sort]][:1]:
        await decide_duplicate(
            database,
            namespace=NAMESPACE,
            proposal_id=row["proposal_id"],
            decision=Decision.CONFIRM,
            by="tests",
            reason="",
            timeout_s=None,
        )


async def _wait_for_extraction(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """As if all that has a text had been captured, and waited for its facts, every third in vain."""
    await connection.execute(
        "INSERT INTO extraction_queue (namespace, observation_id, dead, last_error)"
        " SELECT namespace, observation_id, right(external_id, 1) IN ('0', '3', '6', '9'), 'TIMEOUT' FROM observations"
        " WHERE content <> ''"
    )


async def set_clocks(connection: asyncpg.Connection[asyncpg.Record], begun: datetime) -> None:
    """Sets every clock to one moment, but those of changes."""
    await connection.execute("SET session_replication_role = replica")
    for table, column in await connection.fetch(_CLOCKS):
        await connection.execute(f'UPDATE "{table}" SET "{column}" = $1', begun)
    for table in ("fact_versions", "entity_versions", "link_versions"):
        await connection.execute(
            f"UPDATE {table} SET state = state || jsonb_build_object('recorded_at', $1::timestamptz)", begun
        )
    await connection.execute("UPDATE duplicate_proposals SET decided_at = $1 WHERE decided_at IS NOT NULL", begun)
    # Curation weighs by age in whole days, and one may end between two memories: here nothing has aged.
    await connection.execute(_UNAGED, begun, BEGINNING, HALF_LIFE_DAYS)


async def _set_changes(
    connection: asyncpg.Connection[asyncpg.Record], world: World, begun: datetime, acts: Sequence[int]
) -> None:
    """Lets what was said openly have become known one second after another, what is hidden in between, and what each
    act of operators and curation did at a moment of its own, however many changes there were before or in it: so what
    only a hidden act did to an open thing shows."""
    hidden = {each.observation.source.external_id for each in world.said if each.is_hidden}
    latest, known = 0.0, 0
    for change_id, external_id in await connection.fetch(_CHANGES):
        if external_id is None:
            seconds = known + 0.5 + 0.01 * bisect_left(acts, change_id)
        elif external_id in hidden:
            seconds = latest + 0.001
        else:
            known = known + 1
            seconds = float(known)
        latest = max(latest, seconds)
        await connection.execute(
            "UPDATE changes SET known_at = $2 WHERE change_id = $1", change_id, begun + timedelta(seconds=seconds)
        )


def past(begun: datetime, said: int) -> Sequence[datetime]:
    """Moments between what was said openly."""
    return [begun + timedelta(seconds=second + 0.9) for second in (said // 2,)]


def three_days_ago() -> datetime:
    """Where ages are counted in hours or days, it is the same age for as long as a test runs."""
    return datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)


@asynccontextmanager
async def reading(dsn: str, grants: object, **settings: object) -> AsyncIterator[grpc.aio.Channel]:
    """A reader whose callers show tokens."""
    made = ReaderSettings(database=DatabaseSettings(dsn=dsn), **({"watch_renew_s": 0.3} | settings))  # type: ignore[arg-type]
    async with (
        serving(build_service(made), auth_mode="static", auth_grants_file=grants) as target,
        grpc.aio.insecure_channel(target, options=OPTIONS) as channel,
    ):
        yield channel
