"""Statements that take observations away. Each method runs the statement of its name, inside the caller's transaction
and under the exclusive lock of the namespace."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from services.writer.columns import columns, recordset
from services.writer.store import Row
from shared.database import Connection
from shared.mentions import mentions
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("erasure_store.sql"))

_CLAIM_ROW = "namespace source_key relation target_kind target_ref source_hint weight observation_ids"

# What goes with observations as a whole, in the order of locks.
_RESTING = (
    "delete_entity_evidence",
    "delete_fact_evidence",
    "delete_supersessions",
    "delete_retractions",
    "delete_documents",
    "delete_guards",
)


class Struck(NamedTuple):
    """What rested on observations: links, by their key; owners of records; and claims as they are now."""

    links: list[Row]
    records: set[str]
    claims: list[Row]


class Receipt(NamedTuple):
    """What an erasure removed; fields named after the contract's ErasureReceipt."""

    receipt_id: str
    erased_at: datetime
    counts: Mapping[str, int]
    actor: str
    reason: str
    audit_hash: str


class ErasureStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def named_entities(self, observation_ids: Collection[str]) -> set[str]:
        """Keys of the entities that the observations wrote or named."""
        return {row["natural_key"] for row in await self._fetch("named_entities", observation_ids)}

    async def spoken_facts(self, observation_ids: Collection[str]) -> set[str]:
        """Ids of the facts that the observations asserted, closed or retracted."""
        return {row["fact_id"] for row in await self._fetch("spoken_facts", observation_ids)}

    async def documents_of(self, observation_ids: Collection[str]) -> set[str]:
        """Keys of the entities whose present text came from the observations."""
        return {row["entity_key"] for row in await self._fetch("documents_of", observation_ids)}

    async def count_chunks(self, observation_ids: Collection[str]) -> int:
        """How many pieces of text came from the observations."""
        [row] = await self._fetch("count_chunks", observation_ids)
        return int(row["count"])

    async def forget_marks(self, kind: int, keys: Collection[str]) -> None:
        """Delete what operators said of items (kind 2 facts, 3 entities)."""
        await self._connection.execute(_statements.forget_marks, self._namespace, list(keys), kind)

    async def delete_observations(self, observation_ids: Collection[str]) -> None:
        """Delete observations."""
        await self._fetch("delete_observations", observation_ids)

    async def empty_observations(self, messages: Mapping[str, bytes]) -> None:
        """Leave of observations only the messages that are given, and mark them REDACTED."""
        await self._connection.execute(
            _statements.empty_observations, self._namespace, list(messages), list(messages.values())
        )

    async def keep_struck_evidence(self, observation_ids: Collection[str]) -> None:
        """Keep which facts and entities rested on observations that are being redacted."""
        await self._fetch("keep_struck_evidence", observation_ids)

    async def delete_struck_evidence(self, observation_ids: Collection[str]) -> None:
        """Forget what rested on observations before these were redacted."""
        await self._fetch("delete_struck_evidence", observation_ids)

    async def strike(self, observation_ids: Collection[str]) -> Struck:
        """Let nothing rest on observations any more; answers what did."""
        links = await self._fetch("delete_link_evidence", observation_ids)
        for name in _RESTING:
            await self._fetch(name, observation_ids)
        records = {row["owner_key"] for row in await self._fetch("delete_records", observation_ids)}
        claims = await self._fetch("strike_claims", observation_ids)
        await self._connection.execute(_statements.delete_empty_claims, self._namespace)
        return Struck(links, records, claims)

    async def restate_claims(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write hints and weights of claims that are there, given as (namespace, source_key, relation, target_kind,
        target_ref, source_hint, weight, observation_ids)."""
        if claims := recordset(rows, _CLAIM_ROW):
            await self._connection.execute(_statements.restate_claims, claims)

    async def lose_facts_without_evidence(self, fact_ids: Collection[str]) -> set[str]:
        """Leave of those of the facts that nothing asserts their identity alone; answers which."""
        lost = {row["fact_id"] for row in await self._fetch("lose_facts_without_evidence", fact_ids)}
        await self._fetch("delete_passages_of_facts", lost)
        return lost

    async def forget_versions(
        self, keys: Collection[str], fact_ids: Collection[str], links: Iterable[Row], observation_ids: Collection[str]
    ) -> None:
        """Delete former states of entities and facts that hold what the observations said, and of the links that are
        gone."""
        gone = columns((tuple(link.values()) for link in links), 3)
        await self._connection.execute(_statements.forget_link_versions, self._namespace, *gone)
        await self._fetch("forget_entity_versions", keys, sorted(observation_ids))
        await self._fetch("forget_fact_versions", fact_ids, sorted(observation_ids))

    async def forget_link_versions_of(self, keys: Collection[str]) -> None:
        """Delete former states of links at entities that are gone."""
        await self._fetch("forget_link_versions_of", keys)

    async def texts_of(
        self, observation_ids: Collection[str], fact_ids: Collection[str], keys: Collection[str]
    ) -> dict[int, Row]:
        """By passage_id the passages of the facts and entities: kind, whether one came from the observations
        (is_theirs), and whether it waits for its vector (is_queued)."""
        rows = await self._fetch("texts_of", observation_ids, sorted(fact_ids), sorted(keys))
        return {row["passage_id"]: row for row in rows}

    async def with_vectors(self, table: str, passages: Collection[int]) -> list[int]:
        """Those of the passages that have a vector in a space."""
        sql = _statements.with_table("with_vectors", vectors=table)
        return [passage for (passage,) in await self._connection.fetch(sql, self._namespace, sorted(passages))]

    async def redaction_moment(self, observation_id: str) -> datetime:
        """When the observation was redacted."""
        moment: datetime = await self._connection.fetchval(
            _statements.redaction_moment, self._namespace, observation_id
        )
        return moment

    async def without_evidence(self, keys: Collection[str]) -> set[str]:
        """Those of the entities that nothing names."""
        return {row["natural_key"] for row in await self._fetch("without_evidence", keys)}

    async def delete_entities(self, keys: Collection[str]) -> None:
        """Delete entities and all that is searched of them."""
        await self._fetch("delete_passages_of_entities", keys)
        await self._fetch("delete_entities", keys)

    async def delete_facts_without_evidence(self, fact_ids: Collection[str]) -> set[str]:
        """Delete those of the facts that nothing asserts, nor asserted before it was redacted, and what is searched of
        them; answers which."""
        gone = {row["fact_id"] for row in await self._fetch("delete_facts_without_evidence", fact_ids)}
        await self._fetch("delete_passages_of_facts", gone)
        return gone

    async def delete_traces(self, keys: Collection[str]) -> int:
        """Delete the traces and packs that hold or name one of the observations, entities and facts; answers how many.
        None is left meanwhile: a compilation that has read what is erased leaves its trace before, and loses it, or
        never."""
        await self._connection.execute(_statements.hold_traces, self._namespace)
        return len(await self._fetch("delete_traces", keys))

    async def see_last(self, keys: Collection[str]) -> None:
        """Let entities be last seen by what still names them."""
        await self._fetch("see_last", keys)

    async def inherit_labels(self, keys: Collection[str]) -> None:
        """Give entities that were given no labels those under which they are still named."""
        await self._fetch("inherit_labels", keys)

    async def observations_naming(
        self, keys: Collection[str], fact_ids: Collection[str], observation_ids: Collection[str] = ()
    ) -> list[Row]:
        """Whole rows of the observations that say something of one of the entities or assert one of the facts, and of
        those that are given."""
        return await self._fetch("observations_naming", keys, sorted(fact_ids), sorted(observation_ids))

    async def changed(self, keys: Collection[str], fact_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Those of the entities and of the facts that this transaction has changed."""
        entities = {row["natural_key"] for row in await self._fetch("changed_entities", keys)}
        return entities, {row["fact_id"] for row in await self._fetch("changed_facts", fact_ids)}

    async def unqueue(self, observation_ids: Collection[str]) -> int:
        """Let nothing be extracted from observations; answers how many of them waited for that."""
        return len(await self._fetch("unqueue", observation_ids))

    async def insert_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, unless there is one of its id."""
        receipt_id, erased_at, counts, *more = receipt
        row = (receipt_id, erased_at, json.dumps(counts), *more)
        await self._connection.execute(_statements.insert_receipt, self._namespace, *row)

    async def forget_reasons(self, receipt_ids: Collection[str]) -> None:
        """Empty the reasons of receipts."""
        await self._connection.execute(_statements.forget_reasons, self._namespace, sorted(receipt_ids))

    async def forget_reasons_naming(self, names: Collection[str]) -> None:
        """Empty the reasons of receipts that name one of `shared.mentions.names_of`."""
        rows = await self._connection.fetch(_statements.reasons, self._namespace) if names else []
        naming = [row["receipt_id"] for row in rows if mentions(names, row["reason"])]
        if naming:
            await self.forget_reasons(naming)

    async def get_receipt(self, receipt_id: str) -> Receipt | None:
        """A receipt that was kept. None: there is none."""
        row = await self._connection.fetchrow(_statements.get_receipt, self._namespace, receipt_id)
        return None if row is None else Receipt(**{**dict(row.items()), "counts": json.loads(row["counts"])})

    async def _fetch(self, name: str, keys: Collection[str], *more: Any) -> list[Row]:
        if not keys and not any(more):
            return []
        found = await self._connection.fetch(_statements.with_table(name), self._namespace, sorted(keys), *more)
        return [dict(row.items()) for row in found]
