"""Digest: a hash of a namespace's projected state (OB-7)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from services.reader.context import ReadContext
from services.reader.store import Snapshot

# Each table with its columns that differ between equal states: clocks, serial ids and what is computed from the rest.
# An observation's `message` may be written in several ways with one meaning; its content_hash stands for it. Vectors
# and their queue are left out as a whole: they follow later, and say nothing that the texts don't.
TABLES: dict[str, tuple[str, ...]] = {
    "observations": ("recorded_at", "redacted_at", "message", "change_id"),
    "entities": ("recorded_at", "change_id", "obsolete_at"),
    # What was found in it follows from texts, as soon as it is looked for.
    "entity_evidence": ("pii_categories",),
    "documents": ("recorded_at",),
    "passages": ("recorded_at", "passage_id", "tsv"),
    "facts": ("recorded_at", "change_id", "obsolete_at"),
    "fact_evidence": (),
    "fact_supersessions": (),
    "fact_retractions": (),
    "links": ("recorded_at", "change_id"),
    "link_evidence": (),
    "link_claims": ("recorded_at",),
    "obsolete_marks": ("marked_at",),
    "item_marks": ("last_confirmed_at", "deleted_at"),
    "write_guards": (),
    "sources": ("registered_at",),
    "vault_observations": ("last_run_number",),
    "snapshot_items": (),
    "snapshot_facts": (),
    # What people decided; what curation found on the way there, at whichever time it ran, is no state.
    "entity_merges": (),
}
# By table, what tells rows that are no state: links of duplicates that curation proposed of names as they were then.
ROWS_LEFT_OUT: dict[str, str] = {"links": '{"origin": 2}'}


@dataclass(frozen=True, slots=True)
class StateDigest:
    """A hash over all tables, one for each, and the number of rows."""

    digest: str
    tables: dict[str, str]
    rows: dict[str, int]


async def digest(context: ReadContext) -> StateDigest:
    """The digest of one state. Each table is hashed inside the database; no row leaves it."""

    async def work(snapshot: Snapshot) -> StateDigest:
        await snapshot.digest_settings()
        found = {
            table: await snapshot.digest_table(table, left_out, ROWS_LEFT_OUT.get(table))
            for table, left_out in TABLES.items()
        }
        tables = {table: table_digest for table, (_, table_digest) in found.items()}
        return StateDigest(_total(tables), tables, {table: rows for table, (rows, _) in found.items()})

    return await context.snapshot(work)


def _total(tables: dict[str, str]) -> str:
    lines = "".join(f"{table} {tables[table]}\n" for table in sorted(tables))
    return hashlib.sha256(lines.encode()).hexdigest()
