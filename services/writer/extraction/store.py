"""The queue of extraction, and what was derived from what. Each method runs the statement of its name, inside the
caller's transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.writer.mark_store import Operator
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("store.sql"))

CHANNEL = "extraction"
"""What `enqueue` and `revive` notify on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease of a message that waits; `number` tells it from later ones."""

    namespace: str
    observation_id: str
    number: int
    attempts: int


@dataclass(frozen=True, slots=True)
class StoredSource:
    """What facts are extracted from, as it is stored."""

    observation_id: str
    content: str
    message: bytes
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """What waits in all namespaces: messages, the age of the oldest, and those given up."""

    depth: int
    oldest_age_s: float
    dead: int


class ExtractionStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def enqueue(self, namespace: str, observation_ids: Collection[str]) -> None:
        """Let observations wait for extraction; those that do already are left as they are."""
        if observation_ids:
            await self._connection.execute(_statements.enqueue, namespace, sorted(observation_ids))

    async def claim(self, most: int, lease_s: float) -> list[tuple[Claim, StoredSource]]:
        """Lease at most so many of the messages that have waited longest."""
        rows = await self._connection.fetch(_statements.claim, most, lease_s)
        return [
            (
                Claim(row["namespace"], row["observation_id"], row["claims"], row["attempts"]),
                StoredSource(row["observation_id"], row["content"], row["message"], tuple(row["scopes"])),
            )
            for row in rows
        ]

    async def release(self, claim: Claim) -> bool:
        """End a message's wait. False where somebody else claimed it since, or it was erased: then nothing happens."""
        found = await self._connection.fetchval(
            _statements.release, claim.namespace, claim.observation_id, claim.number
        )
        return found is not None

    async def put_off(self, claim: Claim, *, delay_s: float, attempts: int, error: str, dead: bool) -> None:
        """Put a message off, or give it up; nothing happens where somebody else claimed it since."""
        arguments = (claim.namespace, claim.observation_id, claim.number, delay_s, attempts, error, dead)
        await self._connection.execute(_statements.put_off, *arguments)

    async def revive(self, namespace: str, observation_ids: Collection[str], caller: Operator) -> int:
        """Let dead letters wait again, all where none is named; answers how many."""
        row = await self._connection.fetchrow(
            _statements.revive, namespace, sorted(observation_ids), list(caller.labels), caller.sees_all
        )
        return int(row["number"]) if row else 0

    async def source(self, namespace: str, observation_id: str, caller: Operator) -> tuple[StoredSource, bool] | None:
        """An observation, and whether it was redacted. None where it is not stored or not visible."""
        row = await self._connection.fetchrow(
            _statements.source, namespace, observation_id, list(caller.labels), caller.sees_all
        )
        if row is None:
            return None
        source = StoredSource(row["observation_id"], row["content"], row["message"], tuple(row["scopes"]))
        return source, row["redacted"]

    async def known_entities(self, namespace: str, keys: Collection[str], caller: Operator) -> frozenset[str]:
        """Those of the keys that are stored and visible."""
        if not keys:
            return frozenset()
        rows = await self._connection.fetch(
            _statements.known_entities, namespace, sorted(keys), list(caller.labels), caller.sees_all
        )
        return frozenset(row["natural_key"] for row in rows)

    async def derive(self, namespace: str, source_id: str, derived_id: str) -> bool:
        """Note what an observation was made of. False where that was erased or redacted: then nothing is noted."""
        return await self._connection.fetchval(_statements.derive, namespace, source_id, derived_id) is not None

    async def derived_from(self, namespace: str, observation_ids: Collection[str]) -> dict[str, bytes]:
        """Messages, by observation id, of all that was made of the observations, directly or not."""
        rows = await self._connection.fetch(_statements.derived_from, namespace, sorted(observation_ids))
        return {row["observation_id"]: row["message"] for row in rows}

    async def forget(self, namespace: str, observation_ids: Sequence[str]) -> int:
        """Keep nothing of how observations were extracted from or derived; answers how many waited."""
        number = await self._connection.fetchval(_statements.forget, namespace, sorted(observation_ids))
        return int(number or 0)

    async def queue_summary(self) -> QueueSummary:
        """What waits, in all namespaces."""
        row = await self._connection.fetchrow(_statements.queue_summary)
        return QueueSummary(row["depth"], row["oldest_age_s"], row["dead"]) if row else QueueSummary(0, 0.0, 0)
