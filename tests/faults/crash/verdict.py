"""What is true in the end: compares what clients were told with what is stored."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
from palimpsest.audit import check_chain
from palimpsest.client import Client
from palimpsest.v1.reader_service_pb2 import DigestRequest, ListAuditEventsRequest

from services.reader.queries.digest import ROWS_LEFT_OUT, TABLES
from services.writer.recording import REDACTED
from tests.faults.crash.clients import NAMESPACES, VAULT
from tests.faults.crash.journal import Journal
from tests.integration.writing import NAMESPACE

_SHOWN = 5
# What the digest does not leave out.
_STATE = "($3::jsonb IS NULL OR NOT to_jsonb(t) @> $3)"

_TWICE = """
SELECT namespace, coalesce(nullif(external_id, ''), split_part(content, ' ', 1)) AS said, count(*) AS times
FROM observations WHERE namespace = $1 AND NOT (external_id = '' AND content = '')
GROUP BY 1, source_system, 2 HAVING count(*) > 1
"""
# Passages that are to have a vector of their text, and neither have one nor wait for one.
_FORGOTTEN = """
SELECT count(*) FROM passages AS p
WHERE p.embedding_hash <> ''
  AND NOT EXISTS (SELECT FROM {table} AS v WHERE (v.namespace, v.passage_id, v.embedding_hash)
                                             = (p.namespace, p.passage_id, p.embedding_hash))
  AND NOT EXISTS (SELECT FROM embedding_queue AS q WHERE (q.namespace, q.passage_id) = (p.namespace, p.passage_id))
  AND NOT EXISTS (SELECT FROM embedding_backlog AS b
                  WHERE (b.namespace, b.passage_id, b.fingerprint) = (p.namespace, p.passage_id, $1))
"""
_WAITING = """
SELECT (SELECT count(*) FROM embedding_queue) + (SELECT count(*) FROM embedding_backlog)
     + (SELECT count(*) FROM embedding_spaces WHERE NOT is_filled)
"""


@dataclass(frozen=True)
class Told:
    """What clients were told, over all their lives."""

    observations: Counter[str]
    """How often each was told to be new, by id; 0: each time a duplicate, since the first answer was lost."""
    redacted: frozenset[str]
    audited: frozenset[str]
    missing: frozenset[str]
    """What was told of and not found when it was read right after."""
    wrong: Counter[str]
    """Errors that do not pass."""
    retried: Counter[str]

    @property
    def acknowledged(self) -> int:
        """Things that a client may rely on."""
        return len(self.observations) + len(self.redacted) + len(self.audited)

    @classmethod
    def of(cls, journals: Iterable[Journal]) -> "Told":
        """Reads journals."""
        entries = [entry for journal in journals for entry in journal.entries()]
        kinds: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            kinds.setdefault(entry["kind"], []).append(entry)
        observations: Counter[str] = Counter()
        for entry in kinds.get("told", ()):
            observations[entry["id"]] += not entry["duplicate"]
        return cls(
            observations,
            frozenset(entry["id"] for entry in kinds.get("redacted", ())),
            frozenset(entry["target"] for entry in kinds.get("audited", ())),
            frozenset(entry["id"] for entry in kinds.get("missing", ())),
            Counter(f"{entry['code']} {entry['reason']}" for entry in kinds.get("wrong", ())),
            Counter(entry["code"] for entry in kinds.get("retried", ())),
        )


@dataclass(frozen=True)
class Found:
    """What is lost, and what is there twice, by name; and whatever else is wrong."""

    lost: frozenset[str]
    duplicated: frozenset[str]
    faults: tuple[str, ...]


async def examine(dsn: str, client: Client, told: Told, vault_keys: Collection[str]) -> Found:
    """Compares what was told with the database. `vault_keys`: the texts that the last version of the vault has."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT observation_id, status FROM observations WHERE namespace = $1", NAMESPACE)
        stored: dict[str, int] = {row["observation_id"]: row["status"] for row in rows}
        twice = [row["said"] for row in await connection.fetch(_TWICE, NAMESPACE)]
        texts = await connection.fetch("SELECT entity_key FROM documents WHERE namespace = $1", VAULT)
        faults = await _vector_faults(connection)
    finally:
        await connection.close()
    targets, chain_faults = audited(client)
    kept = {row["entity_key"] for row in texts}
    lost = {each for each in told.observations if each not in stored}
    lost |= {each for each in told.redacted if stored.get(each) != REDACTED}
    lost |= {target for target in told.audited if not targets[target]}
    lost |= set(told.missing) | (set(vault_keys) - kept)
    duplicated = {each for each, times in told.observations.items() if times > 1} | set(twice)
    duplicated |= {target for target, times in targets.items() if times > 1}
    faults += [f"the vault has {key}, which its last version has not" for key in sorted(kept - set(vault_keys))]
    return Found(frozenset(lost), frozenset(duplicated), (*faults, *chain_faults))


