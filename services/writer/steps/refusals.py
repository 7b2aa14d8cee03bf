"""What a refused supersession is to the observation that made it: a failed assertion, whenever it turns out (FA-5)."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from services.writer.recording import FailureEntry, status_of
from services.writer.steps.facts import Refusal
from services.writer.store import Key, Store

_CYCLE = "SUPERSESSION_CYCLE"
_FAILED_PRECONDITION = 9


async def write_refusals(store: Store, refusals: Iterable[Refusal], assertion_count: Callable[[bytes], int]) -> None:
    """Adds and removes failures of the observations whose statements became refused, or are so no longer.

    `assertion_count` tells how many assertions a stored message has.
    """
    changes: defaultdict[Key, list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        changes[refusal.namespace, refusal.statement.stamp.observation_id].append(refusal)
    rows = await store.lock_observations(sorted(changes))
    updates = []
    for row in rows:
        key = (row["namespace"], row["observation_id"])
        failures = _changed(json.loads(row["failures"]), changes[key])
        status = status_of(failures, assertion_count(row["message"]))
        updates.append((*key, status, json.dumps(failures)))
    await store.update_outcomes(sorted(updates))


def _changed(failures: list[dict[str, Any]], changes: list[Refusal]) -> list[FailureEntry]:
    entries = {_identity(entry): entry for entry in failures}
    for change in changes:
        entry = _entry(change)
        if change.refused:
            entries[_identity(entry)] = entry
        else:
            entries.pop(_identity(entry), None)
    return [entries[identity] for identity in sorted(entries)]


def _entry(refusal: Refusal) -> dict[str, Any]:
    statement = refusal.statement
    index = statement.stamp.assertion_index
    field = "correction.fact_id" if statement.correction else "fact.supersedes"
    return {
        "index": index,
        "code": _FAILED_PRECONDITION,
        "reason": _CYCLE,
        "message": "the supersession would close a cycle",
        "field": f"assertions[{index}].{field}",
        "metadata": {"fact_id": statement.new_fact_id, "supersedes": statement.old_fact_id},
    }


def _identity(entry: FailureEntry) -> tuple[int, str, str]:
    """A failure of projection is the only one of its assertion; of refused supersessions there may be several."""
    metadata = entry.get("metadata", {})
    return entry["index"], metadata.get("fact_id", ""), metadata.get("supersedes", "")
