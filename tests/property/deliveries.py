"""Writers that deliver observations to one database as they were told to, killed and resumed at given statements."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from palimpsest.v1.namespace_pb2 import DomainPack, NamespaceSettings
from palimpsest.v1.observation_pb2 import Observation

from services.reader.context import ReadContext
from services.reader.queries.digest import digest
from services.reader.store import Store
from services.reader.view import View
from services.writer.applier import Applier
from services.writer.commands.redact_observation import redact_observation
from services.writer.commands.register_pack import register_pack
from services.writer.commands.update_namespace_settings import update_namespace_settings
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.erasure.messages import emptied
from services.writer.messages import assertion_count, prepare
from services.writer.namespace_packs import NamespacePacks
from services.writer.namespaces.messages import to_definition, to_settings
from shared.database import Database
from shared.errors import NotFound
from shared.settings import DatabaseSettings
from tests.integration.configuring import enabled
from tests.integration.writing import NAMESPACE, STATE, observation_id
from tests.property.streams import Delivery

MISLABELLED = """
SELECT mirrored.* FROM (SELECT array_agg(namespace) AS names, array_agg(fact_id) AS ids FROM facts) AS every
    CROSS JOIN LATERAL mirror_fact_labels(every.names, every.ids) AS mirrored
"""
"""Passages of facts that say wrongly who sees these."""


class KilledError(Exception):
    """What a writer dies of."""


class _Counting:
    """A connection that dies at its n-th statement."""

    def __init__(self, connection: Any, deaths: "Mortal") -> None:
        self._connection, self._deaths = connection, deaths

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def fetch(self, *arguments: Any) -> Any:
        self._deaths.count()
        return await self._connection.fetch(*arguments)


class Mortal(Database):
    """A database whose next transaction dies at a statement, counted from 1, or after its commit (0)."""

    killed_at: int | None = None

    async def transaction(self, work: Any, **options: Any) -> Any:
        return self._survived(await super().transaction(self._counted(work), **options))

    async def located_transaction(self, work: Any, **options: Any) -> Any:
        return self._survived(await super().located_transaction(self._counted(work), **options))

    async def located_statement(self, work: Any, **options: Any) -> Any:
        return self._survived(await super().located_statement(self._counted(work), **options))

    def _counted(self, work: Any) -> Any:
        return lambda connection: work(_Counting(connection, self))

    def _survived(self, result: Any) -> Any:
        if self.killed_at == 0:
            self.killed_at = None
            raise KilledError
        return result

    def count(self) -> None:
        """Another statement begins."""
        if not self.killed_at:
            return
        self.killed_at -= 1
        if self.killed_at == 0:
            self.killed_at = None
            raise KilledError


async def deliver(
    databases: Sequence[Mortal], observations: Sequence[Observation], arrangement: Sequence[Sequence[Delivery]]
) -> None:
    """Delivers everything, all writers at once; each has a database, that is a pool, of its own."""
    items = [prepare(NAMESPACE, each, "", "") for each in observations]

    async def write(database: Mortal, deliveries: Sequence[Delivery]) -> None:
        applier = Applier(database, assertion_count)
        for delivery in deliveries:
            group = [items[place] for place in delivery.places]
            database.killed_at = delivery.killed_at
            try:
                await applier.apply(group)
            except KilledError:
                await applier.apply(group)
            for place in delivery.redacted:
                with suppress(NotFound):
                    await redact(database, items[place].observation_id)
            database.killed_at = None

    async with asyncio.TaskGroup() as tasks:
        for database, deliveries in zip(databases, arrangement, strict=False):
            tasks.create_task(write(database, deliveries))


async def redact(database: Mortal, observation_id: str) -> None:
    """Redacts an observation. Raises NotFound."""
    options: dict[str, Any] = {"namespace": NAMESPACE, "observation_id": observation_id, "emptied": emptied}
    options |= {"by": "tests", "reason": ""}
    try:
        await redact_observation(database, STORED_MESSAGES, timeout_s=None, **options)
    except KilledError:
        await redact_observation(database, STORED_MESSAGES, timeout_s=None, **options)


@dataclass(frozen=True)
class Place:
    """A database with as many writers as are wanted at most. What is made for one example serves the next."""

    writers: list[Mortal]

    @classmethod
    def open(cls, dsn: str, writers: int) -> Self:
        """Each writer has a pool of its own."""
        return cls([Mortal.open(DatabaseSettings(dsn=dsn, pool_max=1)) for _ in range(writers)])

    async def close(self) -> None:
        """Closes all pools."""
        for writer in self.writers:
            await writer.close()

    async def enable(self, pack: DomainPack) -> None:
        """Lets a pack act, once and for all examples."""
        definition, content_hash = to_definition(pack)
        database, settings = self.writers[0], NamespaceSettings(packs=enabled(pack))
        await register_pack(
            database, namespace=NAMESPACE, definition=definition, content_hash=content_hash, by="tests", timeout_s=None
        )
        await update_namespace_settings(
            database,
            NamespacePacks(database),
            namespace=NAMESPACE,
            settings=to_settings(settings),
            expected_version=None,
            updated_by="tests",
            reason="",
            timeout_s=None,
        )

    async def digest(self) -> str:
        """What the reader answers to who asks for the digest."""
        view = View(NAMESPACE, granted=(), sees_all=True)
        return (await digest(ReadContext(Store(self.writers[0]), view, timeout_s=60))).digest

    async def state(self) -> dict[str, list[str]]:
        """As `writing.state`, on a connection that is open already. Passages tell in each who sees facts (AC-6)."""
        async with self.writers[0].connection() as connection:
            assert not await connection.fetch(MISLABELLED)
            return {
                table: sorted(text for (text,) in await connection.fetch(f"SELECT ({row})::text FROM {table} AS t"))
                for table, row in STATE.items()
            }

    async def empty(self) -> None:
        """Deletes all state. Quicker than TRUNCATE where there is little."""
        async with self.writers[0].connection() as connection:
            tables = (*STATE, "struck_evidence", "tombstones")
            await connection.execute(";".join(f"DELETE FROM {table}" for table in tables))

    async def one_by_one(self, observations: Sequence[Observation], redacted: Sequence[int]) -> dict[str, list[str]]:
        """The state that one writer comes to, which delivers each observation alone, once, in the given order, and
        redacts some at the end."""
        return await self.arranged(observations, [[Delivery((each,)) for each in range(len(observations))]], redacted)

    async def arranged(
        self, observations: Sequence[Observation], arrangement: Sequence[Sequence[Delivery]], redacted: Sequence[int]
    ) -> dict[str, list[str]]:
        """The state that an arrangement ends in, when all is redacted that is to be."""
        await deliver(self.writers, observations, arrangement)
        for place in redacted:
            await redact(self.writers[0], observation_id(observations[place]))
        return await self.state()