async def waiting(dsn: str) -> int:
    """How many passages wait for a vector, and spaces for being filled."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(_WAITING))
    finally:
        await connection.close()


def digests(client: Client) -> Mapping[str, Mapping[str, str]]:
    """Of each namespace the digest of each table, and of all under an empty name."""
    found = {}
    for namespace in NAMESPACES:
        answer = client.reader.Digest(DigestRequest(namespace=namespace))
        found[namespace] = {"": answer.digest, **answer.tables}
    return found


def audited(client: Client) -> tuple[Counter[str], list[str]]:
    """How often each thing that a client told the audit of is there, and what is wrong with the chains."""
    targets: Counter[str] = Counter()
    faults = []
    for namespace in NAMESPACES:
        events = []
        request = ListAuditEventsRequest(namespace=namespace)
        while True:
            page = client.reader.ListAuditEvents(request)
            events += page.events
            request.page_token = page.next_page_token
            if not request.page_token:
                break
        targets.update(event.target for event in events if event.action == "crash.told")
        check = check_chain(namespace, events)
        if check.fault:
            faults.append(f"the audit of {namespace} at {check.fault_at}: {check.fault}")
    return targets, faults


def differing(before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> Sequence[str]:
    """The tables whose digests are not equal."""
    return [
        f"{namespace}.{table or 'all'}"
        for namespace, tables in before.items()
        for table, digest in tables.items()
        if after[namespace].get(table) != digest
    ]


async def differing_rows(one_dsn: str, other_dsn: str, different: Sequence[str]) -> list[str]:
    """Some rows that only one of two databases has, of the tables that `differing` named."""
    one, other = await asyncpg.connect(one_dsn), await asyncpg.connect(other_dsn)
    found = []
    try:
        for name in different:
            namespace, _, table = name.partition(".")
            if table not in TABLES:
                continue
            query = f"SELECT (to_jsonb(t) - $1::text[])::text FROM {table} AS t WHERE namespace = $2 AND {_STATE}"
            given = (list(TABLES[table]), namespace, ROWS_LEFT_OUT.get(table))
            rows = {row[0] for row in await one.fetch(query, *given)}
            others = {row[0] for row in await other.fetch(query, *given)}
            found += [f"{name}, disturbed only: {row}" for row in sorted(rows - others)[:_SHOWN]]
            found += [f"{name}, undisturbed only: {row}" for row in sorted(others - rows)[:_SHOWN]]
    finally:
        await one.close()
        await other.close()
    return found


async def _vector_faults(connection: Any) -> list[str]:
    faults = []
    for space in await connection.fetch("SELECT fingerprint, table_name, state FROM embedding_spaces"):
        forgotten = await connection.fetchval(_FORGOTTEN.format(table=space["table_name"]), space["fingerprint"])
        if forgotten:
            faults.append(f"{forgotten} passages have no vector in the {space['state']} space and wait for none")
    left = await connection.fetchval("SELECT count(*) FROM embedding_queue")
    if left:
        faults.append(f"{left} passages wait for a vector still")
    if not await connection.fetchval("SELECT count(*) FROM embedding_spaces WHERE state = 'active'"):
        faults.append("no space is active")
    return faults
