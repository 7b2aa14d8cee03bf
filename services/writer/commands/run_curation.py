"""RunCuration: a bounded part of a pass over a namespace; the next call goes on where it ended (CU-1)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from services.writer.applier import namespace_lock_key
from services.writer.curation.likeness import propose_by_name, propose_by_text
from services.writer.curation.protecting import mark_stored
from services.writer.curation.step import Step
from services.writer.curation.waiting import resolve_claims
from services.writer.curation.weighing import mark_stale_entities, mark_stale_facts, settle_trust
from services.writer.curation_store import CurationStore, Cursor, curation_lock_key
from services.writer.store import Store
from shared.database import Connection, Database

DEFAULT_MAX_ITEMS = 10_000
# One transaction's worth: writers of the namespace wait for a step that settles links, and no longer.
_STEP_ITEMS = 200

_Phase = Callable[[Store, CurationStore, str, int], Awaitable[Step]]


def _apart(phase: Callable[[CurationStore, str, int], Awaitable[Step]]) -> _Phase:
    """A phase that writers need not wait for. What it reads is not erased before what it made of it is there to be
    erased too."""

    async def work(knowledge: Store, store: CurationStore, after: str, limit: int) -> Step:
        await knowledge.lock_namespaces([(namespace_lock_key(store.namespace), False)])
        return await phase(store, after, limit)

    return work


# In this order: links that wait are resolved by names too, which the first phase keeps.
_PHASES: dict[str, tuple[str, _Phase]] = {
    "names": ("duplicates_proposed", _apart(propose_by_name)),
    "texts": ("duplicates_proposed", _apart(propose_by_text)),
    "claims": ("claims_resolved", resolve_claims),
    "trust": ("trust_updated", _apart(settle_trust)),
    "stale_entities": ("marked_stale", _apart(mark_stale_entities)),
    "stale_facts": ("marked_stale", _apart(mark_stale_facts)),
    "personal_data": ("marked_personal", _apart(mark_stored)),
}


@dataclass(slots=True)
class Curated:
    """What a call did. `counts` has a number for each thing that phases count."""

    done: bool = False
    counts: dict[str, int] = field(default_factory=lambda: {counted: 0 for counted, _ in _PHASES.values()})


async def run_curation(database: Database, *, namespace: str, max_items: int, timeout_s: float | None) -> Curated:
    """Goes on with the namespace's pass, or begins one, until it is whole or so many things were looked at.

    Each step is a transaction of its own: what a call did before it failed stays done. Raises DeadlineExceeded,
    DatabaseUnavailable, WriteContention.
    """
    until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
    left = max_items or DEFAULT_MAX_ITEMS
    curated = Curated()
    while left > 0 and not curated.done:
        left_s = None if until is None else max(0.0, until - asyncio.get_running_loop().time())
        step = partial(_step, namespace=namespace, limit=min(left, _STEP_ITEMS))
        taken = await database.transaction(step, timeout_s=left_s)
        if taken is None:
            curated.done = True
        else:
            phase, done = taken
            left -= done.looked_at
            curated.counts[_PHASES[phase][0]] += done.changed
    return curated


async def _step(connection: Connection, namespace: str, limit: int) -> tuple[str, Step] | None:
    """One step of the first phase that is not finished; None where all are, and the next pass may begin."""
    knowledge, store = Store(connection), CurationStore(connection, namespace)
    await knowledge.lock_namespaces([(curation_lock_key(namespace), True)])
    cursors = await store.cursors()
    for phase, (_, work) in _PHASES.items():
        cursor = cursors.get(phase, Cursor("", finished=False))
        if not cursor.finished:
            step = await work(knowledge, store, cursor.position, limit)
            await store.move_cursor(phase, Cursor(step.position or cursor.position, step.finished))
            return phase, step
    await store.delete_cursors()
    return None
