"""The statements of curation, of decisions on duplicates, and of the count of refusals. Each method runs the statement
of its name, inside the caller's transaction and within one namespace."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from services.writer.columns import columns
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("curation_store.sql"))

Row: TypeAlias = Mapping[str, Any]

ENTITY, FACT = 3, 2
"""Kinds of things that are marked stale; numbers of ItemKind."""


class Cursor(NamedTuple):
    """How far a phase has come."""

    position: str
    finished: bool


class Pair(NamedTuple):
    """Two entities that may be one, the lesser key first."""

    first_key: str
    second_key: str
    score: float
    reason: str


def curation_lock_key(namespace: str) -> int:
    """The key of the advisory lock that curation and decisions hold, so that one of them works in a namespace at a
    time."""
    digest = hashlib.sha256(b"palimpsest.curation\0" + namespace.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class CurationStore:
    """What curation reads and writes in one namespace."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self.namespace = namespace

    @property
    def connection(self) -> Connection:
        """The transaction's, for other stores."""
        return self._connection

    async def cursors(self) -> dict[str, Cursor]:
        """How far each phase has come that was begun."""
        rows = await self._fetch("cursors")
        return {row["phase"]: Cursor(row["position"], row["finished"]) for row in rows}

    async def move_cursor(self, phase: str, cursor: Cursor) -> None:
        """Remember how far a phase has come."""
        await self._fetch("move_cursor", phase, cursor.position, cursor.finished)

    async def delete_cursors(self) -> None:
        """Forget the pass."""
        await self._fetch("delete_cursors")

    async def next_entities(self, after: str, limit: int) -> list[str]:
        """Keys of entities, rising."""
        return await self._keys("next_entities", after, limit)

    async def next_documents(self, after: str, limit: int) -> list[str]:
        """Keys of entities that have a text, rising."""
        return await self._keys("next_documents", after, limit)

    async def next_facts(self, after: str, limit: int) -> list[str]:
        """Ids of facts, rising."""
        return await self._keys("next_facts", after, limit)

    async def next_claims(self, after: str, limit: int) -> list[str]:
        """Keys of entities with links for which curation seeks a target, rising."""
        return await self._keys("next_claims", after, limit)

    async def delete_names(self, keys: Sequence[str], kinds_left_out: Sequence[str]) -> None:
        """Forget names that entities no longer have."""
        await self._fetch("delete_names", keys, kinds_left_out)

    async def insert_names(self, keys: Sequence[str], kinds_left_out: Sequence[str]) -> list[Row]:
        """Remember names of entities; answers natural_key, name and kind of the new ones."""
        return await self._fetch("insert_names", keys, kinds_left_out)

    async def settle_name_keys(self, keys: Sequence[str], length: int) -> None:
        """Let the beginnings of words, of that length, follow the names of entities."""
        await self._fetch("delete_name_keys", keys, length)
        await self._fetch("insert_name_keys", keys, length)

    async def alike_by_name(
        self, names: Sequence[Row], threshold: float, *, most_each: int, most_of_a_name: int, most_of_a_word: int
    ) -> list[Row]:
        """first_key, second_key, score and is_equal of pairs, of which one has one of the names."""
        fresh = columns(([row["natural_key"], row["name"], row["kind"]] for row in names), 3)
        return await self._fetch("alike_by_name", *fresh, most_each, most_of_a_name, threshold, most_of_a_word)

    async def alike_by_text(self, keys: Sequence[str], threshold: float, most_each: int) -> list[Row]:
        """first_key, second_key and score of pairs, of which one is of the documents."""
        return await self._fetch("alike_by_text", keys, threshold, most_each)

    async def insert_proposals(self, proposals: Iterable[tuple[str, Pair]]) -> int:
        """Propose pairs under their ids, unless they ever were; answers how many were not."""
        rows = columns(sorted([proposal_id, *pair] for proposal_id, pair in proposals), 5)
        return len(await self._fetch("insert_proposals", *rows))

    async def draw_duplicate_links(self, keys: Sequence[str]) -> None:
        """Draw the links of standing proposals whose second is one of the entities."""
        await self._fetch("draw_duplicate_links", keys)

    async def claims_to_settle(self, keys: Sequence[str]) -> list[Row]:
        """Claims from the entities for which curation seeks a target, with what it found; locked, by rising key."""
        return await self._fetch("claims_to_settle", keys)

    async def set_curated_targets(self, rows: Iterable[Sequence[str | None]]) -> None:
        """Set what curation found, given behind the keys of claims."""
        await self._connection.execute(_statements.set_curated_targets, *columns(rows, 6))

    async def settle_trust(self, keys: Sequence[str], authority: float, half_life_days: float) -> int:
        """Compute the trust of entities; answers of how many it changed."""
        return len(await self._fetch("settle_trust", keys, authority, half_life_days))

    async def stale_entities(self, keys: Sequence[str]) -> list[str]:
        """Those of the entities that their source changed under."""
        return await self._keys("stale_entities", keys)

    async def stale_facts(self, keys: Sequence[str]) -> list[str]:
        """Those of the facts that rest on outdated revisions alone."""
        return await self._keys("stale_facts", keys)

    async def settle_marks(self, kind: int, looked_at: Sequence[str], stale: Sequence[str]) -> int:
        """Mark those that are stale and no other of those that were looked at; answers how many are new."""
        await self._fetch("unmark_stale", kind, looked_at, stale)
        return len(await self._fetch("mark_stale", kind, stale))

    async def lock_proposal(self, proposal_id: str) -> Row | None:
        """The proposal, locked. None where there is none."""
        return next(iter(await self._fetch("lock_proposal", proposal_id)), None)

    async def decide_proposal(self, proposal_id: str, state: int, *, by: str, reason: str) -> Row:
        """Put a proposal into a state; answers it."""
        [row] = await self._fetch("decide_proposal", proposal_id, state, by, reason)
        return row

    async def delete_duplicate_link(self, second_key: str, first_key: str) -> None:
        """Delete the link that curation drew; a source's stays."""
        await self._fetch("delete_duplicate_link", second_key, first_key)

    async def connected_by_merges(self, keys: Sequence[str]) -> set[str]:
        """All that confirmed proposals join with the entities, these included."""
        return set(await self._keys("connected_by_merges", keys))

    async def replace_merges(self, keys: Iterable[str], merges: Mapping[str, Sequence[str]]) -> None:
        """Let the entities answer as themselves, then those of `merges` as the key that they stand under."""
        await self._fetch("delete_merges", sorted(keys))
        for canonical, merged in sorted(merges.items()):
            await self._fetch("insert_merges", sorted(merged), canonical)

    async def forget_names(self, keys: Sequence[str]) -> None:
        """Keep nothing of the names of entities."""
        await self._fetch("forget_names", keys)
        await self._fetch("forget_name_keys", keys)

    async def forget_entities(self, keys: Sequence[str]) -> set[str]:
        """Keep nothing of entities that are no more, but merges and claims; answers what proposals named, too."""
        await self._fetch("forget_trust", keys)
        await self._fetch("unmark_stale", ENTITY, keys, [])
        await self._fetch("delete_curated_links_of", keys)
        pairs = await self._fetch("delete_proposals_of", keys)
        return {key for pair in pairs for key in (pair["first_key"], pair["second_key"])}

    async def forget_facts(self, fact_ids: Sequence[str]) -> None:
        """Keep nothing of facts that are no more."""
        await self._fetch("unmark_stale", FACT, fact_ids, [])

    async def claims_curated_to(self, keys: Sequence[str]) -> list[Row]:
        """Claims for which curation found one of the entities, locked, by rising key."""
        return await self._fetch("claims_curated_to", keys)

    async def count_rejections(self, numbers: Mapping[str, int]) -> None:
        """Add to the count of each reason."""
        await self._fetch("count_rejections", sorted(numbers), [numbers[reason] for reason in sorted(numbers)])

    async def _keys(self, name: str, *arguments: Any) -> list[str]:
        return [row["key"] for row in await self._fetch(name, *arguments)]

    async def _fetch(self, name: str, *arguments: Any) -> list[Row]:
        found = await self._connection.fetch(_statements.with_table(name), self.namespace, *arguments)
        return [dict(row.items()) for row in found]
