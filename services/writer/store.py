"""The writer's knowledge tables. Each method runs the statement of its name, inside the caller's transaction.

Rows go in sorted by key and without repeats: then locks are taken in one order by everybody. An empty set costs no
statement.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from services.writer.columns import attributes, columns, recordset
from shared.database import Connection
from shared.labels import split
from shared.statements import load_statements

statements = load_statements(Path(__file__).with_name("store.sql"))

Row: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str]
"""A namespace, and an id or key in it."""
Keys: TypeAlias = Iterable[Key]

_OBSERVATION = (
    "namespace observation_id content_hash source_system source_stream external_id revision kind occurred_at actor_key "
    "subject_key scopes restricting applies content data message trace_id status failures private_to denied"
)
_ENTITY = (
    "kind title aliases source_path source_id url author source_created_at source_updated_at confidence importance "
    "last_seen_at attributes status expires_at scopes provenance pii_categories placeholder stamps"
)
# Of merged states and of what is derived beside them.
_FACT = (
    "subject_key predicate object_type object_text object_key object valid_from asserted_valid_to valid_to closure "
    "supersedes superseded_by observed_at evidence confidence importance source_path scopes attributes expires_at "
    "sentence stamps evidence_lost"
)
_observation = attributes(_OBSERVATION.replace(" failures ", " failures_json "))
_entity, _fact = attributes(_ENTITY), attributes(_FACT)
_ENTITY_ROW = f"namespace natural_key {_ENTITY} restricting applies"
_FACT_ROW = f"namespace fact_id {_FACT} restricting applies"
_ENTITY_EVIDENCE_ROW = "namespace natural_key observation_id occurred_at described restricting"
_FACT_EVIDENCE_ROW = "namespace fact_id observation_id occurred_at evidence confidence"
_DOCUMENT_ROW = "namespace entity_key body media_type meta content_hash occurred_at observation_id assertion_index"
_LINK_ROW = "namespace source_key relation target_key weight"
_LINK_EVIDENCE_ROW = "namespace source_key relation target_key observation_id claimed weight"


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """What a writer must know of a namespace that it has locked."""

    namespace: str
    settings_version: int
    has_statements: bool
    """A stored supersession names one of the facts that were asked about."""
    has_marks: bool
    """Something there can hide or archive an item, or makes one a vault's."""


