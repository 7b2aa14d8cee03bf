"""Retention: what a namespace's settings let it keep for so long and no longer is redacted, a bounded number of
observations at a time (NS-2, AU-2)."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Self

from services.writer.applier import namespace_lock_key
from services.writer.curation_store import CurationStore, Cursor
from services.writer.erasure_store import ErasureStore
from services.writer.mark_store import ENTITY, FACT
from services.writer.namespace_store import NamespaceStore
from services.writer.projection.packs import Packs
from services.writer.projection.rows import FactWrite, Projection
from services.writer.retention_store import Resting, RetentionStore
from services.writer.snapshot_store import SnapshotScope, SnapshotStore
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.store import Row, Store
from shared import audit
from shared.database import Connection, Database

# One transaction's worth: writers of the namespace wait for it.
_STEP_OBSERVATIONS = 50
# How far the look through what deleted items rest on has come.
_PHASE = "retention"
_FIRST = Resting(0, "", "")


@dataclass(frozen=True, slots=True)
class Kept:
    """For how many seconds things are kept; None: for ever. Traces carry the moment of their own end."""

    observations_s: float | None = None
    deleted_s: float | None = None

    @classmethod
    def of(cls, settings: str) -> Self:
        """What settings say, given as JSON."""
        said: Mapping[str, str] = json.loads(settings).get("retention", {})
        return cls(_seconds(said.get("observations")), _seconds(said.get("deleted")))


@dataclass(frozen=True, slots=True)
class Redactor:
    """How observations are redacted: how they are read, and what is left of a message."""

    messages: Messages
    emptied: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Retained:
    """What was redacted: observations that were kept for long enough, those that only deleted items rested on, and
    whether nothing more is to be done at present."""

    outlived: int = 0
    purged: int = 0
    done: bool = True


async def apply_retention(
    database: Database, redactor: Redactor, *, namespace: str, max_observations: int, timeout_s: float | None = None
) -> Retained:
    """Redacts what is to go, until nothing is left or so many observations were looked at; goes on where it ended.

    All that came from a deleted source goes. For a deleted item an observation goes only where all that it says is of
    things deleted long enough: what it says of others is not theirs to take along, and what is deleted stays hidden.
    Each step is a transaction of its own.

    Raises what transactions raise.
    """
    kept = await database.transaction(partial(_kept, namespace=namespace), timeout_s=timeout_s)
    total, left = Retained(), max_observations
    steps = (
        (kept.observations_s, _redact_outlived),
        (kept.deleted_s, _redact_sources),
        (kept.deleted_s, _redact_deleted),
    )
    for within_s, step in steps:
        if within_s is None:
            continue
        work = partial(step, redactor=redactor, namespace=namespace, within_s=within_s)
        while True:
            if left <= 0:
                return Retained(total.outlived, total.purged, done=False)
            limit = min(left, _STEP_OBSERVATIONS)
            looked_at, did = await database.transaction(partial(work, limit=limit), timeout_s=timeout_s)
            total = Retained(total.outlived + did.outlived, total.purged + did.purged)
            left -= looked_at
            if looked_at < limit:
                break
    return total


async def _kept(connection: Connection, namespace: str) -> Kept:
    return Kept.of((await NamespaceStore(connection).latest_settings(namespace)).settings)


async def _redact_outlived(
    connection: Connection, *, redactor: Redactor, namespace: str, within_s: float, limit: int
) -> tuple[int, Retained]:
    await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
    store = RetentionStore(connection, namespace)
    rows = await store.outlived(await store.moment_before(within_s), limit)
    await _redact(connection, redactor, namespace, rows, "outlived")
    return len(rows), Retained(outlived=len(rows))


async def _redact_sources(
    connection: Connection, *, redactor: Redactor, namespace: str, within_s: float, limit: int
) -> tuple[int, Retained]:
    await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
    store = RetentionStore(connection, namespace)
    await store.date_deletions()
    before = await store.moment_before(within_s)
    rows = await store.of_deleted_sources(before, limit)
    erased = await _redact(connection, redactor, namespace, rows, "source deleted")
    await _forget_marks(connection, namespace, erased)
    # What its snapshots hold says the same; another one begins anew, if the source comes back.
    for system, stream in await store.sources_deleted(before) if rows else ():
        await SnapshotStore(connection, SnapshotScope(namespace, system, stream)).forget()
    return len(rows), Retained(purged=len(rows))


async def _forget_marks(connection: Connection, namespace: str, erased: Erased) -> None:
    erasing = ErasureStore(connection, namespace)
    await erasing.forget_marks(ENTITY, erased.entities)
    await erasing.forget_marks(FACT, erased.facts)


async def _redact_deleted(
    connection: Connection, *, redactor: Redactor, namespace: str, within_s: float, limit: int
) -> tuple[int, Retained]:
    await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
    store, curation = RetentionStore(connection, namespace), CurationStore(connection, namespace)
    before = await store.moment_before(within_s)
    cursor = (await curation.cursors()).get(_PHASE)
    after = _FIRST if cursor is None else Resting(*json.loads(cursor.position))
    resting = await store.resting_on_deleted(before, after, limit)
    ids = {each.observation_id for each in resting}
    rows = await ErasureStore(connection, namespace).observations_naming((), (), ids)
    packs = await NamespaceStore(connection).acting_packs(namespace)
    gone = [row for row in rows if await _says_nothing_else(store, before, redactor, row, packs)]
    erased = await _redact(connection, redactor, namespace, gone, "deleted")
    await _forget_marks(connection, namespace, erased)
    # The next look begins anew.
    last = resting[-1] if len(resting) == limit else _FIRST
    await curation.move_cursor(_PHASE, Cursor(json.dumps(last), finished=False))
    return len(resting), Retained(purged=len(gone))


async def _says_nothing_else(
    store: RetentionStore, before: datetime, redactor: Redactor, row: Row, packs: Packs
) -> bool:
    """Whether an observation says something, and all of it of deleted things."""
    things = _things(redactor.messages.reproject(row, packs))
    deleted = {
        (kind, key)
        for kind in (FACT, ENTITY)
        for key in await store.deleted_among(before, kind, {key for each in things for of, key in each if of == kind})
    }
    return bool(things) and all(each & deleted for each in things)


def _things(said: Projection) -> list[set[tuple[int, str]]]:
    """Of each statement the things, with any of which it is hidden. One about the end of a fact is that fact's, for
    without it the fact would be open again."""
    links = [{(ENTITY, each.source_key), (ENTITY, each.target_key)} for each in said.links]
    ends = [each.fact_id for each in said.retractions] + [each.old_fact_id for each in said.supersessions]
    return [
        *({(ENTITY, each.key)} for each in said.entities if each.described),
        *({(FACT, each.fact_id), *((ENTITY, key) for key in _ends(each))} for each in said.facts),
        *links,
        *({(ENTITY, each.source_key)} for each in said.claims),
        *({(ENTITY, each.entity_key)} for each in said.documents),
        *({(FACT, fact_id)} for fact_id in ends),
    ]


def _ends(fact: FactWrite) -> list[str]:
    return [key for key in (fact.subject_key, fact.object_key) if key is not None]


async def _redact(
    connection: Connection, redactor: Redactor, namespace: str, rows: Collection[Row], why: str
) -> Erased:
    left = {row["observation_id"]: redactor.emptied(row["message"]) for row in rows}
    erased = await erase_observations(connection, namespace, left, redactor.messages, emptied=left)
    if rows:
        details = {"type": "observation", "why": why, "chunks": erased.chunks, "counts": erased.counts()}
        await audit.append(connection, namespace, action="retention", actor=audit.SYSTEM, details=details)
    return erased


def _seconds(duration: str | None) -> float | None:
    """A duration as JSON writes it: `86400s`."""
    return float(duration.removesuffix("s")) if duration else None