class Store:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lock_namespaces(self, locks: Sequence[tuple[int, bool]]) -> None:
        """Hold (key, exclusive) locks till the end of the transaction; give them by rising key."""
        await self._run("lock_namespaces", locks, 2)

    async def lock_for_writing(
        self, namespace: str, lock_key: int, *, alone: bool, fact_ids: Sequence[str]
    ) -> NamespaceState:
        """Hold the lock of a namespace till the end of the transaction, and answer what is committed there by then. Of
        several namespaces take that with the least key first."""
        [row] = await self._connection.fetch(statements.lock_for_writing, namespace, lock_key, alone, fact_ids)
        return NamespaceState(namespace, *row)

    async def lock_and_claim(
        self,
        namespace: str,
        lock_key: int,
        *,
        alone: bool,
        fact_ids: Sequence[str],
        version: int,
        observations: Iterable[Any],
    ) -> tuple[NamespaceState, dict[Key, datetime] | None]:
        """`lock_for_writing`, and `claim_observations` of at least one, unless the namespace has statements, marks,
        or settings of another version: then None."""
        arguments = (namespace, lock_key, alone, fact_ids, version, observation_set(observations))
        rows = await self._connection.fetch(statements.lock_and_claim, *arguments)
        state = NamespaceState(namespace, *rows[0][:3])
        if state.has_statements or state.has_marks or state.settings_version != version:
            return state, None
        return state, {(namespace, row["observation_id"]): row["recorded_at"] for row in rows if row["observation_id"]}

    async def claim_observations(self, observations: Iterable[Any]) -> dict[Key, datetime]:
        """Store those that are not stored, and answer these with their `recorded_at`. A row that another transaction is
        storing is waited for: after its commit it counts as stored, after its rollback as not."""
        rows = await self._write("claim_observations", observation_set(observations))
        return {(row["namespace"], row["observation_id"]): row["recorded_at"] for row in rows}

    async def stored_observations(self, keys: Keys) -> list[Row]:
        """namespace, observation_id, content_hash, status, failures and recorded_at of those that are stored."""
        return await self._run("stored_observations", keys, 2)

    async def lock_observations(self, keys: Keys) -> list[Row]:
        """namespace, observation_id, message, status and failures of those that are stored, locked."""
        return await self._run("lock_observations", keys, 2)

    async def update_outcomes(self, outcomes: Iterable[tuple[str, str, int, str]]) -> None:
        """Replace (namespace, observation_id, status, failures as JSON). What is not stored is passed over."""
        await self._run("update_outcomes", outcomes, 4)

    async def insert_entities(
        self, states: Mapping[Key, Any], evidence: Iterable[Sequence[Any]]
    ) -> tuple[set[Key], dict[Key, Row]]:
        """Insert entities that are not there; answers which, and whole rows of the others, locked. One that another
        transaction inserts is waited for, and then may be in neither.

        Adds evidence of any of them, (namespace, natural_key, observation_id, occurred_at, described, restricting),
        too.
        """
        rows = await self._write("insert_entities", entity_evidence_set(evidence), entity_set(states))
        inserted = {(row["wanted_namespace"], row["wanted_key"]) for row in rows if row["is_new"]}
        return inserted, {(row["namespace"], row["natural_key"]): row for row in rows if row["natural_key"]}

    async def lock_entities(self, keys: Keys) -> dict[Key, Row]:
        """Whole rows of the entities that are there, locked."""
        return {(row["namespace"], row["natural_key"]): row for row in await self._run("lock_entities", keys, 2)}

    async def update_entities(self, states: Mapping[Key, Any]) -> None:
        """Replace what assertions decide of entities that are locked."""
        await self._write("update_entities", entity_set(states))

    async def see_entities(self, rows: Iterable[tuple[str, str, datetime]]) -> None:
        """Set (namespace, natural_key, last_seen_at) of entities that are locked."""
        await self._run("see_entities", rows, 3)

    async def insert_facts(self, states: Mapping[Key, Any]) -> set[Key]:
        """Insert facts that are not there; answers which. One that another transaction inserts is waited for."""
        rows = await self._write("insert_facts", fact_set(states))
        return {(row["namespace"], row["fact_id"]) for row in rows}

    async def lock_facts(self, keys: Keys) -> dict[Key, Row]:
        """Whole rows of the facts that are there, locked; `is_hidden_otherwise` than by their own labels."""
        return {(row["namespace"], row["fact_id"]): row for row in await self._run("lock_facts", keys, 2)}

    async def update_facts(self, states: Mapping[Key, Any]) -> None:
        """Replace all but the identity of facts that are locked."""
        await self._write("update_facts", fact_set(states))

    async def insert_fact_evidence(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add (namespace, fact_id, observation_id, occurred_at, evidence, confidence); what is there stays."""
        await self._run("insert_fact_evidence", rows, 6)

    async def insert_supersessions(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add (namespace, old_fact_id, new_fact_id, observation_id, assertion_index, occurred_at, correction,
        reason)."""
        await self._run("insert_supersessions", rows, 8)

    async def insert_retractions(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add (namespace, fact_id, observation_id, valid_to, occurred_at, reason, closure); what is there stays."""
        await self._run("insert_retractions", rows, 7)

    async def supersessions_around(self, facts: Keys) -> list[Row]:
        """All statements of supersession in the components of the facts, in no order, without repeats."""
        return await self._run("supersessions_around", facts, 2)

    async def retractions_of(self, facts: Keys) -> list[Row]:
        """All statements that one of the facts ended, in no order."""
        return await self._run("retractions_of", facts, 2)

    async def update_refusals(self, rows: Iterable[tuple[str, str, str, str, bool]]) -> None:
        """Set whether (namespace, old_fact_id, new_fact_id, observation_id) is refused."""
        await self._run("update_refusals", rows, 5)

    async def upsert_documents(self, rows: Iterable[Sequence[Any]]) -> set[Key]:
        """Write (namespace, entity_key, body, media_type, meta, content_hash, occurred_at, observation_id,
        assertion_index) where the stored stamp is less; answers where that was."""
        written = await self._write("upsert_documents", document_set(rows))
        return {(row["namespace"], row["entity_key"]) for row in written}

    async def upsert_claims(self, rows: Iterable[Sequence[Any]]) -> list[Row]:
        """Merge (namespace, source_key, relation, target_kind, target_ref, source_hint, weight, observation_ids) into
        what is there; answers each claim as it is then, with its present target_key. It stays locked."""
        return await self._run("upsert_claims", rows, 8)

    async def lock_claims(
        self, targets: Iterable[tuple[str, str, str, str, bool]], observation_ids: Sequence[str]
    ) -> list[Row]:
        """Claims on (namespace, natural_key, kind, source_id, changed) whose best target may be another now that the
        observations are stored, locked."""
        return await self._run("lock_claims", targets, 5, observation_ids)

    async def claim_targets(self, claims: Iterable[Sequence[str]]) -> list[Row]:
        """The best target_key of each claim, by its key; None where none is there."""
        return await self._run("claim_targets", claims, 5)

    async def update_claims(self, rows: Iterable[Sequence[str | None]]) -> None:
        """Set the target_key of claims, given behind their keys."""
        await self._run("update_claims", rows, 6)

    async def upsert_links(self, links: Iterable[Sequence[Any]], evidence: Iterable[Sequence[Any]]) -> None:
        """Add (namespace, source_key, relation, target_key, weight); the greater weight stays. They stay locked.

        Adds their evidence, (namespace, source_key, relation, target_key, observation_id, claimed, weight), too.
        """
        await self._write("upsert_links", link_evidence_set(evidence), link_set(links))

    async def delete_link_evidence(self, rows: Iterable[Sequence[Any]]) -> None:
        """Delete (namespace, source_key, relation, target_key, observation_id, claimed); what is not there is passed
        over."""
        await self._run("delete_link_evidence", rows, 6)

    async def settle_links(self, links: Iterable[Sequence[str]]) -> None:
        """Make links follow their evidence: without any they are deleted, else they have its greatest weight."""
        keys = list(links)
        await self._run("lock_links", keys, 4)
        await self._run("settle_links", keys, 4)

    async def _write(self, name: str, *recordsets: str) -> list[Row]:
        """Runs a statement on sets of wide rows, unless they are empty."""
        if not all(recordsets):
            return []
        found = await self._connection.fetch(statements.with_table(name), *recordsets)
        return [dict(row.items()) for row in found]

    async def _run(self, name: str, rows: Iterable[Sequence[Any]], width: int, *more: Any) -> list[Row]:
        arrays = columns(rows, width)
        if not arrays[0]:
            return []
        found = await self._connection.fetch(statements.with_table(name), *arrays, *more)
        return [dict(row.items()) for row in found]


def observation_set(observations: Iterable[Any]) -> str:
    """Observations as the JSON that statements read, as the other sets are; empty where there are none."""
    return recordset(map(_observation, observations), _OBSERVATION)


def entity_set(states: Mapping[Key, Any]) -> str:
    """States of entities, by key."""
    return recordset(_rows(states, _entity), _ENTITY_ROW)


def entity_evidence_set(rows: Iterable[Sequence[Any]]) -> str:
    """Who wrote or named entities, as `insert_entities` takes it."""
    return recordset(rows, _ENTITY_EVIDENCE_ROW)


def fact_set(states: Mapping[Key, Any]) -> str:
    """States of facts, by id."""
    return recordset(_rows(states, _fact), _FACT_ROW)


def fact_evidence_set(rows: Iterable[Sequence[Any]]) -> str:
    """What facts rest on, as `insert_fact_evidence` takes it."""
    return recordset(rows, _FACT_EVIDENCE_ROW)


def document_set(rows: Iterable[Sequence[Any]]) -> str:
    """Texts, as `upsert_documents` takes them."""
    return recordset(rows, _DOCUMENT_ROW)


def link_set(rows: Iterable[Sequence[Any]]) -> str:
    """Links, as `upsert_links` takes them."""
    return recordset(rows, _LINK_ROW)


def link_evidence_set(rows: Iterable[Sequence[Any]]) -> str:
    """What links rest on, as `upsert_links` takes it."""
    return recordset(rows, _LINK_EVIDENCE_ROW)


def _rows(states: Mapping[Key, Any], row: Callable[[Any], tuple[Any, ...]]) -> Iterable[list[Any]]:
    return ([*key, *row(state), *_labels(state)] for key, state in sorted(states.items()))


def _labels(state: Any) -> tuple[list[str], list[str]]:
    """Which labels hide it, and which say where it applies. An entity may inherit what hides it."""
    restricting, applies = split(state.scopes)
    return list(getattr(state, "restricting", restricting)), applies
